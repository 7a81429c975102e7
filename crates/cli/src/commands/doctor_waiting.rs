//! What `cardwire doctor` says of turns that wait for a worker (F-03).

use crate::{client::Client, failure::Failure, route::Route, text, waiting};
use serde_json::Value;
use std::collections::BTreeMap;

/// Most projects that are looked at, and most waiting rows of each.
const PROJECTS: usize = 100;
const ROWS: usize = 500;

/// Work of one project that waits for one target.
struct Work {
    turns: u64,
    /// The turn that has waited longest.
    oldest: String,
}

/// One sentence for each project and target for which nobody asks; none when everything is served.
pub(super) async fn unasked(client: &Client) -> Result<Vec<String>, Failure> {
    let mut told = vec![];
    let projects: Value = read(client, Route::new(&["projects"])?.query("limit", Some(PROJECTS))).await?;
    for project in items(&projects) {
        let project = text::cell(&project["project_id"]);
        for (target, work) in waiting_work(client, &project).await? {
            let turn = read(client, Route::in_project(&project, &["turns", &work.oldest])?).await?;
            let turns = text::count(work.turns, "turn waits", "turns wait");
            match (client, turn["waiting"]["message"].as_str()) {
                (Client::Http(_), None) => {}
                (Client::Http(_), Some(message)) => {
                    told.push(format!("{turns} in project {project}: {message}; {}", waiting::help(&target)));
                }
                (Client::Embedded(_), _) => told.push(format!(
                    "{turns} in project {project} for a worker of target {target}, and no server is running: start \
                     one with `cardwire up`"
                )),
            }
        }
    }
    Ok(told)
}

/// What waits to be claimed, by target.
async fn waiting_work(client: &Client, project: &str) -> Result<BTreeMap<String, Work>, Failure> {
    let route = Route::in_project(project, &["state", "inbox"])?;
    let rows = read(client, route.query("status", Some("pending")).query("limit", Some(ROWS))).await?;
    let mut by_target: BTreeMap<String, Work> = BTreeMap::new();
    // Newest first. A stop is a hint, and waits for nobody.
    for row in items(&rows).iter().filter(|row| row["kind"] != "stop") {
        let target = text::cell(&row["worker_target"]);
        let work = by_target.entry(target).or_insert_with(|| Work { turns: 0, oldest: String::new() });
        work.turns += 1;
        work.oldest = text::cell(&row["agent_turn_id"]);
    }
    Ok(by_target)
}

async fn read(client: &Client, route: Route) -> Result<Value, Failure> {
    client.get(&route).await?.parse()
}

fn items(list: &Value) -> &[Value] {
    list["items"].as_array().map_or(&[], Vec::as_slice)
}
