//! What somebody may have meant by a name that is not known.

use crate::Invalid;

/// Names longer than this are compared with nothing.
const LONGEST: usize = 64;

/// The known name that is nearest to `name`, if it is near enough to be a slip: another case, another separator, or a
/// letter in three that is wrong, missing, doubled or in another place.
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let plain = plain(name);
    if plain.is_empty() || plain.len() > LONGEST {
        return None;
    }
    let most = (plain.len() / 3).clamp(1, 3);
    let near = known.into_iter().filter_map(|known| {
        let distance = distance(&plain, &self::plain(known));
        (distance <= most).then_some((distance, known))
    });
    near.min_by_key(|(distance, _)| *distance).map(|(_, known)| known)
}

impl Invalid {
    /// A member that nobody would read, because its name is none of the `known` ones.
    pub fn unknown(field: impl Into<String>, name: &str, known: &[&str]) -> Self {
        if crate::credential::is_secret_name(name) {
            return Self::field(field, crate::credential::WHERE_KEYS_GO);
        }
        let meant = nearest(name, known.iter().copied());
        let meant = meant.map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
        Self::field(field, format!("is not known{meant}"))
    }
}

/// A name without its separators, in small letters.
fn plain(name: &str) -> Vec<char> {
    let letters = name.chars().filter(|letter| !matches!(letter, '_' | '-' | ' '));
    letters.take(LONGEST + 1).flat_map(char::to_lowercase).collect()
}

/// How many letters have to be changed, added, removed or swapped with the next to make one of the other.
fn distance(one: &[char], other: &[char]) -> usize {
    let mut before: Vec<usize> = vec![];
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (row, letter) in one.iter().enumerate() {
        let mut now = vec![row + 1];
        for (column, wanted) in other.iter().enumerate() {
            let changed = last[column] + usize::from(letter != wanted);
            let mut least = changed.min(last[column + 1] + 1).min(now[column] + 1);
            if row > 0 && column > 0 && *letter == other[column - 1] && one[row - 1] == *wanted {
                least = least.min(before[column - 1] + 1);
            }
            now.push(least);
        }
        (before, last) = (last, now);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 5] = ["base_url", "model", "provider", "params", "key"];

    /// F-01
    #[test]
    fn a_slip_is_recognised_and_another_word_is_not() {
        for (name, meant) in [
            ("baseurl", "base_url"),
            ("base-url", "base_url"),
            ("BASE_URL", "base_url"),
            ("bsae_url", "base_url"),
            ("modle", "model"),
            ("provder", "provider"),
            ("keys", "key"),
        ] {
            assert_eq!(nearest(name, KNOWN), Some(meant), "{name}");
        }
        for name in ["", "colour", "headers", "x", &"base_url".repeat(20)] {
            assert_eq!(nearest(name, KNOWN), None, "{name}");
        }
    }

    /// F-01
    #[test]
    fn a_refusal_names_what_was_meant_or_says_where_keys_go() {
        let said = |name: &str| Invalid::unknown(format!("model/{name}"), name, &KNOWN).to_string();
        assert_eq!(said("baseurl"), "model/baseurl: is not known; did you mean `base_url`?");
        assert_eq!(said("colour"), "model/colour: is not known");
        assert!(said("api_key").contains("OPENAI_API_KEY"), "{}", said("api_key"));
    }
}
