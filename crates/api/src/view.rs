//! What a turn sees, on the wire (CB-15, CB-17, WK-02..WK-04).

use cardwire_kernel::{TurnView, protocol::turn::view};
use cardwire_model::{CanonicalJson, Card};
use serde::Serialize;
use utoipa::ToSchema;

/// What a turn sees.
#[derive(Debug, Serialize, ToSchema)]
pub struct ViewOut {
    /// Which turn.
    pub agent_turn_id: String,
    /// Its epoch; null before it is leased.
    #[schema(required)]
    pub turn_epoch: Option<u64>,
    /// What it was given.
    pub context_box_id: String,
    /// Where it writes.
    pub output_box_id: String,
    /// What the agent is told to be, followed by the fields that its deliverable must have.
    pub system_prompt: String,
    /// Every card it sees, in order.
    pub card_ids: Vec<String>,
    /// What a model is sent of them, in order.
    pub messages: Vec<MessageOut>,
    /// What is asked: the instruction that the turn was given, not one that it inherited.
    #[schema(required)]
    pub instruction_card_id: Option<String>,
    /// What the deliverable must have: the latest `task.result_fields` in view, which is no message.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub result_fields: Option<CanonicalJson>,
}

/// One message.
#[derive(Debug, Serialize, ToSchema)]
pub struct MessageOut {
    /// The card it is made of.
    pub card_id: String,
    /// What the card is.
    pub r#type: String,
    /// `system`, `user`, `assistant` or `tool`.
    pub role: &'static str,
    /// What it says.
    #[schema(value_type = serde_json::Value)]
    pub content: CanonicalJson,
    /// Tool calls of an assistant message.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub tool_calls: Option<CanonicalJson>,
    /// Which tool call a result answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// Who said it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author_id: Option<String>,
    /// Who brought it: `operator`, `agent`, `tool` or `external` (SEC-10).
    pub origin: &'static str,
    /// Something in the card looks like a credential.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub suspected_credential: bool,
}

impl From<&Card> for MessageOut {
    fn from(card: &Card) -> Self {
        Self {
            card_id: card.id.to_string(),
            r#type: card.kind.as_str().to_owned(),
            role: card.role.as_str(),
            content: card.content.clone(),
            tool_calls: card.tool_calls.clone(),
            tool_call_id: card.tool_call_id.clone(),
            author_id: card.author_id.clone(),
            origin: card.origin.as_str(),
            suspected_credential: card.credential,
        }
    }
}

impl From<&TurnView> for ViewOut {
    fn from(seen: &TurnView) -> Self {
        let is_message = |card: &&Card| view::is_message(&card.kind);
        let cards = || seen.cards.iter().map(AsRef::as_ref);
        Self {
            agent_turn_id: seen.item.turn_id.to_string(),
            turn_epoch: seen.item.epoch.map(|epoch| epoch.get()),
            context_box_id: seen.context_box.to_string(),
            output_box_id: seen.output_box.to_string(),
            system_prompt: seen.system_prompt.clone(),
            card_ids: cards().map(|card| card.id.to_string()).collect(),
            messages: cards().filter(is_message).map(MessageOut::from).collect(),
            instruction_card_id: seen.instruction.map(|id| id.to_string()),
            result_fields: view::result_fields(seen.cards.iter()).map(|card| card.content.clone()),
        }
    }
}
