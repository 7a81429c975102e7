//! From hits to what is shown (KN-02): lists are joined by rank, and of the best enough different ones are chosen.

use cardwire_model::{CardId, Hash256, Invalid, PassageKind};
use std::{
    cmp::Ordering,
    collections::{HashMap, HashSet},
    hash::Hash,
};

/// The constant of reciprocal rank fusion: how little the first places of a list count before the later ones.
pub const RRF_K: u32 = 60;

/// How is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// By words.
    FullText,
    /// By meaning.
    Semantic,
    /// By both.
    Hybrid,
}

impl Method {
    /// By name. Another name is a mistake in the configuration, which is told and not survived (CC-07).
    pub fn parse(name: &str) -> Result<Self, Invalid> {
        match name {
            "full_text" | "fulltext" => Ok(Self::FullText),
            "semantic" => Ok(Self::Semantic),
            "hybrid" => Ok(Self::Hybrid),
            name => {
                Err(Invalid::field("method", format!("must be full_text, semantic or hybrid, not {name}")))
            }
        }
    }

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FullText => "full_text",
            Self::Semantic => "semantic",
            Self::Hybrid => "hybrid",
        }
    }

    /// Whether queries must be embedded.
    pub const fn needs_embedder(self) -> bool {
        match self {
            Self::FullText => false,
            Self::Semantic | Self::Hybrid => true,
        }
    }

    /// Whether words are searched.
    pub const fn needs_terms(self) -> bool {
        match self {
            Self::FullText | Self::Hybrid => true,
            Self::Semantic => false,
        }
    }

    /// Refuses a method that nobody is configured for, instead of quietly finding less.
    pub fn check(self, has_embedder: bool) -> Result<(), Invalid> {
        if has_embedder || !self.needs_embedder() {
            return Ok(());
        }
        let reason = format!("{} needs an embedding provider, and none is configured", self.as_str());
        Err(Invalid::field("method", reason))
    }
}

/// How many hits to ask for, so that enough are left after duplicates are taken away.
pub const fn pool(top_k: usize) -> usize {
    top_k.saturating_mul(4)
}

/// Joins lists, each best first, by rank alone: the scores of different searches cannot be compared. What stands in
/// a list twice counts once, at its better place. Equal scores are in the order of their keys.
pub fn rrf<K: Clone + Ord + Hash>(lists: &[&[K]], k: u32) -> Vec<(K, f64)> {
    let mut scores: HashMap<&K, f64> = HashMap::new();
    for list in lists {
        let mut seen = HashSet::new();
        let distinct = list.iter().filter(|key| seen.insert(*key));
        for (place, key) in distinct.enumerate() {
            *scores.entry(key).or_default() += 1.0 / (f64::from(k) + place as f64 + 1.0);
        }
    }
    let mut joined: Vec<_> = scores.into_iter().map(|(key, score)| (key.clone(), score)).collect();
    joined.sort_by(|a, b| best_first(a.1, b.1).then_with(|| a.0.cmp(&b.0)));
    joined
}

/// A part of a document that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The document.
    pub source_id: String,
    /// Which part of it.
    pub part: u32,
    /// The section that is shown for it.
    pub card_id: CardId,
    /// Of the text that was found.
    pub content_hash: Hash256,
    /// Its place among meanings.
    pub embedding: Option<Vec<f32>>,
    /// How well it fits: more is better.
    pub score: f64,
}

/// What is chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Most sections.
    pub top_k: usize,
    /// What fits less well is not shown.
    pub score_threshold: Option<f64>,
    /// Most sections of one document.
    pub per_document: usize,
    /// What is shown once.
    pub same: Same,
}

impl Default for Options {
    fn default() -> Self {
        Self { top_k: 8, score_threshold: None, per_document: 2, same: Same::of(PassageKind::Knowledge) }
    }
}

/// Which hits are the same, so that only the best of them is shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Same {
    /// Those with the same text, or with meanings this close: whoever reads one has read the other (KN-02).
    Text {
        /// From -1 to 1.
        cosine: f64,
    },
    /// Only those of one section. What the same was said of several times happened several times (EX-02).
    Section,
}

impl Same {
    /// What is the same among passages of a kind.
    pub const fn of(kind: PassageKind) -> Self {
        match kind {
            PassageKind::Knowledge => Self::Text { cosine: 0.92 },
            PassageKind::Experience => Self::Section,
        }
    }

    fn holds(self, one: &Candidate, other: &Candidate) -> bool {
        one.card_id == other.card_id
            || match self {
                Self::Text { cosine } => one.content_hash == other.content_hash || close(one, other, cosine),
                Self::Section => false,
            }
    }
}

/// Chooses the best that are good enough and different enough: each stands for its section, and a section is shown
/// once. What is passed over takes no place: the next one gets it.
pub fn choose(mut candidates: Vec<Candidate>, options: &Options) -> Vec<Candidate> {
    candidates
        .retain(|one| !one.score.is_nan() && options.score_threshold.is_none_or(|least| one.score >= least));
    candidates.sort_by(|a, b| best_first(a.score, b.score).then_with(|| place(a).cmp(&place(b))));
    let mut chosen: Vec<Candidate> = vec![];
    for candidate in candidates {
        if chosen.len() == options.top_k {
            break;
        }
        let of_document = chosen.iter().filter(|one| one.source_id == candidate.source_id).count();
        if of_document < options.per_document && !chosen.iter().any(|one| options.same.holds(one, &candidate))
        {
            chosen.push(candidate);
        }
    }
    chosen
}

/// How close two meanings are, from -1 to 1; 0 when they cannot be compared.
pub fn cosine(a: &[f32], b: &[f32]) -> f64 {
    if a.len() != b.len() {
        return 0.0;
    }
    let product =
        |a: &[f32], b: &[f32]| -> f64 { a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum() };
    let cosine = product(a, b) / (product(a, a).sqrt() * product(b, b).sqrt());
    if cosine.is_finite() { cosine.clamp(-1.0, 1.0) } else { 0.0 }
}

fn close(one: &Candidate, other: &Candidate, least: f64) -> bool {
    match (&one.embedding, &other.embedding) {
        (Some(a), Some(b)) => cosine(a, b) >= least,
        (Some(_), None) | (None, Some(_)) | (None, None) => false,
    }
}

/// What orders equal scores.
fn place(one: &Candidate) -> (&str, u32, CardId) {
    (&one.source_id, one.part, one.card_id)
}

fn best_first(a: f64, b: f64) -> Ordering {
    b.total_cmp(&a)
}

#[cfg(test)]
mod tests;
