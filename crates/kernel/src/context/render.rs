//! A call as it was: its manifest, expanded, and the request rendered again and held against its hash (RP-02).

use super::blocks::MANIFEST;
use crate::{Kernel, KernelError};
use cardwire_context::{
    compaction,
    cost::Spent,
    lint,
    manifest::{self, ExpandedEntry},
    render::{self, RequestSpec, Span, Template, Traced},
    tokens::Tokenizer,
    words::Words,
};
use cardwire_model::{
    AgentId, BoxId, CancelFlag, CanonicalJson, Card, CardId, Cause, Generation, Layer, Manifest, ProjectId,
    Segment, Source,
};
use cardwire_protocol::Rejection;
use std::{collections::HashMap, sync::Arc};

/// One card or block of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallEntry {
    /// Of which layer.
    pub layer: Layer,
    /// `framework__context` and the like, for blocks.
    pub context_key: Option<String>,
    /// The card, or the card that keeps the block's text.
    pub card_id: CardId,
    /// It is a block.
    pub is_block: bool,
    /// What it cost, also when the card is deleted now; 0 when its row is gone.
    pub tokens: u32,
    /// Why it is there.
    pub cause: Cause,
}

/// A call with every card it showed.
#[derive(Debug, Clone)]
pub struct ExpandedCall {
    /// Its id.
    pub call_id: CardId,
    /// Its record.
    pub manifest: Manifest,
    /// What was sent, in order: messages, what was added to them, and the tools.
    pub entries: Vec<CallEntry>,
    /// What the provider counted, once it has answered.
    pub spent: Option<Spent>,
}

impl ExpandedCall {
    /// What the request came to beyond its entries: a request for a summary shows its cards shortened.
    pub fn rest(&self) -> i64 {
        let entries: i64 = self.entries.iter().map(|entry| i64::from(entry.tokens)).sum();
        i64::from(self.manifest.total_tokens) - entries
    }

    /// What the provider counted more or less than the request was estimated at.
    pub fn provider_difference(&self) -> Option<i64> {
        // A provider that tells of no tokens has not counted any.
        let counted = self.spent?.input_tokens;
        (counted > 0).then(|| counted - i64::from(self.manifest.total_tokens))
    }
}

/// How the cards of a call were told to its model, and whether that is known to this build.
enum Version {
    Request(Template),
    Summary { is_first: bool },
}

impl Version {
    fn of(record: &Manifest) -> Option<Self> {
        let name = record.template.as_str();
        match Template::from_name(name) {
            Some(template) => Some(Self::Request(template)),
            None if compaction::is_template(name) => {
                Some(Self::Summary { is_first: name == compaction::FIRST_TEMPLATE })
            }
            None => None,
        }
    }

    /// Whether its model was told everything as it is kept, as those of earlier builds were.
    fn tells_as_kept(&self) -> bool {
        match self {
            Self::Request(Template::First) | Self::Summary { is_first: true } => true,
            Self::Request(Template::Second) | Self::Summary { is_first: false } => false,
        }
    }
}

/// The words of a call's cards.
fn words_of<'c>(record: &Manifest, cards: impl Iterator<Item = &'c Card>) -> Words {
    match Version::of(record) {
        Some(version) if !version.tells_as_kept() => Words::of(cards),
        Some(_) | None => Words::as_kept(),
    }
}

/// A request that was rendered again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedCall {
    /// The body, if everything it needs is there.
    pub body: Option<String>,
    /// The body is the one that was sent, byte for byte.
    pub hash_ok: bool,
    /// Where each byte of the body comes from, in order and without gaps (IN-12). Pieces are entries of the call.
    pub spans: Vec<Span>,
    /// Which entry is missing, or why it cannot be rendered.
    pub missing: Option<String>,
}

pub(crate) type BoxLists = HashMap<(BoxId, Generation), Vec<CardId>>;

impl Kernel {
    /// The record of a call.
    pub(crate) async fn call_manifest(
        &self,
        project: &ProjectId,
        call: CardId,
    ) -> Result<Manifest, KernelError> {
        let missing = || Rejection::NotFound { what: "call", id: call.to_string() };
        let card = self.get_cards(project, &[call], true).await?.pop().ok_or_else(missing)?;
        if card.kind.as_str() != MANIFEST {
            return Err(missing().into());
        }
        Ok(manifest::from_json(&card.content).ok_or_else(missing)?)
    }

    /// The same for the last call of an agent, from memory where it can: records never change.
    pub(super) async fn last_record(
        &self,
        project: &ProjectId,
        agent: &AgentId,
        call: CardId,
    ) -> Result<Arc<Manifest>, KernelError> {
        match self.records.manifest(project, agent, call) {
            Some(record) => Ok(record),
            None => Ok(Arc::new(self.call_manifest(project, call).await?)),
        }
    }

    /// A call with every card it showed.
    pub async fn call(&self, project: &ProjectId, call: CardId) -> Result<ExpandedCall, KernelError> {
        let record = self.call_manifest(project, call).await?;
        let lists = self.box_lists(project, &record).await?;
        let expanded = expand(&record, &lists);
        let expanded = expanded.map_err(|missing| Rejection::Conflict(missing.to_string()))?;
        // What a call cost does not change when a card of it is deleted (OB-04).
        let cards = self.cards_of(project, &expanded, true).await?;
        let tokenizer = Tokenizer::from_name(&record.tokenizer).unwrap_or(Tokenizer::Estimate);
        self.count_ahead(project, tokenizer, cards.values().map(|card| &**card)).await?;
        let words = words_of(&record, cards.values().map(|card| &**card));
        let entry = |entry: &ExpandedEntry<'_>| CallEntry {
            layer: entry.layer,
            context_key: entry.context_key.map(str::to_owned),
            card_id: entry.card_id,
            is_block: entry.is_block,
            tokens: cards.get(&entry.card_id).map_or(0, |card| match entry.is_block {
                true => self.counts.card(tokenizer, card),
                false => self.counts.told(tokenizer, &words, card),
            }),
            cause: entry.cause,
        };
        let mut entries: Vec<CallEntry> = expanded.iter().map(entry).collect();
        entries.extend(self.beside(project, &record, tokenizer).await?);
        let spent = self.spent_on(project, &record, call).await?;
        Ok(ExpandedCall { call_id: call, entries, manifest: record, spent })
    }

    /// What a call sent besides its cards and blocks: what the linter added, and the tools.
    async fn beside(
        &self,
        project: &ProjectId,
        record: &Manifest,
        tokenizer: Tokenizer,
    ) -> Result<Vec<CallEntry>, KernelError> {
        let added = record.repairs.iter().map(|repair| (Layer::Turn, repair.added, Cause::Repair));
        let tools = record.tools.map(|id| (Layer::Tools, id, Cause::Profile));
        let beside: Vec<_> = added.chain(tools).collect();
        let ids: Vec<CardId> = beside.iter().map(|(_, id, _)| *id).collect();
        if ids.is_empty() {
            return Ok(vec![]);
        }
        let cards = self.get_cards(project, &ids, true).await?;
        self.count_ahead(project, tokenizer, cards.iter().map(|card| &**card)).await?;
        let is_kept = Version::of(record).is_none_or(|version| version.tells_as_kept());
        let tokens = |layer: Layer, card: &Card| match layer == Layer::Tools || is_kept {
            true => self.counts.card(tokenizer, card),
            false => lint::repair_tokens(&card.content, tokenizer),
        };
        let entry = |(layer, card_id, cause)| CallEntry {
            layer,
            context_key: None,
            card_id,
            is_block: layer == Layer::Tools,
            tokens: cards.iter().find(|card| card.id == card_id).map_or(0, |card| tokens(layer, card)),
            cause,
        };
        Ok(beside.into_iter().map(entry).collect())
    }

    /// What the provider counted, as the step that made the call says.
    async fn spent_on(
        &self,
        project: &ProjectId,
        record: &Manifest,
        call: CardId,
    ) -> Result<Option<Spent>, KernelError> {
        let Some(step) = self.store.step(project, &record.step_id).await? else { return Ok(None) };
        let is_of_call = step.call_id.as_deref() == Some(call.to_string().as_str());
        Ok(is_of_call.then(|| Spent::of_step(&step.metadata.to_value())).flatten())
    }

    /// Renders a call again and holds it against the hash of what was sent.
    pub async fn render_call(&self, project: &ProjectId, call: CardId) -> Result<RenderedCall, KernelError> {
        let record = self.call_manifest(project, call).await?;
        let gone = |missing: String| RenderedCall {
            body: None,
            hash_ok: false,
            spans: vec![],
            missing: Some(missing),
        };
        if Version::of(&record).is_none() {
            let other = &record.template;
            return Ok(gone(format!(
                "the request was made by {other}, this server makes {}",
                render::TEMPLATE
            )));
        }
        let lists = self.box_lists(project, &record).await?;
        let expanded = match expand(&record, &lists) {
            Ok(expanded) => expanded,
            Err(missing) => return Ok(gone(missing.to_string())),
        };
        let cards = self.cards_of(project, &expanded, false).await?;
        let tools = match record.tools {
            None => None,
            Some(id) => match self.get_cards(project, &[id], false).await?.pop() {
                Some(card) => Some(card),
                None => return Ok(gone(format!("the list of tools, card {id}, is missing"))),
            },
        };
        let bytes = cards.values().map(|card| card.content.as_bytes().len()).sum();
        let write = move |_: &CancelFlag| written_again(&record, &lists, &cards, tools.as_deref());
        Ok(self.compute(Some(project), bytes, write).await?.unwrap_or_else(gone))
    }

    /// The flattened boxes that a manifest refers to.
    pub(crate) async fn box_lists(
        &self,
        project: &ProjectId,
        record: &Manifest,
    ) -> Result<BoxLists, KernelError> {
        let mut reaches: HashMap<(BoxId, Generation), u32> = HashMap::new();
        for entry in &record.entries {
            if let Source::Stretch(stretch) = &entry.source {
                let len = reaches.entry((stretch.box_id, stretch.generation)).or_default();
                *len = (*len).max(stretch.to);
            }
        }
        let mut lists = HashMap::new();
        for ((box_id, generation), len) in reaches {
            let ids = self.reach_ids(project, Some(Segment { box_id, generation, len })).await?;
            lists.insert((box_id, generation), ids);
        }
        Ok(lists)
    }

    /// The cards of a call; without those that are deleted or expired unless they are asked for.
    async fn cards_of(
        &self,
        project: &ProjectId,
        entries: &[ExpandedEntry<'_>],
        include_deleted: bool,
    ) -> Result<HashMap<CardId, Arc<Card>>, KernelError> {
        let ids: Vec<CardId> = entries.iter().map(|entry| entry.card_id).collect();
        let mut cards = HashMap::with_capacity(ids.len());
        for ids in ids.chunks(READ_CARDS) {
            let found = self.get_cards(project, ids, include_deleted).await?;
            cards.extend(found.into_iter().map(|card| (card.id, card)));
        }
        Ok(cards)
    }
}

/// A request from all that its manifest refers to, or what keeps it from being made.
fn written_again(
    record: &Manifest,
    lists: &BoxLists,
    cards: &HashMap<CardId, Arc<Card>>,
    tools: Option<&Card>,
) -> Result<RenderedCall, String> {
    let expanded = expand(record, lists).map_err(|missing| missing.to_string())?;
    let words = words_of(record, cards.values().map(AsRef::as_ref));
    let pieces = manifest::rebuild(&expanded, &words, |id| cards.get(&id).map(AsRef::as_ref));
    let pieces = pieces.map_err(|missing| missing.to_string())?;
    let tools: Option<&CanonicalJson> = tools.map(|card| &card.content);
    let spec = RequestSpec { provider: record.provider, model: &record.model, params: &record.params, tools };
    let traced = match Version::of(record) {
        Some(Version::Request(template)) => lint::lint_as(template, record.provider, &pieces)
            .map(|linted| render::render_traced(&linted, &spec)),
        Some(Version::Summary { .. }) | None => compaction::request_traced(&pieces, &spec),
    };
    let Traced { body, spans } = traced.map_err(|error| error.to_string())?;
    let hash_ok = render::sha256(&body) == record.request_sha256;
    Ok(RenderedCall { body: String::from_utf8(body).ok(), hash_ok, spans, missing: None })
}

/// Cards read at once.
const READ_CARDS: usize = 500;

fn expand<'m>(
    record: &'m Manifest,
    lists: &BoxLists,
) -> Result<Vec<ExpandedEntry<'m>>, manifest::MissingEntry> {
    manifest::expand(record, |box_id, generation| lists.get(&(box_id, generation)).map(Vec::as_slice))
}
