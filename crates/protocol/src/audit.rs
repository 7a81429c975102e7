//! SEC-05: sealing audit rows into the chain of their realm, and checking a chain.

use crate::Moment;
use cardwire_model::{AuditAction, AuditRow, ChainHead, Commit, Expect, Realm, Timestamp, Write};
use serde_json::json;

/// The commit that seals `rows`, in the order given, after `head`.
pub fn seal(realm: &Realm, head: ChainHead, rows: &[AuditRow]) -> Commit {
    let mut commit = Commit::new(realm.clone());
    commit.expect.push(Expect::ChainAt(head));
    let mut head = head;
    for row in rows {
        head = head.extend(realm.key(), &row.audit);
        commit.writes.push(Write::SealAudit { seq: row.seq, head });
    }
    commit
}

/// Follows a chain over sealed rows and answers its new end, or the place of the first row that does not fit.
pub fn follow(realm: &Realm, head: ChainHead, rows: &[AuditRow]) -> Result<ChainHead, u64> {
    rows.iter().try_fold(head, |head, row| {
        let next = head.extend(realm.key(), &row.audit);
        if row.sealed == Some(next) { Ok(next) } else { Err(head.position + 1) }
    })
}

/// Records that the watchdog was run by hand, for which moment, and how much it found to do.
pub fn record_tick(moment: &Moment, now: Timestamp, actions: usize) -> Commit {
    let mut commit = Commit::new(Realm::System);
    let detail = json!({ "now": now.to_string(), "actions": actions });
    commit.audit.push(moment.audit(AuditAction::AdminTick, "watchdog", &detail));
    commit
}

/// Records that the store was verified, and whether everything fitted.
pub fn record_verification(moment: &Moment, ok: bool, realms: usize) -> Commit {
    let mut commit = Commit::new(Realm::System);
    commit.audit.push(moment.audit(
        AuditAction::AdminVerify,
        "store",
        &json!({ "ok": ok, "realms": realms }),
    ));
    commit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::moment;

    fn sealed_rows(realm: &Realm) -> Vec<AuditRow> {
        let audit = |n: u64| moment().audit(AuditAction::TokenCreate, n, &json!({}));
        let mut rows: Vec<_> = (1..=3).map(|seq| AuditRow { seq, audit: audit(seq), sealed: None }).collect();
        for write in seal(realm, ChainHead::START, &rows).writes {
            if let Write::SealAudit { seq, head } = write {
                rows[seq as usize - 1].sealed = Some(head);
            }
        }
        rows
    }

    /// SEC-05
    #[test]
    fn a_changed_moved_dropped_or_foreign_row_breaks_the_chain_at_its_place() {
        let realm = Realm::Project("p1".parse().unwrap());
        let rows = sealed_rows(&realm);
        assert_eq!(follow(&realm, ChainHead::START, &rows).unwrap().position, 3);

        let mut changed = rows.clone();
        changed[1].audit.subject = "other".to_owned();
        assert_eq!(follow(&realm, ChainHead::START, &changed), Err(2));
        let mut moved = rows.clone();
        moved.swap(0, 1);
        assert_eq!(follow(&realm, ChainHead::START, &moved), Err(1));
        assert_eq!(follow(&realm, ChainHead::START, &rows[1..]), Err(1));
        assert_eq!(follow(&Realm::System, ChainHead::START, &rows), Err(1));
    }
}
