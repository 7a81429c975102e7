//! What was acknowledged and is not there any more is noticed when the store is opened (F-35, NF-01).

use cardwire_model::{Commit, ProjectId, Write};
use cardwire_store::{Catalog, EventFilter, LogKind, Reach, Store};
use cardwire_store_sqlite::{Loss, OpenError, SqliteStore};
use cardwire_testkit::{
    ProjectBuilder, SeededIds,
    fixtures::{audit, event, project_id, text_card},
};
use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use tempfile::TempDir;

const CARDS: u64 = 200;

struct Lost {
    directory: TempDir,
    project: ProjectId,
}

impl Lost {
    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn open(&self) -> Result<SqliteStore, OpenError> {
        SqliteStore::open(&self.file("cardwire.db"))
    }

    fn refusal(&self) -> OpenError {
        self.open().err().expect("a store that lost commits is refused")
    }

    fn reach(&self) -> Reach {
        let refusal = self.refusal();
        let OpenError::Behind(reach) = refusal else { panic!("{refusal}") };
        reach
    }
}

async fn put(store: &SqliteStore, project: &ProjectId, ids: &mut SeededIds) {
    let card = text_card(ids.card(), "x");
    let mut commit = Commit::new(project.clone());
    commit.events.push(event(ids.event(), "card.created", None));
    commit.writes.push(Write::PutCard(Box::new(card)));
    store.commit(commit).await.unwrap();
}

/// The files of a store as a killed server leaves them: its last commits are in the log alone.
async fn killed() -> Lost {
    let (store, directory) = crate::fresh();
    let (project, mut ids) = (project_id("p1"), SeededIds::new(1));
    let mut commit = Commit::new(project.clone());
    commit.writes.push(Write::CreateProject(ProjectBuilder::new(project.clone()).build()));
    store.commit(commit).await.unwrap();
    for _ in 0..CARDS {
        put(&store, &project, &mut ids).await;
    }
    until_marked(directory.path(), CARDS);
    let copy = TempDir::new().unwrap();
    for name in ["cardwire.db", "cardwire.db-wal", "cardwire.mark"] {
        fs::copy(directory.path().join(name), copy.path().join(name)).unwrap();
    }
    store.close().await;
    Lost { directory: copy, project }
}

/// Waits until the mark tells of so many events.
fn until_marked(directory: &Path, events: u64) {
    let deadline = Instant::now() + Duration::from_secs(20);
    let wanted = format!("\"event\":{events},");
    while !fs::read_to_string(directory.join("cardwire.mark")).is_ok_and(|mark| mark.contains(&wanted)) {
        assert!(Instant::now() < deadline, "the mark is never moved");
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn a_store_as_a_kill_leaves_it_is_whole() {
    let lost = killed().await;
    let store = lost.open().unwrap();
    assert_eq!(store.last_position(&lost.project).await.unwrap(), CARDS);
    let reach = store.health().await.unwrap().reach.unwrap();
    assert_eq!((reach.acknowledged, reach.found, reach.is_whole()), (CARDS, CARDS, true));
    store.close().await;
}

/// F-35: the log removed, cut, or one bit of it changed.
#[tokio::test]
async fn a_log_that_was_removed_cut_or_changed_is_noticed_and_left_as_it_is() {
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 4] = [
        ("removed", |log| fs::remove_file(log).unwrap()),
        ("emptied", |log| fs::write(log, "").unwrap()),
        ("cut", |log| {
            let bytes = fs::read(log).unwrap();
            fs::write(log, &bytes[..bytes.len() / 2]).unwrap();
        }),
        ("changed", |log| {
            let mut bytes = fs::read(log).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(log, bytes).unwrap();
        }),
    ];
    for (name, damage) in damages {
        let lost = killed().await;
        let log = lost.file("cardwire.db-wal");
        damage(&log);
        let (left, before) = (fs::read(&log).ok(), fs::read(lost.file("cardwire.db")).unwrap());
        let reach = lost.reach();
        assert_eq!((reach.log, reach.acknowledged), (LogKind::Events, CARDS), "{name}");
        assert!(reach.found < CARDS, "{name}: {reach}");
        if left.as_ref().is_some_and(|left| !left.is_empty()) {
            assert_eq!(fs::read(&log).ok(), left, "{name}: somebody may be able to mend it");
        }
        assert_eq!(fs::read(lost.file("cardwire.db")).unwrap(), before, "{name}");

        // Looking at it changes nothing; going on with it is a decision, and is made once.
        let store = SqliteStore::open_read_only(&lost.file("cardwire.db"));
        if let Ok(store) = store {
            assert_eq!(store.health().await.unwrap().reach, Some(reach.clone()), "{name}");
            store.close().await;
        }
        let store = SqliteStore::open_with(&lost.file("cardwire.db"), Loss::Accepted).unwrap();
        store.close().await;
        lost.open().unwrap().close().await;
    }
}

/// F-35
#[tokio::test]
async fn what_is_left_of_a_database_keeps_a_new_one_from_being_made() {
    for left in ["cardwire.db-wal", "cardwire.mark"] {
        let lost = killed().await;
        for name in ["cardwire.db", "cardwire.db-wal", "cardwire.mark"] {
            if name != left {
                fs::remove_file(lost.file(name)).unwrap();
            }
        }
        let before = fs::read(lost.file(left)).unwrap();
        for _ in 0..2 {
            let refusal = lost.refusal();
            let OpenError::Missing { left: found, .. } = refusal else { panic!("{refusal}") };
            assert_eq!(found, lost.file(left));
        }
        assert_eq!(fs::read(lost.file(left)).unwrap(), before);
        assert!(!lost.file("cardwire.db").exists());
        fs::remove_file(lost.file(left)).unwrap();
        lost.open().expect("nothing says that there was one").close().await;
    }
}

/// F-35: an older copy, or another store, in the place of the database.
#[tokio::test]
async fn a_database_that_is_not_the_one_of_the_mark_is_refused() {
    let lost = killed().await;
    lost.open().unwrap().close().await;
    let older = fs::read(lost.file("cardwire.db")).unwrap();
    let (store, mut ids) = (lost.open().unwrap(), SeededIds::new(2));
    put(&store, &lost.project, &mut ids).await;
    store.close().await;
    fs::write(lost.file("cardwire.db"), &older).unwrap();
    assert_eq!(lost.reach().to_string(), "acknowledged up to event 201 of project p1, found up to 200");

    // As long as the one it takes the place of, and with another event at its end.
    fs::remove_file(lost.file("cardwire.mark")).unwrap();
    let (store, mut ids) = (lost.open().unwrap(), SeededIds::new(3));
    put(&store, &lost.project, &mut ids).await;
    store.close().await;
    let other = fs::read(lost.file("cardwire.db")).unwrap();
    let mark = fs::read(lost.file("cardwire.mark")).unwrap();
    fs::write(lost.file("cardwire.db"), &older).unwrap();
    fs::remove_file(lost.file("cardwire.mark")).unwrap();
    let (store, mut ids) = (lost.open().unwrap(), SeededIds::new(4));
    put(&store, &lost.project, &mut ids).await;
    store.close().await;
    fs::write(lost.file("cardwire.db"), &other).unwrap();
    assert_eq!(lost.reach().found, CARDS);
    // Its own mark fits.
    fs::write(lost.file("cardwire.mark"), mark).unwrap();
    lost.open().unwrap().close().await;
}

/// F-35: audit rows are acknowledged, too; a token that was revoked must not come back unseen.
#[tokio::test]
async fn audit_rows_alone_move_the_mark() {
    let lost = killed().await;
    lost.open().unwrap().close().await;
    let older = fs::read(lost.file("cardwire.db")).unwrap();
    let store = lost.open().unwrap();
    let mut commit = Commit::new(lost.project.clone());
    commit.audit.push(audit("a"));
    store.commit(commit).await.unwrap();
    store.close().await;
    fs::write(lost.file("cardwire.db"), older).unwrap();
    let reach = lost.reach();
    assert_eq!((reach.log, reach.acknowledged, reach.found), (LogKind::Audit, 1, 0));
}

/// F-35: a backup is a database without a mark, or with one that tells of less; both open.
#[tokio::test]
async fn a_copy_without_a_mark_or_with_an_older_one_is_opened() {
    let lost = killed().await;
    let older = fs::read(lost.file("cardwire.mark")).unwrap();
    let (store, mut ids) = (lost.open().unwrap(), SeededIds::new(2));
    put(&store, &lost.project, &mut ids).await;
    store.close().await;
    fs::write(lost.file("cardwire.mark"), older).unwrap();
    lost.open().unwrap().close().await;
    fs::remove_file(lost.file("cardwire.mark")).unwrap();
    let store = lost.open().unwrap();
    assert_eq!(store.health().await.unwrap().reach, None);
    let events = store.events(&lost.project, 0, &EventFilter::default(), 1_000).await.unwrap();
    assert_eq!(events.len() as u64, CARDS + 1);
    store.close().await;
}

/// F-35: a mark that cannot be read is not taken for none.
#[tokio::test]
async fn a_mark_that_makes_no_sense_is_refused_until_the_loss_is_accepted() {
    let lost = killed().await;
    fs::write(lost.file("cardwire.mark"), "").unwrap();
    assert!(matches!(lost.refusal(), OpenError::Mark { .. }));
    SqliteStore::open_with(&lost.file("cardwire.db"), Loss::Accepted).unwrap().close().await;
    lost.open().unwrap().close().await;
}

/// F-35: without a mark a log is not taken for that of the database just because it lies beside it.
#[tokio::test]
async fn a_log_of_another_database_is_refused() {
    let (one, other) = (killed().await, killed().await);
    one.open().unwrap().close().await;
    // Longer than the first, and written back but for its last commits.
    let (store, mut ids) = (other.open().unwrap(), SeededIds::new(2));
    for _ in 0..2 * CARDS {
        put(&store, &other.project, &mut ids).await;
    }
    store.close().await;
    let (store, mut ids) = (other.open().unwrap(), SeededIds::new(3));
    put(&store, &other.project, &mut ids).await;
    fs::copy(other.file("cardwire.db-wal"), one.file("cardwire.db-wal")).unwrap();
    store.close().await;
    fs::remove_file(one.file("cardwire.mark")).unwrap();
    let before = fs::read(one.file("cardwire.db")).unwrap();
    assert!(matches!(one.refusal(), OpenError::Inconsistent(_)));
    assert_eq!(fs::read(one.file("cardwire.db")).unwrap(), before);
}
