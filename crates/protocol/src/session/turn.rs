//! Turns that belong to a session (ST-07): which, and what is remembered of them.

use super::{
    State,
    message::said,
    patch::{self, MessagesOp, Patch},
};
use crate::{Moment, Rejection};
use cardwire_model::{CanonicalJson, Commit, Invalid, Namespace, SessionKey, Speaker, Timestamp, TurnId};
use serde_json::Value;

/// The session that the settings of a run name, in `session_id` and `namespace`.
pub fn session_of(runtime_config: &CanonicalJson) -> Option<SessionKey> {
    check(runtime_config).ok().flatten()
}

/// The same, refusing what names none.
pub fn check(runtime_config: &CanonicalJson) -> Result<Option<SessionKey>, Invalid> {
    let settings = runtime_config.to_value();
    let text = |name: &str| match settings.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(Invalid::field(format!("runtime_config/{name}"), "must be a string")),
    };
    let at = |name: &'static str, invalid: Invalid| match invalid {
        Invalid::Field { reason, .. } => Invalid::field(format!("runtime_config/{name}"), reason),
        other @ (Invalid::Coded { .. } | Invalid::TooLarge { .. }) => other,
    };
    if !matches!(settings.get("remember"), None | Some(Value::Null | Value::Bool(_))) {
        return Err(Invalid::field("runtime_config/remember", "must be true or false"));
    }
    let Some(session) = text("session_id")? else { return Ok(None) };
    let namespace = match text("namespace")? {
        Some(name) => name.parse().map_err(|invalid| at("namespace", invalid))?,
        None => Namespace::default(),
    };
    let session = session.parse().map_err(|invalid| at("session_id", invalid))?;
    Ok(Some(SessionKey { namespace, session }))
}

/// Whether the session remembers the turn: not one that only reads it because somebody else writes for it (`remember`).
pub fn is_remembered(runtime_config: &CanonicalJson) -> bool {
    runtime_config.to_value().get("remember") != Some(&Value::Bool(false))
}

/// Whether the turn only tries something out: a fork leaves nothing in the session that it reads (RP-06).
pub fn tries_out(runtime_config: &CanonicalJson) -> bool {
    runtime_config.to_value().get("forked_from").is_some_and(Value::is_string)
}

/// Whether the turn leads a team, so that the work is its members'.
pub fn leads_team(runtime_config: &CanonicalJson) -> bool {
    runtime_config.to_value().get("team_card_id").is_some_and(Value::is_string)
}

/// What is remembered of a turn that ended well: what was asked, under the turn's id, what people said when they were asked
/// on the way (PR-10), and what came of it.
pub fn exchange(
    turn: TurnId,
    input: Option<CanonicalJson>,
    replies: &[CanonicalJson],
    deliverable: CanonicalJson,
) -> Patch {
    let asked = input.map(|content| said(turn.to_string(), Speaker::Human, content, None));
    let human = |(index, content): (usize, &CanonicalJson)| {
        said(format!("{turn}_said_{index}"), Speaker::Human, content.clone(), None)
    };
    let answer = said(format!("{turn}_reply"), Speaker::Ai, deliverable, None);
    let messages = asked.into_iter().chain(replies.iter().enumerate().map(human)).chain([answer]).collect();
    Patch { messages: Some(MessagesOp::Append(messages)), ..Patch::default() }
}

/// Remembers a turn that began at a moment. A session that was deleted since is not made anew for its sake, nor is what
/// belongs to it told to the next session of the name.
pub fn remember(
    state: &State,
    began: Timestamp,
    exchange: &Patch,
    moment: &Moment,
) -> Result<Option<Commit>, Rejection> {
    if state.former().is_some_and(|former| began < former.deleted_at) {
        return Ok(None);
    }
    patch::decide(state, exchange, moment).map(|decision| Some(decision.commit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::agent::json;

    /// ST-07
    #[test]
    fn a_turn_names_its_session_in_the_settings_of_the_run() {
        assert_eq!(session_of(&json("{}")), None);
        let named = session_of(&json(r#"{"session_id":"s"}"#)).unwrap();
        assert_eq!(named.to_string(), "default:s");
        let named = session_of(&json(r#"{"namespace":"n","session_id":"s"}"#)).unwrap();
        assert_eq!(named.to_string(), "n:s");
        for (bad, field) in [
            (r#"{"session_id":7}"#, "runtime_config/session_id"),
            (r#"{"session_id":"a b"}"#, "runtime_config/session_id"),
            (r#"{"session_id":"a","namespace":"*"}"#, "runtime_config/namespace"),
            (r#"{"session_id":"a","remember":"no"}"#, "runtime_config/remember"),
        ] {
            assert_eq!(check(&json(bad)).unwrap_err().field_name(), field);
        }
    }

    #[test]
    fn a_turn_that_only_reads_its_session_is_not_remembered() {
        assert!(is_remembered(&json(r#"{"session_id":"s"}"#)));
        assert!(!is_remembered(&json(r#"{"session_id":"s","remember":false}"#)));
        assert!(tries_out(&json(r#"{"session_id":"s","forked_from":"turn_1"}"#)));
        assert!(!tries_out(&json(r#"{"session_id":"s","forked_from":null}"#)));
    }
}
