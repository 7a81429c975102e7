//! Recognises text that looks like a credential (SEC-09). A hit flags the card; nothing is ever altered.
//!
//! The shapes are those of widely used keys, so that a hit is worth a person's attention.

/// A shape: a prefix and how many characters of the given alphabet must follow.
struct Shape {
    prefix: &'static str,
    length: usize,
    legal: fn(u8) -> bool,
}

const SHAPES: &[Shape] = &[
    Shape { prefix: "sk-", length: 20, legal: word },
    Shape { prefix: "ghp_", length: 36, legal: alphanumeric },
    Shape { prefix: "github_pat_", length: 22, legal: word },
    Shape { prefix: "xoxb-", length: 20, legal: word },
    Shape { prefix: "xoxp-", length: 20, legal: word },
    Shape { prefix: "AKIA", length: 16, legal: upper },
    Shape { prefix: "AIza", length: 35, legal: word },
    Shape { prefix: "cw_", length: 64, legal: alphanumeric },
    Shape { prefix: "cwturn_", length: 64, legal: dotted },
];

/// Whether `text` contains something that looks like a credential.
pub fn looks_like_credential(text: &str) -> bool {
    text.contains("-----BEGIN ") && text.contains("PRIVATE KEY-----")
        || SHAPES.iter().any(|shape| shape.is_in(text))
}

impl Shape {
    fn is_in(&self, text: &str) -> bool {
        text.match_indices(self.prefix).any(|(at, _)| {
            let starts_word = at == 0 || !alphanumeric(text.as_bytes()[at - 1]);
            let rest = &text.as_bytes()[at + self.prefix.len()..];
            starts_word && rest.iter().take_while(|b| (self.legal)(**b)).count() >= self.length
        })
    }
}

fn alphanumeric(b: u8) -> bool {
    b.is_ascii_alphanumeric()
}

fn upper(b: u8) -> bool {
    b.is_ascii_uppercase() || b.is_ascii_digit()
}

fn word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'-' || b == b'_'
}

fn dotted(b: u8) -> bool {
    word(b) || b == b'.'
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SEC-09
    #[test]
    fn keys_are_noticed_and_prose_is_not() {
        assert!(looks_like_credential("key=sk-abcdefghijklmnopqrstuv"));
        assert!(looks_like_credential("AKIAIOSFODNN7EXAMPLE"));
        assert!(looks_like_credential("-----BEGIN RSA PRIVATE KEY-----\nMIIE"));
        let turn_token = format!("cwturn_p.turn_{}.{}", "0a".repeat(16), "0a".repeat(32));
        assert!(looks_like_credential(&turn_token));
        assert!(
            !looks_like_credential(&turn_token[..turn_token.len() - 64]),
            "which turn it is, is no secret"
        );
        assert!(!looks_like_credential("ask-me-about-the-weather-in-november"));
        assert!(!looks_like_credential("sk-short"));
        assert!(!looks_like_credential("AKIA is a prefix"));
    }
}
