//! Whether a text is a moment in the extended form of ISO 8601. Nothing is made of it: timestamps are kept as given, and
//! one without a zone is as good as another (HO-01).

/// `2026-01-04`, `2026-01-04T10:30`, `2026-01-04T10:30:00`, `…:00.123`, each time with or without `Z`, `+08:00`, `+0800`
/// or `+08`; a blank instead of the `T` is what Python prints.
pub(crate) fn is_moment(text: &str) -> bool {
    let Some((date, rest)) = text.split_at_checked(10) else { return false };
    is_date(date) && (rest.is_empty() || rest.strip_prefix(['T', 't', ' ']).is_some_and(is_time_with_zone))
}

fn is_date(text: &str) -> bool {
    let mut parts = text.split('-');
    let (Some(year), Some(month), Some(day), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let (Some(year), Some(month), Some(day)) = (digits(year, 4), digits(month, 2), digits(day, 2)) else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=days).contains(&day)
}

fn is_time_with_zone(text: &str) -> bool {
    if let Some(time) = text.strip_suffix(['Z', 'z']) {
        return is_time(time);
    }
    match text.rfind(['+', '-']) {
        Some(at) => is_time(&text[..at]) && is_offset(&text[at + 1..]),
        None => is_time(text),
    }
}

fn is_time(text: &str) -> bool {
    let (whole, fraction) = match text.split_once(['.', ',']) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text, None),
    };
    let parts: Vec<&str> = whole.split(':').collect();
    let below = |text: &str, bound: u32| digits(text, 2).is_some_and(|number| number < bound);
    let fraction_ok =
        |fraction: &str| !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    match parts[..] {
        [hour, minute] => below(hour, 24) && below(minute, 60) && fraction.is_none(),
        // 60 is a leap second.
        [hour, minute, second] => {
            below(hour, 24) && below(minute, 60) && below(second, 61) && fraction.is_none_or(fraction_ok)
        }
        _ => false,
    }
}

fn is_offset(text: &str) -> bool {
    let (hours, minutes) = match text.len() {
        2 => (text, "00"),
        4 if text.is_ascii() => text.split_at(2),
        5 => match text.split_once(':') {
            Some(parts) => parts,
            None => return false,
        },
        _ => return false,
    };
    digits(hours, 2).is_some_and(|hours| hours < 24) && digits(minutes, 2).is_some_and(|minutes| minutes < 60)
}

fn digits(text: &str, count: usize) -> Option<u32> {
    if text.len() != count || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
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
            "2026-01-04T10:30:00+24:00",
            "2026-01-04T10:30:00 Z",
            "2026-01-04T10",
            "２０２６-01-04",
            "2026-01-04T10:30:00+é0",
            "26-01-04T10:30:00",
        ];
        for text in bad {
            assert!(!is_moment(text), "{text}");
        }
    }
}
