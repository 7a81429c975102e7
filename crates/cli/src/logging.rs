//! Logs go to standard error; results never do.

use crate::{
    failure::Failure,
    output,
    telemetry::{self, Export, ExportArgs},
};
use clap::ValueEnum;
use std::{env, io};
use tracing_subscriber::{EnvFilter, Layer, fmt, layer::SubscriberExt, registry, util::SubscriberInitExt};

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

/// What a server and a worker log when nobody says otherwise: nothing of a library that logs addresses (SEC-09),
/// nor a line for each connection that a client misused.
pub(crate) const DEFAULT: &str = "info,rmcp=off,h2=error";

/// Starts logging, and exporting where that is wanted; exporting ends when what this gives is dropped. `CARDWIRE_LOG`, else
/// `RUST_LOG`, else `default` says what is logged.
pub(crate) fn start(
    format: LogFormat,
    default: &str,
    export: Option<&ExportArgs>,
) -> Result<Option<Export>, Failure> {
    let (export, spans) = export.map(ExportArgs::start).transpose()?.flatten().unzip();
    let wanted = ["CARDWIRE_LOG", "RUST_LOG"].iter().find_map(|name| env::var(name).ok());
    let filter = wanted.filter(|wanted| !wanted.trim().is_empty()).unwrap_or_else(|| default.to_owned());
    let filter = EnvFilter::try_new(&filter).unwrap_or_else(|error| {
        output::say(&format!("note: the log filter is ignored: {error}"));
        EnvFilter::new(default)
    });
    // A log nobody can write is no reason to stop; the crate would otherwise panic on a closed standard error.
    let lines = fmt::layer().with_writer(io::stderr).log_internal_errors(false);
    let lines = match format {
        LogFormat::Text => lines.with_ansi(output::colours()).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    // Each has a filter of its own: what is exported is not logged for that, and what neither wants is never made.
    let spans = spans.map(|spans| spans.with_filter(telemetry::ours()));
    // Setting it twice fails, and cannot happen: this is called once per process.
    let _ = registry().with(lines.with_filter(filter)).with(spans).try_init();
    Ok(export)
}
