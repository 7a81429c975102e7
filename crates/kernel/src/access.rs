//! Who is calling, and whether they may.

use crate::{Caller, Kernel, KernelError};
use cardwire_model::{Realm, Token, TokenSecret};
use cardwire_protocol::access::{self, Needed};

impl Kernel {
    /// The token behind a secret, if it opens anything now. Remembered for half a second.
    pub async fn authenticate(&self, secret: &str) -> Result<Token, KernelError> {
        let secret = TokenSecret::from_text(secret).map_err(|_| KernelError::Unauthenticated)?;
        if let Some(worker) = self.inside.opened_by(&secret) {
            return Ok(worker);
        }
        let (hash, now) = (secret.hash(), self.now());
        let token = match self.tokens.get(&hash, now) {
            Some(token) => token,
            None => {
                let found = self.store.token_by_hash(hash).await?;
                let token =
                    found.filter(|token| token.matches(&secret)).ok_or(KernelError::Unauthenticated)?;
                self.tokens.put(hash, token.clone(), now);
                token
            }
        };
        match token.ended(now) {
            None => Ok(token),
            Some(end) => Err(KernelError::TokenEnded(end)),
        }
    }

    /// Whether the token may act there.
    pub fn permit(&self, token: &Token, realm: &Realm, needed: Needed) -> Result<(), KernelError> {
        Ok(access::permit(token, realm, needed)?)
    }

    /// Records that the holder of a token of this realm was refused (SEC-05). The refusal stands even if it cannot be
    /// recorded.
    pub async fn record_denial(&self, caller: &Caller, realm: &Realm, route: &str, reason: &str) {
        let decision = access::record_denial(&self.moment(caller), realm, route, reason);
        if let Err(error) = self.commit(decision.commit).await {
            tracing::warn!(%error, "could not record a denial");
        }
    }
}
