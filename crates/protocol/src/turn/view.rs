//! What a turn sees (WK-02, WK-03, CB-15, CB-17): its context and its output, and nothing else.

use cardwire_model::{Card, CardId, CardKind, Role};
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

/// What is asked of a turn: the last instruction it was given, else the last thing anybody said to it.
pub fn instruction<'a>(context: impl DoubleEndedIterator<Item = &'a Card> + Clone) -> Option<&'a Card> {
    let from_user = |card: &&'a Card| card.role == Role::User;
    let mut said = context.rev().filter(from_user);
    let named = said.clone().find(|card| card.kind.as_str() == "task.instruction");
    named.or_else(|| said.next())
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
    use crate::fixtures::card_id;

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
