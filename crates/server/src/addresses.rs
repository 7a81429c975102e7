//! How often something may come from one address: a number at once, and then so many per second. It must not know what is
//! counted.
//!
//! Invariant: however many addresses there are, the memory is bounded; addresses beyond the bound share one count.

use cardwire_model::{Timestamp, limits};
use std::{
    collections::HashMap,
    net::{IpAddr, Ipv4Addr},
};

/// Addresses beyond those that are counted one by one.
const STRANGERS: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// Counts by address: the time at which all that was counted will be forgotten.
pub(crate) struct Addresses {
    forgotten: HashMap<IpAddr, i64>,
    /// One is forgotten in so many microseconds.
    each: i64,
    /// An address with more than this to forget has had its share.
    share: i64,
}

impl Addresses {
    pub(crate) fn new(at_once: u32, per_second: u32) -> Self {
        let each = 1_000_000 / i64::from(per_second.max(1));
        Self { forgotten: HashMap::new(), each, share: each * i64::from(at_once) }
    }

    /// Counts one more; answers for whom, or nothing if the address has had its share.
    pub(crate) fn count(&mut self, address: IpAddr, now: Timestamp) -> Option<IpAddr> {
        let now = now.micros();
        if self.forgotten.len() >= limits::COUNTED_ADDRESSES {
            self.forgotten.retain(|_, forgotten| *forgotten > now);
        }
        let has_room =
            self.forgotten.len() < limits::COUNTED_ADDRESSES || self.forgotten.contains_key(&address);
        let counted = if has_room { address } else { STRANGERS };
        let forgotten = self.forgotten.entry(counted).or_insert(now);
        // A clock that jumps back must not lock anybody out.
        let next = (*forgotten).clamp(now, now + self.share) + self.each;
        if next > now + self.share {
            return None;
        }
        *forgotten = next;
        Some(counted)
    }

    pub(crate) fn take_back(&mut self, counted: IpAddr) {
        if let Some(forgotten) = self.forgotten.get_mut(&counted) {
            *forgotten -= self.each;
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.forgotten.len()
    }
}
