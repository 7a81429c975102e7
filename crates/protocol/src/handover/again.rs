//! A packing made once more: the command is put together from what the packed box and the audit log tell of it, so that a dry run
//! of the same rules can be held against the fact (PK-19, PK-21).
//!
//! The rules of a packing are kept as a hash only. Those of the tools that come with the system are known, those of a recipe are
//! read as they are now; rules that came with a request are gone.

use super::{
    Handover,
    pack::{PackContext, Reach, Required},
    recipe::Recipe,
};
use crate::resource::RESERVED;
use cardwire_model::{AgentId, BoxId, Hash256, Origin};
use serde_json::{Map, Value};

/// What the audit log tells of a packing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The tool, or the recipe.
    pub tool: String,
    /// Who handed over.
    pub source_agent: Option<AgentId>,
    /// The profile that the box was packed for.
    pub profile_name: String,
    /// The boxes that were inherited, in order.
    pub inherited: Vec<BoxId>,
}

impl Recorded {
    /// Reads the facts that [`super::pack`] has written.
    pub fn read(detail: &Value) -> Option<Self> {
        let text = |name: &str| detail[name].as_str();
        let inherited = detail["inherited"].as_array()?.iter();
        Some(Self {
            tool: text("tool_suffix")?.to_owned(),
            source_agent: text("source_agent_id").and_then(|id| id.parse().ok()),
            profile_name: text("profile_name")?.to_owned(),
            inherited: inherited.filter_map(|from| from["box_id"].as_str()?.parse().ok()).collect(),
        })
    }

    /// Whether the rules are those of a tool that comes with the system.
    pub fn is_built_in(&self) -> bool {
        RESERVED.contains(&self.tool.as_str())
    }

    /// The command that packs the same once more. `packed` are the cards that were made of arguments, with the rules that made
    /// them; `made` are the arguments of the call, where its card is known. Nothing when the rules or the arguments are not
    /// known any more.
    pub fn command(
        &self,
        hash: Hash256,
        packed: &[(u16, Value)],
        recipe: Option<Recipe>,
        made: Option<Map<String, Value>>,
    ) -> Option<PackContext> {
        let (handover, required) = match recipe {
            Some(recipe) => (recipe.handover, recipe.required),
            None if self.is_built_in() => {
                let own = Handover::with_instruction(&self.profile_name, !self.inherited.is_empty());
                (own, Required::default())
            }
            None => return None,
        };
        let arguments = match made.filter(|_| !self.is_built_in()) {
            Some(made) => made,
            // Places of rules mean something among the same rules only.
            None if handover.hash == hash => self.arguments(&handover, packed),
            None => return None,
        };
        Some(PackContext {
            tool_suffix: self.tool.clone(),
            source_agent: self.source_agent.clone(),
            arguments,
            handover,
            required,
            reach: Reach::Project,
            origin: Origin::Operator,
        })
    }

    /// The arguments, from what was made of them.
    fn arguments(&self, handover: &Handover, packed: &[(u16, Value)]) -> Map<String, Value> {
        let mut arguments = Map::new();
        for (rule, content) in packed {
            let Some(rule) = handover.pack.iter().find(|known| known.index == *rule) else { continue };
            let is_fields = rule.card_type == "task.result_fields";
            let value = if is_fields { &content["fields"] } else { content };
            arguments.insert(rule.arg_key.clone(), value.clone());
        }
        if let Some(name) = handover.inherit.first().filter(|_| !self.inherited.is_empty()) {
            arguments.insert(name.clone(), self.inherited.iter().map(ToString::to_string).collect());
        }
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::box_id;
    use cardwire_model::CanonicalJson;
    use serde_json::json;

    fn recorded(tool: &str, boxes: &[u128]) -> Recorded {
        let inherited: Vec<_> =
            boxes.iter().map(|id| json!({ "box_id": box_id(*id).to_string(), "len": 1 })).collect();
        let detail = json!({
            "tool_suffix": tool, "source_agent_id": "boss", "profile_name": "Helper", "inherited": inherited,
        });
        Recorded::read(&detail).unwrap()
    }

    /// PK-16, PK-21
    #[test]
    fn a_built_in_flow_is_packed_again_from_its_facts() {
        for boxes in [&[][..], &[7, 8]] {
            let hash = Handover::with_instruction("Helper", !boxes.is_empty()).hash;
            let command = recorded("fork_join", boxes).command(hash, &[(0, json!("Go."))], None, None);
            let command = command.unwrap();
            assert_eq!((command.handover.hash, &command.arguments["instruction"]), (hash, &json!("Go.")));
            let named = super::super::pack::boxes(&command.arguments, &command.handover).unwrap();
            assert_eq!(named, boxes.iter().map(|id| box_id(*id)).collect::<Vec<_>>());
        }
    }

    /// PK-18, PK-21
    #[test]
    fn a_recipe_is_packed_again_as_long_as_its_rules_or_its_call_are_known() {
        let recipe = |order: &str| {
            let handover = json!({
                "target_profile_config": { "profile_name": "Helper" },
                "context_packing_config": {
                    "order": order,
                    "pack_arguments": [{ "arg_key": "fields", "as_card_type": "task.result_fields" }, { "arg_key": "task" }],
                    "inherit_context": { "include_boxes_from_args": ["draft"] },
                },
            });
            Recipe::parse(&CanonicalJson::from_value(&json!({ "handover": handover })).unwrap()).unwrap()
        };
        let (then, now) = (recipe("args_first"), recipe("inherit_first"));
        let hash = then.handover.hash;
        let packed = [(0, json!({ "fields": [] })), (1, json!("Go."))];
        let fact = recorded("review", &[7]);
        let again = fact.command(hash, &packed, Some(then), None).unwrap();
        let expected = json!({ "fields": [], "task": "Go.", "draft": [box_id(7).to_string()] });
        assert_eq!(Value::Object(again.arguments), expected);
        assert!(fact.command(hash, &packed, Some(now.clone()), None).is_none(), "other rules");
        let made = json!({ "task": "Go.", "draft": box_id(7).to_string() }).as_object().cloned();
        let again = fact.command(hash, &packed, Some(now), made.clone()).unwrap();
        assert_eq!((Some(again.arguments), again.handover.hash == hash), (made, false));
        assert!(fact.command(hash, &packed, None, None).is_none(), "rules that came with a request");
        assert_eq!(Recorded::read(&json!({ "tool_suffix": "x" })), None);
    }
}
