//! Compaction: which messages a summary may stand for, how it is asked for, and what counts as one (CP-01 to CP-07).
//!
//! This module must not know how a summariser is called or where a summary is kept.
//! Invariant: whatever is summarised, no word of a person is lost and no tool call is parted from its answer.

mod plan;
mod prompt;
mod ranges;
mod request;

pub use plan::{Entry, MIN_KEEP_ENTRIES, Plan, plan};
pub use prompt::{SYSTEM_PROMPT, SummaryFault, check_summary, prompt};
pub use ranges::{indices, ranges};
pub use request::{FIRST_TEMPLATE, SummaryBody, TEMPLATE, follows, is_template, request, request_traced};

/// When an agent with a window of 200,000 tokens compacts (CP-01).
pub const THRESHOLD_SMALL: u32 = 150_000;
/// When an agent with a window of 1,000,000 tokens compacts.
pub const THRESHOLD_LARGE: u32 = 700_000;

/// When an agent with such a window compacts, unless somebody says otherwise: three quarters of the window, and of
/// large ones a little less, through both documented points.
pub fn default_threshold(window: u32) -> u32 {
    let share = |percent: u64| u32::try_from(u64::from(window) * percent / 100).unwrap_or(u32::MAX);
    share(75).min(share(70).max(THRESHOLD_SMALL))
}

/// Whether the request is due for compaction before it is sent.
pub const fn should_compact(total_tokens: u32, threshold: u32) -> bool {
    total_tokens > threshold
}

/// Whether the conversation is to be summarised by whoever sends the request (CP-01, OB-02): all that would be sent is over
/// the threshold, or some of what was said found no room.
pub const fn is_due(total_tokens: u32, threshold: u32, leaves_out: bool) -> bool {
    should_compact(total_tokens, threshold) || leaves_out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CP-01
    #[test]
    fn the_default_threshold_goes_through_both_documented_points_and_never_falls() {
        assert_eq!(default_threshold(200_000), THRESHOLD_SMALL);
        assert_eq!(default_threshold(1_000_000), THRESHOLD_LARGE);
        let windows = (0..2_000_000).step_by(997);
        assert!(
            windows.clone().zip(windows.skip(1)).all(|(a, b)| default_threshold(a) <= default_threshold(b))
        );
        assert!((1..2_000_000).step_by(997).all(|window| default_threshold(window) < window));
    }

    /// CP-01
    #[test]
    fn only_more_than_the_threshold_compacts() {
        assert!(!should_compact(99, 100) && !should_compact(100, 100) && should_compact(101, 100));
        assert!(!is_due(100, 100, false) && is_due(101, 100, false) && is_due(1, 100, true));
    }
}
