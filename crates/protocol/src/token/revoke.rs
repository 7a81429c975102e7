//! Revoke a token.

use crate::{Decision, Moment, Rejection};
use cardwire_model::{AuditAction, Commit, Realm, Snapshot, TokenId, Write};
use serde_json::json;

/// Ends a token of this realm; one that is ended already is not found.
pub fn decide(
    snapshot: &Snapshot,
    realm: &Realm,
    id: TokenId,
    moment: &Moment,
) -> Result<Decision<()>, Rejection> {
    if snapshot.token.as_ref().is_none_or(|token| token.revoked_at.is_some()) {
        return Err(Rejection::not_found("token", id));
    }
    let mut commit = Commit::new(realm.clone());
    commit.writes.push(Write::RevokeToken { token_id: id, at: moment.now });
    commit.audit.push(moment.audit(AuditAction::TokenRevoke, id, &json!({})));
    Ok(Decision { commit, outcome: () })
}
