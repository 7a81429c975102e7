//! Patterns of JSON Schema are those of ECMA-262; here they are written as our engine reads them. What cannot be matched
//! in linear time (look-around, back-references) is refused, and so is what ECMA-262 does not have.

use std::{iter::Peekable, str::Chars};

const DIGIT: &str = "0-9";
const WORD: &str = "A-Za-z0-9_";
const SPACE: &str = r"\t\n\x0B\x0C\r\x20\x{A0}\x{FEFF}\p{Zs}\x{2028}\x{2029}";
const LINE_END: &str = r"\n\r\x{2028}\x{2029}";

/// The same pattern in the syntax of `regex_syntax`, or why there is none.
pub(super) fn translated(pattern: &str) -> Result<String, String> {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut rest = pattern.chars().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            '\\' => {
                escape(&mut rest, false, &mut out)?;
            }
            '[' => class(&mut rest, &mut out)?,
            '.' => out.push_str(&format!("[^{LINE_END}]")),
            '(' => {
                check_group(rest.clone())?;
                out.push('(');
            }
            other => out.push(other),
        }
    }
    Ok(out)
}

/// Of what begins with `(?` only plain and named groups are known to both.
fn check_group(mut rest: Peekable<Chars<'_>>) -> Result<(), String> {
    if rest.next_if_eq(&'?').is_none() {
        return Ok(());
    }
    match (rest.next(), rest.next()) {
        (Some('=' | '!'), _) | (Some('<'), Some('=' | '!')) => {
            Err("look-around cannot be checked in linear time and is not supported".to_owned())
        }
        (Some(':' | '<'), _) => Ok(()),
        (Some(other), _) => Err(format!("a group cannot begin with `(?{other}`")),
        (None, _) => Err("ends within a group".to_owned()),
    }
}

/// What stood last in a class: `-` means a range only after a single character.
#[derive(Clone, Copy, PartialEq)]
enum Last {
    Nothing,
    Character,
    RangeSign,
}

/// A class in square brackets, after the first. Our engine would read `[`, `&&`, `--` and `~~` in it as operators.
fn class(rest: &mut Peekable<Chars<'_>>, out: &mut String) -> Result<(), String> {
    let negated = rest.next_if_eq(&'^').is_some();
    if rest.next_if_eq(&']').is_some() {
        // Nothing, and everything.
        out.push_str(if negated { r"[\s\S]" } else { r"[^\s\S]" });
        return Ok(());
    }
    out.push_str(if negated { "[^" } else { "[" });
    let mut last = Last::Nothing;
    while let Some(letter) = rest.next() {
        let is_single = match letter {
            ']' => {
                out.push(']');
                return Ok(());
            }
            '-' if last == Last::Character && rest.peek().is_some_and(|next| *next != ']') => {
                out.push('-');
                last = Last::RangeSign;
                continue;
            }
            '\\' => escape(rest, true, out)?,
            '[' | '&' | '~' | '-' | '^' => {
                out.push('\\');
                out.push(letter);
                true
            }
            other => {
                out.push(other);
                true
            }
        };
        last = if is_single && last != Last::RangeSign { Last::Character } else { Last::Nothing };
    }
    Err("ends within square brackets".to_owned())
}

/// What follows a backslash. Tells whether it is a single character.
fn escape(rest: &mut Peekable<Chars<'_>>, in_class: bool, out: &mut String) -> Result<bool, String> {
    let Some(letter) = rest.next() else { return Err("ends with a backslash".to_owned()) };
    let class = |out: &mut String, negated: bool, members: &str| {
        out.push_str(if negated { "[^" } else { "[" });
        out.push_str(members);
        out.push(']');
        Ok(false)
    };
    match letter {
        'd' | 'D' => return class(out, letter == 'D', DIGIT),
        'w' | 'W' => return class(out, letter == 'W', WORD),
        's' | 'S' => return class(out, letter == 'S', SPACE),
        'p' | 'P' => return property(rest, letter, out),
        'b' if in_class => out.push_str(r"\x08"),
        'b' | 'B' if !in_class => {
            out.push_str(if letter == 'b' { r"(?-u:\b)" } else { r"(?-u:\B)" });
            return Ok(false);
        }
        't' | 'n' | 'r' | 'f' | 'v' => {
            out.push('\\');
            out.push(letter);
        }
        'c' => {
            let control = rest.next().filter(char::is_ascii_alphabetic);
            let control = control.ok_or("`\\c` is followed by a letter")?;
            push_code(out, u32::from(control) % 32);
        }
        '0' if !rest.peek().is_some_and(char::is_ascii_digit) => push_code(out, 0),
        '0'..='9' | 'k' => {
            return Err("back-references cannot be checked in linear time and are not supported".to_owned());
        }
        'x' => push_code(out, hex(rest, 2)?),
        'u' => push_code(out, code_point(rest)?),
        'A'..='Z' | 'a'..='z' => return Err(format!("`\\{letter}` is not known")),
        // `\<` and `\>` mean something else to our engine.
        other if other.is_ascii_punctuation() && !matches!(other, '<' | '>' | '_') => {
            out.push('\\');
            out.push(other);
        }
        other => out.push(other),
    }
    Ok(true)
}

/// `\p{Letter}` is the same in both.
fn property(rest: &mut Peekable<Chars<'_>>, letter: char, out: &mut String) -> Result<bool, String> {
    let wrong = || format!("`\\{letter}` is followed by a name in braces");
    rest.next_if_eq(&'{').ok_or_else(wrong)?;
    out.push('\\');
    out.push(letter);
    out.push('{');
    for letter in rest.by_ref() {
        out.push(letter);
        if letter == '}' {
            return Ok(false);
        }
    }
    Err(wrong())
}

/// `\u0041`, `\u{41}`, or two halves of one character.
fn code_point(rest: &mut Peekable<Chars<'_>>) -> Result<u32, String> {
    const HALVES: &str = "`\\u` names half a character";
    if rest.next_if_eq(&'{').is_some() {
        let digits: String = rest.by_ref().take_while(|letter| *letter != '}').collect();
        return u32::from_str_radix(&digits, 16)
            .map_err(|_| "`\\u{` is followed by hexadecimal digits".to_owned());
    }
    let first = hex(rest, 4)?;
    match first {
        0xD800..0xDC00 => {
            if rest.next() != Some('\\') || rest.next() != Some('u') {
                return Err(HALVES.to_owned());
            }
            match hex(rest, 4)? {
                second @ 0xDC00..0xE000 => Ok(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)),
                _ => Err(HALVES.to_owned()),
            }
        }
        0xDC00..0xE000 => Err(HALVES.to_owned()),
        other => Ok(other),
    }
}

fn hex(rest: &mut Peekable<Chars<'_>>, digits: usize) -> Result<u32, String> {
    let text: String = rest.by_ref().take(digits).collect();
    let is_hex = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let code = u32::from_str_radix(&text, 16).ok().filter(|_| is_hex);
    code.ok_or_else(|| format!("an escape is followed by {digits} hexadecimal digits"))
}

fn push_code(out: &mut String, code: u32) {
    out.push_str(&format!(r"\x{{{code:X}}}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_written_as_our_engine_reads_them() {
        for (pattern, expected) in [
            ("^[a-z]+$", "^[a-z]+$"),
            (r"^\d\W$", "^[0-9][^A-Za-z0-9_]$"),
            (r"[\d-]", r"[[0-9]\-]"),
            (r"[\w.-]", r"[[A-Za-z0-9_].\-]"),
            ("[a-]", r"[a\-]"),
            ("[+--]", r"[+-\-]"),
            ("[a-z-9]", r"[a-z\-9]"),
            ("[[&&~~]", r"[\[\&\&\~\~]"),
            ("[]a[^]", r"[^\s\S]a[\s\S]"),
            (r"\cA\0\x41\u0041\u{41}\ud83d\ude00", r"\x{1}\x{0}\x{41}\x{41}\x{41}\x{1F600}"),
            (r"[\b]\b\/\<\-", r"[\x08](?-u:\b)\/<\-"),
            (r"\p{Letter}(?:a)(?<b>c)", r"\p{Letter}(?:a)(?<b>c)"),
            ("é", "é"),
        ] {
            assert_eq!(translated(pattern).as_deref(), Ok(expected), "{pattern}");
        }
        assert_eq!(translated(".").unwrap(), format!("[^{LINE_END}]"));
    }

    #[test]
    fn what_cannot_be_matched_in_linear_time_or_is_not_ecma_is_refused() {
        for (pattern, why) in [
            ("(?=a)", "look-around"),
            ("(?!a)", "look-around"),
            ("(?<=a)", "look-around"),
            ("(?<!a)", "look-around"),
            (r"(a)\1", "back-references"),
            (r"\k<a>", "back-references"),
            ("(?i)a", "(?i"),
            (r"\Z", r"\Z"),
            ("[a", "square brackets"),
            ("\\", "backslash"),
            (r"\p{L", "name in braces"),
            (r"\ud83d", "half a character"),
            (r"\xg1", "hexadecimal"),
        ] {
            assert!(translated(pattern).unwrap_err().contains(why), "{pattern}");
        }
    }
}
