//! Who may do what (SEC-02, CB-08): the one place where a token meets a scope and a realm.

use crate::{Decision, Moment, Rejection};
use cardwire_model::{AuditAction, AuditVerdict, Commit, Realm, Scope, Token};
use serde_json::json;

/// What a route asks of its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needed {
    /// The least scope.
    pub scope: Scope,
    /// Whether only a token of the system itself will do.
    pub global: bool,
}

/// Whether `token` may act on `realm`. A token that does not reach a project gets the same answer whether or not
/// the project exists.
pub fn permit(token: &Token, realm: &Realm, needed: Needed) -> Result<(), Rejection> {
    if needed.global && token.realm != Realm::System {
        return Err(Rejection::Forbidden("this needs a token that is not bound to one project".to_owned()));
    }
    if !token.reaches(realm) {
        return Err(Rejection::Forbidden("this token is for another project".to_owned()));
    }
    if !token.allows(needed.scope) {
        return Err(Rejection::Forbidden(format!("this needs the scope {}", needed.scope.as_str())));
    }
    Ok(())
}

/// Records a refusal. It is written into the realm that the caller's token is of: that is whose holder overstepped, and
/// a row in somebody else's project would let strangers fill its log.
pub fn record_denial(moment: &Moment, realm: &Realm, route: &str, reason: &str) -> Decision<()> {
    let mut commit = Commit::new(realm.clone());
    let mut row = moment.audit(AuditAction::AccessDenied, route, &json!({ "reason": reason }));
    row.verdict = AuditVerdict::Denied;
    commit.audit.push(row);
    Decision { commit, outcome: () }
}

/// Whether `token` may hand out a token with these scopes for this realm: only what it has itself.
pub fn permit_minting(token: &Token, realm: &Realm, scopes: &[Scope]) -> Result<(), Rejection> {
    permit(token, realm, Needed { scope: Scope::Admin, global: false })?;
    match scopes.iter().find(|scope| !token.allows(**scope)) {
        Some(scope) => {
            Err(Rejection::Forbidden(format!("this token has no scope {} to give", scope.as_str())))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{moment, token};

    /// SEC-02
    #[test]
    fn a_scope_includes_the_weaker_ones_and_a_project_token_stays_at_home() {
        let home = Realm::Project("p1".parse().unwrap());
        let away = Realm::Project("p2".parse().unwrap());
        let need = |scope| Needed { scope, global: false };
        for (index, have) in Scope::ALL.into_iter().enumerate() {
            for (other, scope) in Scope::ALL.into_iter().enumerate() {
                let bound = token(home.clone(), &[have]);
                assert_eq!(permit(&bound, &home, need(scope)).is_ok(), other <= index, "{have:?} {scope:?}");
                assert!(permit(&bound, &away, need(scope)).is_err());
                assert!(permit(&bound, &home, Needed { scope, global: true }).is_err());
                assert_eq!(
                    permit(&token(Realm::System, &[have]), &away, need(scope)).is_ok(),
                    other <= index
                );
            }
        }
    }

    /// SEC-05
    #[test]
    fn a_denial_is_recorded_where_the_token_lives() {
        let home = Realm::Project("p1".parse().unwrap());
        let decision = record_denial(&moment(), &home, "GET /projects/{project_id}", "no");
        assert_eq!(decision.commit.realm, home);
        assert_eq!(decision.commit.audit[0].verdict, AuditVerdict::Denied);
    }
}
