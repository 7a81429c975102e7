//! Sound writes to heads and inboxes.

use super::Generator;
use cardwire_model::{Commit, Expect, Head, InboxItem, Realm, TurnEpoch, Write};

impl Generator {
    /// A head of the realm.
    pub(super) fn some_head(&mut self, realm: &Realm) -> Option<Head> {
        let agent = self.some(realm, |known| &known.heads)?;
        self.model.head(realm, &agent).cloned()
    }

    /// An inbox row of the realm.
    pub(super) fn some_row(&mut self, realm: &Realm) -> Option<InboxItem> {
        let id = self.some(realm, |known| &known.inbox)?;
        self.model.inbox_item(realm, id).cloned()
    }

    pub(super) fn create_head(&mut self, commit: &mut Commit) -> Option<()> {
        let agent = self.agent_name();
        let epoch = TurnEpoch::new(self.rng.below(9) as u64);
        let head = self.head(&commit.realm, agent, epoch);
        commit.writes.push(Write::CreateHead(Box::new(head)));
        Some(())
    }

    pub(super) fn move_head(&mut self, commit: &mut Commit) -> Option<()> {
        let old = self.some_head(&commit.realm)?;
        let epoch = if self.rng.chance(60) { old.epoch } else { old.epoch.next() };
        let to = Box::new(self.head(&commit.realm, old.agent_id.clone(), epoch));
        let (guard, queued) = (self.guard(commit, &old), self.waiting(&old));
        let is_copied = self.rng.chance(50);
        commit.writes.push(Write::MoveHead { guard, to, queued, is_copied });
        Some(())
    }

    pub(super) fn nudge_head(&mut self, commit: &mut Commit) -> Option<()> {
        let head = self.some_head(&commit.realm)?;
        let (guard, nudge) = (self.guard(commit, &head), self.nudge(&commit.realm, &head));
        commit.writes.push(Write::NudgeHead { guard, nudge });
        Some(())
    }

    pub(super) fn enqueue_turn(&mut self, commit: &mut Commit) -> Option<()> {
        let turn = self.elsewhere(|known| &known.turns).unwrap_or_else(|| self.ids.turn());
        let row = self.turn_row(&commit.realm, turn);
        commit.writes.push(Write::Enqueue(Box::new(row)));
        Some(())
    }

    /// Mostly for a turn that is there.
    pub(super) fn enqueue_report(&mut self, commit: &mut Commit) -> Option<()> {
        let turn = self.any_turn(&commit.realm);
        let row = self.report_row(&commit.realm, turn);
        commit.writes.push(Write::Enqueue(Box::new(row)));
        Some(())
    }

    /// What came with the row does not count, whatever stands here.
    pub(super) fn update_inbox(&mut self, commit: &mut Commit) -> Option<()> {
        let old = self.some_row(&commit.realm)?;
        let turn = self.ids.turn();
        let other = self.turn_row(&commit.realm, turn);
        let branch = self.some(&commit.realm, |known| &known.branches);
        let new = InboxItem { id: old.id, branch, ..self.changed_row(&other) };
        commit.writes.push(Write::UpdateInbox { from: old.status, item: Box::new(new) });
        Some(())
    }

    /// A turn for a box that nobody else writes.
    pub(super) fn enqueue_alone(&mut self, commit: &mut Commit) -> Option<()> {
        let realm = commit.realm.clone();
        let box_id = self.some_box(&realm)?;
        if self.model.card_box(&realm, box_id)?.sealed {
            return None;
        }
        let turn = self.ids.turn();
        let mut row = self.turn_row(&realm, turn);
        row.output_box = Some(box_id);
        let writer = self.model.writers_of(&realm, box_id).next().cloned();
        let is_free = writer.is_none();
        row.agent_id = writer.unwrap_or(row.agent_id);
        let agent_id = (!is_free || self.rng.chance(50)).then(|| row.agent_id.clone());
        commit.expect.push(Expect::OutputFree { box_id, agent_id });
        commit.writes.push(Write::Enqueue(Box::new(row)));
        Some(())
    }

    /// A turn of a project that has no more open ones than that.
    pub(super) fn enqueue_counted(&mut self, commit: &mut Commit) -> Option<()> {
        let open = self.model.open_turns(&commit.realm).count() as u32;
        commit.expect.push(Expect::OpenTurns { at_most: open + self.rng.below(3) as u32 });
        self.enqueue_turn(commit)
    }

    /// What the first turn of an agent does: its writes build on each other.
    pub(super) fn run_turn(&mut self, commit: &mut Commit) -> Option<()> {
        let realm = commit.realm.clone();
        let turn = self.ids.turn();
        let mut row = self.turn_row(&realm, turn);
        row.agent_id = self.agent_name();
        let agent = row.agent_id.clone();
        let created = self.head(&realm, agent.clone(), TurnEpoch::ZERO);
        let moved = self.head(&realm, agent, TurnEpoch::new(1));
        let changed = self.changed_row(&row);
        let moved_waiting = Head { queued: created.queued, ..moved.clone() };
        let (guard, nudge) = (moved_waiting.guard(), self.nudge(&realm, &moved_waiting));
        let name = self.call_name();
        let call = self.call(&realm, turn, name);
        let step = self.step_row(&realm, turn);
        commit.writes.extend([
            Write::CreateHead(Box::new(created.clone())),
            Write::Enqueue(Box::new(row.clone())),
            Write::MoveHead { guard: created.guard_move(), to: Box::new(moved), queued: 0, is_copied: true },
            Write::UpdateInbox { from: row.status, item: Box::new(changed) },
            Write::NudgeHead { guard, nudge },
            Write::OpenCall(Box::new(call)),
            Write::CreateStep(Box::new(step.clone())),
            Write::UpdateStep(Box::new(self.changed_step(&realm, &step))),
        ]);
        Some(())
    }
}
