//! Whole runs, lists of cards and boxes, and where a card is used, on the wire (IN-13, IN-14).

use crate::{cards::CardOut, cost::SpentOut, list::list, turns::TurnStatus};
use cardwire_kernel::{CardBoxes, CardCalls, Outline, OutlinedTurn, RunView, SentCard};
use cardwire_model::{BatchId, BoxHead, Timestamp, TurnPayload};
use serde::Serialize;
use std::{collections::HashMap, hash::Hash};
use utoipa::ToSchema;

/// A turn that no other turn has sent, with sums over all turns below it.
#[derive(Debug, Serialize, ToSchema)]
pub struct RunOut {
    /// The root of the run.
    pub agent_turn_id: String,
    /// Whose turn it is.
    pub agent_id: String,
    /// The state of the root; the words are those of a turn.
    pub status: &'static str,
    /// The beginning of what was asked; null where nothing was, or the card is deleted.
    #[schema(required)]
    pub question: Option<String>,
    /// For people.
    #[schema(required)]
    pub display_name: Option<String>,
    /// The trace it belongs to.
    #[schema(required)]
    pub trace_id: Option<String>,
    /// When it was accepted.
    pub created_at: String,
    /// When the root ended.
    #[schema(required)]
    pub ended_at: Option<String>,
    /// When any turn of it was last seen at work.
    pub seen_at: String,
    /// How many turns it has.
    pub turns: usize,
    /// How many agents took part.
    pub agents: usize,
    /// What its calls of models have cost.
    pub spent: SpentOut,
    /// The sums go over a part of the run only.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

impl From<RunView> for RunOut {
    fn from(run: RunView) -> Self {
        let status = TurnStatus::of(&run.root).as_str();
        let item = run.root.item;
        let payload = TurnPayload::from_stored(&item.payload).ok();
        Self {
            agent_turn_id: item.turn_id.to_string(),
            agent_id: item.agent_id.to_string(),
            status,
            question: run.question,
            display_name: payload.and_then(|payload| payload.display_name),
            trace_id: item.trace_id,
            created_at: item.created_at.to_string(),
            ended_at: item.ended.map(|ended| ended.at.to_string()),
            seen_at: run.seen_at.to_string(),
            turns: run.turns,
            agents: run.agents,
            spent: run.spent.into(),
            cut: run.is_cut,
        }
    }
}

list! {
    /// A page of runs, newest first.
    RunList of RunOut
}

/// A turn and all turns below it, column by column: the values at one place of all columns are one turn. The root is first,
/// and each turn stands behind the one that sent it.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct OutlineOut {
    /// When the root was accepted. Times below are microseconds after it.
    pub origin: String,
    /// The trace of the run.
    #[schema(required)]
    pub trace_id: Option<String>,
    /// There are more turns or steps than one answer may have.
    pub cut: bool,
    /// The agents that took part; columns refer to them by place.
    pub agents: Vec<String>,
    /// The batches that were forked; columns refer to them by place.
    pub batches: Vec<String>,
    /// The ids of the turns.
    pub agent_turn_id: Vec<String>,
    /// The place of the turn that sent each.
    pub parent: Vec<Option<usize>>,
    /// The tool call that sent each.
    pub parent_tool_call_id: Vec<Option<String>>,
    /// Whose turn it is: a place of `agents`.
    pub agent: Vec<usize>,
    /// Which batch it is a branch of: a place of `batches`.
    pub batch: Vec<Option<usize>>,
    /// Which branch of that batch.
    pub task_index: Vec<Option<u32>>,
    /// What it is doing, or how it ended: the words of a turn.
    pub status: Vec<&'static str>,
    /// Its epoch; null before it is leased.
    pub turn_epoch: Vec<Option<u64>>,
    /// When it was accepted.
    pub queued_us: Vec<i64>,
    /// When it was leased: known while it is live.
    pub leased_us: Vec<Option<i64>>,
    /// When a worker first worked on it.
    pub started_us: Vec<Option<i64>>,
    /// When it ended.
    pub ended_us: Vec<Option<i64>>,
    /// Calls of models that were answered.
    pub calls: Vec<u64>,
    /// Tokens sent.
    pub input_tokens: Vec<i64>,
    /// Tokens answered.
    pub output_tokens: Vec<u64>,
    /// Millionths of a dollar; null where no price is known.
    pub cost_micros: Vec<Option<u64>>,
    /// The code of the error that ended it.
    pub error_code: Vec<Option<String>>,
    /// What all turns have cost.
    pub spent: SpentOut,
    /// The calls of models, oldest first.
    pub model_calls: Vec<OutlinedCallOut>,
}

/// A call of a model in an outline.
#[derive(Debug, Serialize, ToSchema)]
pub struct OutlinedCallOut {
    /// Which turn made it: a place of the columns.
    pub turn: usize,
    /// Its id.
    pub call_id: String,
    /// The step that made it.
    pub step_id: String,
    /// When it was composed.
    pub began_us: i64,
    /// When its step last changed: when it was answered, once it was.
    pub ended_us: i64,
    /// What it has cost; null before it was answered.
    #[schema(required)]
    pub spent: Option<SpentOut>,
}

/// Gives each of some names a place.
struct Places<T>(HashMap<T, usize>, Vec<String>);

impl<T: Eq + Hash + ToString> Places<T> {
    fn new() -> Self {
        Self(HashMap::new(), vec![])
    }

    fn of(&mut self, name: T) -> usize {
        let text = name.to_string();
        let Self(places, names) = self;
        *places.entry(name).or_insert_with(|| {
            names.push(text);
            names.len() - 1
        })
    }
}

impl From<&Outline> for OutlineOut {
    fn from(outline: &Outline) -> Self {
        let Some(root) = outline.turns.first() else { return Self::default() };
        let origin = root.turn.item.created_at;
        let since = |at: Timestamp| at.micros() - origin.micros();
        let (mut agents, mut batches) = (Places::new(), Places::<BatchId>::new());
        let mut out = Self {
            origin: origin.to_string(),
            trace_id: root.turn.item.trace_id.clone(),
            cut: outline.is_cut,
            spent: outline.spent().into(),
            ..Self::default()
        };
        for (place, turn) in outline.turns.iter().enumerate() {
            let OutlinedTurn { turn: viewed, parent, spent, .. } = turn;
            let item = &viewed.item;
            let live = viewed.head.as_ref().and_then(|head| head.live.as_ref());
            out.agent_turn_id.push(item.turn_id.to_string());
            out.parent.push(*parent);
            out.parent_tool_call_id.push(item.parent_call.clone());
            out.agent.push(agents.of(item.agent_id.clone()));
            out.batch.push(item.branch.map(|branch| batches.of(branch.batch_id)));
            out.task_index.push(item.branch.map(|branch| branch.index));
            out.status.push(TurnStatus::of(viewed).as_str());
            out.turn_epoch.push(item.epoch.map(|epoch| epoch.get()));
            out.queued_us.push(since(item.created_at));
            out.leased_us.push(live.map(|live| since(live.dispatched_at)));
            out.started_us.push(turn.started_at().map(since));
            out.ended_us.push(item.ended.as_ref().map(|ended| since(ended.at)));
            out.calls.push(spent.calls);
            out.input_tokens.push(spent.input_tokens);
            out.output_tokens.push(spent.output_tokens);
            out.cost_micros.push(spent.known_cost());
            out.error_code.push(item.ended.as_ref().and_then(|ended| ended.error_code.clone()));
            let call = |(call_id, step): (cardwire_model::CardId, &cardwire_model::Step)| OutlinedCallOut {
                turn: place,
                call_id: call_id.to_string(),
                step_id: step.id.to_string(),
                began_us: since(step.created_at),
                ended_us: since(step.updated_at),
                spent: OutlinedTurn::spent_by(step).map(SpentOut::from),
            };
            out.model_calls.extend(turn.calls().map(call));
        }
        out.model_calls.sort_by_key(|call| call.began_us);
        (out.agents, out.batches) = (agents.1, batches.1);
        out
    }
}

/// A code that signs a browser in to the inspector (IN-04).
#[derive(Debug, Serialize, ToSchema)]
pub struct InspectorCodeOut {
    /// Where a browser goes with it, below the server's address. The code stands behind the `#`, which no browser sends.
    pub path: String,
    /// How long it is good.
    pub expires_in_seconds: u64,
}

/// A box of a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct BoxHeadOut {
    /// Its id.
    pub box_id: String,
    /// How many cards it has.
    pub len: u32,
    /// Rises with every rewrite.
    pub generation: u32,
    /// Takes no more changes.
    pub sealed: bool,
    /// When it was made.
    pub created_at: String,
}

impl From<&BoxHead> for BoxHeadOut {
    fn from(head: &BoxHead) -> Self {
        Self {
            box_id: head.box_id.to_string(),
            len: head.len,
            generation: head.generation.get(),
            sealed: head.sealed,
            created_at: head.created_at.to_string(),
        }
    }
}

list! {
    /// A page of boxes, newest first.
    BoxList of BoxHeadOut
}

/// A page of cards, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct CardList {
    /// The cards, deleted and expired ones too.
    pub items: Vec<CardOut>,
    /// Give it as `cursor` to go on. A search looks at 10,000 cards at a time, so that a page may be short, or empty, and not
    /// the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// What cannot be read, or is not what was written; absent when there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub damaged_ids: Vec<String>,
}

/// A box that holds a card.
#[derive(Debug, Serialize, ToSchema)]
pub struct HolderOut {
    /// The box.
    pub box_id: String,
    /// The generation of it that holds the card.
    pub generation: u32,
    /// The box that it inherits the card from; absent where the card is an entry of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via_box_id: Option<String>,
}

/// The boxes that hold a card, by id.
#[derive(Debug, Serialize, ToSchema)]
pub struct HolderList {
    /// All of them, unless `cut` says otherwise.
    pub items: Vec<HolderOut>,
    /// Not all boxes were looked at.
    pub cut: bool,
}

impl From<CardBoxes> for HolderList {
    fn from(found: CardBoxes) -> Self {
        let holder = |holder: &cardwire_kernel::Holder| HolderOut {
            box_id: holder.box_id.to_string(),
            generation: holder.generation.get(),
            via_box_id: holder.via.map(|via| via.to_string()),
        };
        Self { items: found.holders.iter().map(holder).collect(), cut: found.is_cut }
    }
}

/// A call that sent a card to a model.
#[derive(Debug, Serialize, ToSchema)]
pub struct SentCardOut {
    /// The call.
    pub call_id: String,
    /// The step that made it.
    pub step_id: String,
    /// In which turn.
    pub agent_turn_id: String,
    /// By which agent.
    pub agent_id: String,
    /// Of which layer the card was.
    pub layer: &'static str,
    /// Why it was there.
    pub reason: &'static str,
    /// Tokens of the whole request.
    pub total_tokens: u32,
    /// What the whole call has cost; null before it was answered.
    #[schema(required)]
    pub spent: Option<SpentOut>,
    /// When it was composed.
    pub created_at: String,
}

impl From<SentCard> for SentCardOut {
    fn from(sent: SentCard) -> Self {
        Self {
            call_id: sent.call_id.to_string(),
            step_id: sent.step.id.to_string(),
            agent_turn_id: sent.step.turn_id.to_string(),
            agent_id: sent.step.agent_id.to_string(),
            layer: sent.layer.as_str(),
            reason: sent.cause.as_str(),
            total_tokens: sent.total_tokens,
            spent: sent.spent.map(SpentOut::from),
            created_at: sent.step.created_at.to_string(),
        }
    }
}

/// The calls that sent a card, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct SentCardList {
    /// The calls.
    pub items: Vec<SentCardOut>,
    /// Give it as `cursor` to go on. 1,000 calls are looked at at a time, so that a page may be short, or empty, and not the
    /// last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

impl SentCardList {
    /// The calls that were found, with the cursor to go on from.
    pub fn new(found: CardCalls, cursor: impl FnOnce((Timestamp, cardwire_model::StepId)) -> String) -> Self {
        let items = found.calls.into_iter().map(SentCardOut::from).collect();
        Self { items, next_cursor: found.last.map(cursor) }
    }
}
