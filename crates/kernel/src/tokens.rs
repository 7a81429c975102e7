//! Tokens: minting, revoking, listing.

use crate::{Caller, Done, Kernel, KernelError, Remember, execute::Plan};
use cardwire_model::{Keys, Realm, Scope, Token, TokenId, TokenSecret};
use cardwire_protocol::{
    Actor, Rejection, access,
    token::{
        mint::{self, MintToken},
        revoke,
    },
};

/// A token to make.
#[derive(Debug, Clone)]
pub struct Minted {
    /// For which project, or for all.
    pub realm: Realm,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// How long it lives.
    pub expires_in_seconds: Option<u64>,
}

impl Kernel {
    /// Makes a token on behalf of `by`, which may only give what it has. With a key to remember the request by,
    /// the secret is derived from the caller's own, so that a repeat gets the same one.
    pub async fn mint_token(
        &self,
        by: &Token,
        by_secret: &TokenSecret,
        new: &Minted,
        remember: Option<&Remember<Token>>,
    ) -> Result<(Done<Token>, TokenSecret), KernelError> {
        access::permit_minting(by, &new.realm, &new.scopes)?;
        if let (Some(remember), Realm::Project(_)) = (remember, &new.realm) {
            self.claim_key(&remember.key).await?;
        }
        let secret = match remember {
            Some(remember) => TokenSecret::derive(by_secret, &remember.key),
            None => TokenSecret::from_random(self.ids.secret()),
        };
        let caller = Caller { actor: Actor::token(by.id) };
        let done = self.write_token(&caller, new, &secret, remember).await?;
        Ok((done, secret))
    }

    /// The first token of a data directory: mints an admin token with a fresh secret, or registers a given one
    /// that the store does not know.
    pub async fn ensure_admin(&self, known: Option<TokenSecret>) -> Result<TokenSecret, KernelError> {
        if let Some(secret) = &known
            && self.authenticate(secret.expose()).await.is_ok_and(|token| token.allows(Scope::Admin))
        {
            return Ok(secret.clone());
        }
        let secret = known.unwrap_or_else(|| TokenSecret::from_random(self.ids.secret()));
        let admin = Minted { realm: Realm::System, scopes: vec![Scope::Admin], expires_in_seconds: None };
        let caller = Caller { actor: Actor::system("setup") };
        self.write_token(&caller, &admin, &secret, None).await?;
        Ok(secret)
    }

    async fn write_token(
        &self,
        caller: &Caller,
        new: &Minted,
        secret: &TokenSecret,
        remember: Option<&Remember<Token>>,
    ) -> Result<Done<Token>, KernelError> {
        let id = TokenId::from_uuid(self.ids.uuid());
        let keys = Keys { project: true, ..Keys::default() };
        let plan = Plan { realm: &new.realm, caller, keys, flat: None, remember };
        self.execute(plan, |loaded, moment| {
            let command = MintToken {
                id,
                secret_hash: secret.hash(),
                realm: new.realm.clone(),
                scopes: new.scopes.clone(),
                expires_in_seconds: new.expires_in_seconds,
            };
            mint::decide(&loaded.snapshot, command, moment)
        })
        .await
    }

    /// Ends a token that `by` reaches.
    pub async fn revoke_token(&self, by: &Token, id: TokenId) -> Result<(), KernelError> {
        let found = self.store.token_by_id(id).await?.filter(|token| by.reaches(&token.realm));
        let realm = match found {
            Some(token) => token.realm,
            None => return Err(Rejection::NotFound { what: "token", id: id.to_string() }.into()),
        };
        let keys = Keys { token: Some(id), ..Keys::default() };
        let caller = Caller { actor: Actor::token(by.id) };
        let plan = Plan { realm: &realm, caller: &caller, keys, flat: None, remember: None };
        self.execute_once(plan, |loaded, moment| revoke::decide(&loaded.snapshot, &realm, id, moment))
            .await?;
        self.tokens.clear();
        Ok(())
    }

    /// Tokens that `by` reaches, by id, after `after`.
    pub async fn list_tokens(
        &self,
        by: &Token,
        after: Option<TokenId>,
        limit: usize,
    ) -> Result<Vec<Token>, KernelError> {
        let realm = (by.realm != Realm::System).then_some(&by.realm);
        Ok(self.store.tokens(realm, after, limit).await?)
    }
}
