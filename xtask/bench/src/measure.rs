//! Arithmetic on samples, and what the operating system counts for a process (Linux only).

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

use anyhow::{Context, ensure};

use crate::database::Database;

/// Processor time per process, in ticks of the kernel's clock.
pub(crate) type CpuTicks = HashMap<u32, u64>;

/// Linux counts processor time for user space in hundredths of a second on every architecture.
const MICROS_PER_TICK: f64 = 10_000.0;

/// The middle value, or the mean of the two middle ones; zero without values.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        len if len % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// Latencies in microseconds.
#[derive(Default)]
pub(crate) struct Latencies(Vec<u64>);

impl Latencies {
    pub(crate) fn add(&mut self, time: Duration) {
        self.0.push(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// What each took beyond this.
    pub(crate) fn less(&self, time: Duration) -> Self {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        Self(self.0.iter().map(|taken| taken.saturating_sub(micros)).collect())
    }

    /// The latency in milliseconds that `share` of all stay within (nearest rank).
    pub(crate) fn percentile_ms(&self, share: f64) -> Option<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let rank = (share * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.max(1) - 1).map(|micros| *micros as f64 / 1000.0)
    }
}

/// What a database had counted at one moment.
pub(crate) struct Usage {
    rows: u64,
    bytes: u64,
    cpu: CpuTicks,
}

/// What was counted between two moments.
#[derive(Clone, Copy, Default)]
pub(crate) struct Spent {
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    pub(crate) cpu_us: f64,
}

impl Usage {
    /// Counting rows costs processor time itself, hence the order here and its reverse in [`Self::spent`].
    pub(crate) async fn now(database: &dyn Database) -> anyhow::Result<Self> {
        let rows = database.rows().await?;
        let bytes = database.bytes().await?;
        Ok(Self { rows, bytes, cpu: database.cpu().await? })
    }

    pub(crate) async fn spent(&self, database: &dyn Database) -> anyhow::Result<Spent> {
        let cpu_us = ticks_between(&self.cpu, &database.cpu().await?) as f64 * MICROS_PER_TICK;
        // Positions are part of the work, though given a moment later.
        database.store().number_events().await?;
        let bytes = database.bytes().await?.saturating_sub(self.bytes);
        let rows = database.rows().await?.saturating_sub(self.rows);
        Ok(Spent { rows, bytes, cpu_us })
    }
}

/// What a database had counted at one moment, as far as asking costs nothing.
pub(crate) struct Spending {
    bytes: u64,
    statements: Option<u64>,
    cpu: CpuTicks,
}

/// What was counted between two such moments.
pub(crate) struct Cost {
    pub(crate) bytes: u64,
    pub(crate) statements: Option<u64>,
    pub(crate) cpu_us: f64,
}

impl Spending {
    pub(crate) async fn now(database: &dyn Database) -> anyhow::Result<Self> {
        let (statements, bytes) = (database.statements().await?, database.bytes().await?);
        Ok(Self { bytes, statements, cpu: database.cpu().await? })
    }

    pub(crate) async fn until_now(&self, database: &dyn Database) -> anyhow::Result<Cost> {
        let cpu_us = ticks_between(&self.cpu, &database.cpu().await?) as f64 * MICROS_PER_TICK;
        let bytes = database.bytes().await?.saturating_sub(self.bytes);
        let statements = database.statements().await?.zip(self.statements);
        Ok(Cost { bytes, statements: statements.map(|(after, before)| after.saturating_sub(before)), cpu_us })
    }
}

impl std::ops::AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.rows += other.rows;
        self.bytes += other.bytes;
        self.cpu_us += other.cpu_us;
    }
}

/// A process that came in between counts whole; one that ended cannot be asked any more.
fn ticks_between(before: &CpuTicks, after: &CpuTicks) -> u64 {
    after.iter().map(|(pid, ticks)| ticks.saturating_sub(before.get(pid).copied().unwrap_or(0))).sum()
}

/// User and system time of a process with all its threads.
pub(crate) fn process_ticks(pid: u32) -> anyhow::Result<u64> {
    let path = format!("/proc/{pid}/stat");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    parse_ticks(&text).with_context(|| format!("cannot understand {path}"))
}

/// The second field is the program's name in parentheses, which may hold anything; utime and stime are fields 14, 15.
fn parse_ticks(stat: &str) -> anyhow::Result<u64> {
    let (_, rest) = stat.rsplit_once(')').context("no program name")?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    ensure!(fields.len() > 12, "too few fields");
    Ok(fields[11].parse::<u64>()? + fields[12].parse::<u64>()?)
}

/// Bytes this process has handed to `write` and its kin.
pub(crate) fn written_bytes() -> anyhow::Result<u64> {
    let text = fs::read_to_string("/proc/self/io").context("cannot read /proc/self/io")?;
    let line =
        text.lines().find_map(|line| line.strip_prefix("wchar: ")).context("no wchar in /proc/self/io")?;
    Ok(line.trim().parse()?)
}

/// Bytes of this process that are in memory.
pub(crate) fn resident_bytes() -> anyhow::Result<u64> {
    let text = fs::read_to_string("/proc/self/status").context("cannot read /proc/self/status")?;
    parse_resident(&text).context("cannot understand /proc/self/status")
}

/// Forgets the most memory that this process has used so far.
pub(crate) fn reset_peak() -> anyhow::Result<()> {
    fs::write("/proc/self/clear_refs", "5").context("cannot write /proc/self/clear_refs")
}

/// The most bytes that were in memory since [`reset_peak`].
pub(crate) fn peak_bytes() -> anyhow::Result<u64> {
    let text = fs::read_to_string("/proc/self/status").context("cannot read /proc/self/status")?;
    parse_size(&text, "VmHWM:").context("cannot understand /proc/self/status")
}

/// Bytes of a process that are in memory and come from no file.
pub(crate) fn anonymous_bytes(pid: u32) -> anyhow::Result<u64> {
    let path = format!("/proc/{pid}/status");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    parse_size(&text, "RssAnon:").with_context(|| format!("cannot understand {path}"))
}

fn parse_resident(status: &str) -> anyhow::Result<u64> {
    parse_size(status, "VmRSS:")
}

fn parse_size(status: &str, name: &str) -> anyhow::Result<u64> {
    let size = status.lines().find_map(|line| line.strip_prefix(name)).context("no such line")?;
    let kilobytes = size.trim().strip_suffix("kB").context("not in kB")?;
    Ok(kilobytes.trim().parse::<u64>()? * 1024)
}

/// A sentence when others keep the processors busy: a program that waits for the disk between two steps then also
/// waits for a processor, and loses far more than one that always has something to do.
pub(crate) fn busy_machine() -> Option<String> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    let load: f64 = text.split_ascii_whitespace().next()?.parse().ok()?;
    let processors = std::thread::available_parallelism().ok()?.get();
    let busy = load > processors as f64 / 2.0;
    busy.then(|| format!("the load is {load} on {processors} processors; ratios are not to be trusted"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_between_the_two_middle_values() {
        assert_eq!(median(&[]), 0.0);
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let mut latencies = Latencies::default();
        assert_eq!(latencies.percentile_ms(0.5), None);
        for ms in (1..=200).rev() {
            latencies.add(Duration::from_millis(ms));
        }
        assert_eq!(latencies.percentile_ms(0.5), Some(100.0));
        assert_eq!(latencies.percentile_ms(0.99), Some(198.0));
        assert_eq!(latencies.percentile_ms(0.0), Some(1.0));
    }

    #[test]
    fn time_that_was_not_ours_is_taken_off() {
        let mut latencies = Latencies::default();
        latencies.add(Duration::from_millis(205));
        latencies.add(Duration::from_millis(150));
        let beyond = latencies.less(Duration::from_millis(200));
        assert_eq!((beyond.percentile_ms(0.5), beyond.percentile_ms(1.0)), (Some(0.0), Some(5.0)));
    }

    #[test]
    fn the_size_in_memory_is_read_in_bytes() {
        assert_eq!(parse_resident("Name:\tbench\nVmRSS:\t   1024 kB\n").unwrap(), 1_048_576);
        assert!(parse_resident("Name:\tbench\n").is_err());
    }

    #[test]
    fn processor_time_is_found_behind_any_program_name() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194560 100 0 0 0 30 12 0 0 20 0 1 0 100";
        assert_eq!(parse_ticks(stat).unwrap(), 42);
        assert!(parse_ticks("7 (a) S 1").is_err());
    }

    #[test]
    fn a_process_that_came_in_between_counts_whole_and_one_that_ended_not_at_all() {
        let before = CpuTicks::from([(1, 10), (2, 50)]);
        let after = CpuTicks::from([(1, 15), (3, 4)]);
        assert_eq!(ticks_between(&before, &after), 9);
    }

    #[test]
    fn this_process_can_be_measured() {
        assert!(written_bytes().is_ok());
        assert!(resident_bytes().unwrap() > 0);
        assert!(anonymous_bytes(std::process::id()).unwrap() > 0);
        assert!(process_ticks(std::process::id()).is_ok());
    }
}
