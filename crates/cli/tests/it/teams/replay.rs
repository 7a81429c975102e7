//! Turns that are run again, forked and counted (RP-05, RP-06, OB-04).

use super::{
    crew::{calls, crew, says},
    stage::{Ran, Stage, alone, on_both_servers, on_both_stores, text},
};
use serde_json::{Value, json};

/// A team whose one agent forks a helper, looks something up, and answers.
fn team() -> Value {
    let help =
        json!({ "tasks": [{ "target_strategy": "new", "target_ref": "helper", "instruction": "Count." }] });
    let mut team = crew(
        "sequential",
        &["a"],
        json!([
            calls("a", 1, &[("fork_join", help), ("search_knowledge", json!({ "query": "nothing" }))]),
            calls("a", 2, &[("no_such_tool", json!({}))]),
            { "match": { "agent": "a", "step": 3 }, "reply": "Alpha has counted." },
            says("helper", "Three."),
        ]),
    );
    team["model"]["prices"] = json!({ "input": 1.0, "output": 2.0 });
    team["agents"][0]["profile"]["builtin_tools"] = "all".into();
    team["profiles"] = json!([{ "name": "helper", "system_prompt": "You count." }]);
    team
}

fn turn_of(stage: &Stage, agent: &str) -> String {
    text(&stage.turns_of(agent)[0]["agent_turn_id"]).to_owned()
}

/// RP-05
#[test]
fn every_turn_of_a_run_comes_to_the_same_when_it_is_run_again() {
    on_both_stores(|stage| {
        stage.run(&team(), "How many?", &[]).deliverable();
        let before = stage.turns();
        for turn in &before {
            let replay = stage.json(&["turn", "replay", text(&turn["agent_turn_id"])]);
            assert_eq!((&replay["same"], &replay["differences"]), (&json!(true), &json!([])), "{turn}");
        }
        let replay = stage.json(&["turn", "replay", &turn_of(stage, "a")]);
        assert_eq!(replay["calls"].as_array().unwrap().len(), 3);
        assert!(replay["calls"].as_array().unwrap().iter().all(|call| call["hash_ok"] == true), "{replay}");
        assert_eq!(replay["cards"], 5, "two that call and three answers");
        assert_eq!(stage.turns(), before, "a replay leaves nothing");
    });
}

/// RP-05
#[test]
fn turns_that_failed_and_turns_that_asked_people_are_run_again_too() {
    let mut asks = crew(
        "sequential",
        &["a"],
        json!([
            calls("a", 1, &[("publish", json!({ "text": "x" }))]),
            { "match": { "agent": "a", "step": 2 }, "error": "bad_request" },
        ]),
    );
    asks["tools"] = json!([{ "name": "publish", "approval": "required" }]);
    alone(|stage| {
        stage.run(&asks, "Go.", &["--yes"]).failed("agent_failed", "bad request");
        for turn in stage.turns() {
            let replay = stage.json(&["turn", "replay", text(&turn["agent_turn_id"])]);
            assert_eq!(replay["same"], true, "{replay:#}");
        }
    });
}

/// RP-05: what was deleted since is no difference of the turn.
#[test]
fn a_turn_whose_cards_were_deleted_is_not_called_another() {
    alone(|stage| {
        stage.run(&team(), "How many?", &[]).deliverable();
        // The card that the turn was given as its profile is not there any more: its first request cannot be rendered.
        let turn = &stage.turns_of("a")[0];
        let profile = stage.json(&["box", "show", text(&turn["profile_box_id"])]);
        let card = text(&profile["card_ids"][0]).to_owned();
        stage.home.ok(&["card", "delete", &card, "--project", "p1"]);
        let context = stage.json(&["box", "show", text(&turn["context_box_id"])]);
        let asked = text(&context["card_ids"][0]).to_owned();
        stage.home.ok(&["card", "delete", &asked, "--project", "p1"]);
        let replay =
            stage.home.cardwire(&["turn", "replay", &turn_of(stage, "a"), "--project", "p1", "--json"]);
        replay.failed(4, "cannot be replayed");
        assert_eq!(replay.stdout, "");
        assert!(replay.stderr.contains(&asked), "{replay:?}");
    });
}

/// RP-05: a replay that cannot fail would prove nothing.
#[test]
fn a_turn_that_would_come_to_something_else_is_told_apart() {
    on_both_servers(|stage, server| {
        server.post("/projects", json!({ "project_id": "p1" }));
        let profile = ["profile", "put", "other", "--worker-target", "other", "--system-prompt", "Be odd."];
        stage.home.ok(&[&profile[..], &["--project", "p1"]].concat());
        stage.home.ok(&["agent", "add", "odd", "--profile", "other", "--project", "p1"]);
        let turn = stage.home.ok(&["turn", "dispatch", "--agent", "odd", "--text", "Go.", "--project", "p1"]);
        let claim = json!({ "worker_target": "other", "worker_id": "w", "start": true });
        assert_eq!(server.post("/l0/claim", claim).json()["leases"].as_array().unwrap().len(), 1);
        let path = format!("/projects/p1/l0/turns/{turn}");
        let call = json!({ "turn_epoch": 1, "model": "m-1" });
        assert_eq!(server.post(&format!("{path}/calls"), call).status, 201);
        // What its model said last ends a turn of ours; this one went on and delivered something else.
        let said = json!({ "turn_epoch": 1, "content": "Red.", "metadata": { "type": "agent.thought" } });
        assert_eq!(server.post(&format!("{path}/cards"), said).status, 200);
        let end = json!({ "turn_epoch": 1, "status": "success", "deliverable": "Blue." });
        assert_eq!(server.post(&format!("{path}:finish"), end).status, 200);
        let replay = stage.home.cardwire(&["turn", "replay", &turn, "--project", "p1", "--json"]);
        assert_eq!(replay.code, 1, "{replay:?}");
        let told: Value = serde_json::from_str(&replay.stdout).unwrap();
        assert_eq!(told["same"], false);
        let differences = told["differences"].as_array().unwrap();
        assert!(differences.iter().any(|one| text(one).contains("it delivered \"Blue.\"")), "{told:#}");
    });
}

#[test]
fn what_has_not_ended_or_is_not_there_is_not_run_again() {
    alone(|stage| {
        stage.run(&team(), "How many?", &[]).deliverable();
        let nobody = format!("turn_{}", "0".repeat(32));
        stage.home.cardwire(&["turn", "replay", &nobody, "--project", "p1"]).failed(3, "not found");
    });
}

/// RP-06
#[test]
fn a_fork_goes_on_from_a_point_in_another_way() {
    alone(|stage| {
        let Ran { told, .. } = stage.run(&team(), "How many?", &[]);
        assert_eq!(told["deliverable"], "Alpha has counted.");
        let turn = turn_of(stage, "a");
        let original = stage.cards(&stage.turns_of("a")[0]);
        let helpers = stage.json(&["agent", "list", "--limit", "500"])["items"].as_array().unwrap().len();
        let sides = stage.json(&["turn", "fork", &turn, "--at", "2", "--without-layer", "framework"]);
        let fork = &sides["fork"];
        assert_eq!((&fork["status"], &fork["output"]), (&json!("success"), &json!("Alpha has counted.")));
        assert_eq!((&sides["original"]["calls"], &fork["calls"]), (&json!(3), &json!(2)), "{sides:#}");
        let turns = stage.turns();
        let forked = turns.iter().find(|turn| turn["agent_turn_id"] == fork["agent_turn_id"]).unwrap();
        let sent = stage.sent(text(&forked["agent_id"]));
        assert_eq!(sent[0].count("# Framework Context"), 0, "{sent:#?}");
        assert_eq!(sent[0].said_by("user")[0], "How many?");
        // The first answer was the original's, with what its tools had said; nobody was asked to count again.
        assert_eq!(sent[0].count("Three."), 1, "{sent:#?}");
        let agents = stage.json(&["agent", "list", "--limit", "500"])["items"].as_array().unwrap().len();
        assert_eq!(agents, helpers + 1, "the fork's own agent");
        // From the beginning, the same calls have the answers they had.
        let again = stage.json(&["turn", "fork", &turn, "--at", "1"]);
        assert_eq!(again["fork"]["output"], "Alpha has counted.");
        let agents = stage.json(&["agent", "list", "--limit", "500"])["items"].as_array().unwrap().len();
        assert_eq!(agents, helpers + 2);
        assert_eq!(stage.cards(&stage.turns_of("a")[0]), original, "the original is untouched");
    });
}

/// RP-06: with nothing changed, the call that is made anew is the call that was made.
#[test]
fn rp_06_an_unchanged_fork_sends_what_the_original_sent() {
    alone(|stage| {
        stage.run(&looks_twice(), "go", &[]).deliverable();
        let turn = turn_of(stage, "a");
        let then = hashes(stage, &turn);
        assert_eq!(then.len(), 3);
        for at in 1..=3 {
            let sides = stage.json(&["turn", "fork", &turn, "--at", &at.to_string()]);
            assert_eq!(sides["fork"]["output"], "Done.", "{sides:#}");
            let fork = text(&sides["fork"]["agent_turn_id"]).to_owned();
            assert_eq!(hashes(stage, &fork)[0], then[at - 1], "call {at}");
            // A fork of the fork goes on where the fork did.
            let again = stage.json(&["turn", "fork", &fork, "--at", "1"]);
            assert_eq!(hashes(stage, text(&again["fork"]["agent_turn_id"]))[0], then[at - 1], "call {at}");
        }
        // A call may be named by its step.
        for (at, step) in stage.steps(&turn).iter().filter(|step| step["call_id"].is_string()).enumerate() {
            let sides = stage.json(&["turn", "fork", &turn, "--at", text(&step["step_id"])]);
            assert_eq!(hashes(stage, text(&sides["fork"]["agent_turn_id"]))[0], then[at], "{step}");
        }
        // What was not there cannot be left out, and that is said.
        let fork = ["turn", "fork", &turn, "--project", "p1", "--without-layer"];
        let absent = stage.home.cardwire(&[&fork[..], &["todo"]].concat());
        assert!(absent.stderr.contains("call 1 of the turn had nothing of layer `todo`"), "{absent:?}");
        let there = stage.home.cardwire(&[&fork[..], &["system_prompt"]].concat());
        assert!(there.code == 0 && !there.stderr.contains("had nothing"), "{there:?}");
        // What the turn itself has said is no older history.
        let sides = stage.json(&["turn", "fork", &turn, "--at", "3", "--without-layer", "checkpoint"]);
        let sent = stage.only_sent(text(&sides["fork"]["agent_id"]));
        let roles: Vec<_> = sent.messages.iter().map(|message| text(&message["role"])).collect();
        assert_eq!(roles, ["system", "user", "assistant", "tool", "assistant", "tool"], "{sent:#?}");
    });
}

/// A team whose one agent calls a tool twice, and answers.
fn looks_twice() -> Value {
    let tool = |step: u32| calls("a", step, &[("no_such_tool", json!({ "step": step }))]);
    let answer = json!({ "match": { "agent": "a", "step": 3 }, "reply": "Done." });
    crew("sequential", &["a"], json!([tool(1), tool(2), answer]))
}

/// The hashes of the requests of a turn, in order.
fn hashes(stage: &Stage, turn: &str) -> Vec<String> {
    let steps = stage.steps(turn);
    let calls = steps.iter().filter_map(|step| step["call_id"].as_str());
    let hash = |call| text(&stage.json(&["context", "show", call])["manifest"]["request_sha256"]).to_owned();
    calls.map(hash).collect()
}

/// RP-06
#[test]
fn a_fork_may_have_another_instruction_or_another_card() {
    alone(|stage| {
        let rules = json!([
            { "match": { "contains": "French" }, "reply": "Trois." },
            { "match": { "contains": "German" }, "reply": "Drei." },
            { "reply": "Three." },
        ]);
        stage.run(&crew("sequential", &["a"], rules), "How many?", &[]).deliverable();
        let turn = turn_of(stage, "a");
        let sides = stage.json(&["turn", "fork", &turn, "--instruction", "How many, in French?"]);
        assert_eq!(
            (&sides["original"]["output"], &sides["fork"]["output"]),
            (&json!("Three."), &json!("Trois."))
        );
        let context = text(&stage.turns_of("a")[0]["context_box_id"]).to_owned();
        let old = text(&stage.json(&["box", "show", &context])["card_ids"][0]).to_owned();
        let new = stage.home.put_card("How many, in German?");
        let sides = stage.json(&["turn", "fork", &turn, "--swap", &format!("{old}={new}")]);
        assert_eq!(sides["fork"]["output"], "Drei.");
        // Another instruction among what is given is not the one that is asked, nor the one that is replaced.
        let pointer = text(&stage.json(&["box", "show", &context])["card_ids"][1]).to_owned();
        let swap = format!("{pointer}={new}");
        let sides = stage.json(&["turn", "fork", &turn, "--swap", &swap]);
        assert_eq!(sides["fork"]["output"], "Three.");
        let french = "How many, in French?";
        let sides = stage.json(&["turn", "fork", &turn, "--swap", &swap, "--instruction", french]);
        assert_eq!(sides["fork"]["output"], "Trois.");
        let wrong = stage.home.cardwire(&["turn", "fork", &turn, "--project", "p1", "--at", "9"]);
        wrong.failed(2, "`--at` must be 1 to 1");
        stage
            .home
            .cardwire(&["turn", "fork", &turn, "--project", "p1", "--swap", "x"])
            .failed(2, "CARD=CARD");
    });
}

/// RP-06: what was asked and answered later, and what the turn itself came to, is not in its memory.
#[test]
fn a_fork_knows_of_its_session_what_the_original_knew() {
    let team = crew(
        "sequential",
        &["a", "b"],
        json!([
            { "match": { "agent": "a", "contains": "third" }, "reply": "Alpha three." },
            { "match": { "agent": "a", "contains": "second" }, "reply": "Alpha two." },
            { "match": { "agent": "a", "contains": "first" }, "reply": "Alpha one." },
            says("b", "Beta."),
        ]),
    );
    alone(|stage| {
        for question in ["The first?", "The second?", "The third?"] {
            stage.run(&team, question, &["--session", "s"]).deliverable();
        }
        let session = stage.session("s");
        // The first one had a session that was not there yet but for who is active in it; the second of the team is told
        // what the first has said.
        for agent in ["a", "b"] {
            for (turn, sent) in stage.turns_of(agent).iter().zip(stage.sent(agent)) {
                let sides = stage.json(&["turn", "fork", text(&turn["agent_turn_id"])]);
                let fork = &sides["fork"];
                assert_eq!(fork["output"], sides["original"]["output"], "{sides:#}");
                let again = stage.only_sent(text(&fork["agent_id"]));
                assert_eq!(again.messages, sent.messages);
            }
        }
        assert_eq!(stage.session("s"), session, "a fork leaves nothing in it");
        // The run itself, too, and a fork of a fork.
        let run = turn_of(stage, "team_crew");
        let sides = stage.json(&["turn", "fork", &run]);
        assert_eq!(sides["fork"]["output"], "Beta.", "{sides:#}");
        let sides = stage.json(&["turn", "fork", &turn_of(stage, "a")]);
        let again = stage.json(&["turn", "fork", text(&sides["fork"]["agent_turn_id"])]);
        assert_eq!(again["fork"]["output"], "Alpha one.", "{again:#}");
        assert_eq!(stage.session("s"), session);
        // What was deleted cannot be seen again, and nothing is written for it.
        stage.home.ok(&["session", "delete", "s", "--project", "p1"]);
        let before = stage.turns();
        let second = text(&stage.turns_of("a")[1]["agent_turn_id"]).to_owned();
        stage
            .home
            .cardwire(&["turn", "fork", &second, "--project", "p1"])
            .failed(3, "s has been deleted since");
        assert_eq!(stage.turns(), before);
    });
}

/// RP-06: what cannot be, or would change nothing, is refused before anything is written.
#[test]
fn a_fork_that_cannot_be_as_asked_leaves_nothing() {
    alone(|stage| {
        let rules = json!([{ "match": { "contains": "boats" }, "reply": "Four." }, { "reply": "Three." }]);
        stage.run(&crew("sequential", &["a"], rules), "How many?", &[]).deliverable();
        let turn = turn_of(stage, "a");
        let context = text(&stage.turns_of("a")[0]["context_box_id"]).to_owned();
        let old = text(&stage.json(&["box", "show", &context])["card_ids"][0]).to_owned();
        let new = stage.home.put_card("How many boats?");
        let nowhere = "0192f0c123457abc8def0123456789ab";
        stage.run(&crew("sequential", &["b"], json!([says("b", "Two.")])), "How many?", &[]).deliverable();
        let theirs = text(&stage.steps(&turn_of(stage, "b"))[0]["step_id"]).to_owned();
        let there = || (stage.turns(), stage.json(&["agent", "list", "--limit", "500"]));
        let before = there();
        let pair = |old: &str, new: &str| format!("{old}={new}");
        for (code, options, words) in [
            (2, vec!["--at", "0"], "`--at` must be 1 to 1"),
            (2, vec!["--at", "first"], "--at"),
            (3, vec!["--at", "step_zzz"], "step_zzz is not one of turn"),
            (3, vec!["--at", &theirs], "is not one of turn"),
            (2, vec!["--model", ""], "--model"),
            (2, vec!["--model", " "], "--model"),
            (2, vec!["--instruction", ""], "--instruction"),
            (2, vec!["--instruction", "  "], "--instruction"),
            (2, vec!["--without-layer", "zzz"], "--without-layer"),
            (2, vec!["--without-layer", "todo", "--without-layer", "query"], "--without-layer"),
            (2, vec!["--swap", "a=b"], "--swap"),
            (2, vec!["--swap", &old], "--swap"),
            (2, vec!["--swap", &pair(&old, &new), "--swap", &pair(&old, &new)], "`--swap`"),
            (3, vec!["--swap", &pair(nowhere, &new)], "`--swap`"),
            (3, vec!["--swap", &pair(&new, &old)], "`--swap`"),
            (3, vec!["--swap", &pair(&old, nowhere)], "`--swap`"),
        ] {
            let fork = [&["turn", "fork", &turn, "--project", "p1"], &options[..]].concat();
            stage.home.cardwire(&fork).failed(code, words);
        }
        assert_eq!(there(), before);
        // Ids may be written with hyphens here too.
        let hyphens =
            |id: &str| format!("{}-{}-{}-{}-{}", &id[..8], &id[8..12], &id[12..16], &id[16..20], &id[20..]);
        let turn = format!("turn_{}", hyphens(turn.strip_prefix("turn_").unwrap()));
        let sides = stage.json(&["turn", "fork", &turn, "--swap", &pair(&hyphens(&old), &hyphens(&new))]);
        assert_eq!(sides["fork"]["output"], "Four.");
    });
}

/// RP-06
#[test]
fn a_fork_that_fails_is_shown_with_its_error() {
    alone(|stage| {
        let rules =
            json!([{ "match": { "contains": "French" }, "error": "bad_request" }, { "reply": "Three." }]);
        stage.run(&crew("sequential", &["a"], rules), "How many?", &[]).deliverable();
        let turn = turn_of(stage, "a");
        let fork = ["turn", "fork", &turn, "--instruction", "How many, in French?"];
        let failed = &stage.json(&fork)["fork"];
        assert_eq!(failed["status"], "failed");
        assert!(text(&failed["error"]).contains("bad request"), "{failed}");
        let table = stage.home.ok(&[&fork[..], &["--project", "p1"]].concat());
        let error =
            table.lines().find(|line| line.starts_with("error ")).unwrap_or_else(|| panic!("{table}"));
        assert!(error.contains("bad request"), "{table}");
        let table = stage.home.ok(&["turn", "fork", &turn, "--project", "p1"]);
        assert!(table.contains("Three.") && !table.contains("error"), "{table}");
    });
}

/// OB-04
#[test]
fn what_calls_cost_is_summed_by_whatever_is_asked_for() {
    alone(|stage| {
        let Ran { told, .. } = stage.run(&team(), "How many?", &[]);
        let total = &told["usage"];
        assert_eq!(total["calls"], 4);
        assert!(total["cost_micros"].as_u64().unwrap() > 0);
        let turn = turn_of(stage, "a");
        let sum = |args: &[&str]| stage.json(&[&["cost"], args].concat());
        for by in ["agent", "turn", "step", "model"] {
            let sums = sum(&["--by", by]);
            for name in ["calls", "input_tokens", "output_tokens", "cost_micros"] {
                let items = sums["items"].as_array().unwrap().iter().map(|item| item[name].as_u64().unwrap());
                assert_eq!(Some(items.sum::<u64>()), total[name].as_u64(), "{by} {name}");
                assert_eq!(sums["total"][name], total[name], "{by} {name}");
            }
        }
        assert_eq!(sum(&["--turn", &turn])["total"]["calls"], 3);
        assert_eq!(sum(&["--subtree", &turn])["total"]["calls"], 4, "with the helper below it");
        let batches = stage.json(&["batch", "list"]);
        let forked =
            batches["items"].as_array().unwrap().iter().find(|batch| batch["parent_agent_id"] == "a");
        let forked = text(&forked.unwrap_or_else(|| panic!("{batches}"))["batch_id"]).to_owned();
        assert_eq!(sum(&["--batch", &forked])["total"]["calls"], 1, "the helper alone");
        let layers = sum(&["--by", "layer", "--turn", &turn]);
        let names: Vec<_> =
            layers["items"].as_array().unwrap().iter().map(|item| text(&item["name"])).collect();
        for layer in ["framework", "query", "system_prompt", "tools", "turn"] {
            assert!(names.contains(&layer), "{layer}: {layers}");
        }
        // F-05
        for by in ["layer", "card"] {
            let sums = sum(&["--by", by]);
            for name in ["input_tokens", "output_tokens", "cost_micros"] {
                let items = sums["items"].as_array().unwrap().iter().map(|item| item[name].as_i64().unwrap());
                assert_eq!(Some(items.sum::<i64>()), total[name].as_i64(), "{by} {name}: {sums:#}");
            }
        }
        assert!(!sum(&["--by", "card", "--turn", &turn])["items"].as_array().unwrap().is_empty());
        stage.home.cardwire(&["cost", "--project", "p1", "--by", "mood"]).failed(2, "mood");
    });
}
