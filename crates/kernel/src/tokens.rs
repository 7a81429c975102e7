//! Tokens: minting, revoking, listing.

use crate::{
    Caller, Done, Kernel, KernelError, Remember,
    execute::{Loaded, Plan},
};
use cardwire_model::{Keys, Realm, Scope, Token, TokenEnd, TokenId, TokenSecret, limits};
use cardwire_protocol::{
    Actor, Moment, Rejection, access,
    token::{
        mint::{self, MintToken},
        revoke::{self, Standing},
    },
};
use thiserror::Error;

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

/// Why a secret is not that of an admin token.
#[derive(Debug, Error)]
pub enum AdminError {
    /// It was one, or something less, and is nothing any more.
    #[error("the token {0}")]
    Ended(TokenEnd),
    /// The token opens less.
    #[error("the token {} is not an admin token for all projects", .0.id)]
    Narrow(Box<Token>),
    /// It could not be found out.
    #[error(transparent)]
    Kernel(#[from] KernelError),
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

    /// The token of a data directory, which this process calls its own from here on: mints an admin token with a fresh
    /// secret, or registers a given one that the store does not know.
    pub async fn ensure_admin(&self, known: Option<TokenSecret>) -> Result<TokenSecret, AdminError> {
        let secret = known.unwrap_or_else(|| TokenSecret::from_random(self.ids.secret()));
        let id = match self.admin_behind(&secret).await? {
            Some(id) => id,
            None => {
                let admin =
                    Minted { realm: Realm::System, scopes: vec![Scope::Admin], expires_in_seconds: None };
                let caller = Caller { actor: Actor::system("setup") };
                match self.write_token(&caller, &admin, &secret, None).await {
                    Ok(Done::Fresh(token)) => token.id,
                    // Another server with the same secret was faster.
                    Ok(Done::Replayed(_)) | Err(KernelError::Contended) => {
                        self.admin_behind(&secret).await?.ok_or(KernelError::Contended)?
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        };
        let _ = self.own_token.set(id);
        Ok(secret)
    }

    /// The admin token with this secret, if the store knows one.
    async fn admin_behind(&self, secret: &TokenSecret) -> Result<Option<TokenId>, AdminError> {
        let Some(token) = self.store.token_by_hash(secret.hash()).await.map_err(KernelError::from)? else {
            return Ok(None);
        };
        match token.ended(self.now()) {
            Some(end) => Err(AdminError::Ended(end)),
            None if token.is_global_admin() => Ok(Some(token.id)),
            None => Err(AdminError::Narrow(Box::new(token))),
        }
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
        let Some(token) = found else {
            return Err(Rejection::NotFound { what: "token", id: id.to_string() }.into());
        };
        let standing = self.standing(&token).await?;
        let realm = token.realm;
        let keys = Keys { token: Some(id), ..Keys::default() };
        let caller = Caller { actor: Actor::token(by.id) };
        let plan = Plan { realm: &realm, caller: &caller, keys, flat: None, remember: None };
        let decide =
            |loaded: &Loaded, moment: &Moment| revoke::decide(&loaded.snapshot, &realm, id, standing, moment);
        self.execute_once(plan, decide).await?;
        self.tokens.clear();
        Ok(())
    }

    /// What would be lost with a token. While this process has a token of its own, an admin is left in any case.
    async fn standing(&self, token: &Token) -> Result<Standing, KernelError> {
        match self.own_token.get() {
            Some(own) if *own == token.id => return Ok(Standing::ServersOwn),
            Some(_) => return Ok(Standing::Ordinary),
            None if !token.is_global_admin() => return Ok(Standing::Ordinary),
            None => {}
        }
        let (now, mut after) = (self.now(), None);
        loop {
            let page = self.store.tokens(Some(&Realm::System), after, limits::PAGE_MAX).await?;
            let stays = |other: &Token| other.id != token.id && other.is_live(now) && other.is_global_admin();
            if page.iter().any(stays) {
                return Ok(Standing::Ordinary);
            }
            after = page.last().map(|last| last.id);
            if page.len() < limits::PAGE_MAX {
                return Ok(Standing::LastAdmin);
            }
        }
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
