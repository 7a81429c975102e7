//! A commit in the shape of its statement: rows grouped by kind, because a kind is written with one statement.
//!
//! Invariant: rows of a kind stay in the order of their writes; see [`Stages`] for the order between kinds.

use super::{
    passages::PassageWrite,
    pmo::PmoWrites,
    rest::Rest,
    row::{Append, HeadWrite, InboxUpdate, Output, Seal},
    sessions::SessionWrites,
    stages::Stages,
};
use cardwire_model::{
    Agent, AgentId, BatchId, BranchKey, Card, Commit, Conflict, Edge, Hash256, IdentityEdge, InboxItem,
    NewAudit, NewBox, NewEvent, Realm, SessionKey, Step,
};
use uuid::Uuid;

/// One commit, ready to be sent.
#[derive(Debug)]
pub(super) struct Payload {
    pub(super) realm: Realm,
    pub(super) cards: Vec<Card>,
    pub(super) new_boxes: Vec<NewBox>,
    pub(super) appends: Vec<Append>,
    pub(super) turns: TurnWrites,
    pub(super) pmo: PmoWrites,
    pub(super) sessions: SessionWrites,
    /// In the order of the commit.
    pub(super) passages: Vec<PassageWrite>,
    pub(super) seals: Vec<Seal>,
    pub(super) audit: Vec<NewAudit>,
    pub(super) events: Vec<NewEvent>,
    pub(super) rest: Rest,
    pub(super) then: Vec<Rest>,
    /// Boxes it touches and does not make, sorted.
    pub(super) boxes: Vec<Uuid>,
    /// Box heads are locked by another statement than the append, so all of them must be locked there, in one order.
    pub(super) locks_boxes: bool,
    /// What keeps it from travelling with others, or beside them.
    pub(super) rows: Vec<Touched>,
    /// It changes a row and makes it afterwards: if the row is there, the second cannot be, else the first.
    pub(super) contradiction: Option<Conflict>,
    /// It must travel alone: putting it together with another would change what it means.
    pub(super) alone: bool,
}

/// What a commit does to turns, by kind.
#[derive(Debug, Default)]
pub(super) struct TurnWrites {
    /// Boxes that must be free for an agent's output.
    pub(super) outputs: Vec<Output>,
    pub(super) heads: Vec<HeadWrite>,
    pub(super) enqueued: Vec<InboxItem>,
    pub(super) inbox_updates: Vec<InboxUpdate>,
    pub(super) edges: Vec<Edge>,
    pub(super) steps: Vec<Step>,
    pub(super) step_updates: Vec<Step>,
    /// New ones of the roster.
    pub(super) new_agents: Vec<Agent>,
    pub(super) identity_edges: Vec<IdentityEdge>,
}

/// A row over which commits meet: a box, the head of an agent, a batch, a branch of it, a session, or the project's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Touched {
    pub(super) row: Uuid,
    pub(super) with: With,
}

/// Which other commits may touch the row before this one is done, if they do the same as this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum With {
    None,
    /// Those in the same transaction, after it: cards are added to the end of a box, a branch goes on.
    SameTransaction,
    /// Those in other transactions as well: the server's lock is one that several may hold, on a batch whose branches
    /// are written.
    Any,
}

impl Touched {
    pub(super) fn card_box(row: Uuid, with: With) -> Self {
        Self { row, with }
    }

    /// An agent's head, by a value that no box has.
    pub(super) fn head(agent: &AgentId) -> Self {
        Self::named(&format!("agent/{agent}"))
    }

    /// A session, likewise.
    pub(super) fn session(key: &SessionKey) -> Self {
        Self::named(&format!("session/{key}"))
    }

    /// The row of the project.
    fn project(with: With) -> Self {
        Self { with, ..Self::named("project") }
    }

    fn named(name: &str) -> Self {
        let hash = Hash256::of(name.as_bytes());
        let mut half = [0; 16];
        half.copy_from_slice(&hash.as_bytes()[..16]);
        Self { row: Uuid::from_bytes(half), with: With::None }
    }

    /// A batch. No box has its id.
    pub(super) fn batch(id: BatchId, with: With) -> Self {
        Self { row: id.uuid(), with }
    }

    /// A branch, by a value that no box and no batch has: ids differ in more than their first 32 bits.
    pub(super) fn branch(key: BranchKey) -> Self {
        let place = !u128::from(key.index) << 96;
        Self { row: Uuid::from_u128(key.batch_id.uuid().as_u128() ^ place), with: With::SameTransaction }
    }
}

impl Payload {
    pub(super) fn new(commit: Commit) -> Self {
        let Commit { realm, expect, writes, events, audit, resumable: _ } = commit;
        let mut stages = Stages::default();
        writes.into_iter().for_each(|write| stages.write(write));
        expect.into_iter().for_each(|expect| stages.expect(expect));
        let Stages {
            cards,
            new_boxes,
            turns,
            pmo,
            sessions,
            passages,
            seals,
            contradiction,
            mut boxes,
            mut made_boxes,
            first,
            later,
            beyond_appends,
            locks_boxes,
            mut alone,
            project,
            ..
        } = stages;
        boxes.sort_unstable();
        boxes.dedup();
        let mut rows: Vec<_> = turns.heads.iter().map(|write| Touched::head(write.agent_id())).collect();
        rows.sort_unstable();
        rows.dedup();
        made_boxes.extend(&boxes);
        made_boxes.sort_unstable();
        made_boxes.dedup();
        let with = if beyond_appends { With::None } else { With::SameTransaction };
        rows.extend(made_boxes.into_iter().map(|box_id| Touched::card_box(box_id, with)));
        rows.extend(pmo.touched());
        rows.extend(sessions.touched());
        rows.extend(project.map(Touched::project));
        alone |= !later.is_empty();
        Self {
            realm,
            cards,
            new_boxes,
            appends: first.appends,
            turns,
            pmo,
            sessions,
            passages,
            seals,
            audit,
            events,
            rest: first.rest,
            then: later.into_iter().map(super::stages::Stage::into_rest).collect(),
            boxes,
            locks_boxes,
            rows,
            contradiction,
            alone,
        }
    }

    /// Whether there is nothing to check and nothing to write.
    pub(super) fn is_empty(&self) -> bool {
        self.cards.is_empty()
            && self.new_boxes.is_empty()
            && self.appends.is_empty()
            && self.turns.is_empty()
            && self.pmo.is_empty()
            && self.sessions.is_empty()
            && self.passages.is_empty()
            && self.seals.is_empty()
            && self.audit.is_empty()
            && self.events.is_empty()
            && self.rest.is_empty()
            && self.then.is_empty()
    }

    /// How many bytes it will be on the wire, about.
    pub(super) fn size(&self) -> usize {
        /// Names and times of an audit row.
        const AUDIT: usize = 200;
        /// Its place in the chain.
        const SEAL: usize = 100;
        let cards: usize = self.cards.iter().map(|card| card.size()).sum();
        let appends: usize = self.appends.iter().map(|append| append.cards.len() * 20).sum();
        let events: usize = self.events.iter().map(|event| event.data.as_bytes().len()).sum();
        let audit: usize = self.audit.iter().map(|audit| AUDIT + audit.detail.as_bytes().len()).sum();
        let log = audit + SEAL * self.seals.len() + events;
        let rest = self.rest.size() + self.then.iter().map(Rest::size).sum::<usize>();
        let boxes: usize = self.new_boxes.iter().map(|new| 100 * (1 + new.entries.len())).sum();
        let passages: usize = self.passages.iter().map(PassageWrite::size).sum();
        let context = self.sessions.size() + passages;
        cards + appends + boxes + self.turns.size() + self.pmo.size() + context + log + rest
    }
}

impl TurnWrites {
    fn is_empty(&self) -> bool {
        let Self { outputs, heads, enqueued, inbox_updates, edges, steps, step_updates, .. } = self;
        outputs.is_empty()
            && heads.is_empty()
            && enqueued.is_empty()
            && inbox_updates.is_empty()
            && edges.is_empty()
            && steps.is_empty()
            && step_updates.is_empty()
            && self.new_agents.is_empty()
            && self.identity_edges.is_empty()
    }

    fn size(&self) -> usize {
        /// Ids, names, times and counters of one row.
        const ROW: usize = 400;
        let items: usize = self.enqueued.iter().map(|item| ROW + item.payload.len()).sum();
        let steps = self.steps.iter().chain(&self.step_updates);
        let steps: usize = steps.map(|step| ROW + step.metadata.as_bytes().len()).sum();
        let agents: usize = self.new_agents.iter().map(|agent| agent.metadata.as_bytes().len()).sum();
        let roster = agents + ROW * (self.new_agents.len() + self.identity_edges.len());
        items + steps + roster + ROW * (self.heads.len() + self.inbox_updates.len() + self.edges.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cardwire_model::{
        BoxHead, BoxId, CardId, Expect, Generation, Head, NewBox, Nudge, Revision, Session, StepId,
        Timestamp, TurnEpoch, Write,
    };

    const BOX: BoxId = BoxId::from_uuid(Uuid::from_u128(7));

    fn new_box(generation: u32) -> NewBox {
        let head = BoxHead {
            box_id: BOX,
            generation: Generation::new(generation),
            len: 0,
            entries: 0,
            depth: 0,
            sealed: false,
            handover_hash: None,
            created_at: Timestamp::from_micros(0),
        };
        NewBox { head, entries: vec![] }
    }

    fn append(generation: u32) -> Write {
        let cards = vec![CardId::from_uuid(Uuid::from_u128(1))];
        Write::AppendCards { box_id: BOX, generation: Generation::new(generation), cards }
    }

    fn stages(writes: Vec<Write>) -> usize {
        let mut commit = Commit::new(Realm::System);
        commit.writes = writes;
        1 + Payload::new(commit).then.len()
    }

    #[test]
    fn writes_to_one_box_stay_in_their_order() {
        let seal = || Write::SealBox { box_id: BOX };
        for (expected, writes) in [
            (1, vec![append(1)]),
            (1, vec![append(1), append(1)]),
            (2, vec![append(1), append(2)]),
            (1, vec![append(1), Write::RewriteBox(new_box(2)), seal()]),
            (2, vec![Write::CreateBox(new_box(1)), append(1), seal()]),
            (2, vec![Write::RewriteBox(new_box(2)), append(2)]),
            (2, vec![seal(), append(1)]),
            (2, vec![seal(), seal()]),
            (3, vec![append(1), seal(), append(1), seal(), append(1)]),
        ] {
            assert_eq!(stages(writes.clone()), expected, "{writes:?}");
        }
    }

    #[test]
    fn an_expectation_about_an_appended_box_is_checked_by_the_append() {
        let expect = |generation, min_len, max_len| Expect::OpenBox {
            box_id: BOX,
            generation: Generation::new(generation),
            min_len,
            max_len,
        };
        let mut commit = Commit::new(Realm::System);
        commit.writes.push(append(1));
        commit.expect = vec![expect(1, 2, 9), expect(1, 0, 5)];
        let payload = Payload::new(commit.clone());
        assert_eq!((payload.appends[0].min_len, payload.appends[0].max_len), (2, 5));
        assert!(
            payload.rest.is_empty() && !payload.locks_boxes && payload.rows[0].with == With::SameTransaction
        );
        commit.expect.push(expect(2, 0, 9));
        let payload = Payload::new(commit.clone());
        assert!(payload.locks_boxes && payload.rows[0].with == With::None);
        commit.expect.clear();
        commit.writes.push(Write::SealBox { box_id: BOX });
        assert!(Payload::new(commit).rows[0].with == With::None);
    }

    /// CB-12, X-10: operators add to one box together, and a turn that comes to write it waits for them.
    #[test]
    fn cards_for_a_box_that_is_nobodys_travel_together() {
        let with = |agent: Option<&str>, writes: Vec<Write>| {
            let mut commit = Commit::new(Realm::System);
            commit.writes = writes;
            let agent_id = agent.map(|agent| agent.parse().unwrap());
            commit.expect.push(Expect::OutputFree { box_id: BOX, agent_id });
            let payload = Payload::new(commit);
            assert!(payload.locks_boxes && payload.boxes == [BOX.uuid()]);
            payload.rows[0].with
        };
        assert_eq!(with(None, vec![append(1)]), With::SameTransaction);
        assert_eq!(with(Some("a"), vec![append(1)]), With::None);
        assert_eq!(with(None, vec![]), With::None);
        assert_eq!(with(None, vec![append(1), Write::SealBox { box_id: BOX }]), With::None);
    }

    /// Whoever holds the project's row is not waited for on the server.
    #[test]
    fn a_project_whose_row_is_held_is_a_row_like_others() {
        let held = |expect: Option<Expect>, write: Option<Write>| {
            let mut commit = Commit::new(Realm::System);
            commit.expect.extend(expect);
            commit.writes.extend(write);
            Payload::new(commit).rows.iter().map(|touched| touched.with).collect::<Vec<_>>()
        };
        let delete = || {
            let card_id = CardId::from_uuid(Uuid::from_u128(1));
            Some(Write::DeleteCard { card_id, at: Timestamp::from_micros(0) })
        };
        let at = || Some(Expect::ProjectAt(Revision::FIRST));
        assert_eq!(held(Some(Expect::OpenTurns { at_most: 1 }), None), [With::None]);
        assert_eq!(held(at(), None), [With::Any]);
        assert_eq!(held(None, delete()), [With::SameTransaction]);
        assert_eq!(held(at(), delete()), [With::SameTransaction]);
        assert_eq!(held(None, Some(append(1))), [With::SameTransaction], "the box");
        assert_eq!(held(None, None), []);
    }

    fn head(agent: &str) -> Head {
        Head {
            agent_id: agent.parse().unwrap(),
            epoch: TurnEpoch::ZERO,
            live: None,
            last_output_box: None,
            queued: 0,
            updated_at: Timestamp::from_micros(0),
        }
    }

    fn nudge(agent: &str) -> Write {
        Write::NudgeHead { guard: head(agent).guard(), nudge: Nudge::default() }
    }

    #[test]
    fn writes_to_one_head_need_no_stages_and_are_never_shared() {
        let mut commit = Commit::new(Realm::System);
        let (guard, to) = (head("a").guard_move(), Box::new(head("a")));
        commit.writes = vec![
            Write::CreateHead(Box::new(head("a"))),
            nudge("b"),
            Write::MoveHead { guard, to, queued: 0, is_copied: true },
            nudge("a"),
            append(1),
        ];
        let payload = Payload::new(commit);
        assert_eq!((payload.turns.heads.len(), payload.then.len()), (4, 0));
        let with: Vec<_> = payload.rows.iter().map(|touched| touched.with).collect();
        assert_eq!(with, [With::None, With::None, With::SameTransaction], "two heads, one box");
        assert_eq!(payload.boxes, [BOX.uuid()]);
    }

    #[test]
    fn an_output_box_is_touched_by_one_commit_at_a_time() {
        let mut commit = Commit::new(Realm::System);
        commit.expect.push(Expect::OutputFree { box_id: BOX, agent_id: Some("a".parse().unwrap()) });
        let payload = Payload::new(commit);
        assert!(payload.locks_boxes && payload.rows[0].with == With::None && !payload.is_empty());
    }

    #[test]
    fn a_session_is_patched_by_one_commit_at_a_time() {
        let key = |name: &str| SessionKey { namespace: "n".parse().unwrap(), session: name.parse().unwrap() };
        let patch = |name| {
            let at = Timestamp::from_micros(0);
            let session = Session {
                key: key(name),
                version: Revision::new(2),
                checkpoint: CardId::from_uuid(Uuid::nil()),
                created_at: at,
                updated_at: at,
                deleted_at: None,
            };
            Write::PutSession { was: Some(Revision::FIRST), session: Box::new(session) }
        };
        let mut commit = Commit::new(Realm::System);
        commit.writes = vec![patch("a"), append(1), patch("b")];
        let payload = Payload::new(commit);
        assert!(!payload.is_empty() && payload.then.is_empty() && !payload.alone);
        let exclusive: Vec<_> = payload.rows.iter().filter(|touched| touched.with == With::None).collect();
        assert_eq!(exclusive, [&Touched::session(&key("a")), &Touched::session(&key("b"))]);
    }

    #[test]
    fn a_row_that_is_changed_before_it_is_made_is_a_contradiction() {
        let step = |id: &str| {
            Box::new(Step {
                id: id.parse::<StepId>().unwrap(),
                agent_id: "a".parse().unwrap(),
                turn_id: cardwire_model::TurnId::from_uuid(Uuid::nil()),
                epoch: TurnEpoch::ZERO,
                phase: String::new(),
                status: None,
                call_id: None,
                request_box: None,
                output_len: 0,
                trace_id: String::new(),
                metadata: cardwire_model::CanonicalJson::empty_object(),
                created_at: Timestamp::from_micros(0),
                updated_at: Timestamp::from_micros(0),
            })
        };
        let contradiction = |writes| {
            let mut commit = Commit::new(Realm::System);
            commit.writes = writes;
            Payload::new(commit).contradiction
        };
        let update = |id| Write::UpdateStep(step(id));
        let create = |id| Write::CreateStep(step(id));
        assert_eq!(contradiction(vec![update("x"), create("x")]), Some(Conflict::Step));
        assert_eq!(contradiction(vec![create("x"), update("x"), update("y"), create("z")]), None);
    }
}
