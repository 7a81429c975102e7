//! Sessions: sound writes and what a reader may ask for.

use super::Generator;
use crate::fixtures::{NAMESPACES, session_key};
use cardwire_model::{Commit, Realm, Revision, Session, SessionKey, Write};

impl Generator {
    /// A session of the realm.
    pub(super) fn some_session(&mut self, realm: &Realm) -> Option<Session> {
        let key = self.some(realm, |known| &known.sessions)?;
        self.model.session(realm, &key).cloned()
    }

    pub(super) fn any_namespace(&mut self) -> &'static str {
        NAMESPACES[self.rng.below(NAMESPACES.len())]
    }

    /// A session, or a key that is none: the same names are used in every namespace and project.
    pub fn any_session(&mut self, realm: &Realm) -> SessionKey {
        let known = if self.rng.chance(70) { self.some(realm, |known| &known.sessions) } else { None };
        let namespace = self.any_namespace();
        known.unwrap_or_else(|| session_key(namespace, &format!("session-{}", self.rng.below(150))))
    }

    /// A session with this key and anything else.
    pub(super) fn session_row(&mut self, realm: &Realm, key: SessionKey) -> Session {
        let created_at = self.lately();
        Session {
            key,
            version: Revision::new(1 + self.rng.below(5) as u64),
            checkpoint: self.some_card(realm).unwrap_or_else(|| self.ids.card()),
            created_at,
            updated_at: self.lately(),
            deleted_at: self.maybe_lately(),
        }
    }

    /// A patch, or several in one commit: each is made for the version that the one before leaves.
    pub(super) fn put_session(&mut self, commit: &mut Commit) -> Option<()> {
        let realm = commit.realm.clone();
        let key = self.any_session(&realm);
        let mut was = self.model.session(&realm, &key).map(|old| old.version);
        for _ in 0..self.rng.between(1, 2) {
            let mut session = self.session_row(&realm, key.clone());
            session.version = was.map_or(session.version, Revision::next);
            let next = Some(session.version);
            commit.writes.push(Write::PutSession { was, session: Box::new(session) });
            was = next;
        }
        Some(())
    }
}
