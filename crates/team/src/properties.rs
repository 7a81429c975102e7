//! What holds for every team and whatever its members answer.

use crate::{
    Act, Outcome, Process, Role, Round, Status, Task, Team,
    fixtures::{QUERY, document, good},
    next,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::HashSet;

const IDS: [&str; 4] = ["a", "b", "c", "d"];

fn teams() -> impl Strategy<Value = Team> {
    let process = prop::sample::select(Process::ALL.to_vec());
    let entry = prop::sample::select(IDS[..2].to_vec());
    (process, 2..=IDS.len(), 0..3_u32, 4..40_u32, entry).prop_map(
        |(process, members, retries, max_rounds, entry)| {
            let mut given = document(process.as_str(), &IDS[..members]);
            given["limits"] = json!({ "retries": retries, "max_rounds": max_rounds });
            if process == Process::Dynamic {
                given["entry"] = json!(entry);
            }
            Team::parse(&given).unwrap()
        },
    )
}

fn agents() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c", "d", "a", "b", "a", "nobody", "planner", "team_crew", ""])
        .prop_map(str::to_owned)
}

/// Plans for either planner, good and bad.
fn plans() -> impl Strategy<Value = Value> {
    let depends_on = prop::collection::vec(prop::sample::select(vec!["t1", "t2", "t3", "t9"]), 0..2);
    let task = (agents(), prop::sample::select(vec!["do it", "do that", "x", " "]), depends_on).prop_map(
        |(agent, text, depends_on)| json!({ "agent_id": agent, "input": text, "depends_on": depends_on }),
    );
    prop::collection::vec(task, 0..5).prop_map(|tasks| json!({ "tasks": tasks }))
}

fn outputs() -> impl Strategy<Value = Value> {
    let reflection = prop::sample::select(vec!["continue", "retry", "replan", "complete", "fail", "dance"]);
    prop_oneof![
        any::<String>().prop_map(Value::String),
        plans(),
        plans().prop_map(|plan| Value::String(format!("Here:\n```json\n{plan}\n```"))),
        reflection.prop_map(|action| json!({ "next_action": action })),
        agents().prop_map(|id| json!({ "delegate_to": id, "task": "go on" })),
        Just(Value::Null),
    ]
}

fn outcomes() -> impl Strategy<Value = Outcome> {
    let status = prop_oneof![
        12 => Just(Status::Success),
        1 => Just(Status::Partial),
        3 => Just(Status::Failed),
        1 => Just(Status::Timeout),
        1 => Just(Status::Canceled),
    ];
    (status, outputs()).prop_map(|(status, output)| Outcome { status, output, error: None, replies: vec![] })
}

/// Gives each who is asked an answer that suits it more often than not, so that runs get far.
fn suit(task: &Task, outcome: Outcome, plain: bool) -> Outcome {
    if plain {
        return outcome;
    }
    let output = match task.role {
        Role::MapPlanner => json!([{ "agent_id": "a", "input": "1" }, { "agent_id": "a", "input": "2" }]),
        Role::Planner => json!({ "tasks": [{ "agent": "a", "task": "1" }, { "agent": "b", "task": "2" }] }),
        Role::Reflector => json!({ "next_action": "replan" }),
        Role::Manager | Role::Agent => json!({ "delegate_to": if task.agent == "a" { "b" } else { "a" } }),
        Role::MapWorker | Role::Reducer => json!("done"),
    };
    Outcome { output, ..outcome }
}

/// Runs a team to its end.
fn run(team: &Team, answers: &[(Outcome, bool)]) -> (Vec<Round>, Act) {
    let mut answers = answers.iter().cycle();
    let mut rounds = Vec::new();
    loop {
        match next(team, QUERY, &rounds) {
            Act::Round(tasks) => {
                let answer = |task: &Task| {
                    let (outcome, plain) = answers.next().cloned().unwrap();
                    suit(task, outcome, plain)
                };
                let outcomes = tasks.iter().map(answer).collect();
                rounds.push(Round { tasks, outcomes });
                assert!(rounds.len() <= team.limits.max_rounds as usize, "{rounds:?}");
            }
            end @ (Act::Finish { .. } | Act::Fail { .. }) => return (rounds, end),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// PR-01..PR-11
    #[test]
    fn every_run_ends_and_stays_within_the_team(
        team in teams(),
        answers in prop::collection::vec((outcomes(), any::<bool>()), 1..30),
    ) {
        let (mut rounds, end) = run(&team, &answers);
        let roster: HashSet<String> = team.roster().into_iter().map(|member| member.id).collect();
        for (made, round) in rounds.iter().enumerate() {
            prop_assert!(!round.tasks.is_empty());
            let mut names = HashSet::new();
            for task in &round.tasks {
                prop_assert!(roster.contains(&task.agent), "{task:?}");
                let helps = matches!(task.role, Role::Planner | Role::MapPlanner | Role::Reflector);
                prop_assert_eq!(team.member(&task.agent).is_none(), helps);
                prop_assert!(names.insert((&task.agent, &task.task_id)), "{task:?} twice");
                prop_assert!(task.delegates.iter().all(|to| team.member(&to.id).is_some()));
                prop_assert!(!task.input.trim().is_empty());
            }
            // After a crash the same is asked again, byte for byte.
            prop_assert_eq!(next(&team, QUERY, &rounds[..made]), Act::Round(round.tasks.clone()));
        }
        // The end is the end, whatever else is in the transcript.
        let again = rounds.first().cloned();
        rounds.extend(again);
        prop_assert_eq!(next(&team, QUERY, &rounds), end);
    }

    /// PR-07
    #[test]
    fn results_of_a_map_are_in_task_order_whoever_was_first(
        order in Just((0..6_usize).collect::<Vec<_>>()).prop_shuffle(),
        failing in prop::collection::vec(any::<bool>(), 6),
    ) {
        let mut team = Team::parse(&document("map_reduce", &["a", "b", "r"])).unwrap();
        team.limits.retries = 1;
        let plan: Vec<Value> =
            (0..6).map(|task| json!({ "agent_id": IDS[task % 2], "input": format!("{task}") })).collect();
        let mut rounds = Vec::new();
        let input = loop {
            let Act::Round(tasks) = next(&team, QUERY, &rounds) else { panic!("it ended") };
            match tasks[0].role {
                Role::MapPlanner => rounds.push(Round { tasks, outcomes: vec![good(json!(plan))] }),
                Role::MapWorker => {
                    let first = rounds.len() == 1;
                    let place = |task: &Task| task.input.parse::<usize>().unwrap();
                    let mut tasks = tasks;
                    tasks.sort_by_key(|task| order[place(task)]);
                    let answer = |task: &Task| Outcome {
                        status: if first && failing[place(task)] { Status::Failed } else { Status::Success },
                        ..good(format!("result {}", task.input))
                    };
                    let outcomes = tasks.iter().map(answer).collect();
                    rounds.push(Round { tasks, outcomes });
                }
                Role::Reducer => break tasks[0].input.clone(),
                Role::Agent | Role::Manager | Role::Planner | Role::Reflector => panic!("{tasks:?}"),
            }
        };
        let results: Vec<String> =
            (0..6).map(|task| format!("- t{} ({}): result {task}", task + 1, IDS[task % 2])).collect();
        prop_assert!(input.ends_with(&format!("Results:\n{}", results.join("\n"))), "{input}");
    }

    /// A task is kept in the call that makes its round, and comes back as it was.
    #[test]
    fn a_task_survives_being_kept(
        team in teams(),
        answers in prop::collection::vec((outcomes(), any::<bool>()), 1..10),
    ) {
        let (rounds, _) = run(&team, &answers);
        for task in rounds.into_iter().flat_map(|round| round.tasks) {
            let text = serde_json::to_string(&task).unwrap();
            prop_assert_eq!(serde_json::from_str::<Task>(&text).unwrap(), task);
        }
    }
}
