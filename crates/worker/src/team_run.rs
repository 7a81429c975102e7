//! A run of a team is a turn of its controller: each round is one fork over the members that are asked, and what comes next
//! is decided by the process from the rounds so far (PR-01..PR-11). A controller that was killed goes on from its cards.

use crate::{
    agent::Rest,
    card,
    desk::{Desk, Ending},
    replies::replies,
    telemetry,
    tools::{WAIT_SECONDS, notes::namespace},
    transcript::{Transcript, kind},
    trouble::Trouble,
};
use cardwire_model::{BUILTIN_TOOLS, limits};
use cardwire_team::{
    Act, NamedProfile, Outcome, Role, Round, Status, Task, Team, finished, map_results, next,
};
use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// What a round is called in the controller's cards.
const ROUND: &str = "run_round";

/// How long one round may take: pauses for people count, so it is long. Members at work have limits of their own.
const ROUND_SECONDS: u32 = 24 * 3600;

/// The code of a turn that somebody stopped (WK-09).
const STOPPED: &str = "stopped";

/// Runs the process until it ends or waits for its members.
pub(crate) async fn run(desk: &Desk) -> Result<Rest, Trouble> {
    let Some(card_id) = desk.lease.setting("team_card_id") else {
        return desk.fail("team_missing", "the settings of the run name no team").await;
    };
    let document = desk.get(&format!("/cards/{card_id}")).await?;
    let team = match Team::parse(&document["content"]) {
        Ok(team) => team,
        Err(invalid) => return desk.fail("team_invalid", &invalid.to_string()).await,
    };
    let seen = desk.view().await?;
    let said = seen["messages"].as_array();
    let asked = said.into_iter().flatten().find(|said| said["card_id"] == seen["instruction_card_id"]);
    let Some(query) = asked.and_then(|card| card["content"].as_str()) else {
        return desk.fail("query_missing", "the context of the run has no instruction").await;
    };
    Run { desk, team, query }.go().await
}

struct Run<'a> {
    desk: &'a Desk,
    team: Team,
    query: &'a str,
}

impl Run<'_> {
    async fn go(&self) -> Result<Rest, Trouble> {
        let transcript = self.desk.transcript().await?;
        // A round that was called but not begun, or begun but not waited for, before its controller went down.
        if let Some(call) = transcript.open_calls().into_iter().find(|call| call.name == ROUND) {
            return match tasks_of(&call.arguments) {
                Some(tasks) => self.begin(&call.id, &tasks).await,
                None => self.desk.fail("round_unreadable", "a round in the run's box cannot be read").await,
            };
        }
        let rounds = self.rounds(&transcript).await?;
        let act = next(&self.team, self.query, &rounds);
        if let Some(last) = rounds.last() {
            self.remember(rounds.len(), last, &act).await?;
        }
        match act {
            Act::Round(tasks) => {
                let id = format!("round_{}_{}", rounds.len() + 1, self.desk.lease.agent_turn_id);
                let card = card::call(self.desk, &id, ROUND, &json!({ "tasks": tasks }));
                self.desk.append(vec![card], None).await?;
                self.begin(&id, &tasks).await
            }
            Act::Finish { output } => {
                // What people said in the last round belongs between the query and what the run delivers.
                let said = rounds.last().map(|last| replies_of(last).collect()).unwrap_or_default();
                self.desk.finish(&Ending::success(output).after(said), vec![], None).await?;
                Ok(Rest::Ended)
            }
            Act::Fail { code, message } => self.desk.fail(code, &message).await,
        }
    }

    /// Forks over the members of a round and waits for the join.
    async fn begin(&self, id: &str, tasks: &[Task]) -> Result<Rest, Trouble> {
        self.announce(tasks).await?;
        let (args, more) =
            (self.fork(tasks), json!({ "runtime_config": self.settings(tasks), "fresh_output": true }));
        let work = self.desk.carry_out("fork_join", id, &args, more);
        match telemetry::tool(self.desk, "fork_join", id, |_| None, work).await {
            Ok(_) => {}
            Err(Trouble::Refused { status, code, message }) if (400..500).contains(&status) => {
                return self.desk.fail(&code, &message).await;
            }
            Err(trouble) => return Err(trouble),
        }
        self.desk.suspend(&[id.to_owned()], WAIT_SECONDS).await?;
        Ok(Rest::Waits)
    }

    fn fork(&self, tasks: &[Task]) -> Map<String, Value> {
        let mut taken = HashSet::new();
        let roster = self.team.roster();
        let mut task = |task: &Task| {
            // One agent has one turn at a time: who is asked twice is asked by another of the same profile.
            let (strategy, target) = if taken.insert(task.agent.clone()) {
                ("reuse", self.team.agent_id(&task.agent))
            } else {
                let member = roster.iter().find(|member| member.id == task.agent);
                ("new", member.map_or_else(|| task.agent.clone(), |member| member.profile_name.clone()))
            };
            json!({ "target_strategy": strategy, "target_ref": target, "instruction": task.input })
        };
        let tasks: Vec<_> = tasks.iter().map(&mut task).collect();
        let args = json!({ "tasks": tasks, "deadline_seconds": ROUND_SECONDS });
        args.as_object().cloned().unwrap_or_default()
    }

    /// The settings of the members' turns. All members of a round have the same role.
    fn settings(&self, tasks: &[Task]) -> Value {
        let Some(first) = tasks.first() else { return json!({}) };
        let limits = &self.team.limits;
        let shows = first.role.takes_context();
        let mut settings = json!({
            "team": self.team.name,
            "role": first.role.as_str(),
            "process": if shows { first.role.context_process(self.team.process) } else { "map_reduce_planner" },
            "enable_share_context": shows && self.team.share,
            "delegates": first.delegates,
            "hands_on": first.role.hands_on(),
            "limits": {
                "max_steps": limits.max_steps,
                "agent_timeout_seconds": limits.agent_timeout_seconds,
                "tool_timeout_seconds": limits.tool_timeout_seconds,
            },
        });
        if !first.role.uses_tools() {
            settings["tools"] = false.into();
        }
        if first.role.hands_on() && !self.team.profiles.is_empty() {
            settings[BUILTIN_TOOLS] = self.team.builtin_tools().as_str().into();
            settings["profiles"] = told_profiles(&self.team);
        }
        if let Some(session) = self.desk.lease.setting("session_id") {
            // Members read the session; what is remembered of them is written here, in order.
            settings["session_id"] = session.into();
            settings["remember"] = false.into();
            for name in ["namespace", "session_checkpoint"] {
                if let Some(value) = self.desk.lease.setting(name) {
                    settings[name] = value.into();
                }
            }
        }
        settings
    }

    /// Tells the session who is active with what (PR-03).
    async fn announce(&self, tasks: &[Task]) -> Result<(), Trouble> {
        let [task] = tasks else { return Ok(()) };
        let mut patch = json!({ "set": { "active_agent": task.agent, "assigned_task": task.assigned_task } });
        if task.role == Role::MapPlanner {
            // A new plan has no results yet (PR-08).
            patch["mapreduce_results"] = json!({ "reset": true });
        }
        self.patch(patch).await
    }

    /// Tells the session what a round came to, under names of its own, so that telling it twice says it once.
    async fn remember(&self, number: usize, round: &Round, act: &Act) -> Result<(), Trouble> {
        let turn = &self.desk.lease.agent_turn_id;
        let told = finished(&self.team, round).into_iter().zip(&round.tasks);
        let told = told.filter(|(_, task)| task.role.is_remembered()).enumerate();
        for (index, (done, _)) in told {
            let id = format!("{turn}_{number}_{index}");
            let mut patch = json!({ "finish_agent": {
                "agent_id": done.agent, "status": done.status, "task": done.task, "deliverable": done.deliverable,
                "error": done.error, "message_id": id,
            } });
            // What the run itself delivers is remembered with its query when it ends (ST-07), and what people said before.
            let mut messages: Vec<Value> = vec![];
            if !act.is_finish() {
                let human = |(number, words): (usize, &String)| json!({ "id": format!("{id}_heard_{number}"), "role": "human", "content": words });
                messages.extend(done.replies.iter().enumerate().map(human));
            }
            if let Some(deliverable) = done.deliverable.as_ref().filter(|said| !act.delivers(said)) {
                messages.push(json!({
                    "id": format!("{id}_said"), "role": "ai", "name": done.agent,
                    "content": cardwire_team::text_of(deliverable),
                }));
            }
            if !messages.is_empty() {
                patch["messages"] = json!({ "append": messages });
            }
            self.patch(patch).await?;
        }
        let results = map_results(round);
        if !results.is_empty() {
            self.patch(json!({ "mapreduce_results": { "append": results } })).await?;
        }
        Ok(())
    }

    async fn patch(&self, patch: Value) -> Result<(), Trouble> {
        if self.desk.lease.tries_out() {
            return Ok(());
        }
        let Some(session) = self.desk.lease.setting("session_id") else { return Ok(()) };
        let path = format!("/sessions/{session}/patches{}", namespace(self.desk));
        match self.desk.post(&path, &patch).await {
            Ok(_) => Ok(()),
            // A memory that takes no more must not keep the team from its work.
            Err(Trouble::Refused { status, code, .. }) if (400..500).contains(&status) => {
                tracing::warn!(status, code, "a round is not remembered");
                Ok(())
            }
            Err(trouble) => Err(trouble),
        }
    }

    /// The rounds so far, in order.
    async fn rounds(&self, transcript: &Transcript) -> Result<Vec<Round>, Trouble> {
        let mut rounds = vec![];
        for call in transcript.calls().into_iter().filter(|call| call.name == ROUND) {
            let (Some(tasks), Some(answer)) = (tasks_of(&call.arguments), transcript.answer(&call.id)) else {
                continue;
            };
            let stopped = self.stopped(answer).await?;
            let mut outcomes = Vec::with_capacity(tasks.len());
            for index in 0..tasks.len() {
                let outcome = self.outcome(answer, index).await?;
                outcomes.push(if stopped.contains(&index) { called_off(outcome) } else { outcome });
            }
            rounds.push(Round { tasks, outcomes });
        }
        Ok(rounds)
    }

    /// Which members of a round somebody stopped. What a join tells is words for people (BM-17), and cut where there are
    /// many; its batch keeps the codes.
    async fn stopped(&self, answer: &Value) -> Result<HashSet<usize>, Trouble> {
        // A round that went well has no error.
        let Some(batch) = answer["error"]["detail"]["batch_id"].as_str() else { return Ok(HashSet::new()) };
        let batch = self.desk.get(&format!("/batches/{batch}")).await?;
        let tasks = batch["tasks"].as_array().into_iter().flatten();
        let stopped = tasks.filter(|task| task["error_code"] == STOPPED);
        let index = |task: &Value| task["task_index"].as_u64().and_then(|index| usize::try_from(index).ok());
        Ok(stopped.filter_map(index).collect())
    }

    /// What one member delivered.
    async fn outcome(&self, answer: &Value, index: usize) -> Result<Outcome, Trouble> {
        let results = answer["result"]["results"].as_array().map(Vec::as_slice).unwrap_or_default();
        let Some(result) = results.iter().find(|result| result["task_index"] == index) else {
            let error = answer["error"]["message"].as_str().unwrap_or("the round has no result of it");
            return Ok(Outcome {
                status: Status::Failed,
                output: Value::Null,
                error: Some(error.to_owned()),
                replies: vec![],
            });
        };
        let status = result["status"].as_str().and_then(Status::from_name).unwrap_or(Status::Failed);
        let (mut output, mut said) = (result["summary"].clone(), vec![]);
        if let Some(box_id) = result["output_box_id"].as_str() {
            let cards = self.desk.all_cards(box_id).await?;
            if let Some(card) = cards.iter().rev().find(|card| kind(card) == "task.deliverable") {
                output = card["content"].clone();
            }
            // The box is the member's own in this round.
            let transcript = Transcript::new(cards, "");
            said = replies(&transcript, &transcript.calls());
        }
        let error = result["error"].as_str().map(str::to_owned);
        Ok(Outcome { status, output, error, replies: said })
    }
}

/// The profiles of agents that members may make, as far as a model is told of them.
fn told_profiles(team: &Team) -> Value {
    let about =
        |(name, fields): &NamedProfile| json!({ "name": name, "description": fields.get("description") });
    team.profiles.iter().take(limits::OFFERED_PROFILES).map(about).collect()
}

/// A person who stops a member's turn calls its part off: it has not failed by itself, and nobody tries it again (PR-10).
fn called_off(outcome: Outcome) -> Outcome {
    let status = match outcome.status {
        Status::Failed => Status::Canceled,
        other @ (Status::Success | Status::Partial | Status::Canceled | Status::Timeout) => other,
    };
    Outcome { status, ..outcome }
}

/// What people said in a round that is remembered.
fn replies_of(round: &Round) -> impl Iterator<Item = String> {
    let parts = round.tasks.iter().zip(&round.outcomes).filter(|(task, _)| task.role.is_remembered());
    parts.flat_map(|(_, outcome)| outcome.replies.iter().cloned())
}

fn tasks_of(arguments: &Value) -> Option<Vec<Task>> {
    serde_json::from_value(arguments["tasks"].clone()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F-10, SEC-07
    #[test]
    fn a_model_is_told_of_so_many_profiles() {
        let told = |count: usize| {
            let profile = |number: usize| json!({ "name": format!("p{number}"), "system_prompt": "x" });
            let profiles: Value = (0..count).map(profile).collect();
            let agents = json!([{ "id": "a", "profile": { "system_prompt": "x" } }]);
            let team =
                json!({ "name": "t", "process": "sequential", "agents": agents, "profiles": profiles });
            told_profiles(&Team::parse(&team).unwrap()).as_array().unwrap().len()
        };
        let most = limits::OFFERED_PROFILES;
        assert_eq!([most - 1, most, most + 1].map(told), [most - 1, most, most]);
    }
}
