//! `cardwire tool`, `recipe`, `team`, `plan` and `pmo` (API-07, API-09, API-15).

use crate::support::{Backend, Home, Server};
use serde_json::{Value, json};
use std::sync::Arc;

const ID: &str = "0192f0c123457abc8def0123456789ab";
const RECIPE: &str = "\
name: review
description: Ask for a review.
handover:
  target_profile_config: {profile_name: Helper}
  context_packing_config:
    pack_arguments: [{arg_key: task}]
    inherit_context: {include_boxes_from_args: [draft]}
required: [task]
";

/// Every check once with a server and once with the embedded store, in a project with one agent.
fn both_ways(check: impl Fn(&Arc<Home>)) {
    let home = Home::new(Backend::Sqlite);
    prepare(&home);
    check(&home);
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let server = Server::on(backend, &[]);
        prepare(&server.home);
        check(&server.home);
    }
}

fn prepare(home: &Home) {
    home.ok(&["project", "create", "p1"]);
    file(home, "helper.yaml", "name: Helper\nworker_target: w1\nsystem_prompt: |\n  Help.\ntags: [kind]\n");
    home.ok(&["profile", "put", "-p", "p1", "--from", "helper.yaml"]);
    home.ok(&["agent", "add", "boss", "-p", "p1", "--profile", "Helper"]);
}

fn file(home: &Home, name: &str, text: &str) {
    std::fs::write(home.root().join(name), text).unwrap();
}

/// API-07, API-15
#[test]
fn documents_are_written_from_files_listed_shown_and_deleted() {
    both_ways(|home| {
        file(
            home,
            "look.json",
            r#"{"description": "Looks things up.", "target": {"n": 9223372036854775807}}"#,
        );
        file(home, "review.yml", RECIPE);
        file(
            home,
            "authors",
            "name: authors\nprocess: sequential\nagents: [{id: writer, profile: {system_prompt: x}}, {id: critic, profile: {system_prompt: x}}]\n",
        );
        let put = |kind: &str, args: &[&str]| home.ok(&[&[kind, "put", "-p", "p1"], args].concat());
        assert_eq!(put("tool", &["look.json", "--name", "look"]), "wrote tool look");
        assert_eq!(put("recipe", &["review.yml"]), "wrote recipe review");
        assert_eq!(put("team", &["authors"]), "wrote team authors");
        let tools = home.ok(&["tool", "list", "-p", "p1"]);
        assert!(tools.contains("suspend") && tools.contains("Looks things up."), "{tools}");
        assert!(home.ok(&["recipe", "list", "-p", "p1"]).contains("Ask for a review."));
        assert!(home.ok(&["team", "list", "-p", "p1"]).contains("writer, critic"));
        let look = home.json(&["tool", "get", "-p", "p1", "look"]);
        assert_eq!(look["target"]["n"], i64::MAX, "numbers stay what they are");
        let shown = home.ok(&["recipe", "show", "-p", "p1", "review"]);
        let name = shown.lines().next().unwrap();
        assert!(name.starts_with("name:") && name.ends_with("review"), "{shown}");
        assert!(shown.contains("target_profile_config") && shown.contains("card_id:"), "{shown}");
        let team = home.cardwire_with(
            &["team", "put", "-p", "p1", "-", "--name", "two", "--json"],
            "agents: [{id: a, profile: {system_prompt: x}}]\nprocess: react",
        );
        assert_eq!(serde_json::from_str::<Value>(&team.ok()).unwrap()["process"], "react");
        let json =
            r#"{ "process": "react", "agents": [{ "id": "a", "profile": { "system_prompt": "x" } }] }"#;
        home.cardwire_with(&["team", "put", "-p", "p1", "-", "--name", "two"], json).ok();
        let list = home.json(&["team", "list", "-p", "p1", "--limit", "1"]);
        assert_eq!((&list["items"][0]["name"], &list["next_cursor"]), (&json!("authors"), &json!("authors")));
        assert_eq!(home.ok(&["tool", "delete", "-p", "p1", "look"]), "deleted tool look");
        let gone = home.cardwire(&["tool", "get", "-p", "p1", "look"]);
        gone.failed(3, "tool not found: look");
        assert!(gone.stderr.contains("hint: "), "{gone:?}");

        file(home, "plan.yaml", "goal: ship it\nsteps: [one, two]\n");
        home.cardwire(&["plan", "get", "-p", "p1"]).failed(3, "plan not found");
        assert_eq!(home.ok(&["plan", "put", "-p", "p1", "plan.yaml"]), "wrote the plan");
        assert_eq!(
            home.json(&["plan", "get", "-p", "p1"])["plan"],
            json!({ "goal": "ship it", "steps": ["one", "two"] })
        );
        assert!(home.ok(&["plan", "get", "-p", "p1"]).contains("ship it"));
        assert_eq!(home.ok(&["plan", "delete", "-p", "p1"]), "deleted the plan");
    });
}

/// API-15
#[test]
fn a_document_that_cannot_be_is_said_with_its_place() {
    both_ways(|home| {
        let put =
            |kind: &str, text: &str| home.cardwire_with(&[kind, "put", "-p", "p1", "-", "--name", "x"], text);
        put("tool", "description: [").failed(2, "line 1");
        put("tool", "description: a\ndescription: b\n").failed(2, "description: line 2: duplicate key");
        put("tool", "descripton: a").failed(2, "descripton: is not known");
        put("tool", r#"{"name": "y"}"#).failed(2, "must be the name in the path");
        put("team", "process: chaotic\nagents: [{id: a}]").failed(2, "process: must be one of sequential");
        let nameless = home.cardwire_with(&["tool", "put", "-p", "p1", "-"], "description: a");
        nameless.failed(2, "does not say its name");
        assert!(nameless.stderr.contains("hint: write `name: …` into the file"), "{nameless:?}");
        home.cardwire(&["tool", "put", "-p", "p1", "absent.yaml"]).failed(3, "absent.yaml");
        home.cardwire_with(&["tool", "put", "-p", "p1", "-", "--name", "fork_join"], "{}")
            .failed(2, "reserved");
        put("tool", "{}").ok();
        file(home, "r.yaml", &RECIPE.replace("review", "x"));
        home.cardwire(&["recipe", "put", "-p", "p1", "r.yaml"]).failed(4, "x is the name of a tool already");
        home.cardwire(&["tool", "put", "look.json"]).failed(2, "no project is given");
    });
}

/// API-07, API-15
#[test]
fn a_profile_is_written_from_options_or_from_a_file() {
    let home = Home::new(Backend::Sqlite);
    prepare(&home);
    let made = home.json(&["profile", "get", "-p", "p1", "Helper"]);
    assert_eq!((&made["system_prompt"], &made["tags"]), (&json!("Help.\n"), &json!(["kind"])));
    let json = r#"{"worker_target": "w2", "system_prompt": "x"}"#;
    let put = ["profile", "put", "-p", "p1", "Other", "--from", "-"];
    assert_eq!(home.cardwire_with(&put, json).ok().len(), 32);
    assert_eq!(home.json(&["profile", "get", "-p", "p1", "Other"])["worker_target"], "w2");
    home.cardwire_with(&put, "worker_target: w2").failed(2, "system_prompt: is required");
    home.cardwire_with(&put, "name: Third\nworker_target: w2\nsystem_prompt: x")
        .failed(2, "the name in the path");
    for args in [
        &["--from", "-", "--worker-target", "w"][..],
        &["--from", "-", "--tag", "t"],
        &["--from", "-", "--file", "-"],
    ] {
        let run = home.cardwire(&[&["profile", "put", "-p", "p1", "X"], args].concat());
        assert_eq!(run.code, 2, "{run:?}");
    }
    let nameless =
        home.cardwire(&["profile", "put", "-p", "p1", "--worker-target", "w", "--system-prompt", "x"]);
    assert_eq!(nameless.code, 2, "{nameless:?}");
}

/// API-09, PK-21, API-15
#[test]
fn work_is_handed_over_from_the_command_line() {
    both_ways(|home| {
        file(home, "review.yaml", RECIPE);
        home.ok(&["recipe", "put", "-p", "p1", "review.yaml"]);
        let card = home.put_card("the draft");
        let draft = home.ok(&["box", "create", "-p", "p1", &card]);
        file(home, "args.yaml", &format!("task: Review it.\ndraft: '{draft}'\n"));
        let call = ["pmo", "call", "review", "-p", "p1", "--caller", "boss", "--args", "@args.yaml"];
        let dry = home.cardwire(&[&call[..], &["--dry-run"]].concat());
        assert!(dry.stdout.contains("argument") && dry.stdout.contains(&card), "{dry:?}");
        assert!(dry.stderr.contains("nothing was written"), "{dry:?}");
        assert!(home.json(&["turn", "list", "-p", "p1"])["items"].as_array().unwrap().is_empty());

        let answer = home.json(&[&call[..], &["--channel", "side", "--wait-ms", "10"]].concat());
        assert_eq!((&answer["status"], &answer["result"]["status"]), (&json!("success"), &json!("accepted")));
        let context = answer["result"]["context_box_id"].as_str().unwrap();
        let provenance = home.ok(&["box", "provenance", "-p", "p1", context]);
        assert!(provenance.contains("argument") && provenance.contains(&draft), "{provenance}");
        let made = ["pmo", "call", "provision_agent", "-p", "p1", "--caller", "boss", "--args"];
        let shown = home.ok(&[&made[..], &[r#"{"agent_id": "new", "profile_name": "Helper"}"#]].concat());
        assert!(shown.contains("tool_call_id:") && shown.contains("new"), "{shown}");

        let refused = home.cardwire(&[&made[..], &[r#"{"agent_id": "new", "tags": ["t"]}"#]].concat());
        refused.failed(1, "existing_agent_tags_mutation_forbidden");
        assert!(refused.stdout.contains("rejected"), "{refused:?}");
        home.cardwire(&[&made[..], &["{"]].concat()).failed(2, "`--args` does not hold JSON");
        home.cardwire(&[&made[..], &["@absent"]].concat()).failed(3, "absent");
        let unknown = home.cardwire(&["pmo", "call", "nothing", "-p", "p1", "--caller", "boss"]);
        unknown.failed(3, "tool definition not found: nothing");
        assert!(unknown.stderr.contains("cardwire recipe list"), "{unknown:?}");
        home.cardwire_with(&["tool", "put", "-p", "p1", "-", "--name", "look"], "{}").ok();
        home.cardwire(&["pmo", "call", "look", "-p", "p1", "--caller", "boss"])
            .failed(2, "look is not run here");
        home.cardwire(&["pmo", "call", "review", "-p", "p1", "--caller", "nobody"])
            .failed(3, "agent not found");
        let missing = format!(r#"{{"task": "x", "draft": "{ID}"}}"#);
        let call = ["pmo", "call", "review", "-p", "p1", "--caller", "boss", "--args", &missing];
        home.cardwire(&[&call[..], &["--dry-run"]].concat()).failed(1, "missing or not handed to the caller");
        home.cardwire(&call).failed(3, "box not found");
    });
}

/// API-09, PK-01, PK-21
#[test]
fn a_context_is_packed_from_the_command_line() {
    both_ways(|home| {
        let body = "tool_suffix: mine\narguments: {task: Do it.}\nhandover:\n  target_profile_config: {profile_name: Helper}\n  context_packing_config: {pack_arguments: [{arg_key: task}]}\n";
        file(home, "pack.yaml", body);
        let pack = ["pmo", "pack", "-p", "p1", "pack.yaml"];
        let dry = home.json(&[&pack[..], &["--dry-run"]].concat());
        assert_eq!((&dry["context_box_id"], &dry["preflight"]["ok"]), (&Value::Null, &json!(true)));
        let packed = home.ok(&pack);
        let shown = home.ok(&["box", "show", "-p", "p1", &packed, "--cards"]);
        assert!(shown.contains("Do it."), "{shown}");
        home.cardwire_with(
            &["pmo", "pack", "-p", "p1", "-"],
            r#"{"tool_suffix": "x", "handover": {"rules": 1}}"#,
        )
        .failed(2, "rules");
        home.cardwire_with(&["pmo", "pack", "-p", "p1", "-"], "a: [").failed(2, "line 1");
    });
}
