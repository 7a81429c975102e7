//! Turns by the hundred thousand, written as rows.
//!
//! The kernel's verbs would take hours for a million turns: each dispatch, claim and end is a commit that waits for the disk,
//! with events, edges and audit rows that no page here reads. So the rows are handed to the store as they are, some thousand to a
//! commit; a store applies what it is given.

use std::sync::Arc;

use anyhow::anyhow;
use cardwire_model::{
    AgentId, BatchId, BoxId, BranchKey, CanonicalJson, CardId, Commit, Edge, EdgePhase, Ended, InboxId,
    InboxItem, InboxStatus, Primitive, ProjectId, Step, StepId, TaskStatus, Timestamp, TurnEpoch, TurnId,
    TurnPayload, Write,
};
use cardwire_store::Store;
use cardwire_testkit::fixtures::{
    BoxBuilder, CardBuilder, ProjectBuilder, SeededIds, agent_row, edge, step, turn_item,
};
use uuid::Uuid;

/// Writes that go into one commit.
const AT_ONCE: usize = 5_000;
const BEGAN: i64 = 1_700_000_000_000_000;
const MICROS: i64 = 1_000_000;

/// Runs of the project with a million turns.
const RUNS: usize = 100_000;
/// Turns of each.
const TURNS: usize = 10;
/// The same of the project with large runs.
const LARGE_RUNS: usize = 60;
const LARGE_TURNS: usize = 10_000;
/// Only the newest are looked at: these have something to be asked.
const ASKED: usize = 1_000;

/// Members below the root of the large run, and turns below each: 10,000 in all.
const MEMBERS: usize = 99;
const BELOW: usize = 100;
/// Agents that take those turns.
const AGENTS: usize = 1_000;

struct Rows {
    store: Arc<dyn Store>,
    project: ProjectId,
    ids: SeededIds,
    writes: Vec<Write>,
    usage: CanonicalJson,
    made: u128,
}

/// Where a turn stands.
#[derive(Clone, Copy)]
struct Below {
    turn: TurnId,
    branch: BranchKey,
    depth: u32,
}

impl Rows {
    async fn begin(store: Arc<dyn Store>, name: &str) -> anyhow::Result<Self> {
        let project: ProjectId = name.parse()?;
        let usage =
            r#"{"cost_micros":1200,"usage":{"cached_tokens":900,"input_tokens":1800,"output_tokens":140}}"#;
        let mut rows = Self {
            store,
            project: project.clone(),
            ids: SeededIds::new(7),
            writes: vec![],
            usage: CanonicalJson::parse(usage, "usage")?,
            made: 0,
        };
        rows.add(Write::CreateProject(ProjectBuilder::new(project).build())).await?;
        Ok(rows)
    }

    async fn add(&mut self, write: Write) -> anyhow::Result<()> {
        self.writes.push(write);
        if self.writes.len() >= AT_ONCE { self.flush().await } else { Ok(()) }
    }

    async fn flush(&mut self) -> anyhow::Result<()> {
        let mut commit = Commit::new(self.project.clone());
        commit.writes = std::mem::take(&mut self.writes);
        Ok(self.store.commit(commit).await?)
    }

    /// An id above all before it: lists go by it.
    fn next(&mut self) -> Uuid {
        self.made += 1;
        Uuid::from_u128(self.made << 32 | 1)
    }

    /// A box with what somebody asks.
    async fn question(&mut self, text: &str, at: Timestamp) -> anyhow::Result<BoxId> {
        let (card, box_id) = (self.ids.card(), self.ids.card_box());
        self.add(Write::PutCard(Box::new(CardBuilder::text(text).at(at).build(card)))).await?;
        self.add(Write::CreateBox(BoxBuilder::new(box_id).at(at).cards(&[card]).build())).await?;
        Ok(box_id)
    }

    /// A turn that was answered by a model `calls` times, and ended.
    async fn turn(
        &mut self,
        agent: &AgentId,
        context: Option<BoxId>,
        below: Option<Below>,
        (from, to): (i64, i64),
        calls: usize,
    ) -> anyhow::Result<TurnId> {
        let output = self.ids.card_box();
        let at = |micros: i64| Timestamp::from_micros(BEGAN + micros);
        let mut item = turn_item(&mut self.ids, agent.as_str(), output);
        (item.id, item.turn_id) = (InboxId::from_uuid(self.next()), TurnId::from_uuid(self.next()));
        item.correlation_id = item.turn_id.to_string();
        if let Some(context_box) = context {
            let payload = TurnPayload::from_stored(&item.payload)
                .map_err(|fault| anyhow!("a payload of our own: {fault:?}"))?;
            item.payload = TurnPayload { context_box, ..payload }.to_stored();
        }
        if let Some(Below { turn, branch, depth }) = below {
            (item.parent_turn, item.branch, item.depth) = (Some(turn), Some(branch), Some(depth));
        }
        let item = InboxItem {
            status: InboxStatus::Consumed,
            epoch: Some(TurnEpoch::new(1)),
            created_at: at(from),
            processed_at: Some(at(from + 1_000)),
            worker_id: Some("worker-1".to_owned()),
            ended: Some(Ended {
                status: TaskStatus::Success,
                deliverable: self.ids.card(),
                error: None,
                error_code: None,
                output: (0, 2),
                at: at(to),
            }),
            ..item
        };
        let part = (to - from) / (calls.max(1) as i64 + 1);
        for number in 0..calls as i64 {
            let begun = from + 2_000 + number * part;
            let step = Step {
                id: format!("step_{:032x}", self.next().as_u128()).parse::<StepId>()?,
                phase: "think".to_owned(),
                status: Some("ok".to_owned()),
                call_id: Some(CardId::from_uuid(self.next()).to_string()),
                metadata: self.usage.clone(),
                created_at: at(begun),
                updated_at: at(begun + part / 2),
                ..step("step_x", &item)
            };
            self.add(Write::CreateStep(Box::new(step))).await?;
        }
        let turn = item.turn_id;
        // What leads from a turn to those that it has sent.
        let edge = Edge {
            source_turn: item.parent_turn,
            target_agent: Some(agent.clone()),
            target_turn: Some(turn),
            inbox_id: Some(item.id),
            created_at: item.created_at,
            ..edge(&mut self.ids, Primitive::Enqueue, EdgePhase::Request, &item.correlation_id)
        };
        self.add(Write::Enqueue(Box::new(item))).await?;
        self.add(Write::AddEdge(Box::new(edge))).await?;
        Ok(turn)
    }
}

/// A project with a million turns in runs of ten. Answers where its runs are listed.
pub(super) async fn many(store: Arc<dyn Store>) -> anyhow::Result<String> {
    Rows::begin(store, "many").await?.runs(RUNS, TURNS).await
}

/// A project whose runs have 10,000 turns each. Answers where they are listed.
pub(super) async fn large(store: Arc<dyn Store>) -> anyhow::Result<String> {
    Rows::begin(store, "large").await?.runs(LARGE_RUNS, LARGE_TURNS).await
}

impl Rows {
    /// Runs one after the other, each a root with branches. Answers where they are listed.
    async fn runs(mut self, runs: usize, turns: usize) -> anyhow::Result<String> {
        let agents: Vec<AgentId> =
            (0..50).map(|number| format!("agent-{number}").parse()).collect::<Result<_, _>>()?;
        for run in 0..runs {
            let from = run as i64 * MICROS;
            let asked = match runs - run <= ASKED {
                true => {
                    let text = format!("Which of the boats that left before storm {run} are still out?");
                    Some(self.question(&text, Timestamp::from_micros(BEGAN + from)).await?)
                }
                false => None,
            };
            let root = self.turn(&agents[run % 50], asked, None, (from, from + MICROS), 1).await?;
            let batch_id = self.ids.batch();
            for index in 1..turns {
                let below = Below { turn: root, branch: branch(batch_id, index - 1), depth: 1 };
                let agent = &agents[(run + index) % 50];
                self.turn(agent, None, Some(below), (from + 1_000, from + 900_000), 1).await?;
            }
        }
        self.flush().await?;
        Ok(format!("/inspect/p/{}", self.project))
    }
}

/// A run of 10,000 turns by 1,000 agents. Answers where its page is.
pub(super) async fn tree(store: Arc<dyn Store>) -> anyhow::Result<String> {
    let mut rows = Rows::begin(store, "tree").await?;
    let mut agents = vec![];
    for number in 0..AGENTS {
        let agent = agent_row(&mut rows.ids, &format!("searcher-{number}"));
        agents.push(agent.id.clone());
        rows.add(Write::PutAgent { was: None, agent: Box::new(agent) }).await?;
    }
    let asked = rows.question("Which of the boats are still out?", Timestamp::from_micros(BEGAN)).await?;
    // The page shows its first turn below the root with the call it made, which would have to be there.
    let root = rows.turn(&agents[0], Some(asked), None, (0, 900 * MICROS), 0).await?;
    let batch_id = rows.ids.batch();
    for member in 0..MEMBERS {
        let from = member as i64 * MICROS;
        let below = Below { turn: root, branch: branch(batch_id, member), depth: 1 };
        let calls = if member == 0 { 0 } else { 2 };
        let turn =
            rows.turn(&agents[member + 1], None, Some(below), (from, from + 700 * MICROS), calls).await?;
        let batch_id = rows.ids.batch();
        for leaf in 0..BELOW {
            let from = from + leaf as i64 * 5 * MICROS;
            let below = Below { turn, branch: branch(batch_id, leaf), depth: 2 };
            let agent = &agents[(member * BELOW + leaf) % AGENTS];
            rows.turn(agent, None, Some(below), (from, from + 4 * MICROS), 1).await?;
        }
    }
    rows.flush().await?;
    Ok(format!("/inspect/p/tree/runs/{root}"))
}

const fn branch(batch_id: BatchId, index: usize) -> BranchKey {
    BranchKey { batch_id, index: index as u32 }
}
