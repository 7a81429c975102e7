//! What the rows of one turn take by themselves: plain prepared statements of one client, in as many transactions and
//! round trips as the turn has commits. Whoever writes the same rows takes as long, whatever else it does, so that
//! this and the plain commit tell how much of a turn's latency is the data and how much is the kernel.

use super::AREA;
use crate::Plan;
use crate::database::{Database, Filled};
use crate::measure::median;
use crate::report::{Line, Report};

pub(super) const CASE: &str = "turns_rows";
const AGENTS: usize = 64;
/// As many as some rounds of real turns leave behind, so that indexes are as deep.
const TURNS: usize = 20_000;
/// More than a round can write.
const A_ROUND: usize = 1_000_000_000;

pub(super) async fn run(database: &dyn Database, plan: Plan, report: &mut Report) -> anyhow::Result<()> {
    if !database.is_a_server() {
        return Ok(());
    }
    database.open(CASE).await?.close().await;
    database.fill(CASE, AGENTS, TURNS).await?;
    let (mut plain, mut raw, mut ratios) = (vec![], vec![], vec![]);
    for round in 0..plan.rounds {
        let filled = Filled { name: CASE, agents: AGENTS, turns: round as usize * A_ROUND };
        let Some(turns) = database.plain_turns(&filled, plan.time).await? else { break };
        let commits = database.raw_commits(1, plan.time).await?;
        eprintln!("bench: {CASE}: {turns:.0}/s of {commits:.0}/s");
        plain.push(turns);
        raw.push(commits);
        ratios.push(turns / commits);
    }
    database.drop(CASE).await?;
    report.lines.push(Line {
        area: AREA,
        case: CASE.to_owned(),
        store: database.name(),
        value: median(&plain),
        unit: "turns/s",
        raw: Some(median(&raw)),
        ratio: Some(median(&ratios)),
        p50_ms: Some(1000.0 / median(&plain)),
        commits: 2.0,
        n: plan.rounds as usize,
        ..Line::default()
    });
    Ok(())
}
