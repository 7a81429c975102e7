//! SHA-256 values and the one way we hash several fields into one.

use ring::digest::{Context, Digest, SHA256, digest};
use std::fmt;

/// A SHA-256 digest; prints as 64 lowercase hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash256([u8; 32]);

impl Hash256 {
    /// Before the first link of a chain.
    pub const ZERO: Self = Self([0; 32]);

    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::from_digest(digest(&SHA256, bytes))
    }

    fn from_digest(digest: Digest) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest.as_ref());
        Self(bytes)
    }

    /// From stored bytes; `None` when there are not 32 of them.
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// The 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Hash256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0_u8; 64];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Hash256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Hashes bytes that come in pieces: the digest is that of all of them.
pub struct ByteHasher(Context);

impl Default for ByteHasher {
    fn default() -> Self {
        Self(Context::new(&SHA256))
    }
}

impl ByteHasher {
    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all bytes.
    pub fn finish(self) -> Hash256 {
        Hash256::from_digest(self.0.finish())
    }
}

/// Hashes a sequence of optional fields. Each is framed by presence and length, so that no two different
/// sequences feed the same bytes.
///
/// Every card that is read is hashed so. Small fields are gathered first: handing each of them to the digest takes as long as
/// the digest of all of them.
pub struct FieldHasher {
    digest: Context,
    gathered: [u8; GATHERED],
    len: usize,
}

/// A few blocks of the digest.
const GATHERED: usize = 512;

impl Default for FieldHasher {
    fn default() -> Self {
        Self { digest: Context::new(&SHA256), gathered: [0; GATHERED], len: 0 }
    }
}

impl FieldHasher {
    /// Adds a field.
    pub fn field(mut self, bytes: &[u8]) -> Self {
        self.add(&[1]);
        self.add(&(bytes.len() as u64).to_be_bytes());
        self.add(bytes);
        self
    }

    /// Adds a field that may be absent.
    pub fn optional(mut self, bytes: Option<&[u8]>) -> Self {
        match bytes {
            Some(bytes) => self.field(bytes),
            None => {
                self.add(&[0]);
                self
            }
        }
    }

    /// The digest of all fields.
    pub fn finish(mut self) -> Hash256 {
        self.pass_on();
        Hash256::from_digest(self.digest.finish())
    }

    fn add(&mut self, bytes: &[u8]) {
        if let Some(room) = self.gathered.get_mut(self.len..self.len + bytes.len()) {
            room.copy_from_slice(bytes);
            self.len += bytes.len();
            return;
        }
        self.pass_on();
        match self.gathered.get_mut(..bytes.len()) {
            Some(room) => {
                room.copy_from_slice(bytes);
                self.len = bytes.len();
            }
            None => self.digest.update(bytes),
        }
    }

    fn pass_on(&mut self) {
        self.digest.update(&self.gathered[..self.len]);
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NF-01: however fields are gathered, the digest is that of their bytes one after another.
    #[test]
    fn fields_are_hashed_as_their_framed_bytes() {
        let near = [
            0,
            1,
            9,
            GATHERED - 19,
            GATHERED - 10,
            GATHERED - 9,
            GATHERED - 8,
            GATHERED,
            GATHERED + 1,
            5_000,
        ];
        for first in near {
            for second in near {
                let (first, second) = (vec![1; first], vec![2; second]);
                let (mut hasher, mut framed) = (FieldHasher::default(), vec![]);
                for field in [Some(&first), None, Some(&second), Some(&first)] {
                    hasher = hasher.optional(field.map(Vec::as_slice));
                    match field {
                        Some(bytes) => {
                            framed.push(1);
                            framed.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
                            framed.extend_from_slice(bytes);
                        }
                        None => framed.push(0),
                    }
                }
                assert_eq!(hasher.finish(), Hash256::of(&framed), "{} and {}", first.len(), second.len());
            }
        }
    }
}
