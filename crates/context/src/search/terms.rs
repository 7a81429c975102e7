//! What a text is found by. The same function serves documents and queries, in both stores, so that no store's own
//! tokenizer decides what is found.
//!
//! A word is a run of letters and digits. Chinese, Japanese and Korean do not part their words, so that a run of
//! theirs is found by each of its characters and by each pair of neighbours; a search uses the pairs, and the single
//! character only when there is no more than one.

use cardwire_model::limits;
use std::collections::HashSet;

/// The terms of a text, in its order and as often as they occur, up to [`limits::PASSAGE_TERMS`].
pub fn terms(text: &str) -> Vec<String> {
    found(text).map(Found::into_term).take(limits::PASSAGE_TERMS).collect()
}

/// The terms to search for: each once, in the order of the text, up to [`limits::QUERY_TERMS`]. Words that stand in
/// every text are passed over unless there are no others. A blank query has none, and finds nothing (KN-02).
pub fn query_terms(text: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut telling = vec![];
    let mut common = vec![];
    for term in found(text).filter(Found::is_searched).map(Found::into_term) {
        let list = if STOP_WORDS.binary_search(&term.as_str()).is_ok() { &mut common } else { &mut telling };
        if seen.insert(term.clone()) {
            list.push(term);
        }
        if telling.len() == limits::QUERY_TERMS {
            break;
        }
    }
    if telling.is_empty() { common } else { telling }
}

/// A term, and where it comes from.
enum Found {
    Word(String),
    /// One character of a script that does not part its words.
    Character {
        character: char,
        /// It has no neighbours of such a script, hence no pair.
        alone: bool,
    },
    Pair([char; 2]),
}

impl Found {
    fn into_term(self) -> String {
        match self {
            Self::Word(word) => word,
            Self::Character { character, .. } => character.to_string(),
            Self::Pair(pair) => String::from_iter(pair),
        }
    }

    fn is_searched(&self) -> bool {
        match self {
            Self::Word(_) | Self::Pair(_) => true,
            Self::Character { alone, .. } => *alone,
        }
    }
}

fn found(text: &str) -> impl Iterator<Item = Found> {
    let mut rest = text.chars().flat_map(folded).peekable();
    // Whether such a character stands right before what comes next.
    let mut joined = false;
    // Its pair is told after it, before its neighbour.
    let mut pair: Option<[char; 2]> = None;
    std::iter::from_fn(move || {
        if let Some(pair) = pair.take() {
            return Some(Found::Pair(pair));
        }
        while rest.next_if(|one| !one.is_alphanumeric()).is_some() {
            joined = false;
        }
        if let Some(character) = rest.next_if(|one| is_cjk(*one)) {
            let next = rest.peek().copied().filter(|one| is_cjk(*one));
            let alone = !joined && next.is_none();
            joined = true;
            pair = next.map(|next| [character, next]);
            return Some(Found::Character { character, alone });
        }
        joined = false;
        let mut word = String::new();
        let mut length = 0;
        while let Some(character) = rest.next_if(|one| one.is_alphanumeric() && !is_cjk(*one)) {
            length += 1;
            if length <= limits::TERM_CHARS {
                word.push(character);
            }
        }
        Some(word).filter(|word| !word.is_empty()).map(Found::Word)
    })
}

/// The form in which characters are compared: lower case, and full-width Latin as plain Latin.
fn folded(character: char) -> impl Iterator<Item = char> {
    let character = match character {
        // The full-width forms stand in the same order as ASCII.
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(character) - 0xfee0).unwrap_or(character),
        'ς' => 'σ',
        character => character,
    };
    character.to_lowercase().filter(|character| !is_mark(*character))
}

/// What stands within a word and is no letter: accents that are characters of their own, and invisible characters.
fn is_mark(character: char) -> bool {
    matches!(character,
        '\u{ad}'
        | '\u{300}'..='\u{36f}'
        | '\u{200c}'..='\u{200d}'
        | '\u{3099}'..='\u{309a}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{e0100}'..='\u{e01ef}')
}

/// Letters of the scripts that do not part their words: Han, Hiragana, Katakana, Bopomofo, Hangul.
fn is_cjk(character: char) -> bool {
    let block = matches!(character,
        '\u{1100}'..='\u{11ff}'
        | '\u{3005}'..='\u{3007}'
        | '\u{3021}'..='\u{3029}'
        | '\u{3031}'..='\u{303c}'
        | '\u{3040}'..='\u{318f}'
        | '\u{31a0}'..='\u{31bf}'
        | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{a960}'..='\u{a97f}'
        | '\u{ac00}'..='\u{d7ff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ffdc}'
        | '\u{20000}'..='\u{323af}');
    block && character.is_alphanumeric()
}

/// Words that stand in nearly every English text, sorted.
const STOP_WORDS: [&str; 59] = [
    "a", "about", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did",
    "do", "does", "for", "from", "had", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its",
    "me", "my", "of", "on", "or", "our", "so", "that", "the", "their", "there", "these", "they", "this",
    "to", "was", "we", "were", "what", "when", "where", "which", "who", "why", "will", "with", "would",
    "you", "your",
];

#[cfg(test)]
mod tests;
