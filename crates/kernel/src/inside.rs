//! The workers inside this process: let in by a secret of the process itself, which is no token of the store.
//!
//! It must not leave the process. Invariant: as long as the process lives, nobody can revoke it, list it or use it
//! elsewhere, so that workers go on whatever becomes of the tokens of people.

use crate::Kernel;
use cardwire_model::{Realm, Scope, Token, TokenId, TokenSecret};
use std::sync::OnceLock;

/// What opens the kernel besides the tokens of the store. It is made when it is first asked for.
#[derive(Default)]
pub(crate) struct Inside(OnceLock<(TokenSecret, Token)>);

impl Inside {
    /// The identity behind a secret, if it is that of the workers.
    pub(crate) fn opened_by(&self, secret: &TokenSecret) -> Option<Token> {
        self.0.get().filter(|(_, token)| token.matches(secret)).map(|(_, token)| token.clone())
    }
}

impl Kernel {
    /// What workers inside this process present. It is good for work in every project and manages nothing.
    pub fn worker_secret(&self) -> TokenSecret {
        let made = || {
            let secret = TokenSecret::from_random(self.ids.secret());
            let token = Token {
                id: TokenId::WORKERS,
                realm: Realm::System,
                secret_hash: secret.hash(),
                scopes: vec![Scope::Operate],
                created_at: self.now(),
                expires_at: None,
                revoked_at: None,
            };
            (secret, token)
        };
        self.inside.0.get_or_init(made).0.clone()
    }
}
