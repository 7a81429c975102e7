//! The technology compatibility kit for workers: a real server, a proxy that sees everything a worker says, and one
//! check for each rule that a worker has to keep. Whatever is a worker's can be checked, in any language: it is
//! started as a process and steered by the instructions it is given (docs/decisions/0012).
//!
//! The server is the kit's own, on a store that is thrown away: checks move the watchdog's clock, which would end the
//! turns of others. This module must not know how a worker is made, only what it says.

mod bench;
mod line;
mod proxy;
mod record;
mod rules;
mod server;
mod stage;
mod worker;

use crate::failure::Failure;
use bench::Bench;
use clap::ValueEnum;
use serde::Serialize;
use std::time::Duration;

/// What a worker has to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Rule {
    /// It answers a turn.
    RunsATurn,
    /// However often the bell rings, a turn runs once.
    DuplicateDoorbells,
    /// A worker that dies loses a turn, and nothing else.
    CrashAfterClaim,
    /// A turn that was taken away is let go of.
    StaleEpoch,
    /// A turn that was called off is let go of.
    Cancel,
    /// It waits for a tool, and goes on with what the tool answered.
    SuspendResume,
    /// A refused card ends its turn, not the worker.
    OversizedCard,
    /// It speaks of what it was given, with the epoch and the token it was given.
    NeverInventsEpochs,
    /// It outlives the server.
    ServerRestart,
}

impl Rule {
    /// The name, as on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::RunsATurn => "runs-a-turn",
            Self::DuplicateDoorbells => "duplicate-doorbells",
            Self::CrashAfterClaim => "crash-after-claim",
            Self::StaleEpoch => "stale-epoch",
            Self::Cancel => "cancel",
            Self::SuspendResume => "suspend-resume",
            Self::OversizedCard => "oversized-card",
            Self::NeverInventsEpochs => "never-invents-epochs",
            Self::ServerRestart => "server-restart",
        }
    }

    /// Where the specification says so.
    pub(crate) const fn spec(self) -> &'static [&'static str] {
        match self {
            Self::RunsATurn => &["WK-01", "WK-06"],
            Self::DuplicateDoorbells => &["NF-07", "W-05"],
            Self::CrashAfterClaim => &["NF-04", "WD-05"],
            Self::StaleEpoch => &["NF-03", "DP-17"],
            Self::Cancel => &["WK-09"],
            Self::SuspendResume => &["WK-08", "DP-16"],
            Self::OversizedCard => &["SEC-07"],
            Self::NeverInventsEpochs => &["WK-01", "SEC-02"],
            Self::ServerRestart => &["NF-01", "NF-04"],
        }
    }
}

/// What a check found.
#[derive(Debug, Serialize)]
pub(crate) struct Finding {
    pub(crate) rule: &'static str,
    pub(crate) spec: &'static [&'static str],
    pub(crate) passed: bool,
    pub(crate) why: String,
}

/// Why a check ends early.
#[derive(Debug)]
enum Broken {
    /// The worker does not keep the rule.
    Rule(String),
    /// The kit itself does not work.
    Kit(Failure),
}

impl From<Failure> for Broken {
    fn from(failure: Failure) -> Self {
        Self::Kit(failure)
    }
}

/// Checks the worker that a shell command starts, rule by rule, and tells each finding as it comes.
pub(crate) async fn run(
    command: &str,
    rules: &[Rule],
    time_limit: Duration,
    mut tell: impl FnMut(Finding) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut bench = Bench::set_up(command, time_limit).await?;
    for rule in rules {
        let found = async { rules::check(*rule, &mut bench.stage(*rule).await?).await };
        let (passed, why) = match found.await {
            Ok(why) => (true, why),
            Err(Broken::Rule(why)) => (false, why),
            Err(Broken::Kit(failure)) => return Err(failure),
        };
        tell(Finding { rule: rule.name(), spec: rule.spec(), passed, why })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_has_one_name() {
        for rule in Rule::value_variants() {
            let value = rule.to_possible_value();
            assert_eq!(value.as_ref().map(clap::builder::PossibleValue::get_name), Some(rule.name()));
        }
    }
}
