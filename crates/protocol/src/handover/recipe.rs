//! A recipe: a named handover that can be called like a tool (PK-18), and what it insists on (PK-22).

use super::{Handover, pack::Required};
use crate::resource::only;
use cardwire_model::{CanonicalJson, Invalid};
use serde_json::Value;

/// What a recipe may say.
pub const MEMBERS: [&str; 4] = ["name", "description", "handover", "required"];

/// A recipe as its author wrote it.
#[derive(Debug, Clone, PartialEq)]
pub struct Recipe {
    /// The rules.
    pub handover: Handover,
    /// What must be there.
    pub required: Required,
}

impl Recipe {
    /// Reads `{handover, required?, description?}`.
    pub fn parse(content: &CanonicalJson) -> Result<Self, Invalid> {
        let value = content.to_value();
        let Value::Object(members) = &value else { return Err(Invalid::field("body", "must be an object")) };
        only(members, &MEMBERS, "")?;
        if !matches!(members.get("description"), None | Some(Value::Null | Value::String(_))) {
            return Err(Invalid::field("description", "must be a string"));
        }
        let handover = members.get("handover").unwrap_or(&Value::Null);
        Ok(Self {
            handover: Handover::parse(&CanonicalJson::from_value(handover)?)?,
            required: required(members.get("required"))?,
        })
    }
}

/// A list of names, each of an argument or a kind of cards; or the two apart.
fn required(value: Option<&Value>) -> Result<Required, Invalid> {
    let names = |value: Option<&Value>, path: &str| match value {
        None | Some(Value::Null) => Ok(vec![]),
        Some(Value::Array(list)) => {
            let name = |one: &Value| one.as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned);
            let names: Option<Vec<String>> = list.iter().map(name).collect();
            names.ok_or_else(|| Invalid::field(path, "must be a list of names"))
        }
        Some(_) => Err(Invalid::field(path, "must be a list of names")),
    };
    match value {
        Some(Value::Object(members)) => {
            only(members, &["arguments", "card_types"], "required/")?;
            Ok(Required {
                arguments: names(members.get("arguments"), "required/arguments")?,
                card_types: names(members.get("card_types"), "required/card_types")?,
                either: vec![],
            })
        }
        other => Ok(Required { either: names(other, "required")?, ..Required::default() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(value: &Value) -> Result<Recipe, Invalid> {
        Recipe::parse(&CanonicalJson::from_value(value).unwrap())
    }

    #[test]
    fn pk_18_a_recipe_is_a_handover_with_requirements() {
        let handover = json!({ "target_profile_config": { "profile_name": "A" } });
        let plain = parse(&json!({ "handover": handover, "description": "d" })).unwrap();
        assert_eq!(plain.required, Required::default());
        let listed = parse(&json!({ "handover": handover, "required": ["a", "b"] })).unwrap();
        assert_eq!(listed.required.either, ["a", "b"]);
        let both = json!({ "arguments": ["a"], "card_types": ["x.y"] });
        let both = parse(&json!({ "handover": handover, "required": both })).unwrap();
        assert_eq!((both.required.arguments.len(), &*both.required.card_types[0]), (1, "x.y"));
    }

    #[test]
    fn what_is_no_recipe_is_refused_by_name() {
        let handover = json!({ "target_profile_config": {} });
        for (recipe, field) in [
            (json!({}), "handover"),
            (json!({ "handover": {} }), "handover"),
            (json!({ "handover": handover, "required": "a" }), "required"),
            (json!({ "handover": handover, "required": [" "] }), "required"),
            (json!({ "handover": handover, "required": { "cards": [] } }), "required/cards"),
            (json!({ "handover": handover, "description": 1 }), "description"),
            (json!({ "handover": handover, "rules": [] }), "rules"),
        ] {
            assert_eq!(parse(&recipe).unwrap_err().field_name(), field, "{recipe}");
        }
    }
}
