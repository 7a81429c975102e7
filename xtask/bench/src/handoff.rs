//! The area `handoff`: checking a directory of many samples and loading from it, beside a plain read of the same files.
//!
//! No database is measured. Files are read from the page cache by both sides, so that what is compared is the work of
//! reaching, reading and judging them.

mod tree;

use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, ensure};
use cardwire_handoff::{
    CheckOptions, Load, LoadRequest, LocalFiles, Mode, Package, Refusal, check_files, load,
};

use crate::Plan;
use crate::measure::{median, peak_bytes, reset_peak, resident_bytes};
use crate::report::{Check, Line, Report};
use tree::Tree;

const AREA: &str = "handoff";
/// What stands in the place of a store.
const FILES: &str = "files";
/// The share of a plain read's rate that must be reached.
const TARGET: f64 = 0.5;
/// Samples of the two directories; each has four files.
const SAMPLES: [usize; 2] = [1_000, 10_000];
const BUDGET: u32 = 40_000;

pub(crate) fn run(dir: &std::path::Path, plan: Plan) -> anyhow::Result<Report> {
    let mut report = Report::default();
    let mut peaks = vec![];
    for samples in SAMPLES {
        let tree = Tree::make(dir, samples)?;
        let files =
            LocalFiles::open(tree.root()).map_err(|error| anyhow!("cannot open the workspace: {error}"))?;
        let package = tree.package(&files)?;
        for deep in [false, true] {
            let name = if deep { "validate_deep" } else { "validate" };
            let mut sides = Sides::default();
            for _ in 0..plan.rounds {
                let (time, read) = timed(|| tree.read_all())?;
                let (ours, ()) = timed(|| check(&package, &files, deep))?;
                sides.add(ours, time, read);
            }
            // The default check reads no case: its plain counterpart is a look at every file, which it is not held to.
            sides.tell(&format!("{name}_{samples}"), deep, &mut report);
        }
        reset_peak()?;
        let before = resident_bytes()?;
        check(&package, &files, true)?;
        let peak = peak_bytes()?.saturating_sub(before);
        peaks.push(peak);
        report.lines.push(Line {
            area: AREA,
            case: format!("memory_{samples}"),
            store: FILES,
            value: peak as f64 / 1024.0,
            unit: "kB peak",
            n: 1,
            ..Line::default()
        });
        loads(&tree, &package, &files, plan, samples, &mut report)?;
    }
    let grown = peaks[1].saturating_sub(peaks[0]);
    report.checks.push(Check::new(
        "memory",
        "within 4 MB of each other",
        format!("{} kB and {} kB", peaks[0] / 1024, peaks[1] / 1024),
        grown < 4 << 20,
    ));
    Ok(report)
}

/// A load of as much as the budget takes, beside a plain read of the files it read.
fn loads(
    tree: &Tree,
    package: &Package,
    files: &LocalFiles,
    plan: Plan,
    samples: usize,
    report: &mut Report,
) -> anyhow::Result<()> {
    let wanted = LoadRequest { mode: Mode::Full, budget: BUDGET, ..LoadRequest::default() };
    let first = load(package, files, &wanted).map_err(refused)?;
    let paths: Vec<String> = read_by(&first);
    let (mut alone, mut whole) = (Sides::default(), Sides::default());
    for _ in 0..plan.rounds {
        let (time, read) = timed(|| tree.read(&paths))?;
        let (ours, again) = timed(|| load(package, files, &wanted).map_err(refused))?;
        ensure!(again.used == first.used && again.used <= BUDGET, "a load used {} tokens", again.used);
        alone.add(ours, time, read);
        // The whole job of a receiver: nothing is taken unread, and then as much is loaded as fits.
        let (time_all, read_all) = timed(|| tree.read_all())?;
        let (checked, ()) = timed(|| check(package, files, true))?;
        whole.add(ours + checked, time + time_all, (read.0 + read_all.0, read.1 + read_all.1));
    }
    // Alone it is some hundred small files, and what they are judged by weighs as much as reading them.
    alone.tell(&format!("load_40k_{samples}"), false, report);
    whole.tell(&format!("validate_deep_and_load_{samples}"), true, report);
    Ok(())
}

/// The files that a load has read.
fn read_by(load: &Load) -> Vec<String> {
    // The index that the package was too short for.
    let index = std::iter::once("failure_summary.json".to_owned());
    let whole = index.chain(load.loaded.iter().map(|part| part.path.clone()));
    let left = load.omitted.iter().filter(|part| part.tokens.is_some()).map(|part| part.path.clone());
    whole.chain(left).collect()
}

fn check(package: &Package, files: &LocalFiles, deep: bool) -> anyhow::Result<()> {
    let options = CheckOptions { gate: None, deep, progress: &|_| {} };
    let warnings = check_files(package, files, &options).map_err(refused)?;
    ensure!(warnings.is_empty(), "the directory is not in order: {warnings:?}");
    Ok(())
}

/// How often each side did it, and how fast.
#[derive(Default)]
struct Sides {
    ours: Vec<f64>,
    raw: Vec<f64>,
    ratios: Vec<f64>,
    files: usize,
    bytes: u64,
}

impl Sides {
    fn add(&mut self, ours: Duration, raw: Duration, (files, bytes): (usize, u64)) {
        let rate = |time: Duration| files as f64 / time.as_secs_f64();
        self.ours.push(rate(ours));
        self.raw.push(rate(raw));
        self.ratios.push(raw.as_secs_f64() / ours.as_secs_f64());
        (self.files, self.bytes) = (files, bytes);
    }

    fn tell(self, case: &str, gated: bool, report: &mut Report) {
        let (ours, raw, ratio) = (median(&self.ours), median(&self.raw), median(&self.ratios));
        let megabytes = |rate: f64| rate * self.bytes as f64 / self.files.max(1) as f64 / 1e6;
        eprintln!("bench: {case}: {:.1} MB/s, plain read {:.1} MB/s", megabytes(ours), megabytes(raw));
        if gated {
            report.checks.push(Check::at_least(case, TARGET, ratio));
        }
        report.lines.push(Line {
            area: AREA,
            case: case.to_owned(),
            store: FILES,
            value: ours,
            unit: "files/s",
            raw: Some(raw),
            ratio: Some(ratio),
            n: self.files,
            ..Line::default()
        });
    }
}

fn timed<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<(Duration, T)> {
    let begun = Instant::now();
    let done = work().context("measuring failed")?;
    Ok((begun.elapsed(), done))
}

fn refused(refusal: Refusal) -> anyhow::Error {
    anyhow!("{}: {}", refusal.code, refusal.message)
}
