//! What a summary covers, told as ranges: a summary of a thousand messages does not list a thousand places (NF-12).

/// The half-open ranges that hold exactly these places, in order.
pub fn ranges(places: &[usize]) -> Vec<(u32, u32)> {
    // A box has far fewer places than a u32 has numbers, so none is passed over here.
    let mut places: Vec<u32> = places.iter().filter_map(|place| u32::try_from(*place).ok()).collect();
    places.sort_unstable();
    places.dedup();
    let mut ranges: Vec<(u32, u32)> = vec![];
    for place in places {
        match ranges.last_mut() {
            Some((_, end)) if *end == place => *end = place.saturating_add(1),
            Some(_) | None => ranges.push((place, place.saturating_add(1))),
        }
    }
    ranges
}

/// The reverse.
pub fn indices(ranges: &[(u32, u32)]) -> impl Iterator<Item = usize> {
    ranges.iter().flat_map(|(start, end)| *start..*end).filter_map(|place| usize::try_from(place).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn neighbours_are_one_range() {
        assert_eq!(ranges(&[]), []);
        assert_eq!(ranges(&[3]), [(3, 4)]);
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), [(0, 3), (5, 6), (7, 9)]);
        assert_eq!(ranges(&[2, 1, 1]), [(1, 3)]);
    }

    proptest! {
        #[test]
        fn ranges_are_read_back(places in prop::collection::btree_set(0_usize..200, 0..60)) {
            let places: Vec<_> = places.into_iter().collect();
            let ranges = ranges(&places);
            prop_assert_eq!(indices(&ranges).collect::<Vec<_>>(), places);
            prop_assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0), "as few as can be");
        }
    }
}
