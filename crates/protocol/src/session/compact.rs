//! Compaction (CP-04, CP-05, CP-08): a new box with the summary and what is kept takes the place of the old one, which
//! stays as it is. One commit moves the pointer and sets the summary, so that neither is ever seen without the other.

use super::{Change, State, list};
use crate::{Decision, Moment, Rejection};
use cardwire_model::{CardId, Origin, Session, session::reach_json};
use serde_json::json;

/// The kind of a summary's card.
pub const KIND: &str = "session.summary";

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compact {
    /// What stands for the covered messages from now on.
    pub summary: String,
    /// The summary that this one was made of, too. What another one says is kept besides (CP-05).
    pub follows: Option<CardId>,
    /// Messages that stay, by their place in memory, in order.
    pub keep: Vec<usize>,
    /// Half-open stretches of places that the summary covers.
    pub covers: Vec<(u32, u32)>,
    /// The version that the plan was made for.
    pub version: u64,
    /// Who made the summary (SEC-10).
    pub by: Origin,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summarised {
    /// The session.
    pub session: Session,
    /// What stands for older messages now.
    pub summary: String,
}

/// Puts the summary in the place of what it covers.
pub fn decide(state: &State, command: &Compact, moment: &Moment) -> Result<Decision<Summarised>, Rejection> {
    let row = state.live()?;
    if row.version.get() != command.version {
        let now = row.version.get();
        return Err(Rejection::Conflict(format!(
            "the session went from version {} to {now} while it was summarised",
            command.version
        )));
    }
    let memory = state.memory.as_deref().unwrap_or_default();
    let mut change = Change::new(state, "compacted");
    let covers = state.checkpoint.memory.map_or(json!(null), reach_json);
    let text = cumulative(state, command);
    // The previous summary is part of this one (CP-05); naming it lets a reader open both.
    let content = json!({
        "summary": text, "box": covers, "covers": command.covers,
        "previous": state.checkpoint.summary.map(|card| card.to_string()),
    });
    let card = state.card_by(command.by, KIND, &content, moment)?;
    let summary = change.put(card);
    let kept = command.keep.iter().filter_map(|place| memory.get(*place)).filter(|held| held.is_message);
    let cards: Vec<CardId> = std::iter::once(summary).chain(kept.map(|held| held.card_id)).collect();
    let (reach, write) = list::new_box("messages", &cards, moment)?;
    change.commit.writes.push(write);
    change.checkpoint.memory = Some(reach);
    change.checkpoint.messages = cards.len() as u32 - 1;
    change.checkpoint.summary = Some(summary);
    let (commit, session) = state.close(change, moment)?;
    Ok(Decision { commit, outcome: Summarised { session, summary: text } })
}

/// The given summary, after the one there is unless it was made of that: no summary takes another one away (W-15).
fn cumulative(state: &State, command: &Compact) -> String {
    let given = &command.summary;
    let made_of = command.follows.is_some() && command.follows == state.checkpoint.summary;
    match state.summary.as_deref().filter(|_| !made_of) {
        Some(before) => format!("{before}\n\n{given}"),
        None => given.clone(),
    }
}
