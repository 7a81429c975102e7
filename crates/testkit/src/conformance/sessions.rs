//! Sessions: rows that are made once and changed at the version that was seen (ST-09, ST-16).

use super::{
    case::{Case, assert_pages, commit, put},
    races::{RACERS, one_wins, race},
};
use crate::fixtures::{at, namespace, session, session_key, text_card};
use cardwire_model::{Conflict, Keys, ProjectId, Revision, Session, SessionKey, Write};
use cardwire_store::Store;
use std::sync::Arc;

fn put_session(was: Option<Revision>, session: &Session) -> Write {
    Write::PutSession { was, session: Box::new(session.clone()) }
}

/// The session one version on, with other values in every field that may change.
fn patched(case: &mut Case, old: &Session) -> Session {
    let seconds = old.version.get() as i64;
    Session {
        version: old.version.next(),
        checkpoint: case.ids.card(),
        updated_at: at(100 + seconds),
        ..old.clone()
    }
}

/// What every read says of a session; all must agree.
async fn read(case: &Case, project: &ProjectId, key: &SessionKey) -> Option<Session> {
    let found = case.store.session(project, key).await.unwrap();
    let keys = Keys { session: Some(key.clone()), ..Keys::default() };
    let loaded = case.store.load(&project.clone().into(), &keys).await.unwrap();
    assert_eq!(loaded.session, found);
    let listed = case.store.sessions(project, &key.namespace, None, 999).await.unwrap();
    assert_eq!(listed.into_iter().find(|one| one.key == *key), found);
    found
}

/// A session is read as it was written, by its key, in a list and in a load with other rows.
pub async fn a_session_comes_back_with_every_field(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let full = Session {
        version: Revision::new(1 << 53),
        created_at: at(-5),
        updated_at: at(7),
        deleted_at: Some(at(9)),
        ..session(&mut case.ids, "Team-b", "s-1_X")
    };
    let plain = session(&mut case.ids, "default", "s-1_X");
    case.write([put_session(None, &full), put_session(None, &plain)]).await;
    assert_eq!(read(&case, &case.project, &full.key).await, Some(full.clone()));
    assert_eq!(read(&case, &case.project, &plain.key).await, Some(plain));
    assert_eq!(read(&case, &case.project, &session_key("Team-b", "s-1_x")).await, None);
    let card = case.put(&["x"]).await[0];
    let keys = Keys { project: true, cards: vec![card], session: Some(full.key.clone()), ..Keys::default() };
    let loaded = case.load(keys).await;
    assert_eq!((loaded.session, loaded.project.is_some(), loaded.cards.len()), (Some(full), true, 1));
}

/// ST-16: whoever saw another version, or none, changes nothing.
pub async fn a_session_changes_at_the_expected_version_only(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let first = session(&mut case.ids, "default", "s");
    case.refuse_write(put_session(Some(Revision::FIRST), &first), Conflict::Session).await;
    case.write([put_session(None, &first)]).await;
    let second = patched(&mut case, &first);
    for was in [None, Some(second.version), Some(Revision::new(0))] {
        case.refuse_write(put_session(was, &second), Conflict::Session).await;
    }
    case.write([put_session(Some(first.version), &second)]).await;
    assert_eq!(read(&case, &case.project, &first.key).await, Some(second.clone()));
    case.refuse_write(put_session(Some(first.version), &second), Conflict::Session).await;
    let other = session(&mut case.ids, "default", "other");
    case.refuse_write(put_session(Some(second.version), &other), Conflict::Session).await;
}

/// A deleted session keeps its row and its version; it is neither made anew nor out of reach.
pub async fn a_deleted_session_goes_on_at_its_version(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let first = session(&mut case.ids, "default", "s");
    let gone = Session { deleted_at: Some(at(50)), ..patched(&mut case, &first) };
    case.write([put_session(None, &first)]).await;
    case.write([put_session(Some(first.version), &gone)]).await;
    assert_eq!(read(&case, &case.project, &first.key).await, Some(gone.clone()));
    case.refuse_write(put_session(None, &first), Conflict::Session).await;
    let back = Session { deleted_at: None, created_at: at(60), ..patched(&mut case, &gone) };
    case.write([put_session(Some(gone.version), &back)]).await;
    assert_eq!(read(&case, &case.project, &first.key).await, Some(back));
}

/// Several patches in one commit count in their order, and each relies on the one before.
pub async fn writes_to_one_session_apply_in_order(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let first = session(&mut case.ids, "default", "s");
    let second = patched(&mut case, &first);
    let third = patched(&mut case, &second);
    let (one, two) = (Some(first.version), Some(second.version));
    for wrong in [
        vec![put_session(one, &second), put_session(None, &first)],
        vec![put_session(None, &first), put_session(two, &third)],
        vec![put_session(None, &first), put_session(None, &first)],
        vec![put_session(None, &first), put_session(one, &second), put_session(one, &second)],
    ] {
        case.refuse(case.commit(wrong), Conflict::Session).await;
    }
    case.write([put_session(None, &first), put_session(one, &second)]).await;
    assert_eq!(read(&case, &case.project, &first.key).await, Some(second.clone()));
    let fourth = patched(&mut case, &third);
    case.write([put_session(two, &third), put_session(Some(third.version), &fourth)]).await;
    assert_eq!(read(&case, &case.project, &first.key).await, Some(fourth));
}

/// A patch is whole: cards that came with one that is refused are not there.
pub async fn a_refused_patch_leaves_nothing_behind(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let first = session(&mut case.ids, "default", "s");
    case.write([put_session(None, &first)]).await;
    let box_id = case.create_box(&[]).await;
    let (card, second) = (text_card(case.ids.card(), "said"), patched(&mut case, &first));
    let append = super::case::append(box_id, cardwire_model::Generation::FIRST, &[card.id]);
    let patch = |was| case.commit([put(card.clone()), append.clone(), put_session(was, &second)]);
    case.refuse(patch(Some(Revision::new(9))), Conflict::Session).await;
    // And the other way round: a session stays where it is when its card is taken.
    let mut taken = patch(Some(first.version));
    taken.writes.push(put(card.clone()));
    case.refuse(taken, Conflict::Card).await;
    case.apply(patch(Some(first.version))).await;
    assert_eq!(case.card_ids(box_id, cardwire_model::Generation::FIRST).await, [card.id]);
    assert_eq!(read(&case, &case.project, &first.key).await, Some(second));
}

/// Lists are by name, deleted sessions are in them, and a page goes on behind the last one.
pub async fn sessions_page_by_name(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let mut expected = vec![];
    // By bytes: capitals come before small letters, whatever a language says.
    for name in ["B", "Z9", "_", "a", "a-", "aa", "b"] {
        let mut one = session(&mut case.ids, "default", name);
        one.deleted_at = (name == "aa").then(|| at(3));
        expected.push(one);
    }
    let other = session(&mut case.ids, "Team-b", "ab");
    case.write(expected.iter().rev().chain([&other]).map(|one| put_session(None, one))).await;
    let (store, project, names) = (&case.store, &case.project, namespace("default"));
    assert_pages(
        "sessions",
        &expected,
        |one| one.key.session.clone(),
        async |after, limit| store.sessions(project, &names, after.as_ref(), limit).await,
    )
    .await;
    assert_eq!(store.sessions(project, &namespace("Team-b"), None, 9).await.unwrap(), [other]);
    assert_eq!(store.sessions(project, &namespace("nobody"), None, 9).await.unwrap(), []);
    assert_eq!(store.sessions(project, &names, None, 0).await.unwrap(), []);
}

/// ST-09, CB-08: the same name in another namespace or project is another session.
pub async fn sessions_of_other_namespaces_and_projects_are_unrelated(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let (first, second) = (case.project.clone(), case.create_project("p2").await);
    let mut places = vec![];
    for project in [&first, &second] {
        for name in ["default", "Team-b"] {
            let row = session(&mut case.ids, name, "same");
            assert_eq!(read(&case, project, &row.key).await, None);
            // Nothing can be built on a session that is elsewhere.
            let build = commit(project, [put_session(Some(row.version), &row)]);
            case.refuse(build, Conflict::Session).await;
            case.apply(commit(project, [put_session(None, &row)])).await;
            places.push((project.clone(), row));
        }
    }
    let (project, row) = places.remove(0);
    let changed = patched(&mut case, &row);
    case.apply(commit(&project, [put_session(Some(row.version), &changed)])).await;
    assert_eq!(read(&case, &project, &row.key).await, Some(changed));
    for (project, row) in places {
        assert_eq!(read(&case, &project, &row.key).await, Some(row));
    }
}

/// ST-16: of many patches of one version, one is applied; of many makers of one session, too.
pub async fn of_patches_of_one_version_one_wins(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let made: Vec<_> = (0..RACERS).map(|_| session(&mut case.ids, "default", "s")).collect();
    let commits = made.iter().map(|one| case.commit([put_session(None, one)])).collect();
    let winner = one_wins(&case, commits, Conflict::Session).await;
    let first = made[winner].clone();
    assert_eq!(read(&case, &case.project, &first.key).await, Some(first.clone()));
    let patches: Vec<_> = (0..RACERS).map(|_| patched(&mut case, &first)).collect();
    let was = Some(first.version);
    let commits = patches.iter().map(|one| case.commit([put_session(was, one)])).collect();
    let winner = one_wins(&case, commits, Conflict::Session).await;
    assert_eq!(read(&case, &case.project, &first.key).await, Some(patches[winner].clone()));
}

/// Patches of different sessions do not get into each other's way.
pub async fn patches_of_different_sessions_go_together(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let rows: Vec<_> =
        (0..RACERS).map(|number| session(&mut case.ids, "default", &format!("s-{number}"))).collect();
    // Half of them are there already.
    case.write(rows.iter().step_by(2).map(|one| put_session(None, one))).await;
    let mut expected = vec![];
    for (number, row) in rows.iter().enumerate() {
        expected.push(if number.is_multiple_of(2) { patched(&mut case, row) } else { row.clone() });
    }
    let was = |number: usize| number.is_multiple_of(2).then_some(Revision::FIRST);
    let commits = expected.iter().enumerate().map(|(number, one)| {
        let card = text_card(case.ids.card(), "said");
        case.commit([put(card), put_session(was(number), one)])
    });
    let commits = commits.collect();
    for outcome in race(&case.store, commits).await {
        outcome.expect("sessions do not conflict with each other");
    }
    for one in expected {
        assert_eq!(read(&case, &case.project, &one.key).await, Some(one));
    }
}
