//! Context keys and the layers they name (X-13, CM-05).
//!
//! Invariant: a key that is not of the form `x__context` never becomes a block; it is refused, not dropped.

use cardwire_model::{Invalid, Layer, invalid::InvalidCode};
use thiserror::Error;

/// What every context key ends with: two underscores.
pub const SUFFIX: &str = "__context";

/// A key that names no layer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum KeyError {
    /// It does not end with the suffix, or is nothing but the suffix.
    #[error("{0} is not of the form NAME__context")]
    Malformed(String),
    /// The system prompt is private and never shared (CC-03).
    #[error("the system prompt is private and cannot be a context block")]
    Private,
    /// The server makes it (CC-10).
    #[error("{0} is made by the server; a worker cannot give it")]
    Servers(String),
}

impl KeyError {
    /// The code on the wire.
    pub const fn code(&self) -> &'static str {
        InvalidCode::ContextKey.as_str()
    }
}

impl From<KeyError> for Invalid {
    fn from(error: KeyError) -> Self {
        Self::coded(InvalidCode::ContextKey, "contexts", error.to_string())
    }
}

/// The layer that a context key names.
pub fn layer_of(key: &str) -> Result<Layer, KeyError> {
    let name = key.strip_suffix(SUFFIX).filter(|name| !name.trim().is_empty());
    match name {
        None => Err(KeyError::Malformed(key.to_owned())),
        Some("system_prompt") => Err(KeyError::Private),
        Some("framework") => Ok(Layer::Framework),
        Some("experience") => Ok(Layer::Experience),
        Some("knowledge") => Ok(Layer::Knowledge),
        Some("todo") => Ok(Layer::Todo),
        Some("compression") => Ok(Layer::Compression),
        Some(_) => Ok(Layer::Extra),
    }
}

/// The layer of a block that a worker gives with its call (CC-10): its own blocks, and what it found or is to do. What holds
/// for every agent and what memory says is not for it to say.
pub fn layer_given(key: &str) -> Result<Layer, KeyError> {
    match layer_of(key)? {
        Layer::Framework | Layer::Compression => Err(KeyError::Servers(key.to_owned())),
        layer @ (Layer::Experience
        | Layer::Knowledge
        | Layer::Todo
        | Layer::Extra
        | Layer::SystemPrompt
        | Layer::Checkpoint
        | Layer::Query
        | Layer::Turn
        | Layer::Tools) => Ok(layer),
    }
}

/// The key of a layer that has exactly one block.
pub const fn key_of(layer: Layer) -> Option<&'static str> {
    match layer {
        Layer::Framework => Some("framework__context"),
        Layer::Experience => Some("experience__context"),
        Layer::Knowledge => Some("knowledge__context"),
        Layer::Todo => Some("todo__context"),
        Layer::Compression => Some("compression__context"),
        Layer::SystemPrompt
        | Layer::Extra
        | Layer::Checkpoint
        | Layer::Query
        | Layer::Turn
        | Layer::Tools => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// X-13, CM-05
    #[test]
    fn a_key_names_its_layer_or_is_refused() {
        for layer in Layer::ALL.iter().copied() {
            if let Some(key) = key_of(layer) {
                assert_eq!(layer_of(key), Ok(layer), "{key}");
            }
        }
        for key in ["zeta__context", "query__context", "turn__context", "a b__context"] {
            assert_eq!(layer_of(key), Ok(Layer::Extra), "{key}");
        }
        for key in ["todo_context", "todo", "__context", " __context", "", "todo__context ", "todo__Context"]
        {
            assert_eq!(layer_of(key), Err(KeyError::Malformed(key.to_owned())), "{key}");
        }
    }

    /// CC-03
    #[test]
    fn the_system_prompt_is_no_block() {
        let error = layer_of("system_prompt__context").unwrap_err();
        assert_eq!((&error, error.code()), (&KeyError::Private, "invalid_context_key"));
    }

    /// CC-10
    #[test]
    fn a_worker_gives_blocks_of_its_own_and_none_of_the_servers() {
        for key in ["framework__context", "compression__context"] {
            assert_eq!(layer_given(key), Err(KeyError::Servers(key.to_owned())));
        }
        assert_eq!(layer_given("system_prompt__context"), Err(KeyError::Private));
        assert_eq!(layer_given("todo__context"), Ok(Layer::Todo));
        assert_eq!(layer_given("mine__context"), Ok(Layer::Extra));
    }
}
