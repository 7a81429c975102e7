//! What members of well-known names look like, so that every body says it alike: moments are moments and ids are ids
//! wherever they stand.
//!
//! Invariant: what a field says of itself goes before what its name says.

use serde_json::{Map, Value, json};

/// A name that people choose.
pub(super) const NAME: &str = "^[A-Za-z0-9_-]{1,128}$";
/// A card, a box, a call.
const HEX: &str = "^[0-9a-f]{32}$";

/// Names, what their values look like, and a value.
const IDS: [(&str, &str, &str); 17] = [
    ("project_id", NAME, "demo"),
    ("card_id", HEX, "0192f0c123457abc8def0123456789ab"),
    ("box_id", HEX, "0192f0c123457abc8def0123456789cd"),
    ("agent_turn_id", "^turn_[0-9a-f]{32}$", "turn_0192f0c123457abc8def0123456789ef"),
    ("batch_id", "^batch_[0-9a-f]{32}$", "batch_0192f0c123457abc8def012345678901"),
    ("token_id", "^tok_[0-9a-f]{32}$", "tok_0192f0c123457abc8def012345678902"),
    ("call_id", HEX, "0192f0c123457abc8def012345678903"),
    ("agent_id", NAME, "writer"),
    ("session_id", NAME, "talk"),
    ("handoff_id", NAME, "ho_0192f0c123457abc8def012345678904"),
    ("profile_name", NAME, "Writer"),
    ("tool_name", NAME, "search"),
    ("recipe_name", NAME, "review"),
    ("team_name", NAME, "desk"),
    ("type_name", NAME, "report"),
    ("tool", NAME, "fork_join"),
    ("namespace", NAME, "default"),
];

/// The pattern and an example of a path parameter.
pub(super) fn id(name: &str) -> Option<(&'static str, &'static str)> {
    IDS.iter().find(|(known, ..)| *known == name).map(|(_, pattern, example)| (*pattern, *example))
}

/// An example of a member of this name.
pub(super) fn example(name: &str) -> Option<&'static str> {
    let known = IDS.iter().find(|(known, ..)| name == *known || name.ends_with(&format!("_{known}")));
    known.map(|(_, _, example)| *example)
}

/// Says of the members of a schema what their names say, at every depth.
pub(super) fn describe(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::Object(properties)) = members.get_mut("properties") {
                let properties = properties.iter_mut();
                for (name, property) in
                    properties.filter_map(|(name, value)| Some((name, value.as_object_mut()?)))
                {
                    describe_member(name, property);
                }
            } else if takes(members, "object") {
                // Without this word an object of which nothing is said has, to some, nothing in it.
                members.entry("additionalProperties").or_insert(Value::Bool(true));
            }
            members.values_mut().for_each(describe);
        }
        Value::Array(items) => items.iter_mut().for_each(describe),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn describe_member(name: &str, property: &mut Map<String, Value>) {
    if !takes(property, "string") {
        return;
    }
    let words = property.get("pattern").and_then(Value::as_str).and_then(words);
    if let Some(words) = words.map(|words| json!(words)) {
        // One that may be left out may be null as well, which makes three types of one word in some languages.
        property.insert("type".to_owned(), json!("string"));
        property.insert("enum".to_owned(), words);
        property.remove("pattern");
    } else if is_moment(name)
        && ["format", "pattern", "enum"].iter().all(|rule| !property.contains_key(*rule))
    {
        property.insert("format".to_owned(), json!("date-time"));
    }
}

/// Whether it is of this type, or of this type or null.
fn takes(schema: &Map<String, Value>, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(given)) => given == kind,
        Some(Value::Array(kinds)) => kinds.iter().any(|given| given == kind),
        Some(_) | None => false,
    }
}

fn is_moment(name: &str) -> bool {
    name == "at" || name == "resume_deadline" || name.ends_with("_at")
}

/// The words of a pattern that is nothing but a choice: `^(a|b)$`.
fn words(pattern: &str) -> Option<Vec<&str>> {
    let words: Vec<_> = pattern.strip_prefix("^(")?.strip_suffix(")$")?.split('|').collect();
    let plain = |word: &&str| word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    words.iter().all(plain).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F-14
    #[test]
    fn names_say_what_fields_do_not_say_themselves() {
        let mut schema = json!({ "type": "object", "properties": {
            "created_at": { "type": "string" }, "ended_at": { "type": ["string", "null"] },
            "broken_at": { "type": "integer" }, "now": { "type": "string", "format": "time" },
            "status": { "type": ["string", "null"], "pattern": "^(a|b-c)$" },
            "name": { "type": "string", "pattern": "^(a|b.)$" },
            "any": { "type": ["object", "null"] },
            "list": { "type": "array", "items": { "properties": { "at": { "type": "string" } } } },
        } });
        describe(&mut schema);
        let of = |name: &str| &schema["properties"][name];
        assert_eq!(of("created_at")["format"], "date-time");
        assert_eq!(of("ended_at")["format"], "date-time");
        assert_eq!(of("broken_at"), &json!({ "type": "integer" }));
        assert_eq!(of("now")["format"], "time");
        assert_eq!(of("status"), &json!({ "type": "string", "enum": ["a", "b-c"] }));
        assert_eq!(of("name")["pattern"], "^(a|b.)$");
        assert_eq!(of("any")["additionalProperties"], true);
        assert_eq!(of("list")["items"]["properties"]["at"]["format"], "date-time");
    }
}
