//! The checks, one function per rule: what is done to a worker, and what must come of it.

use super::{
    Broken, Rule,
    stage::{Stage, Turn},
};
use serde_json::{Value, json};

/// Longer than any check: a turn that does not end by itself.
const FOR_LONG: &str = "slow 3600";
/// After so many seconds of silence the watchdog has taken a running turn away.
const SILENCE: i64 = 400;
/// The bell is rung for a turn of this age, and it is not taken away yet.
const RING_AGAIN: [i64; 3] = [7, 14, 21];
/// More than a card may hold.
const TOO_MANY_BYTES: usize = 2_000_000;

/// Checks one rule. The answer is a sentence on what was seen.
pub(crate) async fn check(rule: Rule, stage: &mut Stage<'_>) -> Result<String, Broken> {
    match rule {
        Rule::RunsATurn => runs_a_turn(stage).await,
        Rule::DuplicateDoorbells => duplicate_doorbells(stage).await,
        Rule::CrashAfterClaim => crash_after_claim(stage).await,
        Rule::StaleEpoch => stale_epoch(stage).await,
        Rule::Cancel => cancel(stage).await,
        Rule::SuspendResume => suspend_resume(stage).await,
        Rule::OversizedCard => oversized_card(stage).await,
        Rule::NeverInventsEpochs => never_invents_epochs(stage).await,
        Rule::ServerRestart => server_restart(stage).await,
    }
}

fn broken<T>(why: impl Into<String>) -> Result<T, Broken> {
    Err(Broken::Rule(why.into()))
}

/// WK-01, WK-06
async fn runs_a_turn(stage: &mut Stage<'_>) -> Result<String, Broken> {
    stage.start_worker().await?;
    let turn = stage.dispatch("echo Grüße, 世界").await?;
    stage.answered(&turn, &json!("Grüße, 世界")).await?;
    Ok("one turn, one deliverable, one task event".to_owned())
}

/// NF-07, W-05
async fn duplicate_doorbells(stage: &mut Stage<'_>) -> Result<String, Broken> {
    let turn = stage.dispatch("slow 1").await?;
    for seconds in RING_AGAIN {
        stage.tick(seconds).await?;
    }
    stage.start_worker().await?;
    stage.until(&turn, "running").await?;
    for seconds in RING_AGAIN {
        stage.tick(seconds).await?;
    }
    stage.answered(&turn, &json!("slow 1")).await?;
    match (stage.leases(&turn), stage.cards_of(&turn, "agent.thought").await?.len()) {
        (1, 1) => Ok("rung for again and again, it ran once".to_owned()),
        (leases, thoughts) => broken(format!(
            "the turn has {leases} leases and {thoughts} agent.thought cards, not one of each"
        )),
    }
}

/// NF-04, WD-05
async fn crash_after_claim(stage: &mut Stage<'_>) -> Result<String, Broken> {
    stage.start_worker().await?;
    let (lost, next) = (stage.dispatch(FOR_LONG).await?, stage.dispatch("echo after the crash").await?);
    stage.until(&lost, "running").await?;
    stage.kill_worker();
    stage.start_worker().await?;
    stage.tick(SILENCE).await?;
    stage.ended(&lost).await?;
    stage.answered(&next, &json!("after the crash")).await?;
    stage.one_task_event(&lost).await?;
    Ok("killed in a turn and started again, it answered the next one".to_owned())
}

/// NF-03, DP-17
async fn stale_epoch(stage: &mut Stage<'_>) -> Result<String, Broken> {
    let (lost, next) = begin(stage).await?;
    stage.tick(SILENCE).await?;
    let refusals = let_go(stage, &lost, &next).await?;
    Ok(format!("its turn was taken away; after {refusals} refused, it answered the next one"))
}

/// WK-09
async fn cancel(stage: &mut Stage<'_>) -> Result<String, Broken> {
    let (stopped, next) = begin(stage).await?;
    stage.stop(&stopped).await?;
    let refusals = let_go(stage, &stopped, &next).await?;
    Ok(format!("its turn was called off; after {refusals} refused, it answered the next one"))
}

/// A worker in a turn that does not end by itself, and a turn that waits behind it.
async fn begin(stage: &mut Stage<'_>) -> Result<(Turn, Turn), Broken> {
    stage.start_worker().await?;
    let turns = (stage.dispatch(FOR_LONG).await?, stage.dispatch("echo the next").await?);
    stage.until(&turns.0, "running").await?;
    Ok(turns)
}

/// The turn is ended by others; nothing comes after that, and the worker goes on with the next.
async fn let_go(stage: &mut Stage<'_>, lost: &Turn, next: &Turn) -> Result<String, Broken> {
    stage.ended(lost).await?;
    let left = stage.cards(lost).await?;
    stage.answered(next, &json!("the next")).await?;
    stage.one_task_event(lost).await?;
    if stage.cards(lost).await? != left {
        return broken("the turn was written to after its end");
    }
    Ok(match stage.refusals(lost) {
        1 => "1 request was".to_owned(),
        many => format!("{many} requests were"),
    })
}

/// WK-08, DP-16
async fn suspend_resume(stage: &mut Stage<'_>) -> Result<String, Broken> {
    stage.start_worker().await?;
    let turn = stage.dispatch("tool weather").await?;
    stage.until(&turn, "suspended").await?;
    if stage.head(&turn).await?["waiting_tool_count"] != 1 {
        return broken("the turn is suspended, and not for one tool");
    }
    let call = match stage.cards_of(&turn, "tool.call").await?.as_slice() {
        [card] if card["content"]["tool_name"] == "weather" => card["tool_call_id"].clone(),
        [card] => return broken(format!("called {}, not the tool `weather`", card["content"])),
        cards => return broken(format!("wrote {} tool.call cards, not one", cards.len())),
    };
    let result = json!({ "degrees": 21 });
    if let Err(failure) = stage.report(&turn, &call, &result).await {
        return broken(format!("the call could not be answered: {}", failure.message));
    }
    // Whether the second comes before the end of the turn or after, it must be as if it had not come.
    let again = stage.report(&turn, &call, &json!({ "degrees": -40 })).await;
    if again.is_ok_and(|answer| answer["idempotent"] != true) {
        return broken("the same call was answered twice");
    }
    stage.answered(&turn, &result).await?;
    let _ = stage.report(&turn, &call, &json!({ "degrees": 40 })).await;
    stage.one_task_event(&turn).await?;
    match stage.cards_of(&turn, "tool.result").await?.len() {
        1 => Ok("it waited for the tool and delivered what the tool answered first".to_owned()),
        many => broken(format!("one tool call has {many} results")),
    }
}

/// SEC-07
async fn oversized_card(stage: &mut Stage<'_>) -> Result<String, Broken> {
    stage.start_worker().await?;
    let turn = stage.dispatch(&format!("big {TOO_MANY_BYTES}")).await?;
    let ended = stage.ended(&turn).await?;
    if ended["status"] == "success" {
        return broken("a card that is too large was refused, and the turn ended as a success");
    }
    let next = stage.dispatch("echo the next").await?;
    stage.answered(&next, &json!("the next")).await?;
    Ok("the turn failed, and the next one was answered".to_owned())
}

/// WK-01, SEC-02: three turns of one agent, whose epochs differ; and whatever was said in the checks before.
async fn never_invents_epochs(stage: &mut Stage<'_>) -> Result<String, Broken> {
    let answered = several_turns(stage).await;
    let (words, faults) = stage.words_and_faults();
    match faults.as_slice() {
        [] => answered.map(|()| format!("{words} requests, each with the epoch and token of its lease")),
        [first, rest @ ..] => {
            broken(format!("{} of {words} requests were wrong, first {first}", rest.len() + 1))
        }
    }
}

async fn several_turns(stage: &mut Stage<'_>) -> Result<(), Broken> {
    stage.start_worker().await?;
    for text in ["one", "two", "three"] {
        let turn = stage.dispatch(&format!("echo {text}")).await?;
        stage.answered(&turn, &Value::from(text)).await?;
    }
    Ok(())
}

/// NF-01, NF-04: the turn under way may be lost, but not the worker.
async fn server_restart(stage: &mut Stage<'_>) -> Result<String, Broken> {
    stage.start_worker().await?;
    let turn = stage.dispatch("slow 1").await?;
    stage.until(&turn, "running").await?;
    stage.restart_server().await?;
    let next = stage.dispatch_to("server-restart-next", "echo after the restart").await?;
    stage.answered(&next, &json!("after the restart")).await?;
    if stage.turn(&turn).await?["ended_at"].is_null() {
        stage.tick(SILENCE).await?;
    }
    let ended = stage.ended(&turn).await?;
    let how = ended["status"].as_str().unwrap_or_default();
    Ok(format!("the turn under way ended as {how}, and the next one was answered"))
}
