//! A moment: microseconds since the Unix epoch, the resolution that both backends keep exactly.

use crate::Invalid;
use std::{fmt, str::FromStr};

/// Microseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// From the stored number.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// The stored number.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// This moment moved by whole seconds; saturates far outside any calendar.
    pub const fn plus_seconds(self, seconds: i64) -> Self {
        Self(self.0.saturating_add(seconds.saturating_mul(1_000_000)))
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339 in UTC with microseconds, always the same width.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(moment) => write!(f, "{moment:.6}"),
            // Outside the calendar (a damaged row): still printable.
            Err(_) => write!(f, "{}us", self.0),
        }
    }
}

/// The calendar ends a day early, so that every moment of it can be told in every time zone.
const EXPECTED: &str = "expected RFC 3339 up to 9999-12-30T22:00:00Z, e.g. 2026-01-31T12:00:00Z";

impl FromStr for Timestamp {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        text.parse::<jiff::Timestamp>()
            .map(|moment| Self(moment.as_microsecond()))
            .map_err(|_| Invalid::field("time", EXPECTED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_and_parses_rfc_3339_with_microseconds() {
        let text = "2026-11-15T01:02:03.000400Z";
        let moment: Timestamp = text.parse().unwrap();
        assert_eq!(moment.to_string(), text);
        assert_eq!("2026-11-15T02:02:03.0004+01:00".parse::<Timestamp>().unwrap(), moment);
        assert!("yesterday".parse::<Timestamp>().is_err());
        assert!("9999-12-30T22:00:00Z".parse::<Timestamp>().is_ok());
        let late = "9999-12-31T23:59:59Z".parse::<Timestamp>().unwrap_err();
        assert!(late.to_string().contains("up to 9999-12-30T22:00:00Z"), "{late}");
    }
}
