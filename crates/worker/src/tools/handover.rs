//! `delegate_to_<id>`: the end of a member's part, with the name of whoever goes on (PR-02, PR-03).

use super::text_argument;
use serde_json::{Value, json};

pub(crate) const PREFIX: &str = "delegate_to_";

/// The deliverable of a hand-over; none for any other tool. Whether the target may be handed to is decided by the process.
pub(crate) fn deliverable(tool: &str, arguments: &Value, said: &str) -> Option<Value> {
    let target = tool.strip_prefix(PREFIX).filter(|target| !target.is_empty())?;
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
        let given = deliverable("delegate_to_b", &json!({ "task": " go " }), "done so far").unwrap();
        assert_eq!(given, json!({ "delegate_to": "b", "task": "go", "message": "done so far" }));
        assert_eq!(deliverable("delegate_async", &json!({}), ""), None);
        assert_eq!(deliverable("delegate_to_", &json!({}), ""), None);
    }
}
