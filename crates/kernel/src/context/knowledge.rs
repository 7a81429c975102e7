//! Documents: taken in, searched, dropped (KN-01..KN-04).

use super::provider::ProviderError;
use crate::{Caller, Done, Kernel, KernelError, Remember, execute::Plan};
use cardwire_context::search::{
    chunk,
    rank::{self, Candidate, Method, Options, Same},
    terms,
};
use cardwire_model::{
    CancelFlag, Card, CardId, Embedding, Hash256, Keys, Namespace, PassageKind, ProjectId, Realm, Shelf,
    limits,
};
use cardwire_protocol::{
    Rejection,
    knowledge::{self, Part, Section, TakeIn, TakenIn},
};
use cardwire_store::{CommitError, Hit, SearchQuery};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// A document to take in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// For whom.
    pub namespace: Namespace,
    /// What it is called.
    pub source_id: String,
    /// Its title.
    pub title: Option<String>,
    /// Its text, Markdown or plain.
    pub text: String,
}

/// What to look for.
#[derive(Debug, Clone, PartialEq)]
pub struct KnowledgeQuery {
    /// Where.
    pub shelf: Shelf,
    /// In words.
    pub text: String,
    /// How; whatever the server can do when absent.
    pub method: Option<Method>,
    /// Most sections.
    pub top_k: usize,
    /// What fits less well is not found. What a score is depends on the method.
    pub score_threshold: Option<f64>,
}

/// What passages are compared with, each as far as the method goes by it.
pub(super) struct Asked {
    /// Words.
    terms: Option<Vec<String>>,
    /// The place among meanings.
    meaning: Option<Vec<f32>>,
}

/// A section that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundSection {
    /// The document.
    pub source_id: String,
    /// The part of it that fits.
    pub part: u32,
    /// The section.
    pub card: Arc<Card>,
    /// How well it fits; only the order means anything.
    pub score: f64,
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundSections {
    /// The sections, best first.
    pub sections: Vec<FoundSection>,
    /// There are more passages than are compared by meaning ([`limits::VECTOR_SCAN`]): something better may not be among
    /// those found.
    pub is_cut: bool,
}

/// Passages to choose from, or those that were chosen.
pub(super) struct Pool {
    pub(super) candidates: Vec<Candidate>,
    /// See [`FoundSections::is_cut`].
    is_cut: bool,
}

/// A document that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceView {
    /// What it is called.
    pub source_id: String,
    /// How many parts it has.
    pub parts: u32,
}

/// Texts embedded at once.
const EMBED_TEXTS: usize = 64;

impl Kernel {
    /// Takes a document in, in the place of what was known by its name.
    pub async fn take_in(
        &self,
        project: &ProjectId,
        caller: &Caller,
        document: Document,
        remember: Option<&Remember<TakenIn>>,
    ) -> Result<Done<TakenIn>, KernelError> {
        let realm = Realm::from(project.clone());
        let Document { namespace, source_id, title, text } = document;
        let bytes = text.len();
        let cut = move |_: &CancelFlag| chunk::sections(&text, title.as_deref());
        let sections = self.compute(Some(project), bytes, cut).await?;
        // Before anything is paid for.
        knowledge::check(&source_id, sections.len())?;
        if let Some(remember) = remember
            && let Some(answer) = self.answered(project, &remember.key).await?
        {
            return Ok(Done::Replayed(answer));
        }
        let parts: Vec<String> = sections.iter().flat_map(|section| section.parts.iter().cloned()).collect();
        let mut embeddings = self.embed_all(&parts).await?.into_iter();
        let indexed = move |cancel: &CancelFlag| {
            let section = |section: chunk::Section| Section {
                parts: section.parts.iter().map(|text| part(text, embeddings.next().flatten())).collect(),
                title: section.title,
                text: section.text,
            };
            sections.into_iter().take_while(|_| !cancel.is_set()).map(section).collect()
        };
        let sections = self.compute(Some(project), bytes, indexed).await?;
        let command = TakeIn { namespace, source_id, sections };
        let plan = Plan { realm: &realm, caller, keys: Keys::default(), flat: None, remember };
        self.execute(plan, |_, moment| knowledge::take_in(project, &command, moment)).await
    }

    /// Drops a document. One that is not there is fine.
    pub async fn drop_source(
        &self,
        project: &ProjectId,
        caller: &Caller,
        namespace: &Namespace,
        source_id: &str,
    ) -> Result<(), KernelError> {
        let decision = knowledge::drop_source(project, namespace, source_id, &self.moment(caller))?;
        self.commit_once(decision.commit).await
    }

    /// Documents of a namespace by name.
    pub async fn list_sources(
        &self,
        project: &ProjectId,
        namespace: &Namespace,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<SourceView>, KernelError> {
        let shelf = knowledge::shelf(namespace);
        let mut key = after.map(|source| (source.to_owned(), u32::MAX));
        let mut sources: BTreeMap<String, u32> = BTreeMap::new();
        loop {
            let page = self.store.passages(project, &shelf, key.as_ref(), limits::PAGE_MAX).await?;
            let Some(last) = page.last() else { break };
            key = Some((last.source.clone(), last.part));
            let ended = page.len() < limits::PAGE_MAX;
            for passage in page {
                *sources.entry(passage.source).or_default() += 1;
            }
            // One more than asked for, so that the last one is complete.
            if ended || sources.len() > limit {
                break;
            }
        }
        let view = |(source_id, parts)| SourceView { source_id, parts };
        Ok(sources.into_iter().take(limit).map(view).collect())
    }

    /// The cards of the sections of a document, in order.
    pub async fn sections_of_source(
        &self,
        project: &ProjectId,
        namespace: &Namespace,
        source_id: &str,
    ) -> Result<Vec<CardId>, KernelError> {
        knowledge::check_source(source_id)?;
        let (shelf, mut sections) = (knowledge::shelf(namespace), vec![]);
        // Whatever begins a name comes before it.
        let mut before = source_id.to_owned();
        before.pop();
        let mut after = (!before.is_empty()).then_some((before, u32::MAX));
        loop {
            let page = self.store.passages(project, &shelf, after.as_ref(), limits::PAGE_MAX).await?;
            let last = page.last().map(|last| (last.source.clone(), last.part));
            let is_over = page.len() < limits::PAGE_MAX
                || last.as_ref().is_some_and(|(source, _)| source.as_str() > source_id);
            let of_source = page.into_iter().filter(|passage| passage.source == source_id);
            sections.extend(of_source.map(|passage| passage.card_id));
            if is_over {
                break;
            }
            after = last;
        }
        sections.dedup();
        if sections.is_empty() {
            return Err(Rejection::NotFound { what: "document", id: source_id.to_owned() }.into());
        }
        Ok(sections)
    }

    /// The sections that fit a query best. A blank query finds nothing.
    pub async fn search_sections(
        &self,
        project: &ProjectId,
        query: &KnowledgeQuery,
    ) -> Result<FoundSections, KernelError> {
        match self.find_passages(project, query).await {
            Ok(Pool { candidates, is_cut }) => {
                Ok(FoundSections { sections: self.sections_of(project, candidates).await?, is_cut })
            }
            Err(ProviderError::Configuration(invalid)) => Err(invalid.into()),
            Err(ProviderError::Failed(error)) => Err(KernelError::Retriever(error)),
            Err(ProviderError::Store(error)) => Err(error.into()),
        }
    }

    /// The same, with the two ways to fail kept apart.
    async fn find_passages(
        &self,
        project: &ProjectId,
        query: &KnowledgeQuery,
    ) -> Result<Pool, ProviderError> {
        match self.asked(query).await? {
            Some(asked) => self.best_passages(project, query, &asked).await,
            None => Ok(Pool { candidates: vec![], is_cut: false }),
        }
    }

    /// What passages are compared with; nothing for a blank query. Whoever looks twice embeds it once.
    pub(super) async fn asked(&self, query: &KnowledgeQuery) -> Result<Option<Asked>, ProviderError> {
        let embedder = self.context.embedder.as_ref();
        let default = if embedder.is_some() { Method::Hybrid } else { Method::FullText };
        let method = query.method.unwrap_or(default);
        method.check(embedder.is_some()).map_err(ProviderError::Configuration)?;
        if query.text.trim().is_empty() {
            return Ok(None);
        }
        let terms = method.needs_terms().then(|| terms::query_terms(&query.text));
        let Some(embedder) = embedder.filter(|_| method.needs_embedder()) else {
            return Ok(Some(Asked { terms, meaning: None }));
        };
        let embedded = embedder.embed(std::slice::from_ref(&query.text)).await;
        let embedded = embedded.map_err(ProviderError::Failed)?;
        let meaning = embedded.first().map(|meaning| meaning.floats().collect()).unwrap_or_default();
        Ok(Some(Asked { terms, meaning: Some(meaning) }))
    }

    /// The best of a pool, which whoever reads beside the question has judged.
    pub(super) async fn best_passages(
        &self,
        project: &ProjectId,
        query: &KnowledgeQuery,
        asked: &Asked,
    ) -> Result<Pool, ProviderError> {
        let Pool { candidates, is_cut } =
            self.pool(project, &query.shelf, asked, rank::pool(query.top_k)).await?;
        let candidates = self.reranked(project, &query.text, candidates).await?;
        Ok(Pool { candidates: rank::choose(candidates, &options(query)), is_cut })
    }

    /// The best by rank alone: as many as the query asks for are too many to be read beside the question.
    pub(super) async fn ranked_passages(
        &self,
        project: &ProjectId,
        query: &KnowledgeQuery,
        asked: &Asked,
    ) -> Result<Pool, ProviderError> {
        let Pool { candidates, is_cut } = self.pool(project, &query.shelf, asked, query.top_k).await?;
        Ok(Pool { candidates: rank::choose(candidates, &options(query)), is_cut })
    }

    /// What is found by words and by meaning, at most so many by each; in no order.
    async fn pool(
        &self,
        project: &ProjectId,
        shelf: &Shelf,
        asked: &Asked,
        limit: usize,
    ) -> Result<Pool, ProviderError> {
        let mut found: HashMap<(String, u32), Candidate> = HashMap::new();
        let (mut lists, mut is_cut): (Vec<Vec<(String, u32)>>, _) = (vec![], false);
        if let Some(terms) = &asked.terms {
            let search = SearchQuery { shelf: shelf.clone(), terms: terms.clone(), limit };
            let hits = self.store.search(project, &search).await.map_err(ProviderError::Store)?;
            lists.push(hits.iter().map(|hit| (hit.source.clone(), hit.part)).collect());
            found.extend(hits.into_iter().map(|hit| ((hit.source.clone(), hit.part), candidate(hit))));
        }
        if let Some(meaning) = &asked.meaning {
            let near = self.nearest(project, shelf, meaning, limit).await?;
            is_cut = near.is_cut;
            lists.push(near.candidates.iter().map(|near| (near.source_id.clone(), near.part)).collect());
            for near in near.candidates {
                found.insert((near.source_id.clone(), near.part), near);
            }
        }
        if lists.len() == 1 {
            return Ok(Pool { candidates: found.into_values().collect(), is_cut });
        }
        let lists: Vec<&[(String, u32)]> = lists.iter().map(Vec::as_slice).collect();
        let fused = rank::rrf(&lists, rank::RRF_K);
        let scored = fused.into_iter();
        let scored = scored.filter_map(|(key, score)| Some(Candidate { score, ..found.remove(&key)? }));
        Ok(Pool { candidates: scored.collect(), is_cut })
    }

    /// The same with scores by whoever reads them beside the question, if somebody does.
    async fn reranked(
        &self,
        project: &ProjectId,
        query: &str,
        candidates: Vec<Candidate>,
    ) -> Result<Vec<Candidate>, ProviderError> {
        let Some(reranker) = &self.context.reranker else { return Ok(candidates) };
        let ids: Vec<CardId> = candidates.iter().map(|one| one.card_id).collect();
        let cards = self.get_cards(project, &ids, false).await?;
        let texts: HashMap<CardId, String> = cards.iter().map(|card| (card.id, words(card))).collect();
        let (candidates, texts): (Vec<Candidate>, Vec<String>) = candidates
            .into_iter()
            .filter_map(|one| texts.get(&one.card_id).cloned().map(|text| (one, text)))
            .unzip();
        if candidates.is_empty() {
            return Ok(candidates);
        }
        let scores = reranker.rerank(query, &texts).await.map_err(ProviderError::Failed)?;
        if scores.len() != candidates.len() {
            return Err(ProviderError::Failed("the reranker left texts out".to_owned()));
        }
        let scored = candidates.into_iter().zip(scores);
        Ok(scored.map(|(one, score)| Candidate { score, ..one }).collect())
    }

    /// The passages nearest in meaning: every one is looked at, up to [`limits::VECTOR_SCAN`].
    async fn nearest(
        &self,
        project: &ProjectId,
        shelf: &Shelf,
        asked: &[f32],
        limit: usize,
    ) -> Result<Pool, KernelError> {
        let (mut after, mut near, mut seen): (_, Vec<Candidate>, usize) = (None, vec![], 0);
        loop {
            let page = self.store.passages(project, shelf, after.as_ref(), limits::PAGE_MAX).await?;
            let Some(last) = page.last() else { break };
            after = Some((last.source.clone(), last.part));
            seen += page.len();
            let ended = page.len() < limits::PAGE_MAX;
            for passage in page {
                let Some(embedding) = &passage.embedding else { continue };
                let floats: Vec<f32> = embedding.floats().collect();
                let score = rank::cosine(asked, &floats);
                near.push(Candidate {
                    source_id: passage.source,
                    part: passage.part,
                    card_id: passage.card_id,
                    content_hash: passage.content_hash,
                    embedding: Some(floats),
                    score,
                });
            }
            near.sort_by(|a, b| b.score.total_cmp(&a.score));
            near.truncate(limit);
            if ended {
                break;
            }
            if seen >= limits::VECTOR_SCAN {
                let is_cut = !self.store.passages(project, shelf, after.as_ref(), 1).await?.is_empty();
                if is_cut {
                    tracing::warn!(
                        %project, namespace = %shelf.namespace, compared = seen,
                        "a namespace has more passages than are compared by meaning: the rest was left out; \
                         use several namespaces, or search by words as well"
                    );
                }
                return Ok(Pool { candidates: near, is_cut });
            }
        }
        Ok(Pool { candidates: near, is_cut: false })
    }

    async fn sections_of(
        &self,
        project: &ProjectId,
        chosen: Vec<Candidate>,
    ) -> Result<Vec<FoundSection>, KernelError> {
        let ids: Vec<CardId> = chosen.iter().map(|chosen| chosen.card_id).collect();
        let cards = self.get_cards(project, &ids, false).await?;
        let by_id: HashMap<CardId, Arc<Card>> = cards.into_iter().map(|card| (card.id, card)).collect();
        let section = |chosen: Candidate| {
            let card = Arc::clone(by_id.get(&chosen.card_id)?);
            Some(FoundSection { source_id: chosen.source_id, part: chosen.part, card, score: chosen.score })
        };
        Ok(chosen.into_iter().filter_map(section).collect())
    }

    /// Embeddings of texts, or none where no provider is configured.
    pub(crate) async fn embed_all(&self, texts: &[String]) -> Result<Vec<Option<Embedding>>, KernelError> {
        let Some(embedder) = &self.context.embedder else { return Ok(vec![None; texts.len()]) };
        let mut all = Vec::with_capacity(texts.len());
        for texts in texts.chunks(EMBED_TEXTS) {
            let embedded = embedder.embed(texts).await.map_err(KernelError::Retriever)?;
            if embedded.len() != texts.len() {
                return Err(KernelError::Retriever("the embedding provider left texts out".to_owned()));
            }
            all.extend(embedded.into_iter().map(Some));
        }
        Ok(all)
    }

    /// Commits what expects nothing.
    async fn commit_once(&self, commit: cardwire_model::Commit) -> Result<(), KernelError> {
        match self.commit(commit).await {
            Ok(()) => Ok(()),
            Err(CommitError::Conflict(_)) => Err(KernelError::Contended),
            Err(CommitError::Store(error)) => Err(error.into()),
        }
    }
}

fn options(query: &KnowledgeQuery) -> Options {
    Options {
        top_k: query.top_k,
        score_threshold: query.score_threshold,
        same: Same::of(query.shelf.kind),
        ..Options::default()
    }
}

fn part(text: &str, embedding: Option<Embedding>) -> Part {
    Part { hash: Hash256::of(text.as_bytes()), terms: terms::terms(text).join(" "), embedding }
}

/// What a card says to whoever judges it: the text of a section, or all of an experience.
fn words(card: &Card) -> String {
    let content = card.content.to_value();
    content["text"].as_str().map_or_else(|| card.content.as_str().to_owned(), str::to_owned)
}

fn candidate(hit: Hit) -> Candidate {
    Candidate {
        source_id: hit.source,
        part: hit.part,
        card_id: hit.card_id,
        content_hash: hit.content_hash,
        embedding: None,
        score: hit.score,
    }
}

/// Where experiences of a namespace stand.
pub(crate) fn experiences(namespace: &Namespace) -> Shelf {
    Shelf { kind: PassageKind::Experience, namespace: namespace.clone() }
}
