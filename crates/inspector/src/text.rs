//! Numbers, times and ids as a person reads them. What is not known is "—", never 0.

use cardwire_model::Timestamp;

/// Stands for what is not known.
pub const UNKNOWN: &str = "—";

/// `1,234`; from a hundred thousand on `812k` and `1.94M`.
pub fn count(number: u64) -> String {
    match number {
        0..100_000 => grouped(number),
        100_000..1_000_000 => format!("{}k", number / 1_000),
        _ => format!("{:.2}M", number as f64 / 1e6),
    }
}

/// A whole number with commas.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Dollars from millionths: four places below a dollar, two from there on.
pub fn money(micros: Option<u64>) -> String {
    match micros {
        None => UNKNOWN.to_owned(),
        Some(micros) if micros < 1_000_000 => format!("${:.4}", micros as f64 / 1e6),
        Some(micros) => format!("${:.2}", micros as f64 / 1e6),
    }
}

/// How long something took.
pub fn duration(micros: i64) -> String {
    let seconds = micros.max(0) as f64 / 1e6;
    match seconds {
        ..0.0995 => format!("{:.0} ms", seconds * 1e3),
        ..99.95 => format!("{seconds:.1} s"),
        ..5_400.0 => format!("{:.0} min", seconds / 60.0),
        ..172_800.0 => format!("{:.0} h", seconds / 3_600.0),
        _ => format!("{:.0} days", seconds / 86_400.0),
    }
}

/// `4 minutes ago`.
pub fn ago(then: Timestamp, now: Timestamp) -> String {
    let seconds = (now.micros() - then.micros()) / 1_000_000;
    let (number, unit) = match seconds {
        ..5 => return "just now".to_owned(),
        5..90 => (seconds, "second"),
        90..5_400 => (seconds / 60, "minute"),
        5_400..172_800 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{number} {unit}{} ago", if number == 1 { "" } else { "s" })
}

/// An id shortened in the middle, so that two of the same moment differ.
pub fn short(id: &str) -> String {
    let plain = id.split_once('_').map_or(id, |(_, rest)| rest);
    match (plain.get(..4), plain.len().checked_sub(4).and_then(|from| plain.get(from..))) {
        (Some(first), Some(last)) if plain.len() > 12 => format!("{first}…{last}"),
        _ => id.to_owned(),
    }
}

/// The beginning of a text, which says that it was cut.
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => {
            format!("{} … ({} characters in all)", &text[..end], grouped(text.chars().count() as u64))
        }
        None => text.to_owned(),
    }
}

/// The first line, cut at so many characters.
pub fn first_line(text: &str, most: usize) -> String {
    let line = text.trim_start().lines().next().unwrap_or_default();
    let mut cut: String = line.chars().take(most).collect();
    if cut.len() < text.trim().len() {
        cut.push('…');
    }
    cut
}

/// An agent's name as people know it: one that was made for a fork has its profile's box in its name.
pub fn agent(id: &str) -> String {
    match id.split_once('_') {
        Some((first, rest)) if is_hex(first) && is_hex(rest) => short(rest),
        _ => id.to_owned(),
    }
}

fn is_hex(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// `one card`, `3 cards`.
pub fn plural(number: u64, one: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        _ => format!("{} {one}s", grouped(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IN-08
    #[test]
    fn numbers_and_times_are_short_and_exact_enough() {
        assert_eq!(
            [0, 999, 1_000, 99_999, 100_000, 1_940_000].map(count),
            ["0", "999", "1,000", "99,999", "100k", "1.94M"]
        );
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(
            [None, Some(0), Some(41_200), Some(3_180_000)].map(money),
            ["—", "$0.0000", "$0.0412", "$3.18"]
        );
        let micros = [500, 24_000_000, 1_080_000_000, 7_200_000_000, 400_000_000_000];
        assert_eq!(micros.map(duration), ["0 ms", "24.0 s", "18 min", "2 h", "5 days"]);
        let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
        assert_eq!(
            [0, 7, 240, 7_200].map(|then| ago(at(0), at(then))),
            ["just now", "7 seconds ago", "4 minutes ago", "2 hours ago"]
        );
        assert_eq!(short("turn_01a1f35f00000000000000000000d14d"), "01a1…d14d");
        assert_eq!(
            (short("principal"), first_line("a b\nc", 9)),
            ("principal".to_owned(), "a b…".to_owned())
        );
        let made = format!("{}_{}", "a".repeat(32), "01a1f35f00000000000000000000d14d");
        assert_eq!((agent(&made), agent("principal")), ("01a1…d14d".to_owned(), "principal".to_owned()));
    }
}
