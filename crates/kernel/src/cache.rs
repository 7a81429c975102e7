//! Rows remembered for a moment. What they allow can be taken back elsewhere, so none is trusted for longer than
//! half a second: a revoked token is dead within a second on every instance (SEC-02).

use cardwire_model::Timestamp;
use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, PoisonError},
};

const TRUST_MICROS: i64 = 500_000;
/// Beyond this many rows the map is emptied: simpler than eviction, and rare.
const CAPACITY: usize = 10_000;

pub(crate) struct Recent<K, V>(Mutex<HashMap<K, (Timestamp, V)>>);

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self(Mutex::new(HashMap::new()))
    }
}

impl<K: Hash + Eq, V: Clone> Recent<K, V> {
    pub(crate) fn get(&self, key: &K, now: Timestamp) -> Option<V> {
        let rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A clock that jumps back must not make an old row young again.
        let fresh = |seen: Timestamp| (0..TRUST_MICROS).contains(&(now.micros() - seen.micros()));
        rows.get(key).filter(|(seen, _)| fresh(*seen)).map(|(_, value)| value.clone())
    }

    pub(crate) fn put(&self, key: K, value: V, now: Timestamp) {
        let mut rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if rows.len() >= CAPACITY {
            rows.clear();
        }
        rows.insert(key, (now, value));
    }

    /// Forgets one row, after a change made here.
    pub(crate) fn forget(&self, key: &K) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    /// Forgets everything, after a change made here.
    pub(crate) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
