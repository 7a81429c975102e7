//! Cards that record a call: blocks, tools, repairs and the manifest itself. All but the manifest are named by what they
//! say, so that the same text is kept once per project.

use crate::{Kernel, KernelError};
use cardwire_context::lint::NewRepair;
use cardwire_model::{CanonicalJson, Card, CardDraft, CardId, Invalid, Origin, ProjectId, Timestamp, TurnId};
use serde_json::{Value, json, value::RawValue};

impl Kernel {
    /// The card of a block's text.
    pub(super) fn block_card(&self, project: &ProjectId, text: &str) -> Result<Card, KernelError> {
        let id = named(project, &["block", text]);
        let make = || record(id, "sys.block", CanonicalJson::string(text)?, &json!({}), None, self.now());
        self.records.named(id, self.now(), make)
    }

    /// The card of a list of tools.
    pub(super) fn tools_card(&self, project: &ProjectId, text: &str) -> Result<Card, KernelError> {
        self.records.of_tools(project, text, self.now(), || {
            let tools = read_tools(text)?;
            let id = named(project, &["tools", tools.as_str()]);
            record(id, "sys.tools", tools, &json!({}), None, self.now())
        })
    }

    /// The card of something that the linter added.
    pub(super) fn repair_card(
        &self,
        project: &ProjectId,
        turn: TurnId,
        repair: &NewRepair,
    ) -> Result<Card, KernelError> {
        let (turn, broken) = (turn.to_string(), repair.card_id.map(|id| id.to_string()));
        let call = repair.tool_call_id.as_deref();
        let parts = [
            "repair",
            &turn,
            repair.rule.as_str(),
            broken.as_deref().unwrap_or(""),
            call.unwrap_or(""),
            repair.content.as_str(),
        ];
        let metadata = json!({
            "rule": repair.rule.as_str(), "card_id": broken, "role": repair.speaker.role().as_str(),
        });
        record(named(project, &parts), "sys.repair", repair.content.clone(), &metadata, call, self.now())
    }

    /// The card of a manifest.
    pub(super) fn manifest_card(&self, content: CanonicalJson) -> Result<Card, KernelError> {
        record(self.card_id(), MANIFEST, content, &json!({}), None, self.now())
    }
}

/// A list of objects.
fn read_tools(text: &str) -> Result<CanonicalJson, Invalid> {
    let tools = CanonicalJson::parse(text, "tools")?;
    // Lists of tools are long, and all there is to know is where each begins.
    let listed: Vec<&RawValue> =
        serde_json::from_str(tools.as_str()).map_err(|_| Invalid::field("tools", "must be a list"))?;
    match listed.iter().position(|tool| !tool.get().starts_with('{')) {
        Some(index) => Err(Invalid::field(format!("tools/{index}"), "must be an object")),
        None => Ok(tools),
    }
}

/// The kind of a manifest's card.
pub(super) const MANIFEST: &str = "sys.manifest";

fn record(
    id: CardId,
    kind: &str,
    content: CanonicalJson,
    extra: &Value,
    tool_call_id: Option<&str>,
    now: Timestamp,
) -> Result<Card, KernelError> {
    let mut metadata = json!({ "type": kind, "role": "system" });
    for (key, value) in extra.as_object().into_iter().flatten() {
        metadata[key] = value.clone();
    }
    let draft = CardDraft {
        content,
        metadata: CanonicalJson::from_value(&metadata)?,
        tool_calls: None,
        tool_call_id: tool_call_id.map(str::to_owned),
        ttl_seconds: None,
    };
    Ok(draft.into_card(id, Origin::Agent, now)?)
}

fn named(project: &ProjectId, parts: &[&str]) -> CardId {
    CardId::derived(&[&[project.as_str()], parts].concat())
}
