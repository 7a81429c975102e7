//! One more turn of a session with 50 messages and with 5,000: what it writes and how long it takes must not depend on what
//! was said before (NF-12).

use std::sync::Arc;
use std::time::Instant;

use anyhow::bail;
use cardwire_kernel::protocol::session::patch::{MessagesOp, Patch};
use cardwire_kernel::{Done, Kernel};
use cardwire_model::{CanonicalJson, Message, Namespace, SessionKey, Speaker};

use super::AREA;
use crate::database::Database;
use crate::measure::{Latencies, median};
use crate::report::{Check, Line, Report};
use crate::world::{TEXT, World};

const SHORT: usize = 50;
const LONG: usize = 5_000;
const ROUNDS: usize = 9;
/// Turns of each session in a round.
const TURNS: usize = 20;
const BYTES: f64 = 0.10;
const TIME: f64 = 2.0;

pub(super) async fn run(
    database: &dyn Database,
    kernel: Arc<Kernel>,
    report: &mut Report,
) -> anyhow::Result<()> {
    let world = World::create(kernel, "sessions").await?;
    let sessions = [session("short")?, session("long")?];
    for (key, messages) in sessions.iter().zip([SHORT, LONG]) {
        let mut filled = 0;
        while filled < messages {
            let more = (messages - filled).min(500);
            patch(&world, key, (filled..filled + more).map(|n| format!("old{n}")).collect()).await?;
            filled += more;
        }
    }
    database.settle().await?;
    let mut turn = 0;
    let (mut bytes, mut times) = ([vec![], vec![]], [vec![], vec![]]);
    let mut latencies = [Latencies::default(), Latencies::default()];
    for round in 0..=ROUNDS {
        for (which, key) in sessions.iter().enumerate() {
            let before = database.bytes().await?;
            let begun = Instant::now();
            for _ in 0..TURNS {
                turn += 1;
                let one = Instant::now();
                patch(&world, key, vec![format!("ask{turn:06}"), format!("answer{turn:06}")]).await?;
                latencies[which].add(one.elapsed());
            }
            let time = begun.elapsed().as_secs_f64() / TURNS as f64;
            database.store().number_events().await?;
            let written = (database.bytes().await? - before) as f64 / TURNS as f64;
            // The first round is for warming up.
            if round > 0 {
                times[which].push(time);
                bytes[which].push(written);
            }
        }
    }
    let case = format!("session_{LONG}");
    let (short, long) = (median(&bytes[0]), median(&bytes[1]));
    let met = (long - short).abs() <= (short * BYTES).max(database.unit_bytes() / TURNS as f64);
    let target = format!("bytes within 10 % of {SHORT} messages");
    report.checks.push(Check::new(&case, target, format!("{short:.0} and {long:.0}"), met));
    let growth = median(&times[1]) / median(&times[0]);
    let what = format!("× the time at {SHORT} messages");
    report.checks.push(Check::at_most(&case, &what, TIME, growth));
    report.lines.push(Line {
        area: AREA,
        case,
        store: database.name(),
        value: median(&times[1]) * 1e6,
        unit: "µs",
        raw: Some(median(&times[0]) * 1e6),
        ratio: Some(growth),
        p50_ms: latencies[1].percentile_ms(0.5),
        p99_ms: latencies[1].percentile_ms(0.99),
        commits: 1.0,
        wal_bytes: Some(long),
        n: ROUNDS * TURNS,
        ..Line::default()
    });
    Ok(())
}

fn session(name: &str) -> anyhow::Result<SessionKey> {
    Ok(SessionKey { namespace: Namespace::default(), session: name.parse()? })
}

/// People and the model in turns.
async fn patch(world: &World, key: &SessionKey, ids: Vec<String>) -> anyhow::Result<()> {
    let message = |(index, id): (usize, String)| {
        Ok(Message {
            id: Some(id),
            speaker: if index.is_multiple_of(2) { Speaker::Human } else { Speaker::Ai },
            content: CanonicalJson::string(TEXT)?,
            tool_calls: None,
            tool_call_id: None,
            name: None,
            internal: false,
        })
    };
    let messages = ids.into_iter().enumerate().map(message).collect::<anyhow::Result<Vec<_>>>()?;
    let patch = Patch { messages: Some(MessagesOp::Append(messages)), ..Patch::default() };
    match world.kernel.patch_session(&world.project, world.caller(), key, &patch, None).await? {
        Done::Fresh(patched) if patched.changed => Ok(()),
        Done::Fresh(_) | Done::Replayed(_) => bail!("nothing was written"),
    }
}
