//! Randomness that can be repeated: splitmix64, and where a test run takes its seed from.
//!
//! Our own few lines instead of a library, so that a seed printed today means the same run in years.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
};

/// The variable that repeats a failed run.
pub const SEED_VARIABLE: &str = "CARDWIRE_TEST_SEED";

/// The seed of this run: what `CARDWIRE_TEST_SEED` says, else a new one. Tests print it, so that a failure can be
/// repeated.
pub fn test_seed() -> u64 {
    match std::env::var(SEED_VARIABLE) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{SEED_VARIABLE} must be a number, not {text:?}")),
        Err(_) => fresh_seed(),
    }
}

/// A number nobody has seen before: the standard library's hasher is seeded by the operating system.
pub fn fresh_seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A splitmix64 generator.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// The same seed gives the same numbers.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which must not be 0. The bias is far below what a test could notice.
    pub const fn below(&mut self, bound: usize) -> usize {
        (self.next_u64() % bound as u64) as usize
    }

    /// A number from `low` to `high`, both possible.
    pub const fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// True so many times out of a hundred.
    pub const fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of the items; `None` when there are none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        if items.is_empty() { None } else { items.get(self.below(items.len())) }
    }

    /// One of the items, the last few much more often: recent rows are where the interesting conflicts are.
    pub fn pick_recent<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let recent = &items[items.len().saturating_sub(RECENT)..];
        if self.chance(80) { self.pick(recent) } else { self.pick(items) }
    }
}

/// How many of the newest items [`Rng::pick_recent`] prefers.
const RECENT: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_means_the_same_numbers_for_ever() {
        let mut rng = Rng::new(1_234_567);
        assert_eq!([rng.next_u64(), rng.next_u64()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }
}
