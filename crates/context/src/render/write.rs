//! Writing JSON text, byte for byte as canonical text has it.

use super::{RequestSpec, spans::RequestWriter};
use crate::piece::Text;
use cardwire_model::CanonicalJson;
use serde_json::Value;

/// How many bytes are looked at together.
const CHUNK: usize = 32;

/// A text in whatever form it comes.
pub(crate) fn push_text(out: &mut Vec<u8>, text: Text<'_>) {
    match text {
        Text::Encoded(text) => out.extend_from_slice(text.as_bytes()),
        Text::Plain(text) => push_string(out, text),
    }
}

/// A JSON string with the escapes of canonical JSON. Most chunks stand for themselves and are copied whole: looking at
/// all bytes of a chunk without a branch for each, and copying a known number of them, is a few wide instructions.
pub(crate) fn push_string(out: &mut Vec<u8>, text: &str) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let (chunks, rest) = text.as_bytes().as_chunks::<CHUNK>();
    for chunk in chunks {
        if chunk.iter().fold(false, |found, byte| found | is_escaped(*byte)) {
            push_bytes(out, chunk);
        } else {
            out.extend_from_slice(chunk);
        }
    }
    push_bytes(out, rest);
    out.push(b'"');
}

fn push_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    for byte in bytes {
        if is_escaped(*byte) { push_escape(out, *byte) } else { out.push(*byte) }
    }
}

const fn is_escaped(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

fn push_escape(out: &mut Vec<u8>, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let short = match byte {
        b'"' => b'"',
        b'\\' => b'\\',
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0c => b'f',
        b'\r' => b'r',
        _ => {
            let (high, low) = (DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]);
            return out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// A list with commas between its items.
pub(super) fn push_list<T>(
    out: &mut RequestWriter,
    items: impl IntoIterator<Item = T>,
    mut push: impl FnMut(&mut RequestWriter, T),
) {
    out.bytes.push(b'[');
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.bytes.push(b',');
        }
        push(out, item);
    }
    out.bytes.push(b']');
}

/// The list of tools, if there are any. A card may hold the list itself or `{"tools": […]}`.
pub(super) fn tools<'a>(spec: &RequestSpec<'a>) -> Option<&'a str> {
    let content = spec.tools?;
    let list = match content.members() {
        Some(mut members) => members.find(|(key, _)| key == "tools")?.1,
        None => content.as_str(),
    };
    Some(list).filter(|list| list.starts_with('[') && *list != "[]")
}

/// The other members of the body by name, each with a comma before it. Values are written in canonical form, because that
/// is how a manifest keeps them: `1.0` today and `1` when it is rendered again would be different bytes.
pub(super) fn push_params(out: &mut Vec<u8>, spec: &RequestSpec<'_>, except: &[&str]) {
    let mut params: Vec<_> = spec.params.iter().filter(|(key, _)| !except.contains(&key.as_str())).collect();
    params.sort_by_key(|(key, _)| key.as_str());
    for (key, value) in params {
        out.push(b',');
        push_string(out, key);
        out.push(b':');
        push_value(out, value);
    }
}

/// A value in canonical form.
pub(super) fn push_value(out: &mut Vec<u8>, value: &Value) {
    match CanonicalJson::from_value(value) {
        Ok(canonical) => out.extend_from_slice(canonical.as_bytes()),
        // Only values that no manifest can keep, such as NUL in a string.
        Err(_) => out.extend_from_slice(value.to_string().as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// NF-11
        #[test]
        fn texts_are_written_as_canonical_json_has_them(text in "[\u{1}-\u{1f}\"\\\\ a-c中é😀]{0,100}") {
            let mut out = vec![];
            push_string(&mut out, &text);
            let canonical = CanonicalJson::string(&text).unwrap();
            prop_assert_eq!(std::str::from_utf8(&out).unwrap(), canonical.as_str());
        }
    }
}
