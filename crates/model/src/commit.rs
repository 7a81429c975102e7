//! [`Commit`]: the one value that carries every change.
//!
//! A pure function decides it, a store applies it atomically or not at all. `expect` states what the decision
//! relied on; a store that finds it untrue answers with a [`Conflict`], and the decision is made again on fresh
//! rows. A store decides nothing.

use crate::{
    Agent, AgentId, Answer, Batch, BatchId, BoxId, Branch, BranchEnd, BranchStatus, Card, CardId, ChainHead,
    CloseReason, Edge, Generation, Grant, Head, HeadGuard, IdentityEdge, InboxItem, InboxStatus, NewAudit,
    NewBox, NewEvent, Nudge, Passage, Profile, Project, Realm, Resource, Revision, Session, Shelf, Step,
    Sweep, Timestamp, Token, TokenId, ToolCall, TurnId,
};
use thiserror::Error;

/// A list of typed writes with the preconditions they rely on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Whose rows.
    pub realm: Realm,
    /// What must hold when it is applied.
    pub expect: Vec<Expect>,
    /// What changes.
    pub writes: Vec<Write>,
    /// What is told, in the same transaction.
    pub events: Vec<NewEvent>,
    /// What is recorded, in the same transaction.
    pub audit: Vec<NewAudit>,
    /// Rows of turns that can be gone on with once this is applied, as they were read: for whoever claims such a turn in the
    /// same commit. No store looks at them.
    pub resumable: Vec<InboxItem>,
}

impl Commit {
    /// A commit that does nothing yet.
    pub fn new(realm: impl Into<Realm>) -> Self {
        Self {
            realm: realm.into(),
            expect: vec![],
            writes: vec![],
            events: vec![],
            audit: vec![],
            resumable: vec![],
        }
    }

    /// Adds what another commit of the same realm does, after what this one does.
    pub fn append(&mut self, other: Self) {
        debug_assert!(self.realm == other.realm, "one commit, one realm");
        self.expect.extend(other.expect);
        self.writes.extend(other.writes);
        self.events.extend(other.events);
        self.audit.extend(other.audit);
        self.resumable.extend(other.resumable);
    }

    /// Whether applying it would change nothing.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.events.is_empty() && self.audit.is_empty()
    }
}

/// A precondition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expect {
    /// The box is at this generation, not sealed, and shows at least `min_len` and at most `max_len` cards.
    OpenBox {
        /// Which box.
        box_id: BoxId,
        /// At which generation.
        generation: Generation,
        /// Equal to `max_len` when the caller told the length it relies on.
        min_len: u32,
        /// Leaves room for what is to be appended.
        max_len: u32,
    },
    /// The project's row is at this revision.
    ProjectAt(Revision),
    /// The audit chain of the realm ends here.
    ChainAt(ChainHead),
    /// The box exists, is not sealed, and no open turn of another agent writes it (CB-14).
    OutputFree {
        /// Which box.
        box_id: BoxId,
        /// Whose turns may; nobody's, if none is named.
        agent_id: Option<AgentId>,
    },
    /// At most so many turns of the project are open, before what is written. It stays so until the commit is applied, as far
    /// as other commits expect the same.
    OpenTurns {
        /// How many.
        at_most: u32,
    },
}

/// A change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// A new card. Its id must be free.
    PutCard(Box<Card>),
    /// Marks a live card deleted and raises the project's count of deletions.
    DeleteCard {
        /// Which card.
        card_id: CardId,
        /// When.
        at: Timestamp,
    },
    /// A new box. Its id must be free.
    CreateBox(NewBox),
    /// Cards at the end of a box, numbered by the store. Rises `len` and `entries` by their count; a card that
    /// is an entry already is a conflict.
    AppendCards {
        /// Which box.
        box_id: BoxId,
        /// At which generation.
        generation: Generation,
        /// In this order.
        cards: Vec<CardId>,
    },
    /// A new generation: the head takes the new values, the old entries stay.
    RewriteBox(NewBox),
    /// No more changes to this box.
    SealBox {
        /// Which box.
        box_id: BoxId,
    },
    /// A new project. Its name must be free.
    CreateProject(Project),
    /// New values for the project's row (`deletions` is left alone).
    UpdateProject(Project),
    /// A new token.
    CreateToken(Token),
    /// Ends a token.
    RevokeToken {
        /// Which token.
        token_id: TokenId,
        /// When.
        at: Timestamp,
    },
    /// The answer to give when the request comes again. Its key must be free.
    RememberAnswer(Answer),
    /// The place of an audit row in the chain.
    SealAudit {
        /// Which row.
        seq: u64,
        /// Its place and hash.
        head: ChainHead,
    },
    /// The head of an agent that has none. Also kept as the agent's snapshot (WD-08). A conflict when the snapshot has a
    /// later epoch, or the same one and this head is live: then it was rebuilt from something older.
    CreateHead(Box<Head>),
    /// A head in a new state, if the guard holds. `queued` is added to the number of waiting turns, the one in `to`
    /// is not written.
    MoveHead {
        /// What must hold.
        guard: HeadGuard,
        /// The new state.
        to: Box<Head>,
        /// Turns that came to wait, or ceased to.
        queued: i32,
        /// Whether it is also kept as the agent's snapshot (WD-08).
        is_copied: bool,
    },
    /// A small change to a head, if the guard holds. Nudges to one head go together in any order, unless a guard counts marks.
    NudgeHead {
        /// What must hold.
        guard: HeadGuard,
        /// The change.
        nudge: Nudge,
    },
    /// A new row of an inbox; the store gives it its place.
    Enqueue(Box<InboxItem>),
    /// New values for a row that is in the state `from`. What came with the row (its kind, turn, pointers and
    /// lineage) is left alone.
    UpdateInbox {
        /// What must hold.
        from: InboxStatus,
        /// The row.
        item: Box<InboxItem>,
    },
    /// A new edge. Its correlation must be free in its scope.
    AddEdge(Box<Edge>),
    /// A new step. Its id must be free.
    CreateStep(Box<Step>),
    /// New values for a step of the same turn.
    UpdateStep(Box<Step>),
    /// A new tool call. Its id must be free in its turn.
    OpenCall(Box<ToolCall>),
    /// New values for a tool call that has no answer.
    UpdateCall(Box<ToolCall>),
    /// A profile, new (`was` is `None`) or at this revision.
    PutProfile {
        /// What must hold.
        was: Option<Revision>,
        /// The row.
        profile: Box<Profile>,
    },
    /// An agent of the roster, new (`was` is `None`) or at this revision.
    PutAgent {
        /// What must hold.
        was: Option<Revision>,
        /// The row.
        agent: Box<Agent>,
    },
    /// A document, new (`was` is `None`) or at this revision.
    PutResource {
        /// What must hold.
        was: Option<Revision>,
        /// The row.
        resource: Box<Resource>,
    },
    /// How an agent came to be.
    AddIdentityEdge(Box<IdentityEdge>),
    /// A new batch. Its id must be free.
    CreateBatch(Box<Batch>),
    /// A batch that is running and not being closed is to be closed: from now on [`Write::EndBranch`] does nothing to its
    /// branches.
    BeginClose {
        /// Which batch.
        batch_id: BatchId,
        /// Why.
        reason: CloseReason,
    },
    /// New values for the last four fields of a batch that is running and whose `closing` is as given.
    CloseBatch(Box<Batch>),
    /// A new branch. Its key must be free.
    AddBranch(Box<Branch>),
    /// New values for a branch that is in the state `from`; when it was made stays.
    MoveBranch {
        /// What must hold.
        from: BranchStatus,
        /// The row.
        branch: Box<Branch>,
    },
    /// The end of a branch, told by the end of its turn. The first end counts: a branch that has ended, or whose batch is
    /// closed or being closed, is left alone, and that is no conflict.
    EndBranch(Box<BranchEnd>),
    /// Descendants are to be stopped. There already is fine.
    AddSweep(Sweep),
    /// They have been. Gone already is fine.
    EndSweep(Sweep),
    /// A box was handed to an agent. There already is fine: the first one stays.
    AddGrant(Box<Grant>),
    /// So many more turns below a root. More than `limit` in all is a conflict.
    Spend {
        /// The root.
        root: TurnId,
        /// How many more.
        turns: u32,
        /// At most so many in all.
        limit: u32,
    },
    /// A session, new (`was` is `None`) or at this version.
    PutSession {
        /// What must hold.
        was: Option<Revision>,
        /// The row.
        session: Box<Session>,
    },
    /// A passage; one of the same shelf, source and part is replaced.
    PutPassage(Box<Passage>),
    /// Drops every passage of a source. None there is fine.
    DropPassages {
        /// From which shelf.
        shelf: Shelf,
        /// Of which source.
        source: String,
    },
}

/// Why a commit was not applied: somebody else got in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Conflict {
    /// A card id, or a card to be deleted, is not as expected.
    #[error("a card was written by somebody else")]
    Card,
    /// A box is not at the expected generation or length, is sealed, or exists already.
    #[error("a box was changed by somebody else")]
    Box,
    /// A card is in the box already.
    #[error("a card was appended by somebody else")]
    Entry,
    /// A project is not at the expected revision, or exists already.
    #[error("the project was changed by somebody else")]
    Project,
    /// A token exists already, or is gone.
    #[error("a token was changed by somebody else")]
    Token,
    /// The key has an answer already.
    #[error("the request was answered already")]
    Answer,
    /// The audit chain has moved on.
    #[error("the audit chain was extended by somebody else")]
    Chain,
    /// A head is not as expected.
    #[error("the agent's turn was moved by somebody else")]
    Head,
    /// An inbox row is not as expected, or a turn id is taken.
    #[error("an inbox row was changed by somebody else")]
    Inbox,
    /// The correlation is taken.
    #[error("the correlation is taken")]
    Edge,
    /// A step exists already, or belongs to another turn.
    #[error("a step was changed by somebody else")]
    Step,
    /// A tool call exists already, or has its answer.
    #[error("a tool call was changed by somebody else")]
    Call,
    /// A batch or a branch is not as expected, or exists already.
    #[error("the batch was changed by somebody else")]
    Batch,
    /// A tree of turns has spent its budget.
    #[error("the tree of turns has grown meanwhile")]
    Tree,
    /// The project has more open turns than expected.
    #[error("other turns were opened meanwhile")]
    OpenTurns,
    /// A session is not at the expected version, or exists already.
    #[error("the session was changed by somebody else")]
    Session,
    /// A profile or an agent of the roster is not at the expected revision.
    #[error("the roster was changed by somebody else")]
    Roster,
}
