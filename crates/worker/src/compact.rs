//! A request that is too long for its model, or longer than the project wants: the session is summarised by that model,
//! once, and the request composed anew (CP-01). Without a summary everything stays as it was, and the failure is told as it
//! came (CP-06) or the request sent as it is.

use crate::{agent::spent, desk::Desk, telemetry, tools::notes::namespace, trouble::Trouble};
use cardwire_llm::{ChatModel, ModelAnswer, ModelRequest, StopReason};
use cardwire_model::Provider;
use serde_json::{Value, json};

/// What the step of a call says that was not made because the session was summarised first.
pub(crate) const COMPACTED: &str = "compacted";
/// The role by which a model's script knows the question.
const ROLE: &str = "summariser";
/// How long a summary may be.
const MAX_TOKENS: u32 = 4096;

/// Processes whose members see the conversation, so that a summary of it helps and is kept (W-16).
const REMEMBERING: [&str; 5] = ["agent", "sequential", "dynamic", "hierarchical", "react"];

/// Compacts the session of a turn. Whether there is less to send now.
pub(crate) async fn compact(desk: &Desk, model: &dyn ChatModel, agent: &str) -> Result<bool, Trouble> {
    let settings = &desk.lease.runtime_config;
    let process = settings["process"].as_str().unwrap_or("agent");
    // What is only tried out leaves the conversation as it is.
    let keeps = REMEMBERING.contains(&process) && !desk.lease.tries_out();
    let Some(session) = desk.lease.setting("session_id").filter(|_| keeps) else {
        return Ok(false);
    };
    let composed = match desk.compose(&request(model)).await {
        Ok(composed) => composed,
        // There is nothing to summarise.
        Err(Trouble::Refused { .. }) => return Ok(false),
        Err(trouble) => return Err(trouble),
    };
    let request = ModelRequest {
        body: composed.request.clone(),
        agent_id: agent.to_owned(),
        role: Some(ROLE.to_owned()),
        turn_id: desk.lease.agent_turn_id.clone(),
        call_id: composed.call_id.clone(),
        step: 1,
    };
    let answer = telemetry::chat(desk, model.info(), &request, model.call(&request, &())).await;
    let (status, metadata) = match &answer {
        Ok(answer) if is_whole(answer) => ("done", spent(model.info(), answer)),
        Ok(answer) => ("failed", spent(model.info(), answer)),
        Err(error) => ("failed", json!({ "error": error.kind() })),
    };
    desk.append(vec![], Some(composed.step("summary", status, &metadata))).await?;
    let answer = match answer {
        Ok(answer) if is_whole(&answer) => answer,
        Ok(_) => return Ok(false),
        Err(error) => {
            tracing::warn!(kind = error.kind(), "no summary could be had");
            return Ok(false);
        }
    };
    let path = format!("/sessions/{session}:compact{}", namespace(desk));
    // The prompt has the summary before it in it, so that this one takes its place.
    let body = json!({ "summary": answer.text, "follows": composed.follows });
    match desk.post(&path, &body).await {
        Ok(done) => Ok(done["compacted"] == true),
        Err(Trouble::Refused { .. }) => Ok(false),
        Err(trouble) => Err(trouble),
    }
}

/// Whether an answer can take the place of what it sums up: half of one would lose the rest.
fn is_whole(answer: &ModelAnswer) -> bool {
    let is_cut = matches!(answer.stop, StopReason::Length | StopReason::Filtered);
    !is_cut && answer.tool_calls.is_empty() && !answer.text.trim().is_empty()
}

/// What the composer is asked for. How an agent is asked, its profile says; how a summary is, nobody does.
fn request(model: &dyn ChatModel) -> Value {
    let info = model.info();
    let params = match info.provider {
        Provider::OpenAiChat => json!({}),
        Provider::AnthropicMessages => json!({ "max_tokens": MAX_TOKENS }),
    };
    json!({ "purpose": "summary", "provider": info.provider.as_str(), "model": info.model, "params": params })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cardwire_llm::{ToolCall, Usage};

    #[test]
    fn half_a_summary_is_none() {
        let answer = |text: &str, stop: StopReason| ModelAnswer {
            text: text.to_owned(),
            tool_calls: vec![],
            stop,
            usage: Usage::default(),
            model: "m".to_owned(),
            id: None,
        };
        assert!(is_whole(&answer("x", StopReason::End)));
        assert!(is_whole(&answer("x", StopReason::Other("unspecified".to_owned()))));
        for (text, stop) in [("x", StopReason::Length), ("no", StopReason::Filtered), (" ", StopReason::End)]
        {
            assert!(!is_whole(&answer(text, stop.clone())), "{text} {stop:?}");
        }
        let call = ToolCall { id: "c".to_owned(), name: "t".to_owned(), arguments: "{}".to_owned() };
        assert!(!is_whole(&ModelAnswer { tool_calls: vec![call], ..answer("x", StopReason::ToolCalls) }));
    }
}
