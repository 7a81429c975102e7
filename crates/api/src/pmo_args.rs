//! Arguments of the tools that hand work over, as schemas (F-14): a call's `args` is one of these. They are read in
//! `protocol::pmo` and `protocol::batch`, which refuse each by its own name and code; here they are only described, and a test
//! holds the two against each other.

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{Ref, RefOr, Schema, schema::AnyOfBuilder},
};

/// Who gets the work.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TargetStrategy {
    /// A new agent of a profile.
    New,
    /// An agent that is there.
    Reuse,
    /// A new agent like another, which is given what that one has written.
    Clone,
}

/// What `delegate_async` takes, and each task of `fork_join`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DelegateAsyncArgs {
    /// Who gets the work.
    pub target_strategy: TargetStrategy,
    /// The profile for `new`, the agent for `reuse` and `clone`.
    #[schema(min_length = 1, pattern = "\\S")]
    pub target_ref: String,
    /// What to do.
    #[schema(min_length = 1, pattern = "\\S")]
    pub instruction: String,
    /// What to give besides.
    #[schema(pattern = "^[0-9a-f]{32}$")]
    pub context_box_id: Option<String>,
}

/// What `fork_join` takes.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForkJoinArgs {
    /// What each branch does, in order.
    #[schema(min_items = 1, max_items = 10000)]
    pub tasks: Vec<DelegateAsyncArgs>,
    /// One failure ends it; false when absent.
    pub fail_fast: Option<bool>,
    /// How long it may take; what the project says when absent.
    #[schema(exclusive_minimum = 0, maximum = 604800)]
    pub deadline_seconds: Option<f64>,
    /// How many successes are enough: `all` (the default), `any` or `quorum(n)`.
    #[schema(pattern = "^(all|any|quorum\\([1-9][0-9]*\\))$")]
    pub aggregation: Option<String>,
    /// At most so many branches at once; all when absent.
    #[schema(minimum = 1, maximum = 10000)]
    pub max_parallel: Option<u32>,
}

/// What `launch_principal` takes.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LaunchPrincipalArgs {
    /// What the new agent is.
    #[schema(min_length = 1, pattern = "\\S")]
    pub profile_name: String,
    /// What to do.
    #[schema(min_length = 1, pattern = "\\S")]
    pub instruction: String,
}

/// What `ask_expert` takes.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AskExpertArgs {
    /// What the expert is.
    #[schema(min_length = 1, pattern = "\\S")]
    pub expert_profile: String,
    /// What to answer.
    #[schema(min_length = 1, pattern = "\\S")]
    pub question: String,
    /// Give what the caller has written, too; false when absent.
    pub include_history: Option<bool>,
}

/// What to do with an agent.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProvisionAction {
    /// Make it if it is not there.
    Ensure,
    /// Make it.
    Create,
    /// Make it like another.
    Derive,
}

/// What `provision_agent` takes.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProvisionAgentArgs {
    /// `ensure` when absent.
    pub action: Option<ProvisionAction>,
    /// The agent.
    #[schema(pattern = "^[A-Za-z0-9_-]{1,128}$")]
    pub agent_id: String,
    /// What it is; as it is, or as the one it is derived from, when absent.
    pub profile_name: Option<String>,
    /// With `derive`: from whom.
    pub derived_from: Option<String>,
    /// Which workers serve it; those of the profile when absent.
    pub worker_target: Option<String>,
    /// Whose it is; the caller's when absent.
    pub owner_agent_id: Option<String>,
    /// For choosing agents; those of the profile when absent.
    pub tags: Option<Vec<String>>,
    /// For people.
    pub display_name: Option<String>,
    /// Whatever is kept with it.
    pub metadata: Option<Map<String, Value>>,
}

/// What a recipe takes: whatever its document names.
#[derive(Debug, Serialize, ToSchema)]
pub struct RecipeArgs {
    /// Arguments by name.
    #[serde(flatten)]
    pub arguments: std::collections::BTreeMap<String, Value>,
}

/// Arguments of a tool: those of the tool that is named in the path.
#[derive(Debug)]
pub struct PmoArgs;

impl PartialSchema for PmoArgs {
    /// Any of them: what a recipe takes looks like all of them.
    fn schema() -> RefOr<Schema> {
        let names = [
            ForkJoinArgs::name(),
            DelegateAsyncArgs::name(),
            LaunchPrincipalArgs::name(),
            AskExpertArgs::name(),
            ProvisionAgentArgs::name(),
            RecipeArgs::name(),
        ];
        let any = AnyOfBuilder::new().description(Some("Those of the tool that is named in the path."));
        names.iter().fold(any, |any, name| any.item(Ref::from_schema_name(name.as_ref()))).into()
    }
}

impl ToSchema for PmoArgs {
    fn schemas(found: &mut Vec<(String, RefOr<Schema>)>) {
        add::<ForkJoinArgs>(found);
        add::<DelegateAsyncArgs>(found);
        add::<LaunchPrincipalArgs>(found);
        add::<AskExpertArgs>(found);
        add::<ProvisionAgentArgs>(found);
        add::<RecipeArgs>(found);
    }
}

fn add<T: ToSchema>(found: &mut Vec<(String, RefOr<Schema>)>) {
    found.push((T::name().into_owned(), T::schema()));
    T::schemas(found);
}

#[cfg(test)]
mod tests {
    use super::*;
    use cardwire_kernel::protocol::{
        batch::args::Fork,
        pmo::{delegate::Delegate, provision::Provision},
    };
    use cardwire_model::PmoSettings;
    use serde_json::json;

    fn reads(tool: &str, args: &Value) -> Result<(), String> {
        let args = args.as_object().unwrap();
        match tool {
            "fork_join" => {
                Fork::parse(args, &PmoSettings::default()).map(drop).map_err(|wrong| wrong.to_string())
            }
            "provision_agent" => Provision::parse(args).map(drop).map_err(|wrong| wrong.to_string()),
            tool => {
                let read = Delegate::parse(tool, args).map_err(|wrong| wrong.to_string())?;
                read.map(drop).ok_or_else(|| format!("{tool} is not read here"))
            }
        }
    }

    /// F-14: the schemas name what the tools take, and nothing else.
    #[test]
    fn arguments_are_described_as_they_are_read() {
        let hex = "0".repeat(32);
        let task =
            json!({ "target_strategy": "new", "target_ref": "P", "instruction": "x", "context_box_id": hex });
        let full = [
            ("delegate_async", DelegateAsyncArgs::schema(), task.clone()),
            (
                "fork_join",
                ForkJoinArgs::schema(),
                json!({
                    "tasks": [task], "fail_fast": true, "deadline_seconds": 0.5, "aggregation": "quorum(1)",
                    "max_parallel": 1,
                }),
            ),
            (
                "launch_principal",
                LaunchPrincipalArgs::schema(),
                json!({ "profile_name": "P", "instruction": "x" }),
            ),
            (
                "ask_expert",
                AskExpertArgs::schema(),
                json!({ "expert_profile": "P", "question": "x", "include_history": true }),
            ),
            (
                "provision_agent",
                ProvisionAgentArgs::schema(),
                json!({
                    "action": "derive", "agent_id": "a", "profile_name": "P", "derived_from": "b",
                    "worker_target": "w", "owner_agent_id": "c", "tags": ["t"], "display_name": "A", "metadata": {},
                }),
            ),
        ];
        for (tool, schema, args) in full {
            let schema = serde_json::to_value(schema).unwrap();
            assert_eq!(reads(tool, &args), Ok(()), "{tool}");
            let described: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
            let mut given: Vec<_> = args.as_object().unwrap().keys().collect();
            given.sort_unstable();
            assert_eq!(described, given, "{tool}");
            let required: Vec<_> = schema["required"].as_array().unwrap().iter().collect();
            for name in described {
                let mut less = args.clone();
                less.as_object_mut().unwrap().remove(name);
                // Without `derived_from` there is no `derive`.
                if name == "derived_from" {
                    less["action"] = json!("ensure");
                }
                let is_required = required.iter().any(|required| *required == name);
                assert_eq!(reads(tool, &less).is_err(), is_required, "{tool} without {name}");
            }
            let mut more = args;
            more["unheard_of"] = json!(1);
            assert!(reads(tool, &more).is_err() && schema["additionalProperties"] == false, "{tool}");
        }
    }
}
