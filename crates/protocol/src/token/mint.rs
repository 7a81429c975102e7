//! Mint a token.

use crate::{Decision, Moment, Rejection};
use cardwire_model::{
    AuditAction, Commit, Hash256, Invalid, Realm, Scope, Snapshot, Token, TokenId, Write, limits,
};
use serde_json::json;

/// A token to make. Whether the caller may make it is decided by [`crate::access::permit_minting`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MintToken {
    /// A fresh id.
    pub id: TokenId,
    /// Hash of the secret.
    pub secret_hash: Hash256,
    /// For which project, or for all.
    pub realm: Realm,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// How long it lives.
    pub expires_in_seconds: Option<u64>,
}

/// A project token needs a live project.
pub fn decide(
    snapshot: &Snapshot,
    command: MintToken,
    moment: &Moment,
) -> Result<Decision<Token>, Rejection> {
    if let Realm::Project(project) = &command.realm
        && snapshot.project.as_ref().is_none_or(|row| row.deleted_at.is_some())
    {
        return Err(Rejection::no_project(project));
    }
    let mut scopes = command.scopes;
    scopes.sort_unstable();
    scopes.dedup();
    if scopes.is_empty() {
        return Err(Invalid::field("scopes", "must name at least one of read, work, operate, admin").into());
    }
    if let Some(seconds) = command.expires_in_seconds
        && !(1..=limits::TOKEN_SECONDS_MAX).contains(&seconds)
    {
        let range = format!("must be 1 to {}", limits::TOKEN_SECONDS_MAX);
        return Err(Invalid::field("expires_in_seconds", range).into());
    }
    let token = Token {
        id: command.id,
        realm: command.realm.clone(),
        secret_hash: command.secret_hash,
        scopes,
        created_at: moment.now,
        expires_at: command.expires_in_seconds.map(|seconds| moment.now.plus_seconds(seconds as i64)),
        revoked_at: None,
    };
    let mut commit = Commit::new(command.realm);
    let facts = json!({ "scopes": Scope::list_to_stored(&token.scopes) });
    commit.audit.push(moment.audit(AuditAction::TokenCreate, token.id, &facts));
    commit.writes.push(Write::CreateToken(token.clone()));
    Ok(Decision { commit, outcome: token })
}
