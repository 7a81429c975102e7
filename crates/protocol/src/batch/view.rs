//! What a branch brings into the result of its batch: a digest of its deliverable, cut to its share of the parent's budget
//! (BM-12, OB-03). The whole of it stays in the branch's output box.

use cardwire_model::{Batch, Branch, BranchStatus, Card, limits};
use serde_json::{Value, json};

/// Fields of a deliverable that a digest looks at (BM-12).
const FIELDS: usize = 5;
/// What an entry costs without any text, with the reference to its box, in tokens.
const ENTRY: u32 = 48;
/// The same without that reference.
const BARE_ENTRY: u32 = 24;
/// The least that an entry takes, without any share, and the least that stands around all of them. No more than a model counts.
const LEAST_ENTRY: u64 = 9;
const LEAST_RESULT: u64 = 20;

/// What became of a branch, as far as its deliverable tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    /// What it says, in short.
    pub summary: Option<String>,
    /// Why nothing can be said.
    pub error_code: Option<&'static str>,
}

/// The share of each branch in the result, in tokens. `left` is what the caller's next request can still take, if its
/// profile tells its window: half of that is for what comes after, other forks included.
pub fn share(left: Option<u64>, branches: u32) -> u32 {
    let unbounded = limits::RESULT_TOKENS / branches.max(1);
    let Some(left) = left else { return unbounded };
    let budget = u32::try_from(left / 2).unwrap_or(u32::MAX).min(limits::RESULT_TOKENS_MAX);
    let share = budget / branches.max(1);
    // By its share alone a batch is known to be bounded.
    if share == unbounded { share.saturating_sub(1) } else { share }
}

/// The share that a branch still has at the join, where `left` is what the caller's next request can take by then: it can
/// only become smaller.
pub fn admitted(batch: &Batch, left: Option<u64>) -> u32 {
    batch.result_tokens.min(share(left, batch.branches))
}

/// Whether what the caller has left counts at all: its profile told its window when it forked.
pub fn is_bounded(batch: &Batch) -> bool {
    batch.result_tokens != share(None, batch.branches)
}

/// The share with which the result may fit, where the model that is to read it has counted more tokens in it than branches that
/// were `admitted` with so much each may take: shares are cut by the estimate of tokens, and models count some texts as four
/// times as many. Nothing if it fits, or if there is nothing left to cut.
pub fn smaller(share: u32, counted: u64, admitted: u32, branches: u32) -> Option<u32> {
    let allowed = u64::from(admitted) * u64::from(branches);
    if share == 0 || counted <= allowed.max(least(branches)) {
        return None;
    }
    let scaled = u32::try_from(u64::from(share) * allowed / counted).unwrap_or(u32::MAX);
    // Soon at the end, however little was too much; and less than a bare entry holds nothing that could be cut.
    let next = scaled.min(share - share.div_ceil(8));
    Some(if next < BARE_ENTRY { 0 } else { next })
}

/// What the result of so many branches takes at least, whatever they say.
pub fn least(branches: u32) -> u64 {
    LEAST_RESULT + LEAST_ENTRY * u64::from(branches)
}

/// Looks at a deliverable. `tokens` is the branch's share.
pub fn of(branch: &Branch, card: Option<&Card>, tokens: u32) -> View {
    let nothing = |code| View { summary: None, error_code: Some(code) };
    if branch.deliverable.is_none() {
        return nothing("missing_deliverable_card_id");
    }
    let Some(card) = card else { return nothing("deliverable_read_failed") };
    let error = detail(branch).filter(|_| branch.status != BranchStatus::Success);
    let error = error.and_then(|error| cut(error, error_share(tokens))).map_or(0, |error| cost(&error));
    let room = tokens.saturating_sub(ENTRY).saturating_sub(error);
    View { summary: text_of(card).and_then(|text| cut(&text, room)), error_code: None }
}

/// What a branch says of its error, if it says something.
fn detail(branch: &Branch) -> Option<&str> {
    branch.error_detail.as_deref().filter(|detail| !detail.trim().is_empty())
}

/// What of a share an error may take: half of what its entry leaves.
const fn error_share(tokens: u32) -> u32 {
    tokens.saturating_sub(ENTRY) / 2
}

/// Tokens of a text, rounded up.
fn cost(text: &str) -> u32 {
    u32::try_from(text.chars().map(quarters).sum::<u64>().div_ceil(4)).unwrap_or(u32::MAX)
}

/// The digest of the fields, else the field called summary, else the text of the card.
fn text_of(card: &Card) -> Option<String> {
    let content = card.content.to_value();
    if let Some(fields) = content.get("fields").and_then(Value::as_array) {
        let told = fields.iter().take(FIELDS).filter_map(|field| {
            let (name, value) = (field.get("name")?.as_str()?, field_text(field.get("value")?)?);
            Some(format!("{name}: {value}"))
        });
        let digest: Vec<String> = told.collect();
        if !digest.is_empty() {
            return Some(digest.join(" | "));
        }
        let named = |field: &&Value| {
            field.get("name").and_then(Value::as_str).is_some_and(|name| name.eq_ignore_ascii_case("summary"))
        };
        return fields.iter().find(named).and_then(|field| field_text(field.get("value")?));
    }
    match &content {
        Value::String(text) => Some(text.clone()).filter(|text| !text.trim().is_empty()),
        Value::Null => None,
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => Some(content.to_string()),
    }
}

/// A value as text; nothing when it is empty.
fn field_text(value: &Value) -> Option<String> {
    let text = match value {
        Value::Null => return None,
        Value::String(text) => text.trim().to_owned(),
        Value::Array(list) if list.is_empty() => return None,
        Value::Object(object) if object.is_empty() => return None,
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    (!text.is_empty()).then_some(text)
}

/// As much of a text as so many tokens hold; nothing when they hold nothing.
fn cut(text: &str, tokens: u32) -> Option<String> {
    let room = u64::from(tokens) * 4;
    if text.chars().map(quarters).sum::<u64>() <= room {
        return (room > 0).then(|| text.to_owned());
    }
    // Room for the mark is kept.
    let (mut left, mut kept) = (room.checked_sub(quarters('…'))?, String::new());
    for character in text.chars() {
        match left.checked_sub(quarters(character)) {
            Some(rest) => left = rest,
            None => break,
        }
        kept.push(character);
    }
    kept.push('…');
    Some(kept)
}

/// What a character costs, in quarters of a token: as the token estimate has it, and more where JSON must escape it.
const fn quarters(character: char) -> u64 {
    match character {
        '\0'..='\u{1f}' => 6,
        '"' | '\\' => 2,
        '\u{20}'..='\u{7f}' => 1,
        _ => 4,
    }
}

/// The entry of a branch in the parent's result (BM-17).
pub fn entry(branch: &Branch, view: &View, tokens: u32) -> Value {
    let mut entry = json!({ "task_index": branch.key.index, "status": branch.status.as_str() });
    if let Some(summary) = &view.summary {
        entry["summary"] = summary.as_str().into();
    }
    if let Some(output) = branch.output_box.filter(|_| tokens >= BARE_ENTRY) {
        entry["output_box_id"] = output.to_string().into();
    }
    if branch.status != BranchStatus::Success {
        let code = branch.error_code.as_deref().filter(|code| !code.trim().is_empty()).or(view.error_code);
        let error = detail(branch).or(code);
        if let Some(error) = error.and_then(|error| cut(error, error_share(tokens))) {
            entry["error"] = error.into();
        }
    }
    entry
}

#[cfg(test)]
mod tests;
