//! Sessions and passages.

use super::{Applied, holds};
use crate::reference::state::{PassageKey, State};
use cardwire_model::{Conflict, Passage, Realm, Revision, Session, Shelf};

impl State {
    pub(super) fn put_session(&mut self, realm: &Realm, was: Option<Revision>, session: &Session) -> Applied {
        let key = (realm.clone(), session.key.clone());
        holds(self.sessions.get(&key).map(|old| old.version) == was, Conflict::Session)?;
        self.sessions.put(key, session.clone());
        Ok(())
    }

    pub(super) fn put_passage(&mut self, realm: &Realm, passage: &Passage) {
        let key = (passage.shelf.clone(), passage.source.clone(), passage.part);
        self.passages.put((realm.clone(), key), passage.clone());
    }

    pub(super) fn drop_passages(&mut self, realm: &Realm, shelf: &Shelf, source: &str) {
        let key = |part| (realm.clone(), (shelf.clone(), source.to_owned(), part));
        let keys: Vec<PassageKey> =
            self.passages.range(key(0)..=key(u32::MAX)).map(|(key, _)| key.clone()).collect();
        keys.iter().for_each(|key| self.passages.remove(key));
    }
}
