//! The text of what was delivered, and how texts are put into lists.

use serde_json::Value;

/// What a deliverable says, as text: a text as it is; of fields the one called `output`, else all of them, a line each;
/// anything else as compact JSON.
pub fn text_of(output: &Value) -> String {
    if let Value::String(text) = output {
        return text.clone();
    }
    let Some(fields) = fields(output) else { return plain(output) };
    match fields.iter().find(|(name, _)| *name == "output") {
        Some((_, value)) => plain(value),
        None => {
            let lines = fields.iter().map(|(name, value)| format!("{name}: {}", plain(value)));
            lines.collect::<Vec<_>>().join("\n")
        }
    }
}

/// The fields of `{"fields": [{"name", "value"}]}`. Anything that is not entirely so is something else.
pub(crate) fn fields(output: &Value) -> Option<Vec<(&str, &Value)>> {
    let fields = output.get("fields")?.as_array().filter(|fields| !fields.is_empty())?;
    fields.iter().map(|field| Some((field.get("name")?.as_str()?, field.get("value")?))).collect()
}

/// A text as it is, anything else as compact JSON.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    }
}

/// All that the results in one input may take, in characters, so that the input fits into a card.
const RESULTS_CHARS: usize = 200_000;

/// A list with a name and a text in each item. When the texts together would be too long, each has an equal share.
pub(crate) fn list<'a>(items: impl IntoIterator<Item = (String, &'a str)>) -> String {
    let items: Vec<_> = items.into_iter().collect();
    let share = RESULTS_CHARS / items.len().max(1);
    let lines = items.iter().map(|(name, text)| item(name, &cut(text, share)));
    lines.collect::<Vec<_>>().join("\n")
}

/// Lines after the first are indented, so that no text can pass for another item.
pub(crate) fn item(name: &str, text: &str) -> String {
    format!("- {name}: {}", text.trim_end().replace('\n', "\n  "))
}

fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{} [cut]", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_text_of_an_output() {
        for (output, text) in [
            (json!("as it is\n"), "as it is\n"),
            (json!({ "fields": [{ "name": "a", "value": 1 }, { "name": "output", "value": "x" }] }), "x"),
            (json!({ "fields": [{ "name": "a", "value": 1 }, { "name": "b", "value": "x" }] }), "a: 1\nb: x"),
            (json!({ "fields": [] }), r#"{"fields":[]}"#),
            (json!({ "fields": [{ "name": 1 }] }), r#"{"fields":[{"name":1}]}"#),
            (json!([1, { "a": null }]), r#"[1,{"a":null}]"#),
            (json!(null), "null"),
        ] {
            assert_eq!(text_of(&output), text);
        }
    }

    #[test]
    fn no_result_can_pass_for_another() {
        assert_eq!(list([("a".to_owned(), "one\n- b: two\n")]), "- a: one\n  - b: two");
    }

    #[test]
    fn long_results_have_equal_shares() {
        let long = "é".repeat(RESULTS_CHARS);
        assert_eq!(list([("a".to_owned(), long.as_str())]), format!("- a: {long}"));
        let two = list([("a".to_owned(), long.as_str()), ("b".to_owned(), "short")]);
        assert_eq!(two, format!("- a: {} [cut]\n- b: short", "é".repeat(RESULTS_CHARS / 2)));
    }
}
