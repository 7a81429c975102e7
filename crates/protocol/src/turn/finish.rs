//! Finish: the holder of a turn delivers (WK-06). The last cards and the last step may come with it, so that a turn
//! without tools ends in one commit.

use super::{
    Outcome,
    append::NewCard,
    ending::{self, End, Remains},
    fence::{self, Fence},
    step::{self, NewStep},
    work::Work,
};
use crate::{Decision, Moment, Rejection};
use cardwire_model::{
    CanonicalJson, CardId, Invalid, ProjectId, Snapshot, Status, TaskStatus, ToolCall, limits,
};

/// The end of a turn.
#[derive(Debug, Clone)]
pub struct Finish {
    /// Who writes.
    pub fence: Fence,
    /// How it ended.
    pub status: TaskStatus,
    /// What came out.
    pub deliverable: Deliverable,
    /// What went wrong, for people.
    pub error: Option<String>,
    /// What went wrong, for programs.
    pub error_code: Option<String>,
    /// The last cards.
    pub cards: Vec<NewCard>,
    /// The last step.
    pub step: Option<NewStep>,
    /// What people said when the turn asked them, in order. Its session remembers it (PR-10).
    pub replies: Vec<CanonicalJson>,
    /// Every tool call of the turn, if a card touches one.
    pub calls: Vec<ToolCall>,
    /// What a deliverable can be made of, if none is given.
    pub remains: Remains,
}

/// What comes out of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deliverable {
    /// The content of a new card.
    Content(CanonicalJson),
    /// A card that is there already.
    Card(CardId),
    /// The latest deliverable that the turn has written, or one made of what there is.
    Absent,
}

impl Deliverable {
    /// The card it names.
    pub const fn card_id(&self) -> Option<CardId> {
        match self {
            Self::Card(id) => Some(*id),
            Self::Content(_) | Self::Absent => None,
        }
    }

    /// Whether none is given.
    pub const fn is_absent(&self) -> bool {
        match self {
            Self::Absent => true,
            Self::Content(_) | Self::Card(_) => false,
        }
    }
}

/// Ends the turn and leases the next one.
pub fn decide(
    snapshot: &Snapshot,
    project: &ProjectId,
    command: &Finish,
    moment: &Moment,
) -> Result<Decision<Outcome>, Rejection> {
    check_text("error", command.error.as_deref())?;
    check_text("error_code", command.error_code.as_deref())?;
    Invalid::check_size("replies", command.replies.len(), limits::TURN_REPLIES, "replies")?;
    let held = fence::hold(snapshot, project, &command.fence, &[Status::Running])?;
    let mut work = Work::new(held, moment);
    ending::write_cards(&mut work, snapshot, &command.cards, &command.calls)?;
    let brings = !work.appended().is_empty();
    if let Some(step) = &command.step {
        step.check().map_err(|wrong| wrong.under("step"))?;
        step::write(&mut work, snapshot, step)?;
    }
    let end = End::Finished {
        fence: &command.fence,
        status: command.status,
        deliverable: &command.deliverable,
        error: command.error.as_deref(),
        error_code: command.error_code.as_deref(),
        remains: &command.remains,
        brings,
    };
    ending::end(work, snapshot, end)
}

/// Text for people: of bounded length, and storable.
pub(super) fn check_text(field: &str, text: Option<&str>) -> Result<(), Invalid> {
    match text {
        Some(text) if text.contains('\0') => Err(Invalid::field(field, "must not contain NUL")),
        Some(text) => Invalid::check_size(field, text.chars().count(), limits::ERROR_CHARS, "characters"),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fixtures::{agent::TestAgent, project},
        turn::{self, Command},
    };
    use cardwire_model::Write;

    /// WK-06, SEC-07: what a full output box does not take is there all the same, and the turn ends with it.
    #[test]
    fn a_turn_whose_output_box_is_full_ends_with_its_deliverable() {
        for (brings, len, fits) in [
            (false, limits::BOX_CARDS, true),
            (true, limits::BOX_CARDS - 2, true),
            (true, limits::BOX_CARDS - 1, false),
        ] {
            let (agent, fence) = TestAgent::running();
            let output = agent.head.as_ref().unwrap().live.as_ref().unwrap().output_box;
            let mut rows = agent.for_turn(fence.turn_id);
            rows.boxes.get_mut(&output).unwrap().len = len as u32;
            let mut command = TestAgent::finish(&fence);
            if let (Command::Finish(finish), true) = (&mut command, brings) {
                finish.cards = vec![agent.card("agent.thought", r#""t""#, None)];
            }
            let ended = turn::decide(&rows, &project(), &command, &agent.moment);
            assert_eq!(ended.is_ok(), fits, "{brings} {len}: {ended:?}");
            let Ok(Decision { commit, outcome: Outcome::Ended { deliverable, .. } }) = ended else {
                continue;
            };
            let put = |write: &Write| matches!(write, Write::PutCard(card) if card.id == deliverable);
            assert!(commit.writes.iter().any(put));
            let appends = commit.writes.iter().any(|write| matches!(write, Write::AppendCards { .. }));
            assert_eq!(appends, brings, "{len}");
            let range = commit.writes.iter().find_map(|write| {
                let Write::UpdateInbox { item, .. } = write else { return None };
                item.ended.as_ref().map(|ended| ended.output.1)
            });
            assert_eq!(range, Some(limits::BOX_CARDS as u32));
        }
    }
}
