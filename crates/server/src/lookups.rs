//! How many unknown tokens an address may have looked up (SEC-07): finding out that nobody holds a token costs a look into the
//! store, before anybody is known. It must not know what a token is good for.
//!
//! Invariant: a flood of unknown tokens costs a bounded number of look-ups, and tokens that were accepted lately are looked up
//! however many unknown ones come from the same address.

use crate::{addresses::Addresses, seldom::Seldom};
use cardwire_model::{Hash256, Timestamp, limits};
use std::{
    collections::HashSet,
    mem,
    net::IpAddr,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// What a look-up came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// Somebody holds the token.
    Holder,
    Nobody,
    /// The store did not say.
    Unclear,
}

/// Leave to look up one token.
pub(crate) struct Leave {
    token: Hash256,
    /// Whom it was counted for, as if the token were unknown.
    counted: Option<IpAddr>,
}

#[derive(Default)]
pub(crate) struct Lookups(Mutex<Book>);

impl Lookups {
    /// Gives leave to look up a token for an address, if that may have one looked up now.
    pub(crate) fn begin(&self, address: IpAddr, token: Hash256, now: Timestamp) -> Option<Leave> {
        let mut book = self.book();
        if book.accepted.contains(token) {
            return Some(Leave { token, counted: None });
        }
        let counted = book.unknown.count(address, now);
        if counted.is_none() {
            book.warnings.tell(now, || {
                tracing::warn!(%address, "refuses tokens unseen: too many from this address are unknown");
            });
        }
        counted.map(|counted| Leave { token, counted: Some(counted) })
    }

    pub(crate) fn ended(&self, leave: &Leave, found: Found) {
        let mut book = self.book();
        match found {
            Found::Holder => book.accepted.add(leave.token),
            // One that was accepted and is not any more counts from the next time on.
            Found::Nobody => return book.accepted.remove(leave.token),
            Found::Unclear => {}
        }
        if let Some(counted) = leave.counted {
            book.unknown.take_back(counted);
        }
    }

    /// This server made the token itself.
    pub(crate) fn accept(&self, token: Hash256) {
        self.book().accepted.add(token);
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Book {
    accepted: Accepted,
    unknown: Addresses,
    warnings: Seldom,
}

impl Default for Book {
    fn default() -> Self {
        let unknown = Addresses::new(limits::FAILED_LOOKUPS, limits::FAILED_LOOKUPS_PER_SECOND);
        Self { accepted: Accepted::default(), unknown, warnings: Seldom::default() }
    }
}

/// Tokens that were accepted lately: those since the last half, and the half before them.
#[derive(Default)]
struct Accepted {
    newer: HashSet<Hash256>,
    older: HashSet<Hash256>,
}

impl Accepted {
    fn contains(&self, token: Hash256) -> bool {
        self.newer.contains(&token) || self.older.contains(&token)
    }

    fn add(&mut self, token: Hash256) {
        if self.newer.len() >= limits::ACCEPTED_TOKENS / 2 && !self.newer.contains(&token) {
            self.older = mem::take(&mut self.newer);
        }
        self.newer.insert(token);
    }

    fn remove(&mut self, token: Hash256) {
        self.newer.remove(&token);
        self.older.remove(&token);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    const THERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
    const NOON: Timestamp = Timestamp::from_micros(1_000_000_000);

    fn token(number: u32) -> Hash256 {
        Hash256::of(&number.to_be_bytes())
    }

    /// Looks up unknown tokens; answers how many were.
    fn flood(lookups: &Lookups, address: IpAddr, now: Timestamp) -> u32 {
        let unknown = (0..1_000).map(|number| token(1_000_000 + number));
        let leaves = unknown.filter_map(|token| lookups.begin(address, token, now));
        leaves.map(|leave| lookups.ended(&leave, Found::Nobody)).count() as u32
    }

    /// F-26, SEC-07
    #[test]
    fn an_address_has_so_many_unknown_tokens_looked_up_and_then_some_each_second() {
        let lookups = Lookups::default();
        assert_eq!(flood(&lookups, HERE, NOON), limits::FAILED_LOOKUPS);
        assert_eq!(flood(&lookups, HERE, NOON.plus_seconds(1)), limits::FAILED_LOOKUPS_PER_SECOND);
        assert_eq!(flood(&lookups, THERE, NOON), limits::FAILED_LOOKUPS, "each address is counted by itself");
        assert_eq!(flood(&lookups, HERE, NOON.plus_seconds(60)), limits::FAILED_LOOKUPS);
        assert_eq!(flood(&lookups, HERE, NOON), 0, "a clock that jumps back forgets nothing");
        assert_eq!(flood(&lookups, HERE, NOON.plus_seconds(3600)), limits::FAILED_LOOKUPS);
    }

    /// F-26, SEC-07
    #[test]
    fn accepted_tokens_are_looked_up_during_a_flood_until_nobody_holds_them() {
        let lookups = Lookups::default();
        let may = |number| lookups.begin(HERE, token(number), NOON);
        let at_once: Vec<_> = (0..3).map(|_| may(1).unwrap()).collect();
        for leave in &at_once {
            lookups.ended(leave, Found::Holder);
        }
        lookups.accept(token(2));
        assert_eq!(flood(&lookups, HERE, NOON), limits::FAILED_LOOKUPS, "what was found is not counted");
        assert!(may(2).is_some() && may(3).is_none());
        lookups.ended(&may(1).unwrap(), Found::Unclear);
        lookups.ended(&may(1).unwrap(), Found::Nobody);
        assert!(may(1).is_none());
    }

    #[test]
    fn a_store_that_does_not_answer_is_not_held_against_anybody() {
        let lookups = Lookups::default();
        for number in 0..2 * limits::FAILED_LOOKUPS {
            lookups.ended(&lookups.begin(HERE, token(number), NOON).unwrap(), Found::Unclear);
        }
    }

    #[test]
    fn accepted_tokens_and_addresses_are_bounded() {
        let lookups = Lookups::default();
        for number in 0..=limits::ACCEPTED_TOKENS as u32 {
            lookups.accept(token(number));
        }
        let known = |number| lookups.book().accepted.contains(token(number));
        assert!(
            !known(0) && known(limits::ACCEPTED_TOKENS as u32 / 2) && known(limits::ACCEPTED_TOKENS as u32)
        );
        for number in 1..=limits::COUNTED_ADDRESSES as u32 + limits::FAILED_LOOKUPS {
            assert!(lookups.begin(IpAddr::V4(Ipv4Addr::from_bits(number)), Hash256::ZERO, NOON).is_some());
        }
        assert_eq!(lookups.book().unknown.len(), limits::COUNTED_ADDRESSES + 1);
        let another = IpAddr::V4(Ipv4Addr::from_bits(u32::MAX));
        assert_eq!(flood(&lookups, another, NOON), 0, "the addresses beyond share one count");
    }
}
