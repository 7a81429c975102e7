//! The lists of a session: boxes to which named items are added, each name once. A second item of a name takes the place
//! of the first (ST-03, ST-04).

use super::State;
use crate::{Moment, Rejection, facts::plain_box};
use cardwire_model::{
    BoxId, CanonicalJson, Card, CardDraft, CardId, Expect, Generation, Hash256, Invalid, Origin, Segment,
    Speaker, Write, limits,
};
use serde_json::Value;
use std::collections::HashMap;

/// A card of a list, as far as a decision must know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The card.
    pub card_id: CardId,
    /// What it is called in its list.
    pub name: Option<String>,
    /// Equal facts have equal hashes.
    pub fact_hash: Hash256,
    /// Who speaks.
    pub speaker: Speaker,
    /// It is a message, not the summary that stands before them.
    pub is_message: bool,
    /// Compaction leaves it alone.
    pub pinned: bool,
    /// Ids of the tool calls it makes.
    pub calls: Vec<String>,
    /// The tool call it answers.
    pub answers: Option<String>,
}

impl From<&Card> for Held {
    fn from(card: &Card) -> Self {
        let metadata = card.metadata.to_value();
        let name = ["message_id", "task_id"].iter().find_map(|key| metadata.get(key)?.as_str());
        Self {
            card_id: card.id,
            name: name.map(str::to_owned),
            fact_hash: card.fact_hash,
            speaker: card.role.into(),
            is_message: card.kind.as_str() == super::message::KIND,
            pinned: metadata.get("pinned").and_then(Value::as_bool).unwrap_or(false),
            calls: card.tool_calls.as_ref().map_or_else(Vec::new, call_ids),
            answers: card.tool_call_id.clone(),
        }
    }
}

/// Ids of a list of tool calls, in either spelling.
pub(super) fn call_ids(calls: &CanonicalJson) -> Vec<String> {
    let calls = calls.to_value();
    let id = |call: &Value| {
        let id = call.get("id").or_else(|| call.get("tool_call_id"))?;
        id.as_str().map(str::to_owned)
    };
    calls.as_array().into_iter().flatten().filter_map(id).collect()
}

/// A new item.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// What it is called; unnamed items never meet.
    pub(super) name: Option<String>,
    /// The member of the metadata that keeps the name.
    pub(super) name_key: &'static str,
    pub(super) draft: CardDraft,
    /// Who brought it (SEC-10).
    pub(super) origin: Origin,
}

impl Item {
    /// The card. An unnamed item is called by its card's id, so that a client can name it later.
    fn card(&self, id: CardId, moment: &Moment) -> Result<Card, Invalid> {
        let mut metadata = self.draft.metadata.to_value();
        let name = self.name.clone().unwrap_or_else(|| id.to_string());
        metadata[self.name_key] = name.into();
        let draft = CardDraft { metadata: CanonicalJson::from_value(&metadata)?, ..self.draft.clone() };
        draft.into_card(id, self.origin, moment.now)
    }
}

/// What becomes of a list.
#[derive(Debug, Default)]
pub(super) struct Listed {
    pub(super) writes: Vec<Write>,
    pub(super) expect: Vec<Expect>,
    /// How far it reaches now.
    pub(super) reach: Option<Segment>,
    /// Items that are new or were replaced.
    pub(super) changed: usize,
    /// Items that are new; of a list that was replaced, all of them.
    pub(super) added: u32,
}

/// Adds items. `held` is needed when one of them may be there already.
pub(super) fn append(
    state: &State,
    list: &'static str,
    reach: Option<Segment>,
    held: Option<&[Held]>,
    items: &[Item],
    moment: &Moment,
) -> Result<Listed, Rejection> {
    let there = held.unwrap_or_default();
    let mut places: HashMap<String, Place> = there
        .iter()
        .enumerate()
        .filter_map(|(index, held)| Some((held.name.clone()?, Place::Held(index))))
        .collect();
    let (mut new, mut replaced): (Vec<Card>, HashMap<usize, Card>) = (vec![], HashMap::new());
    for item in items {
        let card = item.card(fresh_or_named(state, list, item, moment), moment)?;
        let place = item.name.as_ref().and_then(|name| places.get(name)).copied();
        match place {
            None => {
                if let Some(name) = &item.name {
                    places.insert(name.clone(), Place::New(new.len()));
                }
                new.push(card);
            }
            // Said twice in one patch: the later one counts.
            Some(Place::New(index)) => new[index] = Card { id: new[index].id, ..card },
            Some(Place::Held(index)) if there[index].fact_hash == card.fact_hash => {
                replaced.remove(&index);
            }
            Some(Place::Held(index)) => drop(replaced.insert(index, card)),
        }
    }
    let changed = new.len() + replaced.len();
    let mut listed = Listed { reach, changed, added: new.len() as u32, ..Listed::default() };
    if changed == 0 {
        return Ok(listed);
    }
    let added: Vec<CardId> = new.iter().map(|card| card.id).collect();
    let put = |card: Card| Write::PutCard(Box::new(card));
    if replaced.is_empty() && !(is_closed(state, reach) && held.is_some()) {
        listed.writes.extend(new.into_iter().map(put));
        listed.grow(state, list, added, moment)?;
        return Ok(listed);
    }
    let instead = |(index, held): (usize, &Held)| replaced.get(&index).map_or(held.card_id, |card| card.id);
    let all: Vec<CardId> = there.iter().enumerate().map(instead).chain(added).collect();
    listed.writes.extend(new.into_iter().chain(replaced.into_values()).map(put));
    listed.rewrite(state, list, &all, moment)?;
    Ok(listed)
}

/// Adds items of which none is there yet: the first before the one at `place`, the others at the end.
pub(super) fn append_around(
    state: &State,
    list: &'static str,
    reach: Option<Segment>,
    (held, place): (&[Held], usize),
    items: &[Item],
    moment: &Moment,
) -> Result<Listed, Rejection> {
    let new = items.iter().map(|item| item.card(fresh_or_named(state, list, item, moment), moment));
    let new: Vec<Card> = new.collect::<Result<_, _>>()?;
    let mut all: Vec<CardId> = held.iter().map(|held| held.card_id).collect();
    let mut ids = new.iter().map(|card| card.id);
    all.splice(place..place, ids.next());
    all.extend(ids);
    let mut listed = Listed { reach, changed: new.len(), added: new.len() as u32, ..Listed::default() };
    listed.writes.extend(new.into_iter().map(|card| Write::PutCard(Box::new(card))));
    listed.rewrite(state, list, &all, moment)?;
    Ok(listed)
}

/// Replaces the whole list. Items that are there already keep their cards.
pub(super) fn replace(
    state: &State,
    list: &'static str,
    reach: Option<Segment>,
    held: &[Held],
    items: &[Item],
    moment: &Moment,
) -> Result<Listed, Rejection> {
    let there: HashMap<&str, &Held> =
        held.iter().filter_map(|held| Some((held.name.as_deref()?, held))).collect();
    let mut listed = Listed { reach, ..Listed::default() };
    let mut all: Vec<CardId> = held.iter().filter(|held| !held.is_message).map(|held| held.card_id).collect();
    let others = all.len();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut new: HashMap<CardId, Card> = HashMap::new();
    for item in items {
        let card = item.card(fresh_or_named(state, list, item, moment), moment)?;
        let kept = item.name.as_deref().and_then(|name| there.get(name));
        let id = match kept {
            Some(held) if held.fact_hash == card.fact_hash => held.card_id,
            Some(_) | None => {
                let id = card.id;
                new.insert(id, card);
                id
            }
        };
        match item.name.as_deref().and_then(|name| places.get(name)) {
            Some(place) => all[*place] = id,
            None => {
                if let Some(name) = item.name.as_deref() {
                    places.insert(name, all.len());
                }
                all.push(id);
            }
        }
    }
    let new: Vec<Card> = all.iter().filter_map(|id| new.remove(id)).collect();
    listed.changed = items.len().max(held.len());
    listed.added = (all.len() - others) as u32;
    listed.writes.extend(new.into_iter().map(|card| Write::PutCard(Box::new(card))));
    listed.rewrite(state, list, &all, moment)?;
    Ok(listed)
}

#[derive(Debug, Clone, Copy)]
enum Place {
    Held(usize),
    New(usize),
}

/// The derived id, unless a card has it already.
fn fresh_or_named(state: &State, list: &str, item: &Item, moment: &Moment) -> CardId {
    let named = item.name.as_deref().map(|name| super::named_card(state, list, name));
    let free = named.filter(|id| !state.known.contains_key(id));
    free.unwrap_or_else(|| CardId::from_uuid(moment.fresh.uuid()))
}

impl Listed {
    /// More cards at the end, of a new box if there is none yet.
    fn grow(
        &mut self,
        state: &State,
        list: &str,
        cards: Vec<CardId>,
        moment: &Moment,
    ) -> Result<(), Rejection> {
        let count = cards.len() as u32;
        let Some(reach) = self.reach else {
            let (reach, write) = new_box(list, &cards, moment)?;
            self.reach = Some(reach);
            self.writes.push(write);
            return Ok(());
        };
        let len = real_len(state, reach);
        check_len(list, (len + count) as usize)?;
        let Segment { box_id, generation, .. } = reach;
        self.expect.push(Expect::OpenBox { box_id, generation, min_len: len, max_len: len });
        self.writes.push(Write::AppendCards { box_id, generation, cards });
        self.reach = Some(Segment { len: len + count, ..reach });
        Ok(())
    }

    /// Other cards, as a new generation of the box.
    fn rewrite(
        &mut self,
        state: &State,
        list: &str,
        cards: &[CardId],
        moment: &Moment,
    ) -> Result<(), Rejection> {
        let Some(reach) = self.reach.filter(|reach| !is_closed(state, Some(*reach))) else {
            let (reach, write) = new_box(list, cards, moment)?;
            self.reach = Some(reach);
            self.writes.push(write);
            return Ok(());
        };
        check_len(list, cards.len())?;
        let len = real_len(state, reach);
        let Segment { box_id, generation, .. } = reach;
        self.expect.push(Expect::OpenBox { box_id, generation, min_len: len, max_len: len });
        let new = plain_box(box_id, generation.next(), cards, moment.now);
        self.reach = Some(Segment { box_id, generation: new.head.generation, len: new.head.len });
        self.writes.push(Write::RewriteBox(new));
        Ok(())
    }
}

/// Somebody has sealed the box or rewritten it, e.g. by giving it to a turn: the list goes on in another one.
pub fn is_closed(state: &State, reach: Option<Segment>) -> bool {
    let head = reach.and_then(|reach| Some((reach, state.heads.get(&reach.box_id)?)));
    head.is_some_and(|(reach, head)| head.sealed || head.generation != reach.generation)
}

/// How many cards the box shows: what the checkpoint says, unless somebody else has written to it.
fn real_len(state: &State, reach: Segment) -> u32 {
    let head = state.heads.get(&reach.box_id).filter(|head| head.generation == reach.generation);
    head.map_or(reach.len, |head| head.len)
}

/// A box with these cards.
pub(super) fn new_box(list: &str, cards: &[CardId], moment: &Moment) -> Result<(Segment, Write), Rejection> {
    check_len(list, cards.len())?;
    let new = plain_box(BoxId::from_uuid(moment.fresh.uuid()), Generation::FIRST, cards, moment.now);
    let reach = Segment { box_id: new.head.box_id, generation: new.head.generation, len: new.head.len };
    Ok((reach, Write::CreateBox(new)))
}

fn check_len(list: &str, len: usize) -> Result<(), Invalid> {
    Invalid::check_size(list, len, limits::BOX_CARDS, "cards")
}
