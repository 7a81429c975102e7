//! The text of a message's content, in whichever of the forms that providers allow.

use serde_json::Value;

/// A string as it is; of a list, the text of its parts and of the results of tools in it.
pub(crate) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<String> = parts.iter().filter_map(part).collect();
            texts.join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// Whether the part is the result of a tool, as Anthropic puts it.
pub(crate) fn is_result(part: &Value) -> bool {
    part["type"] == "tool_result"
}

fn part(part: &Value) -> Option<String> {
    if is_result(part) {
        return Some(text_of(&part["content"]));
    }
    part.as_str().or_else(|| part["text"].as_str()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn text_is_found_in_every_form_of_content() {
        for (content, text) in [
            (json!("a"), "a"),
            (json!(null), ""),
            (json!([]), ""),
            (
                json!([{ "type": "text", "text": "a" }, { "type": "image" }, { "type": "text", "text": "b" }]),
                "a\nb",
            ),
            (json!([{ "type": "tool_result", "content": "r" }, { "type": "text", "text": "b" }]), "r\nb"),
            (json!([{ "type": "tool_result", "content": [{ "type": "text", "text": "r" }] }]), "r"),
            (json!([{ "type": "tool_result" }]), ""),
        ] {
            assert_eq!(text_of(&content), text, "{content}");
        }
    }
}
