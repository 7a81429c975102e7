//! The turn token on the wire (SEC-02): what a lease is proven by. It opens one turn, nothing else, and only the hash of
//! its secret is stored. It names its turn, so that who holds it is known wherever it is presented (SEC-05).

use cardwire_model::{Hash256, ProjectId, TurnId};

/// What every turn token starts with; no other token does.
pub const PREFIX: &str = "cwturn_";
/// Between its parts. No id of a project or a turn has it.
const SEPARATOR: char = '.';

/// A well-formed turn token, as it was presented. Whether it opens its turn is still to be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Presented {
    /// Where its turn is.
    pub project: ProjectId,
    /// Which turn it is for.
    pub turn: TurnId,
    /// The hash of its secret.
    pub hash: Hash256,
}

/// The text a worker presents, from the secret of its lease.
pub fn text(project: &ProjectId, turn: TurnId, secret: &[u8; 32]) -> String {
    // `Hash256` prints 32 bytes as hexadecimal digits; nothing is hashed here.
    let digits = Hash256::from_slice(secret).map(|value| value.to_string()).unwrap_or_default();
    format!("{PREFIX}{project}{SEPARATOR}{turn}{SEPARATOR}{digits}")
}

/// What a well-formed text says.
pub fn read(text: &str) -> Option<Presented> {
    let mut parts = text.strip_prefix(PREFIX)?.split(SEPARATOR);
    let (project, turn, secret) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let digits = secret.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut secret = [0_u8; 32];
    for (byte, pair) in secret.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(Presented { project: project.parse().ok()?, turn: turn.parse().ok()?, hash: Hash256::of(&secret) })
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
    fn a_turn_token_names_its_turn_and_proves_the_secret_it_was_made_of() {
        let secret: [u8; 32] = std::array::from_fn(|n| (n * 37) as u8);
        let project: ProjectId = "p-1_x".parse().unwrap();
        let turn: TurnId = "turn_0192f0c123457abc8def0123456789ab".parse().unwrap();
        let token = text(&project, turn, &secret);
        assert_eq!(token.len(), PREFIX.len() + project.as_str().len() + 1 + 37 + 1 + 64);
        assert_eq!(read(&token), Some(Presented { project, turn, hash: Hash256::of(&secret) }));
        let shorter = &token[..token.len() - 1];
        let secret_alone = &token[token.len() - 64..];
        for bad in [
            "",
            PREFIX,
            shorter,
            &format!("{token}0"),
            &format!("{shorter}G"),
            &format!("{token}."),
            &token.to_uppercase(),
            &token.replace("p-1_x", ""),
            &token.replace("p-1_x", "p/1"),
            &token.replacen(SEPARATOR, "", 1),
            &format!("{PREFIX}{secret_alone}"),
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
