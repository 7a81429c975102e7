//! What a turn was handed: the fact, what was withheld, and a dry run of the same rules now.

use super::{ROWS, shown};
use crate::{
    error::{Answer, ApiError},
    http,
    inspect::{
        answer, gather,
        visit::{Format, Visit},
    },
};
use cardwire_api::parse;
use cardwire_inspector::{Section, markdown, pages::handover as page};
use cardwire_kernel::{
    Handed, Now, Packing, Preflight,
    protocol::{
        facts::flatten::Shown,
        handover::{Handover, Order},
    },
};
use cardwire_model::{CardId, EntrySource, TurnId};

/// The handover of a turn.
pub(in crate::inspect) async fn show(visit: Visit, id: &str) -> Answer {
    let turn: TurnId = parse::one("turn", id)?;
    if visit.format == Format::Json {
        return http::survey::handed(visit.api(&[("agent_turn_id", id)], &[])).await;
    }
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let handed = kernel.handed(project, &visit.request.caller()?, turn).await?;
    let view = view_of(&visit, &handed).await?;
    if visit.format == Format::Markdown {
        return Ok(answer::markdown(markdown::handover(&view)));
    }
    let title = match view.packed.as_ref().map(|packed| packed.sender.as_deref()) {
        Some(Some(sender)) => format!("What {sender} knew, and what {} was given", view.agent),
        Some(None) => format!("What {} was given, and by which rules", view.agent),
        None => format!("What {} was given, without a handover", view.agent),
    };
    let way =
        vec![(view.agent.clone(), Some(visit.link(&format!("/turns/{id}")))), ("handover".to_owned(), None)];
    Ok(answer::html(page::show(&visit.frame(Section::Runs, title, way), &view)))
}

async fn view_of(visit: &Visit, handed: &Handed) -> Result<page::Handover, ApiError> {
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let (context, packed) = (&handed.context, handed.packed.as_ref());
    let ids: Vec<CardId> = context.card_ids().take(ROWS).collect();
    let cards = gather::cards(kernel, project, &ids).await?;
    let rules = packed.filter(|packed| packed.rules_hold(context) == Some(true));
    let rules = rules.and_then(|packed| packed.rules.as_ref());
    let again = packed.and_then(|packed| packed.compared(context)).map(|compared| compared.again);
    let given = |(place, entry): (usize, &Shown)| page::Given {
        card: cards.get(&entry.card_id).filter(|card| card.is_visible(visit.now)).map(|card| shown(card)),
        from: origin(entry, rules),
        again: again.as_ref().and_then(|again| again.get(place).copied()),
    };
    let given: Vec<page::Given> = context.provenance().iter().take(ROWS).enumerate().map(given).collect();
    let total = context.provenance().len();
    Ok(page::Handover {
        turn: handed.item.turn_id.to_string(),
        agent: gather::name(kernel, project, &handed.item.agent_id).await?,
        context: context.head.box_id.to_string(),
        tokens: given.iter().filter_map(|given| given.card.as_ref()).map(|card| card.tokens).sum(),
        given,
        given_total: total as u64,
        packed: match packed {
            Some(packed) => Some(packing(visit, handed, packed).await?),
            None => None,
        },
        more: (total > ROWS).then(|| visit.link(&format!("/boxes/{}", context.head.box_id))),
        at: context.head.created_at,
        now: visit.now,
    })
}

fn origin(entry: &Shown, rules: Option<&Handover>) -> page::Origin {
    match (entry.source, entry.from) {
        (EntrySource::Argument(rule), _) => {
            let known = rules.and_then(|rules| rules.pack.iter().find(|known| known.index == rule));
            page::Origin::Argument { name: known.map(|known| known.arg_key.clone()), rule }
        }
        (EntrySource::Inherited | EntrySource::Copied(..), Some((id, generation))) => {
            page::Origin::Box { id: id.to_string(), generation: generation.get() }
        }
        (EntrySource::Parent, _) => page::Origin::Parent,
        (EntrySource::Direct | EntrySource::Inherited | EntrySource::Copied(..), _) => page::Origin::Direct,
    }
}

async fn packing(visit: &Visit, handed: &Handed, packed: &Packing) -> Result<page::Packed, ApiError> {
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let recorded = &packed.recorded;
    let kept: Vec<CardId> = packed.withheld_cards.iter().copied().take(ROWS).collect();
    let cards = gather::cards(kernel, project, &kept).await?;
    let why = |card: CardId| handed.call.map(|call| visit.link(&format!("/why?call={call}&card={card}")));
    let withheld =
        kept.iter().filter_map(|id| Some(page::Withheld { card: shown(cards.get(id)?), why: why(*id) }));
    let sender = match &recorded.source_agent {
        Some(agent) => Some(gather::name(kernel, project, agent).await?),
        None => None,
    };
    Ok(page::Packed {
        sender,
        sender_turn: handed.item.parent_turn.map(|turn| turn.to_string()),
        tool: recorded.tool.clone(),
        is_recipe: !recorded.is_built_in() && packed.rules.is_some(),
        call: packed.call_card.map(|card| card.to_string()),
        profile: recorded.profile_name.clone(),
        rules: packed.rules.as_ref().map(rules).unwrap_or_default(),
        rules_hold: packed.rules_hold(&handed.context),
        known: packed.known.map(|known| known as u64),
        withheld: withheld.collect(),
        withheld_total: packed.withheld as u64,
        because: because(packed),
        again: match &packed.now {
            Now::Would(would) => again(visit, handed, packed, would).await?,
            Now::Refused(rejection) => page::Again::Refused(rejection.to_string()),
            Now::Unknown => page::Again::Unknown(unknown(packed).to_owned()),
        },
        audit: packed.audit_seq,
    })
}

/// The rules of a handover as sentences.
pub(super) fn rules(handover: &Handover) -> Vec<String> {
    let mut told: Vec<String> = handover
        .pack
        .iter()
        .map(|rule| {
            format!("Rule {}: the argument {} becomes a card {}.", rule.index, rule.arg_key, rule.card_type)
        })
        .collect();
    let boxes = handover
        .inherit
        .iter()
        .map(|name| format!("The boxes that {name} names are inherited by reference."));
    match handover.order {
        Order::ArgumentsFirst => told.extend(boxes),
        Order::InheritFirst => told = boxes.chain(told).collect(),
    }
    if handover.include_parent {
        told.push("Last comes a pointer to the sender.".to_owned());
    }
    told
}

/// Why cards were not handed over, and what hands them over.
fn because(packed: &Packing) -> String {
    let tool = &packed.recorded.tool;
    let inherits = !packed.recorded.inherited.is_empty();
    let fact = match inherits {
        true => format!(
            "{tool} hands on its arguments and the boxes that the call names; these cards are in none of them."
        ),
        false => format!("{tool} hands on its arguments, and the call named no box."),
    };
    let advice = match packed.recorded.is_built_in() {
        true => "To pass them, name a box that holds them as context_box_id of the call.",
        false => "To pass them, name a box that holds them by an argument of the recipe's inherit_context.",
    };
    format!("{fact} {advice}")
}

fn unknown(packed: &Packing) -> &'static str {
    match &packed.rules {
        Some(_) => "The recipe was rewritten since, and the call's arguments are kept by no turn.",
        None => {
            "The rules came with the request, or their recipe is gone, so that nothing can be packed by them."
        }
    }
}

async fn again(
    visit: &Visit,
    handed: &Handed,
    packed: &Packing,
    would: &Preflight,
) -> Result<page::Again, ApiError> {
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let only_now = packed.compared(&handed.context).map(|compared| compared.only_now).unwrap_or_default();
    let ids: Vec<CardId> =
        only_now.iter().filter_map(|place| would.cards.get(*place)).map(|one| one.packed.card_id).collect();
    let first: Vec<CardId> = ids.iter().copied().take(ROWS).collect();
    let cards = gather::cards(kernel, project, &first).await?;
    let request = &would.request;
    Ok(page::Again::Would {
        cards: would.cards.len() as u64,
        tokens: would.cards.iter().map(|card| card.tokens).sum(),
        only_now: first.iter().filter_map(|id| cards.get(id)).map(|card| shown(card)).collect(),
        only_now_total: ids.len() as u64,
        missing: would.missing.iter().map(ToString::to_string).collect(),
        fits: request.window.map(|_| request.fits()),
        problem: request.problem.as_ref().map(ToString::to_string),
    })
}
