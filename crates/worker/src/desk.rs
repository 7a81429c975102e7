//! One leased turn at work: everything its holder says to the kernel, under its fence and with its token.

use crate::{
    agent::Rest,
    lease::Lease,
    line::{Again, Line, read},
    port::Key,
    telemetry,
    tools::on_bus,
    trace::Trace,
    transcript::{Transcript, kind},
    trouble::Trouble,
};
use cardwire_model::Hash256;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use tracing::Span;

/// How many cards are read at once.
const CARDS: u32 = 500;
/// How many cards are read by name at once.
const BATCH: usize = 100;

/// How much was said in this process so far. A turn that waited comes back to another desk under the same epoch, so that
/// counting anew for each would give two requests one name.
static SAID: AtomicU64 = AtomicU64::new(0);

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ending {
    /// `success`, `partial`, `failed`, `timeout` or `canceled`.
    pub(crate) status: &'static str,
    /// What came out.
    pub(crate) deliverable: Option<Value>,
    /// What went wrong: code and message.
    pub(crate) error: Option<(String, String)>,
    /// What people said in the turn (PR-10).
    pub(crate) replies: Vec<String>,
}

impl Ending {
    pub(crate) fn success(deliverable: Value) -> Self {
        Self { status: "success", deliverable: Some(deliverable), error: None, replies: vec![] }
    }

    /// Some of what was asked, and why not all.
    pub(crate) fn partial(deliverable: Value, code: &str, message: &str) -> Self {
        let error = Some((code.to_owned(), message.to_owned()));
        Self { status: "partial", deliverable: Some(deliverable), error, replies: vec![] }
    }

    pub(crate) fn failed(code: impl Into<String>, message: impl Into<String>) -> Self {
        let error = Some((code.into(), message.into()));
        Self { status: "failed", deliverable: None, error, replies: vec![] }
    }

    /// The same, after people said this.
    pub(crate) fn after(self, replies: Vec<String>) -> Self {
        Self { replies, ..self }
    }
}

/// The end of a box.
struct Tail {
    /// Its last cards, without those that are gone.
    cards: Vec<Value>,
    /// The first card that was looked at, if there may be others before it.
    before: Option<Value>,
}

/// A request that was composed for a model.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Composed {
    pub(crate) call_id: String,
    pub(crate) step_id: String,
    pub(crate) request: String,
    #[serde(default)]
    pub(crate) knowledge_refs: Vec<String>,
    /// The session is to be summarised first.
    #[serde(default)]
    pub(crate) compaction_due: bool,
    /// The summary that a request for a summary goes on from.
    #[serde(default)]
    pub(crate) follows: Option<String>,
}

impl Composed {
    /// The step of the call, as it stands after it.
    pub(crate) fn step(&self, phase: &str, status: &str, metadata: &Value) -> Value {
        json!({
            "step_id": self.step_id, "phase": phase, "status": status, "call_id": self.call_id,
            "metadata": metadata,
        })
    }
}

/// What the holder of a turn says, with its fence.
#[derive(Serialize)]
struct Fenced<'a, T> {
    turn_epoch: u64,
    #[serde(flatten)]
    body: &'a T,
}

/// The holder of a turn.
#[derive(Debug)]
pub(crate) struct Desk {
    line: Line,
    pub(crate) lease: Lease,
    pub(crate) trace: Trace,
    /// The span of this stretch of work.
    pub(crate) span: Span,
}

impl Desk {
    /// `seed` makes the ids of the spans.
    pub(crate) fn new(line: Line, lease: Lease, seed: u64) -> Self {
        let trace = Trace::of(&lease, seed);
        let mut desk = Self { line, lease, trace, span: Span::none() };
        desk.span = telemetry::run(&desk);
        desk
    }

    /// Below the project.
    pub(crate) fn path(&self, rest: &str) -> String {
        format!("/projects/{}{rest}", self.lease.project_id)
    }

    /// Reads with the worker's own token.
    pub(crate) async fn get(&self, rest: &str) -> Result<Value, Trouble> {
        self.line.get(self.path(rest), None, self.trace.header().as_deref()).await
    }

    /// Does something with the worker's own token.
    pub(crate) async fn post(&self, rest: &str, body: &Value) -> Result<Value, Trouble> {
        self.line.post(self.path(rest), None, body, self.trace.header().as_deref(), self.named()).await
    }

    /// The same for a call of the turn, under the call's name: whoever goes on with the turn asks by the same one.
    pub(crate) async fn post_once(&self, rest: &str, body: &Value, call: &str) -> Result<Value, Trouble> {
        // Models name their calls as they like; a key is short and plain.
        let key = format!("{}-{}", self.lease.agent_turn_id, Hash256::of(call.as_bytes()));
        let again = Again::Named(Key::Everywhere(key));
        self.line.post(self.path(rest), None, body, self.trace.header().as_deref(), again).await
    }

    /// One of the turn's verbs: `:finish`, `/cards`, …
    async fn say(&self, verb: &str, body: &(impl Serialize + Sync)) -> Result<Value, Trouble> {
        self.say_as(verb, body, self.named()).await
    }

    async fn say_as(
        &self,
        verb: &str,
        body: &(impl Serialize + Sync),
        again: Again,
    ) -> Result<Value, Trouble> {
        let body = Fenced { turn_epoch: self.lease.turn_epoch, body };
        let path = self.path(&format!("/l0/turns/{}{verb}", self.lease.agent_turn_id));
        self.line.post(path, Some(&self.lease.turn_token), &body, self.trace.header().as_deref(), again).await
    }

    /// A name for the next request, never used for another by this process.
    fn named(&self) -> Again {
        let count = SAID.fetch_add(1, Ordering::Relaxed);
        Again::Named(Key::Here(format!("{}-{}-{count}", self.lease.agent_turn_id, self.lease.turn_epoch)))
    }

    /// What the turn had written when it was leased.
    pub(crate) async fn first_transcript(&self) -> Result<Transcript, Trouble> {
        match self.lease.output_len {
            Some(0) => Ok(self.transcript_of(vec![])),
            Some(_) | None => self.transcript().await,
        }
    }

    /// What the turn has written so far.
    pub(crate) async fn transcript(&self) -> Result<Transcript, Trouble> {
        Ok(self.transcript_of(self.all_cards(&self.lease.output_box_id).await?))
    }

    fn transcript_of(&self, cards: Vec<Value>) -> Transcript {
        let forked_from = self.lease.setting("forked_from");
        Transcript::new(cards, &self.lease.agent_turn_id).forked_from(forked_from)
    }

    /// Every card of a box: its end at once, and what stands before it in batches.
    pub(crate) async fn all_cards(&self, box_id: &str) -> Result<Vec<Value>, Trouble> {
        let Tail { cards: last, before } = self.tail(box_id).await?;
        let Some(first) = before else { return Ok(last) };
        let shown: Value = self.get(&format!("/boxes/{box_id}")).await?;
        let ids: Vec<&Value> = shown["card_ids"].as_array().into_iter().flatten().collect();
        let upto = ids.iter().position(|id| **id == first).unwrap_or(0);
        let mut cards = self.cards_named(&ids[..upto]).await?;
        cards.extend(last);
        Ok(cards)
    }

    /// The last cards of a box, and whether there are others before them. Cards that are gone are asked for too, because a
    /// short answer would not tell; whether one that ends some day is past its time is the kernel's to say.
    async fn tail(&self, box_id: &str) -> Result<Tail, Trouble> {
        let path = format!("/boxes/{box_id}/cards?limit={CARDS}&include_deleted=true");
        let all: Vec<Value> = read(self.get(&path).await?)?;
        let before =
            if all.len() < CARDS as usize { None } else { all.first().map(|card| card["card_id"].clone()) };
        let ends = |card: &&Value| !card["expires_at"].is_null();
        let ending: Vec<&Value> = all.iter().filter(ends).map(|card| &card["card_id"]).collect();
        let there = self.cards_named(&ending).await?;
        let is_there = |card: &Value| {
            let is_named = || there.iter().any(|found| found["card_id"] == card["card_id"]);
            card["deleted_at"].is_null() && (card["expires_at"].is_null() || is_named())
        };
        Ok(Tail { cards: all.into_iter().filter(is_there).collect(), before })
    }

    /// Cards by their ids, without those that are gone.
    async fn cards_named(&self, ids: &[&Value]) -> Result<Vec<Value>, Trouble> {
        let mut cards = vec![];
        for batch in ids.chunks(BATCH) {
            let path = self.path("/cards/batch");
            let body = json!({ "card_ids": batch });
            let trace = self.trace.header();
            let mut found = self.line.post(path, None, &body, trace.as_deref(), Again::Harmless).await?;
            cards.extend(read::<Vec<Value>>(found["cards"].take())?);
        }
        Ok(cards)
    }

    /// The last cards of a box.
    pub(crate) async fn box_cards(&self, box_id: &str) -> Result<Vec<Value>, Trouble> {
        read(self.get(&format!("/boxes/{box_id}/cards?limit={CARDS}")).await?)
    }

    /// What the deliverable must have: the latest `task.result_fields` that the turn was given (WK-04).
    pub(crate) async fn result_fields(&self) -> Result<Value, Trouble> {
        if self.lease.output_len.is_some() {
            return Ok(self.lease.result_fields.clone());
        }
        let Tail { cards, before } = self.tail(&self.lease.context_box_id).await?;
        if before.is_some() {
            // The view has all, but costs several times as much.
            return Ok(self.view().await?["result_fields"].take());
        }
        let latest = cards.into_iter().rev().find(|card| kind(card) == "task.result_fields");
        Ok(latest.map_or(Value::Null, |mut card| card["content"].take()))
    }

    /// Writes cards, and the step that wrote them.
    pub(crate) async fn append(&self, cards: Vec<Value>, step: Option<Value>) -> Result<(), Trouble> {
        let mut body = json!({ "cards": cards });
        if let Some(step) = step {
            body["step"] = step;
        }
        self.say("/cards", &body).await.map(drop)
    }

    /// Waits for calls.
    pub(crate) async fn suspend(&self, calls: &[String], seconds: u32) -> Result<(), Trouble> {
        let body = json!({ "waiting_tool_call_ids": calls, "resume_deadline_seconds": seconds });
        self.say(":suspend", &body).await.map(drop)
    }

    /// Ends the turn, with its last cards and the step that wrote them.
    pub(crate) async fn finish(
        &self,
        ending: &Ending,
        cards: Vec<Value>,
        step: Option<Value>,
    ) -> Result<(), Trouble> {
        telemetry::ended(&self.span, ending.status, ending.error.as_ref().map(|(code, _)| code.as_str()));
        let mut body = json!({ "status": ending.status, "cards": cards });
        if let Some(deliverable) = &ending.deliverable {
            body["deliverable"] = deliverable.clone();
        }
        if let Some((code, message)) = &ending.error {
            body["error_code"] = code.chars().take(ERROR_CHARS).collect::<String>().into();
            body["error"] = message.chars().take(ERROR_CHARS).collect::<String>().into();
        }
        if let Some(step) = step {
            body["step"] = step;
        }
        if !ending.replies.is_empty() {
            body["replies"] = ending.replies.clone().into();
        }
        self.say(":finish", &body).await.map(drop)
    }

    /// Ends the turn as failed.
    pub(crate) async fn fail(&self, code: &str, message: &str) -> Result<Rest, Trouble> {
        self.finish(&Ending::failed(code, message), vec![], None).await?;
        Ok(Rest::Ended)
    }

    /// Gives the turn back for somebody else to go on with.
    pub(crate) async fn release(&self) -> Result<(), Trouble> {
        self.say(":release", &json!({ "reason": "worker_stops", "keep_calls": true })).await.map(drop)
    }

    /// Lets others watch what is being written.
    pub(crate) async fn chunk(&self, index: u64, text: &str) -> Result<(), Trouble> {
        let path = self.path(&format!("/l0/turns/{}/chunks", self.lease.agent_turn_id));
        let body = json!({ "turn_epoch": self.lease.turn_epoch, "index": index, "text": text });
        let trace = self.trace.header();
        self.line
            .post(path, Some(&self.lease.turn_token), &body, trace.as_deref(), Again::Never)
            .await
            .map(drop)
    }

    pub(crate) async fn heartbeat(&self) -> Result<(), Trouble> {
        // Without a name: one more heartbeat does no harm, and a row for each would stay for a day.
        self.say_as(":heartbeat", &json!({}), Again::Harmless).await.map(drop)
    }

    /// Composes the next request to a model.
    pub(crate) async fn compose(&self, request: &(impl Serialize + Sync)) -> Result<Composed, Trouble> {
        // Without a name: a request that is composed twice costs less than a row for every one that is not.
        read(self.say_as("/calls", request, Again::Harmless).await?)
    }

    /// Answers a call of the turn with a card that is there.
    pub(crate) async fn report(&self, call: &str, card: &str, after: &Value) -> Result<(), Trouble> {
        let found = self.get(&format!("/cards/{card}")).await?;
        let body = on_bus::report_of(&self.lease, call, card, &found["content"], after);
        let (token, trace) = (Some(self.lease.turn_token.as_str()), self.trace.header());
        self.line.post(self.path("/l0/reports"), token, &body, trace.as_deref(), self.named()).await.map(drop)
    }

    /// What the turn sees.
    pub(crate) async fn view(&self) -> Result<Value, Trouble> {
        let path = self.path(&format!("/l0/turns/{}/view", self.lease.agent_turn_id));
        self.line.get(path, Some(&self.lease.turn_token), self.trace.header().as_deref()).await
    }

    /// Has the PMO carry out a call that the turn has made.
    pub(crate) async fn carry_out(
        &self,
        tool: &str,
        tool_call_id: &str,
        args: &Map<String, Value>,
        more: Value,
    ) -> Result<Value, Trouble> {
        let mut body = json!({
            "caller_agent_id": self.lease.agent_id,
            "agent_turn_id": self.lease.agent_turn_id,
            "tool_call_id": tool_call_id,
            "args": args,
        });
        if let Some(channel) = &self.lease.channel_id {
            body["channel_id"] = channel.clone().into();
        }
        for (name, value) in more.as_object().into_iter().flatten() {
            body[name.as_str()] = value.clone();
        }
        // The call names itself: repeating it does nothing.
        let path = self.path(&format!("/pmo/{tool}:call"));
        self.line
            .post(path, Some(&self.lease.turn_token), &body, self.trace.header().as_deref(), self.named())
            .await
    }
}

/// How long an error may be on the wire.
const ERROR_CHARS: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Asked, Request, Said, TRACE, TURN};

    /// A call that is carried out again by whoever goes on with the turn is done once; what is merely said again is not the
    /// same word.
    #[tokio::test]
    async fn a_call_has_one_name_wherever_it_is_carried_out() {
        let kernel = Asked::content();
        // Models may call their calls anything.
        for desk in [kernel.desk(), kernel.desk()] {
            desk.post_once("/things", &json!({}), "call 1 ☎").await.unwrap();
            desk.post("/words", &json!({})).await.unwrap();
        }
        kernel.desk().post_once("/things", &json!({}), "call_2").await.unwrap();
        let [first, again, other] = kernel.requests("/things").try_into().unwrap();
        let Some(Key::Everywhere(name)) = &first.key else { panic!("{first:?}") };
        assert!(name.starts_with(TURN) && name.bytes().all(|byte| byte.is_ascii_graphic()), "{name}");
        assert_eq!(again.key, first.key);
        assert!(matches!(&other.key, Some(Key::Everywhere(other)) if other != name), "{other:?}");
        let [word, another] = kernel.requests("/words").try_into().unwrap();
        assert!(matches!(word.key, Some(Key::Here(_))) && word.key != another.key, "{word:?} {another:?}");
    }

    /// CB-10: what was deleted at the end of a long box does not hide its beginning.
    #[tokio::test]
    async fn all_cards_of_a_box_are_read_whatever_was_deleted() {
        let kernel = |count: u32, gone: &'static [u32]| {
            let card = move |n: u32| {
                let deleted_at = gone.contains(&n).then_some("2026-01-01T00:00:00Z");
                json!({ "card_id": n, "deleted_at": deleted_at })
            };
            Asked::new(move |request: &Request| {
                let last = (count.saturating_sub(CARDS)..count).map(card);
                let is_there = |card: &Value| card["deleted_at"].is_null();
                Said::Answer(
                    200,
                    match request.path.as_str() {
                        path if path.contains("include_deleted") => last.collect(),
                        path if path.contains("/cards?") => last.filter(is_there).collect(),
                        path if path.ends_with("/cards/batch") => {
                            let asked = request.body["card_ids"].as_array().unwrap().iter();
                            let found = asked.map(|id| card(u32::try_from(id.as_u64().unwrap()).unwrap()));
                            json!({ "cards": found.filter(is_there).collect::<Vec<_>>() })
                        }
                        _ => json!({ "card_ids": (0..count).collect::<Vec<_>>() }),
                    },
                )
            })
        };
        for (count, gone) in [
            (3, &[][..]),
            (3, &[1]),
            (CARDS, &[]),
            (CARDS + 1, &[]),
            (CARDS + 150, &[3, 149, 150, 400, CARDS + 149]),
        ] {
            let cards = kernel(count, gone).desk().all_cards("b").await.unwrap();
            let ids: Vec<u64> = cards.iter().filter_map(|card| card["card_id"].as_u64()).collect();
            let expected: Vec<u64> = (0..count).filter(|n| !gone.contains(n)).map(u64::from).collect();
            assert_eq!(ids, expected, "{count} {gone:?}");
        }
    }

    #[tokio::test]
    async fn a_heartbeat_leaves_no_name_behind() {
        let kernel = Asked::content();
        kernel.desk().heartbeat().await.unwrap();
        let [beat] = kernel.requests(":heartbeat").try_into().unwrap();
        assert_eq!(beat.key, None);
    }

    /// OB-01
    #[tokio::test]
    async fn a_report_is_part_of_the_trace() {
        let kernel = Asked::content();
        let desk = kernel.desk();
        desk.report("call_1", "card_1", &Value::Null).await.unwrap();
        let [report] = kernel.requests("/l0/reports").try_into().unwrap();
        assert_eq!(report.trace, desk.trace.header());
        assert!(report.trace.unwrap().starts_with(&format!("00-{TRACE}-")));
    }
}
