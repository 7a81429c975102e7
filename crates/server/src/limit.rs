//! Requests per second of one token (SEC-07).

use cardwire_model::{TokenId, TurnId};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use std::{
    num::NonZeroU32,
    sync::atomic::{AtomicU32, Ordering},
};

/// Whose requests are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Counted {
    Token(TokenId),
    Turn(TurnId),
}

pub(crate) struct RateLimit {
    limiter: DefaultKeyedRateLimiter<Counted>,
    asked: AtomicU32,
}

/// How many requests go by before those are forgotten who have not asked for long: turns come and go.
const FORGET_EVERY: u32 = 65_536;

impl RateLimit {
    /// So many per second, and as many at once.
    pub(crate) fn new(per_second: u32) -> Self {
        let rate = NonZeroU32::new(per_second).unwrap_or(NonZeroU32::MIN);
        Self { limiter: RateLimiter::keyed(Quota::per_second(rate)), asked: AtomicU32::new(0) }
    }

    /// Whether one more is allowed. Only for those who have proven who they are: each is remembered for a while.
    pub(crate) fn allows(&self, who: Counted) -> bool {
        if self.asked.fetch_add(1, Ordering::Relaxed) % FORGET_EVERY == FORGET_EVERY - 1 {
            self.limiter.retain_recent();
        }
        self.limiter.check_key(&who).is_ok()
    }
}
