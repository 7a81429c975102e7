//! Every number on `/metrics`, with what it means; `docs/telemetry.md` shows the same table, and a test compares them.
//!
//! All of them are there from the start, at zero: a number that appears with the first failure cannot be watched for it.
//! Invariant: labels come from small fixed sets, never from what a caller, a project or a model says.

use crate::failure::Failure;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

/// How a number behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// One number.
struct Metric {
    name: &'static str,
    kind: Kind,
    /// Its one label with the values that are shown from the start, if it has one that is known.
    label: Option<(&'static str, &'static [&'static str])>,
    help: &'static str,
}

const fn metric(name: &'static str, kind: Kind, help: &'static str) -> Metric {
    Metric { name, kind, label: None, help }
}

const fn labelled(
    name: &'static str,
    kind: Kind,
    label: &'static str,
    values: &'static [&'static str],
    help: &'static str,
) -> Metric {
    Metric { name, kind, label: Some((label, values)), help }
}

use Kind::{Counter, Gauge, Histogram};

const TABLE: [Metric; 26] = [
    labelled("cardwire_http_requests_total", Counter, "route", &[], "Requests, by route, method and status."),
    labelled("cardwire_http_request_seconds", Histogram, "route", &[], "How long requests took, by route."),
    metric("cardwire_inbox_queued", Gauge, "Turns that wait behind another turn of their agent."),
    labelled(
        "cardwire_turns",
        Gauge,
        "state",
        &["dispatched", "running", "suspended"],
        "Live turns, by state.",
    ),
    metric("cardwire_turns_enqueued_total", Counter, "Turns that were accepted."),
    labelled(
        "cardwire_turns_ended_total",
        Counter,
        "status",
        &["success", "failed", "canceled", "timeout", "partial"],
        "Turns that have ended, by how.",
    ),
    metric("cardwire_leases_total", Counter, "Turns that were given to workers."),
    metric("cardwire_pmo_waiting", Gauge, "Calls of the PMO that wait for a place."),
    metric("cardwire_pmo_refused_total", Counter, "Calls of the PMO that found the queue full."),
    metric(
        "cardwire_jobs_refused_total",
        Counter,
        "Long computations that were refused because too many of their project waited.",
    ),
    metric("cardwire_batches_open", Gauge, "Batches that are running."),
    metric("cardwire_batches_opened_total", Counter, "Batches that were forked."),
    labelled(
        "cardwire_batches_closed_total",
        Counter,
        "status",
        &["success", "partial", "failed", "timeout"],
        "Batches that were joined or called off, by how.",
    ),
    labelled(
        "cardwire_commits_total",
        Counter,
        "outcome",
        &["applied", "conflict", "failed"],
        "Commits, by what became of them.",
    ),
    metric("cardwire_commit_seconds", Histogram, "How long the store took for a commit."),
    labelled(
        "cardwire_doorbells_total",
        Counter,
        "reason",
        &["enqueued", "watchdog"],
        "Doorbells that were rung.",
    ),
    metric("cardwire_doorbells_lost_total", Counter, "Doorbells that could not be sent over the bus."),
    metric("cardwire_doorbells_received_total", Counter, "Doorbells that were heard over the bus."),
    labelled(
        "cardwire_watchdog_total",
        Counter,
        "action",
        &["ring", "reap", "expire_tools", "requeue", "archive", "dispatch_next", "rebuild"],
        "What the watchdog did.",
    ),
    metric("cardwire_tasks_panicked_total", Counter, "Background tasks that panicked; the log names them."),
    metric("cardwire_worker_turns", Gauge, "Turns that the worker in this process is at."),
    labelled(
        "cardwire_model_calls_total",
        Counter,
        "outcome",
        &[],
        "Calls of models, by provider and outcome.",
    ),
    labelled(
        "cardwire_model_tokens_total",
        Counter,
        "direction",
        &["input", "cached", "output"],
        "Tokens of models' requests and answers.",
    ),
    labelled(
        "cardwire_model_call_seconds",
        Histogram,
        "provider",
        &["openai", "anthropic"],
        "How long calls of models took, with what was tried again.",
    ),
    labelled(
        "cardwire_tool_calls_total",
        Counter,
        "outcome",
        &["done", "failed"],
        "Calls of tools by agents.",
    ),
    metric("cardwire_build_info", Gauge, "Always 1; the version is a label."),
];

/// Upper bounds of the buckets of durations, in seconds.
const SECONDS: [f64; 14] =
    [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 20.0, 60.0];

/// Collects the numbers of this process.
pub(crate) fn install() -> Result<PrometheusHandle, Failure> {
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)
        .and_then(PrometheusBuilder::install_recorder)
        .map_err(|error| Failure::failed(format!("cannot collect metrics: {error}")))?;
    TABLE.iter().for_each(Metric::show);
    Ok(handle)
}

impl Metric {
    /// Describes it, and shows it at zero where its labels are known.
    fn show(&self) {
        let labels = match self.label {
            None if self.name == "cardwire_build_info" => vec![vec![("version", env!("CARGO_PKG_VERSION"))]],
            None => vec![vec![]],
            Some((label, values)) => values.iter().map(|value| vec![(label, *value)]).collect(),
        };
        match self.kind {
            Counter => metrics::describe_counter!(self.name, self.help),
            Gauge => metrics::describe_gauge!(self.name, self.help),
            Histogram => metrics::describe_histogram!(self.name, self.help),
        }
        for labels in &labels {
            match self.kind {
                Counter => metrics::counter!(self.name, labels).absolute(0),
                Gauge if self.name == "cardwire_build_info" => metrics::gauge!(self.name, labels).set(1.0),
                Gauge => metrics::gauge!(self.name, labels).increment(0.0),
                Histogram => drop(metrics::histogram!(self.name, labels)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cardwire_model::{BatchStatus, TaskStatus};
    use std::collections::HashSet;

    fn values(name: &str) -> HashSet<&'static str> {
        let metric = TABLE.iter().find(|metric| metric.name == name).unwrap();
        metric.label.unwrap().1.iter().copied().collect()
    }

    #[test]
    fn every_way_to_end_is_shown_from_the_start() {
        let turns = TaskStatus::ALL.iter().map(|status| status.as_str()).collect();
        assert_eq!(values("cardwire_turns_ended_total"), turns);
        let batches = BatchStatus::ALL.iter().map(|status| status.as_str()).filter(|name| *name != "running");
        assert_eq!(values("cardwire_batches_closed_total"), batches.collect());
    }

    #[test]
    fn names_say_what_they_count() {
        let names: HashSet<_> = TABLE.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), TABLE.len());
        for metric in &TABLE {
            assert_eq!(metric.name.ends_with("_total"), metric.kind == Counter, "{}", metric.name);
            assert_eq!(metric.name.ends_with("_seconds"), metric.kind == Histogram, "{}", metric.name);
        }
    }
}
