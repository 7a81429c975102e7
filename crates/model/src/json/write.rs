//! From a tree to canonical text, without a detour over other text.

use super::{
    number,
    parse::{key_order, push_string},
};
use crate::limits;
use serde_json::Value;

/// The canonical text of a value; `None` for what has none, which [`super::parse`] refuses with its place.
pub(super) fn canonical(value: &Value) -> Option<String> {
    let mut out = String::with_capacity(64);
    write(value, limits::JSON_DEPTH, &mut out)?;
    Some(out)
}

/// The canonical text of a string.
pub(super) fn string(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 2);
    write_string(text, &mut out)?;
    Some(out)
}

/// The canonical text of the value that is nearest to this one and has one.
pub(super) fn nearest(value: &Value) -> String {
    let mut out = String::with_capacity(64);
    let representable = mended(value, limits::JSON_DEPTH);
    if write(&representable, limits::JSON_DEPTH, &mut out).is_none() {
        unreachable!("a mended value has a canonical text");
    }
    out
}

fn mended(value: &Value, depth: usize) -> Value {
    match value {
        Value::Null | Value::Bool(_) => value.clone(),
        // No number of a tree is refused; if one were, its digits would be kept.
        Value::Number(number) => match number::canonical(&number.to_string()) {
            Ok(_) => value.clone(),
            Err(_) => Value::String(number.to_string()),
        },
        Value::String(text) => Value::String(without_nul(text)),
        Value::Array(_) | Value::Object(_) if depth == 0 => Value::String(without_nul(&value.to_string())),
        Value::Array(items) => items.iter().map(|item| mended(item, depth - 1)).collect(),
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| (without_nul(key), mended(value, depth - 1));
            Value::Object(members.iter().map(member).collect())
        }
    }
}

fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// `depth` is how many levels may still be entered.
fn write(value: &Value, depth: usize, out: &mut String) -> Option<()> {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(&number::canonical(&number.to_string()).ok()?),
        Value::String(text) => write_string(text, out)?,
        Value::Array(items) => {
            let depth = depth.checked_sub(1)?;
            let mut before = '[';
            for item in items {
                out.push(before);
                write(item, depth, out)?;
                before = ',';
            }
            out.push_str(if before == '[' { "[]" } else { "]" });
        }
        Value::Object(members) => {
            let depth = depth.checked_sub(1)?;
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_by(|(a, _), (b, _)| key_order(a, b));
            let mut before = '{';
            for (key, value) in members {
                out.push(before);
                write_string(key, out)?;
                out.push(':');
                write(value, depth, out)?;
                before = ',';
            }
            out.push_str(if before == '{' { "{}" } else { "}" });
        }
    }
    Some(())
}

fn write_string(text: &str, out: &mut String) -> Option<()> {
    if text.contains('\0') {
        return None;
    }
    push_string(out, text);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::{super::parse::canonicalise, *};
    use serde_json::json;

    fn nested(levels: usize) -> Value {
        (0..levels).fold(
            json!(1),
            |inner, level| if level % 2 == 0 { json!([inner]) } else { json!({ "k": inner }) },
        )
    }

    /// CB-20: a tree has the same text as its own text has.
    #[test]
    fn a_tree_is_written_as_its_text_is_read() {
        let trees = [
            json!(null),
            json!([true, false, null, [], {}, "", "a\"\\\n\u{1}\u{1f600}"]),
            json!([0, -1, u64::MAX, i64::MIN, 1.0, 1.5, -0.0, 1e21, 1e-7, 123_456_789_012_345_678_u64]),
            json!({ "b": 1, "a": { "d": [1, 2], "c": {} }, "": "x" }),
            json!({ "\u{20ac}": 1, "\r": 2, "\u{fb33}": 3, "1": 4, "\u{1f600}": 5, "\u{80}": 6, "\u{f6}": 7 }),
            nested(limits::JSON_DEPTH),
        ];
        for tree in trees {
            assert_eq!(canonical(&tree), canonicalise(&tree.to_string(), "value").ok(), "{tree}");
            assert!(canonical(&tree).is_some(), "{tree}");
        }
        assert_eq!(string("a\tb").as_deref(), Some(r#""a\tb""#));
    }

    /// F-27
    #[test]
    fn what_has_no_canonical_text_is_told_as_nearly_as_can_be() {
        let told = |tree: &Value| nearest(tree);
        assert_eq!(told(&json!({ "a\0": ["x\0y", 1] })), "{\"a\u{fffd}\":[\"x\u{fffd}y\",1]}");
        assert_eq!(told(&nested(limits::JSON_DEPTH)), canonical(&nested(limits::JSON_DEPTH)).unwrap());
        let deeper = told(&nested(limits::JSON_DEPTH + 2));
        assert!(canonicalise(&deeper, "value").is_ok() && deeper.contains(r#"{\"k\":[1]}"#), "{deeper}");
    }

    /// SEC-07, SEC-08
    #[test]
    fn what_has_no_canonical_text_is_not_written() {
        for tree in [json!("\0"), json!({ "a\0": 1 }), json!([["\0"]]), nested(limits::JSON_DEPTH + 1)] {
            assert_eq!(canonical(&tree), None);
            assert!(canonicalise(&tree.to_string(), "value").is_err());
        }
        assert_eq!(string("\0"), None);
    }
}
