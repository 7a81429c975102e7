//! `delegate_to_<id>`: the end of a member's part, with the name of whoever goes on (PR-02, PR-03).

use super::text_argument;
use cardwire_model::{limits, slug};
use serde_json::{Value, json};

pub(crate) const PREFIX: &str = "delegate_to_";

/// The tool by which work is handed over to somebody.
pub(crate) fn tool(id: &str) -> String {
    slug::shortened(format!("{PREFIX}{id}"), limits::OFFERED_NAME_CHARS)
}

/// Those to whom the settings of a turn let it hand over.
pub(crate) fn delegates(settings: &Value) -> impl Iterator<Item = &Value> {
    settings["delegates"].as_array().into_iter().flatten()
}

/// Who is meant by a tool: one of those who were offered, or whoever its name names.
fn target<'a>(name: &'a str, settings: &'a Value) -> Option<&'a str> {
    let mut offered = delegates(settings).filter_map(|delegate| delegate["id"].as_str());
    let named = || name.strip_prefix(PREFIX).filter(|target| !target.is_empty());
    offered.find(|id| tool(id) == name).or_else(named)
}

/// The deliverable of a hand-over; none for any other tool. Whether the target may be handed to is decided by the process.
pub(crate) fn deliverable(tool: &str, arguments: &Value, said: &str, settings: &Value) -> Option<Value> {
    let target = target(tool, settings)?;
    let task = ["task", "assigned_task", "instruction", "query"]
        .iter()
        .find_map(|name| text_argument(arguments, name))
        .unwrap_or_default();
    let message = text_argument(arguments, "message").unwrap_or_else(|| said.to_owned());
    Some(json!({ "delegate_to": target, "task": task, "message": message }))
}

/// Whether the process reads a hand-over of this turn as one: those that it offers somebody to hand over to. In dynamic
/// everybody's is read, so that one to nobody is on record.
pub(crate) fn is_read(settings: &Value) -> bool {
    let is_offered = settings["delegates"].as_array().is_some_and(|delegates| !delegates.is_empty());
    is_offered || settings["process"] == "dynamic"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PR-02, PR-03
    #[test]
    fn pr_02_a_hand_over_is_read_where_it_is_offered() {
        let delegates = json!([{ "id": "b" }]);
        for (settings, expected) in [
            (json!({ "process": "dynamic", "delegates": delegates }), true),
            (json!({ "process": "dynamic", "delegates": [] }), true),
            (json!({ "process": "hierarchical", "delegates": delegates }), true),
            (json!({ "process": "hierarchical", "delegates": [] }), false),
            (json!({ "process": "sequential", "delegates": [] }), false),
            (json!({}), false),
        ] {
            assert_eq!(is_read(&settings), expected, "{settings}");
        }
    }

    /// PR-02
    #[test]
    fn a_hand_over_names_the_target_and_the_task() {
        let none = json!({});
        let given = deliverable("delegate_to_b", &json!({ "task": " go " }), "done so far", &none).unwrap();
        assert_eq!(given, json!({ "delegate_to": "b", "task": "go", "message": "done so far" }));
        assert_eq!(deliverable("delegate_async", &none, "", &none), None);
        assert_eq!(deliverable("delegate_to_", &none, "", &none), None);
    }

    /// PR-02
    #[test]
    fn a_long_id_is_offered_under_a_name_that_providers_take() {
        let id = "b".repeat(limits::NAME_CHARS);
        let name = tool(&id);
        assert_eq!(name.len(), limits::OFFERED_NAME_CHARS);
        assert_ne!(name, tool(&format!("{}c", &id[1..])), "another that begins alike");
        let settings = json!({ "delegates": [{ "id": "a" }, { "id": id }] });
        let given = deliverable(&name, &json!({}), "", &settings).unwrap();
        assert_eq!(given["delegate_to"], id);
    }
}
