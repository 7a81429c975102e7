//! Packing a context on the wire (PK-01, PK-21, API-09).

use crate::{ErrorCode, parse};
use cardwire_kernel::{
    Preflight, WouldPack,
    protocol::handover::{
        Handover,
        pack::{PackContext, Packed, Reach, Required},
    },
};
use cardwire_model::{CanonicalJson, Invalid, Origin};
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A context to pack.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PackIn {
    /// The tool that packs; the author of the cards it makes.
    #[schema(min_length = 1, max_length = 128)]
    pub tool_suffix: String,
    /// Who hands over.
    #[serde(default)]
    #[schema(pattern = "^[A-Za-z0-9_-]{1,128}$")]
    pub source_agent_id: Option<String>,
    /// By name: an object.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub arguments: Option<Box<RawValue>>,
    /// The rules: `target_profile_config` and `context_packing_config`.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub handover: Option<Box<RawValue>>,
}

impl PackIn {
    /// The command of an operator, who may hand over any box of the project.
    pub fn into_command(self) -> Result<PackContext, Invalid> {
        let arguments = match &self.arguments {
            Some(raw) => parse::canonical("arguments", raw)?.to_value(),
            None => Value::Object(serde_json::Map::new()),
        };
        let Value::Object(arguments) = arguments else {
            return Err(Invalid::field("arguments", "must be an object"));
        };
        let handover = match &self.handover {
            Some(raw) => parse::canonical("handover", raw)?,
            None => CanonicalJson::empty_object(),
        };
        Ok(PackContext {
            tool_suffix: self.tool_suffix,
            source_agent: parse::given("source_agent_id", self.source_agent_id.as_deref())?,
            arguments,
            handover: Handover::parse(&handover)?,
            required: Required::default(),
            reach: Reach::Project,
            origin: Origin::Operator,
        })
    }
}

/// A packed context; with `dry_run`, what would be packed.
#[derive(Debug, Serialize, ToSchema)]
pub struct PackOut {
    /// The new box; null when nothing was written.
    #[schema(required)]
    pub context_box_id: Option<String>,
    /// The box of the profile it is for.
    pub target_profile_box_id: String,
    /// What the box shows, in order; with `dry_run`, only cards that are there already.
    pub attached_card_ids: Vec<String>,
    /// With `dry_run` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preflight: Option<PreflightOut>,
}

impl From<&Packed> for PackOut {
    fn from(packed: &Packed) -> Self {
        Self {
            context_box_id: Some(packed.context_box.to_string()),
            target_profile_box_id: packed.profile_box.to_string(),
            attached_card_ids: packed.cards.iter().map(|card| card.card_id.to_string()).collect(),
            preflight: None,
        }
    }
}

/// What would be packed (PK-21).
#[derive(Debug, Serialize, ToSchema)]
pub struct PreflightOut {
    /// Nothing is missing, nothing denied, and the request could be sent.
    pub ok: bool,
    /// One entry per card, in box order.
    pub cards: Vec<WouldPackOut>,
    /// Boxes that are not there.
    pub missing_box_ids: Vec<String>,
    /// Boxes that were not handed to the caller.
    pub denied_box_ids: Vec<String>,
    /// About how long the request would be.
    pub tokens: TokensOut,
    /// Tokens that the target's model takes; null when its profile does not tell.
    #[schema(required)]
    pub window: Option<u32>,
    /// What of that is kept free for the answer.
    pub reserve: u32,
    /// The whole request and the reserve fit into the window.
    pub fits: bool,
    /// Tokens that would be left out to make it fit.
    pub omitted_tokens: u64,
    /// The composed request could be sent.
    pub valid: bool,
    /// Why not; null when it could.
    #[schema(required)]
    pub problem: Option<ProblemOut>,
}

/// Why a request could not be sent.
#[derive(Debug, Serialize, ToSchema)]
pub struct ProblemOut {
    /// The code that the call would be refused with.
    pub code: &'static str,
    /// In words.
    pub message: String,
}

/// Token estimates by layer.
#[derive(Debug, Serialize, ToSchema)]
pub struct TokensOut {
    /// The profile.
    pub profile: u64,
    /// The packed box.
    pub context: u64,
    /// Both.
    pub total: u64,
    /// The composed request by layer, before anything is left out.
    pub layers: BTreeMap<&'static str, u64>,
}

/// A card that would be packed.
#[derive(Debug, Serialize, ToSchema)]
pub struct WouldPackOut {
    /// Which card; null when it would be made.
    #[schema(required)]
    pub card_id: Option<String>,
    /// `argument`, `box` or `parent`.
    pub origin: &'static str,
    /// Index of the packing rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<u16>,
    /// The box it would be inherited from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub box_id: Option<String>,
    /// Its kind; null when the card is deleted or expired.
    #[schema(required)]
    pub r#type: Option<String>,
    /// Its tokens, about.
    pub tokens: u64,
}

impl From<&WouldPack> for WouldPackOut {
    fn from(would: &WouldPack) -> Self {
        let (origin, rule) = would.packed.source.origin();
        Self {
            card_id: (!would.is_new).then(|| would.packed.card_id.to_string()),
            origin,
            rule,
            box_id: would.packed.from.map(|id| id.to_string()),
            r#type: would.card_type.clone(),
            tokens: would.tokens,
        }
    }
}

impl From<&Preflight> for PreflightOut {
    fn from(preflight: &Preflight) -> Self {
        let context: u64 = preflight.cards.iter().map(|would| would.tokens).sum();
        let (profile, request) = (preflight.profile_tokens, &preflight.request);
        let problem = request.problem.as_ref().map(|problem| ProblemOut {
            code: ErrorCode::from(problem).as_str(),
            message: problem.to_string(),
        });
        Self {
            ok: preflight.missing.is_empty() && preflight.denied.is_empty() && problem.is_none(),
            cards: preflight.cards.iter().map(WouldPackOut::from).collect(),
            missing_box_ids: preflight.missing.iter().map(ToString::to_string).collect(),
            denied_box_ids: preflight.denied.iter().map(ToString::to_string).collect(),
            tokens: TokensOut {
                profile,
                context,
                total: profile + context,
                layers: request.layers.iter().map(|(layer, tokens)| (layer.as_str(), *tokens)).collect(),
            },
            window: request.window,
            reserve: request.reserve,
            fits: request.fits(),
            omitted_tokens: request.omitted,
            valid: problem.is_none(),
            problem,
        }
    }
}

impl From<&Preflight> for PackOut {
    fn from(preflight: &Preflight) -> Self {
        let there = preflight.cards.iter().filter(|would| !would.is_new);
        Self {
            context_box_id: None,
            target_profile_box_id: preflight.profile_box.to_string(),
            attached_card_ids: there.map(|would| would.packed.card_id.to_string()).collect(),
            preflight: Some(preflight.into()),
        }
    }
}
