//! The tools that only a person answers (PR-10).

/// Asks a person for words.
pub const ASK_HUMAN: &str = "ask_human";
/// Asks a person whether a call may be made.
pub const APPROVAL: &str = "approval";
