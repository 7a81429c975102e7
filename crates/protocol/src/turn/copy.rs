//! Moves of a head, and which of them leave a copy to rebuild it from (WD-08, docs/decisions/0034-copies-of-heads.md).

use cardwire_model::{Head, HeadGuard, Write};

/// The head goes into a new state; `queued` turns came to wait, or ceased to.
pub(super) fn move_head(guard: HeadGuard, to: Head, queued: i32) -> Write {
    let is_copied = is_copied(&guard, &to);
    Write::MoveHead { guard, to: Box::new(to), queued, is_copied }
}

/// A copy says what the turn was leased with, at its epoch; how far it has come since is told by its row in the inbox,
/// and a turn that is rebuilt is dispatched anew. So within an epoch only a deliverable is worth another copy.
fn is_copied(guard: &HeadGuard, to: &Head) -> bool {
    to.epoch != guard.epoch || to.live.as_ref().is_some_and(|live| live.deliverable.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::agent::TestAgent;
    use cardwire_model::{CardId, Live, LiveState};
    use uuid::Uuid;

    /// WD-08: a new epoch and a deliverable are copied, other moves are not.
    #[test]
    fn wd_08_a_head_is_copied_when_its_epoch_changes_or_it_has_a_deliverable() {
        let (agent, _) = TestAgent::running();
        let head = agent.head.clone().unwrap();
        let with = |change: fn(&mut Live)| {
            let mut head = head.clone();
            change(head.live.as_mut().unwrap());
            head
        };
        let idle = Head { live: None, ..head.clone() };
        let moves = [
            (idle.clone(), false),
            (with(|live| live.marks += 1), false),
            (with(|live| live.open_calls += 1), false),
            (with(|live| live.state = LiveState::Dispatched), false),
            (Head { epoch: head.epoch.next(), ..idle }, true),
            (Head { epoch: head.epoch.next(), ..head.clone() }, true),
            (with(|live| live.deliverable = Some(CardId::from_uuid(Uuid::nil()))), true),
        ];
        for (to, expected) in moves {
            let Write::MoveHead { is_copied, .. } = move_head(head.guard(), to.clone(), 0) else {
                panic!("not a move")
            };
            assert_eq!(is_copied, expected, "{to:?}");
        }
    }
}
