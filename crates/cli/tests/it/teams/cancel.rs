//! WK-09: a run is called off after each of its steps. Everybody in it stops, soon.

use super::{
    crew::{example, paced},
    stage::text,
};
use crate::support::{Backend, Home, Server, eventually};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// Steps of a run of the research team: three of the principal, one of each searcher and one of the expert.
const STEPS: usize = 7;
/// After this nothing may be written for a run that was called off.
const SOON: SignedDuration = SignedDuration::from_secs(1);

#[test]
fn a_run_that_is_called_off_stops_everybody_on_sqlite() {
    called_off(Backend::Sqlite);
}

#[test]
fn a_run_that_is_called_off_stops_everybody_on_postgres() {
    called_off(Backend::Postgres);
}

/// One run for each moment, all at once.
fn called_off(backend: Backend) {
    let home = Home::new(backend);
    // A model takes longer than stopping may: whoever goes on is caught.
    home.file("team.yaml", paced(&example("research"), 5, 1));
    let server = home.up(&[]);
    std::thread::scope(|scope| {
        let server = &server;
        let runs: Vec<_> = (0..=STEPS).map(|steps| scope.spawn(move || stop_after(server, steps))).collect();
        runs.into_iter().for_each(|run| run.join().unwrap());
    });
}

fn stop_after(server: &Server, steps: usize) {
    let project = format!("after-{steps}");
    let get = |path: &str| server.get(&format!("/projects/{project}{path}")).json();
    server.home.ok(&["project", "create", &project]);
    server.home.ok(&["team", "put", "team.yaml", "-p", &project]);
    let run =
        server.post(&format!("/projects/{project}/teams/research:run"), json!({ "query": "Which?" })).json();
    let turn = text(&run["agent_turn_id"]);
    let taken = || get("/state/steps?limit=500")["items"].as_array().unwrap().clone();
    let has_ended = || !get(&format!("/turns/{turn}"))["ended_at"].is_null();
    let ended_by_itself =
        eventually(&format!("step {steps}"), || match (taken().len() >= steps, has_ended()) {
            (_, true) => Some(true),
            (true, false) => Some(false),
            (false, false) => None,
        });
    assert!(!ended_by_itself, "{project}: it ended before it was called off");
    let stopped =
        server.post(&format!("/projects/{project}/turns/{turn}:stop"), json!({ "reason": "enough" }));
    assert_eq!(stopped.status, 200, "{stopped:?}");
    let acknowledged = Timestamp::now();
    let turns = eventually(&format!("{project}: every turn ends"), || {
        let turns = get("/turns?limit=500")["items"].as_array().unwrap().clone();
        turns.iter().all(|turn| !turn["ended_at"].is_null()).then_some(turns)
    });
    let controller = turns.iter().find(|one| one["agent_turn_id"] == turn).unwrap();
    assert_eq!(controller["error"], "stopped", "{controller:#}");
    for turn in &turns {
        assert!(time(&turn["ended_at"]) <= acknowledged + SOON, "{project}: {turn:#}");
    }
    // Long enough for a model that was not cut off to have answered.
    eventually("the time to be over", || (Timestamp::now() > acknowledged + SOON * 3).then_some(()));
    for step in taken() {
        let last = time(&step["created_at"]).max(time(&step["updated_at"]));
        assert!(last <= acknowledged + SOON, "{project}: written too late: {step:#}");
    }
    assert_eq!(
        get("/turns?limit=500")["items"].as_array().unwrap().len(),
        turns.len(),
        "{project}: turns began"
    );
}

fn time(value: &Value) -> Timestamp {
    text(value).parse().unwrap()
}
