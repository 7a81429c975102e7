//! Text that others wrote, made fit for one line of a terminal.

use serde_json::Value;

/// Shown instead of content that the kernel flagged (SEC-09).
pub(crate) const REDACTED: &str = "[redacted: looks like a credential]";

/// Without line breaks and without characters that steer a terminal or turn the reading direction.
pub(crate) fn clean(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\r' | '\t' => ' ',
        c if c.is_control() => '\u{fffd}',
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        c => c,
    };
    text.chars().map(shown).collect()
}

/// The same for text of many lines, which stay lines.
pub(crate) fn clean_lines(text: &str) -> String {
    text.lines().map(clean).collect::<Vec<_>>().join("\n")
}

/// At most `room` columns, with an ellipsis where something is missing.
pub(crate) fn cut(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mut left = room.saturating_sub(1);
    let fits = |c: &char| match left.checked_sub(columns(*c)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

/// A line as lines of at most `room` columns. Nothing is left out; lines end behind a blank where there is one.
pub(crate) fn wrapped(line: &str, room: usize) -> Vec<String> {
    let (mut lines, mut rest) = (vec![], line);
    while width(rest) > room {
        let (mut taken, mut end, mut blank) = (0, 0, None);
        for (at, c) in rest.char_indices() {
            taken += columns(c);
            if taken > room {
                break;
            }
            end = at + c.len_utf8();
            if c == ' ' && !rest[..at].trim().is_empty() {
                blank = Some(end);
            }
        }
        // A letter that is wider than the room has a line of its own.
        let end = blank.unwrap_or(end).max(rest.chars().next().map_or(0, char::len_utf8));
        let (line, behind) = rest.split_at(end);
        lines.push(line.to_owned());
        rest = behind;
    }
    if !rest.is_empty() || lines.is_empty() {
        lines.push(rest.to_owned());
    }
    lines
}

/// Columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// An estimate: the blocks of wide East Asian letters and of emoji.
fn columns(c: char) -> usize {
    let wide = matches!(c, '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}' | '\u{1f300}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}');
    if wide { 2 } else { 1 }
}

/// A word as a shell takes it: as it is where no shell would change it, else in quotes.
pub(crate) fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A number of things.
pub(crate) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// A value in a cell: text without quotes, nothing for null, JSON otherwise.
pub(crate) fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// A row of the members with these names.
pub(crate) fn cells<const N: usize>(names: [&'static str; N]) -> impl Fn(&Value) -> Vec<String> {
    move |item: &Value| names.map(|name| cell(&item[name])).to_vec()
}

/// The content of a card, unless it is not for everybody's eyes.
pub(crate) fn content(card: &Value) -> String {
    if card["suspected_credential"] == true { REDACTED.to_owned() } else { cell(&card["content"]) }
}

/// What a card says, for people to read.
pub(crate) fn words(card: &Value) -> String {
    if card["suspected_credential"] == true {
        return REDACTED.to_owned();
    }
    clean_lines(&cardwire_team::text_of(&card["content"]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_cut_text_fits_its_room() {
        assert_eq!(cut("hello", 5), "hello");
        assert_eq!(cut("hello!", 5), "hell…");
        assert_eq!(cut("世界你好", 5), "世界…");
        assert!(width(&cut("世界你好", 4)) <= 4);
    }

    #[test]
    fn a_line_is_wrapped_and_nothing_of_it_is_lost() {
        assert_eq!(wrapped("", 5), [""]);
        assert_eq!(wrapped("hello", 5), ["hello"]);
        assert_eq!(wrapped("one two three", 8), ["one two ", "three"]);
        assert_eq!(wrapped("   abcdefgh", 6), ["   abc", "defgh"]);
        assert_eq!(wrapped("世界你好", 5), ["世界", "你好"]);
        assert_eq!(wrapped("世界", 1), ["世", "界"]);
    }

    #[test]
    fn a_word_for_a_shell_is_quoted_only_where_it_must_be() {
        for (word, quoted) in [
            ("team.yaml", "team.yaml"),
            ("http://127.0.0.1:7117", "http://127.0.0.1:7117"),
            ("größe", "größe"),
            ("", "''"),
            ("my team.yaml", "'my team.yaml'"),
            ("$HOME", "'$HOME'"),
            ("it's", r"'it'\''s'"),
        ] {
            assert_eq!(shell_word(word), quoted);
        }
    }

    #[test]
    fn nothing_that_steers_a_terminal_is_left() {
        assert_eq!(clean("a\nb\u{1b}[31m\u{202e}c"), "a b\u{fffd}[31m\u{fffd}c");
        assert_eq!(clean_lines("a\r\nb\u{1b}[31m\n"), "a\nb\u{fffd}[31m");
    }

    /// SEC-09
    #[test]
    fn a_flagged_card_shows_no_content() {
        assert_eq!(content(&json!({ "content": "k", "suspected_credential": true })), REDACTED);
        assert_eq!(words(&json!({ "content": "k", "suspected_credential": true })), REDACTED);
        assert_eq!(words(&json!({ "content": "k\nl", "suspected_credential": false })), "k\nl");
        assert_eq!(content(&json!({ "content": { "a": 1 } })), r#"{"a":1}"#);
        assert_eq!(content(&json!({ "content": "k" })), "k");
    }
}
