//! NF-04, NF-05, PR-10: whoever runs a team is killed with `kill -9` at random moments. The run goes on from what it has
//! written and comes to the same end, and no answer of a model that was stored is asked for again.

use super::{
    crew::{example, paced},
    stage::{Process, text},
};
use crate::support::{Backend, DEADLINE, Home, Server, eventually};
use cardwire_testkit::{Rng, scaled};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

const QUERY: &str = "Which way of storing time series suits our sensors?";
/// A run without a kill takes about this long; kills are spread over it.
const RUN_MS: usize = 700;
/// The project of a run that nobody kills, with which the others are compared.
const CALM: &str = "calm";
/// A run is killed at most so often before it may end.
const KILLS_PER_RUN: u64 = 6;

fn seeded() -> Rng {
    let seed = cardwire_testkit::test_seed();
    println!("CARDWIRE_TEST_SEED={seed}");
    Rng::new(seed)
}

/// The research team, faster.
fn write_team(home: &Home) {
    home.file("team.yaml", paced(&example("research"), 1, 4));
}

/// Lets something go on for a while, which `until` may cut short.
fn let_run(millis: usize, mut until: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + Duration::from_millis(millis as u64);
    let (_sender, pause) = mpsc::channel::<()>();
    while Instant::now() < end {
        if until() {
            return true;
        }
        let _ = pause.recv_timeout(Duration::from_millis(3));
    }
    until()
}

#[test]
fn a_run_that_was_killed_is_resumed_to_the_same_end() {
    let mut random = seeded();
    let home = Home::new(Backend::Sqlite);
    write_team(&home);
    home.ok(&["run", "team.yaml", QUERY, "--project", CALM]);
    let (mut kills, mut projects) = (0, vec![]);
    while kills < scaled(8) {
        let project = format!("r{}", projects.len());
        kills += run_until_it_ends(&home, &project, &mut random);
        projects.push(project);
    }
    println!("{kills} kills in {} runs", projects.len());
    let server = home.up(&["--worker-turns", "0"]);
    check_all(&server, &projects);
}

/// Gives how often it was killed.
fn run_until_it_ends(home: &Arc<Home>, project: &str, random: &mut Rng) -> u64 {
    let (start, resume) = (["run", "team.yaml", QUERY], ["run", "team.yaml", "--resume"]);
    let (mut args, mut kills) = (&start[..], 0);
    let deadline = Instant::now() + DEADLINE * 2;
    loop {
        assert!(Instant::now() < deadline, "the run in {project} does not end");
        let command = home.command(&[args, &["--project", project, "--json"]].concat());
        let mut process = Process::start(command, home, &format!("{project}.log"));
        let patience =
            if kills < KILLS_PER_RUN { random.between(1, RUN_MS) } else { DEADLINE.as_millis() as usize };
        let mut code = None;
        let_run(patience, || {
            code = process.ended();
            code.is_some()
        });
        match code {
            Some(0) => return kills,
            // It was killed before there was a run.
            Some(3) if args == resume => args = &start,
            Some(code) => panic!("{args:?} in {project} ended with {code}"),
            None => {
                process.kill();
                kills += 1;
                args = &resume;
            }
        }
    }
}

#[test]
fn a_worker_that_was_killed_goes_on_under_its_name_on_sqlite() {
    torture_worker(Backend::Sqlite, 10);
}

#[test]
fn a_worker_that_was_killed_goes_on_under_its_name_on_postgres() {
    torture_worker(Backend::Postgres, 5);
}

fn torture_worker(backend: Backend, least: u64) {
    let mut random = seeded();
    let home = Home::new(backend);
    let server = home.up(&["--worker-turns", "0"]);
    write_team(&home);
    let (mut kills, mut projects) = (0, vec![]);
    let mut worker = Process::worker(&home, "w");
    await_end(&server, CALM, &start(&server, CALM));
    while kills < scaled(least) {
        let project = format!("r{}", projects.len());
        let turn = start(&server, &project);
        for _ in 0..KILLS_PER_RUN {
            if let_run(random.between(1, RUN_MS), || has_ended(&server, &project, &turn)) {
                break;
            }
            worker.kill();
            kills += 1;
            worker = Process::worker(&home, "w");
        }
        await_end(&server, &project, &turn);
        projects.push(project);
    }
    println!("{kills} kills in {} runs", projects.len());
    check_all(&server, &projects);
}

#[test]
fn a_server_that_was_killed_goes_on_with_its_runs_on_sqlite() {
    torture_server(Backend::Sqlite, 10);
}

#[test]
fn a_server_that_was_killed_goes_on_with_its_runs_on_postgres() {
    torture_server(Backend::Postgres, 5);
}

fn torture_server(backend: Backend, least: u64) {
    let mut random = seeded();
    let home = Home::new(backend);
    let mut server = home.up(&[]);
    write_team(&home);
    await_end(&server, CALM, &start(&server, CALM));
    let (mut kills, mut projects) = (0, vec![]);
    while kills < scaled(least) {
        let project = format!("r{}", projects.len());
        let turn = start(&server, &project);
        for _ in 0..KILLS_PER_RUN {
            if let_run(random.between(1, RUN_MS), || has_ended(&server, &project, &turn)) {
                break;
            }
            server.kill();
            kills += 1;
            server = home.up(&[]);
        }
        await_end(&server, &project, &turn);
        projects.push(project);
    }
    println!("{kills} kills in {} runs", projects.len());
    check_all(&server, &projects);
}

/// Starts a run in a project of its own.
fn start(server: &Server, project: &str) -> String {
    server.home.ok(&["project", "create", project]);
    server.home.ok(&["team", "put", "team.yaml", "--project", project]);
    let run = server.post(&format!("/projects/{project}/teams/research:run"), json!({ "query": QUERY }));
    assert_eq!(run.status, 200, "{run:?}");
    text(&run.json()["agent_turn_id"]).to_owned()
}

fn has_ended(server: &Server, project: &str, turn: &str) -> bool {
    !server.get(&format!("/projects/{project}/turns/{turn}")).json()["ended_at"].is_null()
}

fn await_end(server: &Server, project: &str, turn: &str) {
    eventually("the run to end", || has_ended(server, project, turn).then_some(()));
}

/// Everything of every run is as if nobody had been killed.
fn check_all(server: &Server, projects: &[String]) {
    let expected = example("research");
    let calm = messages(server, CALM);
    assert!(calm.len() > 2, "more than a question and its answer: {calm:#?}");
    for project in projects {
        let get = |path: &str| server.get(&format!("/projects/{project}{path}")).json();
        let turns = get("/turns?limit=500");
        let turns = turns["items"].as_array().unwrap();
        assert_eq!(turns.len(), 6, "{project}: {turns:#?}");
        for turn in turns {
            assert_eq!(turn["status"], "success", "{project}: {turn:#}");
            let cards = get(&format!("/boxes/{}/cards?limit=500", text(&turn["output_box_id"])));
            let cards = cards.as_array().unwrap();
            every_call_has_one_answer(project, cards);
            let steps =
                get(&format!("/state/steps?agent_turn_id={}&limit=500", text(&turn["agent_turn_id"])));
            no_answer_was_asked_for_twice(turn, cards, &steps);
            if turn["depth"] == 0 {
                let report = text(&cards.last().unwrap()["content"]);
                for line in report.lines().filter(|line| !line.is_empty()) {
                    assert!(expected.contains(line), "{project}: `{line}` is not in the script");
                }
                assert!(report.starts_with("# Storing time series"), "{report}");
            }
        }
        assert_eq!(messages(server, project), calm, "{project}");
    }
    let report = server.post("/admin/verify", json!({})).json();
    assert_eq!(report["ok"], true, "{report}");
}

/// What the session of a project's run remembers, without what is its own in every run.
fn messages(server: &Server, project: &str) -> Vec<Value> {
    let get = |path: &str| server.get(&format!("/projects/{project}{path}")).json();
    let turns = get("/turns?limit=500");
    let turn = text(&turns["items"].as_array().unwrap().last().unwrap()["agent_turn_id"]);
    let mut session = get(&format!("/sessions/run_{}", turn.trim_start_matches("turn_")));
    let messages = session["messages"].as_array_mut().unwrap();
    for message in &mut *messages {
        message["id"] = text(&message["id"]).replace(turn, "turn").into();
        message.as_object_mut().unwrap().remove("card_id").unwrap();
    }
    std::mem::take(messages)
}

/// NF-05
fn every_call_has_one_answer(project: &str, cards: &[Value]) {
    let mut answers: HashMap<String, usize> = HashMap::new();
    for card in cards {
        for call in card["tool_calls"].as_array().into_iter().flatten() {
            answers.entry(text(&call["id"]).to_owned()).or_default();
        }
        match card["type"].as_str() {
            Some("tool.call") => drop(answers.entry(text(&card["tool_call_id"]).to_owned()).or_default()),
            Some("tool.result") => *answers.entry(text(&card["tool_call_id"]).to_owned()).or_default() += 1,
            _ => {}
        }
    }
    assert!(answers.values().all(|count| *count == 1), "{project}: {answers:?}\n{cards:#?}");
}

/// What a model was paid for is there once: a card for each answer with calls, and the deliverable for the last.
fn no_answer_was_asked_for_twice(turn: &Value, cards: &[Value], steps: &Value) {
    let paid = |step: &&Value| step["phase"] == "call" && step["metadata"]["usage"].is_object();
    let paid = steps["items"].as_array().unwrap().iter().filter(paid).count();
    let said = cards.iter().filter(|card| card["type"] == "agent.thought").count();
    let runs_the_team = turn["depth"] == 0;
    assert_eq!(paid, said + usize::from(!runs_the_team), "{turn:#}\n{steps:#}");
}

/// A server that goes down may take the answer to a claim with it.
#[test]
fn a_worker_outlives_the_servers_it_works_for() {
    let mut random = seeded();
    let home = Home::new(Backend::Sqlite);
    let mut server = home.up(&["--worker-turns", "0"]);
    let address = server.address().to_owned();
    write_team(&home);
    let _worker = Process::worker(&home, "w");
    await_end(&server, CALM, &start(&server, CALM));
    let (mut kills, mut projects) = (0, vec![]);
    while kills < scaled(6) {
        let project = format!("r{}", projects.len());
        let turn = start(&server, &project);
        for _ in 0..KILLS_PER_RUN {
            if let_run(random.between(1, RUN_MS), || has_ended(&server, &project, &turn)) {
                break;
            }
            server.kill();
            kills += 1;
            server = home.up(&["--worker-turns", "0", "--listen", &address]);
        }
        await_end(&server, &project, &turn);
        projects.push(project);
    }
    println!("{kills} kills in {} runs", projects.len());
    check_all(&server, &projects);
}
