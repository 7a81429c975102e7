//! One pass from JSON text to canonical text.

use super::{number, place};
use crate::{Invalid, limits};
use std::{borrow::Cow, cmp::Ordering};

pub(super) fn canonicalise(text: &str, field: &str) -> Result<String, Invalid> {
    let mut parser = Parser { text, at: 0, out: String::with_capacity(text.len()), path: vec![], field };
    parser.value()?;
    parser.blanks();
    if parser.at < text.len() { Err(parser.error("unexpected text after the value")) } else { Ok(parser.out) }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    out: String,
    /// The way to the current value; its length is the nesting depth.
    path: Vec<Step<'a>>,
    field: &'a str,
}

/// One step on the way to a value.
enum Step<'a> {
    Key(Cow<'a, str>),
    Index(usize),
}

impl Step<'_> {
    fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Key(key) => Cow::Borrowed(key),
            Self::Index(index) => Cow::Owned(index.to_string()),
        }
    }
}

impl<'a> Parser<'a> {
    fn error(&self, reason: &str) -> Invalid {
        let pointer = place(self.field, self.path.iter().map(Step::text));
        Invalid::field(pointer, reason)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Result<(), Invalid> {
        self.blanks();
        match self.peek() {
            Some(b'{') => self.object(),
            Some(b'[') => self.array(),
            Some(b'"') => {
                let text = self.string()?;
                self.write_string(&text);
                Ok(())
            }
            Some(b't') => self.literal("true"),
            Some(b'f') => self.literal("false"),
            Some(b'n') => self.literal("null"),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => Err(self.error("not JSON")),
            None => Err(self.error("not JSON: the text ends too early")),
        }
    }

    fn literal(&mut self, word: &str) -> Result<(), Invalid> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.error("not JSON"));
        }
        self.at += word.len();
        self.out.push_str(word);
        Ok(())
    }

    fn number(&mut self) -> Result<(), Invalid> {
        let rest = &self.text[self.at..];
        let end = rest
            .bytes()
            .position(|b| !matches!(b, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9'))
            .unwrap_or(rest.len());
        let text = number::canonical(&rest[..end]).map_err(|reason| self.error(reason))?;
        self.out.push_str(&text);
        self.at += end;
        Ok(())
    }

    /// Reads a string literal; borrowed when it has no escapes.
    fn string(&mut self) -> Result<Cow<'a, str>, Invalid> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut escaped = false;
        let mut end = start + 1;
        loop {
            end += plain_bytes(bytes.get(end..).unwrap_or_default());
            match bytes.get(end) {
                None => return Err(self.error("not JSON: a string does not end")),
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    end += 2;
                }
                Some(_) => return Err(self.error("not JSON: a control character in a string")),
            }
        }
        self.at = end + 1;
        if !escaped {
            return Ok(self.text[start + 1..end].into());
        }
        let text: String = serde_json::from_str(&self.text[start..=end])
            .map_err(|_| self.error("a bad escape or a lone surrogate in a string"))?;
        if text.contains('\0') {
            return Err(self.error("NUL (\\u0000) is not allowed in text"));
        }
        Ok(text.into())
    }

    fn write_string(&mut self, text: &str) {
        push_string(&mut self.out, text);
    }

    fn enter(&mut self) -> Result<(), Invalid> {
        if self.path.len() >= limits::JSON_DEPTH {
            return Err(self.error(&format!("nested deeper than {} levels", limits::JSON_DEPTH)));
        }
        self.path.push(Step::Key(Cow::Borrowed("")));
        Ok(())
    }

    fn step(&mut self, name: Step<'a>) {
        if let Some(last) = self.path.last_mut() {
            *last = name;
        }
    }

    fn array(&mut self) -> Result<(), Invalid> {
        self.enter()?;
        self.at += 1;
        self.out.push('[');
        self.blanks();
        if self.peek() != Some(b']') {
            for index in 0_usize.. {
                self.step(Step::Index(index));
                self.value()?;
                self.blanks();
                match self.peek() {
                    Some(b',') => {
                        self.at += 1;
                        self.out.push(',');
                    }
                    Some(b']') => break,
                    _ => return Err(self.error("not JSON: expected , or ]")),
                }
            }
        }
        self.at += 1;
        self.out.push(']');
        self.path.pop();
        Ok(())
    }

    fn object(&mut self) -> Result<(), Invalid> {
        self.enter()?;
        self.at += 1;
        let open = self.out.len();
        self.out.push('{');
        self.blanks();
        let mut members: Vec<Member<'a>> = vec![];
        if self.peek() != Some(b'}') {
            loop {
                members.push(self.member()?);
                match self.peek() {
                    Some(b',') => self.at += 1,
                    Some(b'}') => break,
                    _ => return Err(self.error("not JSON: expected , or }")),
                }
                self.out.push(',');
            }
        }
        self.at += 1;
        self.sort(open, members)?;
        self.out.push('}');
        self.path.pop();
        Ok(())
    }

    fn member(&mut self) -> Result<Member<'a>, Invalid> {
        self.blanks();
        if self.peek() != Some(b'"') {
            return Err(self.error("not JSON: expected a key"));
        }
        self.step(Step::Key(Cow::Borrowed("")));
        let key = self.string()?;
        if key.contains('\0') {
            return Err(self.error("NUL (\\u0000) is not allowed in a key"));
        }
        self.step(Step::Key(key.clone()));
        self.blanks();
        if self.peek() != Some(b':') {
            return Err(self.error("not JSON: expected :"));
        }
        self.at += 1;
        let start = self.out.len();
        self.write_string(&key);
        self.out.push(':');
        self.value()?;
        self.blanks();
        Ok(Member { key, start, end: self.out.len() })
    }

    /// Puts the members written since `open` in order. Input that is sorted already is left as it is.
    fn sort(&mut self, open: usize, mut members: Vec<Member<'a>>) -> Result<(), Invalid> {
        let ordered = members.windows(2).all(|pair| key_order(&pair[0].key, &pair[1].key) == Ordering::Less);
        if ordered {
            return Ok(());
        }
        members.sort_by(|a, b| key_order(&a.key, &b.key));
        if let Some(pair) = members.windows(2).find(|pair| pair[0].key == pair[1].key) {
            self.step(Step::Key(pair[0].key.clone()));
            return Err(self.error("duplicate key"));
        }
        let written = self.out.split_off(open);
        self.out.push('{');
        for (index, member) in members.iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            self.out.push_str(&written[member.start - open..member.end - open]);
        }
        Ok(())
    }
}

struct Member<'a> {
    key: Cow<'a, str>,
    start: usize,
    end: usize,
}

/// RFC 8785 orders keys by UTF-16 code units, which differs from UTF-8 order only beyond the basic plane.
pub(super) fn key_order(a: &str, b: &str) -> Ordering {
    if a.is_ascii() && b.is_ascii() { a.cmp(b) } else { a.encode_utf16().cmp(b.encode_utf16()) }
}

/// How many bytes at the start stand for themselves in a string literal.
fn plain_bytes(bytes: &[u8]) -> usize {
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
    bytes.iter().position(is_special).unwrap_or(bytes.len())
}

pub(super) fn push_string(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    loop {
        let at = plain_bytes(rest.as_bytes());
        out.push_str(&rest[..at]);
        let Some(special) = rest.as_bytes().get(at) else { break };
        match char::from(*special) {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control => out.push_str(&format!("\\u{:04x}", control as u32)),
        }
        rest = &rest[at + 1..];
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &str, expected: &str) {
        assert_eq!(canonicalise(input, "content").as_deref(), Ok(expected));
        assert_eq!(canonicalise(expected, "content").as_deref(), Ok(expected), "not stable");
    }

    fn check_error(input: &str, expected: &str) {
        assert_eq!(canonicalise(input, "content").map_err(|e| e.to_string()), Err(expected.to_owned()));
    }

    /// CB-20
    #[test]
    fn keys_are_sorted_and_blanks_dropped() {
        check(
            r#" { "b" : [ 1 , 2 ] , "a" : { "d" : null , "c" : true } } "#,
            r#"{"a":{"c":true,"d":null},"b":[1,2]}"#,
        );
        check("{}", "{}");
        check("[ ]", "[]");
        // The example of RFC 8785, section 3.2.3.
        check(
            "{\"\u{20ac}\":1,\"\\r\":2,\"\u{fb33}\":3,\"1\":4,\"\u{1f600}\":5,\"\u{80}\":6,\"\u{f6}\":7}",
            "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"\u{f6}\":7,\"\u{20ac}\":1,\"\u{1f600}\":5,\"\u{fb33}\":3}",
        );
    }

    /// CB-20
    #[test]
    fn strings_keep_their_characters_and_lose_needless_escapes() {
        check(r#""\u4e2d\u6587 \ud83d\ude00 \/ \u001F \"""#, "\"中文 😀 / \\u001f \\\"\"");
        check("\"e\u{301}\"", "\"e\u{301}\"");
    }

    /// CB-20
    #[test]
    fn what_cannot_be_kept_is_refused_with_its_place() {
        check_error(r#"{"a":{"k":1,"b":2,"k":3}}"#, "content/a/k: duplicate key");
        check_error(r#"{"a":["\u0000"]}"#, "content/a/0: NUL (\\u0000) is not allowed in text");
        check_error(r#"{"a\u0000":1}"#, "content/: NUL (\\u0000) is not allowed in text");
        check_error(r#"["\ud800"]"#, "content/0: a bad escape or a lone surrogate in a string");
        check_error(r#"["\udc00x"]"#, "content/0: a bad escape or a lone surrogate in a string");
        check_error("[1,2", "content/1: not JSON: expected , or ]");
        check_error("[1] x", "content: unexpected text after the value");
        check_error("[nul]", "content/0: not JSON");
        check_error("\"a\tb\"", "content: not JSON: a control character in a string");
    }

    /// SEC-07: JSON depth 64.
    #[test]
    fn nesting_stops_at_64() {
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(canonicalise(&nested(64), "content").is_ok());
        let error = canonicalise(&nested(65), "content").unwrap_err();
        assert!(error.to_string().ends_with("nested deeper than 64 levels"), "{error}");
        assert!(canonicalise(&"[".repeat(1_000_000), "content").is_err());
    }
}
