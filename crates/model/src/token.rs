//! Access tokens (SEC-02): 256 random bits, shown once, stored hashed, compared in constant time.

use crate::{AnswerKey, Hash256, Invalid, Realm, Timestamp, TokenId};
use ring::hmac::{self, HMAC_SHA256};
use secrecy::{ExposeSecret, SecretString};
use std::fmt;
use subtle::ConstantTimeEq;
use uuid::Uuid;

/// What a token may do. Each scope includes the ones before it, except that only `admin` manages tokens and
/// projects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// See facts and state.
    Read,
    /// Claim and run turns.
    Work,
    /// Write facts, dispatch turns, call PMO tools.
    Operate,
    /// Manage projects and tokens.
    Admin,
}

impl Scope {
    /// All scopes, weakest first.
    pub const ALL: [Self; 4] = [Self::Read, Self::Work, Self::Operate, Self::Admin];

    /// The name on the wire and in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Work => "work",
            Self::Operate => "operate",
            Self::Admin => "admin",
        }
    }

    /// The scope with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == name)
    }

    /// Reads a list as stored: names joined by blanks.
    pub fn list_from_stored(text: &str) -> Vec<Self> {
        text.split(' ').filter_map(Self::from_name).collect()
    }

    /// The reverse of [`Self::list_from_stored`].
    pub fn list_to_stored(scopes: &[Self]) -> String {
        scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(" ")
    }
}

/// How a token ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenEnd {
    /// Somebody ended it.
    Revoked,
    /// Its time was over.
    Expired,
}

impl fmt::Display for TokenEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Revoked => "was revoked",
            Self::Expired => "has expired",
        })
    }
}

impl TokenId {
    /// The workers inside a server. No store has a token of this id, so that none can be revoked; it is the same in every
    /// process, because a request is remembered by who sent it and another process may send it again (API-16).
    pub const WORKERS: Self = Self::from_uuid(Uuid::from_u128(0x0077_6f72_6b65_7273));
}

/// A token as stored: everything but its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Names the token without giving it away.
    pub id: TokenId,
    /// The project it is for, or the system for all of them.
    pub realm: Realm,
    /// SHA-256 of the secret.
    pub secret_hash: Hash256,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Option<Timestamp>,
    /// When it was ended.
    pub revoked_at: Option<Timestamp>,
}

impl Token {
    /// How the token ended, if it has at `now`.
    pub fn ended(&self, now: Timestamp) -> Option<TokenEnd> {
        if self.revoked_at.is_some() {
            return Some(TokenEnd::Revoked);
        }
        self.expires_at.is_some_and(|end| now >= end).then_some(TokenEnd::Expired)
    }

    /// Whether the token opens anything at `now`.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.ended(now).is_none()
    }

    /// Whether the token reaches every project and makes tokens for all of them.
    pub fn is_global_admin(&self) -> bool {
        self.realm == Realm::System && self.allows(Scope::Admin)
    }

    /// Whether the token has the scope, or one that includes it.
    pub fn allows(&self, scope: Scope) -> bool {
        self.scopes.iter().any(|have| *have >= scope)
    }

    /// Whether the token reaches rows of this realm.
    pub fn reaches(&self, realm: &Realm) -> bool {
        self.realm == Realm::System || self.realm == *realm
    }

    /// Whether `secret` is this token's.
    pub fn matches(&self, secret: &TokenSecret) -> bool {
        self.secret_hash.as_bytes().ct_eq(secret.hash().as_bytes()).into()
    }
}

/// The text a caller presents. It cannot be printed.
#[derive(Debug, Clone)]
pub struct TokenSecret(SecretString);

impl TokenSecret {
    const PREFIX: &'static str = "cw_";

    /// Makes the secret from 32 random bytes.
    pub fn from_random(bytes: [u8; 32]) -> Self {
        // `Hash256` prints 32 bytes as hexadecimal digits; nothing is hashed here.
        let digits = Hash256::from_slice(&bytes).map(|value| value.to_string()).unwrap_or_default();
        Self(format!("{}{digits}", Self::PREFIX).into())
    }

    /// Makes the secret that a repeated request must get again (API-16) although only its hash is stored:
    /// a pseudo-random function of the caller's own secret, which nobody else can compute.
    pub fn derive(caller: &Self, request: &AnswerKey) -> Self {
        let key = hmac::Key::new(HMAC_SHA256, caller.expose().as_bytes());
        let mut mac = hmac::Context::with_key(&key);
        mac.update(b"cardwire token v1\0");
        mac.update(request.request_hash.as_bytes());
        mac.update(request.key.as_bytes());
        let mut bytes = [0; 32];
        bytes.copy_from_slice(mac.sign().as_ref());
        Self::from_random(bytes)
    }

    /// What a caller sent.
    pub fn from_text(text: &str) -> Result<Self, Invalid> {
        let digits = text.strip_prefix(Self::PREFIX).unwrap_or("");
        if digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            Ok(Self(text.to_owned().into()))
        } else {
            Err(Invalid::field("authorization", "expected a Cardwire token"))
        }
    }

    /// The hash that is stored and looked up.
    pub fn hash(&self) -> Hash256 {
        Hash256::of(self.expose().as_bytes())
    }

    /// The text, to show once or to send.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}
