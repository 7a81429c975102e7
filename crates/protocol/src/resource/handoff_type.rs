//! A further kind of handoff package: what it must look like, and which of its members are paths (HO-01).
//! Whether the schema is a sound one is for the crate `handoff` to say, which can run it.

use super::{object, only, text};
use cardwire_model::{CanonicalJson, Invalid, limits};
use serde_json::Value;

/// Reads `{schema, path_fields?, description?}`.
pub(super) fn check(content: &CanonicalJson) -> Result<(), Invalid> {
    let value = content.to_value();
    let members = object("body", &value)?;
    only(members, &["name", "schema", "path_fields", "description"], "")?;
    text(members, "description")?;
    let schema = members.get("schema").ok_or_else(|| Invalid::field("schema", "is required"))?;
    object("schema", schema)?;
    match members.get("path_fields") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::Array(fields)) => {
            Invalid::check_size("path_fields", fields.len(), limits::HANDOFF_PATH_FIELDS, "fields")?;
            fields.iter().enumerate().try_for_each(|(n, field)| check_pointer(n, field))
        }
        Some(_) => Err(Invalid::field("path_fields", "must be a list")),
    }
}

fn check_pointer(n: usize, field: &Value) -> Result<(), Invalid> {
    match field.as_str() {
        Some(pointer) if pointer.starts_with('/') => Ok(()),
        Some(_) | None => Err(Invalid::field(format!("path_fields/{n}"), "must be a JSON pointer")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(document: Value) -> String {
        let content = CanonicalJson::from_value(&document).unwrap();
        check(&content).expect_err("a wrong document was taken").field_name().to_owned()
    }

    #[test]
    fn a_type_has_a_schema_and_says_which_members_are_paths() {
        let content = json!({ "schema": { "type": "object" }, "path_fields": ["/report"] });
        assert_eq!(check(&CanonicalJson::from_value(&content).unwrap()), Ok(()));
        assert_eq!(refused(json!({})), "schema");
        assert_eq!(refused(json!({ "schema": true })), "schema");
        assert_eq!(refused(json!({ "schema": {}, "paths": [] })), "paths");
        assert_eq!(refused(json!({ "schema": {}, "path_fields": ["report"] })), "path_fields/0");
        assert_eq!(refused(json!({ "schema": {}, "path_fields": "/report" })), "path_fields");
    }

    #[test]
    fn the_number_of_paths_is_bounded() {
        let with = |n: usize| json!({ "schema": {}, "path_fields": vec!["/a"; n] });
        let most = limits::HANDOFF_PATH_FIELDS;
        assert_eq!(check(&CanonicalJson::from_value(&with(most)).unwrap()), Ok(()));
        assert_eq!(refused(with(most + 1)), "path_fields");
    }
}
