//! The same pages in a real Chromium: until they can be read, how evenly they scroll, and how soon an event is seen.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use serde::Deserialize;
use serde_json::json;

use super::AREA;
use super::facts::Live;
use super::pages::Case;
use super::server::Server;
use super::visitor::Visitor;
use crate::measure::Latencies;
use crate::report::{Check, Line, Report};

const SCRIPT: &str = include_str!("browser.mjs");
const ROUNDS: usize = 7;
const FRAMES_MS: f64 = 100.0;
const PIXEL_MS: f64 = 300.0;

/// What the script found out, in milliseconds.
#[derive(Deserialize)]
struct Told {
    pages: Vec<Seen>,
    /// From each event to the frame that shows it.
    pixels: Vec<f64>,
}

#[derive(Deserialize)]
struct Seen {
    ready: Vec<f64>,
    /// Between two frames while the page is scrolled.
    frames: Vec<f64>,
}

/// A browser, and what drives it.
pub(crate) struct Browser {
    /// The directory that has `playwright-core`.
    pub(crate) node_modules: PathBuf,
    pub(crate) chromium: PathBuf,
    /// For files of its own.
    pub(crate) dir: PathBuf,
}

impl Browser {
    pub(super) fn measure(
        &self,
        server: &Server,
        cases: &[Case],
        live: Option<&Live>,
        store: &'static str,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        if !self.chromium.is_file() || !self.node_modules.join("playwright-core").is_dir() {
            let (chromium, modules) = (self.chromium.display(), self.node_modules.display());
            eprintln!("bench: no browser: {chromium}, or playwright-core in {modules}, is missing");
            return Ok(());
        }
        let cases: Vec<&Case> = cases.iter().filter(|case| case.ready_ms.is_some()).collect();
        let script = self.dir.join("browser.mjs");
        std::fs::write(&script, SCRIPT)?;
        let cookie = Visitor::of(server)?.cookie;
        let pages = cases.iter().map(|case| json!({ "path": case.path, "scrolls": case.is_long }));
        let wanted = json!({
            "modules": self.node_modules, "chromium": self.chromium, "base": format!("http://{}", server.address),
            "cookie": cookie, "token": server.token, "rounds": ROUNDS,
            "pages": pages.collect::<Vec<_>>(), "live": live,
        });
        let mut node = Command::new("node");
        node.arg(&script).arg(wanted.to_string()).stdin(Stdio::null()).stderr(Stdio::inherit());
        let output = node.output().context("cannot run node")?;
        ensure!(output.status.success(), "the browser's script failed ({})", output.status);
        let told: Told =
            serde_json::from_slice(&output.stdout).context("the browser's script made no sense")?;

        let mut tell = |case: String, values: &[f64], share: f64, most: f64| {
            let mut times = Latencies::default();
            values.iter().for_each(|ms| times.add(Duration::from_secs_f64(ms / 1e3)));
            let value = times.percentile_ms(share).unwrap_or_default();
            eprintln!("bench: {case}: {value:.1} ms");
            report.checks.push(Check::at_most(&case, "ms", most, value));
            report.lines.push(Line {
                area: AREA,
                case,
                store,
                value: value * 1e3,
                unit: "µs",
                p50_ms: times.percentile_ms(0.5),
                p99_ms: times.percentile_ms(0.99),
                n: times.len(),
                ..Line::default()
            });
        };
        for (case, seen) in cases.iter().zip(&told.pages) {
            tell(format!("{}_ready", case.name), &seen.ready, 0.5, case.ready_ms.unwrap_or_default());
            if case.is_long {
                tell(format!("{}_frames", case.name), &seen.frames, 0.95, FRAMES_MS);
            }
        }
        if !told.pixels.is_empty() {
            tell("event_to_pixel".to_owned(), &told.pixels, 0.5, PIXEL_MS);
        }
        Ok(())
    }
}
