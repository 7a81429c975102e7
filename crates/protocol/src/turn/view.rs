//! What a turn sees (WK-02, WK-03, CB-15, CB-17): its context and its output, and nothing else.

use cardwire_model::{Card, CardId, CardKind, EntrySource, Live, Role, Step, StepId, Timestamp};
use std::collections::HashSet;

/// Whether a model is sent a card of this kind as a message. What a deliverable must have is said in the system prompt
/// (WK-04), a summary in a block of its own (CP-04).
pub fn is_message(kind: &CardKind) -> bool {
    !is_result_fields(kind) && kind.as_str() != crate::session::compact::KIND
}

/// Whether it says what a deliverable must have.
fn is_result_fields(kind: &CardKind) -> bool {
    kind.as_str() == "task.result_fields"
}

/// What the deliverable of a turn must have: the last that it was given (WK-04).
pub fn result_fields<'a, C: AsRef<Card>>(
    mut context: impl DoubleEndedIterator<Item = &'a C>,
) -> Option<&'a C> {
    context.rfind(|card| is_result_fields(&(*card).as_ref().kind))
}

/// What an agent is: of the cards of its profile box the last that says so and is still there.
pub fn profile<'a, C: AsRef<Card>>(
    mut cards: impl DoubleEndedIterator<Item = &'a C>,
    now: Timestamp,
) -> Option<&'a C> {
    cards.rfind(|card| {
        let card: &Card = (*card).as_ref();
        card.kind.as_str() == "sys.profile" && card.is_visible(now)
    })
}

/// The step that a live turn is in, given the newest that its agent has written. No turn of an agent is younger than the live
/// one, so that the newest is that turn's if it has any.
pub fn current_step(live: &Live, newest: Option<Step>) -> Option<StepId> {
    let own = |step: &Step| step.turn_id == live.turn_id && step.phase != super::take_back::PHASE;
    newest.filter(own).map(|step| step.id)
}

/// What is asked of a turn (X-01, CM-02): the last instruction that was put into its context for it. What it inherited may
/// hold instructions of other turns, and stands before or after its own; only where there is nothing else is the newest of
/// them meant. A context without instructions asks the last thing that anybody said in it, again what was not inherited
/// first.
pub fn instruction<'a, C: AsRef<Card>>(
    context: impl DoubleEndedIterator<Item = (&'a C, EntrySource)> + Clone,
) -> Option<&'a C> {
    let said = context.filter(|(card, _)| card.as_ref().role == Role::User);
    let named = said.clone().filter(|(card, _)| card.as_ref().kind.as_str() == "task.instruction");
    let is_own = |(_, source): &(&'a C, EntrySource)| match source {
        EntrySource::Direct | EntrySource::Argument(_) | EntrySource::Parent => true,
        EntrySource::Inherited | EntrySource::Copied(..) => false,
    };
    let own = named.clone().rfind(is_own);
    let asked = own
        .or_else(|| named.max_by_key(|(card, _)| card.as_ref().created_at))
        .or_else(|| said.clone().rfind(is_own))
        .or_else(|| said.clone().next_back());
    asked.map(|(card, _)| card)
}

/// The cards of a turn in order: what the output box held when the turn was leased, then the context, then what the
/// turn itself has written. The first occurrence of a card keeps its place.
///
/// `output` is the output box up to where the view ends; `watermark` is how many of them were there before the turn.
pub fn order(context: &[CardId], output: &[CardId], watermark: usize) -> Vec<CardId> {
    let (before, own) = output.split_at(watermark.min(output.len()));
    let mut seen = HashSet::with_capacity(context.len() + output.len());
    before.iter().chain(context).chain(own).copied().filter(|id| seen.insert(*id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fixtures::{agent::TestAgent, card_id},
        turn::{Command, step::TakeStep},
    };
    use cardwire_model::{CanonicalJson, CardDraft, Origin, Timestamp};
    use std::sync::Arc;

    fn ids(numbers: &[u128]) -> Vec<CardId> {
        numbers.iter().map(|n| card_id(*n)).collect()
    }

    /// WK-04, CP-04
    #[test]
    fn what_is_said_elsewhere_is_no_message() {
        let said = |kind: &str| is_message(&CardKind::from_stored(kind));
        assert!(!said("task.result_fields") && !said("session.summary"));
        assert!(said("session.message") && said("tool.result") && said("meta.parent_pointer"));
    }

    const NEW: EntrySource = EntrySource::Argument(0);
    const OLD: EntrySource = EntrySource::Inherited;
    const PUT: EntrySource = EntrySource::Direct;

    /// A card of a kind, written at this time, which is its id, too.
    fn said(kind: &str, role: &str, at: u32) -> Arc<Card> {
        let draft = CardDraft {
            content: CanonicalJson::string("x").unwrap(),
            metadata: CanonicalJson::from_value(&serde_json::json!({ "type": kind, "role": role })).unwrap(),
            tool_calls: None,
            tool_call_id: None,
            ttl_seconds: None,
        };
        let now = Timestamp::from_micros(i64::from(at));
        Arc::new(draft.into_card(card_id(u128::from(at)), Origin::Agent, now).unwrap())
    }

    /// Which card is asked, by the time at which it was written.
    fn asked(context: &[(&str, u32, EntrySource)]) -> Option<CardId> {
        let role = |kind: &str| if kind.starts_with("meta.") { "system" } else { "user" };
        let cards: Vec<_> =
            context.iter().map(|(kind, at, source)| (said(kind, role(kind), *at), *source)).collect();
        instruction(cards.iter().map(|(card, source)| (card, *source))).map(|card| card.id)
    }

    /// X-01, CM-02
    #[test]
    fn what_is_asked_is_what_was_packed_for_the_turn_wherever_it_stands() {
        let (task, pointer) = ("task.instruction", "meta.parent_pointer");
        let parent = (pointer, 9, EntrySource::Parent);
        let new = Some(card_id(8));
        assert_eq!(asked(&[(task, 8, NEW), (task, 1, OLD), (task, 2, OLD), parent]), new);
        assert_eq!(asked(&[(task, 1, OLD), (task, 2, OLD), (task, 8, NEW), parent]), new);
        assert_eq!(asked(&[(task, 8, NEW), ("my.note", 1, OLD), parent]), new);
        assert_eq!(asked(&[(task, 1, OLD), (task, 8, PUT)]), new, "a fork with something of its own");
        assert_eq!(asked(&[(task, 7, NEW), (task, 8, NEW)]), new, "the last of two rules");
        assert_eq!(asked(&[(task, 9, PUT), (task, 8, PUT)]), new, "nothing is inherited: the order counts");
    }

    ///
    #[test]
    fn a_turn_without_an_instruction_of_its_own_is_asked_the_newest_else_what_was_said_last() {
        let task = "task.instruction";
        assert_eq!(asked(&[(task, 3, OLD), (task, 1, OLD)]), Some(card_id(3)), "a fork of what was packed");
        assert_eq!(asked(&[("my.note", 9, NEW), (task, 3, OLD)]), Some(card_id(3)));
        assert_eq!(asked(&[("my.note", 5, NEW), ("my.note", 2, OLD)]), Some(card_id(5)));
        assert_eq!(asked(&[("my.note", 5, OLD), ("my.note", 2, OLD)]), Some(card_id(2)));
        assert_eq!(asked(&[("meta.parent_pointer", 1, EntrySource::Parent)]), None);
    }

    /// PM-02, DP-10
    #[test]
    fn a_turn_is_in_its_newest_step_and_in_none_of_an_earlier_turn() {
        let (mut agent, fence) = TestAgent::running();
        let step = TestAgent::new_step();
        agent.run(&Command::Step(TakeStep { fence: fence.clone(), step, records: vec![] })).unwrap();
        let in_step = |agent: &TestAgent, newest: Option<Step>| {
            current_step(agent.head.as_ref().unwrap().live.as_ref().unwrap(), newest)
        };
        let newest = agent.steps.first().cloned();
        assert_eq!(in_step(&agent, newest.clone()), newest.as_ref().map(|step| step.id.clone()));
        assert!(newest.is_some() && in_step(&agent, None).is_none());
        agent.run(&TestAgent::finish(&fence)).unwrap();
        agent.dispatch();
        assert_eq!(in_step(&agent, newest), None, "the next turn has written none yet");
    }

    /// WK-02, WK-03
    #[test]
    fn a_turn_sees_old_output_then_context_then_its_own_and_each_card_once() {
        let context = ids(&[1, 2]);
        assert_eq!(order(&context, &[], 0), context);
        assert_eq!(order(&context, &ids(&[3, 4]), 0), ids(&[1, 2, 3, 4]));
        assert_eq!(order(&context, &ids(&[3, 4]), 1), ids(&[3, 1, 2, 4]));
        assert_eq!(order(&context, &ids(&[2, 3, 1]), 1), ids(&[2, 1, 3]));
        assert_eq!(order(&context, &ids(&[3]), 9), ids(&[3, 1, 2]));
        assert_eq!(order(&context, &context, 0), context);
    }
}
