//! Spoilers of heads, inboxes and output boxes.

use super::Generator;
use crate::fixtures::{agent_id, idle_head};
use cardwire_model::{
    Commit, Expect, Head, HeadGuard, InboxId, InboxItem, InboxKind, InboxStatus, Revision, Status, TurnEpoch,
    Write,
};

impl Generator {
    pub(super) fn create_taken_head(&mut self, commit: &mut Commit) -> Option<()> {
        let taken = self.some_head(&commit.realm)?;
        let head = self.head(&commit.realm, taken.agent_id, taken.epoch);
        self.insert(commit, Write::CreateHead(Box::new(head)))
    }

    /// A move or a nudge under this guard.
    fn guarded(&mut self, commit: &mut Commit, guard: HeadGuard) -> Option<()> {
        let realm = commit.realm.clone();
        let to = self.head(&realm, guard.agent_id.clone(), guard.epoch);
        let write = if self.rng.chance(50) {
            Write::MoveHead { guard, to: Box::new(to), queued: 0, is_copied: true }
        } else {
            let nudge = self.nudge(&realm, &to);
            Write::NudgeHead { guard, nudge }
        };
        self.insert(commit, write)
    }

    /// A head that the commit itself leaves alone: what it is now is what the guard will meet.
    fn untouched_head(&mut self, commit: &Commit) -> Option<Head> {
        let head = self.some_head(&commit.realm)?;
        let touched = commit.writes.iter().any(|write| {
            matches!(write, Write::MoveHead { guard, .. } | Write::NudgeHead { guard, .. }
                if guard.agent_id == head.agent_id)
        });
        if touched { None } else { Some(head) }
    }

    pub(super) fn guard_absent_head(&mut self, commit: &mut Commit) -> Option<()> {
        let guard = idle_head(agent_id("ghost")).guard();
        self.guarded(commit, guard)
    }

    pub(super) fn guard_foreign_head(&mut self, commit: &mut Commit) -> Option<()> {
        let elsewhere = self.any_known_realm();
        let head = self.some_head(&elsewhere)?;
        let creates =
            |write: &Write| matches!(write, Write::CreateHead(new) if new.agent_id == head.agent_id);
        if self.model.head(&commit.realm, &head.agent_id).is_some() || commit.writes.iter().any(creates) {
            return None;
        }
        self.guarded(commit, head.guard())
    }

    pub(super) fn guard_other_epoch(&mut self, commit: &mut Commit) -> Option<()> {
        let head = self.some_head(&commit.realm)?;
        // An earlier one, or one that the commit itself cannot reach.
        let other = head.epoch.get().checked_sub(1).filter(|_| self.rng.chance(50));
        let epoch = TurnEpoch::new(other.unwrap_or(head.epoch.get() + 1_000));
        self.guarded(commit, HeadGuard { epoch, ..head.guard() })
    }

    pub(super) fn guard_other_status(&mut self, commit: &mut Commit) -> Option<()> {
        let head = self.untouched_head(commit)?;
        let status = *self.rng.pick(&Status::ALL)?;
        let guard = HeadGuard { status, ..head.guard() };
        if status == head.status() { None } else { self.guarded(commit, guard) }
    }

    pub(super) fn guard_other_marks(&mut self, commit: &mut Commit) -> Option<()> {
        let head = self.untouched_head(commit)?;
        let marks = head.live.as_ref().map_or(0, |live| live.marks);
        let other = marks.checked_sub(1).filter(|_| self.rng.chance(50)).unwrap_or(marks + 1);
        self.guarded(commit, HeadGuard { marks: Some(other), ..head.guard() })
    }

    pub(super) fn guard_longer_queue(&mut self, commit: &mut Commit) -> Option<()> {
        let head = self.untouched_head(commit)?;
        self.guarded(commit, HeadGuard { queued: (head.queued + 1, u32::MAX), ..head.guard() })
    }

    pub(super) fn guard_shorter_queue(&mut self, commit: &mut Commit) -> Option<()> {
        let head = self.untouched_head(commit)?;
        let below = head.queued.checked_sub(1)?;
        self.guarded(commit, HeadGuard { queued: (0, below), ..head.guard() })
    }

    pub(super) fn guard_other_revision(&mut self, commit: &mut Commit) -> Option<()> {
        let head = self.untouched_head(commit)?;
        let listed = self.model.agent(&commit.realm, &head.agent_id).map(|agent| agent.revision);
        // One that the commit itself cannot reach.
        let roster = Some(Revision::new(listed.map_or(0, Revision::get) + 1_000));
        let guard = HeadGuard { roster, ..head.guard() };
        let to = Box::new(self.head(&commit.realm, head.agent_id, head.epoch));
        self.insert(commit, Write::MoveHead { guard, to, queued: 0, is_copied: true })
    }

    pub(super) fn enqueue_taken_id(&mut self, commit: &mut Commit) -> Option<()> {
        let taken = self.some_row(&commit.realm)?;
        let turn = self.ids.turn();
        let row = if self.rng.chance(50) {
            self.turn_row(&commit.realm, turn)
        } else {
            self.report_row(&commit.realm, turn)
        };
        self.insert(commit, Write::Enqueue(Box::new(InboxItem { id: taken.id, ..row })))
    }

    pub(super) fn enqueue_taken_turn(&mut self, commit: &mut Commit) -> Option<()> {
        let taken = self.some_row(&commit.realm).filter(|row| row.kind == InboxKind::Turn)?;
        let row = self.turn_row(&commit.realm, taken.turn_id);
        let row = InboxItem { id: self.ids.inbox(), ..row };
        self.insert(commit, Write::Enqueue(Box::new(row)))
    }

    pub(super) fn enqueue_turn_twice(&mut self, commit: &mut Commit) -> Option<()> {
        self.model.project(commit.realm.project()?)?;
        let turn = self.ids.turn();
        for _ in 0..2 {
            let row = self.turn_row(&commit.realm, turn);
            let row = InboxItem { id: self.ids.inbox(), ..row };
            self.insert(commit, Write::Enqueue(Box::new(row)))?;
        }
        Some(())
    }

    fn update_row(&mut self, commit: &mut Commit, from: InboxStatus, id: InboxId) -> Option<()> {
        let turn = self.ids.turn();
        let row = self.turn_row(&commit.realm, turn);
        self.insert(commit, Write::UpdateInbox { from, item: Box::new(InboxItem { id, ..row }) })
    }

    pub(super) fn update_absent_row(&mut self, commit: &mut Commit) -> Option<()> {
        let id = self.ids.inbox();
        self.update_row(commit, InboxStatus::Pending, id)
    }

    pub(super) fn update_foreign_row(&mut self, commit: &mut Commit) -> Option<()> {
        let elsewhere = self.any_known_realm();
        let row = self.some_row(&elsewhere)?;
        let brings = |write: &Write| matches!(write, Write::Enqueue(new) if new.id == row.id);
        if self.model.inbox_item(&commit.realm, row.id).is_some() || commit.writes.iter().any(brings) {
            return None;
        }
        self.update_row(commit, row.status, row.id)
    }

    pub(super) fn update_row_from_other_status(&mut self, commit: &mut Commit) -> Option<()> {
        let row = self.some_row(&commit.realm)?;
        let touches = |write: &Write| matches!(write, Write::UpdateInbox { item, .. } if item.id == row.id);
        let from = *self.rng.pick(InboxStatus::ALL)?;
        if from == row.status || commit.writes.iter().any(touches) {
            return None;
        }
        self.update_row(commit, from, row.id)
    }

    pub(super) fn expect_absent_output(&mut self, commit: &mut Commit) -> Option<()> {
        let (box_id, agent_id) = (self.ids.card_box(), Some(self.agent_name()));
        self.expect(commit, Expect::OutputFree { box_id, agent_id })
    }

    pub(super) fn expect_fewer_open_turns(&mut self, commit: &mut Commit) -> Option<()> {
        let open = self.model.open_turns(&commit.realm).count() as u32;
        let at_most = open.checked_sub(1 + self.rng.below(3) as u32)?;
        self.expect(commit, Expect::OpenTurns { at_most })
    }

    pub(super) fn expect_taken_output(&mut self, commit: &mut Commit) -> Option<()> {
        let realm = commit.realm.clone();
        let row = self.some_row(&realm)?;
        let agent_id = if self.rng.chance(30) { None } else { Some(self.any_agent(&realm)) };
        let box_id = row.output_box?;
        let is_sealed = self.model.card_box(&realm, box_id)?.sealed;
        let is_taken = self.model.writers_of(&realm, box_id).any(|writer| Some(writer) != agent_id.as_ref());
        if is_sealed || is_taken {
            self.expect(commit, Expect::OutputFree { box_id, agent_id })
        } else {
            None
        }
    }
}
