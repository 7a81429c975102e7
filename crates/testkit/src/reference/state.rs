//! The rows, and the reads of facts and logs. Keys start with the realm, as in the backends: projects never meet.

use super::table::Table;
use cardwire_model::{
    Agent, AgentId, Answer, AnswerKey, AuditRow, Batch, BatchId, BoxHead, BoxId, Branch, BranchKey, Card,
    CardId, ChainHead, Edge, EdgeId, EdgePhase, Entry, Event, Generation, Grant, Head, IdentityEdge, InboxId,
    InboxItem, NewEvent, Passage, Primitive, Profile, ProfileName, Project, ProjectId, Realm, Resource,
    ResourceKind, ResourceName, Session, SessionKey, Shelf, Step, StepId, Sweep, Timestamp, Token, TokenId,
    ToolCall, TurnId,
};
use cardwire_store::Unsealed;
use uuid::Uuid;

pub(super) type CardKey = (Realm, CardId);
pub(super) type BoxKey = (Realm, BoxId);
pub(super) type EntryKey = (Realm, BoxId, Generation, u32);
pub(super) type MemberKey = (Realm, BoxId, Generation, CardId);
pub(super) type AnswerRow = (Realm, String, String);
pub(super) type Numbered = (Realm, u64);
pub(super) type AgentKey = (Realm, AgentId);
pub(super) type InboxKey = (Realm, InboxId);
pub(super) type CorrelationKey = (Realm, Primitive, EdgePhase, String, Uuid);
pub(super) type CallKey = (Realm, TurnId, String);
/// Sweeps are ordered by the name of their scope.
pub(super) type SweepKey = (Realm, (&'static str, Uuid));
pub(super) type GrantKey = (Realm, AgentId, BoxId);
pub(super) type PassageKey = (Realm, (Shelf, String, u32));

/// Everything a store holds. Pure: no lock, no async; the generator of random commits uses it as its oracle.
#[derive(Debug, Default)]
pub struct State {
    pub(super) projects: Table<ProjectId, Project>,
    pub(super) cards: Table<CardKey, Card>,
    pub(super) boxes: Table<BoxKey, BoxHead>,
    pub(super) entries: Table<EntryKey, Entry>,
    /// Which cards are direct entries of a generation: each once.
    pub(super) members: Table<MemberKey, ()>,
    pub(super) tokens: Table<TokenId, Token>,
    pub(super) answers: Table<AnswerRow, Answer>,
    pub(super) events: Table<Numbered, NewEvent>,
    pub(super) audit: Table<Numbered, AuditRow>,
    /// The `seq` of the audit row at each place of a chain.
    pub(super) chain: Table<Numbered, u64>,
    pub(super) heads: Table<AgentKey, Head>,
    /// The snapshot of each head (WD-08).
    pub(super) copies: Table<AgentKey, Head>,
    pub(super) inbox: Table<InboxKey, InboxItem>,
    /// The inbox row at each `seq`, of all realms: a worker claims the oldest ones, whosever they are.
    pub(super) queue: Table<u64, InboxKey>,
    /// The inbox row of each turn.
    pub(super) turns: Table<(Realm, TurnId), InboxId>,
    pub(super) edges: Table<(Realm, EdgeId), Edge>,
    /// The edge with each correlation in its scope.
    pub(super) correlations: Table<CorrelationKey, EdgeId>,
    pub(super) steps: Table<(Realm, StepId), Step>,
    pub(super) calls: Table<CallKey, ToolCall>,
    pub(super) profiles: Table<(Realm, ProfileName), Profile>,
    pub(super) resources: Table<(Realm, (ResourceKind, ResourceName)), Resource>,
    pub(super) agents: Table<AgentKey, Agent>,
    pub(super) identity_edges: Table<(Realm, EdgeId), IdentityEdge>,
    pub(super) batches: Table<(Realm, BatchId), Batch>,
    pub(super) branches: Table<(Realm, BranchKey), Branch>,
    pub(super) sweeps: Table<SweepKey, Sweep>,
    pub(super) grants: Table<GrantKey, Grant>,
    /// How many turns were started below each root.
    pub(super) trees: Table<(Realm, TurnId), u32>,
    pub(super) sessions: Table<(Realm, SessionKey), Session>,
    /// By shelf, source and part.
    pub(super) passages: Table<PassageKey, Passage>,
}

impl State {
    /// A project's row.
    pub fn project(&self, id: &ProjectId) -> Option<&Project> {
        self.projects.get(id)
    }

    /// A card, deleted or not.
    pub fn card(&self, realm: &Realm, id: CardId) -> Option<&Card> {
        self.cards.get(&(realm.clone(), id))
    }

    /// A box.
    pub fn card_box(&self, realm: &Realm, id: BoxId) -> Option<&BoxHead> {
        self.boxes.get(&(realm.clone(), id))
    }

    /// Whether a card is a direct entry of this generation.
    pub fn is_member(&self, realm: &Realm, box_id: BoxId, generation: Generation, card: CardId) -> bool {
        self.members.has(&(realm.clone(), box_id, generation, card))
    }

    /// Entries of a generation in order, from a number on.
    pub fn box_entries(
        &self,
        realm: &Realm,
        box_id: BoxId,
        generation: Generation,
        from: u32,
    ) -> impl Iterator<Item = Entry> {
        let key = |seq| (realm.clone(), box_id, generation, seq);
        self.entries.range(key(from)..=key(u32::MAX)).map(|(_, entry)| *entry)
    }

    /// A token, in any realm.
    pub fn token(&self, id: TokenId) -> Option<&Token> {
        self.tokens.get(&id)
    }

    /// A remembered answer.
    pub fn answer(&self, realm: &Realm, key: &AnswerKey) -> Option<&Answer> {
        self.answers.get(&(realm.clone(), key.caller.clone(), key.key.clone()))
    }

    /// Events after a position, in order.
    pub fn events(&self, realm: &Realm, after: u64) -> impl Iterator<Item = Event> {
        let key = |position| (realm.clone(), position);
        // Nothing is past the last possible position, and `after + 1` would wrap there.
        let first = after.saturating_add(1);
        let found = self.events.range(key(first)..=key(u64::MAX));
        found.map(|((_, position), event)| Event { position: *position, event: event.clone() })
    }

    /// The last position of a log; 0 when it is empty.
    pub fn last_position(&self, realm: &Realm) -> u64 {
        last(&self.events, realm)
    }

    /// Audit rows by `seq`.
    pub fn audit(&self, realm: &Realm) -> impl DoubleEndedIterator<Item = &AuditRow> {
        let key = |seq| (realm.clone(), seq);
        self.audit.range(key(0)..=key(u64::MAX)).map(|(_, row)| row)
    }

    /// Sealed audit rows in chain order, after a place.
    pub fn audit_chain(&self, realm: &Realm, after: u64) -> impl Iterator<Item = &AuditRow> {
        let key = |place| (realm.clone(), place);
        let places = self.chain.range(key(after.saturating_add(1))..=key(u64::MAX));
        places.filter_map(|((realm, _), seq)| self.audit.get(&(realm.clone(), *seq)))
    }

    /// Where a chain ends.
    pub fn chain_head(&self, realm: &Realm) -> ChainHead {
        let place = last(&self.chain, realm);
        let seq = self.chain.get(&(realm.clone(), place));
        let row = seq.and_then(|seq| self.audit.get(&(realm.clone(), *seq)));
        row.and_then(|row| row.sealed).unwrap_or(ChainHead::START)
    }

    /// The first audit rows of a realm that are not sealed.
    pub fn unsealed(&self, realm: &Realm, limit: usize) -> Vec<AuditRow> {
        self.audit(realm).filter(|row| row.sealed.is_none()).take(limit).cloned().collect()
    }

    /// The same for every realm that has any.
    pub fn all_unsealed(&self, limit: usize) -> Vec<Unsealed> {
        let mut realms: Vec<&Realm> = self.audit.range(..).map(|((realm, _), _)| realm).collect();
        realms.dedup();
        let work = |realm: &Realm| Unsealed {
            realm: realm.clone(),
            head: self.chain_head(realm),
            rows: self.unsealed(realm, limit),
        };
        let pending = |realm: &&Realm| self.audit(realm).any(|row| row.sealed.is_none());
        realms.into_iter().filter(pending).map(work).collect()
    }

    /// Forgets answers given before a moment, and answers how many.
    pub fn forget_answers(&mut self, before: Timestamp) -> u64 {
        self.answers.retain(|_, answer| answer.created_at >= before)
    }
}

/// The highest number a realm has in a table; 0 when it has none.
pub(super) fn last<V: Clone>(table: &Table<Numbered, V>, realm: &Realm) -> u64 {
    let key = |number| (realm.clone(), number);
    table.range(key(0)..=key(u64::MAX)).next_back().map_or(0, |((_, number), _)| *number)
}

/// Where a sweep is kept.
pub(super) fn sweep_key(realm: &Realm, sweep: Sweep) -> SweepKey {
    (realm.clone(), (sweep.scope(), sweep.uuid()))
}
