//! What models are sent, in the kernel as a whole: sessions, compaction, calls and what is plugged in.

mod compaction;
mod deletion;
mod growth;
mod limits;
mod meanwhile;
mod plugged;
mod sessions;
mod tools;

use crate::desk::{Desk, caller};
use cardwire_kernel::{
    CallRequest, ComposedCall, Done, KernelError, NewTurnCard, SessionView,
    composer::process::Process,
    protocol::{
        facts::create_box::Created,
        session::patch::{MessagesOp, Patch, Patched},
        turn::{Command, Fence, Outcome, Proof, append::Append, claim::Lease},
    },
};
use cardwire_model::{
    BoxId, CanonicalJson, CardDraft, CardId, Hash256, Message, Namespace, Origin, SessionKey, Speaker,
};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

pub(crate) fn key(session: &str) -> SessionKey {
    SessionKey { namespace: Namespace::default(), session: session.parse().unwrap() }
}

pub(crate) fn message(id: &str, speaker: Speaker, text: &str) -> Message {
    Message {
        id: Some(id.to_owned()),
        speaker,
        content: CanonicalJson::string(text).unwrap(),
        tool_calls: None,
        tool_call_id: None,
        name: None,
        internal: false,
    }
}

pub(crate) fn append(messages: Vec<Message>) -> Patch {
    Patch { messages: Some(MessagesOp::Append(messages)), ..Patch::default() }
}

pub(crate) fn draft(kind: &str, content: &Value, call: Option<&str>) -> CardDraft {
    CardDraft {
        content: CanonicalJson::from_value(content).unwrap(),
        metadata: CanonicalJson::from_value(&json!({ "type": kind })).unwrap(),
        tool_calls: None,
        tool_call_id: call.map(str::to_owned),
        ttl_seconds: None,
    }
}

impl Desk {
    pub(crate) async fn patch(&self, session: &str, patch: &Patch) -> Patched {
        match self.kernel.patch_session(&self.project, &caller(), &key(session), patch, None).await.unwrap() {
            Done::Fresh(patched) => patched,
            Done::Replayed(answer) => panic!("{answer:?}"),
        }
    }

    pub(crate) async fn session(&self, session: &str) -> SessionView {
        self.kernel.session(&self.project, &key(session), None).await.unwrap()
    }

    pub(crate) async fn texts(&self, session: &str) -> Vec<String> {
        let view = self.session(session).await;
        let text = |card: &std::sync::Arc<cardwire_model::Card>| {
            card.content.to_text().unwrap_or_else(|| card.content.as_str().to_owned())
        };
        view.messages.iter().map(text).collect()
    }

    /// A box with one instruction.
    pub(crate) async fn instruction(&self, text: &str) -> BoxId {
        let created = self.kernel.create_box(&self.project, &caller(), None, &[], None).await.unwrap();
        let Done::Fresh(Created::New(head)) = created else { panic!("no box") };
        let draft = draft("task.instruction", &json!(text), None);
        let drafts = vec![(draft, Origin::Operator)];
        self.kernel.put_and_append(&self.project, &caller(), head.box_id, drafts).await.unwrap();
        head.box_id
    }

    /// A turn of a session, claimed.
    pub(crate) async fn turn_of(&self, agent: &str, session: &str, asked: &str) -> Lease {
        let context = self.instruction(asked).await;
        let config = format!(r#"{{"session_id":"{session}"}}"#);
        let receipt = self.dispatch_with(agent, context, None, &config).await;
        let leases = self.claim().await;
        leases.into_iter().find(|lease| lease.turn_id == receipt.turn_id).unwrap()
    }

    pub(crate) async fn write(&self, lease: &Lease, drafts: Vec<CardDraft>) -> Vec<CardId> {
        let cards = drafts.into_iter().map(|draft| NewTurnCard { id: None, draft }).collect();
        let cards = self.kernel.turn_cards(cards).unwrap();
        let command = Command::Append(Append { fence: fence(lease), cards, calls: vec![], step: None });
        match self.kernel.turn_command(&self.project, &caller(), command, None).await.unwrap() {
            Done::Fresh(Outcome::Appended { card_ids, .. }) => card_ids,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn call(&self, lease: &Lease, window: Option<u32>) -> Result<ComposedCall, KernelError> {
        let request = CallRequest {
            fence: fence(lease),
            provider: None,
            model: Some("m".to_owned()),
            params: Map::new(),
            tools: None,
            process: Process::Sequential,
            share: true,
            contexts: BTreeMap::new(),
            without: vec![],
            window,
            reserve: None,
            step_id: None,
            purpose: cardwire_kernel::Purpose::Answer,
        };
        let done = self.kernel.compose_call(&self.project, &caller(), &request, None).await?;
        Ok(done.fresh().unwrap())
    }
}

pub(crate) fn fence(lease: &Lease) -> Fence {
    let secret = lease.turn.as_ref().unwrap().secret;
    Fence { turn_id: lease.turn_id, epoch: lease.epoch, proof: Proof::Lease(Hash256::of(&secret)) }
}

/// The messages of a request.
pub(crate) fn sent(call: &ComposedCall) -> Vec<(String, String)> {
    let body: Value = serde_json::from_str(&call.body).unwrap();
    let text = |message: &Value, name: &str| message[name].as_str().unwrap_or_default().to_owned();
    let messages = body["messages"].as_array().unwrap();
    messages.iter().map(|message| (text(message, "role"), text(message, "content"))).collect()
}
