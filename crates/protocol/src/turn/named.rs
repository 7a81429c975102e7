//! Cards that a command names by their ids: the answer to a call, or what a turn delivers (DP-16, WK-06). Whoever holds a turn
//! and nothing more may name what was handed to it and what no turn has written: an id that it happens to know gives it
//! nothing that another turn wrote (X-04, CB-15).

use super::{
    Command,
    fence::{Fence, Proof},
};
use crate::{Moment, Rejection};
use cardwire_model::{CardFact, CardId, Origin, Snapshot};

/// The card, if it is there for whoever names it. To others it is as if it were not there.
pub(super) fn card<'a>(
    snapshot: &'a Snapshot,
    fence: &Fence,
    id: CardId,
    moment: &Moment,
) -> Result<&'a CardFact, Rejection> {
    let fact = snapshot.cards.get(&id).filter(|fact| fact.is_visible(moment.now));
    let is_shown = || snapshot.members.contains(&id) || snapshot.given.contains(&id);
    fact.filter(|fact| !needs_showing(fence, fact) || is_shown())
        .ok_or_else(|| Rejection::not_found("card", id))
}

impl Command {
    /// The card that it names, if it matters whether that was handed to the turn.
    pub fn needs_showing(&self, snapshot: &Snapshot) -> Option<CardId> {
        let (fence, id) = match self {
            Self::Finish(finish) => {
                let id = finish.deliverable.card_id()?;
                // What comes with it is its own.
                if finish.cards.iter().any(|new| new.card.id == id) {
                    return None;
                }
                (&finish.fence, id)
            }
            Self::Report(report) => (&report.fence, report.answer.card_id()?),
            Self::Start(_)
            | Self::Heartbeat(_)
            | Self::Append(_)
            | Self::Step(_)
            | Self::Suspend(_)
            | Self::Release(_)
            | Self::Stop(_)
            | Self::Reap(_)
            | Self::TakeBack(_)
            | Self::ExpireTools(..)
            | Self::Requeue(..)
            | Self::Ring(..)
            | Self::Archive(_) => return None,
        };
        let fact = snapshot.cards.get(&id)?;
        (needs_showing(fence, fact) && !snapshot.members.contains(&id)).then_some(id)
    }
}

/// Whether it matters what the turn has been shown.
fn needs_showing(fence: &Fence, fact: &CardFact) -> bool {
    let is_by_a_turn = match fact.origin {
        Origin::Agent | Origin::Tool => true,
        Origin::Operator | Origin::External => false,
    };
    match fence.proof {
        Proof::Operator => false,
        Proof::Lease(_) => is_by_a_turn,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fixtures::{agent::TestAgent, project},
        turn::{
            self, Outcome,
            finish::Deliverable,
            report::{AfterExecution, Answer},
        },
    };
    use cardwire_model::{Hash256, InboxKind, card::ToolStatus};

    /// A running turn, and a card that it did not write.
    fn with_card(
        kind: &str,
        content: &str,
        call: Option<&str>,
        origin: Origin,
    ) -> (TestAgent, Fence, CardId) {
        let (mut agent, fence) = TestAgent::running();
        let mut card = agent.card(kind, content, call).card;
        card.origin = origin;
        let id = card.id;
        agent.cards.insert(id, card);
        (agent, Fence { proof: Proof::Lease(Hash256::of(&[7; 32])), ..fence }, id)
    }

    /// What comes of it where the context of the turn shows the card, or does not.
    fn run(agent: &TestAgent, command: &Command, is_given: Option<CardId>) -> Result<Outcome, Rejection> {
        let mut snapshot = agent.for_turn(command.turn_id());
        snapshot.given.extend(is_given);
        let mut command = command.clone();
        if let Command::Report(report) = &mut command {
            report.calls = agent.calls.clone();
        }
        turn::decide(&snapshot, &project(), &command, &agent.moment).map(|decision| decision.outcome)
    }

    /// X-04, CB-15: of a deliverable.
    #[test]
    fn what_another_turn_has_written_cannot_be_delivered_by_its_id_alone() {
        let (agent, held, card) = with_card("task.deliverable", r#""theirs""#, None, Origin::Agent);
        let deliver = |fence: &Fence| TestAgent::finish_with(fence, Deliverable::Card(card));
        let not_found = run(&agent, &deliver(&held), None);
        assert!(matches!(not_found, Err(Rejection::NotFound { what: "card", .. })), "{not_found:?}");
        let ended =
            |outcome| matches!(outcome, Ok(Outcome::Ended { deliverable, .. }) if deliverable == card);
        assert!(ended(run(&agent, &deliver(&held), Some(card))), "its context shows the card");
        assert!(ended(run(&agent, &deliver(&agent.fence()), None)), "an operator may name any");
        let (agent, held, card) = with_card("task.deliverable", r#""draft""#, None, Origin::Operator);
        let outcome = run(&agent, &TestAgent::finish_with(&held, Deliverable::Card(card)), None);
        assert!(outcome.is_ok(), "no turn has written it: {outcome:?}");
    }

    /// X-04, DP-16: of an answer, whose call may well have the same name elsewhere.
    #[test]
    fn the_answer_to_another_turns_call_cannot_be_reported_by_its_id_alone() {
        let content = r#"{"status":"success","result":1}"#;
        for (origin, is_given, is_taken) in [
            (Origin::Tool, false, false),
            (Origin::Agent, false, false),
            (Origin::Tool, true, true),
            (Origin::Operator, false, true),
            (Origin::External, false, true),
        ] {
            let (mut agent, held, card) = with_card("tool.result", content, Some("c1"), origin);
            agent.run(&agent.tool_call(&agent.fence(), "c1")).unwrap();
            let mut command = TestAgent::report(&held, "c1", ToolStatus::Success, AfterExecution::Suspend);
            if let Command::Report(report) = &mut command {
                report.answer = Answer::Card(card);
            }
            let outcome = run(&agent, &command, is_given.then_some(card));
            assert_eq!(outcome.is_ok(), is_taken, "{origin:?} {is_given}: {outcome:?}");
            assert_eq!(command.needs_showing(&agent.for_turn(held.turn_id)).is_some(), !is_taken || is_given);
        }
    }

    /// DP-10: of a card that another turn wrote before it was taken away, with an id of the worker's own making.
    #[test]
    fn a_deliverable_that_comes_with_the_finish_once_more_is_its_own() {
        let (agent, held, id) = with_card("task.deliverable", r#""mine""#, None, Origin::Agent);
        let mut command = TestAgent::finish_with(&held, Deliverable::Card(id));
        if let Command::Finish(finish) = &mut command {
            finish.cards = vec![turn::append::NewCard { card: agent.cards[&id].clone(), named: true }];
        }
        assert_eq!(command.needs_showing(&agent.for_turn(held.turn_id)), None);
        let ended = run(&agent, &command, None);
        assert!(matches!(ended, Ok(Outcome::Ended { deliverable, .. }) if deliverable == id), "{ended:?}");
    }

    /// WK-06: and a card that comes with the finish is a deliverable, too.
    #[test]
    fn a_thought_is_no_deliverable_although_it_comes_with_the_finish() {
        let (agent, fence) = TestAgent::running();
        for (kind, is_taken) in [("agent.thought", false), ("task.deliverable", true)] {
            let card = agent.card(kind, r#""x""#, None);
            let mut command = TestAgent::finish_with(&fence, Deliverable::Card(card.card.id));
            if let Command::Finish(finish) = &mut command {
                finish.cards = vec![turn::append::NewCard { named: true, ..card }];
            }
            let outcome = run(&agent, &command, None);
            assert_eq!(outcome.is_ok(), is_taken, "{kind}: {outcome:?}");
        }
    }

    /// WK-06, CB-10
    #[test]
    fn a_deliverable_that_was_deleted_is_none() {
        let (mut agent, fence) = TestAgent::running();
        let own = agent.append(&fence, "task.deliverable", r#""mine""#, None);
        let Outcome::Appended { card_ids, .. } = agent.run(&own).unwrap() else { panic!("not appended") };
        agent.cards.get_mut(&card_ids[0]).unwrap().deleted_at = Some(agent.moment.now);
        let ended = agent.run(&TestAgent::finish_with(&fence, Deliverable::Absent)).unwrap();
        let Outcome::Ended { deliverable, .. } = ended else { panic!("{ended:?}") };
        assert_ne!(deliverable, card_ids[0]);
        assert_eq!(agent.cards[&deliverable].content.to_value()["kind"], "fallback_deliverable");
        let turns = agent.inbox.iter().filter(|item| item.kind == InboxKind::Turn);
        let delivered: Vec<_> = turns.filter_map(|item| Some(item.ended.as_ref()?.deliverable)).collect();
        assert_eq!(delivered, [deliverable]);
    }
}
