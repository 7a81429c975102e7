//! Compaction (CP-01..CP-08): plan what to cover, have it summarised, and put the summary in its place. Whatever fails on
//! the way leaves the session as it was.

use super::load::Wanted;
use crate::{Caller, Done, Kernel, KernelError, Remember};
use async_trait::async_trait;
use cardwire_context::compaction;
use cardwire_model::{CardId, Origin, ProjectId, Segment, Session, SessionKey};
use cardwire_protocol::{
    Decision, Rejection,
    session::{
        Held, State,
        compact::{self, Compact, Summarised},
    },
};

/// What a summariser is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryRequest {
    /// How it is to work.
    pub system_prompt: &'static str,
    /// What it is to summarise.
    pub prompt: String,
}

/// What a summariser said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryAnswer {
    /// The text.
    pub text: String,
    /// It wanted to call tools, which a summary never needs.
    pub tool_calls: bool,
}

/// What makes a summary of a conversation: a model.
#[async_trait]
pub trait Summariser: Send + Sync {
    /// Summarises, or says why not.
    async fn summarise(&self, request: &SummaryRequest) -> Result<SummaryAnswer, String>;
}

/// A compaction to do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompactRequest {
    /// Messages at the end that stay.
    pub min_keep: Option<usize>,
    /// Used instead of asking the summariser.
    pub summary: Option<String>,
    /// The summary that the given one was made of ([`CompactionPrompt::follows`]).
    pub follows: Option<CardId>,
}

/// What a summariser would be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionPrompt {
    /// The question.
    pub request: SummaryRequest,
    /// For how many messages.
    pub covered: usize,
    /// The summary that is part of it.
    pub follows: Option<CardId>,
}

/// How a compaction ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Compacted {
    /// There was nothing to cover.
    Nothing(Session),
    /// The summary stands for so many messages.
    Done {
        /// The session now.
        session: Session,
        /// How many messages are covered.
        covered: usize,
        /// The summary.
        summary: String,
    },
    /// No summary; everything is as it was (CP-06).
    Failed {
        /// The session, unchanged.
        session: Session,
        /// Why.
        error: String,
    },
}

impl Kernel {
    /// Compacts the memory of a session.
    #[tracing::instrument(name = "session.compact", level = "trace", skip_all, fields(cardwire.project.id = %project))]
    pub async fn compact_session(
        &self,
        project: &ProjectId,
        caller: &Caller,
        key: &SessionKey,
        request: &CompactRequest,
        remember: Option<&Remember<Compacted>>,
    ) -> Result<Done<Compacted>, KernelError> {
        if let Some(answer) = self.told(project, remember).await? {
            return Ok(Done::Replayed(answer));
        }
        let Planned { session, memory, previous, previous_card, plan, .. } =
            self.plan_compaction(project, key, request.min_keep).await?;
        let Some(plan) = plan else {
            if remember.is_none() {
                return Ok(Done::Fresh(Compacted::Nothing(session)));
            }
            // Who asks again is told the same, although there may be something by then.
            let nothing = Compacted::Nothing(session);
            return self
                .session_command(project, caller, key, Wanted::Row, remember, |_, _| {
                    Ok(Decision::nothing(project.clone(), nothing.clone()))
                })
                .await;
        };
        let given = match &request.summary {
            Some(summary) => compaction::check_summary(summary, false),
            None => match self.ask_summariser(project, &memory, &plan.cover, previous.as_deref()).await? {
                Ok(answer) => compaction::check_summary(&answer.text, answer.tool_calls),
                // Nothing came of it, so that it may be tried again.
                Err(error) => return Ok(Done::Fresh(Compacted::Failed { session, error })),
            },
        };
        let summary = match given {
            Ok(summary) => summary,
            Err(fault) => {
                return Ok(Done::Fresh(Compacted::Failed { session, error: fault.to_string() }));
            }
        };
        let command = Compact {
            summary,
            follows: if request.summary.is_some() { request.follows } else { previous_card },
            covers: compaction::ranges(&plan.cover),
            keep: plan.keep.clone(),
            version: session.version.get(),
            by: if request.summary.is_some() { Origin::Operator } else { Origin::Agent },
        };
        let covered = plan.cover.len();
        self.session_command(project, caller, key, Wanted::Memory, remember, |state, moment| {
            let Decision { commit, outcome } = compact::decide(state, &command, moment)?;
            let Summarised { session, summary } = outcome;
            Ok(Decision { commit, outcome: Compacted::Done { session, covered, summary } })
        })
        .await
    }

    /// What a summariser would be asked now; nothing when there is nothing to cover.
    pub async fn compaction_prompt(
        &self,
        project: &ProjectId,
        key: &SessionKey,
    ) -> Result<Option<CompactionPrompt>, KernelError> {
        let Planned { memory, previous, previous_card, plan, .. } =
            self.plan_compaction(project, key, None).await?;
        let Some(plan) = plan else { return Ok(None) };
        let request = self.summary_request(project, &memory, &plan.cover, previous.as_deref()).await?;
        Ok(Some(CompactionPrompt { request, covered: plan.cover.len(), follows: previous_card }))
    }

    pub(crate) async fn plan_compaction(
        &self,
        project: &ProjectId,
        key: &SessionKey,
        min_keep: Option<usize>,
    ) -> Result<Planned, KernelError> {
        let state = self.session_state(project, key, Wanted::Memory, false).await?;
        let missing = || Rejection::NotFound { what: "session", id: key.to_string() };
        let session = state.row.clone().filter(|row| row.deleted_at.is_none()).ok_or_else(missing)?;
        let memory = state.memory.clone().unwrap_or_default();
        let entries: Vec<_> = memory.iter().map(entry).collect();
        let settings = self.live_project(project).await?.settings.context;
        let configured = settings.min_keep_entries.map(|keep| keep as usize);
        let min_keep = min_keep.or(configured).unwrap_or(compaction::MIN_KEEP_ENTRIES);
        let plan = compaction::plan(&entries, min_keep);
        let State { summary: previous, checkpoint, .. } = state;
        let (reach, previous_card) = (checkpoint.memory, checkpoint.summary);
        Ok(Planned { session, memory, reach, previous, previous_card, plan })
    }

    async fn ask_summariser(
        &self,
        project: &ProjectId,
        memory: &[Held],
        cover: &[usize],
        previous: Option<&str>,
    ) -> Result<Result<SummaryAnswer, String>, KernelError> {
        let Some(summariser) = &self.context.summariser else {
            return Ok(Err("no summariser is configured; give `summary`".to_owned()));
        };
        let request = self.summary_request(project, memory, cover, previous).await?;
        Ok(summariser.summarise(&request).await)
    }

    async fn summary_request(
        &self,
        project: &ProjectId,
        memory: &[Held],
        cover: &[usize],
        previous: Option<&str>,
    ) -> Result<SummaryRequest, KernelError> {
        let ids: Vec<CardId> = cover.iter().map(|place| memory[*place].card_id).collect();
        let cards = self.get_cards(project, &ids, false).await?;
        let texts: Vec<_> = cards
            .iter()
            .map(|card| {
                let text = card.content.to_text().unwrap_or_else(|| card.content.as_str().to_owned());
                (card.role.into(), text)
            })
            .collect();
        let lines: Vec<_> = texts.iter().map(|(speaker, text)| (*speaker, text.as_str())).collect();
        let prompt = compaction::prompt(&lines, previous);
        Ok(SummaryRequest { system_prompt: compaction::SYSTEM_PROMPT, prompt })
    }
}

/// A session, and what of it a summary would stand for.
pub(crate) struct Planned {
    session: Session,
    pub(crate) memory: Vec<Held>,
    /// Where the messages stand.
    pub(crate) reach: Option<Segment>,
    /// The summary there is.
    previous: Option<String>,
    pub(crate) previous_card: Option<CardId>,
    pub(crate) plan: Option<compaction::Plan>,
}

fn entry(held: &Held) -> compaction::Entry {
    compaction::Entry {
        speaker: held.speaker,
        pinned: held.pinned,
        calls: held.calls.clone(),
        answers: held.answers.clone(),
    }
}
