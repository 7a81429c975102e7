//! What was acknowledged is there after a restart (NF-01, CB-18).

use cardwire_model::Keys;
use cardwire_store::Store;
use cardwire_testkit::{dump, generate::Generator, test_seed};

#[tokio::test]
async fn a_store_that_is_opened_again_shows_what_it_showed_before() {
    let seed = test_seed();
    println!("CARDWIRE_TEST_SEED={seed}");
    let (store, directory) = crate::fresh();
    let mut generator = Generator::new(seed);
    for _ in 0..400 {
        let step = generator.step();
        assert_eq!(store.commit(step.commit).await.is_ok(), step.refusals.is_empty());
    }
    let before = dump(&store).await;
    let mut answers = vec![];
    for (realm, key) in generator.answers() {
        let keys = Keys { answer: Some(key), ..Keys::default() };
        answers.push((store.load(&realm, &keys).await.unwrap(), realm, keys));
    }
    assert!(!answers.is_empty() && !before.cards.is_empty());
    store.close().await;
    drop(store);

    let store = crate::open(&directory);
    before.assert_same(&dump(&store).await, "after a restart");
    for (remembered, realm, keys) in answers {
        assert_eq!(store.load(&realm, &keys).await.unwrap(), remembered);
    }
    // And it goes on: numbers continue where they ended.
    for _ in 0..100 {
        let step = generator.step();
        assert_eq!(store.commit(step.commit).await.is_ok(), step.refusals.is_empty());
    }
    store.close().await;
}
