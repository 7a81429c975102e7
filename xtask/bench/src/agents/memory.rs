//! What a turn that waits keeps in memory. Its holder keeps nothing; caches keep its cards for a while.

use std::sync::Arc;

use anyhow::{bail, ensure};
use serde_json::json;
use tokio::task::JoinSet;

use super::AREA;
use super::port::Rest;
use super::staff::{Crew, Staff};
use crate::database::Database;
use crate::measure;
use crate::report::{Line, Report};

const CASE: &str = "memory_suspended";
const TURNS: usize = 1_000;
/// Turns before, so that what is made once is there.
const FIRST: usize = 500;
const IN_FLIGHT: usize = 64;

pub(super) async fn run(
    database: &dyn Database,
    staff: &Arc<Staff>,
    report: &mut Report,
) -> anyhow::Result<()> {
    let question = json!({ "name": "ask_human", "arguments": { "question": "Which boat is still out?" } });
    let crew = Arc::new(staff.hire(CASE, json!({ "tool_calls": [question] }), FIRST + TURNS).await?);
    let worker = staff.start_worker(IN_FLIGHT);
    suspend(staff, &crew, 0..FIRST).await?;
    let before = measure::resident_bytes()?;
    suspend(staff, &crew, FIRST..FIRST + TURNS).await?;
    let after = measure::resident_bytes()?;
    worker.stop().await?;
    eprintln!("bench: {CASE}: {} kB before, {} kB after", before / 1024, after / 1024);
    report.lines.push(Line {
        area: AREA,
        case: CASE.to_owned(),
        store: database.name(),
        value: after.saturating_sub(before) as f64 / TURNS as f64,
        unit: "bytes/turn",
        n: TURNS,
        ..Line::default()
    });
    Ok(())
}

/// Gives each of these agents a turn that calls a tool nobody answers.
async fn suspend(staff: &Arc<Staff>, crew: &Arc<Crew>, agents: std::ops::Range<usize>) -> anyhow::Result<()> {
    let mut clients = JoinSet::new();
    for number in 0..IN_FLIGHT {
        let (staff, crew, agents) = (Arc::clone(staff), Arc::clone(crew), agents.clone());
        clients.spawn(async move {
            let mut waiting = 0;
            for agent in agents.skip(number).step_by(IN_FLIGHT) {
                match staff.turn(&crew, &crew.agents[agent]).await? {
                    Rest::Waits => waiting += 1,
                    Rest::Delivered => bail!("a turn ended"),
                    Rest::Failed(said) => bail!("a turn failed: {said}"),
                }
            }
            Ok(waiting)
        });
    }
    let mut waiting = 0;
    while let Some(done) = clients.join_next().await {
        waiting += done??;
    }
    ensure!(waiting == agents.len(), "{waiting} of {} turns wait", agents.len());
    Ok(())
}
