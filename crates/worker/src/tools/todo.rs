//! What models say of the list of things to do (TD-06), read before anything is done: the kernel passes over what it cannot
//! read (TD-04), so that a model would be told that all went well.

use cardwire_model::TodoStatus;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// The tool that tells how things stand.
pub(crate) const REPORT: &str = "report_todo";

const OPS: [&str; 3] = ["add", "remove", "replace"];

/// The arguments of a call as an object: a list of updates stands for `{"updates": […]}`.
pub(crate) fn arguments<'a>(tool: &str, given: &'a Value) -> Cow<'a, Value> {
    if tool == REPORT && given.is_array() {
        Cow::Owned(json!({ "updates": given }))
    } else {
        Cow::Borrowed(given)
    }
}

/// The updates that a report gives: a list, one, or the arguments themselves. A refusal says what is wrong.
pub(crate) fn updates(arguments: &Map<String, Value>) -> Result<Vec<Value>, String> {
    let updates = match arguments.get("updates") {
        Some(Value::Array(updates)) => updates.clone(),
        Some(update @ Value::Object(_)) => vec![update.clone()],
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
            return Err("updates must be a list of objects".to_owned());
        }
        None if arguments.is_empty() => return Err("updates is required".to_owned()),
        None => vec![Value::Object(arguments.clone())],
    };
    for (index, update) in updates.iter().enumerate() {
        check_update(update).map_err(|wrong| format!("updates/{index}{wrong}"))?;
    }
    Ok(updates)
}

/// Whether a plan can be read. A refusal says what is wrong.
pub(crate) fn check_plan(plan: &Map<String, Value>) -> Result<(), String> {
    let op = plan.get("op").unwrap_or(&Value::Null);
    if !op.is_null() && !op.as_str().is_some_and(|op| OPS.contains(&op)) {
        return Err(format!("op must be one of {}", OPS.join(", ")));
    }
    if !is_text_or_absent(plan.get("goal")) {
        return Err("goal must be a string".to_owned());
    }
    match plan.get("items") {
        Some(Value::Array(items)) => match items.iter().position(|item| !is_item(item)) {
            Some(index) => Err(format!("items/{index} must be a string")),
            None => Ok(()),
        },
        Some(_) => Err("items must be a list of strings".to_owned()),
        // A goal can be set by itself.
        None if op != "replace" && plan.contains_key("goal") => Ok(()),
        None => Err("items is required".to_owned()),
    }
}

fn check_update(update: &Value) -> Result<(), String> {
    let Some(members) = update.as_object() else { return Err(" must be an object".to_owned()) };
    let id = members.get("id").or_else(|| members.get("item_id"));
    if id.and_then(Value::as_str).is_none_or(|id| id.trim().is_empty()) {
        return Err("/id must be the id of an item, such as t1".to_owned());
    }
    if let Some(status) = members.get("status").filter(|status| !status.is_null())
        && status.as_str().and_then(TodoStatus::from_name).is_none()
    {
        let names: Vec<_> = TodoStatus::ALL.iter().map(|status| status.as_str()).collect();
        return Err(format!("/status must be one of {}", names.join(", ")));
    }
    for name in ["result", "description"] {
        if !is_text_or_absent(members.get(name)) {
            return Err(format!("/{name} must be a string"));
        }
    }
    let says = |name: &&str| members.get(*name).is_some_and(|value| !value.is_null());
    match ["status", "result", "description"].iter().find(|name| says(name)) {
        Some(_) => Ok(()),
        None => Err("/status is required".to_owned()),
    }
}

/// The kernel takes an item as a text, or as an object that has one.
fn is_item(item: &Value) -> bool {
    let has_text = |name: &&str| item.get(name).is_some_and(Value::is_string);
    item.is_string() || ["description", "id"].iter().any(has_text)
}

fn is_text_or_absent(value: Option<&Value>) -> bool {
    value.is_none_or(|value| value.is_null() || value.is_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(given: &Value) -> Result<Vec<Value>, String> {
        updates(arguments(REPORT, given).as_object().unwrap())
    }

    /// TD-06
    #[test]
    fn a_report_is_an_update_a_list_of_them_or_has_one() {
        let update = json!({ "id": "t2", "status": "running" });
        for given in
            [update.clone(), json!([update]), json!({ "updates": [update] }), json!({ "updates": update })]
        {
            assert_eq!(read(&given), Ok(vec![update.clone()]), "{given}");
        }
        let told = json!({ "item_id": "t1", "result": "half", "why": "asked" });
        assert_eq!(read(&told), Ok(vec![told.clone()]), "more than is needed does no harm");
        assert_eq!(read(&json!([])), Ok(vec![]));
        assert!(arguments("read_card", &json!([])).is_array(), "no other tool takes a list");
    }

    /// TD-06
    #[test]
    fn what_cannot_be_read_is_refused_by_name() {
        for (given, wrong) in [
            (json!({}), "updates is required"),
            (json!({ "updates": "t1" }), "updates must be a list"),
            (json!({ "updates": ["t1"] }), "updates/0 must be an object"),
            (json!({ "status": "running" }), "updates/0/id must"),
            (json!([{ "id": "t1", "status": "done" }]), "updates/0/status must be one of pending, running"),
            (json!([{ "id": "t1", "status": "failed" }, { "id": 2, "status": "failed" }]), "updates/1/id"),
            (json!({ "id": "t1", "result": 5 }), "updates/0/result must be a string"),
            (json!({ "id": "t1", "state": "running" }), "updates/0/status is required"),
        ] {
            let refused = read(&given).unwrap_err();
            assert!(refused.contains(wrong), "{given}: {refused}");
        }
    }

    /// TD-02, TD-06
    #[test]
    fn a_plan_that_cannot_be_read_is_refused_too() {
        let check = |plan: Value| check_plan(plan.as_object().unwrap());
        for good in [
            json!({ "items": ["a", " "] }),
            json!({ "op": "replace", "items": [] }),
            json!({ "op": "remove", "items": [{ "id": "t1" }] }),
            json!({ "op": "add", "goal": "ship" }),
        ] {
            assert_eq!(check(good.clone()), Ok(()), "{good}");
        }
        for (bad, wrong) in [
            (json!({}), "items is required"),
            (json!({ "op": "explode", "items": [] }), "op must be one of add, remove, replace"),
            (json!({ "op": "add", "items": "a" }), "items must be a list"),
            (json!({ "op": "add", "items": ["a", 7] }), "items/1"),
            (json!({ "op": "replace", "goal": "ship" }), "items is required"),
            (json!({ "items": [], "goal": 7 }), "goal must"),
        ] {
            assert!(check(bad.clone()).unwrap_err().contains(wrong), "{bad}");
        }
    }
}
