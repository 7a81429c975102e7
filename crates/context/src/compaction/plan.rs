//! Which messages stay and which the summary stands for (CP-02, CP-07).

use cardwire_model::{Speaker, limits};
use std::collections::HashMap;

/// How many of the last messages stay unless somebody says otherwise.
pub const MIN_KEEP_ENTRIES: usize = limits::COMPACT_KEEP;

/// What the plan needs to know of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Who speaks.
    pub speaker: Speaker,
    /// Stays, whatever its age.
    pub pinned: bool,
    /// The ids of the tool calls that it makes.
    pub calls: Vec<String>,
    /// The id of the tool call that it answers.
    pub answers: Option<String>,
}

impl Entry {
    /// A message that is neither pinned nor part of a tool call.
    pub const fn said(speaker: Speaker) -> Self {
        Self { speaker, pinned: false, calls: vec![], answers: None }
    }
}

/// Places in the list of messages. Every place is in one of the two, and both are in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// What stays.
    pub keep: Vec<usize>,
    /// What the summary stands for; never empty.
    pub cover: Vec<usize>,
}

/// Keeps the last `min_keep` messages, every word of people, what is pinned, and with any part of a tool call all
/// of it: a provider refuses an answer without its call, and a call without its answers. `None` when that leaves
/// nothing to summarise.
pub fn plan(entries: &[Entry], min_keep: usize) -> Option<Plan> {
    let tail = entries.len().saturating_sub(min_keep);
    let stays = |(place, entry): (usize, &Entry)| match entry.speaker {
        // Nobody else repeats what a person said; instructions do not belong into a conversation, but are no
        // model's to rephrase.
        Speaker::Human | Speaker::System => true,
        Speaker::Ai | Speaker::Tool => place >= tail || entry.pinned,
    };
    let mut kept: Vec<bool> = entries.iter().enumerate().map(stays).collect();
    let call_of = calls(entries);
    // First every answer brings its call, then every call its other answers. A call stands before its answers, so
    // that one way back and one way forth reach everything.
    for (place, call) in call_of.iter().enumerate().rev() {
        if let Some(call) = call.filter(|_| kept[place]) {
            kept[call] = true;
        }
    }
    for (place, call) in call_of.iter().enumerate() {
        if call.is_some_and(|call| kept[call]) {
            kept[place] = true;
        }
    }
    let (keep, cover): (Vec<_>, Vec<_>) = (0..entries.len()).partition(|place| kept[*place]);
    if cover.is_empty() { None } else { Some(Plan { keep, cover }) }
}

/// For each answer the place of its call: the last one before it that made a call of this id, since some models
/// count their calls anew in every message.
fn calls(entries: &[Entry]) -> Vec<Option<usize>> {
    let mut made: HashMap<&str, usize> = HashMap::new();
    let mut call_of = Vec::with_capacity(entries.len());
    for (place, entry) in entries.iter().enumerate() {
        call_of.push(entry.answers.as_deref().and_then(|id| made.get(id).copied()));
        made.extend(entry.calls.iter().map(|id| (id.as_str(), place)));
    }
    call_of
}

#[cfg(test)]
mod tests;
