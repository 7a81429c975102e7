//! Experiences: gathered in a session, saved on demand, shown to later ones (EX-01..EX-03).

use super::{
    knowledge::{KnowledgeQuery, experiences},
    provider::ProviderError,
};
use crate::{Caller, Done, Kernel, KernelError, Remember, sessions::Wanted};
use cardwire_context::{
    blocks::experience::{self, KnowledgeRef, Record},
    search::{rank::Candidate, terms},
};
use cardwire_model::{CardId, Namespace, ProjectId, Session, SessionKey, limits};
use cardwire_protocol::{
    Decision, Rejection,
    session::experience::{Save, keep},
};
use serde_json::{Value, json};

/// How saving ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Saved {
    /// It is found from now on.
    Yes(Value),
    /// There is no such session.
    Unknown,
    /// Its meaning could not be told; it stays pending.
    NotEmbedded(String),
}

/// What is known for the experience of a session now.
#[derive(Debug, Clone, PartialEq)]
pub struct Noted {
    /// The session.
    pub session: Session,
    /// The record.
    pub experience: Value,
}

/// Records read at once while successes are looked for.
const RECORDS: usize = 100;

impl Kernel {
    /// Adds to what is known for the experience of a session.
    pub async fn note_experience(
        &self,
        project: &ProjectId,
        caller: &Caller,
        key: &SessionKey,
        patch: &Value,
        remember: Option<&Remember<Noted>>,
    ) -> Result<Done<Noted>, KernelError> {
        self.keep_experience(project, caller, key, remember, |record| Ok(record.merge(patch)?)).await
    }

    /// Remembers what a call of the session was shown (KN-04), each chunk once. The call is made already, so that nothing
    /// keeps it from being sent.
    pub(super) async fn note_knowledge(
        &self,
        project: &ProjectId,
        caller: &Caller,
        key: &SessionKey,
        shown: &[KnowledgeRef],
    ) {
        if shown.is_empty() {
            return;
        }
        let add = |mut record: Record| {
            record.add_knowledge(shown.iter().cloned());
            Ok(record)
        };
        match self.keep_experience(project, caller, key, None, add).await {
            // Who deletes a session does not want it back because a turn goes on.
            Ok(_) | Err(KernelError::Rejected(Rejection::NotFound { .. })) => {}
            Err(error) => {
                tracing::warn!(session = %key, %error, "knowledge that was shown is not in the experience");
            }
        }
    }

    /// Changes what is known for the experience of a session; decided on what is known when it is written.
    async fn keep_experience(
        &self,
        project: &ProjectId,
        caller: &Caller,
        key: &SessionKey,
        remember: Option<&Remember<Noted>>,
        change: impl Fn(Record) -> Result<Record, Rejection> + Send + Sync,
    ) -> Result<Done<Noted>, KernelError> {
        self.session_command(project, caller, key, Wanted::Experience, remember, |state, moment| {
            let record = record_of(key, state.experience.as_ref());
            let known = state.experience.is_some().then(|| record.to_value());
            let experience = change(record)?.to_value();
            let news = Some(&experience).filter(|new| known.as_ref() != Some(new));
            let Decision { commit, outcome: session } = keep(state, news, moment)?;
            Ok(Decision { commit, outcome: Noted { session, experience } })
        })
        .await
    }

    /// What is known for the experience of a session, and of what nobody said, what the session tells.
    pub async fn experience(&self, project: &ProjectId, key: &SessionKey) -> Result<Value, KernelError> {
        self.live_session(project, key).await?;
        let (_, record) = self.experience_of(project, key).await?;
        Ok(record.filled(&self.told_by(project, key).await?).to_value())
    }

    /// Saves the experience of a session, so that later ones find it.
    pub async fn save_experience(
        &self,
        project: &ProjectId,
        caller: &Caller,
        key: &SessionKey,
        feedback: Option<&Value>,
        remember: Option<&Remember<Saved>>,
    ) -> Result<Done<Saved>, KernelError> {
        if let Some(answer) = self.told(project, remember).await? {
            return Ok(Done::Replayed(answer));
        }
        if self.store.session(project, key).await?.is_none_or(|row| row.deleted_at.is_some()) {
            return Ok(Done::Fresh(Saved::Unknown));
        }
        let (seen, mut record) = self.experience_of(project, key).await?;
        if let Some(feedback) = feedback {
            record = record.merge(&json!({ "feedback": feedback }))?;
        }
        record = record.filled(&self.told_by(project, key).await?);
        let text = experience::search_text(&record);
        let embedding = match self.embed_all(std::slice::from_ref(&text)).await {
            Ok(mut embedded) => embedded.pop().flatten(),
            Err(KernelError::Retriever(error)) => return Ok(Done::Fresh(Saved::NotEmbedded(error))),
            Err(error) => return Err(error),
        };
        let terms = terms::terms(&text).join(" ");
        let save = Save { seen, record: record.to_value(), text, terms, embedding };
        self.put_experience(project, caller, key, &save, remember).await
    }

    /// The record, and the card that keeps it.
    async fn experience_of(
        &self,
        project: &ProjectId,
        key: &SessionKey,
    ) -> Result<(Option<CardId>, Record), KernelError> {
        let found = self.store.session(project, key).await?.filter(|row| row.deleted_at.is_none());
        let card = match found {
            Some(row) => self.pointed(project, &row).await?.checkpoint.experience,
            None => None,
        };
        let Some(id) = card else { return Ok((None, record_of(key, None))) };
        let value = self.own_card(project, id).await?.content.to_value();
        Ok((card, record_of(key, Some(&value))))
    }

    /// Similar experiences for a query (EX-02): successes first, filled up with the others. Where those that fit best are
    /// not enough of them, the next ones are looked through.
    pub(crate) async fn similar(
        &self,
        project: &ProjectId,
        namespace: &Namespace,
        text: &str,
        shown: usize,
        prefer_success: bool,
    ) -> Result<Vec<Record>, ProviderError> {
        // More than are shown, so that the successes among them can be found first.
        let mut query = KnowledgeQuery {
            shelf: experiences(namespace),
            text: text.to_owned(),
            method: None,
            top_k: shown * 4,
            score_threshold: None,
        };
        let Some(asked) = self.asked(&query).await? else { return Ok(vec![]) };
        let best = self.best_passages(project, &query, &asked).await?.candidates;
        let mut chosen = experience::choose(self.records(project, &best).await?, shown, prefer_success);
        let is_all = best.len() < query.top_k || query.top_k >= limits::EXPERIENCE_CANDIDATES;
        if is_all || experience::is_settled(&chosen, shown, prefer_success) {
            return Ok(chosen);
        }
        query.top_k = limits::EXPERIENCE_CANDIDATES;
        let ranked = self.ranked_passages(project, &query, &asked).await?.candidates;
        for some in ranked.chunks(RECORDS) {
            chosen.extend(self.records(project, some).await?);
            chosen = experience::choose(chosen, shown, prefer_success);
            if experience::is_settled(&chosen, shown, prefer_success) {
                break;
            }
        }
        Ok(chosen)
    }

    /// The records that were found, in their order.
    async fn records(&self, project: &ProjectId, found: &[Candidate]) -> Result<Vec<Record>, ProviderError> {
        let ids: Vec<CardId> = found.iter().map(|found| found.card_id).collect();
        let cards = self.get_cards(project, &ids, false).await?;
        let records = cards.iter().filter_map(|card| Record::from_value(&card.content.to_value()).ok());
        Ok(records.collect())
    }
}

/// The record that is kept, or a new one.
fn record_of(key: &SessionKey, kept: Option<&Value>) -> Record {
    let record = kept.and_then(|value| Record::from_value(value).ok());
    record.unwrap_or_else(|| Record::new(key.session.as_str(), ""))
}
