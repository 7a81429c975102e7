//! The audit chain as the suite itself makes and follows it (SEC-05).
//!
//! Written apart from `cardwire_protocol::audit`, so that a store is not judged by the code it is used with, and so
//! that this crate does not wait for that one.

use cardwire_model::{AuditRow, ChainHead, Commit, Expect, Realm, Write};

/// The commit that seals `rows`, in the order given, after `head`.
pub fn seal(realm: &Realm, head: ChainHead, rows: &[AuditRow]) -> Commit {
    let mut commit = Commit::new(realm.clone());
    commit.expect.push(Expect::ChainAt(head));
    let mut end = head;
    for row in rows {
        end = end.extend(realm.key(), &row.audit);
        commit.writes.push(Write::SealAudit { seq: row.seq, head: end });
    }
    commit
}

/// Follows a chain over sealed rows and answers its new end, or the place of the first row that does not fit.
pub fn follow(realm: &Realm, head: ChainHead, rows: &[AuditRow]) -> Result<ChainHead, u64> {
    rows.iter().try_fold(head, |end, row| {
        let next = end.extend(realm.key(), &row.audit);
        if row.sealed == Some(next) { Ok(next) } else { Err(end.position + 1) }
    })
}
