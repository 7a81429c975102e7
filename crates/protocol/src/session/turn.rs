//! Turns that belong to a session (ST-07): which, and what is remembered of them.

use super::{
    State,
    message::said,
    patch::{self, MessagesOp, Patch},
};
use crate::{Moment, Rejection};
use cardwire_model::{
    CanonicalJson, CardId, Commit, Ended, InboxItem, InboxKind, Invalid, Namespace, Seen, SessionKey,
    Speaker, TaskStatus, Timestamp, TurnId, TurnPayload, Write,
};
use serde_json::Value;

/// Which session a turn belongs to, and what of it the turn sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// Which one.
    pub key: SessionKey,
    /// What the turn sees, whatever became of the session since; as it is now when absent.
    pub seen: Option<Seen>,
}

/// The session that the settings of a run name, in `session_id` and `namespace`.
pub fn session_of(runtime_config: &CanonicalJson) -> Option<SessionKey> {
    membership(runtime_config).map(|membership| membership.key)
}

/// The same, with what the run sees of it (`session_checkpoint`).
pub fn membership(runtime_config: &CanonicalJson) -> Option<Membership> {
    check(runtime_config).ok().flatten()
}

/// The same, refusing what names none.
pub fn check(runtime_config: &CanonicalJson) -> Result<Option<Membership>, Invalid> {
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
    let seen = text(CHECKPOINT)?.map(str::parse).transpose().map_err(|invalid| at(CHECKPOINT, invalid))?;
    let Some(session) = text("session_id")? else {
        return match seen {
            None => Ok(None),
            Some(_) => Err(Invalid::field(format!("runtime_config/{CHECKPOINT}"), "needs a session_id")),
        };
    };
    let namespace = match text("namespace")? {
        Some(name) => name.parse().map_err(|invalid| at("namespace", invalid))?,
        None => Namespace::default(),
    };
    let session = session.parse().map_err(|invalid| at("session_id", invalid))?;
    Ok(Some(Membership { key: SessionKey { namespace, session }, seen }))
}

/// Whether the session remembers the turn: not one that only reads it because somebody else writes for it (`remember`),
/// nor one that only tries something out.
pub fn is_remembered(runtime_config: &CanonicalJson) -> bool {
    runtime_config.to_value().get("remember") != Some(&Value::Bool(false)) && !tries_out(runtime_config)
}

/// Whether the turn only tries something out: a fork, and whoever works for one, leaves nothing in the session that it
/// reads (RP-06).
pub fn tries_out(runtime_config: &CanonicalJson) -> bool {
    let settings = runtime_config.to_value();
    is_text(&settings, "forked_from") || is_text(&settings, CHECKPOINT)
}

/// The setting that tells what of its session a turn sees.
pub const CHECKPOINT: &str = "session_checkpoint";

fn is_text(settings: &Value, name: &str) -> bool {
    settings.get(name).is_some_and(Value::is_string)
}

/// The call that a fork makes anew: the last that the turn made `after` what it had said before and `until` it said what
/// came of it, each if there is such a thing. Calls are given newest first, with when they were made.
pub fn made_anew(
    newest_first: impl IntoIterator<Item = (CardId, Timestamp)>,
    after: Option<Timestamp>,
    until: Option<Timestamp>,
) -> Option<CardId> {
    let is_it =
        |made: Timestamp| after.is_none_or(|after| after <= made) && until.is_none_or(|until| made <= until);
    newest_first.into_iter().find(|(_, made)| is_it(*made)).map(|(call, _)| call)
}

/// The checkpoint that a session had at a moment; the last one without a moment. Given newest first, with when they were
/// made.
pub fn checkpoint_at(
    newest_first: impl IntoIterator<Item = (CardId, Timestamp)>,
    moment: Option<Timestamp>,
) -> Option<CardId> {
    let was_there = |made: Timestamp| moment.is_none_or(|moment| made <= moment);
    newest_first.into_iter().find(|(_, made)| was_there(*made)).map(|(checkpoint, _)| checkpoint)
}

/// Whether the turn is a member's part in a round of a team, and not work that one agent has given to another.
pub fn is_in_round(runtime_config: &CanonicalJson) -> bool {
    runtime_config.members().is_some_and(|mut members| members.any(|(name, _)| name == "role"))
}

/// Whether the turn leads a team, so that the work is its members'.
pub fn leads_team(runtime_config: &CanonicalJson) -> bool {
    runtime_config.to_value().get("team_card_id").is_some_and(Value::is_string)
}

/// A turn that ends well in a session that remembers it.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// Which turn.
    pub turn_id: TurnId,
    /// What came with it.
    pub payload: TurnPayload,
    /// The session.
    pub key: SessionKey,
    /// When it was enqueued.
    pub began: Timestamp,
    /// What came of it.
    pub deliverable: CardId,
}

/// The end of the turn with this row, if the commit is such an end and the session is to remember it.
pub fn answered(item: &InboxItem, commit: &Commit) -> Option<Answered> {
    let key = session_of_row(item)?;
    let ended = |write: &Write| {
        let Write::UpdateInbox { item: row, .. } = write else { return None };
        let own = row.id == item.id && row.kind == InboxKind::Turn;
        row.ended.clone().filter(|ended| own && ended.status == TaskStatus::Success)
    };
    let Ended { deliverable, .. } = commit.writes.iter().find_map(ended)?;
    let payload = TurnPayload::from_stored(&item.payload).ok()?;
    if !is_remembered(&payload.runtime_config) {
        return None;
    }
    Some(Answered { turn_id: item.turn_id, payload, key, began: item.created_at, deliverable })
}

/// The session that the turn with this row belongs to.
pub fn session_of_row(item: &InboxItem) -> Option<SessionKey> {
    // Most turns belong to no session: do not parse what cannot name one.
    if !item.payload.contains("session_id") {
        return None;
    }
    session_of(&TurnPayload::from_stored(&item.payload).ok()?.runtime_config)
}

/// What is remembered of a turn that ended well: what was asked, under the turn's id, what people said when they were asked
/// on the way (PR-10), and what came of it.
pub fn exchange(
    answered: &Answered,
    input: Option<CanonicalJson>,
    replies: &[CanonicalJson],
    deliverable: CanonicalJson,
) -> Patch {
    let turn = answered.turn_id;
    let asked = input.map(|content| said(turn.to_string(), Speaker::Human, content, None));
    let human = |(index, content): (usize, &CanonicalJson)| {
        said(format!("{turn}_said_{index}"), Speaker::Human, content.clone(), None)
    };
    let answer = said(format!("{turn}_reply"), Speaker::Ai, deliverable, None);
    let messages = asked.into_iter().chain(replies.iter().enumerate().map(human)).chain([answer]).collect();
    let led_by = leads_team(&answered.payload.runtime_config).then_some(turn);
    Patch { messages: Some(MessagesOp::Append(messages)), led_by, ..Patch::default() }
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
    use crate::{
        fixtures::agent::{TestAgent, json},
        turn::{Command, Fence, dispatch::Dispatch},
    };

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
            (r#"{"session_id":"a","session_checkpoint":"x"}"#, "runtime_config/session_checkpoint"),
            (r#"{"session_id":"a","session_checkpoint":7}"#, "runtime_config/session_checkpoint"),
            (r#"{"session_checkpoint":"none"}"#, "runtime_config/session_checkpoint"),
        ] {
            assert_eq!(check(&json(bad)).unwrap_err().field_name(), field);
        }
    }

    /// What is remembered of the end of a turn with these settings.
    fn remembered(settings: &str, end: impl Fn(&Fence) -> Command) -> Option<Answered> {
        let mut agent = TestAgent::new();
        let command = Dispatch { runtime_config: json(settings), ..agent.dispatch_command() };
        agent.try_dispatch(&command).unwrap();
        agent.claim(true);
        let fence = agent.fence();
        let item = agent.row(fence.turn_id).unwrap().clone();
        answered(&item, &agent.decide(&end(&fence)).unwrap().commit)
    }

    /// ST-07
    #[test]
    fn only_a_turn_of_a_session_that_ends_well_is_remembered() {
        let in_session = r#"{"session_id":"s"}"#;
        let known = remembered(in_session, TestAgent::finish).unwrap();
        assert_eq!(known.key.to_string(), "default:s");
        let failed = |fence: &Fence| {
            let mut end = TestAgent::finish(fence);
            if let Command::Finish(finish) = &mut end {
                finish.status = TaskStatus::Failed;
            }
            end
        };
        assert_eq!(remembered(in_session, failed), None);
        assert_eq!(remembered("{}", TestAgent::finish), None);
        assert_eq!(remembered(r#"{"session_id":"s","remember":false}"#, TestAgent::finish), None);
        let waits = |fence: &Fence| Command::Heartbeat(fence.clone());
        assert_eq!(remembered(in_session, waits), None, "it has not ended");
    }

    #[test]
    fn a_turn_that_only_reads_its_session_is_not_remembered() {
        assert!(is_remembered(&json(r#"{"session_id":"s"}"#)));
        assert!(!is_remembered(&json(r#"{"session_id":"s","remember":false}"#)));
        assert!(tries_out(&json(r#"{"session_id":"s","forked_from":"turn_1"}"#)));
        assert!(!is_remembered(&json(r#"{"session_id":"s","forked_from":"turn_1"}"#)));
        assert!(!tries_out(&json(r#"{"session_id":"s","forked_from":null}"#)));
    }

    /// RP-06
    #[test]
    fn a_turn_that_sees_its_session_as_it_was_leaves_nothing_in_it() {
        let card = "0192f0c123457abc8def0123456789ab";
        for (checkpoint, seen) in [("none", Seen::Nothing), (card, Seen::Checkpoint(card.parse().unwrap()))] {
            let settings = json(&format!(r#"{{"session_id":"s","session_checkpoint":"{checkpoint}"}}"#));
            assert_eq!(membership(&settings).unwrap().seen, Some(seen));
            assert!(tries_out(&settings) && !is_remembered(&settings));
        }
        assert_eq!(membership(&json(r#"{"session_id":"s"}"#)).unwrap().seen, None);
    }

    fn times(times: &[i64]) -> Vec<(CardId, Timestamp)> {
        let one = |time: &i64| {
            (CardId::from_uuid(uuid::Uuid::from_u128(*time as u128)), Timestamp::from_micros(*time))
        };
        times.iter().map(one).collect()
    }

    fn found(card: Option<CardId>) -> Option<u128> {
        card.map(|card| card.uuid().as_u128())
    }

    /// RP-06: a turn that says something at 3, 6 and 9, with calls at 1, 4, 5 (the one at 4 came to nothing) and 8.
    #[test]
    fn the_call_made_anew_is_the_one_whose_answer_is_not_taken_over() {
        let between = |after: Option<i64>, until: Option<i64>| {
            let moment = |time: Option<i64>| time.map(Timestamp::from_micros);
            found(made_anew(times(&[8, 5, 4, 1]), moment(after), moment(until)))
        };
        assert_eq!(between(None, Some(3)), Some(1));
        assert_eq!(between(Some(3), Some(6)), Some(5));
        assert_eq!(between(Some(6), Some(9)), Some(8));
        assert_eq!(between(Some(9), None), None, "it has not been made");
        assert_eq!(between(Some(6), None), Some(8), "nothing came of it");
    }

    /// RP-06
    #[test]
    fn a_session_at_a_moment_is_its_last_checkpoint_until_then() {
        let at =
            |moment: Option<i64>| found(checkpoint_at(times(&[7, 4, 2]), moment.map(Timestamp::from_micros)));
        assert_eq!((at(Some(1)), at(Some(4)), at(Some(6))), (None, Some(4), Some(4)));
        assert_eq!((at(Some(9)), at(None)), (Some(7), Some(7)));
    }
}
