//! Many tasks at once, and one result of theirs.

use super::{
    crew::{crew, says},
    stage::{alone, on_both_stores, text},
};
use serde_json::{Value, json};

/// Three tasks for two workers; the first takes longest.
fn rules() -> Value {
    let plan = json!({ "tasks": [
        { "agent_id": "w1", "input": "Count the boats." },
        { "agent_id": "w2", "input": "Count the piers." },
        { "agent_id": "w1", "input": "Count the gulls." },
    ] });
    json!([
        { "match": { "role": "planner" }, "reply": plan },
        { "match": { "contains": "Count the boats." , "role": "worker" }, "reply": "7 boats", "delay_ms": 400 },
        { "match": { "contains": "Count the piers.", "role": "worker" }, "reply": "3 piers", "delay_ms": 200 },
        { "match": { "contains": "Count the gulls.", "role": "worker" }, "reply": "99 gulls" },
        { "match": { "agent": "sum", "role": "reducer" }, "reply": "A busy harbour." },
    ])
}

/// PR-06, PR-07
#[test]
fn a_worker_sees_its_own_input_and_nothing_else() {
    let team = crew("map_reduce", &["w1", "w2", "sum"], rules());
    on_both_stores(|stage| {
        stage.home.ok(&["project", "create", "p1"]);
        let patch = json!({
            "messages": { "append": [{ "role": "human", "content": "An earlier word." }] },
            "todo": { "plan": { "op": "replace", "items": ["An earlier plan."], "goal": "An earlier goal." } },
        });
        let args = ["session", "patch", "-p", "p1", "s1", "--from", "-"];
        stage.home.cardwire_with(&args, &patch.to_string()).ok();
        let ran = stage.run(&team, "How is the harbour?", &["--session", "s1"]);
        assert_eq!(ran.deliverable(), "A busy harbour.");
        let worker = stage.only_sent("w2");
        assert_eq!(worker.said_by("user"), ["Count the piers."]);
        assert_eq!(worker.said_by("assistant").len(), 0, "{worker:#?}");
        for sent in [worker, stage.only_sent("crew_planner"), stage.only_sent("sum")] {
            assert_eq!(sent.count("An earlier"), 0, "{sent:#?}");
            assert_eq!(sent.count("# Todo Context"), 0, "{sent:#?}");
            assert_eq!(sent.said_by("user").len(), 1, "{sent:#?}");
        }
    });
}

/// PR-07, ST-04
#[test]
fn results_are_in_the_order_of_the_tasks_whoever_is_first() {
    let team = crew("map_reduce", &["w1", "w2", "sum"], rules());
    alone(|stage| {
        stage.run(&team, "How is the harbour?", &["--session", "s1"]).deliverable();
        let reducer = stage.only_sent("sum");
        let results = "- t1 (w1): 7 boats\n- t2 (w2): 3 piers\n- t3 (w1): 99 gulls";
        assert!(reducer.query().contains(results), "{reducer:#?}");
        let session = stage.session("s1");
        let ids: Vec<_> = session["mapreduce_results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| text(&item["task_id"]))
            .collect();
        assert_eq!(ids, ["t1", "t2", "t3"]);
        // One agent has one turn at a time: the third task went to another of the same kind.
        let depth_one = stage.turns().iter().filter(|turn| turn["depth"] == 1).count();
        assert_eq!((depth_one, stage.turns_of("w1").len()), (5, 1));
    });
}

/// PR-08, ST-04
#[test]
fn a_new_plan_begins_with_no_results() {
    let mut rules = rules();
    let plan = json!({ "tasks": [{ "agent_id": "w2", "input": "Count the gulls." }] });
    let plan = json!({ "match": { "role": "planner", "contains": "And now?" }, "reply": plan });
    rules.as_array_mut().unwrap().insert(0, plan);
    let team = crew("map_reduce", &["w1", "w2", "sum"], rules);
    alone(|stage| {
        for query in ["How is the harbour?", "And now?"] {
            stage.run(&team, query, &["--session", "s1"]).deliverable();
        }
        let session = stage.session("s1");
        let results = session["mapreduce_results"].as_array().unwrap();
        assert_eq!(results.len(), 1, "{session:#}");
        assert_eq!((&results[0]["agent_id"], &results[0]["output"]), (&json!("w2"), &json!("99 gulls")));
    });
}

/// PR-07
#[test]
fn a_task_that_failed_is_named_and_nothing_is_reduced() {
    let mut rules = rules();
    rules[1] = json!({ "match": { "contains": "Count the boats.", "role": "worker" }, "error": { "kind": "bad_request", "message": "fog" } });
    let team = crew("map_reduce", &["w1", "w2", "sum"], rules);
    alone(|stage| {
        let ran = stage.run(&team, "How is the harbour?", &[]);
        ran.failed("map_failed", "t1/w1: ");
        assert!(ran.run.stderr.contains("fog"), "{ran:?}");
        assert!(stage.turns_of("sum").is_empty());
    });
}

/// PR-08
#[test]
fn a_plan_for_somebody_else_or_of_nothing_is_no_plan() {
    for (plan, code) in [
        (json!({ "tasks": [{ "agent_id": "sum", "input": "x" }] }), "plan_unknown_agent"),
        (json!({ "tasks": [{ "agent_id": "w1", "input": " " }] }), "plan_empty_input"),
        (json!({ "tasks": [] }), "plan_no_tasks"),
        (json!("I would rather not."), "plan_invalid"),
    ] {
        let team =
            crew("map_reduce", &["w1", "sum"], json!([{ "match": { "role": "planner" }, "reply": plan }]));
        alone(|stage| {
            stage.run(&team, "Go.", &[]).failed(code, "");
            assert_eq!(stage.order(), ["crew_planner"]);
        });
    }
}

/// PR-09
#[test]
fn the_process_has_two_names() {
    let team = crew("mapreduce", &["w1", "w2", "sum"], rules());
    alone(|stage| {
        assert_eq!(stage.run(&team, "How is the harbour?", &[]).deliverable(), "A busy harbour.");
    });
}

/// PR-08, PR-09: refused wherever a team is given.
#[test]
fn a_shape_that_cannot_run_is_refused() {
    let lonely = crew("map_reduce", &["w1"], json!([says("w1", "x")]));
    let unknown = crew("committee", &["w1"], json!([says("w1", "x")]));
    on_both_stores(|stage| {
        stage.run(&lonely, "Go.", &[]).run.failed(2, "agents");
        stage.run(&unknown, "Go.", &[]).run.failed(2, "process");
        let Some(server) = stage.server() else { return };
        stage.home.ok(&["project", "create", "p1"]);
        for (team, field) in [(&lonely, "agents"), (&unknown, "process")] {
            let reply = server.request("PUT", "/projects/p1/teams/crew", &team.to_string());
            assert_eq!(
                (reply.status, reply.json()["error"]["detail"]["field"].as_str()),
                (400, Some(field)),
                "{reply:?}"
            );
        }
    });
}

/// PR-06
#[test]
fn a_worker_hands_nothing_on() {
    let plan = json!({ "tasks": [{ "agent_id": "w1", "input": "Count." }] });
    let fork =
        json!({ "tasks": [{ "target_strategy": "new", "target_ref": "crew_w1", "instruction": "Count." }] });
    let team = crew(
        "map_reduce",
        &["w1", "sum"],
        json!([
            { "match": { "role": "planner" }, "reply": plan },
            { "match": { "agent": "w1", "step": 1 }, "tool_calls": [
                { "name": "delegate_to_sum", "arguments": { "task": "Count." } }, { "name": "fork_join", "arguments": fork },
            ] },
            { "match": { "agent": "w1", "step": 2 }, "reply": "7 boats" },
            says("sum", "A busy harbour."),
        ]),
    );
    alone(|stage| {
        assert_eq!(stage.run(&team, "How is the harbour?", &[]).deliverable(), "A busy harbour.");
        let refused = stage.tool_results(&stage.turns_of("w1")[0]);
        assert_eq!(refused.len(), 2);
        assert!(refused.iter().all(|result| result["error"]["code"] == "tool_not_allowed"), "{refused:#?}");
        assert_eq!(stage.order(), ["crew_planner", "w1", "sum"]);
    });
}

/// Every team has a planner of its own.
#[test]
fn two_teams_of_one_project_can_both_plan() {
    let mut other = crew("map_reduce", &["x1", "x2", "total"], rules());
    let plan = json!({ "tasks": [{ "agent_id": "x1", "input": "Count the boats." }] });
    other["name"] = "other".into();
    other["model"]["script"]["rules"] = json!([
        { "match": { "role": "planner" }, "reply": plan }, { "reply": "Done." },
    ]);
    alone(|stage| {
        stage.run(&crew("map_reduce", &["w1", "w2", "sum"], rules()), "One?", &[]).deliverable();
        assert_eq!(stage.run(&other, "Two?", &[]).deliverable(), "Done.");
    });
}
