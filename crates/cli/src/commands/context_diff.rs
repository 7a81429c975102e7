//! `cardwire context diff`: what came and went between two requests (RP-03).

use crate::{client::Answer, failure::Failure, output::Output, text::cell};
use serde_json::Value;

pub(super) fn show(answer: Answer, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.json(&answer.text);
    }
    let diff: Value = answer.parse()?;
    let layers = list(&diff, "layers");
    let mut rows: Vec<_> = layers.iter().map(layer).collect();
    let total = |name: &str| layers.iter().map(|layer| list(layer, name).len()).sum::<usize>().to_string();
    let kept: u64 = layers.iter().filter_map(|layer| layer["kept"].as_u64()).sum();
    let mut all = vec!["total".to_owned(), kept.to_string(), total("added"), total("removed")];
    all.extend(tokens(&diff));
    rows.push(all);
    output.table(&["LAYER", "KEPT", "ADDED", "REMOVED", "LEFT", "RIGHT", "DELTA"], rows)?;
    let changes: Vec<_> =
        layers.iter().flat_map(changes).chain(list(&diff, "moved").iter().map(moved)).collect();
    if changes.is_empty() {
        return Ok(());
    }
    output.line("")?;
    output.table(&["CHANGE", "LAYER", "CARD", "TOKENS"], changes)
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

fn layer(layer: &Value) -> Vec<String> {
    let lengths = ["added", "removed"].map(|name| list(layer, name).len().to_string());
    let mut row = vec![cell(&layer["layer"]), cell(&layer["kept"])];
    row.extend(lengths);
    row.extend(tokens(layer));
    row
}

/// Tokens on both sides, and the difference with its sign.
fn tokens(value: &Value) -> [String; 3] {
    let delta = match value["delta"].as_i64() {
        Some(0) | None => cell(&value["delta"]),
        Some(delta) => format!("{delta:+}"),
    };
    [cell(&value["tokens_left"]), cell(&value["tokens_right"]), delta]
}

fn changes(layer: &Value) -> impl Iterator<Item = Vec<String>> + '_ {
    let row = |change: &str, entry: &Value| {
        vec![change.to_owned(), cell(&layer["layer"]), cell(&entry["card_id"]), cell(&entry["tokens"])]
    };
    let removed = list(layer, "removed").iter().map(move |entry| row("-", entry));
    let added = list(layer, "added").iter().map(move |entry| row("+", entry));
    removed.chain(added)
}

fn moved(moved: &Value) -> Vec<String> {
    let layers = format!("{} → {}", cell(&moved["from"]), cell(&moved["to"]));
    vec!["moved".to_owned(), layers, cell(&moved["card_id"]), String::new()]
}
