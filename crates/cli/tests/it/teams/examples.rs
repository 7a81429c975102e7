//! The examples that come with Cardwire: they run, and what happens in them is the same wherever they do.
//!
//! `UPDATE_GOLDEN=1` writes the expected transcripts anew.

use super::{
    crew::{example, paced},
    stage::{Process, text},
};
use crate::support::{Backend, Home};
use serde_json::Value;
use std::{collections::HashMap, path::PathBuf, sync::Arc};

/// PR-01, BM-05
#[test]
fn the_research_team_does_the_same_everywhere() {
    same_everywhere("research", "Which way of storing time series suits our sensors?");
}

/// PR-06..PR-08
#[test]
fn the_map_reduce_team_does_the_same_everywhere() {
    same_everywhere("report_map_reduce", "What does it take to grow tomatoes on a balcony?");
}

/// PR-03
#[test]
fn the_hierarchical_team_does_the_same_everywhere() {
    same_everywhere("review_hierarchical", "Announce version 2.4 of the ferry timetable app.");
}

/// Alone on SQLite; and on Postgres with NATS, a server that runs no agents and a worker of its own.
fn same_everywhere(name: &str, query: &str) {
    // Delays show a live view to people; here only their order matters.
    let team = paced(&example(name), 1, 3);
    let alone = Home::new(Backend::Sqlite);
    expect(name, &transcript(&alone, &team, query));

    let home = Home::new(Backend::Postgres);
    let bus = std::env::var("CARDWIRE_TEST_NATS").expect("CARDWIRE_TEST_NATS; run `cargo xtask test`");
    let _server = home.up(&["--worker-turns", "0", "--bus", &bus]);
    let _worker = Process::worker(&home, "w");
    expect(name, &transcript(&home, &team, query));
}

pub(super) fn expect(name: &str, transcript: &str) {
    let file = format!("{}/tests/it/teams/golden/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let file = PathBuf::from(file);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, transcript).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    let differs = expected.lines().zip(transcript.lines()).position(|(one, other)| one != other);
    let place = differs.unwrap_or_else(|| expected.lines().count().min(transcript.lines().count()));
    let around =
        |text: &str| text.lines().skip(place.saturating_sub(3)).take(7).collect::<Vec<_>>().join("\n");
    assert!(
        expected == transcript,
        "{name}: line {} is not as in {}\n--- expected\n{}\n--- found\n{}",
        place + 1,
        file.display(),
        around(&expected),
        around(transcript)
    );
}

/// Runs a team and tells what its turns saw and said, without what is different every time.
fn transcript(home: &Arc<Home>, team: &str, query: &str) -> String {
    home.file("team.yaml", team);
    // The worker may still be on its way.
    let told = home.json(&["run", "team.yaml", query, "--project", "p1", "--yes"]);
    assert_eq!(told["status"], "success", "{told:#}");
    let agents = home.json(&["agent", "list", "-p", "p1"]);
    let agents: HashMap<&str, &Value> =
        agents["items"].as_array().unwrap().iter().map(|agent| (text(&agent["agent_id"]), agent)).collect();
    let turns = home.json(&["turn", "list", "-p", "p1", "--limit", "500"]);
    let mut names = Names::default();
    let mut story = String::new();
    for turn in turns["items"].as_array().unwrap().iter().rev() {
        let agent = text(&turn["agent_id"]);
        // Who was made while the team worked is known by what it is.
        let made = agents[agent]["owner_agent_id"].is_string();
        let name =
            if made { format!("one of {}", text(&agents[agent]["profile_name"])) } else { agent.to_owned() };
        let (status, depth) = (text(&turn["status"]), &turn["depth"]);
        story += &format!("== {name}, depth {depth}: {status}\n");
        let view = home.json(&["turn", "view", "-p", "p1", text(&turn["agent_turn_id"])]);
        for message in view["messages"].as_array().unwrap() {
            story += &format!("-- {} {}\n", text(&message["role"]), text(&message["type"]));
            story += &names.shown(&message["content"]);
            if !message["tool_calls"].is_null() {
                story += &names.shown(&message["tool_calls"]);
            }
        }
    }
    story + "== delivered\n" + &names.shown(&told["deliverable"])
}

/// Digits of a time in milliseconds.
const MILLISECONDS: usize = 13;

/// Numbers for ids, in the order in which they turn up.
#[derive(Default)]
pub(super) struct Names(HashMap<String, usize>);

impl Names {
    /// A value as text, with a number for every id and nothing for every time.
    pub(super) fn shown(&mut self, value: &Value) -> String {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                serde_json::to_string_pretty(value).unwrap()
            }
        };
        let (mut shown, mut rest) = (String::new(), text.trim_end());
        while let Some(first) = rest.chars().next() {
            let digits =
                rest.find(|letter: char| !matches!(letter, '0'..='9' | 'a'..='f')).unwrap_or(rest.len());
            let taken = if is_time(rest) {
                shown += "<time>";
                rest.find('Z').unwrap() + 1
            } else if digits == MILLISECONDS && rest[..digits].bytes().all(|digit| digit.is_ascii_digit()) {
                shown += "<time>";
                digits
            } else if digits >= 24 {
                let next = self.0.len() + 1;
                shown += &format!("#{}", self.0.entry(rest[..digits].to_owned()).or_insert(next));
                digits
            } else {
                let taken = digits.max(first.len_utf8());
                shown += &rest[..taken];
                taken
            };
            rest = &rest[taken..];
        }
        shown + "\n"
    }
}

/// Whether a text begins with a time, as in `2026-01-31T09:26:53.589Z`.
fn is_time(text: &str) -> bool {
    let shape = |letter: char| if letter.is_ascii_digit() { '0' } else { letter };
    text.len() >= 20
        && text.is_char_boundary(19)
        && text[..19].chars().map(shape).eq("0000-00-00T00:00:00".chars())
        && text.find('Z').is_some_and(|end| end <= 30)
}
