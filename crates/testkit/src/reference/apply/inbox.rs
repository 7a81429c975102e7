//! Inbox rows: numbered over all realms, changed only from the state they are expected in.

use super::{Applied, holds};
use crate::reference::state::State;
use cardwire_model::{Conflict, InboxItem, InboxKind, InboxStatus, Realm};

impl State {
    pub(super) fn enqueue(&mut self, realm: &Realm, item: &InboxItem) -> Applied {
        let (key, turn) = ((realm.clone(), item.id), (realm.clone(), item.turn_id));
        let is_turn = item.kind == InboxKind::Turn;
        let taken = self.inbox.has(&key) || (is_turn && self.turns.has(&turn));
        holds(!taken, Conflict::Inbox)?;
        let seq = self.queue.range(..).next_back().map_or(1, |(last, _)| last + 1);
        if is_turn {
            self.turns.put(turn, item.id);
        }
        self.queue.put(seq, key.clone());
        self.inbox.put(key, InboxItem { seq, ..item.clone() });
        Ok(())
    }

    /// What came with the row stays.
    pub(super) fn update_inbox(&mut self, realm: &Realm, from: InboxStatus, new: &InboxItem) -> Applied {
        let key = (realm.clone(), new.id);
        let mut item = self.inbox.get(&key).ok_or(Conflict::Inbox)?.clone();
        holds(item.status == from, Conflict::Inbox)?;
        item.status = new.status;
        item.epoch = new.epoch;
        item.worker_id.clone_from(&new.worker_id);
        item.token_hash = new.token_hash;
        item.processed_at = new.processed_at;
        item.retry_count = new.retry_count;
        item.next_retry_at = new.next_retry_at;
        item.reason.clone_from(&new.reason);
        item.ended.clone_from(&new.ended);
        self.inbox.put(key, item);
        Ok(())
    }
}
