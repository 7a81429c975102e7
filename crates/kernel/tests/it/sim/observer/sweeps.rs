//! Invariant 16: no orphan is left running. Whoever is stopped and whatever is called off is written down to be swept, and a
//! sweep is done when nothing below it goes on.

use super::Observer;
use cardwire_model::{AuditAction, Batch, Commit, Sweep, TurnId, Write};

impl Observer {
    /// W-06: who is stopped is written down as one whose descendants are to be stopped.
    pub(super) fn invariant_16_a_stop_sweeps(&mut self, commit: &Commit) {
        for row in commit.audit.iter().filter(|row| row.action == AuditAction::TurnStop) {
            let Ok(turn) = row.subject.parse::<TurnId>() else { continue };
            if !commit.writes.contains(&Write::AddSweep(Sweep::Turn(turn))) {
                self.fail(format!("invariant 16: {turn} was stopped, what it has started was not"));
            }
        }
    }

    /// BM-13: turns of a batch that is closed do not go on.
    pub(super) fn invariant_16_what_is_called_off_is_swept(&mut self, commit: &Commit, batch: &Batch) {
        let Some(model) = self.batches.known.get(&batch.id) else { return };
        let going_on = model.turns().find(|turn| self.turn_is_open(*turn));
        if let Some(turn) = going_on
            && !commit.writes.contains(&Write::AddSweep(Sweep::Batch(batch.id)))
        {
            self.fail(format!("invariant 16: {} was closed and {turn} goes on", batch.id));
        }
    }

    /// Nothing that was to be stopped is open when the sweep is done.
    pub(super) fn invariant_16_a_sweep_leaves_nothing(&mut self, sweep: Sweep) {
        let going_on = |turn: &TurnId| self.turn_is_open(*turn);
        let left = match sweep {
            Sweep::Turn(parent) => {
                let children = self.children.get(&parent).into_iter().flatten().copied();
                let batches = self.batches.of_turn.get(&parent).into_iter().flatten();
                let forks = batches.filter_map(|id| self.batches.known.get(id));
                let fork = forks
                    .filter(|batch| !batch.is_closed() && batch.row.closing.is_none())
                    .map(|batch| batch.row.id.to_string());
                children.filter(going_on).map(|turn| turn.to_string()).chain(fork).next()
            }
            Sweep::Batch(id) => {
                let batch = self.batches.known.get(&id);
                batch.and_then(|batch| batch.turns().find(going_on)).map(|turn| turn.to_string())
            }
        };
        if let Some(left) = left {
            self.fail(format!("invariant 16: {sweep:?} is done, {left} goes on"));
        }
    }

    /// Whoever has ended starts nothing that nobody would stop.
    pub(super) fn invariant_16_only_the_living_start_others(&mut self, parent: TurnId) {
        if !self.turn_is_open(parent) {
            self.fail(format!("invariant 16: {parent} has ended and starts others"));
        }
    }
}
