//! What a rule takes over from the last message into its answer: ids that nobody can know when a script is written.

use super::read::Reader;
use crate::ConfigError;
use serde_json::Value;

/// Captures of one rule.
const CAPTURES: usize = 16;

/// A piece of the last message, under a name. `${name}` stands for it in the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Capture {
    name: String,
    /// It begins behind the last of these…
    after: String,
    /// …and ends before the first of these that follows.
    until: String,
}

/// Names with what was found for them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Captured(Vec<(String, String)>);

impl Capture {
    /// Reads `{name: {after, until}}`.
    pub(super) fn parse(path: &str, captures: &Value) -> Result<Vec<Self>, ConfigError> {
        let Some(members) = captures.as_object() else {
            return Err(ConfigError::new(path, "must be an object"));
        };
        if members.len() > CAPTURES {
            let reason = format!("{} captures are over the limit of {CAPTURES}", members.len());
            return Err(ConfigError::new(path, reason));
        }
        let one = |(name, place): (&String, &Value)| {
            let reader = Reader::new(&format!("{path}/{name}"), place, &["after", "until"])?;
            let text = |field: &str| {
                let text = reader.string(field)?.filter(|text| !text.is_empty());
                text.ok_or_else(|| ConfigError::new(reader.path(field), "is missing"))
            };
            Ok(Self { name: name.clone(), after: text("after")?, until: text("until")? })
        };
        members.iter().map(one).collect()
    }

    fn find<'a>(&self, text: &'a str) -> Option<&'a str> {
        let from = text.rfind(&self.after)? + self.after.len();
        let length = text[from..].find(&self.until)?;
        Some(&text[from..from + length])
    }

    /// All of them, or none.
    pub(super) fn all(captures: &[Self], text: &str) -> Option<Captured> {
        let one = |capture: &Self| Some((capture.name.clone(), capture.find(text)?.to_owned()));
        captures.iter().map(one).collect::<Option<Vec<_>>>().map(Captured)
    }
}

impl Captured {
    /// A text with the captures in it.
    pub(super) fn fill_text(&self, text: &str) -> String {
        self.fill(text, str::to_owned)
    }

    /// JSON with the captures in it, inside of strings.
    pub(super) fn fill_json(&self, json: &str) -> String {
        let inner = |text: &str| {
            let quoted = Value::from(text).to_string();
            quoted[1..quoted.len() - 1].to_owned()
        };
        self.fill(json, inner)
    }

    fn fill(&self, text: &str, write: impl Fn(&str) -> String) -> String {
        let fill = |text: String, (name, found): &(String, String)| {
            text.replace(&format!("${{{name}}}"), &write(found))
        };
        self.0.iter().fold(text.to_owned(), fill)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn captured(text: &str) -> Option<Captured> {
        let captures = json!({ "id": { "after": "\"id\":\"", "until": "\"" } });
        Capture::all(&Capture::parse("capture", &captures).unwrap(), text)
    }

    #[test]
    fn a_piece_of_the_last_message_goes_into_the_answer() {
        let found = captured(r#"{"id":"first"} {"id":"ho_1","x":2}"#).unwrap();
        assert_eq!(found.fill_text("see ${id}, not ${other}"), "see ho_1, not ${other}");
        assert_eq!(found.fill_json(r#"{"a":"${id}"}"#), r#"{"a":"ho_1"}"#);
        assert_eq!(captured("nothing"), None);
    }

    #[test]
    fn whatever_is_found_stays_inside_its_string() {
        let captures = json!({ "t": { "after": "<", "until": ">" } });
        let found = Capture::all(&Capture::parse("capture", &captures).unwrap(), "<a\"b\\\n>").unwrap();
        let json: Value = serde_json::from_str(&found.fill_json(r#"{"a":"${t}"}"#)).unwrap();
        assert_eq!(json["a"], "a\"b\\\n");
    }

    #[test]
    fn a_capture_that_is_wrong_is_named() {
        for (captures, at) in [
            (json!([]), "capture"),
            (json!({ "a": { "after": "x" } }), "capture/a/until"),
            (json!({ "a": { "after": "", "until": "y" } }), "capture/a/after"),
            (json!({ "a": { "after": "x", "until": "y", "z": 1 } }), "capture/a/z"),
        ] {
            let error = Capture::parse("capture", &captures).unwrap_err();
            assert!(error.to_string().contains(at), "{error} does not name {at}");
        }
        let many = |n: usize| -> Value {
            (0..n).map(|n| (format!("c{n}"), json!({ "after": "x", "until": "y" }))).collect()
        };
        assert!(Capture::parse("capture", &many(CAPTURES)).is_ok());
        assert!(Capture::parse("capture", &many(CAPTURES + 1)).is_err());
    }
}
