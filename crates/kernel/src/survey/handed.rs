//! What a turn was handed, what its sender knew and kept, and what the same rules would pack now (PK-19, PK-21).

use crate::{BoxView, Caller, Kernel, KernelError, Preflight, WouldPack};
use cardwire_model::{
    AuditAction, BoxId, CardId, EntrySource, InboxItem, ProjectId, Realm, ResourceKind, TurnId, TurnPayload,
    limits,
};
use cardwire_protocol::{
    Rejection,
    facts::flatten::Shown,
    handover::{Handover, again::Recorded, recipe::Recipe},
    turn::{append::called, view},
};
use cardwire_store::RowFilter;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};

/// What a turn was handed.
#[derive(Debug, Clone)]
pub struct Handed {
    /// The turn.
    pub item: InboxItem,
    /// Its context.
    pub context: BoxView,
    /// The last call of a model that the turn has made.
    pub call: Option<CardId>,
    /// How the context was packed; nothing when it was put together by hand.
    pub packed: Option<Packing>,
}

/// How a context was packed.
#[derive(Debug, Clone)]
pub struct Packing {
    /// What the audit log tells.
    pub recorded: Recorded,
    /// The row of the audit log.
    pub audit_seq: u64,
    /// The card of the call that handed over, where the sender's turn has it.
    pub call_card: Option<CardId>,
    /// The rules as they are now, where they are known.
    pub rules: Option<Handover>,
    /// How many cards the sender's turn knew when it handed over; nothing when no turn has sent it.
    pub known: Option<usize>,
    /// How many of them it did not hand over.
    pub withheld: usize,
    /// The first of these, in order.
    pub withheld_cards: Vec<CardId>,
    /// What the same rules would pack now.
    pub now: Now,
}

/// What the rules of a handover would pack now.
#[derive(Debug, Clone)]
pub enum Now {
    /// This.
    Would(Box<Preflight>),
    /// It would be refused.
    Refused(Rejection),
    /// The rules came with the request, or have changed and the arguments are not known.
    Unknown,
}

/// A context as it was packed, held against what would be packed now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compared {
    /// For each card of the context: whether it would be packed again.
    pub again: Vec<bool>,
    /// Places of cards among those of the dry run that were not packed then.
    pub only_now: Vec<usize>,
}

impl Packing {
    /// Whether the rules are the same as then.
    pub fn rules_hold(&self, context: &BoxView) -> Option<bool> {
        Some(self.rules.as_ref()?.hash == context.head.handover_hash?)
    }

    /// Where the fact and the dry run differ.
    pub fn compared(&self, context: &BoxView) -> Option<Compared> {
        match &self.now {
            Now::Would(would) => Some(compare(context.provenance(), &would.cards)),
            Now::Refused(_) | Now::Unknown => None,
        }
    }
}

/// By what two cards are the same: one that is made anew is so by its rule, an inherited one by its id.
#[derive(PartialEq, Eq, Hash)]
enum Place {
    Rule(u16),
    Parent,
    Card(CardId),
}

impl Place {
    fn of(card: CardId, source: EntrySource) -> Self {
        match source {
            EntrySource::Argument(rule) => Self::Rule(rule),
            EntrySource::Parent => Self::Parent,
            EntrySource::Direct | EntrySource::Inherited | EntrySource::Copied(..) => Self::Card(card),
        }
    }
}

fn compare(then: &[Shown], now: &[WouldPack]) -> Compared {
    let of_then: HashSet<Place> = then.iter().map(|shown| Place::of(shown.card_id, shown.source)).collect();
    let place = |would: &WouldPack| Place::of(would.packed.card_id, would.packed.source);
    let of_now: HashSet<Place> = now.iter().map(place).collect();
    Compared {
        again: then.iter().map(|shown| of_now.contains(&Place::of(shown.card_id, shown.source))).collect(),
        only_now: (0..now.len()).filter(|at| !of_then.contains(&place(&now[*at]))).collect(),
    }
}

impl Kernel {
    /// What a turn was handed. Nothing is written.
    pub async fn handed(
        &self,
        project: &ProjectId,
        caller: &Caller,
        turn: TurnId,
    ) -> Result<Handed, KernelError> {
        let item = self.turn_row(project, turn).await?;
        let payload = TurnPayload::from_stored(&item.payload);
        let payload = payload.map_err(|_| Rejection::Conflict("the turn's row is damaged".to_owned()))?;
        let context = self.view_box(project, payload.context_box, None).await?;
        let call = self.last_call(project, turn).await?.map(|(call, _)| call);
        // No index leads to rows of the audit log, so that nothing is looked for where nothing was packed.
        let recorded = match context.head.handover_hash {
            Some(_) => self.recorded_packing(project, payload.context_box).await?,
            None => None,
        };
        let packed = match recorded {
            Some(recorded) => Some(self.packing(project, caller, &item, &context, recorded).await?),
            None => None,
        };
        Ok(Handed { item, context, call, packed })
    }

    /// What the audit log tells of the packing of a box.
    async fn recorded_packing(
        &self,
        project: &ProjectId,
        context: BoxId,
    ) -> Result<Option<(u64, Recorded)>, KernelError> {
        let filter = RowFilter {
            action: Some(AuditAction::ContextPack),
            subject: Some(context.to_string()),
            ..RowFilter::default()
        };
        let row = self.store.audit(&Realm::from(project.clone()), &filter, None, 1).await?.pop();
        Ok(row.and_then(|row| Some((row.seq, Recorded::read(&row.audit.detail.to_value())?))))
    }

    async fn packing(
        &self,
        project: &ProjectId,
        caller: &Caller,
        item: &InboxItem,
        context: &BoxView,
        (audit_seq, recorded): (u64, Recorded),
    ) -> Result<Packing, KernelError> {
        let made = self.call_that_sent(project, item).await?;
        let call_card = made.as_ref().map(|(card, _)| *card);
        let recipe = if recorded.is_built_in() { None } else { self.recipe(project, &recorded.tool).await? };
        let packed = self.made_of_arguments(project, context).await?;
        let known_rules = recipe.as_ref().map(|recipe| recipe.handover.clone());
        let hash = context.head.handover_hash;
        let made = made.and_then(|(_, arguments)| arguments);
        let command = hash.and_then(|hash| recorded.command(hash, &packed, recipe, made));
        let rules = command.as_ref().map(|command| command.handover.clone()).or(known_rules);
        let now = match &command {
            None => Now::Unknown,
            Some(command) => match self.preflight(project, caller, command).await {
                Ok(would) => Now::Would(Box::new(would)),
                Err(KernelError::Rejected(rejection)) => Now::Refused(rejection),
                Err(error) => return Err(error),
            },
        };
        let (known, mut withheld_cards) = match item.parent_turn {
            Some(parent) => {
                let (known, withheld) = self.withheld(project, parent, item, context, call_card).await?;
                (Some(known), withheld)
            }
            None => (None, vec![]),
        };
        let withheld = withheld_cards.len();
        withheld_cards.truncate(limits::PAGE_MAX);
        Ok(Packing { recorded, audit_seq, call_card, rules, known, withheld, withheld_cards, now })
    }

    /// The contents of cards that were made of arguments, with the rules that made them.
    async fn made_of_arguments(
        &self,
        project: &ProjectId,
        context: &BoxView,
    ) -> Result<Vec<(u16, Value)>, KernelError> {
        let by_rule = context.provenance().iter().filter_map(|shown| match shown.source {
            EntrySource::Argument(rule) => Some((shown.card_id, rule)),
            EntrySource::Direct | EntrySource::Inherited | EntrySource::Copied(..) | EntrySource::Parent => {
                None
            }
        });
        let rules: HashMap<CardId, u16> = by_rule.collect();
        let ids: Vec<CardId> = rules.keys().copied().collect();
        let cards = self.get_cards(project, &ids, true).await?;
        Ok(cards.iter().filter_map(|card| Some((*rules.get(&card.id)?, card.content.to_value()))).collect())
    }

    /// The card of the call that sent a turn, and its arguments, where the sender's turn has made it.
    async fn call_that_sent(
        &self,
        project: &ProjectId,
        item: &InboxItem,
    ) -> Result<Option<(CardId, Option<Map<String, Value>>)>, KernelError> {
        let (Some(parent), Some(id)) = (item.parent_turn, &item.parent_call) else { return Ok(None) };
        let calls = self.store.calls(project, parent).await?;
        let found = calls.iter().find(|call| call.tool_call_id == *id).and_then(|call| call.call_card);
        let Some(card) = found else { return Ok(None) };
        let arguments = self.card(project, card).await?.and_then(|card| called(&card, id)?.1);
        Ok(Some((card, arguments)))
    }

    /// A recipe as it is now.
    async fn recipe(&self, project: &ProjectId, name: &str) -> Result<Option<Recipe>, KernelError> {
        let Ok(name) = name.parse() else { return Ok(None) };
        match self.resource(project, ResourceKind::Recipe, &name).await {
            Ok((_, card)) => Ok(Recipe::parse(&card.content).ok()),
            Err(KernelError::Rejected(Rejection::NotFound { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// How many cards a turn knew when it packed a box, and which of them it did not pass on.
    async fn withheld(
        &self,
        project: &ProjectId,
        sender: TurnId,
        item: &InboxItem,
        context: &BoxView,
        call_card: Option<CardId>,
    ) -> Result<(usize, Vec<CardId>), KernelError> {
        let seen = self.turn_view(project, sender, None).await?;
        let given: HashSet<CardId> = context.card_ids().collect();
        let before = seen.cards.iter().filter(|card| {
            card.created_at <= context.head.created_at
                && Some(card.id) != call_card
                // The answer of the call is written with the handover.
                && (item.parent_call.is_none() || card.tool_call_id != item.parent_call)
                && view::is_message(&card.kind)
                // Everybody has a pointer of its own.
                && card.kind.as_str() != "meta.parent_pointer"
        });
        let known: Vec<CardId> = before.map(|card| card.id).collect();
        let withheld = known.iter().copied().filter(|id| !given.contains(id));
        Ok((known.len(), withheld.collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cardwire_protocol::handover::pack::PackedCard;
    use uuid::Uuid;

    fn card(n: u128) -> CardId {
        CardId::from_uuid(Uuid::from_u128(n))
    }

    /// PK-21
    #[test]
    fn what_is_made_anew_is_the_same_by_its_rule_and_what_is_inherited_by_its_id() {
        let shown = |n, source| Shown { card_id: card(n), source, from: None };
        let would = |n, source, is_new| WouldPack {
            packed: PackedCard { card_id: card(n), source, from: None },
            is_new,
            card_type: None,
            tokens: 0,
        };
        let (rule, inherited, parent) = (EntrySource::Argument, EntrySource::Inherited, EntrySource::Parent);
        let then = [
            shown(1, rule(0)),
            shown(2, rule(3)),
            shown(3, inherited),
            shown(4, inherited),
            shown(5, parent),
        ];
        let now = [
            would(91, rule(0), true),
            would(3, inherited, false),
            would(6, inherited, false),
            would(95, parent, true),
        ];
        let compared = compare(&then, &now);
        assert_eq!(compared, Compared { again: vec![true, false, true, false, true], only_now: vec![2] });
    }
}
