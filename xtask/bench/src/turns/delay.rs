//! Turns over a slow network: the kernel reaches its server through a proxy that holds every piece of data back.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use cardwire_kernel::{Kernel, KernelConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::AREA;
use super::crew::burst;
use super::place::Place;
use super::throughput::MOST;
use crate::Plan;
use crate::counting::counting;
use crate::database::Database;
use crate::measure::{Latencies, median};
use crate::report::{Check, Line, Report};

/// In each direction, so that a round trip takes 3 ms longer.
const DELAY: Duration = Duration::from_micros(1500);
const CASE: &str = "turns_delay3ms";
const WARM_UP: Duration = Duration::from_secs(2);
/// Pieces on their way in one direction of a connection.
const UNDER_WAY: usize = 1024;

pub(super) async fn run(database: &dyn Database, plan: Plan, report: &mut Report) -> anyhow::Result<()> {
    let Some(server) = database.address() else { return Ok(()) };
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let mut proxy = JoinSet::new();
    proxy.spawn(serve(listener, server));

    let counting = counting(database.open_behind(address).await?);
    let kernel = Kernel::start(KernelConfig::new(Arc::clone(&counting) as _));
    let place = Place::create(Arc::clone(&kernel), "far", MOST).await?;
    burst(&place, MOST, WARM_UP).await?;
    let (mut rates, mut latencies) = (vec![], Latencies::default());
    let before = counting.intercept().applied();
    for _ in 0..plan.rounds {
        let (times, taken) = burst(&place, MOST, plan.time).await?;
        rates.push(times.len() as f64 / taken.as_secs_f64());
        latencies.merge(times);
    }
    let applied = counting.intercept().applied();
    kernel.shutdown().await;
    proxy.shutdown().await;

    let (n, rate) = (latencies.len(), median(&rates));
    report.checks.push(Check::new(CASE, "> 0 turns/s", format!("{rate:.0}"), rate > 0.0));
    report.lines.push(Line {
        area: AREA,
        case: CASE.to_owned(),
        store: database.name(),
        value: rate,
        unit: "turns/s",
        p50_ms: latencies.percentile_ms(0.5),
        p99_ms: latencies.percentile_ms(0.99),
        commits: (applied.commits - before.commits) as f64 / n.max(1) as f64,
        rows: Some((applied.rows - before.rows) as f64 / n.max(1) as f64),
        n,
        ..Line::default()
    });
    Ok(())
}

/// Serves connections until it is dropped, and all of them end with it.
async fn serve(listener: TcpListener, server: SocketAddr) {
    let mut connections = JoinSet::new();
    while let Ok((near, _)) = listener.accept().await {
        let Ok(far) = TcpStream::connect(server).await else { continue };
        // Small pieces must not wait for each other: the delay is ours alone.
        let _ = (near.set_nodelay(true), far.set_nodelay(true));
        let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
        forward(&mut connections, near_in, far_out);
        forward(&mut connections, far_in, near_out);
    }
}

/// One direction: read at once, written when its time has come.
fn forward(connections: &mut JoinSet<()>, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
    let (sender, mut pieces) = mpsc::channel::<(Instant, Vec<u8>)>(UNDER_WAY);
    connections.spawn(async move {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(read @ 1..) = from.read(&mut buffer).await {
            if sender.send((Instant::now() + DELAY, buffer[..read].to_vec())).await.is_err() {
                return;
            }
        }
    });
    connections.spawn(async move {
        while let Some((due, piece)) = pieces.recv().await {
            tokio::time::sleep_until(due).await;
            if to.write_all(&piece).await.is_err() {
                return;
            }
        }
    });
}
