//! What models are sent, in whole: one golden request for each role of each process, and for each tool that comes with every
//! worker, with the tokens of each layer (F-05, F-10). To be read as a model would.
//!
//! `UPDATE_GOLDEN=1` writes the expected requests anew.

use super::{
    crew::{calls, crew, says},
    examples::{Names, expect},
    stage::{Stage, alone, text},
};
use serde_json::{Value, json};
use std::collections::HashMap;

/// Runs a team and compares every request of it with the golden ones.
fn golden(name: &str, team: &Value, query: &str) {
    alone(|stage| {
        stage.run(team, query, &["--session", "s1"]).deliverable();
        expect(&format!("requests/{name}"), &requests(stage, None));
    });
}

/// The same of one agent: what it gave to others without waiting may not be at its end.
fn golden_of(agent: &str, name: &str, team: &Value, query: &str) {
    alone(|stage| {
        stage.run(team, query, &["--session", "s1"]).deliverable();
        expect(&format!("requests/{name}"), &requests(stage, Some(agent)));
    });
}

/// Every request of every agent, or of one, in the order of their turns.
fn requests(stage: &Stage, only: Option<&str>) -> String {
    let agents = stage.json(&["agent", "list"]);
    let agents: HashMap<&str, &Value> =
        agents["items"].as_array().unwrap().iter().map(|agent| (text(&agent["agent_id"]), agent)).collect();
    let (mut names, mut story) = (Names::default(), String::new());
    for turn in stage.turns().into_iter().filter(|turn| only.is_none_or(|only| turn["agent_id"] == only)) {
        let agent = agents[text(&turn["agent_id"])];
        let is_made = agent["owner_agent_id"].is_string();
        let name = text(&agent[if is_made { "profile_name" } else { "agent_id" }]);
        let steps = stage.steps(text(&turn["agent_turn_id"]));
        let asked = steps.iter().filter_map(|step| step["call_id"].as_str()).enumerate();
        for (number, call) in asked {
            let shown = stage.json(&["context", "show", call]);
            assert_eq!(shown["hash_ok"], true, "{shown}");
            story += &format!("== {name}, request {}\n", number + 1);
            let rows = shown["rows"].as_array().unwrap();
            for row in rows {
                story += &format!("{:>7} {}\n", row["tokens"].as_i64().unwrap(), text(&row["layer"]));
            }
            // F-05: rows come to the total, which is what the provider counted.
            let sum: i64 = rows.iter().map(|row| row["tokens"].as_i64().unwrap()).sum();
            let step = steps.iter().find(|step| step["call_id"] == call).unwrap();
            assert_eq!(shown["input_tokens"], sum, "{shown:#}");
            // A call that failed has not been counted.
            if let Some(usage) = step["metadata"]["usage"].as_object() {
                assert_eq!(usage["input_tokens"], sum, "{shown:#} {step:#}");
            }
            story += &format!("{sum:>7} in all\n");
            let request: Value = serde_json::from_str(text(&shown["request"])).unwrap();
            story += &told(&request, &mut names);
        }
    }
    story
}

/// A request as its model reads it: who says what, what is called, and the tools as they are offered.
fn told(request: &Value, names: &mut Names) -> String {
    let mut told = String::new();
    for message in request["messages"].as_array().unwrap() {
        told += &format!("-- {}", text(&message["role"]));
        for name in ["name", "tool_call_id"] {
            let value = message[name].as_str().map(|_| names.shown(&message[name]));
            told += &value.map_or_else(String::new, |value| format!(" {name}={}", value.trim_end()));
        }
        told += "\n";
        told += &names.shown(&message["content"]);
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            told += &format!(
                "calls {}: {}",
                text(&call["function"]["name"]),
                names.shown(&call["function"]["arguments"])
            );
        }
    }
    for tool in request["tools"].as_array().into_iter().flatten() {
        let tool = &tool["function"];
        told += &format!("-- tool {}\n{}\n", text(&tool["name"]), text(&tool["description"]));
        told += &names.shown(&tool["parameters"]);
    }
    let rest: serde_json::Map<String, Value> = request
        .as_object()
        .unwrap()
        .iter()
        .filter(|(name, _)| !["messages", "tools"].contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    told + &format!("-- besides {}\n", Value::Object(rest))
}

/// PR-01
#[test]
fn requests_of_a_sequential_team() {
    let team = crew(
        "sequential",
        &["a", "b", "c"],
        json!([says("a", "Pier 4."), says("b", "Pier 4 is full."), says("c", "Pier 5.")]),
    );
    golden("sequential", &team, "Where do we moor?");
}

/// PR-02
#[test]
fn requests_of_a_dynamic_team() {
    let rules = json!([
        calls("a", 1, &[("delegate_to_b", json!({ "task": "Paint it red.", "message": "I drew it." }))]),
        says("b", "It is red."),
    ]);
    let mut team = crew("dynamic", &["a", "b"], rules);
    team["agents"][1]["description"] = "Paints.".into();
    golden("dynamic", &team, "Make a boat.");
}

/// PR-03
#[test]
fn requests_of_a_hierarchical_team() {
    let rules = json!([
        { "match": { "agent": "lead", "contains": "- worker:" }, "reply": "All is done." },
        calls("lead", 1, &[("delegate_to_worker", json!({ "task": "Count the boats." }))]),
        says("worker", "Seven boats."),
    ]);
    golden("hierarchical", &crew("hierarchical", &["lead", "worker"], rules), "Is the harbour full?");
}

/// PR-05
#[test]
fn requests_of_a_react_team() {
    let plan = json!({ "tasks": [
        { "id": "t1", "agent": "a", "description": "Find the boat." },
        { "id": "t2", "agent": "b", "description": "Paint the boat.", "depends_on": ["t1"] },
    ] });
    let rules = json!([
        { "match": { "role": "planner" }, "reply": plan },
        { "match": { "role": "reflector" }, "reply": { "next_action": "complete" } },
        says("a", "Found at pier 4."),
        says("b", "Painted."),
    ]);
    golden("react", &crew("react", &["a", "b"], rules), "A red boat.");
}

/// PR-06..PR-08
#[test]
fn requests_of_a_map_reduce_team() {
    let plan = json!({ "tasks": [
        { "agent_id": "w1", "input": "Count the boats." }, { "agent_id": "w2", "input": "Count the piers." },
    ] });
    let rules = json!([
        { "match": { "role": "planner" }, "reply": plan },
        { "match": { "contains": "Count the boats." }, "reply": "7 boats" },
        { "match": { "contains": "Count the piers." }, "reply": "3 piers" },
        { "match": { "agent": "sum", "role": "reducer" }, "reply": "A busy harbour." },
    ]);
    golden("map_reduce", &crew("map_reduce", &["w1", "w2", "sum"], rules), "How is the harbour?");
}

/// A team of one with nothing but this tool, whose last request is the golden one. `rules` are of agent `a`.
fn with_tool(tool: &str, rules: Value) -> Value {
    let mut team = crew("sequential", &["a"], rules);
    team["agents"][0]["profile"]["allowed_internal_tools"] = json!([tool]);
    team["profiles"] =
        json!([{ "name": "finder", "description": "Finds facts.", "system_prompt": "SECRET-finder" }]);
    team
}

/// Calls the tool once and is done.
fn one_call(tool: &str, arguments: Value) -> Value {
    with_tool(
        tool,
        json!([calls("a", 1, &[(tool, arguments)]), { "match": { "agent": "finder" }, "reply": "At pier 4." }, { "reply": "Done." }]),
    )
}

/// F-10: tools that give work to others, and what those are sent.
#[test]
fn requests_with_tools_that_give_work_to_others() {
    let task =
        json!({ "target_strategy": "new", "target_ref": "finder", "instruction": "Where is the boat?" });
    for (tool, arguments) in [
        ("delegate_async", task.clone()),
        ("fork_join", json!({ "tasks": [task] })),
        ("launch_principal", json!({ "profile_name": "finder", "instruction": "Where is the boat?" })),
        ("ask_expert", json!({ "expert_profile": "finder", "question": "Where is the boat?" })),
    ] {
        let team = one_call(tool, arguments);
        match tool {
            "fork_join" => golden(tool, &team, "Find the boat."),
            _ => golden_of("a", tool, &team, "Find the boat."),
        }
    }
}

/// F-10
#[test]
fn requests_with_tools_that_read_and_write() {
    let capture = json!({ "box": { "after": "\"output_box_id\":\"", "until": "\"" } });
    let task =
        json!({ "target_strategy": "new", "target_ref": "finder", "instruction": "Where is the boat?" });
    let mut reading = with_tool(
        "read_box",
        json!([
            calls("a", 1, &[("fork_join", json!({ "tasks": [task] }))]),
            { "match": { "agent": "a", "step": 2 }, "capture": capture, "tool_calls": [{ "name": "read_box", "arguments": { "box_id": "${box}" } }] },
            { "match": { "agent": "finder" }, "reply": "At pier 4." },
            { "reply": "Done." },
        ]),
    );
    reading["agents"][0]["profile"]["allowed_internal_tools"] = json!(["fork_join", "read_box"]);
    golden("read_box", &reading, "Find the boat.");
    for (tool, arguments) in [
        ("read_card", json!({ "card_id": "0192f0c123457abc8def0123456789ab" })),
        ("plan_todo", json!({ "op": "add", "items": ["Find it.", "Paint it."], "goal": "A red boat." })),
        (
            "report_todo",
            json!({ "updates": [{ "id": "t1", "status": "completed", "result": "At pier 4." }] }),
        ),
        ("search_knowledge", json!({ "query": "boats" })),
        ("list_handoff", json!({})),
        ("load_handoff", json!({ "handoff_id": "ho_1" })),
        ("write_files", json!({ "files": [{ "path": "notes/a.txt", "content": "Pier 4." }] })),
        ("send_handoff", json!({ "handoff_type": "execute_to_init" })),
    ] {
        golden(tool, &one_call(tool, arguments), "Find the boat.");
    }
    // The first tries a plain answer, so that there is a second request.
    let mut ends = with_tool(
        "submit_result",
        json!([{ "match": { "agent": "a", "times": 1 }, "reply": "At pier 4." }, calls("a", 2, &[("submit_result", json!({ "output": "At pier 4." }))])]),
    );
    ends["agents"][0]["profile"]["must_end_with"] = json!(["submit_result"]);
    alone(|stage| {
        assert_eq!(stage.run(&ends, "Find the boat.", &[]).told["status"], "success");
        expect("requests/submit_result", &requests(stage, None));
    });
}

/// F-10, PR-10
#[test]
fn a_request_after_a_person_was_asked() {
    alone(|stage| {
        let team = one_call("ask_human", json!({ "question": "Which colour?" }));
        let waits = stage.run(&team, "Paint the boat.", &["--session", "s1"]);
        let turn = text(&waits.told["questions"][0]["agent_turn_id"]);
        stage.home.ok(&["turn", "answer", turn, "--project", "p1", "--reply", "Red, please."]);
        stage.resume(&team, &["--session", "s1"]).deliverable();
        expect("requests/ask_human", &requests(stage, None));
    });
}

/// F-10: what failed is told in words as well.
#[test]
fn a_request_after_an_agent_and_a_tool_failed() {
    let rules = json!([
        { "match": { "agent": "a" }, "reply": "Pier 4." },
        { "match": { "agent": "b", "times": 1 }, "error": "bad_request" },
        calls("b", 1, &[("publish", json!({ "text": "Pier 4." }))]),
        { "match": { "agent": "b", "role": "tool" }, "reply": "Not published." },
    ]);
    let mut team = crew("sequential", &["a", "b"], rules);
    team["limits"] = json!({ "retries": 1 });
    team["agents"][1]["profile"]["allowed_tools"] = json!(["publish"]);
    team["tools"] = json!([{ "name": "publish", "description": "Publishes.", "target": { "url": "http://127.0.0.1:1/" } }]);
    golden("failures", &team, "Where do we moor?");
}
