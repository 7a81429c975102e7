//! Pages over HTTP: time, size, and what the server holds while it makes one.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::anyhow;

use super::AREA;
use super::server::Server;
use super::visitor::{Fetched, Visitor};
use crate::measure::{self, Latencies};
use crate::report::{Check, Line, Report};

/// How often a page is fetched once it was fetched.
const TIMES: usize = 15;
const MEMORY_TIMES: usize = 5;
/// What a page may hold while it is made.
const MEMORY: f64 = 64.0;
/// Between two looks at the server's memory.
const LOOK_EVERY: Duration = Duration::from_micros(500);

/// A page and its budgets.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) path: String,
    ms: Option<f64>,
    bytes: Option<f64>,
    /// In a browser, from the click until it can be read; not opened there without one.
    pub(super) ready_ms: Option<f64>,
    /// It is long enough to be scrolled.
    pub(super) is_long: bool,
}

impl Case {
    pub(super) const fn new(name: &'static str, path: String) -> Self {
        Self { name, path, ms: None, bytes: None, ready_ms: None, is_long: false }
    }

    pub(super) const fn within_ms(mut self, ms: f64) -> Self {
        self.ms = Some(ms);
        self
    }

    pub(super) const fn within_bytes(mut self, bytes: f64) -> Self {
        self.bytes = Some(bytes);
        self
    }

    pub(super) const fn ready_within(mut self, ms: f64) -> Self {
        self.ready_ms = Some(ms);
        self
    }

    pub(super) const fn scrolls(mut self) -> Self {
        self.is_long = true;
        self
    }

    /// How long the server takes, and how long the page is.
    pub(super) fn measure_time(
        &self,
        server: &Server,
        store: &'static str,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        let (visitor, mut buffer) = (Visitor::of(server)?, vec![]);
        // What is made once per server is no page's.
        visitor.get("/inspect", &mut buffer)?;
        let Fetched { time, bytes } = visitor.get(&self.path, &mut buffer)?;
        let mut latencies = Latencies::default();
        for _ in 0..TIMES {
            latencies.add(visitor.get(&self.path, &mut buffer)?.time);
        }
        let (first, p50) = (time.as_secs_f64() * 1e3, latencies.percentile_ms(0.5).unwrap_or_default());
        eprintln!("bench: {}: {p50:.1} ms, at first {first:.1} ms, {:.2} MB", self.name, bytes as f64 / 1e6);
        if let Some(ms) = self.ms {
            report.checks.push(Check::at_most(self.name, "ms", ms, p50));
        }
        if let Some(most) = self.bytes {
            report.checks.push(Check::at_most(self.name, "MB of HTML", most / 1e6, bytes as f64 / 1e6));
        }
        report.lines.push(Line {
            p50_ms: Some(p50),
            p99_ms: latencies.percentile_ms(0.99),
            n: latencies.len(),
            ..self.line("", store, p50 * 1e3, "µs")
        });
        report.lines.push(self.line("_size", store, bytes as f64, "bytes"));
        Ok(())
    }

    /// What the page holds while it is made. What it leaves in caches is there before.
    pub(super) fn measure_memory(
        &self,
        server: &Server,
        store: &'static str,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        let (visitor, mut buffer) = (Visitor::of(server)?, vec![]);
        visitor.get(&self.path, &mut buffer)?;
        let mut most = 0;
        for _ in 0..MEMORY_TIMES {
            most = most.max(held_by(server.pid(), || visitor.get(&self.path, &mut buffer))?);
        }
        let megabytes = most as f64 / 1e6;
        eprintln!("bench: {}: {megabytes:.1} MB of memory", self.name);
        report.checks.push(Check::at_most(self.name, "MB of memory", MEMORY, megabytes));
        report.lines.push(self.line("_memory", store, most as f64, "bytes"));
        Ok(())
    }

    fn line(&self, what: &str, store: &'static str, value: f64, unit: &'static str) -> Line {
        let case = format!("{}{what}", self.name);
        Line { area: AREA, case, store, value, unit, n: 1, ..Line::default() }
    }
}

/// How much the anonymous memory of a process grows at most while something is done. Files that are mapped do not count.
fn held_by<T>(pid: u32, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<u64> {
    let before = measure::anonymous_bytes(pid)?;
    let (over, is_over) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let watch = scope.spawn(move || {
            let mut most = before;
            // Ends when the other side is dropped.
            while let Err(RecvTimeoutError::Timeout) = is_over.recv_timeout(LOOK_EVERY) {
                most = most.max(measure::anonymous_bytes(pid).unwrap_or_default());
            }
            most
        });
        let done = work();
        drop(over);
        let most = watch.join().map_err(|_| anyhow!("the memory could not be watched"))?;
        done?;
        Ok(most.saturating_sub(before))
    })
}
