//! A new turn from a prefix of an old one's boxes, with one thing changed (RP-06, IN-15). CLI, API and inspector ask for it here.
//!
//! Invariant: nothing is written before everything that is asked for was found; the original is never changed.

mod memory;

use crate::{Caller, Done, Kernel, KernelError, NewCard, Remember};
use cardwire_model::{
    AgentId, BoxId, CanonicalJson, CardDraft, CardId, Channel, InboxItem, Invalid, Layer, Origin, ProjectId,
    Step, StepId, Timestamp, TurnId, TurnPayload, limits,
};
use cardwire_protocol::{
    Rejection,
    facts::{create_box::Created, distinct, put_card::Put},
    roster::add_agent::AddAgent,
    session,
    turn::{
        dispatch::{Dispatch, Dispatched},
        forked::{self, Prefix},
    },
};
use cardwire_store::RowFilter;
use serde_json::{Value, json};

/// Which call of a turn is made anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForkAt {
    /// The one of this number, from 1.
    Call(usize),
    /// The one that this step made.
    Step(StepId),
}

/// A card, and the one that takes its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Swap {
    /// What the turn was given or has written.
    pub old: CardId,
    /// What the fork has instead.
    pub new: CardId,
}

/// Which fork of a turn is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkRequest {
    /// The turn to go on from.
    pub turn: TurnId,
    /// From which of its calls on.
    pub at: ForkAt,
    /// Layers that are left out.
    pub without: Vec<Layer>,
    /// Cards that are others.
    pub swaps: Vec<Swap>,
    /// The model that is asked instead.
    pub model: Option<String>,
    /// The instruction that is given instead.
    pub instruction: Option<String>,
}

/// What a fork will be made of. Everything in it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkPlan {
    /// The turn it goes on from.
    pub original: TurnId,
    /// The number of the call that is made anew.
    pub at: usize,
    /// What the fork has written before it begins.
    pub written: Vec<CardId>,
    /// `written` begins the original's output box, with no card swapped.
    is_prefix: bool,
    /// What the fork is given, without its instruction; none when it is given the original's box.
    given: Option<Vec<CardId>>,
    /// The card of the old instruction, where the fork keeps it in a box of its own.
    asked: Option<CardId>,
    instruction: Option<String>,
    /// Layers to leave out that the original's call did not have: the fork is no other for that.
    pub absent: Vec<Layer>,
    agent: AgentId,
    payload: TurnPayload,
    settings: CanonicalJson,
}

impl Kernel {
    /// Finds everything that a fork needs. Writes nothing.
    pub async fn plan_fork(
        &self,
        project: &ProjectId,
        wanted: &ForkRequest,
    ) -> Result<ForkPlan, KernelError> {
        let item = self.turn(project, wanted.turn).await?.item;
        let damaged = |_| Rejection::Conflict("the turn's row is damaged".to_owned());
        let payload = TurnPayload::from_stored(&item.payload).map_err(damaged)?;
        let (prefix, written, watermark) = self.prefix(project, &item, &payload, &wanted.at).await?;
        let given: Vec<_> = self.view_box(project, payload.context_box, None).await?.card_ids().collect();
        self.check_swaps(project, wanted, &[&given[..], &written[..]].concat(), prefix.at).await?;
        let call = self.call_made_anew(project, wanted.turn, &prefix).await?;
        let seen = self.seen_by_fork(project, wanted.turn, &payload.runtime_config, &prefix, call).await?;
        let absent = self.absent(project, call, &wanted.without).await?;
        let settings =
            settings(&payload.runtime_config, wanted, watermark, seen.map(|seen| seen.to_string()))?;
        let swapped = |ids: &[CardId]| -> Vec<CardId> {
            let swap =
                |id: &CardId| wanted.swaps.iter().find(|swap| swap.old == *id).map_or(*id, |swap| swap.new);
            ids.iter().map(swap).collect()
        };
        let (mut new_given, new_written) = (swapped(&given), swapped(&written));
        let mut asked = None;
        let is_same = new_given == given && wanted.instruction.is_none();
        if !is_same {
            // A box that is written out does not tell what the original inherited: what is asked stands last.
            let old = self.instruction(project, payload.context_box).await?.map(|card| card.id);
            let place = given.iter().position(|id| Some(*id) == old);
            asked = place.map(|place| new_given.remove(place)).filter(|_| wanted.instruction.is_none());
            new_given.retain(|id| Some(*id) != asked);
        }
        Ok(ForkPlan {
            original: wanted.turn,
            at: prefix.at,
            is_prefix: new_written == written,
            written: new_written,
            given: (!is_same).then_some(new_given),
            asked,
            instruction: wanted.instruction.clone(),
            absent,
            agent: item.agent_id,
            payload,
            settings,
        })
    }

    /// Dispatches a fork to an agent of its own.
    pub async fn fork_turn(
        &self,
        project: &ProjectId,
        caller: &Caller,
        plan: &ForkPlan,
        trace_id: &str,
        remember: Option<&Remember<Dispatched>>,
    ) -> Result<Done<Dispatched>, KernelError> {
        let max_depth = self.live_project(project).await?.settings.recursion_depth();
        let profile_name = self.agent(project, &plan.agent).await?.profile_name;
        let context_box = self.context_of_fork(project, caller, plan).await?;
        let output_box = self.output_of_fork(project, caller, plan).await?;
        let end: String = output_box.to_string().chars().rev().take(12).collect();
        let agent = AddAgent {
            id: format!("fork_{end}").parse()?,
            display_name: Some(format!("fork of {profile_name}")),
            profile_name,
            tags: None,
            metadata: CanonicalJson::empty_object(),
            refresh: false,
            trace_id: Some(trace_id.to_owned()),
        };
        self.add_agent(project, caller, &agent, None).await?;
        let command = Dispatch {
            agent_id: Some(agent.id),
            profile_box: Some(plan.payload.profile_box),
            context_box: Some(context_box),
            output_box: Some(output_box),
            turn_id: None,
            correlation_id: None,
            channel: Channel::public(),
            trace_id: trace_id.to_owned(),
            parent_turn: None,
            parent_call: None,
            parent_step: None,
            branch: None,
            source_agent: None,
            display_name: Some(format!("fork of {}", plan.original)),
            runtime_config: plan.settings.clone(),
            queue_if_busy: true,
            emit_state_event: true,
            max_depth,
        };
        self.dispatch(project, caller, &command, remember).await
    }

    /// What was before the call that is made anew: where it ends, the cards themselves, and how many are older than the turn.
    async fn prefix(
        &self,
        project: &ProjectId,
        item: &InboxItem,
        payload: &TurnPayload,
        at: &ForkAt,
    ) -> Result<(Prefix, Vec<CardId>, usize), KernelError> {
        let head = self.turn(project, item.turn_id).await?.head;
        let leased = match (&item.ended, head.as_ref().and_then(|head| head.live.as_ref())) {
            (Some(ended), _) => Some(ended.output.0),
            (None, live) => live.filter(|live| live.turn_id == item.turn_id).map(|live| live.watermark),
        };
        let mut ids: Vec<_> = self.view_box(project, payload.output_box, None).await?.card_ids().collect();
        // What a later turn wrote to the same box is no part of this one.
        ids.truncate(item.ended.as_ref().map_or(ids.len(), |ended| ended.output.1 as usize));
        // A turn that was never leased has written nothing: all there is was there before it.
        let leased = leased.map_or(ids.len(), |leased| leased as usize).min(ids.len());
        let own = ids.get(leased..).unwrap_or_default();
        let cards = self.get_cards(project, own, true).await?;
        let place = |id: CardId| own.iter().position(|own| *own == id).map(|place| leased + place);
        let mut own: Vec<_> =
            cards.iter().filter_map(|card| Some((place(card.id)?, card.as_ref()))).collect();
        own.sort_by_key(|(place, _)| *place);
        let at = match at {
            ForkAt::Call(number) => *number,
            ForkAt::Step(step) => {
                let thoughts = own.iter().filter(|(_, card)| card.kind.as_str() == "agent.thought");
                let said = thoughts.map(|(_, card)| card.created_at);
                forked::number_of(self.called_at(project, item.turn_id, step).await?, said)
            }
        };
        let prefix = forked::prefix(&own, ids.len(), item.ended.as_ref().map(|ended| ended.at), at)?;
        let leased = u32::try_from(leased).unwrap_or(u32::MAX);
        let older = forked::watermark(&payload.runtime_config, leased) as usize;
        ids.truncate(prefix.len);
        Ok((prefix, ids, older.min(prefix.len)))
    }

    /// When a step of the turn called a model.
    async fn called_at(
        &self,
        project: &ProjectId,
        turn: TurnId,
        id: &StepId,
    ) -> Result<Timestamp, KernelError> {
        let missing = || Rejection::NotFound { what: "step", id: format!("{id} is not one of turn {turn}") };
        let is_it = |step: &Step| step.id == *id;
        let step = self.find_step(project, turn, is_it).await?.ok_or_else(missing)?;
        // A summary is asked for beside the calls that the turn goes on with.
        if step.call_id.is_none() || step.phase == "summary" {
            return Err(Invalid::field("at", format!("step {id} is no call of a model")).into());
        }
        Ok(step.created_at)
    }

    /// The newest step of a turn that fits.
    async fn find_step(
        &self,
        project: &ProjectId,
        turn: TurnId,
        fits: impl Fn(&Step) -> bool,
    ) -> Result<Option<Step>, KernelError> {
        let filter = RowFilter { turn_id: Some(turn), ..RowFilter::default() };
        let mut before = None;
        loop {
            let page = self.list_steps(project, &filter, before.as_ref(), limits::PAGE_MAX).await?;
            before = page.last().map(|step| (step.created_at, step.id.clone()));
            let is_last = page.len() < limits::PAGE_MAX;
            match page.into_iter().find(&fits) {
                None if !is_last => {}
                found => return Ok(found),
            }
        }
    }

    /// A swap that would change nothing is a mistake: what is taken away must be there, and what is put there too.
    async fn check_swaps(
        &self,
        project: &ProjectId,
        wanted: &ForkRequest,
        there: &[CardId],
        at: usize,
    ) -> Result<(), KernelError> {
        for (index, Swap { old, new: _ }) in wanted.swaps.iter().enumerate() {
            if wanted.swaps.iter().take(index).any(|before| before.old == *old) {
                return Err(Invalid::field("swaps", format!("takes card {old} away twice")).into());
            }
            if !there.contains(old) {
                let id = format!("{old} is not in what turn {} has before its call {at}", wanted.turn);
                return Err(Rejection::NotFound { what: "card", id }.into());
            }
        }
        let new = distinct(&wanted.swaps.iter().map(|swap| swap.new).collect::<Vec<_>>());
        let read = self.read_cards(project, &new, false).await?;
        match new.iter().find(|id| !read.cards.iter().any(|card| card.id == **id)) {
            Some(absent) => Err(Rejection::NotFound { what: "card", id: absent.to_string() }.into()),
            None => Ok(()),
        }
    }

    /// Which of the layers that are left out the call did not have.
    async fn absent(
        &self,
        project: &ProjectId,
        call: Option<CardId>,
        without: &[Layer],
    ) -> Result<Vec<Layer>, KernelError> {
        let (Some(call), false) = (call, without.is_empty()) else { return Ok(vec![]) };
        let entries = self.call(project, call).await?.entries;
        let is_absent = |layer: &&Layer| !entries.iter().any(|entry| entry.layer == **layer);
        Ok(without.iter().filter(is_absent).copied().collect())
    }

    async fn output_of_fork(
        &self,
        project: &ProjectId,
        caller: &Caller,
        plan: &ForkPlan,
    ) -> Result<BoxId, KernelError> {
        if !plan.is_prefix {
            return self.new_box(project, caller, &plan.written).await;
        }
        let upto = u32::try_from(plan.written.len()).unwrap_or(u32::MAX);
        let forked = self.fork_box(project, caller, plan.payload.output_box, Some(upto), None).await?;
        Ok(forked.fresh().ok_or(KernelError::Contended)?.box_id)
    }

    async fn context_of_fork(
        &self,
        project: &ProjectId,
        caller: &Caller,
        plan: &ForkPlan,
    ) -> Result<BoxId, KernelError> {
        let Some(given) = &plan.given else { return Ok(plan.payload.context_box) };
        let asked = match &plan.instruction {
            Some(text) => {
                let draft = CardDraft {
                    content: CanonicalJson::from_value(&text.clone().into())?,
                    metadata: CanonicalJson::from_value(
                        &json!({ "type": "task.instruction", "role": "user" }),
                    )?,
                    tool_calls: None,
                    tool_call_id: None,
                    ttl_seconds: None,
                };
                let new = NewCard { id: None, draft, origin: Origin::Operator };
                match self
                    .put_card(project, caller, new, None)
                    .await?
                    .fresh()
                    .ok_or(KernelError::Contended)?
                {
                    Put::Created(card) => Some(card.id),
                    Put::Existing(id) => Some(id),
                }
            }
            None => plan.asked,
        };
        let mut wanted = given.clone();
        wanted.extend(asked);
        self.new_box(project, caller, &wanted).await
    }

    async fn new_box(
        &self,
        project: &ProjectId,
        caller: &Caller,
        cards: &[CardId],
    ) -> Result<BoxId, KernelError> {
        let made = self.create_box(project, caller, None, cards, None).await?;
        match made.fresh().ok_or(KernelError::Contended)? {
            Created::New(head) => Ok(head.box_id),
            Created::Existing(id) => Ok(id),
        }
    }
}

/// The settings of the original, with what makes the new turn a fork of it.
fn settings(
    original: &CanonicalJson,
    wanted: &ForkRequest,
    watermark: usize,
    seen: Option<String>,
) -> Result<CanonicalJson, Invalid> {
    let mut settings = original.to_value();
    if !settings.is_object() {
        settings = json!({});
    }
    settings["forked_from"] = wanted.turn.to_string().into();
    settings[forked::WATERMARK] = watermark.into();
    // What is only tried out is no part of a conversation.
    settings["remember"] = false.into();
    if let Some(seen) = seen {
        settings[session::turn::CHECKPOINT] = seen.into();
    }
    if !wanted.without.is_empty() {
        settings["without_layers"] = wanted.without.iter().map(|layer| Value::from(layer.as_str())).collect();
    }
    if let Some(model) = &wanted.model {
        settings["llm_config"] = json!({ "model": model });
    }
    CanonicalJson::from_value(&settings)
}
