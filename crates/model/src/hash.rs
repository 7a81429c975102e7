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
pub struct FieldHasher(Context);

impl Default for FieldHasher {
    fn default() -> Self {
        Self(Context::new(&SHA256))
    }
}

impl FieldHasher {
    /// Adds a field.
    pub fn field(mut self, bytes: &[u8]) -> Self {
        self.0.update(&[1]);
        self.0.update(&(bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
        self
    }

    /// Adds a field that may be absent.
    pub fn optional(self, bytes: Option<&[u8]>) -> Self {
        match bytes {
            Some(bytes) => self.field(bytes),
            None => {
                let mut this = self;
                this.0.update(&[0]);
                this
            }
        }
    }

    /// The digest of all fields.
    pub fn finish(self) -> Hash256 {
        Hash256::from_digest(self.0.finish())
    }
}
