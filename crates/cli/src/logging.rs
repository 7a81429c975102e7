//! Logs go to standard error; results never do.

use crate::output;
use clap::ValueEnum;
use std::{env, io};
use tracing_subscriber::{EnvFilter, fmt};

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

/// Starts logging. `CARDWIRE_LOG`, else `RUST_LOG`, else `default` says what is logged.
pub(crate) fn start(format: LogFormat, default: &str) {
    let wanted = ["CARDWIRE_LOG", "RUST_LOG"].iter().find_map(|name| env::var(name).ok());
    let filter = wanted.filter(|wanted| !wanted.trim().is_empty()).unwrap_or_else(|| default.to_owned());
    let filter = EnvFilter::try_new(&filter).unwrap_or_else(|error| {
        output::say(&format!("note: the log filter is ignored: {error}"));
        EnvFilter::new(default)
    });
    // A log nobody can write is no reason to stop; the crate would otherwise panic on a closed standard error.
    let builder = fmt().with_env_filter(filter).with_writer(io::stderr).log_internal_errors(false);
    // Setting it twice fails, and cannot happen: this is called once per process.
    let _ = match format {
        LogFormat::Text => builder.with_ansi(output::colours()).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
}
