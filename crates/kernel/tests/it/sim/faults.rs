//! Everything that goes wrong on purpose.

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Fault {
    /// A process dies with a commit in its hands that was not applied.
    CrashBeforeCommit,
    /// A process dies right after its commit was applied.
    CrashAfterCommit,
    /// The store answers a read with an error.
    ReadFails,
    /// The store answers a commit with an error; nothing was written.
    CommitFails,
    /// The store applies a commit, and its answer is lost.
    AnswerLost,
    /// A doorbell is lost.
    RingLost,
    /// A doorbell rings twice.
    RingTwice,
    /// A doorbell rings late.
    RingLate,
    /// A worker stops for so long that its turns are taken away.
    WorkerPaused,
    /// The clock jumps ahead.
    ClockAhead,
    /// The clock jumps back.
    ClockBack,
    /// A head is lost.
    HeadLost,
    /// A worker never hears of what it was given.
    LeaseLost,
}

impl Fault {
    pub(super) const ALL: &'static [Self] = &[
        Self::CrashBeforeCommit,
        Self::CrashAfterCommit,
        Self::ReadFails,
        Self::CommitFails,
        Self::AnswerLost,
        Self::RingLost,
        Self::RingTwice,
        Self::RingLate,
        Self::WorkerPaused,
        Self::ClockAhead,
        Self::ClockBack,
        Self::HeadLost,
        Self::LeaseLost,
    ];
}
