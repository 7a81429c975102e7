//! Reading the event log, and knowing when it may have grown.

use crate::{
    Kernel, KernelError,
    follow::{Feed, Feeds},
};
use cardwire_model::{Commit, Event, ProjectId, Timestamp, limits};
use cardwire_store::EventFilter;
use std::sync::Arc;
use tokio::sync::{Notify, watch};

/// Hints, never truth: whoever misses one finds the same rows a moment later.
pub(crate) struct Changes {
    /// Rises whenever there may be events with new positions.
    pub(crate) numbered: watch::Sender<u64>,
    /// There are events to number.
    pub(crate) to_number: Notify,
    /// There are audit rows to seal.
    pub(crate) to_seal: Notify,
    /// Those who follow logs.
    pub(crate) feeds: Feeds,
}

impl Default for Changes {
    fn default() -> Self {
        let (to_number, to_seal) = (Notify::new(), Notify::new());
        Self { numbered: watch::Sender::new(0), to_number, to_seal, feeds: Feeds::default() }
    }
}

/// What a commit adds to logs.
pub(crate) struct Changed {
    events: bool,
    audit: bool,
    feed: Option<Arc<Feed>>,
}

impl Changes {
    /// What it will have added.
    pub(crate) fn by(&self, commit: &Commit) -> Changed {
        let (events, audit) = (!commit.events.is_empty(), !commit.audit.is_empty());
        let feed = commit.realm.project().filter(|_| events).and_then(|project| self.feeds.of(project));
        Changed { events, audit, feed }
    }

    /// It has.
    pub(crate) fn committed(&self, Changed { events, audit, feed }: Changed) {
        if let Some(feed) = feed {
            self.feeds.committed(feed);
        }
        if events {
            self.to_number.notify_one();
        }
        if audit {
            self.to_seal.notify_one();
        }
    }

    pub(crate) fn numbered(&self) {
        self.numbered.send_modify(|count| *count += 1);
    }
}

impl Kernel {
    /// Events after a position, in order, at most a page of them.
    pub async fn events(
        &self,
        project: &ProjectId,
        after: u64,
        filter: &EventFilter,
    ) -> Result<Vec<Event>, KernelError> {
        Ok(self.store.events(project, after, filter, limits::EVENT_PAGE).await?)
    }

    /// The last position of the log at a moment.
    pub async fn position_at(&self, project: &ProjectId, moment: Timestamp) -> Result<u64, KernelError> {
        let (mut low, mut high) = (0, self.last_position(project).await?);
        while low < high {
            let middle = low + (high - low) / 2;
            let next = self.store.events(project, middle, &EventFilter::default(), 1).await?;
            match next.first() {
                Some(event) if event.event.at <= moment => low = event.position,
                Some(_) | None => high = middle,
            }
        }
        Ok(low)
    }

    /// When something stood at a position of the log; none behind its end.
    pub async fn moment_of(
        &self,
        project: &ProjectId,
        position: u64,
    ) -> Result<Option<Timestamp>, KernelError> {
        let after = position.saturating_sub(1);
        let next = self.store.events(project, after, &EventFilter::default(), 1).await?;
        Ok(next.first().map(|event| event.event.at))
    }

    /// The same, and how far the log was gone through for them: whatever else a filter wants has a later position. A reader goes
    /// on from there, so that it passes over what it does not want once.
    pub async fn events_until(
        &self,
        project: &ProjectId,
        after: u64,
        filter: &EventFilter,
    ) -> Result<(Vec<Event>, u64), KernelError> {
        // Read before the page: all up to here is seen by a later read, and nothing at or below it appears any more (NF-08).
        let last = self.last_position(project).await?;
        if last <= after {
            return Ok((vec![], after));
        }
        let events = self.events(project, after, filter).await?;
        let found = events.last().map_or(after, |event| event.position);
        let until = if events.len() < limits::EVENT_PAGE { found.max(last) } else { found };
        Ok((events, until))
    }

    /// The last position of a project's log.
    pub async fn last_position(&self, project: &ProjectId) -> Result<u64, KernelError> {
        Ok(self.store.last_position(project).await?)
    }

    /// The same of many logs at once. Projects that are deleted or not there are left out.
    pub async fn last_positions(&self, projects: &[ProjectId]) -> Result<Vec<(ProjectId, u64)>, KernelError> {
        Ok(self.store.last_positions(projects).await?)
    }

    /// Changes whenever there may be something new to read. A hint: also look now and then without it.
    pub fn log_changes(&self) -> watch::Receiver<u64> {
        self.changes.numbered.subscribe()
    }

    /// Somebody elsewhere may have written to the log of this project.
    pub fn heard_of(&self, project: &ProjectId) {
        if let Some(feed) = self.changes.feeds.of(project) {
            self.changes.feeds.committed(feed);
            self.changes.to_number.notify_one();
        }
    }
}
