//! What two requests have in common, by layer and card (RP-03).

use cardwire_model::{CardId, Layer};
use std::collections::HashMap;

/// A card or block of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffEntry {
    /// In which layer.
    pub layer: Layer,
    /// Which.
    pub card_id: CardId,
    /// What it costs.
    pub tokens: u32,
}

/// The difference of two requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff {
    /// Every layer that either has, in order.
    pub layers: Vec<LayerDiff>,
    /// Cards that both have, in different layers.
    pub moved: Vec<Moved>,
    /// Tokens of the left request.
    pub tokens_left: u64,
    /// Tokens of the right request.
    pub tokens_right: u64,
    /// Right minus left.
    pub delta: i64,
}

/// The difference of one layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerDiff {
    /// Which.
    pub layer: Layer,
    /// What only the right request has, in its order.
    pub added: Vec<DiffEntry>,
    /// What only the left request has, in its order.
    pub removed: Vec<DiffEntry>,
    /// How many of the right request's cards the left one has too, wherever they stood there.
    pub kept: u32,
    /// Tokens of the layer on the left.
    pub tokens_left: u64,
    /// Tokens of the layer on the right.
    pub tokens_right: u64,
    /// Right minus left.
    pub delta: i64,
}

/// A card that changed its layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved {
    /// Which.
    pub card_id: CardId,
    /// Where it was.
    pub from: Layer,
    /// Where it is.
    pub to: Layer,
}

/// Compares two requests. A card that only moved is kept.
pub fn diff(left: &[DiffEntry], right: &[DiffEntry]) -> Diff {
    let mut layers: Vec<LayerDiff> = Layer::ALL.iter().copied().map(LayerDiff::of).collect();
    let mut there: HashMap<CardId, Vec<Layer>> = HashMap::with_capacity(left.len());
    // Taken from the end, so that repeats are matched in order.
    for entry in left.iter().rev() {
        there.entry(entry.card_id).or_default().push(entry.layer);
        layers[entry.layer as usize].tokens_left += u64::from(entry.tokens);
    }
    let mut moved = vec![];
    for entry in right {
        let layer = &mut layers[entry.layer as usize];
        layer.tokens_right += u64::from(entry.tokens);
        match there.get_mut(&entry.card_id).and_then(Vec::pop) {
            None => layer.added.push(*entry),
            Some(from) => {
                layer.kept += 1;
                if from != entry.layer {
                    moved.push(Moved { card_id: entry.card_id, from, to: entry.layer });
                }
            }
        }
    }
    // What was not matched is gone. Matches were taken from the front, so the last of equal entries remain.
    for entry in left.iter().rev() {
        let rest = there.get_mut(&entry.card_id);
        if rest.and_then(Vec::pop).is_some() {
            layers[entry.layer as usize].removed.push(*entry);
        }
    }
    finish(layers, moved)
}

fn finish(mut layers: Vec<LayerDiff>, moved: Vec<Moved>) -> Diff {
    for layer in &mut layers {
        layer.removed.reverse();
        layer.delta = delta(layer.tokens_left, layer.tokens_right);
    }
    let tokens_left = layers.iter().map(|layer| layer.tokens_left).sum();
    let tokens_right = layers.iter().map(|layer| layer.tokens_right).sum();
    layers.retain(LayerDiff::is_something);
    Diff { layers, moved, tokens_left, tokens_right, delta: delta(tokens_left, tokens_right) }
}

fn delta(left: u64, right: u64) -> i64 {
    i64::try_from(i128::from(right) - i128::from(left)).unwrap_or(i64::MAX)
}

impl LayerDiff {
    const fn of(layer: Layer) -> Self {
        Self { layer, added: vec![], removed: vec![], kept: 0, tokens_left: 0, tokens_right: 0, delta: 0 }
    }

    fn is_something(&self) -> bool {
        !self.added.is_empty()
            || !self.removed.is_empty()
            || self.kept > 0
            || self.tokens_left > 0
            || self.tokens_right > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Layer::{Checkpoint, Knowledge, Turn};

    fn entry(layer: Layer, n: u128, tokens: u32) -> DiffEntry {
        DiffEntry { layer, card_id: CardId::from_uuid(uuid::Uuid::from_u128(n)), tokens }
    }

    fn numbers(entries: &[DiffEntry]) -> Vec<u128> {
        entries.iter().map(|entry| entry.card_id.uuid().as_u128()).collect()
    }

    /// RP-03
    #[test]
    fn a_diff_tells_by_layer_what_came_and_went_and_what_it_costs() {
        let left = [entry(Knowledge, 1, 50), entry(Checkpoint, 2, 10), entry(Checkpoint, 3, 20)];
        let right = [entry(Checkpoint, 2, 10), entry(Checkpoint, 4, 7), entry(Turn, 5, 1)];
        let diff = diff(&left, &right);
        let told: Vec<_> = diff
            .layers
            .iter()
            .map(|one| (one.layer, numbers(&one.added), numbers(&one.removed), one.kept, one.delta))
            .collect();
        let expected = [
            (Knowledge, vec![], vec![1], 0, -50),
            (Checkpoint, vec![4], vec![3], 1, -13),
            (Turn, vec![5], vec![], 0, 1),
        ];
        assert_eq!(told, expected);
        assert_eq!((diff.tokens_left, diff.tokens_right, diff.delta), (80, 18, -62));
        assert_eq!(diff.moved, []);
    }

    /// RP-03
    #[test]
    fn a_card_that_moved_is_kept() {
        let left = [entry(Checkpoint, 1, 1), entry(Checkpoint, 2, 1), entry(Turn, 3, 5)];
        let right = [entry(Checkpoint, 2, 1), entry(Checkpoint, 1, 1), entry(Checkpoint, 3, 5)];
        let diff = diff(&left, &right);
        assert!(diff.layers.iter().all(|layer| layer.added.is_empty() && layer.removed.is_empty()));
        assert_eq!(diff.layers.iter().map(|layer| layer.kept).collect::<Vec<_>>(), [3, 0]);
        let id = CardId::from_uuid(uuid::Uuid::from_u128(3));
        assert_eq!(diff.moved, [Moved { card_id: id, from: Turn, to: Checkpoint }]);
        assert_eq!(diff.delta, 0);
    }

    /// RP-03
    #[test]
    fn repeats_are_counted_one_by_one() {
        let one = entry(Turn, 1, 2);
        let diff = diff(&[one, one, one], &[one]);
        assert_eq!((diff.layers[0].kept, diff.layers[0].removed.len(), diff.delta), (1, 2, -4));
    }

    /// RP-03
    #[test]
    fn equal_requests_differ_in_nothing() {
        let same = [entry(Knowledge, 1, 50), entry(Turn, 2, 10)];
        let diff = diff(&same, &same);
        assert!(diff.layers.iter().all(|layer| layer.added.is_empty() && layer.removed.is_empty()));
        assert_eq!(diff.delta, 0);
    }
}
