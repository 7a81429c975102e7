//! What a tool of an MCP server says, as the answer to a call: its structured content, else its text. What is neither is
//! named with its type and size, since a model cannot be shown it.

use crate::card::Answer;
use cardwire_model::limits::TOOL_ANSWER_BYTES;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;

pub(super) fn of(result: CallToolResult) -> Answer {
    let is_error = result.is_error == Some(true);
    let said = match result.structured_content {
        Some(structured) if !is_error => structured,
        Some(_) | None => Value::String(words(&result.content)),
    };
    let bytes = said.as_str().map_or_else(|| said.to_string().len(), str::len);
    if bytes > TOOL_ANSWER_BYTES {
        let message = format!("the tool answered more than {TOOL_ANSWER_BYTES} bytes");
        return Answer::failed("tool_failed", message);
    }
    if !is_error {
        return Answer::Success(said);
    }
    let words = said.as_str().filter(|words| !words.is_empty());
    Answer::failed("tool_failed", words.unwrap_or("the tool failed and did not say why"))
}

fn words(content: &[ContentBlock]) -> String {
    content.iter().map(block).collect::<Vec<_>>().join("\n")
}

fn block(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => note(&image.mime_type, &image.data),
        ContentBlock::Audio(audio) => note(&audio.mime_type, &audio.data),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { text, .. } => text.clone(),
            ResourceContents::BlobResourceContents { mime_type, blob, .. } => {
                note(mime_type.as_deref().unwrap_or("application/octet-stream"), blob)
            }
            _ => "[a resource of an unknown kind]".to_owned(),
        },
        ContentBlock::ResourceLink(link) => format!("[{}: {}]", link.name, link.uri),
        _ => "[something of an unknown kind]".to_owned(),
    }
}

/// `data` is base64: four letters for three bytes.
fn note(mime_type: &str, data: &str) -> String {
    let letters = data.trim_end_matches('=').len();
    format!("[{mime_type}, {} bytes]", letters * 3 / 4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answer(result: Value) -> Answer {
        of(serde_json::from_value(result).unwrap())
    }

    #[test]
    fn text_and_structure_are_answers_and_errors_are_failures() {
        let text = |text: &str| json!({ "type": "text", "text": text });
        let two = answer(json!({ "content": [text("a"), text("b")] }));
        assert_eq!(two, Answer::Success(json!("a\nb")));
        let structured = json!({ "content": [text("{}")], "structuredContent": { "degrees": 21 } });
        assert_eq!(answer(structured), Answer::Success(json!({ "degrees": 21 })));
        let failed = answer(json!({ "content": [text("no")], "structuredContent": {}, "isError": true }));
        assert_eq!(failed, Answer::failed("tool_failed", "no"));
        assert!(matches!(answer(json!({ "content": [], "isError": true })), Answer::Failed { .. }));
    }

    #[test]
    fn what_cannot_be_shown_is_named() {
        let said = answer(json!({ "content": [
            { "type": "image", "data": "AAAA", "mimeType": "image/png" },
            { "type": "audio", "data": "AAA=", "mimeType": "audio/wav" },
            { "type": "resource", "resource": { "uri": "x:1", "blob": "AA==" } },
            { "type": "resource", "resource": { "uri": "x:2", "text": "words" } },
            { "type": "resource_link", "uri": "x:3", "name": "third" },
        ] }));
        let expected = "[image/png, 3 bytes]\n[audio/wav, 2 bytes]\n[application/octet-stream, 1 bytes]\nwords\n[third: x:3]";
        assert_eq!(said, Answer::Success(json!(expected)));
    }

    /// SEC-07
    #[test]
    fn an_answer_is_bounded() {
        let text =
            |bytes: usize| answer(json!({ "content": [{ "type": "text", "text": "x".repeat(bytes) }] }));
        assert!(matches!(text(TOOL_ANSWER_BYTES), Answer::Success(_)));
        assert!(matches!(text(TOOL_ANSWER_BYTES + 1), Answer::Failed { .. }));
        let structured = json!({ "content": [], "structuredContent": ["x".repeat(TOOL_ANSWER_BYTES)] });
        assert!(matches!(answer(structured), Answer::Failed { .. }));
    }
}
