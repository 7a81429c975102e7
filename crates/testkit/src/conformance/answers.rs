//! Remembered answers (API-16).

use super::case::{Case, put};
use crate::fixtures::{answer, at, text_card};
use cardwire_model::{Answer, AnswerKey, Commit, Conflict, Hash256, Realm, Write};
use cardwire_store::Store;
use std::sync::Arc;

/// API-16: the first answer stands, whatever the second request was.
pub async fn an_answer_is_remembered_once_per_caller_and_key(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let first = Answer { status: 409, ..answer("tok_a", "k!~1", "{\"正文\":\"😀\"}", at(5)) };
    let [seen, unseen] = [case.ids.card(), case.ids.card()];
    case.write([put(text_card(seen, "x")), Write::RememberAnswer(first.clone())]).await;
    assert_eq!(case.answer(&case.realm, &first.key).await, Some(first.clone()));

    let again = Write::RememberAnswer(answer("tok_a", "k!~1", "another body", at(6)));
    case.refuse(case.commit([put(text_card(unseen, "never seen")), again]), Conflict::Answer).await;
    // Asked for with another request, the stored one comes back, so that the difference can be told.
    let other = AnswerKey { request_hash: Hash256::ZERO, ..first.key.clone() };
    assert_eq!(case.answer(&case.realm, &other).await, Some(first.clone()));

    // Another caller, key or realm is another answer.
    let others = [answer("tok_b", "k!~1", "b", at(5)), answer("tok_a", "K!~1", "c", at(5))];
    case.write(others.iter().cloned().map(Write::RememberAnswer)).await;
    let mut system = Commit::new(Realm::System);
    let of_system = answer("tok_a", "k!~1", "d", at(5));
    system.writes.push(Write::RememberAnswer(of_system.clone()));
    case.apply(system).await;
    for remembered in others {
        assert_eq!(case.answer(&case.realm, &remembered.key).await, Some(remembered));
    }
    assert_eq!(case.answer(&Realm::System, &of_system.key).await, Some(of_system));
    assert_eq!(case.answer(&case.realm, &first.key).await, Some(first));
}

/// API-16: answers end a day later, by the moment they were given, in all realms.
pub async fn old_answers_are_forgotten_and_young_ones_kept(store: Arc<dyn Store>) {
    let case = Case::new(store).await;
    let [old, edge, young] = [9, 10, 11].map(|second| answer("tok_a", &format!("k{second}"), "", at(second)));
    let all = [&old, &edge, &young].map(|answer| Write::RememberAnswer(answer.clone()));
    case.write(all).await;
    let mut system = Commit::new(Realm::System);
    system.writes.push(Write::RememberAnswer(old.clone()));
    case.apply(system).await;

    assert_eq!(case.store.forget_answers(at(10)).await.unwrap(), 2);
    assert_eq!(case.answer(&case.realm, &old.key).await, None);
    assert_eq!(case.answer(&Realm::System, &old.key).await, None);
    assert_eq!(case.answer(&case.realm, &edge.key).await, Some(edge));
    assert_eq!(case.answer(&case.realm, &young.key).await, Some(young));
    assert_eq!(case.store.forget_answers(at(10)).await.unwrap(), 0);
    // The key is free again.
    case.write([Write::RememberAnswer(old.clone())]).await;
    assert_eq!(case.answer(&case.realm, &old.key).await, Some(old));
}
