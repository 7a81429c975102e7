//! References within a schema: where they lead, and that following them comes to an end.
//!
//! A schema is one document, and in one document `$dynamicRef` leads where `$ref` leads.

use super::{
    draft::Draft,
    keyword::{Id, Keyword, Node},
};
use crate::Invalid;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// The references of a schema, and what they may name.
pub(super) struct Links {
    /// `$id`, or what it was called before.
    id_word: &'static str,
    /// What the document calls itself.
    own: Option<String>,
    anchors: HashMap<String, Id>,
    /// Where a part of the document calls itself a document.
    inner: Option<String>,
    any: bool,
    /// Those that were not followed yet.
    pub(super) open: Vec<Link>,
}

/// The keyword of a node that is a reference.
pub(super) struct Link {
    pub(super) node: Id,
    pub(super) keyword: usize,
    pub(super) target: String,
    /// Where it stands, for refusals.
    pub(super) field: String,
}

/// Where a reference leads.
pub(super) enum Found<'a> {
    Node(Id),
    Value(&'a Value),
}

impl Links {
    pub(super) fn of(schema: &Value, draft: Draft) -> Self {
        let id_word = if draft == Draft::Four { "id" } else { "$id" };
        let own = schema.get(id_word).and_then(Value::as_str).map(|own| own.trim_end_matches('#').to_owned());
        Self { id_word, own, anchors: HashMap::new(), inner: None, any: false, open: vec![] }
    }

    /// Notes the names of a schema.
    pub(super) fn name(&mut self, schema: &Map<String, Value>, id: Id, field: impl FnOnce() -> String) {
        let text = |word: &str| schema.get(word).and_then(Value::as_str);
        let mut anchors = vec![text("$anchor"), text("$dynamicAnchor")];
        if let Some(named) = text(self.id_word) {
            match named.strip_prefix('#') {
                Some(anchor) => anchors.push(Some(anchor)),
                None if id == 0 => {}
                None if self.inner.is_none() => self.inner = Some(format!("{}/{}", field(), self.id_word)),
                None => {}
            }
        }
        for anchor in anchors.into_iter().flatten() {
            self.anchors.entry(anchor.to_owned()).or_insert(id);
        }
    }

    pub(super) fn add(&mut self, link: Link) {
        self.any = true;
        self.open.push(link);
    }

    pub(super) fn find<'a>(&self, schema: &'a Value, target: &str) -> Result<Found<'a>, String> {
        let (document, fragment) = target.split_once('#').unwrap_or((target, ""));
        if !document.is_empty() && self.own.as_deref() != Some(document) {
            let document: String = document.chars().take(100).collect();
            return Err(format!(
                "leads to {document}, and nothing is fetched; bring what it names into $defs"
            ));
        }
        let nowhere = || "leads nowhere in this schema".to_owned();
        let fragment = unescaped(fragment).ok_or_else(nowhere)?;
        if fragment.is_empty() || fragment.starts_with('/') {
            return schema.pointer(&fragment).map(Found::Value).ok_or_else(nowhere);
        }
        self.anchors.get(&fragment).copied().map(Found::Node).ok_or_else(nowhere)
    }

    /// A part with a name of its own is a document of its own: references in it would lead elsewhere.
    pub(super) fn check_ids(&self) -> Result<(), Invalid> {
        match &self.inner {
            Some(inner) if self.any => {
                let reason =
                    "is not supported in a part of a schema that has references; name the part with $anchor";
                Err(Invalid::field(inner.clone(), reason))
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// A fragment without its percent signs.
fn unescaped(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let [first, after @ ..] = rest {
        if *first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

/// Refuses schemas that apply themselves to the value they are applied to already.
pub(super) fn check_ends(nodes: &[Node], field: &str) -> Result<(), Invalid> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        Never,
        Above,
        Done,
    }
    let mut seen = vec![Seen::Never; nodes.len()];
    for start in 0..nodes.len() {
        let mut path = vec![(start, in_place(&nodes[start]))];
        if std::mem::replace(&mut seen[start], Seen::Above) != Seen::Never {
            seen[start] = Seen::Done;
            continue;
        }
        while let Some((id, rest)) = path.last_mut() {
            let Some(next) = rest.pop() else {
                seen[*id] = Seen::Done;
                path.pop();
                continue;
            };
            match seen[next] {
                Seen::Done => {}
                Seen::Above => {
                    let reason =
                        "refers to itself without going into the value, so that a check would have no end";
                    return Err(Invalid::field(field, reason));
                }
                Seen::Never => {
                    seen[next] = Seen::Above;
                    path.push((next, in_place(&nodes[next])));
                }
            }
        }
    }
    Ok(())
}

fn in_place(node: &Node) -> Vec<Id> {
    node.keywords.iter().flat_map(Keyword::in_place).collect()
}
