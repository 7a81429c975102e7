//! The tools that agents call: what each of them does, and what becomes of the turn.

pub(crate) mod approval;
pub(crate) mod external;
pub(crate) mod fields;
pub(crate) mod handoffs;
pub(crate) mod handover;
pub(crate) mod missing;
pub(crate) mod notes;
pub(crate) mod offer;
pub(crate) mod on_bus;
pub(crate) mod submit;
pub(crate) mod todo;

use crate::{
    card::Answer,
    desk::{Desk, Ending},
    mcp::Mcp,
    profile::{Profile, RunLimits},
    transcript::{Call, Transcript},
    trouble::Trouble,
};
use cardwire_model::{
    asking::ASK_HUMAN,
    builtin_tools::{HANDOFF_WRITING, NOTE_TOOLS, PMO_TOOLS},
    every_built_in_tool,
};
use external::External;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// How often a model is told what is missing or does not fit before its turn fails.
pub(crate) const NOTICES: usize = 3;

/// How long a turn waits for what others do.
pub(crate) const WAIT_SECONDS: u32 = 7 * 24 * 3600;

/// What a call came to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    /// An answer, to be written.
    Answered(Answer),
    /// The kernel has written the answer, or will.
    Taken,
    /// The turn waits for this call for so many seconds, after writing these cards.
    Waits(String, Vec<Value>, u32),
    /// The turn ends so, with this answer.
    Ends(Answer, Ending),
}

impl Outcome {
    /// The code of an answer that says that the tool failed.
    pub(crate) fn failure(&self) -> Option<&str> {
        match self {
            Self::Answered(Answer::Failed { code, .. }) | Self::Ends(Answer::Failed { code, .. }, _) => {
                Some(code)
            }
            Self::Answered(Answer::Success(_))
            | Self::Ends(Answer::Success(_), _)
            | Self::Taken
            | Self::Waits(..) => None,
        }
    }
}

/// What calls are carried out with.
#[derive(Debug)]
pub(crate) struct Bench<'a> {
    pub(crate) desk: &'a Desk,
    pub(crate) profile: &'a Profile,
    pub(crate) limits: RunLimits,
    pub(crate) required: &'a Arc<[fields::Field]>,
    pub(crate) external: &'a External,
    pub(crate) mcp: &'a Mcp,
    /// In a replay: what the turn has on record. Nothing is carried out.
    pub(crate) record: Option<&'a Transcript>,
    /// In a fork: what the turn has on record that it goes on from. The same call has the same answer (RP-06).
    pub(crate) past: Option<Transcript>,
}

impl Bench<'_> {
    /// What is told of a tool outside the project: its name, if it is none that the model made up (OB-06).
    pub(crate) fn told<'n>(&self, name: &'n str) -> &'n str {
        let mut delegates = handover::delegates(&self.desk.lease.runtime_config);
        let is_known = name == submit::NAME
            || every_built_in_tool().any(|known| known == name)
            || self.profile.names(name)
            || delegates.any(|delegate| delegate["id"].as_str().is_some_and(|id| handover::tool(id) == name));
        if is_known { name } else { "unknown" }
    }

    /// Carries out one call. `said` is what the model said with it.
    pub(crate) async fn run(
        &self,
        call: &Call,
        transcript: &Transcript,
        said: &str,
    ) -> Result<Outcome, Trouble> {
        let failed = |code: &str, message: String| Ok(Outcome::Answered(Answer::failed(code, message)));
        let settings = &self.desk.lease.runtime_config;
        if !is_name(&call.name) {
            return failed("unknown_tool", "there is no tool of this name".to_owned());
        }
        let hands_on = call.name.starts_with(handover::PREFIX) || PMO_TOOLS.contains(&call.name.as_str());
        if hands_on && settings["hands_on"] == Value::Bool(false) {
            return failed("tool_not_allowed", "this role does its own task and hands nothing on".to_owned());
        }
        if let Some(deliverable) = handover::deliverable(&call.name, &call.arguments, said, settings) {
            if !handover::is_read(settings) {
                return failed(
                    "tool_not_allowed",
                    "this turn ends with a result and hands nothing over".to_owned(),
                );
            }
            return Ok(accepted(deliverable));
        }
        if call.name == submit::NAME {
            return Ok(match submit::submit_apart(&call.arguments, self.required).await {
                Ok(deliverable) => accepted(deliverable),
                Err(wrong) => sent_back(&wrong, transcript),
            });
        }
        if transcript.calls().iter().any(|made| approval::question_id(&made.id) == call.id) {
            return Ok(Outcome::Waits(call.id.clone(), vec![], WAIT_SECONDS));
        }
        // What reaches files or programs is for those who are given it by name.
        let is_mcp = self.mcp.serves(&call.name);
        let by_name = is_mcp || HANDOFF_WRITING.contains(&call.name.as_str());
        if !self.profile.allows(&call.name) || (by_name && !self.profile.names(&call.name)) {
            return failed("tool_not_allowed", format!("{} is not among the tools of this agent", call.name));
        }
        let given = todo::arguments(&call.name, &call.arguments);
        let Some(arguments) = given.as_object() else {
            return failed(
                "invalid_arguments",
                format!("the arguments of {} must be a JSON object", call.name),
            );
        };
        if let Some(record) = self.record {
            return self.replay(call, arguments, transcript, record).await;
        }
        if let Some(answer) = self.past.as_ref().and_then(|past| past.answer_to(call)) {
            return Ok(Outcome::Answered(Answer::of(answer)));
        }
        if call.name == ASK_HUMAN {
            return Ok(Outcome::Waits(call.id.clone(), vec![], WAIT_SECONDS));
        }
        if handoffs::is_one(&call.name) {
            return answered(handoffs::run(self.desk, call, arguments, transcript).await);
        }
        if NOTE_TOOLS.contains(&call.name.as_str()) {
            return answered(notes::run(self.desk, call, arguments).await);
        }
        if !PMO_TOOLS.contains(&call.name.as_str())
            && let Some(document) = self.document(&call.name).await?
        {
            return self.run_document(call, arguments, &document, transcript).await;
        }
        if is_mcp {
            let answer = self.mcp.call(&call.name, arguments, self.limits.tool_seconds).await;
            return Ok(Outcome::Answered(answer));
        }
        self.carry_out(call, arguments).await
    }

    /// What the call came to when it was made.
    async fn replay(
        &self,
        call: &Call,
        arguments: &Map<String, Value>,
        transcript: &Transcript,
        record: &Transcript,
    ) -> Result<Outcome, Trouble> {
        let asked = record.calls().into_iter().any(|made| made.id == approval::question_id(&call.id));
        if asked && let approval::Standing::Asked(id, cards) = approval::standing(self.desk, call, transcript)
        {
            return Ok(Outcome::Waits(id, cards, WAIT_SECONDS));
        }
        Ok(match record.answer_card(&call.id) {
            // What the system wrote, it writes again; what others said, they say again.
            Some(card) if card["author_id"].as_str().is_some_and(|author| author.starts_with("sys.")) => {
                return self.carry_out(call, arguments).await;
            }
            Some(card) if card["author_id"] == call.name.as_str() => {
                self.said_again(call, Answer::of(&card["content"])).await?
            }
            Some(_) | None => Outcome::Waits(call.id.clone(), vec![], WAIT_SECONDS),
        })
    }

    /// The answer of a tool that may have ended the turn.
    async fn said_again(&self, call: &Call, answer: Answer) -> Result<Outcome, Trouble> {
        let is_own = NOTE_TOOLS.contains(&call.name.as_str()) || handoffs::is_one(&call.name);
        let document = if is_own { None } else { self.document(&call.name).await? };
        let ends = document.is_some_and(|document| document["after_execution"] == "terminate");
        Ok(ended_by(answer, ends))
    }

    /// The document of a tool of the project.
    pub(crate) async fn document(&self, name: &str) -> Result<Option<Value>, Trouble> {
        match self.desk.get(&format!("/tools/{name}")).await {
            Ok(document) => Ok(Some(document)),
            Err(Trouble::Refused { status: 404 | 400, .. }) => Ok(None),
            Err(trouble) => Err(trouble),
        }
    }

    async fn run_document(
        &self,
        call: &Call,
        arguments: &Map<String, Value>,
        document: &Value,
        transcript: &Transcript,
    ) -> Result<Outcome, Trouble> {
        let agreed = if document["approval"] == "required" {
            match approval::standing(self.desk, call, transcript) {
                approval::Standing::Agreed(word) => Some(word),
                approval::Standing::Denied(why) => {
                    return Ok(Outcome::Answered(Answer::failed("denied", why)));
                }
                approval::Standing::Asked(id, cards) => return Ok(Outcome::Waits(id, cards, WAIT_SECONDS)),
            }
        } else {
            None
        };
        let answer = match (&document["target"], agreed) {
            (Value::Object(target), _) if on_bus::is_place(target) => {
                let (bus, card) = (self.external.bus(), transcript.call_card(&call.id));
                on_bus::run(bus, self.desk, call, card, document, self.limits.tool_seconds).await?
            }
            (Value::Object(target), _) if !target.is_empty() => {
                self.external.run(self.desk, call, arguments, target, self.limits.tool_seconds).await
            }
            (_, _) if self.mcp.serves(&call.name) => {
                external::Ran::Answered(self.mcp.call(&call.name, arguments, self.limits.tool_seconds).await)
            }
            // A tool that runs nowhere is what a person agrees to.
            (_, Some(word)) => external::Ran::Answered(Answer::Success(word)),
            (_, None) => external::Ran::Answered(Answer::failed(
                "tool_without_target",
                format!("the tool {} says neither where it runs nor that somebody must agree", call.name),
            )),
        };
        Ok(match answer {
            external::Ran::Later(seconds) => Outcome::Waits(call.id.clone(), vec![], seconds),
            external::Ran::Answered(answer) => ended_by(answer, document["after_execution"] == "terminate"),
        })
    }

    /// Has the PMO do it: one of its tools, or a recipe. It answers in the turn's box, also when it refuses.
    async fn carry_out(&self, call: &Call, arguments: &Map<String, Value>) -> Result<Outcome, Trouble> {
        match self.desk.carry_out(&call.name, &call.id, arguments, json!({})).await {
            Ok(answer) if answer["tool_result_card_id"].is_null() => {
                Ok(Outcome::Waits(call.id.clone(), vec![], WAIT_SECONDS))
            }
            Ok(_) => Ok(Outcome::Taken),
            Err(Trouble::Refused { status, code, message }) if (400..500).contains(&status) => {
                let answered = self.desk.transcript().await?.answer(&call.id).is_some();
                Ok(if answered {
                    Outcome::Taken
                } else {
                    Outcome::Answered(Answer::Failed { code, message })
                })
            }
            Err(trouble) => Err(trouble),
        }
    }
}

/// An answer, which is the deliverable if its tool ends turns. What no card holds is no deliverable either.
fn ended_by(answer: Answer, ends: bool) -> Outcome {
    if !ends {
        return Outcome::Answered(answer);
    }
    match answer.kept().into_owned() {
        Answer::Success(result) => Outcome::Ends(Answer::Success(result.clone()), Ending::success(result)),
        failed @ Answer::Failed { .. } => Outcome::Answered(failed),
    }
}

/// What the kernel refuses is told to the model, which can do better.
fn answered(done: Result<Answer, Trouble>) -> Result<Outcome, Trouble> {
    match done {
        Err(Trouble::Refused { status, code, message }) if (400..500).contains(&status) => {
            Ok(Outcome::Answered(Answer::Failed { code, message }))
        }
        done => done.map(Outcome::Answered),
    }
}

/// A deliverable that ends the turn.
fn accepted(deliverable: Value) -> Outcome {
    Outcome::Ends(Answer::Success(json!({ "status": "accepted" })), Ending::success(deliverable))
}

/// A result that is not taken. Who gives values that do not fit again and again is told no more.
fn sent_back(wrong: &submit::Wrong, transcript: &Transcript) -> Outcome {
    let answer = Answer::failed(wrong.code(), wrong.words());
    let is_last =
        wrong.code() == submit::INVALID_VALUE && transcript.failures(submit::INVALID_VALUE) >= NOTICES;
    if is_last {
        return Outcome::Ends(answer, Ending::failed(wrong.code(), wrong.words()));
    }
    Outcome::Answered(answer)
}

/// Whether a model's word for a tool can be one. It becomes part of a path.
pub(crate) fn is_name(name: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=128).contains(&name.len()) && name.bytes().all(legal)
}

/// A text among arguments, trimmed; none when it is blank.
pub(crate) fn text_argument(arguments: &Value, name: &str) -> Option<String> {
    let text = arguments.get(name)?.as_str()?.trim();
    if text.is_empty() { None } else { Some(text.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::is_name;

    #[test]
    fn a_tool_has_a_name_that_leads_nowhere_else() {
        assert!(is_name("fork_join") && is_name("a-B_1") && is_name(&"x".repeat(128)));
        for wrong in ["", "search web", "../tools/pay", "a/b", "a?b", "卡", &"x".repeat(129)] {
            assert!(!is_name(wrong), "{wrong}");
        }
    }
}
