//! Tools that listen on the bus: they are told which card calls them, and answer with a report of their own or with the id of
//! a card that is reported for them. The turn waits meanwhile, no longer than until its deadline: a call may be lost.

use super::{WAIT_SECONDS, external::Ran};
use crate::{
    card::Answer,
    desk::Desk,
    tool_bus::{BusCall, ToolBus},
    transcript::Call,
    trouble::Trouble,
};
use cardwire_model::CardId;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Whether the target of a tool is a place on the bus.
pub(crate) fn is_place(target: &Map<String, Value>) -> bool {
    target.contains_key("nats")
}

/// Tells the tool of the call that `card_id` makes. `seconds` is how long a tool may take.
pub(crate) async fn run(
    bus: Option<&dyn ToolBus>,
    desk: &Desk,
    call: &Call,
    card_id: Option<&str>,
    document: &Value,
    seconds: u64,
) -> Result<Ran, Trouble> {
    let target = &document["target"];
    let failed = |code: &str, why: String| Ok(Ran::Answered(Answer::failed(code, why)));
    let (Some(bus), Some(name), Some(card_id)) = (bus, target["nats"].as_str(), card_id) else {
        return failed("tool_unsupported", format!("{} is on the bus, and this worker is not", call.name));
    };
    let lease = &desk.lease;
    let told = BusCall {
        target: name,
        tool_call_card_id: card_id,
        tool_call_id: &call.id,
        project_id: &lease.project_id,
        channel_id: lease.channel_id.as_deref(),
        agent_id: &lease.agent_id,
        agent_turn_id: &lease.agent_turn_id,
        turn_epoch: lease.turn_epoch,
        traceparent: desk.trace.header(),
    };
    let wait = target["wait_seconds"].as_u64().unwrap_or(seconds);
    let later = Ran::Later(u32::try_from(wait).unwrap_or(WAIT_SECONDS).min(WAIT_SECONDS));
    if target["reply"] != Value::Bool(true) {
        return match bus.tell(&told).await {
            Ok(()) => Ok(later),
            Err(why) => failed("tool_failed", why),
        };
    }
    match bus.ask(&told, Duration::from_secs(seconds)).await {
        Ok(Some(reply)) => match reply["tool_result_card_id"].as_str() {
            Some(card) => report(desk, call, card, &document["after_execution"]).await,
            // It has been heard, and is answered later.
            None => Ok(Ran::Later(WAIT_SECONDS)),
        },
        // It may have been heard: an answer of ours could meet the tool's own.
        Ok(None) => Ok(later),
        Err(why) => failed("tool_failed", why),
    }
}

/// Answers the call with the card that the tool names, as the tool could have done itself.
async fn report(desk: &Desk, call: &Call, card: &str, after: &Value) -> Result<Ran, Trouble> {
    let reported = match card.parse::<CardId>() {
        Ok(id) => desk.report(&call.id, &id.to_string(), after).await,
        Err(wrong) => return Ok(Ran::Answered(no_answer(&wrong.to_string()))),
    };
    match reported {
        // What waits for a call that has its answer goes on at once.
        Ok(()) => Ok(Ran::Later(WAIT_SECONDS)),
        Err(Trouble::Refused { status, message, .. }) if (400..500).contains(&status) => {
            Ok(Ran::Answered(no_answer(&message)))
        }
        Err(trouble) => Err(trouble),
    }
}

fn no_answer(why: &str) -> Answer {
    Answer::failed("tool_failed", format!("the card that the tool names is no answer: {why}"))
}

/// What the kernel is told of an answer: the report of `card`, whose content is `content`.
pub(crate) fn report_of(
    lease: &crate::lease::Lease,
    call: &str,
    card: &str,
    content: &Value,
    after: &Value,
) -> Value {
    let mut report = json!({
        "agent_id": lease.agent_id, "agent_turn_id": lease.agent_turn_id, "turn_epoch": lease.turn_epoch,
        "tool_call_id": call, "tool_result_card_id": card,
        "status": content["status"].as_str().unwrap_or("success"),
    });
    if after == "terminate" {
        report["after_execution"] = after.clone();
    }
    report
}
