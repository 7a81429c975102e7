//! A turn of an agent with a model: compose, call, write what was said, carry out what was called, until it ends or waits.
//!
//! What the turn has written is the only state: after a crash or a pause the loop goes on from there, so that no answer of a
//! model that is stored is asked for again.

use crate::{
    apart::apart,
    card::{self, Answer},
    compact,
    desk::{Composed, Desk, Ending},
    mcp::{Mcp, Served},
    models::Models,
    profile::{Profile, RunLimits},
    profiles::Profiles,
    replies::replies,
    stream, telemetry,
    tools::{
        Bench, NOTICES, Outcome, approval,
        external::External,
        fields::Field,
        handover, missing,
        offer::{self, Offered, Tools},
        submit,
    },
    transcript::Transcript,
    trouble::Trouble,
};
use cardwire_llm::{ChatModel, ModelAnswer, ModelError, ModelInfo, ModelRequest, StopReason, ToolCall};
use cardwire_model::{
    BUILTIN_TOOLS, BuiltinTools, Invalid, Provider, built_in_tools,
    builtin_tools::{HANDOFF_WRITING, PMO_TOOLS},
    limits, model_params,
};
use serde::Serialize;
use serde_json::{Value, json};
use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

/// How a run of a turn came to rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// It has ended.
    Ended,
    /// It waits.
    Waits,
}

/// What turns of agents are run with.
#[derive(Debug)]
pub(crate) struct Shop {
    pub(crate) models: Models,
    pub(crate) profiles: Profiles,
    pub(crate) external: External,
    pub(crate) mcp: Mcp,
}

/// Runs a turn until it ends or waits.
pub(crate) async fn run(desk: &Desk, profile: &Profile, shop: &Shop) -> Result<Rest, Trouble> {
    let settings = &desk.lease.runtime_config;
    let made = |config| shop.models.get(&desk.lease.project_id, &merged(config, &settings["llm_config"]));
    let model = match profile.model().map(made) {
        Some(Ok(model)) => model,
        Some(Err(error)) => return desk.fail("model_config", &error.to_string()).await,
        None => {
            return desk
                .fail("model_config", "the agent's profile has no llm_config, so there is no model")
                .await;
        }
    };
    run_with(desk, profile, model, &shop.external, &shop.mcp, None).await
}

/// The same with a model that is given, and in a replay with what is on record instead of tools.
pub(crate) async fn run_with(
    desk: &Desk,
    profile: &Profile,
    model: Arc<dyn ChatModel>,
    external: &External,
    mcp: &Mcp,
    record: Option<&Transcript>,
) -> Result<Rest, Trouble> {
    let limits = RunLimits::of(&desk.lease.runtime_config);
    let asked = desk.result_fields().await?;
    // Most turns are asked for none.
    let read = if asked.is_null() { Ok(vec![]) } else { apart(move || Field::all(&asked)).await };
    let required: Arc<[Field]> = match read {
        Ok(required) => required.into(),
        Err(wrong) => return desk.fail("invalid_result_fields", &wrong).await,
    };
    let past = match desk.lease.setting("forked_from") {
        Some(turn) if record.is_none() => Some(past(desk, turn).await?),
        Some(_) | None => None,
    };
    let bench = Bench { desk, profile, limits, required: &required, external, mcp, record, past };
    Turn { bench, model, desk, compacted: AtomicBool::new(false), chunks: AtomicU64::new(0) }.go().await
}

/// A model's configuration with what a run says otherwise: which model of the provider, and how it is asked. Where requests
/// go, and with which key, is the profile's to say.
fn merged(config: &Value, other: &Value) -> Value {
    let mut config = config.clone();
    for name in ["model", "params"] {
        if let (Some(config), Some(value)) = (config.as_object_mut(), other.get(name)) {
            config.insert(name.to_owned(), value.clone());
        }
    }
    config
}

/// Everything that a turn has written.
async fn past(desk: &Desk, turn_id: &str) -> Result<Transcript, Trouble> {
    let turn = desk.get(&format!("/turns/{turn_id}")).await?;
    let cards = desk.all_cards(turn["output_box_id"].as_str().unwrap_or_default()).await?;
    Ok(Transcript::new(cards, turn_id))
}

/// What the composer is asked for.
#[derive(Debug, Serialize)]
struct ComposeRequest<'a> {
    #[serde(flatten)]
    request: Value,
    tools: Tools<'a>,
}

struct Turn<'a> {
    bench: Bench<'a>,
    model: Arc<dyn ChatModel>,
    desk: &'a Desk,
    /// The session was compacted for this run of the turn: at most once (CP-01).
    compacted: AtomicBool,
    /// How many chunks were passed on.
    chunks: AtomicU64,
}

impl Turn<'_> {
    async fn go(&self) -> Result<Rest, Trouble> {
        telemetry::named(self.agent());
        let mut offers = None;
        let mut transcript = self.desk.first_transcript().await?;
        loop {
            if !transcript.open_calls().is_empty() {
                if let Some(rest) = self.carry_out(&transcript).await? {
                    return Ok(rest);
                }
                transcript = self.desk.transcript().await?;
                continue;
            }
            let step = transcript.model_answers() + 1;
            if step > self.bench.limits.steps {
                let message = format!("the turn did not end within {} steps", self.bench.limits.steps);
                return self.desk.fail("max_steps", &message).await;
            }
            if offers.is_none() {
                match self.offers().await? {
                    Ok(there) => offers = Some(there),
                    Err(missing) => return self.desk.fail(missing::CODE, &missing).await,
                }
            }
            let offers = offers.as_deref().unwrap_or_default();
            match self.think(step, offers, &transcript).await? {
                Some(rest) => return Ok(rest),
                None => transcript = self.desk.transcript().await?,
            }
        }
    }

    /// One call of the model, and what it said written down.
    async fn think(
        &self,
        step: u32,
        offers: &[Offered],
        transcript: &Transcript,
    ) -> Result<Option<Rest>, Trouble> {
        let composed = match self.desk.compose(&self.request(offers)).await {
            Ok(composed) => composed,
            // What cannot be composed now cannot be composed later.
            Err(Trouble::Refused { status, code, message }) if (400..500).contains(&status) => {
                if code == "context_overflow" && self.compact().await? {
                    return Ok(None);
                }
                return self.desk.fail(&code, &message).await.map(Some);
            }
            Err(trouble) => return Err(trouble),
        };
        if composed.compaction_due && self.compact().await? {
            // This call is not made; one that is shorter is.
            let step = composed.step("call", "failed", &json!({ "error": compact::COMPACTED }));
            self.desk.append(vec![], Some(step)).await?;
            return Ok(None);
        }
        let number = step;
        let mut answer = match self.call(step, &composed).await {
            Ok(answer) if answer.stop == StopReason::Filtered => {
                let mut metadata = spent(self.model.info(), &answer);
                let error = ModelError::Filtered { message: withheld(&answer.text) };
                metadata["error"] = error.kind().into();
                let ending = Ending::failed(format!("model_{}", error.kind()), error.to_string());
                self.desk.finish(&ending, vec![], Some(composed.step("call", "failed", &metadata))).await?;
                return Ok(Some(Rest::Ended));
            }
            Ok(answer) => answer,
            Err(error) => {
                let step = composed.step("call", "failed", &json!({ "error": error.kind() }));
                if matches!(error, ModelError::ContextLength { .. }) && self.compact().await? {
                    self.desk.append(vec![], Some(step)).await?;
                    return Ok(None);
                }
                let ending = Ending::failed(format!("model_{}", error.kind()), error.to_string());
                self.desk.finish(&ending, vec![], Some(step)).await?;
                return Ok(Some(Rest::Ended));
            }
        };
        let mut metadata = spent(self.model.info(), &answer);
        if !composed.knowledge_refs.is_empty() {
            metadata["knowledge_refs"] = composed.knowledge_refs.clone().into();
        }
        let is_cut = answer.stop == StopReason::Length;
        if is_cut {
            metadata["stop"] = CUT.into();
        }
        let step = composed.step("call", "done", &metadata);
        if !answer.tool_calls.is_empty() {
            // What is on record has its names.
            if self.bench.record.is_none() {
                make_distinct(&mut answer.tool_calls, transcript, number);
            }
            let mut cards = vec![card::thought(self.desk, &answer.text, &answer.tool_calls)];
            if let Some(last) = answer.tool_calls.last().filter(|_| is_cut) {
                // Nobody knows what else the model would have asked for.
                cards.push(card::result(self.desk, &last.id, &last.name, &cut_call()));
            }
            self.desk.append(cards, Some(step)).await?;
            return Ok(None);
        }
        let Some(missing) = self.missing() else {
            let text = card::without_nul(&answer.text).into_owned();
            let text = Value::String(text);
            let ending = if is_cut {
                Ending::partial(text, "model_length", CUT_MESSAGE)
            } else {
                Ending::success(text)
            };
            let ending = ending.after(replies(transcript, &transcript.own_calls()));
            self.desk.finish(&ending, vec![], Some(step)).await?;
            return Ok(Some(Rest::Ended));
        };
        if transcript.count(card::NOTICE) >= NOTICES {
            let ending = Ending::failed(
                "must_end_with",
                format!("the agent did not end its turn as asked: {missing}"),
            );
            self.desk.finish(&ending, vec![card::thought(self.desk, &answer.text, &[])], Some(step)).await?;
            return Ok(Some(Rest::Ended));
        }
        let said = card::thought(self.desk, &answer.text, &[]);
        self.desk.append(vec![said, card::notice(self.desk, &missing)], Some(step)).await?;
        Ok(None)
    }

    /// Has the session summarised, once. Whether that helped.
    async fn compact(&self) -> Result<bool, Trouble> {
        if self.bench.record.is_some() || self.compacted.swap(true, Ordering::Relaxed) {
            return Ok(false);
        }
        compact::compact(self.desk, self.model.as_ref(), self.agent()).await
    }

    /// The name under which the model knows the agent.
    fn agent(&self) -> &str {
        self.bench.profile.model_name_of_agent().unwrap_or(&self.desk.lease.agent_id)
    }

    /// What a plain answer lacks.
    fn missing(&self) -> Option<String> {
        let ends = self.bench.profile.must_end_with();
        if !ends.is_empty() {
            return Some(format!("End your work by calling {}.", ends.join(" or ")));
        }
        let required = self.bench.required;
        (!required.is_empty()).then(|| {
            let names: Vec<_> = required.iter().map(|field| field.name.as_str()).collect();
            format!("End your work by calling submit_result with the fields: {}.", names.join(", "))
        })
    }

    async fn call(&self, step: u32, composed: &Composed) -> Result<ModelAnswer, ModelError> {
        let lease = &self.desk.lease;
        let request = ModelRequest {
            body: composed.request.clone(),
            agent_id: self.agent().to_owned(),
            role: lease.setting("role").map(str::to_owned),
            turn_id: lease.agent_turn_id.clone(),
            call_id: composed.call_id.clone(),
            step,
        };
        let call = stream::call(self.desk, self.model.as_ref(), &request, &self.chunks);
        telemetry::chat(self.desk, self.model.info(), &request, call).await
    }

    /// What the composer is asked for.
    fn request<'a>(&self, offers: &'a [Offered]) -> ComposeRequest<'a> {
        let (info, settings) = (self.model.info(), &self.desk.lease.runtime_config);
        let mut params = serde_json::Map::new();
        if info.streams {
            params.insert("stream".to_owned(), true.into());
            if info.provider == Provider::OpenAiChat {
                params.insert("stream_options".to_owned(), json!({ "include_usage": true }));
            }
        }
        // What the run says of them is said over the profile's.
        let own = settings["llm_config"]["params"].as_object();
        params.extend(own.cloned().unwrap_or_default());
        let given =
            self.bench.profile.model().is_some_and(|config| model_params(config).contains_key("max_tokens"));
        if info.provider == Provider::AnthropicMessages && !given && !params.contains_key("max_tokens") {
            // This provider takes no request without it.
            params.insert("max_tokens".to_owned(), 4096.into());
        }
        let mut request = json!({
            "provider": info.provider.as_str(), "model": info.model, "params": params,
            "process": settings["process"].as_str().unwrap_or("agent"),
            "enable_share_context": settings["enable_share_context"].as_bool().unwrap_or(true),
        });
        if let Value::Array(without) = &settings["without_layers"] {
            request["without"] = without.clone().into();
        }
        // Also an empty list: the model is told of what it is offered, and of nothing else.
        ComposeRequest { request, tools: Tools { offers, provider: info.provider } }
    }

    /// What the model may call, or why its turn cannot begin: a tool that its profile names is not there (F-02).
    async fn offers(&self) -> Result<Result<Vec<Offered>, String>, Trouble> {
        let (profile, settings) = (self.bench.profile, &self.desk.lease.runtime_config);
        // A role that is told everything in its input and answers in plain words needs no tools (KN-01).
        if settings["tools"] == Value::Bool(false) {
            return Ok(Ok(vec![]));
        }
        let mut offers = vec![];
        if !self.bench.required.is_empty() || profile.must_end_with().contains(&submit::NAME) {
            offers.push(Offered::Made(offer::submit_offer(self.bench.required)));
        }
        for delegate in handover::delegates(settings) {
            let text = |name: &str| delegate[name].as_str().unwrap_or_default();
            offers.push(Offered::Made(offer::delegate_offer(text("id"), text("description"))));
        }
        offers.extend(self.built_in());
        let mut served = Served::default();
        if self.bench.record.is_none() {
            let seconds = self.bench.limits.tool_seconds;
            let (some, may) =
                (|server: &str| profile.names_some_of(server), |tool: &str| profile.names(tool));
            served = self.bench.mcp.offers(some, may, seconds).await;
            offers.extend(served.offers.iter().cloned().map(Offered::Made));
        }
        // A document of the same name as an MCP server's tool says how it is called, not what it is.
        for name in profile.named_tools() {
            // A provider would refuse the whole request for a longer name.
            if name.len() > limits::OFFERED_NAME_CHARS || offers.iter().any(|offer| offer.name() == name) {
                continue;
            }
            if let Some(document) = self.bench.document(name).await? {
                offers.push(Offered::Made(offer::document_offer(name, &document)));
            }
        }
        // What is on record was there.
        let missing = match self.bench.record {
            Some(_) => None,
            None => missing::missing(&self.bench, &offers, &served).await?,
        };
        Ok(missing.map_or(Ok(offers), Err))
    }

    /// The tools that come with every worker and are offered in this turn. Who hands nothing on is told of no tool for it.
    fn built_in(&self) -> Vec<Offered> {
        let (profile, settings) = (self.bench.profile, &self.desk.lease.runtime_config);
        let open = settings[BUILTIN_TOOLS].as_str().and_then(BuiltinTools::from_name);
        let open = open.unwrap_or(BuiltinTools::None);
        let hands_on = settings["hands_on"] != Value::Bool(false);
        let is_offered = |name: &&str| match HANDOFF_WRITING.contains(name) {
            true => profile.names(name),
            false => profile.is_offered(name, open) && (hands_on || !PMO_TOOLS.contains(name)),
        };
        let profiles: Vec<&Value> = settings["profiles"].as_array().into_iter().flatten().collect();
        let may_give_to =
            |named: &&Value| named["name"].as_str().is_some_and(|name| profile.may_give_to(name));
        let profiles: Vec<&Value> = profiles.into_iter().filter(may_give_to).collect();
        let names = built_in_tools().chain(HANDOFF_WRITING).filter(is_offered);
        names.map(|name| offer::built_in_offer(name, &profiles)).collect()
    }

    /// Carries out every call without an answer. Gives how the turn rests, if it does.
    async fn carry_out(&self, transcript: &Transcript) -> Result<Option<Rest>, Trouble> {
        let said = last_words(transcript);
        let (mut cards, mut waits, mut longest) = (vec![], vec![], 0);
        for call in transcript.open_calls() {
            let work = self.bench.run(&call, transcript, &said);
            let name = self.bench.told(&call.name);
            match telemetry::tool(self.desk, name, &call.id, Outcome::failure, work).await? {
                Outcome::Answered(answer) => {
                    cards.push(card::result(self.desk, &call.id, &call.name, &answer));
                }
                Outcome::Taken => {}
                Outcome::Waits(id, more, seconds) => {
                    cards.extend(more);
                    longest = seconds.max(longest);
                    waits.push(id);
                }
                Outcome::Ends(answer, ending) => {
                    cards.push(card::result(self.desk, &call.id, &call.name, &answer));
                    let ending = ending.after(replies(transcript, &transcript.own_calls()));
                    let last = self.append_most(cards).await?;
                    self.desk.finish(&ending, last, None).await?;
                    return Ok(Some(Rest::Ended));
                }
            }
        }
        let last = self.append_most(cards).await?;
        if !last.is_empty() {
            self.desk.append(last, None).await?;
        }
        if waits.is_empty() {
            return Ok(None);
        }
        self.desk.suspend(&waits, longest).await?;
        Ok(Some(Rest::Waits))
    }

    /// Appends cards until so many are left as one request takes, and gives those.
    async fn append_most(&self, mut cards: Vec<Value>) -> Result<Vec<Value>, Trouble> {
        loop {
            let fits = fitting(&cards);
            if fits == cards.len() {
                return Ok(cards);
            }
            let rest = cards.split_off(fits);
            self.desk.append(std::mem::replace(&mut cards, rest), None).await?;
        }
    }
}

/// How many of the cards, from the first, one request takes: half of its body is theirs. At least one, if there is one.
fn fitting(cards: &[Value]) -> usize {
    let mut bytes = 0;
    let fits = cards.iter().take(limits::TURN_CARDS).take_while(|card| {
        bytes += card.to_string().len();
        bytes <= limits::BODY_BYTES / 2
    });
    fits.count().max(1).min(cards.len())
}

/// In the step of an answer that reached the limit of tokens.
pub(crate) const CUT: &str = "length";
const CUT_MESSAGE: &str = "the model's answer reached its limit of tokens";

/// The answer to a call in which a model was cut off.
fn cut_call() -> Answer {
    Answer::failed("cut_off", format!("{CUT_MESSAGE} in this call, so it was not carried out"))
}

/// What is told of an answer that was withheld: what was said instead, if anything was.
fn withheld(text: &str) -> String {
    let text = card::without_nul(text.trim());
    if text.is_empty() { "the answer was withheld".to_owned() } else { text.into_owned() }
}

/// What a call has cost (OB-04).
pub(crate) fn spent(info: &ModelInfo, answer: &ModelAnswer) -> Value {
    let cost = info.prices.as_ref().map(|prices| prices.cost_micros(&answer.usage));
    json!({ "model": answer.model, "usage": answer.usage, "cost_micros": cost })
}

/// Some providers number calls anew in every answer, or name them as no card can. A call that had the name of an earlier one
/// would have its answer.
fn make_distinct(calls: &mut [ToolCall], transcript: &Transcript, step: u32) {
    // The question whether it may be carried out has a longer name.
    let is_legal = |id: &str| {
        Invalid::check_printable("id", &approval::question_id(id)).is_ok() && !id.trim().is_empty()
    };
    let mut taken: HashSet<String> = transcript.calls().into_iter().map(|call| call.id).collect();
    for (index, call) in calls.iter_mut().enumerate() {
        if !is_legal(&call.id) || taken.contains(&call.id) {
            let numbered = format!("{}_{step}_{index}", call.id);
            call.id = if is_legal(&numbered) { numbered } else { format!("call_{step}_{index}") };
            while taken.contains(&call.id) {
                call.id.push('_');
            }
        }
        taken.insert(call.id.clone());
    }
}

/// What the model said last.
fn last_words(transcript: &Transcript) -> String {
    let said = transcript.cards().iter().rev().find(|card| crate::transcript::kind(card) == "agent.thought");
    said.and_then(|card| card["content"].as_str()).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
