//! What readers see of a session.

use super::load::Pointed;
use crate::{Kernel, KernelError};
use cardwire_model::{
    Card, CardId, Checkpoint, Namespace, ProjectId, Segment, Session, SessionId, SessionKey, Timestamp,
    limits,
};
use cardwire_protocol::{Rejection, session::message};
use serde_json::{Map, Value};
use std::{ops::Range, sync::Arc};

/// A session, now or at an earlier checkpoint.
#[derive(Debug, Clone)]
pub struct SessionView {
    /// Its row.
    pub session: Session,
    /// The version that is shown.
    pub version: u64,
    /// The checkpoint that is shown.
    pub checkpoint: Checkpoint,
    /// The ordinary fields.
    pub fields: Map<String, Value>,
    /// The messages of memory, in order.
    pub messages: Vec<Arc<Card>>,
    /// The results of the plan.
    pub results: Vec<Arc<Card>>,
    /// What happened.
    pub timeline: Vec<Arc<Card>>,
    /// What stands for older messages.
    pub summary: Option<String>,
    /// What comes before that in its lists.
    pub earlier: Earlier,
}

/// The part of each list of a session that a reader wants: the last so many, of those before a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Only what stands before this place in its list.
    pub before: Option<u32>,
    /// How many at most.
    pub limit: usize,
}

impl Default for Window {
    fn default() -> Self {
        Self { before: None, limit: limits::SESSION_ITEMS }
    }
}

impl Window {
    /// The places of a list of so many that it shows.
    fn places(self, len: u32) -> Range<usize> {
        let end = self.before.map_or(len, |before| before.min(len)) as usize;
        end.saturating_sub(self.limit)..end
    }
}

/// The first place that is shown of each list; 0 when nothing comes before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Earlier {
    /// Of the messages.
    pub messages: usize,
    /// Of the results.
    pub results: usize,
    /// Of the timeline.
    pub timeline: usize,
}

/// One checkpoint of a session.
#[derive(Debug, Clone)]
pub struct CheckpointView {
    /// Its card, by which it is named.
    pub id: CardId,
    /// Where everything is.
    pub checkpoint: Checkpoint,
    /// When it was made.
    pub created_at: Timestamp,
}

impl Kernel {
    /// A session, as it is or as a checkpoint says, with the last of its lists.
    pub async fn session(
        &self,
        project: &ProjectId,
        key: &SessionKey,
        at: Option<CardId>,
    ) -> Result<SessionView, KernelError> {
        self.session_window(project, key, at, Window::default()).await
    }

    /// The same with a part of its lists.
    pub async fn session_window(
        &self,
        project: &ProjectId,
        key: &SessionKey,
        at: Option<CardId>,
        window: Window,
    ) -> Result<SessionView, KernelError> {
        let session = self.live_session(project, key).await?;
        let pointed = match at {
            None => self.pointed(project, &session).await?,
            Some(card) => {
                let checkpoint = self.named_checkpoint(project, &session, card).await?;
                Arc::new(self.point(project, checkpoint).await?)
            }
        };
        let Pointed { checkpoint, fields, summary } = pointed.as_ref();
        let (messages, memory) = self.shown(project, checkpoint.memory, window).await?;
        let (results, collected) = self.shown(project, checkpoint.results, window).await?;
        let (timeline, happened) = self.shown(project, checkpoint.timeline, window).await?;
        Ok(SessionView {
            version: checkpoint.version,
            messages: memory.into_iter().filter(|card| card.kind.as_str() == message::KIND).collect(),
            results: collected,
            timeline: happened,
            earlier: Earlier { messages, results, timeline },
            summary: summary.clone(),
            checkpoint: checkpoint.clone(),
            fields: fields.clone(),
            session,
        })
    }

    /// The visible cards of a part of a list, and where that part begins.
    async fn shown(
        &self,
        project: &ProjectId,
        reach: Option<Segment>,
        window: Window,
    ) -> Result<(usize, Vec<Arc<Card>>), KernelError> {
        let len = reach.map_or(0, |reach| reach.len);
        let places = window.places(len);
        let now = self.now();
        let cards = if places.len() == len as usize {
            self.reach_cards(project, reach).await?
        } else {
            // A part of a long list is read without the rest of it.
            let ids = self.reach_ids(project, reach).await?;
            self.get_cards(project, ids.get(places.clone()).unwrap_or_default(), false).await?
        };
        Ok((places.start, cards.into_iter().filter(|card| card.is_visible(now)).collect()))
    }

    /// The row of a session that is there.
    pub(crate) async fn live_session(
        &self,
        project: &ProjectId,
        key: &SessionKey,
    ) -> Result<Session, KernelError> {
        let found = self.store.session(project, key).await?.filter(|row| row.deleted_at.is_none());
        found.ok_or_else(|| Rejection::NotFound { what: "session", id: key.to_string() }.into())
    }

    /// Sessions of a namespace by name.
    pub async fn list_sessions(
        &self,
        project: &ProjectId,
        namespace: &Namespace,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<Session>, KernelError> {
        let (mut after, mut found) = (after.cloned(), vec![]);
        // Deleted ones are passed over, so a page may take more than one read.
        loop {
            let page = self.store.sessions(project, namespace, after.as_ref(), limit).await?;
            let ended = page.len() < limit;
            after = page.last().map(|session| session.key.session.clone());
            found.extend(page.into_iter().filter(|session| session.deleted_at.is_none()));
            if ended || found.len() >= limit {
                break;
            }
        }
        found.truncate(limit);
        Ok(found)
    }

    /// Checkpoints of a session, newest first, from `before` on backwards.
    pub async fn list_checkpoints(
        &self,
        project: &ProjectId,
        key: &SessionKey,
        before: Option<CardId>,
        limit: usize,
    ) -> Result<Vec<CheckpointView>, KernelError> {
        let session = self.live_session(project, key).await?;
        let mut next = match before {
            None => Some(session.checkpoint),
            Some(card) => self.named_checkpoint(project, &session, card).await?.previous,
        };
        let mut found = vec![];
        while let Some(id) = next.filter(|_| found.len() < limit) {
            let card = self.own_card(project, id).await?;
            let Some(checkpoint) = Checkpoint::from_json(&card.content, key) else { break };
            next = checkpoint.previous;
            found.push(CheckpointView { id, checkpoint, created_at: card.created_at });
        }
        Ok(found)
    }

    /// The summary of a checkpoint.
    pub(crate) async fn summary_text(
        &self,
        project: &ProjectId,
        checkpoint: &Checkpoint,
    ) -> Result<Option<String>, KernelError> {
        let Some(card) = checkpoint.summary else { return Ok(None) };
        let content = self.own_card(project, card).await?.content.to_value();
        Ok(content["summary"].as_str().map(str::to_owned))
    }
}
