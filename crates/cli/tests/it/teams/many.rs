//! A thousand turns at once in one process.

use super::stage::text;
use crate::support::{Backend, Home};
use serde_json::{Value, json};
use std::{
    sync::mpsc,
    time::{Duration, Instant},
};

const TURNS: usize = 1_000;
/// All of them must be under way before the first ends.
const MODEL_MS: u64 = 20_000;
/// Generous: it is a build for tests.
const PEAK_MIB: u64 = 600;
const PATIENCE: Duration = Duration::from_secs(240);

/// NF-09, and that a turn that waits for its model costs next to nothing.
#[test]
fn a_thousand_turns_run_at_once_in_one_process() {
    let home = Home::new(Backend::Sqlite);
    let server = home.up(&["--worker-turns", &(TURNS + 10).to_string()]);
    let task = |n: usize| json!({ "target_strategy": "new", "target_ref": "crew_one", "instruction": format!("Task {n}") });
    let tasks: Vec<_> = (0..TURNS).map(task).collect();
    let rules = json!([
        { "match": { "agent": "lead", "step": 1 }, "tool_calls": [{ "name": "fork_join", "arguments": { "tasks": tasks, "deadline_seconds": 600 } }] },
        { "match": { "agent": "lead" }, "reply": "All are back." },
    ]);
    // A script of its own: the lead's is long, and everybody would carry it.
    let own = json!({ "script": { "rules": [{ "reply": "Done.", "delay_ms": MODEL_MS }] } });
    let team = json!({
        "name": "crowd", "process": "sequential",
        "model": { "provider": "scripted", "script": { "rules": rules } },
        "agents": [{ "id": "lead", "profile": { "system_prompt": "Lead." } }],
        "profiles": [{ "name": "crew_one", "system_prompt": "Work.", "allowed_tools": [], "llm_config": own }],
    });
    home.ok(&["project", "create", "p1"]);
    let put = server.request("PUT", "/projects/p1/teams/crowd", &team.to_string());
    assert_eq!(put.status, 201, "{put:?}");
    let begun = Instant::now();
    let run = server.post("/projects/p1/teams/crowd:run", json!({ "query": "Go." }));
    assert_eq!(run.status, 200, "{run:?}");
    let path = format!("/projects/p1/turns/{}", text(&run.json()["agent_turn_id"]));
    // Nobody ever sends: this yields the processor between two questions.
    let (_sender, pause) = mpsc::channel::<()>();
    let ended = loop {
        let turn = server.get(&path).json();
        if !turn["ended_at"].is_null() {
            break turn;
        }
        assert!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}");
        let _ = pause.recv_timeout(Duration::from_millis(200));
    };
    let peak = peak_mib(server.pid());
    println!("{TURNS} turns at once: {:?}, peak {peak} MiB", begun.elapsed());
    assert_eq!(ended["status"], "success", "{ended:#}");
    let all = |list: &str| {
        let (mut found, mut cursor) = (vec![], String::new());
        loop {
            let mut page = server.get(&format!("/projects/p1/{list}?limit=500{cursor}")).json();
            if let Value::Array(items) = page["items"].take() {
                found.extend(items);
            }
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return found,
            }
        }
    };
    let turns = all("turns");
    assert_eq!(turns.len(), TURNS + 2);
    assert!(turns.iter().all(|turn| turn["status"] == "success"));
    // A step is made with its call and changed with its answer.
    let steps = all("state/steps");
    let one = steps.iter().filter(|step| !["lead", "team_crowd"].contains(&text(&step["agent_id"])));
    let (mut first_answer, mut last_call) = (None, None);
    for step in one {
        let (made, changed) = (text(&step["created_at"]), text(&step["updated_at"]));
        last_call = last_call.max(Some(made));
        first_answer = Some(first_answer.map_or(changed, |first: &str| first.min(changed)));
    }
    assert!(last_call < first_answer, "{last_call:?} is after {first_answer:?}: not all at once");
    assert!(peak < PEAK_MIB, "{peak} MiB");
}

/// The most memory that a process has had.
fn peak_mib(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() / 1024
}
