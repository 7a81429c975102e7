//! What a deployment plugs in: blocks of its own (CC-01, CC-07) and embeddings (KN-02, EX-01).

use super::{key, sent};
use crate::desk::{Desk, caller};
use async_trait::async_trait;
use cardwire_kernel::{
    CollectRequest, Collected, ContextConfig, ContextProvider, Document, Embedder, KernelError,
    KnowledgeQuery, ProviderError, ProviderRequest, Reranker, Saved,
    composer::{process::Process, search::rank::Method},
    protocol::knowledge,
};
use cardwire_model::{Embedding, Invalid, Namespace};
use serde_json::json;
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

struct Weather(&'static str, Result<String, ProviderError>);

#[async_trait]
impl ContextProvider for Weather {
    fn key(&self) -> &str {
        self.0
    }

    async fn collect(&self, _: &ProviderRequest<'_>) -> Result<String, ProviderError> {
        self.1.clone()
    }
}

pub(super) fn request(share: bool) -> CollectRequest {
    CollectRequest {
        session: Some(key("s")),
        agent_id: None,
        process: Process::Sequential,
        share,
        query: Some("boats".to_owned()),
        overrides: BTreeMap::new(),
        offered: None,
    }
}

async fn collect(provider: Weather, share: bool) -> Result<Collected, KernelError> {
    let context = ContextConfig { providers: vec![Arc::new(provider)], ..ContextConfig::default() };
    let desk = Desk::with(&[], context).await;
    desk.kernel.collect(&desk.project, &request(share)).await
}

#[tokio::test]
async fn cc_01_07_blocks_of_ones_own_are_taken_by_their_name_and_may_fail() {
    let weather = || Ok(" windy \n".to_owned());
    let collected = collect(Weather("weather__context", weather()), true).await.unwrap();
    assert_eq!(collected.contexts["weather__context"], "windy");
    let collected = collect(Weather("weather__context", weather()), false).await.unwrap();
    assert!(collected.contexts.is_empty(), "CC-08: the switch is off");
    assert!(collect(Weather("weather", weather()), true).await.is_err());
    assert!(collect(Weather("system_prompt__context", weather()), true).await.is_err());
    let blank = collect(Weather("weather__context", Ok("  ".to_owned())), true).await.unwrap();
    assert!(!blank.contexts.contains_key("weather__context"));
    let down = Err(ProviderError::Failed("no wind gauge".to_owned()));
    let collected = collect(Weather("weather__context", down), true).await.unwrap();
    assert!(
        !collected.contexts.contains_key("weather__context")
            && collected.warnings[0].contains("no wind gauge")
    );
    let wrong = Err(ProviderError::Configuration(Invalid::field("gauge", "is unknown")));
    assert!(collect(Weather("weather__context", wrong), true).await.is_err());
}

/// Meanings along two axes: boats and bread.
#[derive(Default)]
struct Meanings {
    down: AtomicBool,
}

#[async_trait]
impl Embedder for Meanings {
    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, String> {
        if self.down.load(Ordering::Relaxed) {
            return Err("the provider is down".to_owned());
        }
        let meaning = |text: &String| {
            let has = |words: &[&str]| f32::from(u8::from(words.iter().any(|word| text.contains(word))));
            Embedding::from_floats(&[has(&["boat", "ship", "vessel"]), has(&["bread", "loaf"]), 0.01])
        };
        Ok(texts.iter().map(meaning).collect())
    }
}

async fn take_in(desk: &Desk, source: &str, text: &str) {
    let document = Document {
        namespace: Namespace::default(),
        source_id: source.to_owned(),
        title: None,
        text: text.to_owned(),
    };
    desk.kernel.take_in(&desk.project, &caller(), document, None).await.unwrap();
}

async fn library() -> (Desk, Arc<Meanings>) {
    let meanings = Arc::new(Meanings::default());
    let context = ContextConfig { embedder: Some(Arc::clone(&meanings) as _), ..ContextConfig::default() };
    let desk = Desk::with(&["a"], context).await;
    for (source, text) in [("ships.md", "The ship leaves at dawn."), ("bakery.md", "A loaf takes an hour.")] {
        take_in(&desk, source, text).await;
    }
    (desk, meanings)
}

#[tokio::test]
async fn kn_02_meanings_find_what_words_do_not_and_are_joined_with_them() {
    let (desk, meanings) = library().await;
    let query = |text: &str, method| KnowledgeQuery {
        shelf: knowledge::shelf(&Namespace::default()),
        text: text.to_owned(),
        method,
        top_k: 1,
        score_threshold: None,
    };
    let first = async |text: &str, method| {
        let found = desk.kernel.search_sections(&desk.project, &query(text, method)).await.unwrap().sections;
        found.first().map(|found| found.source_id.clone())
    };
    assert_eq!(first("vessel", Some(Method::FullText)).await, None);
    assert_eq!(first("vessel", Some(Method::Semantic)).await.as_deref(), Some("ships.md"));
    assert_eq!(first("vessel", None).await.as_deref(), Some("ships.md"), "hybrid is the default");
    assert_eq!(first("hour", Some(Method::Hybrid)).await.as_deref(), Some("bakery.md"));
    assert_eq!(first("  ", None).await, None);
    // CC-07: a retriever that is down costs the block, not the call.
    meanings.down.store(true, Ordering::Relaxed);
    let collected = desk.kernel.collect(&desk.project, &request(true)).await.unwrap();
    assert!(!collected.contexts.contains_key("knowledge__context") && !collected.warnings.is_empty());
    let lease = desk.turn_of("a", "s", "Which vessel?").await;
    assert!(!sent(&desk.call(&lease, None).await.unwrap()).is_empty());
}

/// Likes short texts; one score too few when it is broken.
struct Brevity {
    broken: bool,
}

#[async_trait]
impl Reranker for Brevity {
    async fn rerank(&self, _: &str, texts: &[String]) -> Result<Vec<f64>, String> {
        let scores = texts.iter().skip(usize::from(self.broken)).map(|text| -(text.len() as f64));
        Ok(scores.collect())
    }
}

#[tokio::test]
async fn kn_02_whoever_reads_what_was_found_has_the_last_word() {
    for broken in [false, true] {
        let reranker: Arc<dyn Reranker> = Arc::new(Brevity { broken });
        let desk =
            Desk::with(&[], ContextConfig { reranker: Some(reranker), ..ContextConfig::default() }).await;
        for (source, text) in [("long.md", "boat boat boat boat boat boat"), ("short.md", "A boat.")] {
            take_in(&desk, source, text).await;
        }
        let query = |score_threshold| KnowledgeQuery {
            shelf: knowledge::shelf(&Namespace::default()),
            text: "boat".to_owned(),
            method: None,
            top_k: 8,
            score_threshold,
        };
        let found = desk.kernel.search_sections(&desk.project, &query(None)).await;
        if broken {
            assert!(matches!(found, Err(KernelError::Retriever(_))));
            continue;
        }
        let names: Vec<String> = found.unwrap().sections.into_iter().map(|found| found.source_id).collect();
        assert_eq!(names, ["short.md", "long.md"]);
        // The threshold is for the last score.
        let short = desk.kernel.search_sections(&desk.project, &query(Some(-10.0))).await.unwrap();
        assert_eq!(short.sections.len(), 1);
    }
}

#[tokio::test]
async fn kn_02_a_method_that_nobody_is_configured_for_is_an_error() {
    let desk = Desk::new(&[]).await;
    let query = KnowledgeQuery {
        shelf: knowledge::shelf(&Namespace::default()),
        text: "x".to_owned(),
        method: Some(Method::Hybrid),
        top_k: 8,
        score_threshold: None,
    };
    assert!(matches!(
        desk.kernel.search_sections(&desk.project, &query).await,
        Err(KernelError::Rejected(_))
    ));
}

#[tokio::test]
async fn ex_02_sessions_of_the_same_meaning_are_all_shown() {
    let (desk, _) = library().await;
    for (session, goal) in [("s1", "find a boat"), ("s2", "find a ship"), ("s3", "find a boat")] {
        let note = json!({ "goal": goal, "outcome": "success" });
        desk.kernel.note_experience(&desk.project, &caller(), &key(session), &note, None).await.unwrap();
        desk.kernel.save_experience(&desk.project, &caller(), &key(session), None, None).await.unwrap();
    }
    let collected = desk.kernel.collect(&desk.project, &request(true)).await.unwrap();
    let block = &collected.contexts["experience__context"];
    assert_eq!(block.matches("### Experience").count(), 3, "{block}");
}

#[tokio::test]
async fn ex_01_an_experience_without_a_meaning_stays_pending() {
    let save = async |desk: &Desk, session: &str| {
        let saved = desk.kernel.save_experience(&desk.project, &caller(), &key(session), None, None).await;
        saved.unwrap().fresh().unwrap()
    };
    let (desk, meanings) = library().await;
    let note = json!({ "goal": "find a boat", "outcome": "success", "summary": "asked the keeper" });
    desk.kernel.note_experience(&desk.project, &caller(), &key("old"), &note, None).await.unwrap();
    meanings.down.store(true, Ordering::Relaxed);
    let saved = save(&desk, "old").await;
    assert!(matches!(saved, Saved::NotEmbedded(_)));
    meanings.down.store(false, Ordering::Relaxed);
    let collected = desk.kernel.collect(&desk.project, &request(true)).await.unwrap();
    assert!(!collected.contexts.contains_key("experience__context"));
    let saved = save(&desk, "old").await;
    assert!(matches!(saved, Saved::Yes(_)));
    let collected = desk.kernel.collect(&desk.project, &request(true)).await.unwrap();
    assert!(collected.contexts["experience__context"].contains("find a boat"));
    let saved = save(&desk, "nobody").await;
    assert_eq!(saved, Saved::Unknown);
}
