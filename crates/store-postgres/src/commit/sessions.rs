//! What a commit does to sessions.
//!
//! Patches of one session in one commit are put together: after the first, the commit itself tells at which version the
//! session is. Invariant: one write for each session, which is the same as its writes applied in turn.

use super::payload::Touched;
use cardwire_model::{Conflict, Revision, Session, SessionKey};
use std::collections::{BTreeMap, btree_map::Entry};

/// The writes of one commit.
#[derive(Debug, Default)]
pub(super) struct SessionWrites(BTreeMap<SessionKey, SessionWrite>);

/// A session, new (`was` is `None`) or at this version.
#[derive(Debug)]
pub(super) struct SessionWrite {
    pub(super) was: Option<Revision>,
    pub(super) session: Session,
}

impl SessionWrites {
    /// A conflict when an earlier write of the commit leaves another version.
    pub(super) fn put(&mut self, was: Option<Revision>, session: Session) -> Result<(), Conflict> {
        match self.0.entry(session.key.clone()) {
            Entry::Vacant(free) => {
                free.insert(SessionWrite { was, session });
                Ok(())
            }
            Entry::Occupied(mut written) => {
                let written = written.get_mut();
                let follows = was == Some(written.session.version);
                written.session = session;
                if follows { Ok(()) } else { Err(Conflict::Session) }
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// By key.
    pub(super) fn iter(&self) -> impl Iterator<Item = &SessionWrite> {
        self.0.values()
    }

    /// Sessions over which commits meet: of those that were decided at one version, one is applied.
    pub(super) fn touched(&self) -> impl Iterator<Item = Touched> {
        self.0.keys().map(Touched::session)
    }

    /// How many bytes it will be on the wire, about.
    pub(super) fn size(&self) -> usize {
        200 * self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cardwire_model::{CardId, Timestamp};
    use uuid::Uuid;

    fn session(version: u64) -> Session {
        let at = Timestamp::from_micros(0);
        Session {
            key: SessionKey { namespace: "n".parse().unwrap(), session: "s".parse().unwrap() },
            version: Revision::new(version),
            checkpoint: CardId::from_uuid(Uuid::nil()),
            created_at: at,
            updated_at: at,
            deleted_at: None,
        }
    }

    #[test]
    fn patches_of_one_session_become_one_from_the_first_version_to_the_last() {
        let mut writes = SessionWrites::default();
        let was = |version| Some(Revision::new(version));
        for (from, to) in [(4, 5), (5, 9), (9, 10)] {
            assert_eq!(writes.put(was(from), session(to)), Ok(()));
        }
        let written: Vec<_> = writes.iter().map(|write| (write.was, write.session.version.get())).collect();
        assert_eq!(written, [(was(4), 10)]);
        for wrong in [None, was(9), was(11)] {
            let mut writes = SessionWrites::default();
            writes.put(was(9), session(10)).unwrap();
            assert_eq!(writes.put(wrong, session(11)), Err(Conflict::Session));
        }
    }
}
