//! Sessions and passages of a dump, in the namespaces that tests write to.

use super::{Dump, PAGE, advance, differ};
use crate::fixtures::{NAMESPACES, namespace, shelf};
use cardwire_model::{Passage, PassageKind, ProjectId, Session, SessionKey, Shelf};
use cardwire_store::{Store, StoreError};
use std::collections::BTreeMap;

/// All rows of sessions and passages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionDump {
    /// By project and key, deleted ones too.
    pub sessions: BTreeMap<(ProjectId, SessionKey), Session>,
    /// By project, shelf, source and part.
    pub passages: BTreeMap<(ProjectId, Shelf, (String, u32)), Passage>,
}

impl SessionDump {
    pub(super) fn first_difference(&self, other: &Self) -> Option<String> {
        differ("session", &self.sessions, &other.sessions)
            .or_else(|| differ("passage", &self.passages, &other.passages))
    }
}

/// Reads the sessions and passages of all projects that the dump names.
pub(super) async fn read_sessions(store: &dyn Store, dump: &mut Dump) -> Result<(), StoreError> {
    for project in dump.projects.keys().cloned().collect::<Vec<_>>() {
        for name in NAMESPACES {
            read_namespace(store, &project, name, &mut dump.sessions).await?;
            for kind in PassageKind::ALL {
                read_shelf(store, &project, &shelf(*kind, name), &mut dump.sessions).await?;
            }
        }
    }
    Ok(())
}

async fn read_namespace(
    store: &dyn Store,
    project: &ProjectId,
    name: &str,
    found: &mut SessionDump,
) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let page = store.sessions(project, &namespace(name), after.as_ref(), PAGE).await?;
        let Some(last) = advance(&after, page.iter().map(|one| &one.key.session), PAGE) else {
            return Ok(());
        };
        after = Some(last.clone());
        found.sessions.extend(page.into_iter().map(|one| ((project.clone(), one.key.clone()), one)));
    }
}

async fn read_shelf(
    store: &dyn Store,
    project: &ProjectId,
    shelf: &Shelf,
    found: &mut SessionDump,
) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let page = store.passages(project, shelf, after.as_ref(), PAGE).await?;
        let places: Vec<_> = page.iter().map(|one| (one.source.clone(), one.part)).collect();
        let Some(last) = advance(&after, places.iter(), PAGE) else { return Ok(()) };
        after = Some(last.clone());
        let key = |place| (project.clone(), shelf.clone(), place);
        found.passages.extend(places.into_iter().map(key).zip(page));
    }
}
