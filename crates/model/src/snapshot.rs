//! What a decision is made on: [`Keys`] name the rows, a store loads them in one read, and the pure function sees
//! the [`Snapshot`].

use crate::{
    Agent, AgentId, Answer, AnswerKey, BoxHead, BoxId, Card, CardId, CardKind, Edge, EdgePhase, Hash256,
    Head, InboxId, InboxItem, Origin, Primitive, Profile, ProfileName, Project, Resource, ResourceKind,
    ResourceName, Session, SessionKey, Step, StepId, Timestamp, Token, TokenId, ToolCall, TurnEpoch, TurnId,
    card::is_visible,
};
use std::collections::{HashMap, HashSet};

/// Which rows to load.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keys {
    /// The realm's project row.
    pub project: bool,
    /// Cards, for existence and equality (not their content).
    pub cards: Vec<CardId>,
    /// Box heads.
    pub boxes: Vec<BoxId>,
    /// Which of these cards are direct entries of the box's current generation. The box's head is loaded too.
    pub members: Option<(BoxId, Vec<CardId>)>,
    /// A token of the realm.
    pub token: Option<TokenId>,
    /// A remembered answer.
    pub answer: Option<AnswerKey>,
    /// An agent: its row in the roster, and its head or what is left of it.
    pub agent: Option<AgentId>,
    /// A turn: its row, its agent's head (or what is left), its output box, its tool calls and what waits behind it.
    pub turn: Option<TurnId>,
    /// Of the turn, neither its tool calls nor its reports nor what waits behind it.
    pub turn_alone: bool,
    /// The depth of another turn, e.g. of a parent.
    pub depth_of: Option<TurnId>,
    /// An inbox row.
    pub inbox: Option<InboxId>,
    /// A request edge of the project's own scope.
    pub edge: Option<(Primitive, EdgePhase, String)>,
    /// A step.
    pub step: Option<StepId>,
    /// Whose open turns write these boxes.
    pub writers_of: Vec<BoxId>,
    /// A profile.
    pub profile: Option<ProfileName>,
    /// A document.
    pub resource: Option<(ResourceKind, ResourceName)>,
    /// A session.
    pub session: Option<SessionKey>,
}

impl Keys {
    /// About how many rows that is: those it lists, and not the one or two of each of the others.
    pub fn rows(&self) -> usize {
        let members = self.members.as_ref().map_or(0, |(_, cards)| cards.len());
        self.cards.len() + self.boxes.len() + self.writers_of.len() + members
    }
}

/// The rows as they were in one consistent read, or as a commit left them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The realm's project row, if asked for and there.
    pub project: Option<Project>,
    /// The cards that are there.
    pub cards: HashMap<CardId, CardFact>,
    /// The boxes that are there.
    pub boxes: HashMap<BoxId, BoxHead>,
    /// Those of `Keys::members` that are entries.
    pub members: HashSet<CardId>,
    /// Of the cards that a command on a turn names, those that were handed to it. Looked for by whoever loads.
    pub given: HashSet<CardId>,
    /// The token, if asked for and there.
    pub token: Option<Token>,
    /// The answer, if asked for and there.
    pub answer: Option<Answer>,
    /// The agent's row in the roster, for `Keys::agent`.
    pub agent: Option<Agent>,
    /// The head, for `Keys::agent` or `Keys::turn`.
    pub head: Option<Head>,
    /// What is left of a head that should be there; asked for whenever `head` is not found.
    pub lost: Option<Lost>,
    /// The rows of the turn, if asked for and there. Its output box is in `boxes`.
    pub turn: Option<TurnRows>,
    /// The depth asked for.
    pub depth: Option<u32>,
    /// The inbox row, if asked for and there.
    pub inbox: Option<InboxItem>,
    /// The edge, if asked for and there.
    pub edge: Option<Edge>,
    /// The step, if asked for and there.
    pub step: Option<Step>,
    /// Boxes of `Keys::writers_of`, each with the agents whose open turns (inbox rows of kind `turn` with an open
    /// status) write it.
    pub writers: HashSet<(BoxId, AgentId)>,
    /// The profile, if asked for and there.
    pub profile: Option<Profile>,
    /// The document, if asked for and there.
    pub resource: Option<Resource>,
    /// The session, deleted or not, if asked for and there.
    pub session: Option<Session>,
}

/// A turn as a decision sees it. All but its row are empty for [`Keys::turn_alone`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnRows {
    /// Its row in the inbox.
    pub item: InboxItem,
    /// Its tool calls that have no answer, and those that end the turn, by id.
    pub calls: Vec<ToolCall>,
    /// Open inbox rows for this turn other than its own, by place in the queue.
    pub reports: Vec<InboxItem>,
    /// The first turns that wait in the agent's inbox, in order; at most [`crate::limits::POISON_ROWS`] + 1.
    pub next: Vec<InboxItem>,
}

impl TurnRows {
    /// The turn alone.
    pub fn alone(item: InboxItem) -> Self {
        Self { item, calls: vec![], reports: vec![], next: vec![] }
    }
}

/// What is known of an agent whose head is missing (WD-08).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// The snapshot written with the last move that was copied.
    pub copy: Option<Head>,
    /// The highest epoch in the agent's inbox rows and steps.
    pub highest: TurnEpoch,
    /// The row of the turn that was live, if it is still open.
    pub open: Option<InboxItem>,
    /// Where the last turn wrote, according to the inbox.
    pub last_output_box: Option<BoxId>,
    /// Turns that wait.
    pub queued: u32,
}

/// What a decision needs to know of an existing card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardFact {
    /// Equal facts have equal hashes (CB-07).
    pub fact_hash: Hash256,
    /// What the fact is.
    pub kind: CardKind,
    /// Which tool call it answers.
    pub tool_call_id: Option<String>,
    /// Who said it.
    pub author_id: Option<String>,
    /// By which way it came in.
    pub origin: Origin,
    /// When it was deleted.
    pub deleted_at: Option<Timestamp>,
    /// When it expires.
    pub expires_at: Option<Timestamp>,
}

impl From<&Card> for CardFact {
    fn from(card: &Card) -> Self {
        Self {
            fact_hash: card.fact_hash,
            kind: card.kind.clone(),
            tool_call_id: card.tool_call_id.clone(),
            author_id: card.author_id.clone(),
            origin: card.origin,
            deleted_at: card.deleted_at,
            expires_at: card.expires_at,
        }
    }
}

impl CardFact {
    /// Whether reads show the card at `now`.
    pub fn is_visible(&self, now: Timestamp) -> bool {
        is_visible(self.deleted_at, self.expires_at, now)
    }
}

impl Lost {
    /// Whether there ever was anything to lose.
    pub fn is_something(&self) -> bool {
        self.copy.is_some() || self.highest > TurnEpoch::ZERO || self.open.is_some() || self.queued > 0
    }
}
