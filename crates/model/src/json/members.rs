//! Walks the members of a canonical object without building a tree.

/// Iterates `(key, value text)` of an object in canonical text.
pub struct Members<'a> {
    rest: &'a str,
}

impl<'a> Members<'a> {
    pub(super) fn of(text: &'a str) -> Option<Self> {
        let rest = text.strip_prefix('{')?.strip_suffix('}')?;
        Some(Self { rest })
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (String, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let key_end = value_end(self.rest);
        let key = serde_json::from_str(&self.rest[..key_end]).ok()?;
        let after = &self.rest[key_end + 1..];
        let end = value_end(after);
        let value = &after[..end];
        self.rest = after.get(end + 1..).unwrap_or("");
        Some((key, value))
    }
}

/// Where the value at the start of canonical text ends.
fn value_end(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => {
                in_string = !in_string;
                if !in_string && depth == 0 {
                    return at + 1;
                }
            }
            _ if in_string => {}
            b'[' | b'{' => depth += 1,
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            b',' | b':' if depth == 0 => return at,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use crate::CanonicalJson;

    #[test]
    fn members_come_in_canonical_order_with_their_text() {
        let json = CanonicalJson::parse(r#"{"z":[1,{"a":"},\""}],"a":1,"m,:":"x:y","n":null}"#, "x").unwrap();
        let members: Vec<_> = json.members().unwrap().collect();
        let expected = [("a", "1"), ("m,:", "\"x:y\""), ("n", "null"), ("z", "[1,{\"a\":\"},\\\"\"}]")]
            .map(|(k, v)| (k.to_owned(), v));
        assert_eq!(members, expected);
        assert_eq!(CanonicalJson::empty_object().members().unwrap().count(), 0);
        assert!(CanonicalJson::parse("[]", "x").unwrap().members().is_none());
    }
}
