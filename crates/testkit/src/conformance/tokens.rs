//! Tokens (SEC-02): found by hash before their realm is known, managed within it.

use super::case::{Case, commit};
use crate::fixtures::{TokenBuilder, at};
use cardwire_model::{Commit, Conflict, Hash256, Realm, Scope, Token, Write};
use cardwire_store::Store;
use std::sync::Arc;

fn create(token: &Token) -> Commit {
    let mut commit = Commit::new(token.realm.clone());
    commit.writes.push(Write::CreateToken(token.clone()));
    commit
}

/// SEC-02: only the hash is stored, and everything else as it was.
pub async fn a_token_is_found_by_hash_and_by_id_with_every_field(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let secret = case.ids.secret();
    let full = TokenBuilder::new(case.ids.token(), case.project.clone())
        .secret_hash(secret.hash())
        .scopes(&[Scope::Admin, Scope::Read])
        .at(at(1))
        .expires(at(2))
        .build();
    let bare = TokenBuilder::new(case.ids.token(), Realm::System).scopes(&[]).build();
    let all = TokenBuilder::new(case.ids.token(), Realm::System).scopes(&Scope::ALL).build();
    for token in [&full, &bare, &all] {
        case.apply(create(token)).await;
    }
    for token in [full, bare, all] {
        assert_eq!(case.store.token_by_hash(token.secret_hash).await.unwrap(), Some(token.clone()));
        assert_eq!(case.store.token_by_id(token.id).await.unwrap(), Some(token));
    }
    assert_eq!(case.store.token_by_hash(Hash256::ZERO).await.unwrap(), None);
    assert_eq!(case.store.token_by_id(case.ids.token()).await.unwrap(), None);
}

/// SEC-02, F-25: one look for all who read on with a token.
pub async fn many_tokens_are_found_at_once(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let realms = [case.realm.clone(), Realm::System];
    let mut tokens: Vec<Token> = vec![];
    for realm in realms.iter().cycle().take(5) {
        let secret = case.ids.secret();
        let token = TokenBuilder::new(case.ids.token(), realm.clone()).secret_hash(secret.hash()).build();
        case.apply(create(&token)).await;
        tokens.push(token);
    }
    let asked = [tokens[3].secret_hash, Hash256::ZERO, tokens[0].secret_hash];
    let mut found = case.store.tokens_by_hashes(&asked).await.unwrap();
    found.sort_by_key(|token| token.id);
    let mut expected = vec![tokens[0].clone(), tokens[3].clone()];
    expected.sort_by_key(|token| token.id);
    assert_eq!(found, expected);
    assert_eq!(case.store.tokens_by_hashes(&[]).await.unwrap(), []);
}

/// SEC-02: a project's admin sees its own tokens, the system's admin all of them.
pub async fn tokens_are_listed_by_realm_and_page(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let other = Realm::from(case.create_project("p2").await);
    let realms = [case.realm.clone(), other, Realm::System];
    let mut tokens: Vec<Token> = vec![];
    for realm in realms.iter().cycle().take(9) {
        tokens.push(TokenBuilder::new(case.ids.token(), realm.clone()).build());
    }
    for token in &tokens {
        case.apply(create(token)).await;
    }
    tokens.sort_by_key(|token| token.id);
    for realm in [None, Some(&realms[0]), Some(&realms[1]), Some(&realms[2])] {
        let of_realm = |token: &&Token| realm.is_none_or(|realm| token.realm == *realm);
        let expected: Vec<_> = tokens.iter().filter(of_realm).cloned().collect();
        for page in [1, 2, 50] {
            let (mut seen, mut after) = (vec![], None);
            loop {
                let found = case.store.tokens(realm, after, page).await.unwrap();
                assert!(found.len() <= page);
                let Some(last) = found.last() else { break };
                after = Some(last.id);
                seen.extend(found);
                assert!(seen.len() <= expected.len(), "a scan that stands still");
            }
            assert_eq!(seen, expected, "{realm:?}, pages of {page}");
        }
    }
}

/// SEC-02: a token is looked up without its realm, so neither id nor secret may be there twice.
pub async fn ids_and_secrets_are_unique_over_all_realms(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let other = case.create_project("p2").await;
    let token = TokenBuilder::new(case.ids.token(), case.project.clone()).build();
    case.apply(create(&token)).await;
    for realm in [case.realm.clone(), other.into(), Realm::System] {
        let same_id = TokenBuilder::new(token.id, realm.clone()).secret_hash(case.ids.hash()).build();
        case.refuse(create(&same_id), Conflict::Token).await;
        let same_secret = TokenBuilder::new(case.ids.token(), realm).secret_hash(token.secret_hash).build();
        case.refuse(create(&same_secret), Conflict::Token).await;
    }
}

/// SEC-02: revoking ends a token for good; nobody ends another realm's.
pub async fn a_token_is_revoked_once_and_in_its_own_realm(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let other = case.create_project("p2").await;
    let token = TokenBuilder::new(case.ids.token(), case.project.clone()).build();
    case.apply(create(&token)).await;
    let revoke = |second| Write::RevokeToken { token_id: token.id, at: at(second) };
    case.refuse(commit(&other, [revoke(1)]), Conflict::Token).await;
    let mut by_system = Commit::new(Realm::System);
    by_system.writes.push(revoke(1));
    case.refuse(by_system, Conflict::Token).await;
    case.write([revoke(2)]).await;
    case.refuse_write(revoke(3), Conflict::Token).await;
    let absent = Write::RevokeToken { token_id: case.ids.token(), at: at(1) };
    case.refuse_write(absent, Conflict::Token).await;
    let ended = Token { revoked_at: Some(at(2)), ..token.clone() };
    assert_eq!(case.store.token_by_hash(token.secret_hash).await.unwrap(), Some(ended));
    // A revoked token keeps its id and its secret.
    case.refuse(create(&token), Conflict::Token).await;
}
