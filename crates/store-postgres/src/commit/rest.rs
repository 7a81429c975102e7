//! The part of a commit that travels as JSON: expectations and rare writes, grouped by kind.
//!
//! Invariant: the keys are those that `cw_expect` and `cw_rest` look for, and every value is a list of rows, so that
//! commits are put together by putting lists together.

use cardwire_model::{
    Agent, Answer, ChainHead, Entry, Item, NewBox, Profile, Project, Resource, Revision, Scope, Token,
    ToolCall,
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fmt::Write as _};
use uuid::Uuid;

use super::{payload::Payload, row::Append};

/// Kinds that are only looked at, before anything is written.
const EXPECTED: [&str; 4] = ["project_at", "open_turns", "chain_at", "open_box"];
/// Kinds that are written at that moment.
const WRITTEN_FIRST: [&str; 3] = ["create_project", "update_project", "delete_card"];

/// Rows by kind, each list as JSON text without its brackets.
#[derive(Debug, Default)]
pub(super) struct Rest(BTreeMap<&'static str, String>);

impl Rest {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn push(&mut self, kind: &'static str, row: &Value) {
        self.extend(kind, &row.to_string());
    }

    /// The rows of several commits, in their order, without later stages.
    pub(super) fn of(payloads: &[&Payload]) -> Self {
        let mut all = Self::default();
        for (kind, rows) in payloads.iter().flat_map(|payload| &payload.rest.0) {
            all.extend(kind, rows);
        }
        all
    }

    /// What must hold before anything is written, and what is written after most else; `None` when something is written
    /// first.
    pub(super) fn halves(self) -> Option<(Self, Self)> {
        if WRITTEN_FIRST.iter().any(|kind| self.0.contains_key(kind)) {
            return None;
        }
        let (expected, written) = self.0.into_iter().partition(|(kind, _)| EXPECTED.contains(kind));
        Some((Self(expected), Self(written)))
    }

    fn extend(&mut self, kind: &'static str, rows: &str) {
        let list = self.0.entry(kind).or_default();
        if !list.is_empty() {
            list.push(',');
        }
        list.push_str(rows);
    }

    /// The whole as one JSON object; `then` are later stages.
    pub(super) fn to_json(&self, then: &[Self]) -> String {
        let mut text = String::from("{");
        for (kind, rows) in &self.0 {
            separate(&mut text);
            // Writing to a string cannot fail.
            let _ = write!(text, "\"{kind}\":[{rows}]");
        }
        if !then.is_empty() {
            separate(&mut text);
            let stages: Vec<_> = then.iter().map(|stage| stage.to_json(&[])).collect();
            let _ = write!(text, "\"then\":[{}]", stages.join(","));
        }
        text.push('}');
        text
    }

    /// How many bytes it will be, about.
    pub(super) fn size(&self) -> usize {
        self.0.values().map(String::len).sum()
    }
}

fn separate(text: &mut String) {
    if text.len() > 1 {
        text.push(',');
    }
}

pub(super) fn sealed_box(box_id: Uuid) -> Value {
    json!({ "box_id": box_id.to_string() })
}

pub(super) fn append(append: &Append) -> Value {
    json!({
        "box_id": append.box_id.to_string(),
        "generation": append.generation,
        "min_len": append.min_len,
        "max_len": append.max_len,
        "cards": append.cards.iter().map(Uuid::to_string).collect::<Vec<_>>(),
    })
}

pub(super) fn chain(head: &ChainHead) -> Value {
    json!({ "position": head.position, "hash": head.hash.to_string() })
}

pub(super) fn new_box(new: &NewBox) -> Value {
    let head = &new.head;
    json!({
        "box_id": head.box_id.uuid().to_string(),
        "generation": head.generation.get(),
        "len": head.len,
        "entries": head.entries,
        "depth": head.depth,
        "sealed": head.sealed,
        "handover_hash": head.handover_hash.map(|hash| hash.to_string()),
        "created_at": head.created_at.micros(),
        "items": new.entries.iter().map(entry).collect::<Vec<_>>(),
    })
}

fn entry(entry: &Entry) -> Value {
    let (source, rule) = entry.source.parts();
    match entry.item {
        Item::Card(card) => json!({ "card_id": card.uuid().to_string(), "source": source, "rule": rule }),
        Item::Segment(segment) => json!({
            "segment_box": segment.box_id.uuid().to_string(),
            "segment_generation": segment.generation.get(),
            "segment_len": segment.len,
            "source": source,
            "rule": rule,
        }),
    }
}

pub(super) fn project(project: &Project) -> Value {
    json!({
        "project_id": project.id.as_str(),
        "title": project.title,
        "settings": project.settings.to_json().as_str(),
        "revision": project.revision.get(),
        "deletions": project.deletions,
        "created_at": project.created_at.micros(),
        "updated_at": project.updated_at.micros(),
        "deleted_at": project.deleted_at.map(|at| at.micros()),
    })
}

pub(super) fn token(token: &Token) -> Value {
    json!({
        "token_id": token.id.uuid().to_string(),
        "secret_hash": token.secret_hash.to_string(),
        "scopes": Scope::list_to_stored(&token.scopes),
        "created_at": token.created_at.micros(),
        "expires_at": token.expires_at.map(|at| at.micros()),
        "revoked_at": token.revoked_at.map(|at| at.micros()),
    })
}

pub(super) fn answer(answer: &Answer) -> Value {
    json!({
        "caller": answer.key.caller,
        "key": answer.key.key,
        "request_hash": answer.key.request_hash.to_string(),
        "status": answer.status,
        "body": answer.body,
        "created_at": answer.created_at.micros(),
    })
}

pub(super) fn call(call: &ToolCall) -> Value {
    let answer = call.answer.as_ref();
    json!({
        "agent_turn_id": call.turn_id.uuid().to_string(),
        "tool_call_id": call.tool_call_id,
        "agent_id": call.agent_id.as_str(),
        "created_at": call.created_at.micros(),
        "call_card_id": call.call_card.map(|card| card.uuid().to_string()),
        "waiting": call.waiting,
        "answer_status": answer.map(|answer| answer.status.as_str()),
        "terminate": answer.map(|answer| answer.terminate),
        "answer_card_id": answer.map(|answer| answer.card.uuid().to_string()),
        "answered_at": answer.map(|answer| answer.at.micros()),
    })
}

pub(super) fn profile(was: Option<Revision>, profile: &Profile) -> Value {
    json!({
        "was": was.map(Revision::get),
        "profile_name": profile.name.as_str(),
        "worker_target": profile.worker_target.as_str(),
        "profile_box_id": profile.profile_box.uuid().to_string(),
        "card_id": profile.card_id.uuid().to_string(),
        "tags": profile.tags,
        "revision": profile.revision.get(),
        "created_at": profile.created_at.micros(),
        "updated_at": profile.updated_at.micros(),
        "deleted_at": profile.deleted_at.map(|at| at.micros()),
    })
}

pub(super) fn resource(was: Option<Revision>, resource: &Resource) -> Value {
    json!({
        "was": was.map(Revision::get),
        "kind": resource.kind.as_str(),
        "name": resource.name.as_str(),
        "card_id": resource.card_id.uuid().to_string(),
        "revision": resource.revision.get(),
        "created_at": resource.created_at.micros(),
        "updated_at": resource.updated_at.micros(),
        "deleted_at": resource.deleted_at.map(|at| at.micros()),
    })
}

pub(super) fn agent(was: Revision, agent: &Agent) -> Value {
    json!({
        "was": was.get(),
        "agent_id": agent.id.as_str(),
        "profile_name": agent.profile_name.as_str(),
        "profile_box_id": agent.profile_box.uuid().to_string(),
        "worker_target": agent.worker_target.as_str(),
        "display_name": agent.display_name,
        "tags": agent.tags,
        "owner_agent_id": agent.owner.as_ref().map(|owner| owner.as_str()),
        "metadata": agent.metadata.as_str(),
        "revision": agent.revision.get(),
        "created_at": agent.created_at.micros(),
        "updated_at": agent.updated_at.micros(),
    })
}
