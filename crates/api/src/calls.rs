//! Model calls on the wire: composing the next one of a turn, and looking at one that was made (RP-01, RP-02, OB-01,
//! OB-02).

use crate::{collect, parse};
use cardwire_kernel::{
    CallEntry, CallRequest, ComposedCall, ExpandedCall, Purpose, RenderedCall,
    composer::{
        compaction, cost, manifest,
        render::{Source, Span},
    },
    protocol::turn::{Fence, append::check_call_id, without},
};
use cardwire_model::{CanonicalJson, Invalid, Layer, Provider};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};
use utoipa::ToSchema;

/// A call to compose. What is absent is taken from the profile's `llm_config`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelCallIn {
    /// The epoch of the lease.
    #[schema(minimum = 0)]
    pub turn_epoch: u64,
    /// In whose format: `openai-chat` or `anthropic-messages`.
    #[serde(default)]
    #[schema(pattern = "^(openai-chat|anthropic-messages)$")]
    pub provider: Option<String>,
    /// Which model.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 128)]
    pub model: Option<String>,
    /// Its parameters: an object.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub params: Option<Box<RawValue>>,
    /// The provider's list of tools.
    #[serde(default)]
    #[schema(value_type = Option<Vec<Object>>)]
    pub tools: Option<Box<RawValue>>,
    /// In which role of which process; see the collector.
    #[serde(default)]
    #[schema(
        pattern = "^(sequential|dynamic|hierarchical|react|map_reduce_worker|map_reduce_planner|map_reduce_reducer)$"
    )]
    pub process: Option<String>,
    /// The one switch of a team; true when absent.
    #[serde(default)]
    pub enable_share_context: Option<bool>,
    /// Blocks that stand in the place of collected ones.
    #[serde(default)]
    #[schema(value_type = Option<std::collections::BTreeMap<String, String>>)]
    pub contexts: Option<Box<RawValue>>,
    /// Layers to leave out, to see what comes of it: all but `query` and `turn`.
    #[serde(default)]
    #[schema(max_items = 8)]
    pub without: Option<Vec<String>>,
    /// How many tokens the model takes.
    #[serde(default)]
    pub window: Option<u32>,
    /// How many of them are kept free for the answer.
    #[serde(default)]
    pub reserve: Option<u32>,
    /// The step that makes the call; a new one when absent.
    #[serde(default)]
    #[schema(pattern = "^step_[A-Za-z0-9_-]{1,123}$")]
    pub step_id: Option<String>,
    /// `answer`, or `summary`: asks for a summary of the turn's session and takes no tools, contexts and layers.
    #[serde(default)]
    #[schema(pattern = "^(answer|summary)$")]
    pub purpose: Option<String>,
}

impl ModelCallIn {
    /// What to compose.
    pub fn into_request(self, fence: Fence) -> Result<CallRequest, Invalid> {
        let names = Provider::ALL.iter().map(|provider| provider.as_str());
        let provider = self.provider.map(|name| parse::word("provider", &name, Provider::from_name, names));
        self.model.as_deref().map(|model| check_call_id("model", model)).transpose()?;
        let purpose = match self.purpose.as_deref() {
            None | Some("answer") => Purpose::Answer,
            Some("summary") => Purpose::Summary,
            Some(_) => return Err(Invalid::field("purpose", "must be answer or summary")),
        };
        if purpose == Purpose::Summary {
            let given = [
                ("tools", self.tools.is_some()),
                ("contexts", self.contexts.is_some()),
                ("without", self.without.is_some()),
            ];
            if let Some((name, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
                return Err(Invalid::field(name, "is not part of a request for a summary"));
            }
        }
        let params = self.params.map(|params| parse::object("params", &params)).transpose()?;
        Ok(CallRequest {
            fence,
            provider: provider.transpose()?,
            model: self.model,
            params: params.unwrap_or_else(Map::new),
            tools: self.tools.map(Into::into),
            process: collect::process(self.process.as_deref())?,
            share: self.enable_share_context.unwrap_or(true),
            contexts: parse::contexts(self.contexts.as_deref())?,
            without: layers(self.without.as_deref().unwrap_or_default())?,
            window: self.window,
            reserve: self.reserve,
            step_id: parse::given("step_id", self.step_id.as_deref())?,
            purpose,
        })
    }
}

fn layers(names: &[String]) -> Result<Vec<Layer>, Invalid> {
    let read = |(index, name): (usize, &String)| without::layer(&format!("without/{index}"), name);
    names.iter().enumerate().map(read).collect()
}

/// A request, ready to be sent.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModelCallOut {
    /// The call: the card that keeps its manifest.
    pub call_id: String,
    /// The step that makes it.
    pub step_id: String,
    /// The exact body to send.
    pub request: String,
    /// SHA-256 of that body.
    pub request_sha256: String,
    /// In whose format it is.
    pub provider: &'static str,
    /// Which model it is for.
    pub model: String,
    /// All tokens of it.
    pub total_tokens: u32,
    /// Tokens at the start that it shares with the agent's previous call.
    pub shared_prefix_tokens: u32,
    /// What was left out: `{layer, context_key?, block_card_id? | card_id? | box?, cards, tokens, reason}`.
    pub omissions: Value,
    /// What was added so that the request is valid: `{rule, card_id, added_card_id}`.
    pub repairs: Value,
    /// The cards of the sections that the knowledge block shows.
    pub knowledge_refs: Vec<String>,
    /// Blocks that could not be made, and why.
    pub warnings: Vec<String>,
    /// The session is longer than the project wants (`context.compact_threshold`), or some of it found no room: have it
    /// summarised (`GET …/sessions/{s}/compaction`, `:compact`) and compose anew. What was composed can be sent all the same.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub compaction_due: bool,
    /// The summary that a request for a summary goes on from: give it with the summary to `:compact`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follows: Option<String>,
}

impl ModelCallOut {
    /// The call that was composed.
    pub fn new(call: ComposedCall) -> Self {
        let ComposedCall { call_id, manifest, body, knowledge_refs, warnings, compaction_due } = call;
        Self {
            follows: compaction::follows(&manifest).map(|id| id.to_string()),
            call_id: call_id.to_string(),
            step_id: manifest.step_id.to_string(),
            request: body,
            request_sha256: manifest.request_sha256.clone(),
            provider: manifest.provider.as_str(),
            model: manifest.model.clone(),
            total_tokens: manifest.total_tokens,
            shared_prefix_tokens: manifest.shared_prefix_tokens,
            omissions: manifest::omissions_json(&manifest.omissions),
            repairs: manifest::repairs_json(&manifest.repairs),
            knowledge_refs,
            warnings,
            compaction_due,
        }
    }
}

/// What is remembered of an answer (API-16): the call can be rendered again, the rest stands nowhere else.
#[derive(Debug, Serialize, Deserialize)]
pub struct RememberedCall {
    /// Which call.
    pub call_id: String,
    /// See [`ModelCallOut`].
    pub knowledge_refs: Vec<String>,
    /// See [`ModelCallOut`].
    pub warnings: Vec<String>,
}

impl From<&ComposedCall> for RememberedCall {
    fn from(call: &ComposedCall) -> Self {
        Self {
            call_id: call.call_id.to_string(),
            knowledge_refs: call.knowledge_refs.clone(),
            warnings: call.warnings.clone(),
        }
    }
}

/// A call as it was.
#[derive(Debug, Serialize, ToSchema)]
pub struct CallContextOut {
    /// Which call.
    pub call_id: String,
    /// Its record, as it is kept.
    #[schema(value_type = Object)]
    pub manifest: CanonicalJson,
    /// Every card and block that was sent, in order, then what was added (`repair`), and the list of tools (`tools`).
    pub entries: Vec<CallEntryOut>,
    /// The same by layer, with what comes to the total: first the layers, then `shortened` (what a request for a summary leaves
    /// out of its cards) and `provider difference` (what the provider counted otherwise).
    pub rows: Vec<CallRowOut>,
    /// All rows together: what the provider counted, or the estimate while it has not answered.
    pub input_tokens: i64,
    /// The messages of the request, rendered again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<serde_json::Value>>)]
    pub messages: Option<Box<RawValue>>,
    /// The whole request, rendered again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// It is the one that was sent, byte for byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash_ok: Option<bool>,
    /// What is missing, so that it cannot be rendered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// Where each byte of the request comes from: in order, without gaps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spans: Option<Vec<SpanOut>>,
}

/// A range of bytes of a request, and where it comes from (IN-12).
#[derive(Debug, Serialize, ToSchema)]
pub struct SpanOut {
    /// `entry`: a card or block of the call; `repair`: something that was added; `tools`: the list of tools; `frame`: the rest.
    pub source: &'static str,
    /// Which of `entries`, or which of the manifest's repairs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    /// The first byte.
    pub from: usize,
    /// The byte after the last.
    pub to: usize,
}

impl From<&Span> for SpanOut {
    fn from(span: &Span) -> Self {
        let (source, index) = match span.source {
            Source::Frame => ("frame", None),
            Source::Tools => ("tools", None),
            Source::Piece(index) => ("entry", Some(index)),
            Source::Repair(index) => ("repair", Some(index)),
        };
        Self { source, index, from: span.from, to: span.to }
    }
}

/// What a part of a request came to.
#[derive(Debug, Serialize, ToSchema)]
pub struct CallRowOut {
    /// A layer, `shortened` or `provider difference`.
    pub layer: &'static str,
    /// May be below zero where it is no layer.
    pub tokens: i64,
}

impl CallRowOut {
    /// All of a call, so that they come to what was sent.
    fn all(call: &ExpandedCall) -> Vec<Self> {
        let of_layer = |layer: &Layer| {
            let mut entries = call.entries.iter().filter(|entry| entry.layer == *layer).peekable();
            entries.peek()?;
            let tokens = entries.map(|entry| i64::from(entry.tokens)).sum();
            Some(Self { layer: layer.as_str(), tokens })
        };
        let mut rows: Vec<_> = Layer::ALL.iter().filter_map(of_layer).collect();
        let others = [
            ("shortened", call.rest()),
            (cost::PROVIDER_DIFFERENCE, call.provider_difference().unwrap_or(0)),
        ];
        rows.extend(
            others
                .into_iter()
                .filter(|(_, tokens)| *tokens != 0)
                .map(|(layer, tokens)| Self { layer, tokens }),
        );
        rows
    }
}

/// One card or block of a call.
#[derive(Debug, Serialize, ToSchema)]
pub struct CallEntryOut {
    /// Of which layer.
    pub layer: &'static str,
    /// Which block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_key: Option<String>,
    /// The card, or the card that keeps the block's text.
    pub card_id: String,
    /// It is a block.
    pub block: bool,
    /// What it cost, also when the card is deleted now.
    pub tokens: u32,
    /// Why it is there.
    pub reason: &'static str,
}

impl CallContextOut {
    /// The call, and what it renders to if that was wanted, with the source of each byte if that was.
    pub fn new(
        call: &ExpandedCall,
        rendered: Option<RenderedCall>,
        with_spans: bool,
    ) -> Result<Self, Invalid> {
        let entry = |entry: &CallEntry| CallEntryOut {
            layer: entry.layer.as_str(),
            context_key: entry.context_key.clone(),
            card_id: entry.card_id.to_string(),
            block: entry.is_block,
            tokens: entry.tokens,
            reason: entry.cause.as_str(),
        };
        let rows = CallRowOut::all(call);
        let mut out = Self {
            call_id: call.call_id.to_string(),
            manifest: manifest::to_json(&call.manifest)?,
            entries: call.entries.iter().map(entry).collect(),
            input_tokens: rows.iter().map(|row| row.tokens).sum(),
            rows,
            messages: None,
            request: None,
            hash_ok: None,
            missing: None,
            spans: None,
        };
        if let Some(RenderedCall { body, hash_ok, spans, missing }) = rendered {
            out.spans = with_spans.then(|| spans.iter().map(SpanOut::from).collect());
            out.messages = body.as_deref().and_then(messages_of);
            (out.request, out.hash_ok, out.missing) = (body, Some(hash_ok), missing);
        }
        Ok(out)
    }
}

/// The messages of a request, in whosever format it is.
fn messages_of(request: &str) -> Option<Box<RawValue>> {
    #[derive(Deserialize)]
    struct Request {
        messages: Box<RawValue>,
    }
    serde_json::from_str(request).ok().map(|Request { messages }| messages)
}
