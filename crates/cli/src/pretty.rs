//! Indents JSON for a terminal without parsing it into values, so that numbers and the order of keys stay as they
//! were sent.

/// The same JSON over several lines. Control characters inside strings are escaped: a terminal obeys them.
pub(crate) fn indent(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let mut depth = 0;
    let mut chars = json.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                out.push('"');
                copy_string(&mut chars, &mut out);
            }
            '{' | '[' => {
                out.push(c);
                while chars.next_if(|next| next.is_ascii_whitespace()).is_some() {}
                if let Some(close) = chars.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(close);
                } else {
                    depth += 1;
                    new_line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = usize::saturating_sub(depth, 1);
                new_line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(',');
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => out.push(c),
        }
    }
    out
}

fn copy_string(chars: &mut impl Iterator<Item = char>, out: &mut String) {
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                out.push('\\');
                out.extend(chars.next());
            }
            '"' => {
                out.push('"');
                return;
            }
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_white_space_changes() {
        let json = r#"{"b":[1.0,{"x":"a,\"{b"},[]],"a":9223372036854775807,"e":{ }}"#;
        let expected = r#"{
  "b": [
    1.0,
    {
      "x": "a,\"{b"
    },
    []
  ],
  "a": 9223372036854775807,
  "e": {}
}"#;
        assert_eq!(indent(json), expected);
    }

    #[test]
    fn what_steers_a_terminal_is_escaped() {
        assert_eq!(indent("\"\u{9b}31m\""), r#""\u009b31m""#);
    }
}
