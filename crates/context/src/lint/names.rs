//! Ids of calls and names of tools as providers take them. What they would refuse is replaced by a stable stand-in, in the
//! call and in its result alike; the cards keep what was recorded.

use super::UNKNOWN_TOOL;
use cardwire_model::{Hash256, Provider};
use std::borrow::Cow;

/// OpenAI refuses longer ids.
const OPENAI_ID_BYTES: usize = 40;
/// Anthropic's pattern for ids has no bound; this one is ours.
const ANTHROPIC_ID_BYTES: usize = 64;
/// Both take tool names of `[A-Za-z0-9_-]`, OpenAI at most this many.
const NAME_BYTES: usize = 64;

/// The id on the wire of the `nth` call (from 0) with this id. Anthropic wants every id to be unique in the request.
pub(super) fn call_id<'a>(provider: Provider, id: &Cow<'a, str>, nth: u32) -> Cow<'a, str> {
    let legal = match provider {
        Provider::OpenAiChat => id.len() <= OPENAI_ID_BYTES,
        Provider::AnthropicMessages => nth == 0 && id.len() <= ANTHROPIC_ID_BYTES && id.bytes().all(is_plain),
    };
    if legal {
        return id.clone();
    }
    let hash = match provider {
        Provider::OpenAiChat => Hash256::of(id.as_bytes()),
        Provider::AnthropicMessages => Hash256::of(format!("{nth}:{id}").as_bytes()),
    };
    Cow::Owned(format!("cw_{:.32}", hash.to_string()))
}

/// The name of a tool on the wire.
pub(super) fn tool_name(name: Option<Cow<'_, str>>) -> Cow<'_, str> {
    match name {
        None => Cow::Borrowed(UNKNOWN_TOOL),
        Some(name) if name.trim().is_empty() => Cow::Borrowed(UNKNOWN_TOOL),
        Some(name) if name.len() <= NAME_BYTES && name.bytes().all(is_plain) => name,
        Some(name) => {
            let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
            Cow::Owned(name.chars().map(plain).take(NAME_BYTES).collect())
        }
    }
}

/// A speaker's name, if the provider takes it.
pub(super) fn speaker_name(provider: Provider, name: Option<&str>) -> Option<&str> {
    match provider {
        Provider::OpenAiChat => {
            name.filter(|name| (1..=NAME_BYTES).contains(&name.len()) && name.bytes().all(is_plain))
        }
        Provider::AnthropicMessages => None,
    }
}

const fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}
