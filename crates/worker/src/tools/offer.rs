//! What a model is told it may call, in its provider's format.

use super::{fields::Field, handover, submit};
use cardwire_model::{Provider, asking::ASK_HUMAN, builtin_tools::PMO_TOOLS, every_built_in_tool};
use serde::{Serialize, Serializer};
use serde_json::{
    Value, json,
    value::{RawValue, to_raw_value},
};
use std::{collections::HashMap, sync::LazyLock};

/// A tool as a model is told of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Offer {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) parameters: Value,
}

impl Offer {
    /// In the form that a provider takes.
    fn form(&self, provider: Provider) -> Value {
        match provider {
            Provider::OpenAiChat => json!({
                "type": "function",
                "function": {
                    "name": self.name, "description": self.description, "parameters": self.parameters,
                },
            }),
            Provider::AnthropicMessages => json!({
                "name": self.name, "description": self.description, "input_schema": self.parameters,
            }),
        }
    }
}

/// One of the tools of a turn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Offered {
    /// One that comes with every worker, by its name.
    BuiltIn(&'static str),
    /// One of this turn, project or machine.
    Made(Offer),
}

impl Offered {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::BuiltIn(name) => name,
            Self::Made(offer) => &offer.name,
        }
    }

    /// In the form that a provider takes.
    fn form(&self, provider: Provider) -> Option<Form> {
        match self {
            Self::BuiltIn(name) => BUILT_IN.get(&(*name, provider)).map(|text| Form::Known(text)),
            Self::Made(offer) => Some(Form::Made(offer.form(provider))),
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Form {
    /// Written down before.
    Known(&'static RawValue),
    Made(Value),
}

/// What every worker offers, in the forms of all providers: nearly every call has most of it, so it is made once.
static BUILT_IN: LazyLock<HashMap<(&'static str, Provider), Box<RawValue>>> = LazyLock::new(|| {
    let offers = || every_built_in_tool().filter_map(|name| Some((name, built_in(name, &[])?)));
    let form = |provider: &'static Provider| {
        offers()
            .filter_map(|(name, offer)| Some(((name, *provider), to_raw_value(&offer.form(*provider)).ok()?)))
    };
    Provider::ALL.iter().flat_map(form).collect()
});

/// Offers as the list that a provider takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tools<'a> {
    pub(crate) offers: &'a [Offered],
    pub(crate) provider: Provider,
}

impl Serialize for Tools<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.offers.iter().filter_map(|offer| offer.form(self.provider)))
    }
}

/// `submit_result` with the fields of this turn.
pub(crate) fn submit_offer(required: &[Field]) -> Offer {
    Offer {
        name: submit::NAME.to_owned(),
        description: match required {
            [] => "End your work with its result.".to_owned(),
            _ => "End your work with its result: a value for each required field.".to_owned(),
        },
        parameters: submit::schema(required),
    }
}

/// A hand-over to another member of the team.
pub(crate) fn delegate_offer(id: &str, description: &str) -> Offer {
    let about = if description.is_empty() { String::new() } else { format!(" ({description})") };
    Offer {
        name: handover::tool(id),
        description: format!("Hand the work over to {id}{about} and end your own part."),
        parameters: object(
            json!({
                "task": { "type": "string", "description": "What it is to do, complete in itself." },
                "message": { "type": "string", "description": "What you found so far." },
            }),
            &["task"],
        ),
    }
}

/// A tool of the project.
pub(crate) fn document_offer(name: &str, document: &Value) -> Offer {
    let text = document["description"].as_str().unwrap_or_default();
    let schema = Some(&document["parameters"]).filter(|schema| schema.is_object());
    let parameters = schema.cloned().unwrap_or_else(|| object(json!({}), &[]));
    Offer { name: name.to_owned(), description: text.to_owned(), parameters }
}

/// A tool that comes with every worker, for somebody who may give work to agents of these profiles.
pub(crate) fn built_in_offer(name: &'static str, profiles: &[&Value]) -> Offered {
    match built_in(name, profiles).filter(|_| !profiles.is_empty() && PMO_TOOLS.contains(&name)) {
        Some(offer) => Offered::Made(offer),
        None => Offered::BuiltIn(name),
    }
}

/// The tools that come with every worker. `profiles` are those whose agents can be given work, as far as that is known.
fn built_in(name: &str, profiles: &[&Value]) -> Option<Offer> {
    let target = json!({
        "type": "string", "enum": ["new", "reuse", "clone"],
        "description": "new makes an agent of a profile; reuse takes one that is there; clone makes a copy of one, which has read all that it wrote.",
    });
    let task = object(
        json!({
            "target_strategy": target,
            "target_ref": { "type": "string", "description": target_text(profiles) },
            "instruction": { "type": "string", "description": "What is to be done, complete in itself: the agent is told nothing else." },
            "context_box_id": { "type": "string", "description": "The output_box_id of earlier work that the agent is to read." },
        }),
        &["target_strategy", "target_ref", "instruction"],
    );
    let profile = json!({ "type": "string", "description": profile_text(profiles) });
    let (description, parameters) = match name {
        "delegate_async" => (
            "Give work to another agent and go on without waiting for it. The answer names the box that it will write to.",
            task,
        ),
        "fork_join" => (
            "Give work to several agents at once and wait for the results of all.",
            object(
                json!({
                    "tasks": { "type": "array", "items": task, "minItems": 1 },
                    "fail_fast": { "type": "boolean", "description": "Whether the first failure ends the others." },
                    "deadline_seconds": { "type": "number", "description": "How long to wait at most; 900 when absent." },
                }),
                &["tasks"],
            ),
        ),
        "ask_expert" => (
            "Ask an expert and go on without waiting for the answer. The answer names the box that it will be in.",
            object(
                json!({
                    "expert_profile": profile, "question": { "type": "string" },
                    "include_history": { "type": "boolean", "description": "Whether the expert reads what you have written so far." },
                }),
                &["expert_profile", "question"],
            ),
        ),
        "launch_principal" => (
            "Start an agent with work of its own, and go on without waiting for it.",
            object(
                json!({ "profile_name": profile, "instruction": { "type": "string" } }),
                &["profile_name", "instruction"],
            ),
        ),
        "read_card" => (
            "Read one card of what you were given, by its card_id.",
            object(json!({ "card_id": { "type": "string" } }), &["card_id"]),
        ),
        "read_box" => (
            "Read what work that you gave to others has written.",
            object(
                json!({
                    "box_id": { "type": "string", "description": "The output_box_id in the answer to the call that gave the work." },
                    "limit": { "type": "integer", "description": "How many of the last cards; 100 when absent." },
                }),
                &["box_id"],
            ),
        ),
        ASK_HUMAN => (
            "Ask a person and wait for the answer.",
            object(json!({ "question": { "type": "string" } }), &["question"]),
        ),
        "plan_todo" => (
            "Change the team's list of things to do: add, remove or replace items.",
            object(
                json!({
                    "op": { "type": "string", "enum": ["add", "remove", "replace"] },
                    "items": {
                        "type": "array", "items": { "type": "string" },
                        "description": "What is to be done, one sentence each; to remove, the ids: t1, t2, …",
                    },
                    "goal": { "type": "string", "description": "What all of it is for." },
                }),
                &["op", "items"],
            ),
        ),
        "report_todo" => (
            "Tell how things on the list stand.",
            object(
                json!({
                    "updates": {
                        "type": "array",
                        "items": object(
                            json!({
                                "id": { "type": "string", "description": "As on the list: t1, t2, …" },
                                "status": {
                                    "type": "string",
                                    "enum": ["pending", "running", "completed", "failed", "skipped", "aborted"],
                                },
                                "result": { "type": "string", "description": "What came of it." },
                            }),
                            &["id", "status"],
                        ),
                    },
                }),
                &["updates"],
            ),
        ),
        "search_knowledge" => (
            "Search the project's knowledge.",
            object(
                json!({
                    "query": { "type": "string" },
                    "top_k": { "type": "integer", "description": "How many passages at most; 8 when absent." },
                }),
                &["query"],
            ),
        ),
        "list_handoff" => (
            "List the handoff packages that you were given: what each is about, and which samples it tells of.",
            object(json!({}), &[]),
        ),
        "load_handoff" => (
            "Load what a handoff package refers to, under a budget of tokens: the report, typical cases, or what you name.",
            object(
                json!({
                    "handoff_id": { "type": "string" },
                    "mode": { "type": "string", "enum": ["report_only", "typical", "full", "custom"] },
                    "budget": { "type": "integer", "description": "Tokens at most; 40000 when absent." },
                    "sample_ids": { "type": "array", "items": { "type": "string" } },
                    "parts": {
                        "type": "array",
                        "items": { "type": "string", "enum": ["report", "sample", "trace", "evaluation", "attribution"] },
                    },
                    "hard": { "type": "boolean" },
                }),
                &["handoff_id"],
            ),
        ),
        "write_files" => (
            "Write files to the workspace. A file that is there cannot be changed: write another.",
            object(
                json!({
                    "files": {
                        "type": "array", "minItems": 1,
                        "items": object(
                            json!({
                                "path": { "type": "string", "description": "Relative to the workspace." },
                                "content": { "description": "A text, or JSON." },
                            }),
                            &["path", "content"],
                        ),
                    },
                }),
                &["files"],
            ),
        ),
        "send_handoff" => (
            "Hand a package over: paths, not contents. The files must be written already. The index of an execute_to_init is made \
             from them when it is left out.",
            object(
                json!({
                    "handoff_type": { "type": "string" }, "timestamp": { "type": "string" },
                    "user_requirement": { "type": "string" }, "design_artifacts": { "type": "object" },
                    "execution_output_dir": { "type": "string" }, "trigger_reason": { "type": "string" },
                    "modification_suggestions_summary": { "type": "array", "items": { "type": "string" } },
                }),
                &["handoff_type"],
            ),
        ),
        _ => return None,
    };
    Some(Offer { name: name.to_owned(), description: description.to_owned(), parameters })
}

/// Who can be given work.
fn target_text(profiles: &[&Value]) -> String {
    let reuse = "for reuse and clone the id of an agent";
    match told(profiles) {
        Some(told) => format!("For new the name of a profile, {reuse}. The profiles: {told}."),
        None => format!("For new the name of a profile, {reuse}."),
    }
}

fn profile_text(profiles: &[&Value]) -> String {
    told(profiles)
        .map_or_else(|| "The name of a profile.".to_owned(), |told| format!("One of the profiles: {told}."))
}

fn told(profiles: &[&Value]) -> Option<String> {
    let one = |profile: &&Value| {
        let name = profile["name"].as_str().unwrap_or_default();
        let about = profile["description"].as_str().map(|text| text.trim().trim_end_matches('.'));
        match about.filter(|about| !about.is_empty()) {
            Some(about) => format!("{name} ({about})"),
            None => name.to_owned(),
        }
    };
    (!profiles.is_empty()).then(|| profiles.iter().map(one).collect::<Vec<_>>().join(", "))
}

fn object(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cardwire_model::{built_in_tools, builtin_tools::HANDOFF_WRITING};

    #[test]
    fn every_tool_that_comes_with_a_worker_can_be_offered() {
        for name in built_in_tools().chain(HANDOFF_WRITING) {
            let offer = built_in(name, &[]).unwrap_or_else(|| panic!("{name} has no description"));
            assert_eq!(offer.parameters["type"], "object");
            assert!(!offer.description.is_empty());
        }
        assert_eq!(built_in("rm", &[]), None);
    }

    /// F-10: who can be given work is told by name.
    #[test]
    fn a_tool_that_gives_work_names_those_who_can_be_given_it() {
        let profiles =
            [json!({ "name": "finder", "description": "Finds facts." }), json!({ "name": "judge" })];
        let profiles: Vec<&Value> = profiles.iter().collect();
        for name in ["delegate_async", "fork_join", "ask_expert", "launch_principal"] {
            let Offered::Made(offer) = built_in_offer(name, &profiles) else { panic!("{name} is as always") };
            assert!(
                offer.parameters.to_string().contains("finder (Finds facts), judge."),
                "{}",
                offer.parameters
            );
            assert_eq!(built_in_offer(name, &[]), Offered::BuiltIn(name));
        }
        assert_eq!(built_in_offer("read_box", &profiles), Offered::BuiltIn("read_box"));
    }

    #[test]
    fn each_provider_has_its_own_form() {
        let required = Field::all(&json!([{ "name": "a" }])).unwrap();
        let offers = [Offered::Made(submit_offer(&required)), Offered::BuiltIn("read_card")];
        let rendered = |provider| serde_json::to_value(Tools { offers: &offers, provider }).expect("a list");
        let openai = rendered(Provider::OpenAiChat);
        assert_eq!(openai[0]["function"]["name"], "submit_result");
        assert_eq!(openai[1]["function"]["parameters"]["required"][0], "card_id");
        let anthropic = rendered(Provider::AnthropicMessages);
        assert_eq!(anthropic[0]["input_schema"]["required"][0], "a");
        assert_eq!(anthropic[1]["name"], "read_card");
    }
}
