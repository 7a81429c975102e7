//! Everything a store shows, as one comparable value.
//!
//! Composed only of [`Catalog`](cardwire_store::Catalog), [`Turns`](cardwire_store::Turns),
//! [`Batches`](cardwire_store::Batches), [`Sessions`](cardwire_store::Sessions) and
//! [`Search`](cardwire_store::Search) reads, so that it means the same for every backend. What backends may differ in
//! is left out: audit and inbox rows are numbered by their order, because a sequence may leave gaps in `seq`. Remembered
//! answers, copies of heads, grants and budgets are not in it, for none of these reads lists them.
//! Invariant: two stores that were given the same commits have equal dumps, once their events are numbered.

mod batches;
mod sessions;
mod turns;

pub use batches::BatchDump;
pub use sessions::SessionDump;
pub use turns::TurnDump;

use cardwire_model::{
    BoxHead, BoxId, Card, CardId, ChainHead, Entry, Generation, NewAudit, NewEvent, Project, ProjectId,
    Realm, Token, TokenId,
};
use cardwire_store::{EventFilter, RowFilter, Store, StoreError};
use std::{collections::BTreeMap, fmt::Debug};

/// How many rows are asked for at once: small, so that dumping also exercises paging.
const PAGE: usize = 97;

/// All rows of a store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dump {
    /// By name, deleted ones too.
    pub projects: BTreeMap<ProjectId, Project>,
    /// By project and id, deleted ones too.
    pub cards: BTreeMap<(ProjectId, CardId), Card>,
    /// By project and id.
    pub boxes: BTreeMap<(ProjectId, BoxId), BoxDump>,
    /// By id, of all realms.
    pub tokens: BTreeMap<TokenId, Token>,
    /// By project and position.
    pub events: BTreeMap<(ProjectId, u64), NewEvent>,
    /// By realm and order of `seq`, from 1.
    pub audit: BTreeMap<(Realm, usize), (NewAudit, Option<ChainHead>)>,
    /// Turns, the graph and the roster.
    pub turns: TurnDump,
    /// Batches, their branches, and sweeps.
    pub batches: BatchDump,
    /// Sessions and passages.
    pub sessions: SessionDump,
}

/// A box with all it ever showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoxDump {
    /// The head.
    pub head: BoxHead,
    /// Entries of every generation, the first one first.
    pub generations: Vec<Vec<Entry>>,
}

impl Dump {
    /// The first row in which two dumps differ, for people; `None` when they are equal.
    pub fn first_difference(&self, other: &Self) -> Option<String> {
        differ("project", &self.projects, &other.projects)
            .or_else(|| differ("card", &self.cards, &other.cards))
            .or_else(|| differ("box", &self.boxes, &other.boxes))
            .or_else(|| differ("token", &self.tokens, &other.tokens))
            .or_else(|| differ("event", &self.events, &other.events))
            .or_else(|| differ("audit row", &self.audit, &other.audit))
            .or_else(|| self.turns.first_difference(&other.turns))
            .or_else(|| self.batches.first_difference(&other.batches))
            .or_else(|| self.sessions.first_difference(&other.sessions))
    }

    /// Panics with the first difference, if there is one.
    pub fn assert_same(&self, other: &Self, when: &str) {
        if let Some(difference) = self.first_difference(other) {
            panic!("{when}: {difference}");
        }
    }
}

fn differ<K: Ord + Debug, V: PartialEq + Debug>(
    what: &str,
    left: &BTreeMap<K, V>,
    right: &BTreeMap<K, V>,
) -> Option<String> {
    let keys = left.keys().chain(right.keys().filter(|key| !left.contains_key(key)));
    let mut unequal = keys.filter(|key| left.get(key) != right.get(key));
    let show = |row: Option<&V>| row.map_or("absent".to_owned(), |row| format!("{row:?}"));
    unequal.next().map(|key| {
        format!("{what} {key:?} differs\n  left:  {}\n  right: {}", show(left.get(key)), show(right.get(key)))
    })
}

/// Reads everything. Nobody may write meanwhile, and events without a position are not shown.
pub async fn dump(store: &dyn Store) -> Dump {
    read_all(store).await.expect("a store that answers")
}

async fn read_all(store: &dyn Store) -> Result<Dump, StoreError> {
    let mut dump = Dump::default();
    let mut after = None;
    loop {
        let page = store.projects(after.as_ref(), PAGE).await?;
        let Some(last) = advance(&after, page.iter().map(|project| &project.id), PAGE) else { break };
        after = Some(last.clone());
        dump.projects.extend(page.into_iter().map(|project| (project.id.clone(), project)));
    }
    let mut after = None;
    loop {
        let page = store.tokens(None, after, PAGE).await?;
        let Some(last) = advance(&after, page.iter().map(|token| &token.id), PAGE) else { break };
        after = Some(*last);
        dump.tokens.extend(page.into_iter().map(|token| (token.id, token)));
    }
    read_audit(store, &Realm::System, &mut dump).await?;
    for project in dump.projects.keys().cloned().collect::<Vec<_>>() {
        read_cards(store, &project, &mut dump).await?;
        read_boxes(store, &project, &mut dump).await?;
        read_events(store, &project, &mut dump).await?;
        read_audit(store, &project.into(), &mut dump).await?;
    }
    turns::read_turns(store, &mut dump).await?;
    batches::read_batches(store, &mut dump).await?;
    sessions::read_sessions(store, &mut dump).await?;
    Ok(dump)
}

/// The last key of a page, after checking what every scan promises: rising keys, behind the last page, and not
/// more than asked for. Without the check a scan that stands still would be read for ever.
fn advance<'a, K: Ord + Debug>(
    after: &Option<K>,
    keys: impl Iterator<Item = &'a K>,
    limit: usize,
) -> Option<&'a K> {
    let keys: Vec<_> = keys.collect();
    assert!(keys.len() <= limit, "a page of {} rows where {limit} were asked for", keys.len());
    assert!(keys.windows(2).all(|pair| pair[0] < pair[1]), "a scan is not in order: {keys:?}");
    if let (Some(after), Some(first)) = (after, keys.first()) {
        assert!(after < *first, "a scan after {after:?} begins at {first:?}");
    }
    keys.last().copied()
}

async fn read_cards(store: &dyn Store, project: &ProjectId, dump: &mut Dump) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let page = store.scan_cards(project, after, PAGE).await?;
        let Some(last) = advance(&after, page.iter().map(|card| &card.id), PAGE) else { return Ok(()) };
        after = Some(*last);
        dump.cards.extend(page.into_iter().map(|card| ((project.clone(), card.id), card)));
    }
}

async fn read_boxes(store: &dyn Store, project: &ProjectId, dump: &mut Dump) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let page = store.scan_boxes(project, after, PAGE).await?;
        let Some(last) = advance(&after, page.iter().map(|head| &head.box_id), PAGE) else { return Ok(()) };
        after = Some(*last);
        for head in page {
            let mut generations = vec![];
            for number in 1..=head.generation.get() {
                let generation = Generation::new(number);
                generations.push(store.box_entries(project, head.box_id, generation, 0).await?);
            }
            dump.boxes.insert((project.clone(), head.box_id), BoxDump { head, generations });
        }
    }
}

async fn read_events(store: &dyn Store, project: &ProjectId, dump: &mut Dump) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let page = store.events(project, after.unwrap_or(0), &EventFilter::default(), PAGE).await?;
        let Some(last) = advance(&after, page.iter().map(|event| &event.position), PAGE) else {
            return Ok(());
        };
        after = Some(*last);
        dump.events.extend(page.into_iter().map(|found| ((project.clone(), found.position), found.event)));
    }
}

async fn read_audit(store: &dyn Store, realm: &Realm, dump: &mut Dump) -> Result<(), StoreError> {
    let mut rows = vec![];
    let mut before: Option<u64> = None;
    loop {
        let page = store.audit(realm, &RowFilter::default(), before, PAGE).await?;
        // Newest first, so the keys fall.
        let falling: Vec<_> = page.iter().map(|row| u64::MAX - row.seq).collect();
        let behind = before.map(|seq| u64::MAX - seq);
        if advance(&behind, falling.iter(), PAGE).is_none() {
            break;
        }
        before = page.last().map(|row| row.seq);
        rows.extend(page);
    }
    let oldest_first = rows.into_iter().rev().enumerate();
    dump.audit.extend(oldest_first.map(|(index, row)| ((realm.clone(), index + 1), (row.audit, row.sealed))));
    Ok(())
}
