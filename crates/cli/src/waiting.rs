//! Telling people that a turn waits for a worker that nobody runs (F-03). What is told is the server's word, from the
//! turn itself.

use crate::{client::Client, failure::Failure, route::Route};
use serde_json::Value;
use std::{
    convert::Infallible,
    time::{Duration, Instant},
};

/// How long a turn may wait before people are told, and how long until they are told again.
const PATIENCE: Duration = Duration::from_secs(5);
const AGAIN: Duration = Duration::from_secs(60);
/// Pause between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What has been told.
#[derive(Debug)]
pub(crate) struct Teller {
    begun: Instant,
    told: Option<Instant>,
}

impl Teller {
    pub(crate) fn new() -> Self {
        Self { begun: Instant::now(), told: None }
    }

    /// What people are to be told of a turn now, with what to do about it.
    pub(crate) fn due(&mut self, turn: &Value) -> Option<Failure> {
        let waiting = &turn["waiting"];
        let message = waiting["message"].as_str()?;
        let is_due = self.told.map_or(self.begun.elapsed() >= PATIENCE, |told| told.elapsed() >= AGAIN);
        if !is_due {
            return None;
        }
        self.told = Some(Instant::now());
        let target = waiting["worker_target"].as_str().unwrap_or_default();
        Some(Failure::failed(format!("the turn waits: {message}")).hint(help(target)))
    }

    /// Looks at a turn again and again, and tells on standard error what is due.
    pub(crate) async fn watch(mut self, turn: &str, project: &str, client: &Client) -> Infallible {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            // Whoever waits for the turn hears of what goes wrong there.
            let Ok(route) = Route::in_project(project, &["turns", turn]) else { continue };
            let Ok(answer) = client.get(&route).await else { continue };
            let Ok(turn) = answer.parse::<Value>() else { continue };
            if let Some(told) = self.due(&turn) {
                crate::output::say(&format!("note: {}", told.message));
                told.hint.iter().for_each(|hint| crate::output::advise(hint));
            }
        }
    }
}

/// What to do about a target that nobody serves.
pub(crate) fn help(target: &str) -> String {
    format!(
        "start a worker that asks for target {target}; the turn waits for it, and `cardwire turn stop` ends it"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// F-03: not at once, and not every second.
    #[test]
    fn people_are_told_after_a_while_and_seldom() {
        let turn =
            json!({ "waiting": { "worker_target": "x", "message": "no worker has asked for target x" } });
        let mut teller = Teller::new();
        assert!(teller.due(&turn).is_none(), "it has only begun");
        teller.begun = Instant::now().checked_sub(PATIENCE).unwrap();
        assert!(teller.due(&json!({ "status": "running" })).is_none());
        let told = teller.due(&turn).unwrap();
        assert_eq!(told.message, "the turn waits: no worker has asked for target x");
        assert!(told.hint.unwrap().starts_with("start a worker that asks for target x"));
        assert!(teller.due(&turn).is_none(), "once a minute");
        teller.told = Instant::now().checked_sub(AGAIN);
        assert!(teller.due(&turn).is_some());
    }
}
