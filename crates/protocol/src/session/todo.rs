//! What happens to a todo list (TD-02..TD-04, TD-06). Payloads come from models: what cannot be read is skipped and
//! never fails anything.

use cardwire_model::{Timestamp, Todo, TodoItem, TodoStatus, limits};
use serde_json::Value;

/// The list after a `{plan?, updates?}`; `None` when nothing is left of it.
pub fn apply(current: Option<Todo>, payload: &Value, session_id: &str, now: Timestamp) -> Option<Todo> {
    let before = current.clone();
    let mut todo = current.unwrap_or_else(|| Todo::new(session_id, now));
    if let Some(plan) = payload.get("plan") {
        replan(&mut todo, plan);
    }
    let (updates, other) = updates_of(payload);
    updates.into_iter().chain(other).for_each(|update| progress(&mut todo, update));
    todo.items.retain(|item| !item.status.is_terminal());
    if todo.items.is_empty() {
        return None;
    }
    if before.as_ref() != Some(&todo) {
        todo.updated_at_ms = now.micros() / 1_000;
    }
    Some(todo)
}

/// What a tool said (TD-06): `{"updates": […]}`, a list of updates, or one.
fn updates_of(payload: &Value) -> (Vec<&Value>, Option<&Value>) {
    match payload.get("updates") {
        Some(Value::Array(updates)) => (updates.iter().collect(), None),
        Some(update) => (vec![], Some(update)),
        None => match payload {
            Value::Array(updates) => (updates.iter().collect(), None),
            Value::Object(members) if members.contains_key("id") || members.contains_key("item_id") => {
                (vec![], Some(payload))
            }
            Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                (vec![], None)
            }
        },
    }
}

fn replan(todo: &mut Todo, plan: &Value) {
    let listed = plan.get("items").and_then(Value::as_array);
    let items: Vec<&str> = listed.into_iter().flatten().filter_map(named).collect();
    match plan.get("op").and_then(Value::as_str).unwrap_or("add") {
        "add" => add(todo, &items),
        "remove" => {
            let ids: Vec<&str> = listed.into_iter().flatten().filter_map(id_of).collect();
            todo.items.retain(|item| !ids.contains(&item.id.as_str()));
        }
        "replace" if listed.is_some() => {
            todo.items.clear();
            todo.next_item_id = 1;
            add(todo, &items);
        }
        // Not an operation we know: skipped, as any other payload that cannot be read.
        _ => return,
    }
    if let Some(goal) = plan.get("goal").and_then(Value::as_str).map(str::trim) {
        todo.goal = Some(goal.to_owned()).filter(|goal| !goal.is_empty());
    }
}

/// An item of a plan: its text, or an object that has one.
fn named(item: &Value) -> Option<&str> {
    let text = match item {
        Value::Object(members) => ["description", "id"].iter().find_map(|key| members.get(*key)?.as_str()),
        Value::String(text) => Some(text.as_str()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    };
    text.map(str::trim).filter(|text| !text.is_empty())
}

/// The id of an item: itself, or a member of an object.
fn id_of(item: &Value) -> Option<&str> {
    item.as_str().or_else(|| item.get("id")?.as_str()).map(str::trim)
}

fn add(todo: &mut Todo, items: &[&str]) {
    for description in items {
        if todo.items.len() >= limits::TODO_ITEMS {
            return;
        }
        todo.items.push(TodoItem {
            id: format!("t{}", todo.next_item_id),
            description: (*description).to_owned(),
            status: TodoStatus::Pending,
            result: None,
        });
        todo.next_item_id += 1;
    }
}

fn progress(todo: &mut Todo, update: &Value) {
    let id = update.get("id").or_else(|| update.get("item_id")).and_then(Value::as_str);
    let Some(item) = todo.items.iter_mut().find(|item| Some(item.id.as_str()) == id) else { return };
    if let Some(status) = update.get("status").and_then(Value::as_str).and_then(TodoStatus::from_name) {
        item.status = status;
    }
    if let Some(result) = update.get("result").and_then(Value::as_str) {
        item.result = Some(result.to_owned()).filter(|result| !result.trim().is_empty());
    }
    if let Some(text) = update.get("description").and_then(Value::as_str).map(str::trim)
        && !text.is_empty()
    {
        item.description = text.to_owned();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NOW: Timestamp = Timestamp::from_micros(5_000);

    fn after(steps: &[Value]) -> Option<Todo> {
        steps.iter().fold(None, |todo, step| apply(todo, step, "s", NOW))
    }

    fn ids(todo: Option<&Todo>) -> Vec<(&str, &str)> {
        let items = todo.map_or(&[][..], |todo| &todo.items);
        items.iter().map(|item| (item.id.as_str(), item.description.as_str())).collect()
    }

    fn plan(op: &str, items: &[&str]) -> Value {
        json!({ "plan": { "op": op, "items": items } })
    }

    #[test]
    fn td_02_numbers_are_not_used_again_but_a_replaced_plan_starts_anew() {
        let todo = after(&[plan("add", &["a", " ", "b"]), plan("remove", &["t2"]), plan("add", &["c"])]);
        assert_eq!(ids(todo.as_ref()), [("t1", "a"), ("t3", "c")]);
        let todo = apply(todo, &plan("replace", &["x"]), "s", NOW);
        assert_eq!(ids(todo.as_ref()), [("t1", "x")]);
        assert_eq!(apply(todo, &plan("replace", &[]), "s", NOW), None);
        let goal = after(&[json!({ "plan": { "op": "add", "items": ["a"], "goal": "g" } })]).unwrap().goal;
        assert_eq!(goal.as_deref(), Some("g"));
    }

    #[test]
    fn td_03_what_has_ended_is_pruned_and_an_empty_list_is_none() {
        let two = plan("add", &["a", "b"]);
        let done = |id: &str, status: &str| json!({ "updates": [{ "id": id, "status": status }] });
        let todo = after(&[two.clone(), done("t1", "completed"), done("t9", "failed")]);
        assert_eq!(ids(todo.as_ref()), [("t2", "b")]);
        for status in ["completed", "failed", "skipped", "aborted"] {
            assert_eq!(after(&[two.clone(), done("t1", status), done("t2", status)]), None, "{status}");
        }
        for bare in
            [json!({ "id": "t1", "status": "running" }), json!({ "item_id": "t1", "status": "running" })]
        {
            assert_eq!(after(&[two.clone(), bare]).unwrap().items[0].status, TodoStatus::Running, "TD-06");
        }
        let running = after(&[two, json!([{ "id": "t1", "status": "running", "result": "half" }])]).unwrap();
        let item = &running.items[0];
        assert_eq!((item.status, item.result.as_deref()), (TodoStatus::Running, Some("half")));
    }

    #[test]
    fn td_04_what_cannot_be_read_is_skipped() {
        let before = after(&[plan("add", &["a"])]);
        for bad in [
            json!(null),
            json!("x"),
            json!(["x", 7, { "id": 5 }, { "id": "t1", "status": "odd" }]),
            json!({ "plan": "x", "updates": "y" }),
            json!({ "plan": { "op": "explode", "items": ["b"], "goal": "g" } }),
            json!({ "plan": { "op": "add", "items": "b" } }),
            json!({ "plan": { "op": "replace" } }),
        ] {
            assert_eq!(apply(before.clone(), &bad, "s", NOW), before, "{bad}");
        }
    }

    #[test]
    fn a_list_has_a_bound() {
        let many: Vec<String> = (0..=limits::TODO_ITEMS).map(|n| n.to_string()).collect();
        let todo = apply(None, &json!({ "plan": { "op": "add", "items": many } }), "s", NOW);
        assert_eq!(todo.unwrap().items.len(), limits::TODO_ITEMS);
    }
}
