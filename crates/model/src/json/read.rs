//! From JSON text to typed values, with the field named in every refusal (API-06, SEC-08).

use super::{BODY, objects::Objects, place};
use crate::{Invalid, nearest};
use serde::de::DeserializeOwned;
use serde_path_to_error::Segment;

/// Reads what somebody sent. An object is an object at every depth, and `whole` is what the text as a whole is called.
pub fn read<T: DeserializeOwned>(text: &str, whole: &str) -> Result<T, Invalid> {
    // To know at every moment where one is takes longer than to read; only what is wrong is read so.
    let mut reader = serde_json::Deserializer::from_str(text);
    if let Ok(value) = T::deserialize(Objects(&mut reader))
        && reader.end().is_ok()
    {
        return Ok(value);
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(Objects(&mut reader)).map_err(|error| {
        let mut steps: Vec<String> = error.path().iter().filter_map(step).collect();
        let mut reason = reason(error.inner());
        let missing = reason.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
        if let Some(name) = missing {
            steps.push(name.to_owned());
            reason = "is required".to_owned();
        }
        Invalid::field(if steps.is_empty() { whole.to_owned() } else { place(BODY, steps) }, reason)
    })?;
    reader.end().map_err(|error| Invalid::field(whole, reason(&error)))?;
    Ok(value)
}

/// Where a text ends before a name does, only what is around it is known.
fn step(segment: &Segment) -> Option<String> {
    match segment {
        Segment::Seq { index } => Some(index.to_string()),
        Segment::Map { key } => Some(key.clone()),
        Segment::Enum { variant } => Some(variant.clone()),
        Segment::Unknown => None,
    }
}

/// serde_json's words without the position, which says little about a body that no person typed.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = match text.rfind(" at line ") {
        Some(at) => &text[..at],
        None => &text,
    };
    if let Some(meant) = meant(text) {
        return format!("{text}; did you mean `{meant}`?");
    }
    // What a type is called here means nothing to a client.
    match text.rsplit_once(", expected ") {
        Some((found, kind)) if kind.starts_with("struct ") => format!("{found}, expected an object"),
        Some((found, "u64" | "u32" | "u16" | "u8" | "usize" | "i64" | "i32" | "i16")) => {
            format!("{found}, expected a whole number")
        }
        Some((found, "f64" | "f32")) => format!("{found}, expected a number"),
        Some(_) | None => text.to_owned(),
    }
}

/// The member that an unknown one is nearest to, of those that serde_json's words tell.
fn meant(text: &str) -> Option<&str> {
    let (name, rest) = text.strip_prefix("unknown field `")?.split_once('`')?;
    nearest(name, rest.split('`').skip(1).step_by(2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::{Value, value::RawValue};
    use std::collections::BTreeMap;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        #[serde(default)]
        inner: Option<Inner>,
        #[serde(default)]
        list: Vec<Inner>,
        #[serde(default)]
        named: BTreeMap<String, Inner>,
        #[serde(default)]
        any: Option<Value>,
        #[serde(default)]
        raw: Option<Box<RawValue>>,
        #[serde(default)]
        kind: Option<Kind>,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        #[serde(default)]
        n: Option<i64>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        Plain,
        With { n: i64 },
    }

    /// F-01
    #[test]
    fn a_member_that_is_misspelt_is_told_as_it_is_spelt() {
        let refused = |text: &str| read::<Outer>(text, "body").unwrap_err().to_string();
        assert!(refused(r#"{"lst":[]}"#).ends_with("; did you mean `list`?"), "{}", refused(r#"{"lst":[]}"#));
        assert!(!refused(r#"{"colour":[]}"#).contains("did you mean"), "{}", refused(r#"{"colour":[]}"#));
    }

    /// API-06
    #[test]
    fn a_list_does_not_pass_for_an_object_at_any_depth() {
        let refused = |text: &str| read::<Outer>(text, "body").unwrap_err().to_string();
        let expected = "invalid type: sequence, expected an object";
        for (text, field) in [
            ("[]", "body"),
            (r#"{"inner":[]}"#, "inner"),
            (r#"{"inner":[1]}"#, "inner"),
            (r#"{"list":[{"n":1},[1]]}"#, "list/1"),
            (r#"{"named":{"a":[]}}"#, "named/a"),
        ] {
            assert_eq!(refused(text), format!("{field}: {expected}"), "{text}");
        }
        assert!(refused(r#"{"kind":{"with":[1]}}"#).starts_with("kind/with: "));
        assert_eq!(
            refused(r#"{"inner":{"n":"x"}}"#),
            r#"inner/n: invalid type: string "x", expected a whole number"#
        );
        assert_eq!(refused(r#"{"kind":{"with":{}}}"#), "kind/with/n: is required");
        // Only the whole has the name that it was given: what it stands in is in the text.
        assert_eq!(read::<Outer>("[]", "settings").unwrap_err().field_name(), "settings");
        assert_eq!(read::<Outer>(r#"{"inner":[]}"#, "settings").unwrap_err().field_name(), "inner");
        assert!(refused("{").starts_with("body: EOF"), "{}", refused("{"));
        assert!(refused(r#"{"inner":{"#).starts_with("inner: EOF"), "{}", refused(r#"{"inner":{"#));
    }

    #[test]
    fn whatever_else_there_is_is_read_as_before() {
        let text = r#"{"inner":{"n":1},"list":[{},{"n":2}],"named":{"a":{}},"any":[1.5,{"b":[]}],"raw":[ 1, 2 ],"kind":{"with":{"n":3}}}"#;
        let read_text = read::<Outer>(text, "body").unwrap();
        assert_eq!(read_text.inner.unwrap().n, Some(1));
        assert_eq!(read_text.list[1].n, Some(2));
        assert_eq!(read_text.named["a"].n, None);
        assert_eq!(read_text.any.unwrap().to_string(), r#"[1.5,{"b":[]}]"#);
        assert_eq!(read_text.raw.unwrap().get(), "[ 1, 2 ]");
        assert!(matches!(read_text.kind, Some(Kind::With { n: 3 })));
        assert!(matches!(read::<Outer>(r#"{"kind":"plain"}"#, "body").unwrap().kind, Some(Kind::Plain)));
        assert!(read::<Outer>("{} x", "body").unwrap_err().to_string().starts_with("body: trailing"));
    }
}
