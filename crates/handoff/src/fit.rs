//! Makes a package short enough to be handed on (HO-06): entries that matter least are left out of the index.
//!
//! Invariant: no entry is left out while a less important one stays, and what stays out is in the complete index.

use crate::{
    Entry, Package, Problem, Refusal, RefusalKind,
    package::{Body, INDEX},
    problem::{Findings, Place, code},
};
use cardwire_model::{
    CanonicalJson,
    limits::{HANDOFF_DESIGN_TOKENS, HANDOFF_TOKENS},
    token_count,
};
use serde_json::{Map, Value, json};

/// What is stored instead of a package that is too long; a package that is not is unchanged.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// The package to store.
    pub package: Package,
    /// Its estimated tokens.
    pub token_estimate: u32,
    /// What the sender should know.
    pub warnings: Vec<Problem>,
    /// The index as it was sent, when entries were left out of it. It belongs into [`crate::keep_complete_index`].
    pub complete_index: Option<Vec<Value>>,
}

/// Leaves out entries until the package fits; 413 if it does not fit without them.
pub fn fit(package: Package) -> Result<Fitted, Refusal> {
    let tokens = package.token_estimate();
    let longest = match package.body() {
        Body::Execution(_) if tokens > HANDOFF_TOKENS => return shorten(package),
        Body::Design(_) => HANDOFF_DESIGN_TOKENS,
        Body::Execution(_) | Body::Registered(_) => HANDOFF_TOKENS,
    };
    let mut findings = Findings::default();
    if tokens > longest {
        let message =
            format!("the package has {tokens} tokens; more than {longest} are a burden to its reader");
        findings.warning("package_long", Place::default(), message);
    }
    Ok(Fitted { token_estimate: tokens, warnings: findings.finish()?, complete_index: None, package })
}

fn shorten(package: Package) -> Result<Fitted, Refusal> {
    let empty = Map::new();
    let map = package.value().as_object().unwrap_or(&empty);
    let complete = map.get(INDEX).and_then(Value::as_array).cloned().unwrap_or_default();
    let order = by_priority(package.index());
    let draft = Draft { map, complete: &complete, order: &order, total: total(&package) };

    // The most that fit, found by halving: the text only grows with each entry.
    let (mut fits, mut over) = (0, draft.at_most() + 1);
    while over - fits > 1 {
        let middle = (fits + over) / 2;
        if draft.tokens(middle)? <= HANDOFF_TOKENS { fits = middle } else { over = middle }
    }
    if fits == 0 {
        let tokens = package.token_estimate();
        let message = format!(
            "the package has {tokens} tokens and does not fit into {HANDOFF_TOKENS} with even one entry of its index"
        );
        return Err(Refusal::new(RefusalKind::TooLarge, code::PACKAGE_TOO_LARGE, None, message));
    }

    let (value, token_estimate) = (draft.value(fits), draft.tokens(fits)?);
    let entries = order[..fits].iter().map(|&at| package.index()[at].clone()).collect();
    let mut findings = Findings::default();
    let message =
        format!("{fits} of {} entries are kept; all of them are in failure_summary.json", draft.total);
    findings.warning("index_truncated", Place::field(INDEX), message);
    let package = package.with_index(value, entries, token_estimate);
    Ok(Fitted { package, token_estimate, warnings: findings.finish()?, complete_index: Some(complete) })
}

/// Positions in the index, the most important first, in their order where they matter alike.
pub(crate) fn by_priority(index: &[Entry]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..index.len()).collect();
    order.sort_by_key(|&at| index[at].priority);
    order
}

/// How many samples failed: a package that was shortened before knows of more than its index names.
fn total(package: &Package) -> u64 {
    let named = package.index().len() as u64;
    let known = package.value()["metadata"]["index_total"].as_u64().filter(|_| package.is_truncated());
    known.unwrap_or(0).max(named)
}

/// A package with fewer entries.
struct Draft<'a> {
    map: &'a Map<String, Value>,
    complete: &'a [Value],
    order: &'a [usize],
    total: u64,
}

impl Draft<'_> {
    /// How many entries can fit at all, so that no draft is made of an index of megabytes.
    fn at_most(&self) -> usize {
        let mut tokens = 0;
        let fits = |&&at: &&usize| {
            tokens += token_count::estimate(&self.complete[at].to_string());
            tokens <= 2 * HANDOFF_TOKENS
        };
        // One is left out in any case: this package is too long as it is.
        self.order.iter().take_while(fits).count().min(self.order.len().saturating_sub(1))
    }

    fn value(&self, count: usize) -> Value {
        let entries: Vec<Value> = self.order[..count].iter().map(|&at| self.complete[at].clone()).collect();
        let mut map: Map<String, Value> = self
            .map
            .iter()
            .filter(|(key, _)| *key != INDEX)
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        map.insert(INDEX.to_owned(), Value::Array(entries));
        let mut value = Value::Object(map);
        value["metadata"]["index_truncated"] = json!(true);
        value["metadata"]["index_total"] = json!(self.total);
        value["metadata"]["index_included"] = json!(count);
        value
    }

    fn tokens(&self, count: usize) -> Result<u32, Refusal> {
        let text = CanonicalJson::from_value(&self.value(count)).map_err(|invalid| {
            Refusal::new(
                RefusalKind::Invalid,
                code::INVALID_PACKAGE,
                Some(invalid.field_name()),
                invalid.to_string(),
            )
        })?;
        Ok(token_count::estimate(text.as_str()))
    }
}
