//! An ordered map that can take back everything since it was last told to keep.

use cardwire_model::Realm;
use std::{collections::BTreeMap, ops::RangeBounds};

/// Rows by key, and what they were before the commit under way touched them.
#[derive(Debug)]
pub(super) struct Table<K, V> {
    rows: BTreeMap<K, V>,
    before: Vec<(K, Option<V>)>,
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self { rows: BTreeMap::new(), before: vec![] }
    }
}

impl<K: Ord + Clone, V: Clone> Table<K, V> {
    pub(super) fn get(&self, key: &K) -> Option<&V> {
        self.rows.get(key)
    }

    pub(super) fn has(&self, key: &K) -> bool {
        self.rows.contains_key(key)
    }

    pub(super) fn range(&self, range: impl RangeBounds<K>) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        self.rows.range(range)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        self.rows.values()
    }

    /// Writes a row, new or not.
    pub(super) fn put(&mut self, key: K, value: V) {
        let old = self.rows.insert(key.clone(), value);
        self.before.push((key, old));
    }

    /// Removes a row, if it is there.
    pub(super) fn remove(&mut self, key: &K) {
        let old = self.rows.remove(key);
        self.before.push((key.clone(), old));
    }

    /// Removes rows for good: not part of any commit.
    pub(super) fn retain(&mut self, keep: impl FnMut(&K, &mut V) -> bool) -> u64 {
        let count = self.rows.len();
        self.rows.retain(keep);
        (count - self.rows.len()) as u64
    }

    /// The commit holds.
    pub(super) fn keep(&mut self) {
        self.before.clear();
    }

    /// The commit does not hold: the newest change is taken back first.
    pub(super) fn undo(&mut self) {
        while let Some((key, old)) = self.before.pop() {
            match old {
                Some(value) => self.rows.insert(key, value),
                None => self.rows.remove(&key),
            };
        }
    }
}

impl<I: Ord + Clone, V: Clone> Table<(Realm, I), V> {
    /// The rows of one realm, by key.
    pub(super) fn of(&self, realm: &Realm) -> impl DoubleEndedIterator<Item = &V> {
        self.rows.iter().filter(move |((of, _), _)| of == realm).map(|(_, row)| row)
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn undo_restores_rows_that_were_written_twice() {
        let mut table = Table::default();
        table.put(1, "kept");
        table.keep();
        table.put(1, "changed");
        table.put(1, "changed again");
        table.put(2, "new");
        table.undo();
        assert_eq!(table.range(..).collect::<Vec<_>>(), [(&1, &"kept")]);
    }

    #[test]
    fn undo_restores_rows_that_were_removed() {
        let mut table = Table::default();
        table.put(1, "kept");
        table.keep();
        table.remove(&1);
        table.remove(&1);
        table.remove(&2);
        table.undo();
        assert_eq!(table.range(..).collect::<Vec<_>>(), [(&1, &"kept")]);
    }
}
