//! Heads: created once, moved and nudged under their guard.

use super::{Applied, holds};
use crate::reference::state::State;
use cardwire_model::{Conflict, Head, HeadGuard, Nudge, Realm};

impl State {
    pub(super) fn create_head(&mut self, realm: &Realm, head: &Head) -> Applied {
        let key = (realm.clone(), head.agent_id.clone());
        // Whoever rebuilt a head from an older copy comes too late.
        let is_newer =
            |copy: &Head| copy.epoch > head.epoch || (copy.epoch == head.epoch && head.live.is_some());
        let stale = self.copies.get(&key).is_some_and(is_newer);
        holds(!self.heads.has(&key) && !stale, Conflict::Head)?;
        self.heads.put(key, head.clone());
        self.copy_head(realm, head);
        Ok(())
    }

    pub(super) fn move_head(
        &mut self,
        realm: &Realm,
        guard: &HeadGuard,
        to: &Head,
        queued: i32,
        is_copied: bool,
    ) -> Applied {
        let old = self.guarded(realm, guard)?;
        let revision = self.agent(realm, &guard.agent_id).map(|agent| agent.revision);
        holds(guard.roster.is_none() || guard.roster == revision, Conflict::Head)?;
        let agent_id = guard.agent_id.clone();
        let head = Head { agent_id, queued: changed(old.queued, queued)?, ..to.clone() };
        if is_copied {
            self.copy_head(realm, &head);
        }
        self.heads.put((realm.clone(), head.agent_id.clone()), head);
        Ok(())
    }

    /// Leaves the copy alone.
    pub(super) fn nudge_head(&mut self, realm: &Realm, guard: &HeadGuard, nudge: &Nudge) -> Applied {
        let mut head = self.guarded(realm, guard)?.clone();
        head.updated_at = nudge.seen.map_or(head.updated_at, |seen| head.updated_at.max(seen));
        head.queued = changed(head.queued, nudge.queued)?;
        if let Some(live) = &mut head.live {
            live.rung_at = nudge.rung.or(live.rung_at);
            live.deliverable = nudge.deliverable.or(live.deliverable);
            live.open_calls = changed(live.open_calls, nudge.open_calls)?;
            live.marks += u32::from(nudge.is_mark());
        }
        self.heads.put((realm.clone(), head.agent_id.clone()), head);
        Ok(())
    }

    /// The head, if it is as the guard says. An idle head has no marks.
    fn guarded(&self, realm: &Realm, guard: &HeadGuard) -> Result<&Head, Conflict> {
        let head = self.head(realm, &guard.agent_id).ok_or(Conflict::Head)?;
        let marks = head.live.as_ref().map_or(0, |live| live.marks);
        let as_guarded = head.epoch == guard.epoch
            && head.status() == guard.status
            && guard.marks.is_none_or(|wanted| wanted == marks)
            && (guard.queued.0..=guard.queued.1).contains(&head.queued);
        holds(as_guarded, Conflict::Head)?;
        Ok(head)
    }

    /// WD-08: what the head is found by when it is lost. How many wait is counted anew then.
    fn copy_head(&mut self, realm: &Realm, head: &Head) {
        self.copies.put((realm.clone(), head.agent_id.clone()), Head { queued: 0, ..head.clone() });
    }
}

/// A count below 0 would be a guard that does not hold.
fn changed(count: u32, by: i32) -> Result<u32, Conflict> {
    count.checked_add_signed(by).ok_or(Conflict::Head)
}
