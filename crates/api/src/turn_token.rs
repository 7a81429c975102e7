//! The turn token on the wire (SEC-02): what a lease is proven by. It opens one turn, nothing else, and only its hash
//! is stored.

use cardwire_model::Hash256;

/// What every turn token starts with; no other token does.
pub const PREFIX: &str = "cwturn_";

/// The text a worker presents, from the secret of its lease.
pub fn text(secret: &[u8; 32]) -> String {
    // `Hash256` prints 32 bytes as hexadecimal digits; nothing is hashed here.
    let digits = Hash256::from_slice(secret).map(|value| value.to_string()).unwrap_or_default();
    format!("{PREFIX}{digits}")
}

/// The hash of the secret in a well-formed text.
pub fn hash(text: &str) -> Option<Hash256> {
    let digits = text.strip_prefix(PREFIX)?.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut secret = [0_u8; 32];
    for (byte, pair) in secret.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(Hash256::of(&secret))
}

const fn digit(letter: u8) -> Option<u8> {
    match letter {
        b'0'..=b'9' => Some(letter - b'0'),
        b'a'..=b'f' => Some(letter - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SEC-02
    #[test]
    fn a_turn_token_proves_the_secret_it_was_made_of() {
        let secret: [u8; 32] = std::array::from_fn(|n| (n * 37) as u8);
        let token = text(&secret);
        assert_eq!(token.len(), PREFIX.len() + 64);
        assert_eq!(hash(&token), Some(Hash256::of(&secret)));
        let shorter = &token[..token.len() - 1];
        for bad in ["", PREFIX, shorter, &format!("{token}0"), &format!("{shorter}G"), &token.to_uppercase()]
        {
            assert_eq!(hash(bad), None, "{bad}");
        }
    }
}
