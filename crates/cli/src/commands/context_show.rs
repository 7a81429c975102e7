//! `cardwire context show`: what a call sent, rendered again (RP-02).

use crate::{
    client::Answer,
    failure::Failure,
    output::Output,
    text::{cell, count},
};
use serde_json::Value;

/// Shows a call. One whose request is not what was sent is a failure, told after what can be shown.
pub(super) fn show(answer: Answer, render: bool, output: Output) -> Result<(), Failure> {
    let call: Value = answer.parse()?;
    if output.json {
        output.json(&answer.text)?;
    } else if render {
        if let Some(request) = call["request"].as_str() {
            output.exact_json(request)?;
        }
    } else {
        table(&call, output)?;
    }
    if call["hash_ok"] == true {
        return Ok(());
    }
    let id = cell(&call["call_id"]);
    Err(match call["missing"].as_str() {
        Some(missing) => Failure::failed(format!("call {id} cannot be rendered again: {missing}"))
            .hint("what was deleted or has expired since is not shown any more"),
        None => Failure::failed(format!("call {id} was sent with another hash than its request has now"))
            .hint("`cardwire verify` tells which cards were changed from outside"),
    })
}

fn table(call: &Value, output: Output) -> Result<(), Failure> {
    let entries = call["entries"].as_array().map_or(&[][..], Vec::as_slice);
    let names = ["layer", "context_key", "card_id", "tokens", "reason"];
    let mut rows: Vec<_> =
        entries.iter().map(|entry| names.map(|name| cell(&entry[name])).to_vec()).collect();
    // What is in no card of it, so that the rows come to the total.
    let all = call["rows"].as_array().map_or(&[][..], Vec::as_slice);
    let is_other = |row: &&Value| !entries.iter().any(|entry| entry["layer"] == row["layer"]);
    rows.extend(all.iter().filter(is_other).map(|row| {
        vec![cell(&row["layer"]), String::new(), String::new(), cell(&row["tokens"]), String::new()]
    }));
    output.table(&["LAYER", "BLOCK", "CARD", "TOKENS", "REASON"], rows)?;
    let manifest = &call["manifest"];
    let omitted = manifest["omissions"].as_array().map_or(&[][..], Vec::as_slice);
    if !omitted.is_empty() {
        output.line("")?;
        let rows = omitted.iter().map(left_out).collect();
        output.table(&["LEFT OUT", "BLOCK", "CARDS", "TOKENS", "REASON"], rows)?;
    }
    output.line("")?;
    let holds = if call["hash_ok"] == true { "holds" } else { "does not hold" };
    let [model, provider, shared, hash] =
        ["model", "provider", "shared_prefix_tokens", "request_sha256"].map(|name| cell(&manifest[name]));
    let total = call["input_tokens"].as_u64().or_else(|| manifest["total_tokens"].as_u64());
    let total = count(total.unwrap_or(0), "token", "tokens");
    output.fields(&[
        ("model", format!("{model} ({provider})")),
        ("total", format!("{total}, {shared} of them at the start as in the call before")),
        ("hash", format!("{hash} ({holds})")),
    ])
}

fn left_out(omission: &Value) -> Vec<String> {
    ["layer", "context_key", "cards", "tokens", "reason"].map(|name| cell(&omission[name])).to_vec()
}
