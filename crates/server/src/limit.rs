//! Requests per second of one token (SEC-07).

use cardwire_model::TokenId;
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use std::num::NonZeroU32;

pub(crate) struct RateLimit(DefaultKeyedRateLimiter<TokenId>);

impl RateLimit {
    /// So many per second, and as many at once.
    pub(crate) fn new(per_second: u32) -> Self {
        let rate = NonZeroU32::new(per_second).unwrap_or(NonZeroU32::MIN);
        Self(RateLimiter::keyed(Quota::per_second(rate)))
    }

    pub(crate) fn allows(&self, token: TokenId) -> bool {
        self.0.check_key(&token).is_ok()
    }
}
