//! Pack a context box: arguments become cards, boxes are inherited by reference, a pointer names the parent (PK-01).
//!
//! The one way in which an agent is given anything: what the rules do not name does not travel. All or nothing; where
//! each card came from is kept with the box, and the pack is an audit row of the same commit (PK-19).

use super::{Handover, Order, PackRule, profile};
use crate::{
    Decision, Moment, Rejection,
    decision::own_json,
    facts::{
        fork_box::{copied_from, needs_flat},
        plain_box,
    },
};
use cardwire_model::{
    AgentId, AuditAction, BoxHead, BoxId, CanonicalJson, Card, CardDraft, CardId, Commit, Entry, EntrySource,
    EventKind, Generation, InheritMode, Invalid, Item, NewAudit, NewBox, NewEvent, Origin, Profile,
    ProfileName, ProjectId, Segment, Timestamp, Write, limits,
};
use serde_json::{Map, Value, json};
use std::{collections::HashSet, sync::Arc};

/// What to pack.
#[derive(Debug, Clone)]
pub struct PackContext {
    /// The tool that packs; the author of the cards it makes.
    pub tool_suffix: String,
    /// Who hands over.
    pub source_agent: Option<AgentId>,
    /// By name.
    pub arguments: Map<String, Value>,
    /// The rules.
    pub handover: Handover,
    /// What must be there.
    pub required: Required,
    /// What may be inherited.
    pub reach: Reach,
    /// Where the cards come from.
    pub origin: Origin,
}

/// What a recipe insists on (PK-22).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Required {
    /// Arguments by name.
    pub arguments: Vec<String>,
    /// Kinds of cards, packed or inherited.
    pub card_types: Vec<String>,
    /// Either of the two: an argument of that name, or a card of that kind.
    pub either: Vec<String>,
}

impl Required {
    /// Whether kinds of inherited cards must be known.
    pub fn asks_for_kinds(&self) -> bool {
        !(self.card_types.is_empty() && self.either.is_empty())
    }
}

/// Which boxes the caller may hand on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// An operator's: any box of the project.
    Project,
    /// An agent's: what was handed to it. Nothing at all when the set is empty (W-09).
    HandedOver {
        /// The boxes.
        boxes: HashSet<BoxId>,
        /// What happens to others.
        mode: InheritMode,
    },
}

/// Whom the box is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// What it is.
    pub profile_name: ProfileName,
    /// The box of that profile.
    pub profile_box: BoxId,
}

impl From<&Profile> for Target {
    fn from(profile: &Profile) -> Self {
        Self { profile_name: profile.name.clone(), profile_box: profile.profile_box }
    }
}

/// A box to inherit, as it is now.
#[derive(Debug, Clone)]
pub struct Inherited {
    /// Its head.
    pub head: BoxHead,
    /// The cards it shows.
    pub cards: Vec<CardId>,
    /// Their kinds, if [`Required::asks_for_kinds`].
    pub card_types: HashSet<String>,
    /// A fresh id for a copy of it, which is made if it nests too deep to be referred to.
    pub copy: BoxId,
}

/// A packed box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    /// The new box.
    pub context_box: BoxId,
    /// The box of the profile it is for.
    pub profile_box: BoxId,
    /// What it shows, in order.
    pub cards: Vec<PackedCard>,
}

/// A card of a packed box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedCard {
    /// Which.
    pub card_id: CardId,
    /// Why it is there.
    pub source: EntrySource,
    /// The box it was inherited from.
    pub from: Option<BoxId>,
}

/// A packed box that is not written yet: what a commit needs to make it.
#[derive(Debug, Clone)]
pub struct Assembly {
    /// The cards that are new, in box order.
    pub cards: Vec<Card>,
    /// What it will be.
    pub packed: Packed,
    new_box: NewBox,
    event: NewEvent,
    audit: NewAudit,
}

impl Assembly {
    /// The same with a box that takes no more changes.
    pub fn sealed(mut self) -> Self {
        self.new_box.head.sealed = true;
        self
    }

    /// The head of the box.
    pub fn head(&self) -> &BoxHead {
        &self.new_box.head
    }

    /// Adds everything to a commit.
    pub fn add_to(self, commit: &mut Commit) -> Packed {
        commit.writes.extend(self.cards.into_iter().map(|card| Write::PutCard(Box::new(card))));
        commit.writes.push(Write::CreateBox(self.new_box));
        commit.events.push(self.event);
        commit.audit.push(self.audit);
        self.packed
    }
}

/// The boxes that the arguments name, in order, each once (PK-10, PK-11). Whether all of them are of a type that names a
/// box is told before whether any is there.
pub fn boxes(arguments: &Map<String, Value>, handover: &Handover) -> Result<Vec<BoxId>, Rejection> {
    let mut named = vec![];
    for name in &handover.inherit {
        let wrong = || {
            let reason = format!("inherit_context.{name} must be a box_id or list[box_id]");
            Invalid::field(format!("arguments/{name}"), reason)
        };
        match arguments.get(name) {
            None => {}
            Some(Value::Array(list)) => {
                for element in list {
                    named.push(box_name(element).ok_or_else(wrong)?);
                }
            }
            Some(scalar) => named.push(box_name(scalar).ok_or_else(wrong)?),
        }
    }
    // What names a box that cannot be is not found.
    let parse = |name: String| name.parse::<BoxId>().map_err(|_| no_box(&name));
    let boxes: Vec<BoxId> = named.into_iter().map(parse).collect::<Result<_, _>>()?;
    Ok(crate::facts::distinct(&boxes))
}

/// What one box is called; `None` when the value is of no type that names one.
fn box_name(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned),
        Value::Number(number) if number.is_i64() || number.is_u64() => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// PK-12
pub fn no_box(id: impl ToString) -> Rejection {
    Rejection::not_found("inherit_context: box", id)
}

/// Boxes that the caller may not hand on. A project that only records says no to none.
pub fn denied(reach: &Reach, boxes: &[BoxId]) -> Vec<BoxId> {
    match reach {
        Reach::Project | Reach::HandedOver { mode: InheritMode::Audit, .. } => vec![],
        Reach::HandedOver { mode: InheritMode::Enforce, .. } => outside(reach, boxes),
    }
}

/// Boxes that are out of the caller's reach.
fn outside(reach: &Reach, boxes: &[BoxId]) -> Vec<BoxId> {
    match reach {
        Reach::Project => vec![],
        Reach::HandedOver { boxes: allowed, .. } => {
            boxes.iter().copied().filter(|id| !allowed.contains(id)).collect()
        }
    }
}

/// Packs the box.
pub fn decide(
    project: &ProjectId,
    command: &PackContext,
    target: &Target,
    inherited: &[Arc<Inherited>],
    moment: &Moment,
) -> Result<Decision<Packed>, Rejection> {
    let mut commit = Commit::new(project.clone());
    add_copies(&mut commit, inherited, moment.now);
    let outcome = assemble(command, target, inherited, moment)?.add_to(&mut commit);
    Ok(Decision { commit, outcome })
}

/// Adds the boxes that packed ones refer to instead of those that nest too deep: each once, however many in this commit
/// inherit it (CB-11).
pub fn add_copies<'a>(
    commit: &mut Commit,
    inherited: impl IntoIterator<Item = &'a Arc<Inherited>>,
    now: Timestamp,
) {
    let mut copied = HashSet::new();
    let deep = inherited.into_iter().filter(|from| from.is_too_deep() && !from.cards.is_empty());
    for from in deep.filter(|from| copied.insert(from.copy)) {
        commit.writes.push(Write::CreateBox(from.copied(now)));
    }
}

/// What the box will be, after [`add_copies`]. `inherited` are the boxes of [`boxes`], in that order.
pub fn assemble(
    command: &PackContext,
    target: &Target,
    inherited: &[Arc<Inherited>],
    moment: &Moment,
) -> Result<Assembly, Rejection> {
    let PackContext { handover, arguments, .. } = command;
    profile::wanted(arguments, handover)?;
    check_tool(&command.tool_suffix)?;
    check_arguments(command)?;
    let packed = packed_cards(command, moment)?;
    let outside = check_reach(command, inherited)?;
    let parent = parent_card(command, moment)?;
    let own = packed.iter().map(|(_, card)| card).chain(&parent).map(|card| card.kind.as_str()).collect();
    check_types(command, &own, inherited)?;

    let of_arguments = packed.iter().map(|(rule, card)| Piece::Card(card.id, EntrySource::Argument(*rule)));
    let of_boxes = inherited.iter().filter(|from| !from.cards.is_empty()).map(|from| Piece::Box(from));
    let mut pieces: Vec<Piece<'_>> = match handover.order {
        Order::ArgumentsFirst => of_arguments.chain(of_boxes).collect(),
        Order::InheritFirst => of_boxes.chain(of_arguments).collect(),
    };
    pieces.extend(parent.as_ref().map(|card| Piece::Card(card.id, EntrySource::Parent)));

    let context_box = BoxId::from_uuid(moment.fresh.uuid());
    let shown = shown(&pieces);
    Invalid::check_size("context_box_id", shown.len(), limits::BOX_CARDS, "cards")?;
    let entries: Vec<Entry> = pieces.iter().map(Piece::entry).collect();
    let depths = pieces.iter().filter_map(Piece::depth);
    let head = BoxHead {
        len: shown.len() as u32,
        entries: entries.len() as u32,
        depth: depths.max().map_or(0, |deepest| deepest + 1),
        handover_hash: Some(handover.hash),
        ..BoxHead::empty(context_box, moment.now)
    };
    let facts = record(command, target, inherited, &outside);
    let cards = packed.into_iter().map(|(_, card)| card).chain(parent).collect();
    Ok(Assembly {
        cards,
        packed: Packed { context_box, profile_box: target.profile_box, cards: shown },
        new_box: NewBox { head, entries },
        event: moment.event(EventKind::BoxCreated, context_box, &json!({ "packed_by": command.tool_suffix })),
        audit: moment.audit(AuditAction::ContextPack, context_box, &facts),
    })
}

/// A part of the new box.
enum Piece<'a> {
    Card(CardId, EntrySource),
    Box(&'a Inherited),
}

impl Piece<'_> {
    /// One entry, whatever the length of an inherited box (CB-11).
    fn entry(&self) -> Entry {
        let (from, source) = match self {
            Self::Card(id, source) => return Entry { item: Item::Card(*id), source: *source },
            Self::Box(from) => {
                let BoxHead { box_id, generation, .. } = from.head;
                let at = |box_id, generation| Segment { box_id, generation, len: from.cards.len() as u32 };
                match from.is_too_deep() {
                    true => (at(from.copy, Generation::FIRST), EntrySource::Copied(box_id, generation)),
                    false => (at(box_id, generation), EntrySource::Inherited),
                }
            }
        };
        Entry { item: Item::Segment(from), source }
    }

    /// How deep the box nests that its entry refers to.
    fn depth(&self) -> Option<u16> {
        match self {
            Self::Card(..) => None,
            Self::Box(from) if from.is_too_deep() => Some(0),
            Self::Box(from) => Some(from.head.depth),
        }
    }
}

impl Inherited {
    fn is_too_deep(&self) -> bool {
        needs_flat(&self.head)
    }

    /// Where nesting ends, a box of the same cards that starts anew.
    fn copied(&self, now: Timestamp) -> NewBox {
        let mut copy = copied_from(&self.head, plain_box(self.copy, Generation::FIRST, &self.cards, now));
        copy.head.sealed = true;
        copy
    }
}

/// PK-11: every card once, where it occurs first.
fn shown(pieces: &[Piece<'_>]) -> Vec<PackedCard> {
    let mut seen = HashSet::new();
    let mut shown = vec![];
    for piece in pieces {
        match piece {
            Piece::Card(card_id, source) => {
                shown.push(PackedCard { card_id: *card_id, source: *source, from: None });
            }
            Piece::Box(from) => {
                for card_id in from.cards.iter().copied().filter(|id| seen.insert(*id)) {
                    let from = Some(from.head.box_id);
                    shown.push(PackedCard { card_id, source: EntrySource::Inherited, from });
                }
            }
        }
    }
    shown
}

fn check_tool(name: &str) -> Result<(), Invalid> {
    Invalid::check_printable("tool_suffix", name)
}

/// An argument; null counts as absent (PK-04).
fn argument<'a>(command: &'a PackContext, name: &str) -> Option<&'a Value> {
    command.arguments.get(name).filter(|value| !value.is_null())
}

/// PK-22
fn check_arguments(command: &PackContext) -> Result<(), Invalid> {
    match command.required.arguments.iter().find(|name| argument(command, name).is_none()) {
        Some(name) => Err(Invalid::field(format!("arguments/{name}"), "is required")),
        None => Ok(()),
    }
}

/// PK-22. `own` are the types of the cards that are made.
fn check_types(
    command: &PackContext,
    own: &HashSet<&str>,
    inherited: &[Arc<Inherited>],
) -> Result<(), Invalid> {
    let is_there =
        |wanted: &str| own.contains(wanted) || inherited.iter().any(|from| from.card_types.contains(wanted));
    let required = &command.required;
    if let Some(missing) = required.card_types.iter().find(|wanted| !is_there(wanted)) {
        return Err(Invalid::field("handover", format!("a card of type {missing} is required")));
    }
    let is_given = |name: &str| argument(command, name).is_some() || is_there(name);
    match required.either.iter().find(|name| !is_given(name)) {
        Some(name) => Err(Invalid::field(format!("arguments/{name}"), "is required")),
        None => Ok(()),
    }
}

/// answers what is outside but let through.
fn check_reach(command: &PackContext, inherited: &[Arc<Inherited>]) -> Result<Vec<BoxId>, Rejection> {
    let boxes: Vec<BoxId> = inherited.iter().map(|from| from.head.box_id).collect();
    let outside = outside(&command.reach, &boxes);
    match (&command.reach, outside.first()) {
        (Reach::HandedOver { mode: InheritMode::Enforce, .. }, Some(id)) => {
            Err(Rejection::UnauthorizedBox { id: id.to_string() })
        }
        (Reach::HandedOver { mode: InheritMode::Audit, .. } | Reach::Project, _) | (_, None) => Ok(outside),
    }
}

/// One card per rule whose argument is there (PK-04..PK-09).
fn packed_cards(command: &PackContext, moment: &Moment) -> Result<Vec<(u16, Card)>, Invalid> {
    let mut cards = vec![];
    for rule in &command.handover.pack {
        let Some(value) = argument(command, &rule.arg_key) else { continue };
        let named = |invalid: Invalid| match invalid.field_name() {
            // Kind and author come on top of what the rule may say.
            "metadata" => invalid.at(rule.metadata_path()),
            _ => within(&rule.arg_key, invalid),
        };
        let draft = CardDraft {
            content: content(rule, value)?,
            metadata: metadata(rule, &command.tool_suffix).map_err(named)?,
            tool_calls: None,
            tool_call_id: None,
            ttl_seconds: None,
        };
        let id = CardId::from_uuid(moment.fresh.uuid());
        cards.push((rule.index, draft.into_card(id, command.origin, moment.now).map_err(named)?));
    }
    Ok(cards)
}

/// PK-07, PK-08: structure stays structure, everything else becomes text.
fn content(rule: &PackRule, value: &Value) -> Result<CanonicalJson, Invalid> {
    let named = |invalid| within(&rule.arg_key, invalid);
    if rule.card_type == "task.result_fields" {
        check_fields(&rule.arg_key, value)?;
        return CanonicalJson::from_value(&json!({ "fields": value })).map_err(named);
    }
    match value {
        Value::Object(_) | Value::Array(_) => CanonicalJson::from_value(value),
        Value::String(text) => CanonicalJson::string(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            CanonicalJson::from_value(value).and_then(|json| CanonicalJson::string(json.as_str()))
        }
    }
    .map_err(named)
}

///
fn check_fields(arg_key: &str, value: &Value) -> Result<(), Invalid> {
    let path = format!("arguments/{arg_key}");
    let Value::Array(fields) = value else { return Err(Invalid::field(path, "must be a list of fields")) };
    for (index, field) in fields.iter().enumerate() {
        let path = format!("{path}/{index}");
        let text = |name: &str| field.get(name).and_then(Value::as_str);
        if !field.is_object() {
            return Err(Invalid::field(path, "must be an object"));
        }
        if text("name").is_none_or(|name| name.trim().is_empty()) {
            return Err(Invalid::field(format!("{path}/name"), "must be a non-blank string"));
        }
        if text("description").is_none() {
            return Err(Invalid::field(format!("{path}/description"), "must be a string"));
        }
        if field.get("schema").is_some_and(|schema| !(schema.is_object() || schema.is_boolean())) {
            return Err(Invalid::field(format!("{path}/schema"), "must be an object, true or false"));
        }
    }
    Ok(())
}

/// PK-06, PK-09
fn metadata(rule: &PackRule, tool_suffix: &str) -> Result<CanonicalJson, Invalid> {
    let mut members = rule.metadata.clone();
    members.entry("role").or_insert_with(|| "user".into());
    members.insert("type".to_owned(), rule.card_type.as_str().into());
    members.insert("author_id".to_owned(), tool_suffix.into());
    CanonicalJson::from_value(&Value::Object(members))
}

/// PK-14
fn parent_card(command: &PackContext, moment: &Moment) -> Result<Option<Card>, Invalid> {
    if !command.handover.include_parent {
        return Ok(None);
    }
    let Some(parent) = &command.source_agent else {
        return Err(Invalid::field("source_agent_id", "is required where include_parent is true"));
    };
    let draft = CardDraft {
        content: own_json(&json!({ "parent_agent_id": parent.as_str() })),
        metadata: own_json(
            &json!({ "type": "meta.parent_pointer", "role": "system", "author_id": parent.as_str() }),
        ),
        tool_calls: None,
        tool_call_id: None,
        ttl_seconds: None,
    };
    draft.into_card(CardId::from_uuid(moment.fresh.uuid()), command.origin, moment.now).map(Some)
}

/// PK-19: what the audit log keeps.
fn record(command: &PackContext, target: &Target, inherited: &[Arc<Inherited>], outside: &[BoxId]) -> Value {
    let sources: Vec<_> = inherited
        .iter()
        .map(|from| {
            json!({
                "box_id": from.head.box_id.to_string(),
                "generation": from.head.generation.get(),
                "len": from.cards.len(),
            })
        })
        .collect();
    let mut facts = json!({
        "tool_suffix": command.tool_suffix,
        "source_agent_id": command.source_agent.as_ref().map(AgentId::as_str),
        "profile_name": target.profile_name.as_str(),
        "handover_hash": command.handover.hash.to_string(),
        "inherited": sources,
    });
    if !outside.is_empty() {
        facts["not_handed_over"] = outside.iter().map(ToString::to_string).collect();
    }
    facts
}

/// The refusal of a card, as one of the argument it was to be made of.
fn within(arg_key: &str, invalid: Invalid) -> Invalid {
    let field = format!("arguments/{arg_key}");
    match invalid {
        Invalid::Field { field: part, reason } => Invalid::field(field, format!("{part}: {reason}")),
        Invalid::Coded { code, field: part, reason } => {
            Invalid::coded(code, field, format!("{part}: {reason}"))
        }
        Invalid::TooLarge { limit, actual, unit, .. } => Invalid::TooLarge { field, limit, actual, unit },
    }
}

#[cfg(test)]
mod tests;
