//! Revoke a token.
//!
//! Invariant: somebody is left who can make tokens for all projects.

use crate::{Decision, Moment, Rejection};
use cardwire_model::{AuditAction, Commit, Realm, Snapshot, TokenId, Write};
use serde_json::json;

/// What the server knows of a token that is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Others can do without it.
    Ordinary,
    /// The server was started with it: its data directory holds it.
    ServersOwn,
    /// No other live token makes tokens for all projects.
    LastAdmin,
}

impl Standing {
    /// Why the token stays, and what to do instead.
    const fn objection(self) -> Option<&'static str> {
        match self {
            Self::Ordinary => None,
            Self::ServersOwn => Some(
                "is the server's own admin token, the one in `admin.token` of its data directory, and is not revoked while the server runs; to replace it, stop the server, remove that file and start the server again, which makes a new one, then revoke this one",
            ),
            Self::LastAdmin => Some(
                "is the last live token that can make tokens for all projects; make another one first (`POST /tokens` with the scope `admin` and no project), then revoke this one with it",
            ),
        }
    }
}

/// Ends a token of this realm; one that is ended already is not found.
pub fn decide(
    snapshot: &Snapshot,
    realm: &Realm,
    id: TokenId,
    standing: Standing,
    moment: &Moment,
) -> Result<Decision<()>, Rejection> {
    if snapshot.token.as_ref().is_none_or(|token| token.revoked_at.is_some()) {
        return Err(Rejection::not_found("token", id));
    }
    if let Some(objection) = standing.objection() {
        return Err(Rejection::Conflict(format!("token {id} {objection}")));
    }
    let mut commit = Commit::new(realm.clone());
    commit.writes.push(Write::RevokeToken { token_id: id, at: moment.now });
    commit.audit.push(moment.audit(AuditAction::TokenRevoke, id, &json!({})));
    Ok(Decision { commit, outcome: () })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{moment, token};
    use cardwire_model::Scope;

    /// F-42, SEC-02
    #[test]
    fn a_token_that_nobody_can_do_without_stays_and_the_refusal_says_what_to_do() {
        let admin = token(Realm::System, &[Scope::Admin]);
        let id = admin.id;
        let revoke = |token: &cardwire_model::Token, standing| {
            let snapshot = Snapshot { token: Some(token.clone()), ..Snapshot::default() };
            decide(&snapshot, &Realm::System, id, standing, &moment())
        };
        assert!(revoke(&admin, Standing::Ordinary).is_ok());
        for (standing, advice) in
            [(Standing::ServersOwn, "stop the server"), (Standing::LastAdmin, "make another one first")]
        {
            let Err(Rejection::Conflict(told)) = revoke(&admin, standing) else { panic!("{standing:?}") };
            assert!(told.contains(&id.to_string()) && told.contains(advice), "{told}");
            // What is ended already is gone, whatever it was.
            let ended = cardwire_model::Token { revoked_at: Some(moment().now), ..admin.clone() };
            assert!(matches!(revoke(&ended, standing), Err(Rejection::NotFound { .. })));
        }
    }
}
