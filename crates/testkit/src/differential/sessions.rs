//! Sessions and searches in the differential test.
//!
//! Stores count differently how well a passage fits, so what is compared is what was found; in which order, each store
//! must only be true to its own scores.

use super::Run;
use cardwire_model::{CardId, Hash256, ProjectId, Realm};
use cardwire_store::{Hit, SearchQuery};

/// How many rows a compared page has at most.
const PAGE: usize = 5;

type Found = (String, u32, CardId, Hash256);

impl Run<'_> {
    pub(super) async fn compare_sessions(&mut self, project: &ProjectId) {
        macro_rules! both {
            ($what:literal, $($read:tt)+) => {{
                let left = self.left.store.$($read)+.await.unwrap();
                let right = self.right.store.$($read)+.await.unwrap();
                self.same($what, left, right);
            }};
        }
        let realm = Realm::from(project.clone());
        let key = self.generator.any_session(&realm);
        let (shelf, source, part) = self.generator.any_passage(&realm);
        let place = (source, part);
        both!("a session", session(project, &key));
        both!("sessions", sessions(project, &key.namespace, None, PAGE));
        both!("sessions after one", sessions(project, &key.namespace, Some(&key.session), PAGE));
        both!("passages", passages(project, &shelf, None, PAGE));
        both!("passages after one", passages(project, &shelf, Some(&place), PAGE));
    }

    pub(super) async fn compare_searches(&mut self, project: &ProjectId) {
        for _ in 0..2 {
            let query = self.generator.search(&project.clone().into());
            self.compare_search(project, &query).await;
        }
    }

    /// Every term on every shelf.
    pub(super) async fn compare_all_searches(&mut self) {
        let Some(project) = self.generator.any_project() else { return };
        for query in self.generator.all_searches() {
            self.compare_search(&project, &query).await;
        }
    }

    async fn compare_search(&self, project: &ProjectId, query: &SearchQuery) {
        let left = self.left.store.search(project, query).await.unwrap();
        let right = self.right.store.search(project, query).await.unwrap();
        let [left, right] = [left, right].map(|hits| self.found(hits));
        self.same(&format!("hits of {query:?}"), left, right);
    }

    /// What was found, after checking the order.
    fn found(&self, hits: Vec<Hit>) -> Vec<Found> {
        let in_order = |pair: &[Hit]| {
            let place = |hit: &Hit| (hit.source.clone(), hit.part);
            pair[0].score > pair[1].score
                || pair[0].score == pair[1].score && place(&pair[0]) < place(&pair[1])
        };
        if !hits.windows(2).all(in_order) {
            self.fail(&format!("hits are not in order: {hits:#?}"));
        }
        let bare = |hit: Hit| (hit.source, hit.part, hit.card_id, hit.content_hash);
        let mut found: Vec<_> = hits.into_iter().map(bare).collect();
        found.sort();
        found
    }
}
