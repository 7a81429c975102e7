//! What a turn was handed, on the wire (PK-19, PK-21).

use crate::{boxes::CardProvenance, handover::PreflightOut};
use cardwire_kernel::{
    Handed, Now, Packing,
    protocol::handover::{Handover, Order},
};
use serde::Serialize;
use utoipa::ToSchema;

/// What a turn was handed.
#[derive(Debug, Serialize, ToSchema)]
pub struct HandedOut {
    /// The turn.
    pub agent_turn_id: String,
    /// Whose.
    pub agent_id: String,
    /// Its context.
    pub context_box_id: String,
    /// The cards of the context, in order.
    pub cards: Vec<HandedCardOut>,
    /// The last call of a model that the turn has made, for `context:why`; null before the first.
    #[schema(required)]
    pub call_id: Option<String>,
    /// How the context was packed; null when the turn was sent without a handover.
    #[schema(required)]
    pub packing: Option<PackingOut>,
}

/// A card of a context.
#[derive(Debug, Serialize, ToSchema)]
pub struct HandedCardOut {
    /// Where it comes from.
    #[serde(flatten)]
    pub provenance: CardProvenance,
    /// Whether the same rules would pack it now; absent where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<bool>,
}

/// How a context was packed.
#[derive(Debug, Serialize, ToSchema)]
pub struct PackingOut {
    /// The tool or the recipe.
    pub tool: String,
    /// Who handed over.
    #[schema(required)]
    pub source_agent_id: Option<String>,
    /// In which turn.
    #[schema(required)]
    pub source_agent_turn_id: Option<String>,
    /// By which call.
    #[schema(required)]
    pub tool_call_id: Option<String>,
    /// The card of that call, where the sender's turn has it.
    #[schema(required)]
    pub call_card_id: Option<String>,
    /// The profile that the box was packed for.
    pub profile_name: String,
    /// The hash of the rules as they were.
    #[schema(required)]
    pub handover_hash: Option<String>,
    /// The rules as they are now; null where they are not known.
    #[schema(required)]
    pub rules: Option<RulesOut>,
    /// Whether these are the rules that the box was packed by; null where that is not known.
    #[schema(required)]
    pub rules_hold: Option<bool>,
    /// How many cards the sender's turn knew when it handed over; null when no turn has sent it.
    #[schema(required)]
    pub known: Option<usize>,
    /// How many of them it did not hand over.
    pub withheld: usize,
    /// The first 500 of these.
    pub withheld_card_ids: Vec<String>,
    /// What the same rules would pack now; null where that is not known, or would be refused.
    #[schema(required)]
    pub preflight: Option<PreflightOut>,
    /// Why they would pack nothing now.
    #[schema(required)]
    pub problem: Option<String>,
}

/// The rules of a handover.
#[derive(Debug, Serialize, ToSchema)]
pub struct RulesOut {
    /// Arguments that become cards.
    pub pack_arguments: Vec<RuleOut>,
    /// Arguments that name boxes to inherit.
    pub include_boxes_from_args: Vec<String>,
    /// The context ends with a pointer to the sender.
    pub include_parent: bool,
    /// `args_first` or `inherit_first`.
    pub order: &'static str,
}

/// An argument that becomes a card.
#[derive(Debug, Serialize, ToSchema)]
pub struct RuleOut {
    /// Its place among the rules.
    pub rule: u16,
    /// Which argument.
    pub arg_key: String,
    /// The type of the card.
    pub as_card_type: String,
}

impl From<&Handover> for RulesOut {
    fn from(handover: &Handover) -> Self {
        let rule = |rule: &cardwire_kernel::protocol::handover::PackRule| RuleOut {
            rule: rule.index,
            arg_key: rule.arg_key.clone(),
            as_card_type: rule.card_type.clone(),
        };
        Self {
            pack_arguments: handover.pack.iter().map(rule).collect(),
            include_boxes_from_args: handover.inherit.clone(),
            include_parent: handover.include_parent,
            order: match handover.order {
                Order::ArgumentsFirst => "args_first",
                Order::InheritFirst => "inherit_first",
            },
        }
    }
}

impl From<&Handed> for HandedOut {
    fn from(handed: &Handed) -> Self {
        let again = handed.packed.as_ref().and_then(|packed| packed.compared(&handed.context));
        let again = |place: usize| again.as_ref().and_then(|compared| compared.again.get(place).copied());
        let cards = handed.context.provenance().iter().enumerate();
        Self {
            agent_turn_id: handed.item.turn_id.to_string(),
            agent_id: handed.item.agent_id.to_string(),
            context_box_id: handed.context.head.box_id.to_string(),
            cards: cards
                .map(|(place, shown)| HandedCardOut {
                    provenance: CardProvenance::new(shown),
                    again: again(place),
                })
                .collect(),
            call_id: handed.call.map(|call| call.to_string()),
            packing: handed.packed.as_ref().map(|packed| PackingOut::new(handed, packed)),
        }
    }
}

impl PackingOut {
    fn new(handed: &Handed, packed: &Packing) -> Self {
        let recorded = &packed.recorded;
        let (preflight, problem) = match &packed.now {
            Now::Would(would) => (Some(PreflightOut::from(would.as_ref())), None),
            Now::Refused(rejection) => (None, Some(rejection.to_string())),
            Now::Unknown => (None, None),
        };
        Self {
            tool: recorded.tool.clone(),
            source_agent_id: recorded.source_agent.as_ref().map(ToString::to_string),
            source_agent_turn_id: handed.item.parent_turn.map(|turn| turn.to_string()),
            tool_call_id: handed.item.parent_call.clone(),
            call_card_id: packed.call_card.map(|card| card.to_string()),
            profile_name: recorded.profile_name.clone(),
            handover_hash: handed.context.head.handover_hash.map(|hash| hash.to_string()),
            rules: packed.rules.as_ref().map(RulesOut::from),
            rules_hold: packed.rules_hold(&handed.context),
            known: packed.known,
            withheld: packed.withheld,
            withheld_card_ids: packed.withheld_cards.iter().map(ToString::to_string).collect(),
            preflight,
            problem,
        }
    }
}
