//! From writes in order to rows by kind.
//!
//! The server applies kinds in a fixed order, while a commit's writes count in the order they stand in. The two
//! differ only when one row is written by several kinds; then what comes later becomes a *stage* of its own, applied
//! after the one before. Most rows need no stages: a card, an inbox row, a step, a tool call or an agent is made first
//! and changed afterwards, in that order on the server too, and the other way round cannot be; writes to one head, and
//! changes of one such row, are applied one by one in their order. For batches and branches see [`PmoWrites`], for
//! sessions [`SessionWrites`], for passages [`PassageRows`](super::passages::PassageRows).
//! Invariant: applying the stages in turn is the same as applying the writes in turn.

use super::{
    passages::PassageWrite,
    payload::{TurnWrites, With},
    pmo::PmoWrites,
    rest::{self, Rest},
    row::{Append, HeadWrite, InboxUpdate, Output, Seal},
    sessions::SessionWrites,
};
use cardwire_model::{AgentId, Card, CardId, Conflict, Expect, InboxId, NewBox, StepId, TurnId, Write};
use serde_json::json;
use std::collections::{HashMap, HashSet};
use uuid::Uuid;

#[derive(Debug, Default)]
pub(super) struct Stage {
    pub(super) appends: Vec<Append>,
    /// Where each box is among them.
    appended: HashMap<Uuid, usize>,
    pub(super) rest: Rest,
}

impl Stage {
    /// Adds cards to the end of a box, behind those that this stage adds already.
    fn append(&mut self, box_id: Uuid, generation: u32, cards: Vec<Uuid>) {
        match self.append_to(box_id) {
            Some(append) => append.cards.extend(cards),
            None => {
                self.appended.insert(box_id, self.appends.len());
                self.appends.push(Append { box_id, generation, min_len: 0, max_len: u32::MAX, cards });
            }
        }
    }

    fn append_to(&mut self, box_id: Uuid) -> Option<&mut Append> {
        self.appended.get(&box_id).and_then(|place| self.appends.get_mut(*place))
    }

    pub(super) fn into_rest(mut self) -> Rest {
        for append in &self.appends {
            self.rest.push("append", &rest::append(append));
        }
        self.rest
    }
}

/// A row that several kinds of writes touch.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Row {
    Box(Uuid),
    Project,
    Token(Uuid),
}

/// A kind of write, as far as its place in a stage is concerned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Append { generation: u32 },
    Create,
    Rewrite,
    Seal,
    Update,
    Revoke,
}

impl Kind {
    /// Whether a row that was written by `last` can be written by this kind in the same stage: when the server
    /// applies this kind later, or both are of one kind whose rows are applied in their order. See `cw_rest`.
    fn follows(self, last: Self) -> bool {
        self.rank() > last.rank()
            || match self {
                Self::Append { .. } | Self::Update => self == last,
                Self::Create | Self::Rewrite | Self::Seal | Self::Revoke => false,
            }
    }

    fn rank(self) -> u8 {
        match self {
            Self::Append { .. } => 0,
            Self::Create => 1,
            Self::Rewrite | Self::Update | Self::Revoke => 2,
            Self::Seal => 3,
        }
    }
}

/// A row that was changed, and that may not be made after that.
#[derive(PartialEq, Eq, Hash)]
enum Changed {
    Card(CardId),
    Inbox(InboxId),
    Step(StepId),
    Call(TurnId, String),
    Agent(AgentId),
}

#[derive(Default)]
pub(super) struct Stages {
    pub(super) cards: Vec<Card>,
    pub(super) new_boxes: Vec<NewBox>,
    pub(super) turns: TurnWrites,
    pub(super) pmo: PmoWrites,
    pub(super) sessions: SessionWrites,
    pub(super) passages: Vec<PassageWrite>,
    pub(super) seals: Vec<Seal>,
    changed: HashSet<Changed>,
    pub(super) contradiction: Option<Conflict>,
    /// Boxes that must be there, and those that must not.
    pub(super) boxes: Vec<Uuid>,
    pub(super) made_boxes: Vec<Uuid>,
    pub(super) first: Stage,
    pub(super) later: Vec<Stage>,
    /// By what each row of the last stage was written last.
    written: HashMap<Row, Kind>,
    pub(super) beyond_appends: bool,
    pub(super) locks_boxes: bool,
    pub(super) alone: bool,
    /// What others may do to the project's row meanwhile, if this commit holds it.
    pub(super) project: Option<With>,
}

impl Stages {
    /// The stage in which a row is written next.
    fn stage(&mut self, row: Row, kind: Kind) -> &mut Stage {
        if self.written.get(&row).is_some_and(|last| !kind.follows(*last)) {
            self.later.push(Stage::default());
            self.written.clear();
        }
        self.written.insert(row, kind);
        self.last()
    }

    fn last(&mut self) -> &mut Stage {
        self.later.last_mut().unwrap_or(&mut self.first)
    }

    fn box_stage(&mut self, box_id: Uuid, kind: Kind) -> &mut Stage {
        if kind == Kind::Create { &mut self.made_boxes } else { &mut self.boxes }.push(box_id);
        self.beyond_appends |= !matches!(kind, Kind::Append { .. });
        self.stage(Row::Box(box_id), kind)
    }

    pub(super) fn write(&mut self, write: Write) {
        match write {
            Write::PutCard(card) => {
                self.make(&Changed::Card(card.id), Conflict::Card);
                self.cards.push(*card);
            }
            Write::DeleteCard { card_id, at } => {
                self.changed.insert(Changed::Card(card_id));
                // Deletions are counted in the project's row.
                self.hold_project(With::SameTransaction);
                let row = json!({ "card_id": card_id.uuid().to_string(), "at": at.micros() });
                self.last().rest.push("delete_card", &row);
            }
            Write::AppendCards { box_id, generation, cards } => {
                let (box_id, generation) = (box_id.uuid(), generation.get());
                let cards = cards.into_iter().map(|card| card.uuid()).collect();
                self.box_stage(box_id, Kind::Append { generation }).append(box_id, generation, cards);
            }
            Write::CreateBox(new) => {
                self.box_stage(new.head.box_id.uuid(), Kind::Create);
                if self.later.is_empty() {
                    self.new_boxes.push(new);
                } else {
                    self.last().rest.push("create_box", &rest::new_box(&new));
                }
            }
            Write::RewriteBox(new) => {
                self.locks_boxes = true;
                let stage = self.box_stage(new.head.box_id.uuid(), Kind::Rewrite);
                stage.rest.push("rewrite_box", &rest::new_box(&new));
            }
            Write::SealBox { box_id } => {
                self.locks_boxes = true;
                let stage = self.box_stage(box_id.uuid(), Kind::Seal);
                stage.rest.push("seal_box", &rest::sealed_box(box_id.uuid()));
            }
            Write::CreateProject(project) => {
                self.alone = true;
                self.hold_project(With::None);
                self.stage(Row::Project, Kind::Create).rest.push("create_project", &rest::project(&project));
            }
            Write::UpdateProject(project) => {
                self.alone = true;
                self.hold_project(With::None);
                self.stage(Row::Project, Kind::Update).rest.push("update_project", &rest::project(&project));
            }
            Write::CreateToken(token) => {
                let stage = self.stage(Row::Token(token.id.uuid()), Kind::Create);
                stage.rest.push("create_token", &rest::token(&token));
            }
            Write::RevokeToken { token_id, at } => {
                let row = json!({ "token_id": token_id.uuid().to_string(), "at": at.micros() });
                self.stage(Row::Token(token_id.uuid()), Kind::Revoke).rest.push("revoke_token", &row);
            }
            Write::RememberAnswer(answer) => self.last().rest.push("remember_answer", &rest::answer(&answer)),
            Write::SealAudit { seq, head } => {
                self.alone = true;
                self.seals.push(Seal { seq, head });
            }
            Write::CreateHead(head) => self.turns.heads.push(HeadWrite::Create(head)),
            Write::MoveHead { guard, to, queued, is_copied } => {
                self.turns.heads.push(HeadWrite::Move { guard, to, queued, is_copied });
            }
            Write::NudgeHead { guard, nudge } => self.turns.heads.push(HeadWrite::Nudge { guard, nudge }),
            Write::Enqueue(item) => {
                self.make(&Changed::Inbox(item.id), Conflict::Inbox);
                self.turns.enqueued.push(*item);
            }
            Write::UpdateInbox { from, item } => {
                self.changed.insert(Changed::Inbox(item.id));
                self.turns.inbox_updates.push(InboxUpdate { from, item });
            }
            Write::AddEdge(edge) => self.turns.edges.push(*edge),
            Write::CreateStep(step) => {
                self.make(&Changed::Step(step.id.clone()), Conflict::Step);
                self.turns.steps.push(*step);
            }
            Write::UpdateStep(step) => {
                self.changed.insert(Changed::Step(step.id.clone()));
                self.turns.step_updates.push(*step);
            }
            Write::OpenCall(call) => {
                self.make(&Changed::Call(call.turn_id, call.tool_call_id.clone()), Conflict::Call);
                self.first.rest.push("open_call", &rest::call(&call));
            }
            Write::UpdateCall(call) => {
                self.changed.insert(Changed::Call(call.turn_id, call.tool_call_id.clone()));
                self.first.rest.push("update_call", &rest::call(&call));
            }
            Write::PutProfile { was, profile } => {
                self.first.rest.push("put_profile", &rest::profile(was, &profile));
            }
            Write::PutResource { was, resource } => {
                self.first.rest.push("put_resource", &rest::resource(was, &resource));
            }
            Write::PutAgent { was: None, agent } => {
                self.make(&Changed::Agent(agent.id.clone()), Conflict::Roster);
                self.turns.new_agents.push(*agent);
            }
            Write::PutAgent { was: Some(was), agent } => {
                self.changed.insert(Changed::Agent(agent.id.clone()));
                self.first.rest.push("put_agent", &rest::agent(was, &agent));
            }
            Write::AddIdentityEdge(edge) => self.turns.identity_edges.push(*edge),
            Write::CreateBatch(batch) => {
                let made = self.pmo.create_batch(*batch);
                self.note(made);
            }
            Write::BeginClose { batch_id, reason } => {
                let changed = self.pmo.begin_close(batch_id, reason);
                self.note(changed);
            }
            Write::CloseBatch(batch) => {
                let changed = self.pmo.close_batch(&batch);
                self.note(changed);
            }
            Write::AddBranch(branch) => self.pmo.add_branch(branch),
            Write::MoveBranch { from, branch } => self.pmo.move_branch(from, branch),
            Write::EndBranch(end) => self.pmo.end_branch(end),
            Write::AddSweep(sweep) => self.pmo.sweep(sweep, true),
            Write::EndSweep(sweep) => self.pmo.sweep(sweep, false),
            Write::AddGrant(grant) => self.pmo.grant(*grant),
            Write::Spend { root, turns, limit } => self.pmo.spend(root, turns, limit),
            Write::PutSession { was, session } => {
                let put = self.sessions.put(was, *session);
                self.note(put);
            }
            Write::PutPassage(passage) => self.passages.push(PassageWrite::Put(passage)),
            Write::DropPassages { shelf, source } => {
                self.passages.push(PassageWrite::Drop { shelf, source });
            }
        }
    }

    /// Notes that the project's row is held: what is stricter counts.
    fn hold_project(&mut self, with: With) {
        self.project = Some(self.project.map_or(with, |held| held.min(with)));
    }

    /// Notes when the commit contradicts itself.
    fn note(&mut self, outcome: Result<(), Conflict>) {
        if let Err(conflict) = outcome {
            self.contradiction.get_or_insert(conflict);
        }
    }

    /// Notes when a row is made that was changed before.
    fn make(&mut self, row: &Changed, conflict: Conflict) {
        if self.changed.contains(row) {
            self.contradiction.get_or_insert(conflict);
        }
    }

    /// After the writes: an expectation about a box that is appended to first is checked by the append itself.
    pub(super) fn expect(&mut self, expect: Expect) {
        match expect {
            Expect::OpenBox { box_id, generation, min_len, max_len } => {
                let (box_id, generation) = (box_id.uuid(), generation.get());
                let same = |append: &&mut Append| append.generation == generation;
                if let Some(append) = self.first.append_to(box_id).filter(same) {
                    append.min_len = append.min_len.max(min_len);
                    append.max_len = append.max_len.min(max_len);
                    return;
                }
                self.boxes.push(box_id);
                self.beyond_appends = true;
                self.locks_boxes = true;
                let row = json!({
                    "box_id": box_id.to_string(), "generation": generation, "min_len": min_len, "max_len": max_len,
                });
                self.first.rest.push("open_box", &row);
            }
            Expect::ProjectAt(revision) => {
                self.hold_project(With::Any);
                self.first.rest.push("project_at", &json!(revision.get()));
            }
            Expect::ChainAt(head) => {
                self.alone = true;
                self.first.rest.push("chain_at", &rest::chain(&head));
            }
            Expect::OpenTurns { at_most } => {
                // Those that travel with it would not be counted.
                self.alone = true;
                self.hold_project(With::None);
                self.first.rest.push("open_turns", &json!(at_most));
            }
            Expect::OutputFree { box_id, agent_id } => {
                let box_id = box_id.uuid();
                self.boxes.push(box_id);
                // Whoever only adds to a box that is nobody's finds it so for the others that travel with it as well: none of
                // them gives it to anybody.
                self.beyond_appends |= agent_id.is_some() || self.first.append_to(box_id).is_none();
                self.locks_boxes = true;
                self.turns.outputs.push(Output { box_id, agent_id });
            }
        }
    }
}
