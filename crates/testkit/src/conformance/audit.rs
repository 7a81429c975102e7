//! The audit log and its hash chain (SEC-05).

use super::case::{Case, Check, commit};
use crate::{
    chain::{follow, seal},
    fixtures::{at, audit, json},
};
use cardwire_model::{
    AuditAction, AuditRow, AuditVerdict, ChainHead, Commit, Conflict, Expect, NewAudit, Realm, Timestamp,
    Write,
};
use cardwire_store::{CommitError, RowFilter, Store, Unsealed};
use std::sync::Arc;

async fn record(case: &Case, realm: &Realm, subjects: &[&str]) {
    for subject in subjects {
        let mut commit = Commit::new(realm.clone());
        commit.audit.push(audit(subject));
        case.apply(commit).await;
    }
}

async fn unsealed(case: &Case, realm: &Realm, limit: usize) -> Unsealed {
    let work = case.store.unsealed_audit(limit).await.unwrap();
    work.into_iter().find(|work| work.realm == *realm).expect("rows to seal")
}

fn subjects(rows: &[AuditRow]) -> Vec<&str> {
    rows.iter().map(|row| row.audit.subject.as_str()).collect()
}

/// SEC-05: every row as it was recorded, newest first, each realm for itself.
pub async fn audit_rows_come_newest_first_by_realm(store: Arc<dyn Store>) {
    let case = Case::new(store).await;
    let mut expected: Vec<NewAudit> = vec![];
    for (number, action) in AuditAction::ALL.iter().enumerate() {
        expected.push(NewAudit {
            actor: format!("tok_{number}"),
            action: *action,
            subject: "对象 😀".to_owned(),
            verdict: if number % 2 == 0 { AuditVerdict::Denied } else { AuditVerdict::Allowed },
            detail: json(r#"{"n":9223372036854775807,"none":null}"#),
            at: Timestamp::from_micros(1_767_268_800_123_457 - number as i64),
        });
    }
    // Two rows per commit.
    for pair in expected.chunks(2) {
        let mut commit = case.commit([]);
        commit.audit.extend_from_slice(pair);
        case.apply(commit).await;
    }
    record(&case, &Realm::System, &["s1", "s2"]).await;

    expected.reverse();
    let all = RowFilter::default();
    for page in [1, 4, 50] {
        let (mut seen, mut before) = (vec![], None);
        loop {
            let found = case.store.audit(&case.realm, &all, before, page).await.unwrap();
            assert!(found.len() <= page);
            let Some(last) = found.last() else { break };
            before = Some(last.seq);
            seen.extend(found);
            assert!(seen.len() <= expected.len(), "a scan that stands still");
        }
        assert!(seen.windows(2).all(|pair| pair[0].seq > pair[1].seq), "seq falls");
        assert!(seen.iter().all(|row| row.sealed.is_none()));
        assert_eq!(seen.into_iter().map(|row| row.audit).collect::<Vec<_>>(), expected, "pages of {page}");
    }
    let of_system = case.store.audit(&Realm::System, &all, Some(u64::MAX), 9).await.unwrap();
    assert_eq!(subjects(&of_system), ["s2", "s1"]);
}

/// API-08: by who did what to what, how it ended and when, page by page.
pub async fn audit_rows_are_listed_by_every_filter(store: Arc<dyn Store>) {
    let case = Case::new(store).await;
    let mut rows: Vec<NewAudit> = vec![];
    for number in 0..8_i64 {
        let actor = if number % 3 == 0 { "tok_a" } else { "工具 'x'" };
        // Not in the order of their times: clocks differ.
        let time = at(100 + (number * 5) % 8);
        let action = if number % 2 == 0 { AuditAction::CardDelete } else { AuditAction::AgentProvision };
        let verdict = if number < 3 { AuditVerdict::Denied } else { AuditVerdict::Allowed };
        let row = audit(&format!("{} 'of' %", number / 2));
        rows.push(NewAudit { actor: actor.to_owned(), action, verdict, at: time, ..row });
    }
    let mut commit = case.commit([]);
    commit.audit.extend(rows.iter().cloned());
    case.apply(commit).await;
    record(&case, &Realm::System, &["elsewhere"]).await;
    rows.reverse();
    let none = RowFilter::default();
    let checks: Vec<Check<NewAudit>> = vec![
        (RowFilter { actor: Some("tok_a".to_owned()), ..none.clone() }, Box::new(|row| row.actor == "tok_a")),
        (RowFilter { from: Some(at(103)), ..none.clone() }, Box::new(|row| row.at >= at(103))),
        (RowFilter { until: Some(at(103)), ..none.clone() }, Box::new(|row| row.at < at(103))),
        (
            RowFilter { actor: Some("工具 'x'".to_owned()), from: Some(at(102)), ..none.clone() },
            Box::new(|row| row.actor != "tok_a" && row.at >= at(102)),
        ),
        (
            RowFilter { action: Some(AuditAction::AgentProvision), ..none.clone() },
            Box::new(|row| row.action == AuditAction::AgentProvision),
        ),
        (
            RowFilter { subject: Some("2 'of' %".to_owned()), ..none.clone() },
            Box::new(|row| row.subject == "2 'of' %"),
        ),
        (
            RowFilter { verdict: Some(AuditVerdict::Denied), ..none.clone() },
            Box::new(|row| row.verdict == AuditVerdict::Denied),
        ),
        // What audit rows do not have is ignored.
        (
            RowFilter { trace_id: Some("x".to_owned()), step_status: Some("x".to_owned()), ..none },
            Box::new(|_| true),
        ),
    ];
    for (filter, wanted) in checks {
        let expected: Vec<_> = rows.iter().filter(|row| wanted(row)).collect();
        assert!(!expected.is_empty(), "{filter:?}");
        for page in [1, 3, 50] {
            let (mut seen, mut before) = (vec![], None);
            loop {
                let found = case.store.audit(&case.realm, &filter, before, page).await.unwrap();
                assert!(found.len() <= page);
                let Some(last) = found.last() else { break };
                before = Some(last.seq);
                seen.extend(found);
                assert!(seen.len() <= expected.len(), "a scan that stands still");
            }
            let seen: Vec<_> = seen.iter().map(|row| &row.audit).collect();
            assert_eq!(seen, expected, "{filter:?}, pages of {page}");
        }
    }
    let nobody = RowFilter { actor: Some("tok_A".to_owned()), ..RowFilter::default() };
    assert_eq!(case.store.audit(&case.realm, &nobody, None, 9).await.unwrap(), []);
}

/// SEC-05: sealing gives each row its place and hash; the chain can be followed from the start.
pub async fn sealed_rows_form_a_chain_that_can_be_followed(store: Arc<dyn Store>) {
    let case = Case::new(store).await;
    record(&case, &case.realm, &["1", "2", "3", "4", "5"]).await;
    let first = unsealed(&case, &case.realm, 2).await;
    assert_eq!((first.head, subjects(&first.rows)), (ChainHead::START, vec!["1", "2"]));
    case.apply(seal(&first.realm, first.head, &first.rows)).await;

    let rest = unsealed(&case, &case.realm, 100).await;
    let after_two = first.rows.iter().fold(first.head, |head, row| head.extend(case.realm.key(), &row.audit));
    assert_eq!((rest.head, subjects(&rest.rows)), (after_two, vec!["3", "4", "5"]));
    case.apply(seal(&rest.realm, rest.head, &rest.rows)).await;
    assert_eq!(case.store.unsealed_audit(100).await.unwrap(), []);
    assert_eq!(case.store.health().await.unwrap().unsealed_audit, 0);

    let chain = case.store.audit_chain(&case.realm, 0, 100).await.unwrap();
    assert_eq!(subjects(&chain), ["1", "2", "3", "4", "5"]);
    let end = follow(&case.realm, ChainHead::START, &chain).expect("the chain holds");
    assert_eq!(end.position, 5);
    let middle = case.store.audit_chain(&case.realm, 2, 2).await.unwrap();
    assert_eq!(middle, chain[2..4]);
    assert_eq!(case.store.audit_chain(&case.realm, 5, 9).await.unwrap(), []);
    assert_eq!(case.store.audit_chain(&case.realm, u64::MAX, 9).await.unwrap(), []);
    // The log shows the same rows with their places.
    let mut log = case.store.audit(&case.realm, &RowFilter::default(), None, 100).await.unwrap();
    log.reverse();
    assert_eq!(log, chain);
    // It goes on where it ended.
    record(&case, &case.realm, &["6"]).await;
    assert_eq!(unsealed(&case, &case.realm, 9).await.head, end);
}

/// SEC-05: a chain has one end, so one of two sealers has to look again.
pub async fn of_two_sealers_the_slower_one_conflicts(store: Arc<dyn Store>) {
    let case = Case::new(store).await;
    record(&case, &case.realm, &["1", "2", "3"]).await;
    let (fast, slow) = (unsealed(&case, &case.realm, 1).await, unsealed(&case, &case.realm, 9).await);
    case.apply(seal(&fast.realm, fast.head, &fast.rows)).await;
    case.refuse(seal(&slow.realm, slow.head, &slow.rows), Conflict::Chain).await;
    // The right length with a wrong hash is a wrong end, too.
    let wrong = ChainHead { position: 1, ..ChainHead::START };
    let mut commit = case.commit([]);
    commit.expect.push(Expect::ChainAt(wrong));
    case.refuse(commit, Conflict::Chain).await;
    let again = unsealed(&case, &case.realm, 9).await;
    case.apply(seal(&again.realm, again.head, &again.rows)).await;

    // At the same time: exactly one.
    record(&case, &case.realm, &["4", "5"]).await;
    let work = unsealed(&case, &case.realm, 9).await;
    let sealing = || case.store.commit(seal(&work.realm, work.head, &work.rows));
    let outcomes = futures_util::future::join_all((0..6).map(|_| sealing())).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    for outcome in outcomes.into_iter().filter_map(Result::err) {
        assert!(matches!(outcome, CommitError::Conflict(Conflict::Chain)), "{outcome:?}");
    }
    let chain = case.store.audit_chain(&case.realm, 0, 100).await.unwrap();
    assert_eq!(follow(&case.realm, ChainHead::START, &chain).map(|end| end.position), Ok(5));
}

/// SEC-05: even without the expectation no row moves and no place is given twice.
pub async fn a_row_is_sealed_once_and_a_place_taken_once(store: Arc<dyn Store>) {
    let case = Case::new(store).await;
    let other = case.create_project("p2").await;
    record(&case, &case.realm, &["1", "2"]).await;
    let rows = unsealed(&case, &case.realm, 9).await.rows;
    let head = ChainHead::START.extend(case.realm.key(), &rows[0].audit);
    let seal_at = |seq, position| Write::SealAudit { seq, head: ChainHead { position, ..head } };
    // Another realm has no such row.
    case.refuse(commit(&other, [seal_at(rows[0].seq, 1)]), Conflict::Chain).await;
    case.write([seal_at(rows[0].seq, 1)]).await;
    case.refuse_write(seal_at(rows[0].seq, 2), Conflict::Chain).await;
    case.refuse_write(seal_at(rows[1].seq, 1), Conflict::Chain).await;
    case.refuse_write(seal_at(rows[1].seq + 1_000_000, 2), Conflict::Chain).await;
    let both = [seal_at(rows[1].seq, 2), seal_at(rows[1].seq, 3)];
    case.refuse(case.commit(both), Conflict::Chain).await;
    case.write([seal_at(rows[1].seq, 2)]).await;
}

/// SEC-05: the sealer gets bounded work for every realm that has any, in the order of the rows.
pub async fn unsealed_rows_are_given_per_realm_up_to_the_limit(store: Arc<dyn Store>) {
    let case = Case::new(store).await;
    assert_eq!(case.store.unsealed_audit(9).await.unwrap(), []);
    let other = Realm::from(case.create_project("p2").await);
    // A realm without rows is no work.
    case.create_project("p3").await;
    record(&case, &case.realm, &["a", "b", "c"]).await;
    record(&case, &other, &["d"]).await;
    record(&case, &Realm::System, &["e", "f"]).await;
    let mut work = case.store.unsealed_audit(2).await.unwrap();
    work.sort_by(|left, right| left.realm.cmp(&right.realm));
    let seen: Vec<_> = work.iter().map(|work| (&work.realm, work.head, subjects(&work.rows))).collect();
    let start = ChainHead::START;
    let expected = [
        (&Realm::System, start, vec!["e", "f"]),
        (&case.realm, start, vec!["a", "b"]),
        (&other, start, vec!["d"]),
    ];
    assert_eq!(seen, expected);
    assert_eq!(case.store.health().await.unwrap().unsealed_audit, 6);
}
