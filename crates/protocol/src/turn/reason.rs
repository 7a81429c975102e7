//! Why a row of an inbox was put off or put away, under the names that readers know it by (DP-14, DP-15, WD-10).

use cardwire_model::{InboxItem, InboxStatus};

/// What the watchdog calls a row that lacks what every row of ours has.
pub(super) const MISSING_CHANNEL: &str = "missing_channel";
/// The same for its trace and depth.
pub(super) const INVALID_REPLAY_CONTEXT: &str = "invalid_replay_context";

/// What stands between a code and what is missing.
pub(super) const COLON: &str = ": ";
/// What stands between the names of what is missing.
pub(super) const COMMA: &str = ", ";

/// Why a row is not simply done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason<'a> {
    /// Nothing is said about it.
    None,
    /// It was put off.
    Deferred(&'a str),
    /// It could not become a turn: a code, and the names of what is missing, if that is it.
    Dispatch(&'a str, Option<&'a str>),
    /// The watchdog put it away.
    Watchdog(&'a str),
}

impl<'a> Reason<'a> {
    /// Of a row.
    pub fn of(item: &'a InboxItem) -> Self {
        let Some(reason) = item.reason.as_deref() else { return Self::None };
        match (item.status, reason) {
            (InboxStatus::Error, MISSING_CHANNEL | INVALID_REPLAY_CONTEXT) => Self::Watchdog(reason),
            (InboxStatus::Error, _) => match reason.split_once(COLON) {
                Some((code, missing)) => Self::Dispatch(code, Some(missing)),
                None => Self::Dispatch(reason, None),
            },
            (
                InboxStatus::Queued
                | InboxStatus::Pending
                | InboxStatus::Processing
                | InboxStatus::Consumed
                | InboxStatus::Skipped
                | InboxStatus::Deferred,
                _,
            ) => Self::Deferred(reason),
        }
    }

    /// The names of what is missing.
    pub fn missing(self) -> Option<Vec<&'a str>> {
        match self {
            Self::Dispatch(_, missing) => missing.map(|names| names.split(COMMA).collect()),
            Self::None | Self::Deferred(_) | Self::Watchdog(_) => None,
        }
    }
}
