//! The generator and the differential test themselves: repeatable, and never vacuous.

use cardwire_testkit::{
    ReferenceStore, differential, differential_in_groups, generate::Generator, test_seed,
};

#[tokio::test]
async fn random_commits_try_every_write_every_expectation_and_every_conflict() {
    for seed in [1, test_seed()] {
        println!("CARDWIRE_TEST_SEED={seed}");
        let (left, right) = (ReferenceStore::new(), ReferenceStore::new());
        differential(&left, &right, seed, 4_000).await.assert_complete();
    }
}

#[tokio::test]
async fn commits_in_groups_end_in_the_same_rows() {
    let (left, right) = (ReferenceStore::new(), ReferenceStore::new());
    differential_in_groups(&left, &right, 2, 2_000, 16).await.assert_complete();
}

#[test]
fn a_seed_means_the_same_commits() {
    let commits = |seed| {
        let mut generator = Generator::new(seed);
        (0..300).map(|_| generator.step().commit).collect::<Vec<_>>()
    };
    assert_eq!(commits(3), commits(3));
    assert_ne!(commits(3), commits(4));
}
