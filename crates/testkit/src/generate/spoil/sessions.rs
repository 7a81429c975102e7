//! Spoilers of sessions.

use super::Generator;
use crate::fixtures::session_key;
use cardwire_model::{Commit, Revision, SessionKey, Write};

impl Generator {
    fn insert_session(&mut self, commit: &mut Commit, was: Option<Revision>, key: SessionKey) -> Option<()> {
        let session = Box::new(self.session_row(&commit.realm, key));
        self.insert(commit, Write::PutSession { was, session })
    }

    pub(super) fn put_taken_session(&mut self, commit: &mut Commit) -> Option<()> {
        let old = self.some_session(&commit.realm)?;
        self.insert_session(commit, None, old.key)
    }

    /// One that the commit itself cannot reach.
    pub(super) fn put_session_at_other_version(&mut self, commit: &mut Commit) -> Option<()> {
        let old = self.some_session(&commit.realm)?;
        let other = Revision::new(old.version.get() + 1_000);
        self.insert_session(commit, Some(other), old.key)
    }

    pub(super) fn put_absent_session(&mut self, commit: &mut Commit) -> Option<()> {
        let namespace = self.any_namespace();
        self.insert_session(commit, Some(Revision::FIRST), session_key(namespace, "absent"))
    }

    pub(super) fn put_foreign_session(&mut self, commit: &mut Commit) -> Option<()> {
        let elsewhere = self.any_known_realm();
        let mut foreign = self.some_session(&elsewhere)?;
        if self.rng.chance(50) {
            foreign.key.namespace = crate::fixtures::namespace("elsewhere");
        }
        let puts =
            |write: &Write| matches!(write, Write::PutSession { session, .. } if session.key == foreign.key);
        if self.model.session(&commit.realm, &foreign.key).is_some() || commit.writes.iter().any(puts) {
            return None;
        }
        self.insert_session(commit, Some(foreign.version), foreign.key)
    }
}
