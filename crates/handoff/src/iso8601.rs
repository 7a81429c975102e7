//! Whether a text is a moment in ISO 8601. The text itself is kept: a timestamp is stored as it was given, and one without
//! a zone is as good as another (HO-01).

use jiff::{Timestamp, civil};

/// A date, a date with a time, or a date with a time and an offset; a blank may stand for the `T`, as Python prints it.
pub(crate) fn is_moment(text: &str) -> bool {
    text.parse::<civil::DateTime>().is_ok() || text.parse::<Timestamp>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// HO-01
    #[test]
    fn moments_with_and_without_a_zone_are_told_from_other_text() {
        let good = [
            "2026-01-04T10:30:00",
            "2026-01-04T10:30:00Z",
            "2026-01-04T10:30:00.123456+08:00",
            "2026-01-04 10:30:00",
            "2026-01-04T10:30",
            "2026-01-04T10",
            "2026-01-04T10:30:00-0500",
            "2026-01-04T10:30:00+08",
            "2026-01-04",
            "2024-02-29T23:59:60Z",
        ];
        for text in good {
            assert!(is_moment(text), "{text}");
        }
        let bad = [
            "",
            "yesterday",
            "1767522600",
            "2026-02-29",
            "2026-13-01",
            "2026-01-00",
            "2026-01-04T",
            "2026-01-04T25:00:00",
            "2026-01-04T10:60:00",
            "2026-01-04T10:30:00.",
            "2026-01-04T10:30:00+",
            "2026-01-04T10:30:00+26:00",
            "2026-01-04T10:30:00 Z",
            "２０２６-01-04",
            "2026-01-04T10:30:00+é0",
            "26-01-04T10:30:00",
        ];
        for text in bad {
            assert!(!is_moment(text), "{text}");
        }
    }
}
