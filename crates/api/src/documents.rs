//! Recipes on the wire (API-07, PK-18).

use crate::list::list;
use cardwire_kernel::protocol::handover::recipe::Recipe;
use cardwire_model::{CanonicalJson, CardDraft, Invalid, Resource, ResourceName};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// A recipe to write: a named handover that agents may call. The whole of it becomes a `sys.recipe` card.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RecipeIn {
    /// Its name; as in the path.
    #[serde(default)]
    #[schema(pattern = "^[A-Za-z0-9_-]{1,128}$")]
    pub name: Option<String>,
    /// The rules: `target_profile_config` and `context_packing_config`.
    #[schema(value_type = Object)]
    pub handover: Map<String, Value>,
    /// Arguments that must be given: a list of names, or `{arguments, card_types}`.
    #[serde(default)]
    pub required: Option<Value>,
    /// For people.
    #[serde(default)]
    pub description: Option<String>,
}

impl RecipeIn {
    /// The card of the recipe with this name in the path. `body` is the same body, whose numbers are kept as they were
    /// given.
    pub fn into_draft(self, name: &ResourceName, body: &[u8]) -> Result<CardDraft, Invalid> {
        if self.name.as_deref().is_some_and(|given| given != name.as_str()) {
            return Err(Invalid::field("name", "must be the name in the path"));
        }
        let text = std::str::from_utf8(body).map_err(|_| Invalid::field("body", "must be UTF-8"))?;
        let mut content = CanonicalJson::parse(text, "body")?.to_value();
        if let Some(members) = content.as_object_mut() {
            members.retain(|_, value| !value.is_null());
            members.insert("name".to_owned(), name.as_str().into());
        }
        let content = CanonicalJson::from_value(&content)?;
        Recipe::parse(&content)?;
        Ok(CardDraft {
            content,
            metadata: CanonicalJson::from_value(&json!({ "type": "sys.recipe", "role": "system" }))?,
            tool_calls: None,
            tool_call_id: None,
            ttl_seconds: None,
        })
    }
}

/// A recipe.
#[derive(Debug, Serialize, ToSchema)]
pub struct RecipeOut {
    /// Its name.
    pub name: String,
    /// The rules.
    #[schema(value_type = Object)]
    pub handover: Value,
    /// What must be given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<Value>,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The card that says it.
    pub card_id: String,
    /// When it was made.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
}

impl RecipeOut {
    /// The recipe with the content of its card.
    pub fn new(resource: &Resource, content: &CanonicalJson) -> Self {
        let mut members = content.to_value();
        let mut take = |name: &str| members.get_mut(name).map(Value::take);
        Self {
            name: resource.name.to_string(),
            handover: take("handover").unwrap_or_default(),
            required: take("required"),
            description: take("description").and_then(|text| text.as_str().map(str::to_owned)),
            card_id: resource.card_id.to_string(),
            created_at: resource.created_at.to_string(),
            updated_at: resource.updated_at.to_string(),
        }
    }
}

list! {
    /// A page of recipes by name.
    RecipeList of RecipeOut
}
