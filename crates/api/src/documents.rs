//! Documents on the wire: tools, recipes, teams and the plan (API-07, PK-18). Which members they have is said here for
//! readers of the OpenAPI document; whether a document is sound is decided in `protocol::resource` and nowhere else.

use crate::list::list;
use cardwire_kernel::protocol::resource::{self, tool::Tool};
use cardwire_model::{CanonicalJson, CardDraft, Invalid, Resource, ResourceKind, ResourceName};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// The parameter of the path that names a document of this kind. There is one plan.
pub const fn parameter(kind: ResourceKind) -> Option<&'static str> {
    match kind {
        ResourceKind::Tool => Some("tool_name"),
        ResourceKind::Recipe => Some("recipe_name"),
        ResourceKind::Team => Some("team_name"),
        ResourceKind::Handoff => Some("handoff_id"),
        ResourceKind::HandoffType => Some("type_name"),
        ResourceKind::Plan | ResourceKind::Iteration => None,
    }
}

/// The card of the document that this body says, under the name in the path.
pub fn draft(kind: ResourceKind, name: &ResourceName, body: &[u8]) -> Result<CardDraft, Invalid> {
    let text = std::str::from_utf8(body).map_err(|_| Invalid::field("body", "must be UTF-8"))?;
    let text = if text.trim().is_empty() { "{}" } else { text };
    let mut content = CanonicalJson::parse(text, "body")?;
    // A plan is kept as it is; it has no name of its own.
    if let (Some(_), Value::Object(mut members)) = (parameter(kind), content.to_value()) {
        members.retain(|_, value| !value.is_null());
        if members.get("name").is_some_and(|given| given != name.as_str()) {
            return Err(Invalid::field("name", "must be the name in the path"));
        }
        members.insert("name".to_owned(), name.as_str().into());
        content = CanonicalJson::from_value(&Value::Object(members))?;
    }
    resource::check(kind, &content)?;
    let metadata = json!({ "type": format!("sys.{}", kind.as_str()), "role": "system" });
    Ok(CardDraft {
        content,
        metadata: CanonicalJson::from_value(&metadata)?,
        tool_calls: None,
        tool_call_id: None,
        ttl_seconds: None,
    })
}

/// A document as it is answered: what was written, and what is known of it.
#[derive(Debug, Serialize)]
pub struct DocumentOut {
    #[serde(flatten)]
    members: Map<String, Value>,
    card_id: String,
    created_at: String,
    updated_at: String,
}

impl DocumentOut {
    /// The document with the content of its card.
    pub fn new(document: &Resource, content: &CanonicalJson) -> Self {
        let mut members = match (parameter(document.kind), content.to_value()) {
            (Some(_), Value::Object(members)) => members,
            // The members of a plan could have any name, so that they are kept apart.
            (_, plan) => Map::from_iter([("plan".to_owned(), plan)]),
        };
        if let (ResourceKind::Tool, Ok(tool)) = (document.kind, Tool::parse(content)) {
            members.insert("after_execution".to_owned(), tool.after_execution.as_str().into());
            members.insert("approval".to_owned(), tool.approval.as_str().into());
        }
        Self {
            members,
            card_id: document.card_id.to_string(),
            created_at: document.created_at.to_string(),
            updated_at: document.updated_at.to_string(),
        }
    }
}

/// A page of documents by name.
#[derive(Debug, Serialize)]
pub struct DocumentList {
    /// The items.
    pub items: Vec<DocumentOut>,
    /// Give it as `cursor` to get the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Schemas of a kind of document: what is written, what is answered, and a page of it.
macro_rules! document {
    (
        $(#[$in_doc:meta])* $in:ident, $(#[$out_doc:meta])* $out:ident, $(#[$list_doc:meta])* $list:ident {
            $($(#[$field_meta:meta])* $field:ident: $type:ty,)*
        }
    ) => {
        $(#[$in_doc])*
        #[derive(Debug, Deserialize, ToSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $in {
            /// Its name; as in the path.
            #[schema(pattern = "^[A-Za-z0-9_-]{1,128}$")]
            pub name: Option<String>,
            $($(#[$field_meta])* pub $field: $type,)*
        }

        $(#[$out_doc])*
        #[derive(Debug, Serialize, ToSchema)]
        pub struct $out {
            /// Its name.
            pub name: String,
            $($(#[$field_meta])* pub $field: $type,)*
            /// The card that says it.
            pub card_id: String,
            /// When it was made.
            pub created_at: String,
            /// When it last changed.
            pub updated_at: String,
        }

        list! {
            $(#[$list_doc])*
            $list of $out
        }
    };
}

document! {
    /// A recipe to write: a named handover that agents may call. The whole of it becomes a `sys.recipe` card.
    RecipeIn,
    /// A recipe.
    RecipeOut,
    /// A page of recipes by name.
    RecipeList {
        /// For people.
        description: Option<String>,
        /// The rules: `target_profile_config` and `context_packing_config`.
        #[schema(value_type = Object)]
        handover: Value,
        /// Arguments that must be given: a list of names, or `{arguments, card_types}`.
        required: Option<Value>,
    }
}

document! {
    /// A tool to write: what workers run and models are told of. The whole of it becomes a `sys.tool` card.
    ToolIn,
    /// A tool.
    ToolOut,
    /// A page of tools by name.
    ToolList {
        /// What models and people are told.
        description: Option<String>,
        /// What it takes: a JSON Schema of an object.
        #[schema(value_type = Option<Object>)]
        parameters: Option<Value>,
        /// What happens to the turn once the tool has answered: `suspend` (it goes on; the default) or `terminate`.
        after_execution: Option<AfterExecution>,
        /// Where it runs, for those who run it: an object.
        #[schema(value_type = Option<Object>)]
        target: Option<Value>,
        /// Whether somebody must agree before it runs: `none` (the default) or `required`.
        approval: Option<Approval>,
        /// Whatever is kept with it: an object.
        #[schema(value_type = Option<Object>)]
        metadata: Option<Value>,
    }
}

document! {
    /// A further kind of handoff packages to write. The whole of it becomes a `sys.handoff_type` card.
    HandoffTypeIn,
    /// A further kind of handoff packages.
    HandoffTypeOut,
    /// A page of further kinds of handoff packages, by name.
    HandoffTypeList {
        /// For people.
        description: Option<String>,
        /// What a package of this kind must be: a JSON Schema.
        #[schema(value_type = Object)]
        schema: Value,
        /// JSON pointers of the members that are paths below the workspace.
        path_fields: Option<Vec<String>>,
    }
}

document! {
    /// A team to write: agents that work together. The whole of it becomes a `sys.team` card.
    TeamIn,
    /// A team.
    TeamOut,
    /// A page of teams by name.
    TeamList {
        /// How they work together. `mapreduce` is the same as `map_reduce`, which needs two agents.
        process: Process,
        /// Objects, each with an `id` of its own.
        #[schema(min_items = 1)]
        agents: Vec<TeamAgent>,
        /// Whether agents see what the team shares; true when absent.
        enable_share_context: Option<bool>,
        /// Which model they ask: an object.
        #[schema(value_type = Option<Object>)]
        model: Option<Value>,
        /// How far they may go: an object.
        #[schema(value_type = Option<Object>)]
        limits: Option<Value>,
        /// For people.
        description: Option<String>,
        /// The agent that a `dynamic` team starts with; the first when absent.
        entry: Option<String>,
        /// Profiles of agents that are made while the team works, each with a `name`.
        #[schema(value_type = Option<Vec<Object>>)]
        profiles: Option<Value>,
        /// Tools of the team, each with a `name`: as documents of their own.
        #[schema(value_type = Option<Vec<Object>>)]
        tools: Option<Value>,
    }
}

/// What happens to a turn once a tool has answered.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AfterExecution {
    /// It goes on.
    Suspend,
    /// It ends.
    Terminate,
}

/// Whether somebody must agree before a tool runs.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// Nobody has to.
    None,
    /// Somebody has to.
    Required,
}

/// How a team works together.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the specification tells what they do")]
pub enum Process {
    Sequential,
    Dynamic,
    Hierarchical,
    React,
    MapReduce,
    Mapreduce,
}

/// An agent of a team. What it says besides is read by those who run the team.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct TeamAgent {
    /// Its name in the team.
    #[schema(min_length = 1, pattern = "\\S")]
    pub id: String,
}

/// The plan of a project.
#[derive(Debug, Serialize, ToSchema)]
pub struct PlanOut {
    /// The plan as it was given.
    #[schema(value_type = Object)]
    pub plan: Value,
    /// The card that says it.
    pub card_id: String,
    /// When it was made.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
}

/// A plan: any object. The whole of it becomes a `sys.plan` card.
#[derive(Debug, ToSchema)]
#[schema(value_type = Object)]
pub struct PlanIn(pub Map<String, Value>);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openapi;
    use cardwire_kernel::protocol::{
        handover::recipe,
        resource::{team, tool},
    };
    use std::collections::BTreeSet;

    /// The schemas are for readers; what is accepted is decided elsewhere. Both must say the same.
    #[test]
    fn the_schema_of_a_document_has_the_members_that_are_accepted() {
        let document = openapi::document("test");
        let members = |name: &str| -> BTreeSet<String> {
            let properties = &document["components"]["schemas"][name]["properties"];
            properties.as_object().unwrap().keys().cloned().collect()
        };
        for (name, accepted) in
            [("Tool", &tool::MEMBERS[..]), ("Recipe", &recipe::MEMBERS), ("Team", &team::MEMBERS)]
        {
            let mut expected: BTreeSet<_> = accepted.iter().map(|&name| name.to_owned()).collect();
            assert_eq!(members(&format!("{name}In")), expected);
            expected.extend(["card_id", "created_at", "updated_at"].map(str::to_owned));
            assert_eq!(members(&format!("{name}Out")), expected);
        }
        // F-01: what a profile may say stands in one more place, for files of teams.
        let mut profile = members("ProfileIn");
        profile.insert("system_prompt_template".to_owned());
        assert_eq!(profile, cardwire_model::PROFILE_KEYS.map(str::to_owned).into());
        let processes = &document["components"]["schemas"]["Process"]["enum"];
        assert_eq!(*processes, json!(team::PROCESSES));
    }

    #[test]
    fn every_body_in_yaml_is_a_document_or_a_profile() {
        let in_yaml = crate::ENDPOINTS.iter().filter(|endpoint| {
            endpoint.body.is_some_and(|body| body.content_types.contains(&"application/yaml"))
        });
        let ops: Vec<_> = in_yaml.map(|endpoint| endpoint.op).collect();
        use crate::Op::{PutHandoffType, PutPlan, PutProfile, PutRecipe, PutTeam, PutTool};
        assert_eq!(ops, [PutProfile, PutTool, PutRecipe, PutTeam, PutPlan, PutHandoffType]);
    }
}
