//! Documents under names: tools, recipes, teams, and the plan (API-07). Only operators write them (PM-01).

pub mod delete;
pub mod handoff_type;
pub mod put;
pub mod team;
pub mod tool;

use crate::{Rejection, handover::recipe::Recipe};
use cardwire_model::{
    CanonicalJson, Invalid, InvalidCode, ResourceKind, ResourceName, credential::check_no_secrets,
};
use serde_json::{Map, Value};

/// Names that mean something by themselves (PM-20).
pub const RESERVED: [&str; 6] =
    ["delegate_async", "launch_principal", "ask_expert", "fork_join", "provision_agent", "pack_context"];

/// The kind that may not have a document of the same name: tools and recipes are both called by theirs.
pub const fn rival(kind: ResourceKind) -> Option<ResourceKind> {
    match kind {
        ResourceKind::Tool => Some(ResourceKind::Recipe),
        ResourceKind::Recipe => Some(ResourceKind::Tool),
        ResourceKind::Team
        | ResourceKind::Plan
        | ResourceKind::Handoff
        | ResourceKind::Iteration
        | ResourceKind::HandoffType => None,
    }
}

/// Whether the text is a document of this kind. The refusal names the member.
pub fn check(kind: ResourceKind, content: &CanonicalJson) -> Result<(), Invalid> {
    // Packages and plans are what agents and people say in their work; these are settings, written by hand.
    if let ResourceKind::Tool | ResourceKind::Recipe | ResourceKind::Team | ResourceKind::HandoffType = kind {
        check_no_secrets(&content.to_value())?;
    }
    match kind {
        ResourceKind::Tool => {
            tool::Tool::parse(content)?;
            tool::check_address(content)
        }
        ResourceKind::Recipe => Recipe::parse(content).map(drop),
        ResourceKind::Team => team::check(content),
        // What is in a package is for the crate `handoff` to judge.
        ResourceKind::Plan | ResourceKind::Handoff | ResourceKind::Iteration => {
            object("body", &content.to_value()).map(drop)
        }
        ResourceKind::HandoffType => handoff_type::check(content),
    }
}

/// The refusal to run a tool that is registered here and lives elsewhere (PM-15).
pub fn runs_elsewhere(name: &ResourceName) -> Rejection {
    let reason = format!("{name} is not run here: the worker of the agent calls it and reports its answer");
    Invalid::coded(InvalidCode::NotImplemented, "tool", reason).into()
}

/// What a tool is that nobody has defined (PM-15).
pub const DEFINITION: &str = "tool definition";

/// There is neither a tool nor a recipe of this name.
pub fn no_definition(name: &str) -> Rejection {
    Rejection::not_found(DEFINITION, name)
}

fn check_name(kind: ResourceKind, name: &ResourceName) -> Result<(), Invalid> {
    let taken = RESERVED.iter().any(|taken| name.as_str().eq_ignore_ascii_case(taken));
    if taken && rival(kind).is_some() {
        return Err(Invalid::field("name", format!("{name} is a reserved name")));
    }
    Ok(())
}

/// The members of a value that must be an object.
fn object<'a>(field: &str, value: &'a Value) -> Result<&'a Map<String, Value>, Invalid> {
    value.as_object().ok_or_else(|| Invalid::field(field, "must be an object"))
}

/// Refuses members that nobody would read: most are misspelt.
pub(crate) fn only(members: &Map<String, Value>, known: &[&str], within: &str) -> Result<(), Invalid> {
    match members.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(Invalid::unknown(format!("{within}{name}"), name, known)),
        None => Ok(()),
    }
}

/// A member that may be absent, as a text.
fn text<'a>(members: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, Invalid> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(Invalid::field(name, "must be a string")),
    }
}

/// Members that are objects where they are given.
fn objects(members: &Map<String, Value>, names: &[&str]) -> Result<(), Invalid> {
    for name in names {
        if let Some(value) = members.get(*name).filter(|value| !value.is_null()) {
            object(name, value)?;
        }
    }
    Ok(())
}
