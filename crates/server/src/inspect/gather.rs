//! From what the kernel says to what pages show.

use cardwire_api::turns::TurnStatus;
use cardwire_inspector::{pages::call::Piece, parts, text};
use cardwire_kernel::{CallEntry, ExpandedCall, Kernel, KernelError, OutlinedTurn, composer::cost};
use cardwire_model::{AgentId, Card, CardId, Layer, ProjectId, Timestamp};
use futures_util::future::try_join_all;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

/// What was spent. What a provider counted less than was estimated is no part of a page's sums.
pub(super) fn spent(spent: cost::Spent) -> parts::Spent {
    parts::Spent {
        calls: spent.calls,
        input: u64::try_from(spent.input_tokens).unwrap_or(0),
        cached: spent.cached_tokens,
        output: spent.output_tokens,
        micros: spent.known_cost(),
    }
}

/// A card as a page shows it: what it says, with its layer.
pub(super) fn piece(card: &Card, layer: &str, now: Timestamp, tokens: u32) -> Piece {
    Piece {
        layer: layer.to_owned(),
        card: Some(card.id.to_string()),
        text: said(card),
        tokens: Some(tokens.into()),
        is_deleted: !card.is_visible(now),
    }
}

/// What a card says: its text, or its canonical JSON. Calls of tools say their names and arguments.
pub(super) fn said(card: &Card) -> String {
    let text = card.content.to_text().unwrap_or_else(|| card.content.as_str().to_owned());
    match &card.tool_calls {
        Some(calls) if text.trim().is_empty() => calls.as_str().to_owned(),
        Some(calls) => format!("{text}\n{}", calls.as_str()),
        None => text,
    }
}

/// The layer whose colour a card of a box has, where no call says.
pub(super) fn layer_of(card: &Card) -> &'static str {
    match card.kind.as_str() {
        "sys.profile" | "sys.rendered_prompt" => "system_prompt",
        "sys.tools" => "tools",
        "task.instruction" => "query",
        "task.deliverable" | "tool.result" => "turn",
        _ => "checkpoint",
    }
}

/// The tokens of each layer, in the order of the request.
pub(super) fn layers(entries: &[CallEntry]) -> Vec<parts::LayerTokens> {
    let mut sums: BTreeMap<usize, (Layer, i64)> = BTreeMap::new();
    for entry in entries {
        let place = Layer::ALL.iter().position(|layer| *layer == entry.layer).unwrap_or_default();
        sums.entry(place).or_insert((entry.layer, 0)).1 += i64::from(entry.tokens);
    }
    let one = |(layer, tokens): (Layer, i64)| parts::LayerTokens { layer: layer.as_str().to_owned(), tokens };
    sums.into_values().map(one).collect()
}

/// The cards of a call by id, deleted ones too.
pub(super) async fn cards_of(
    kernel: &Kernel,
    project: &ProjectId,
    call: &ExpandedCall,
) -> Result<BTreeMap<CardId, Arc<Card>>, KernelError> {
    let ids: Vec<CardId> = call.entries.iter().map(|entry| entry.card_id).collect();
    cards(kernel, project, &ids).await
}

/// Cards by id, deleted ones too; damaged ones are left out.
pub(super) async fn cards(
    kernel: &Kernel,
    project: &ProjectId,
    ids: &[CardId],
) -> Result<BTreeMap<CardId, Arc<Card>>, KernelError> {
    let mut found = BTreeMap::new();
    for ids in ids.chunks(AT_ONCE) {
        let read = kernel.read_cards(project, ids, true).await?;
        found.extend(read.cards.into_iter().map(|card| (card.id, card)));
    }
    Ok(found)
}

/// Cards read at once.
const AT_ONCE: usize = 500;

/// The word for the state of a turn. What is known of an earlier moment tells nothing of heads: whoever had begun was at work.
pub(super) fn status(turn: &OutlinedTurn, is_past: bool) -> String {
    if is_past && turn.turn.item.ended.is_none() {
        return if turn.started_at().is_some() { "running" } else { "queued" }.to_owned();
    }
    TurnStatus::of(&turn.turn).as_str().to_owned()
}

/// What agents are called by people.
pub(super) type Names = HashMap<AgentId, String>;

/// Agents whose rows are read for one page; others are called by their short ids.
const NAMED: usize = 500;

/// The names of agents: what they were called, or the profile of one that was made for a fork.
pub(super) async fn names<'a>(
    kernel: &Kernel,
    project: &ProjectId,
    agents: impl Iterator<Item = &'a AgentId>,
) -> Result<Names, KernelError> {
    let agents: Vec<AgentId> = agents.cloned().collect::<BTreeSet<_>>().into_iter().take(NAMED).collect();
    let mut names = Names::new();
    for agents in agents.chunks(NAMED_AT_ONCE) {
        let found = try_join_all(agents.iter().map(|agent| name(kernel, project, agent))).await?;
        names.extend(agents.iter().cloned().zip(found));
    }
    Ok(names)
}

/// Agents whose rows are read side by side.
const NAMED_AT_ONCE: usize = 16;

/// The name of an agent.
pub(super) async fn name(kernel: &Kernel, project: &ProjectId, id: &AgentId) -> Result<String, KernelError> {
    let agent = match kernel.agent(project, id).await {
        Ok(agent) => agent,
        // A run of a team outlives its agents' rows.
        Err(KernelError::Rejected(_)) => return Ok(text::agent(id.as_str())),
        Err(error) => return Err(error),
    };
    let is_made = text::agent(id.as_str()) != id.as_str();
    let profile = is_made.then(|| agent.profile_name.to_string());
    Ok(agent.display_name.or(profile).unwrap_or_else(|| id.to_string()))
}

/// The name that was found, or the short id.
pub(super) fn called(names: &Names, id: &AgentId) -> String {
    names.get(id).cloned().unwrap_or_else(|| text::agent(id.as_str()))
}
