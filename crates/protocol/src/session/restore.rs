//! Restore: what an earlier checkpoint showed is shown again (ST-09). Nothing is lost: the checkpoints in between stay.

use super::{Change, State, list};
use crate::{Decision, Moment, Rejection};
use cardwire_model::{AuditAction, CardId, Checkpoint, Segment, Session};
use serde_json::json;

/// An earlier checkpoint, with the cards its lists showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restore {
    /// The checkpoint.
    pub to: Checkpoint,
    /// Its memory.
    pub memory: Vec<CardId>,
    /// Its results.
    pub results: Vec<CardId>,
    /// Its timeline.
    pub timeline: Vec<CardId>,
}

/// Makes the earlier checkpoint the newest one. Its lists become boxes of their own: the old ones have gone on since, and
/// what came later must not show again with the next message.
pub fn decide(state: &State, command: &Restore, moment: &Moment) -> Result<Decision<Session>, Rejection> {
    state.live()?;
    let mut change = Change::new(state, "restored");
    let mut again = |name: &str, reach: Option<Segment>, cards: &[CardId]| {
        if reach.is_none() {
            return Ok(None);
        }
        let (reach, write) = list::new_box(name, cards, moment)?;
        change.commit.writes.push(write);
        Ok::<_, Rejection>(Some(reach))
    };
    let to = &command.to;
    let memory = again("messages", to.memory, &command.memory)?;
    let results = again("mapreduce_results", to.results, &command.results)?;
    let timeline = again("timeline", to.timeline, &command.timeline)?;
    change.checkpoint = Checkpoint { memory, results, timeline, ..to.clone() };
    let detail = json!({ "version": to.version });
    change.commit.audit.push(moment.audit(AuditAction::SessionRestore, &state.key, &detail));
    let (commit, session) = state.close(change, moment)?;
    Ok(Decision { commit, outcome: session })
}
