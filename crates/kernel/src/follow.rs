//! Following the log of a project: those who do sleep until their own project has news, and read what is new once for all of
//! them (F-25, API-13).
//!
//! One task looks for all followers of this process: after each round of numbering at the projects that something was committed
//! to, and now and then at all of them in one read, which finds what other processes wrote as well as tokens and projects that
//! are gone. What it reads of a project is handed to every follower that has come as far; others read for themselves.
//! Must not know HTTP. Invariant: a follower is given every event of its project's log once, in order, whatever hints it misses:
//! it goes on from where it stands, and a page is handed to it only if the page begins there or before.

use crate::{Kernel, KernelError, spawn::Stop};
use cardwire_model::{Event, Hash256, ProjectId, limits};
use cardwire_protocol::Rejection;
use cardwire_store::{EventFilter, StoreError};
use futures_util::{StreamExt, stream};
use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{Notify, watch},
    time::MissedTickBehavior,
};

/// How often all followed projects and the tokens of their followers are looked at. A revoked token ends within a second (SEC-02).
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Projects read at once. Stores read logs over a few connections of their own, which others want as well.
const READS_AT_ONCE: usize = 2;

/// Everybody who follows a log in this process.
#[derive(Default)]
pub(crate) struct Feeds {
    projects: Mutex<HashMap<ProjectId, Arc<Feed>>>,
    /// Something was committed to these logs, and is not numbered yet.
    unnumbered: Mutex<Vec<Arc<Feed>>>,
    /// Something in these logs was numbered.
    numbered: Mutex<Vec<Arc<Feed>>>,
    passes: Mutex<HashMap<Hash256, Arc<Pass>>>,
    to_look: Notify,
}

/// The end of a project's log, for those who follow it.
pub(crate) struct Feed {
    project: ProjectId,
    news: watch::Sender<News>,
    /// It is among the unnumbered.
    is_noted: AtomicBool,
}

/// What is known of the end of a log.
#[derive(Clone, Default)]
struct News {
    /// How far the log goes; nothing before it was looked at.
    until: Option<u64>,
    /// All events from behind `from` up to there, as long as somebody may want them.
    page: Option<Arc<[Event]>>,
    from: u64,
    /// The page was there when all projects were looked at last.
    is_old: bool,
    /// The project is gone.
    is_over: bool,
}

/// Whether a token still opens logs.
#[derive(Default)]
struct Pass {
    is_over: AtomicBool,
}

/// Somebody who follows a log.
pub struct Follower {
    feed: Arc<Feed>,
    news: watch::Receiver<News>,
    pass: Arc<Pass>,
    filter: Box<EventFilter>,
    /// What was read last, and how much of it was given.
    page: Option<Arc<[Event]>>,
    given: usize,
    /// Where the follower stood before the page, and where it stands behind it.
    after: u64,
    until: u64,
    /// It has looked for itself, and goes by what it is told.
    is_awake: bool,
}

impl Follower {
    /// The next event of what was read, and whose log it is of.
    pub fn next_read(&mut self) -> Option<(&ProjectId, &Event)> {
        let wanted = |event: &Event| event.position > self.after && self.filter.takes(&event.event);
        let at = self.page.as_ref()?.iter().skip(self.given).position(wanted);
        match at {
            Some(at) => {
                self.given += at + 1;
                let event = self.page.as_ref()?.get(self.given - 1)?;
                Some((&self.feed.project, event))
            }
            None => {
                // Whoever waits keeps nothing.
                self.page = None;
                None
            }
        }
    }

    /// Completes when there may be more to read, or when the follower may read no more.
    pub async fn hint(&mut self) {
        // Its sender lives as long as the feed.
        let _ = self.news.changed().await;
    }

    fn take(&mut self, page: Arc<[Event]>, until: u64) {
        (self.after, self.until) = (self.until, until);
        (self.page, self.given) = (Some(page), 0);
    }
}

impl Feeds {
    fn join(&self, project: &ProjectId) -> (Arc<Feed>, watch::Receiver<News>) {
        let mut projects = lock(&self.projects);
        let feed = projects.entry(project.clone()).or_insert_with(|| {
            let (project, news) = (project.clone(), watch::Sender::default());
            let feed = Arc::new(Feed { project, news, is_noted: AtomicBool::new(true) });
            // What was committed before is perhaps not numbered yet.
            lock(&self.unnumbered).push(Arc::clone(&feed));
            feed
        });
        (Arc::clone(feed), feed.news.subscribe())
    }

    /// Of a project that somebody follows.
    pub(crate) fn of(&self, project: &ProjectId) -> Option<Arc<Feed>> {
        lock(&self.projects).get(project).cloned()
    }

    /// Something was committed there.
    pub(crate) fn committed(&self, feed: Arc<Feed>) {
        if !feed.is_noted.swap(true, Ordering::AcqRel) {
            lock(&self.unnumbered).push(feed);
        }
    }

    /// What is numbered by a round that begins now.
    pub(crate) fn unnumbered(&self) -> Vec<Arc<Feed>> {
        let feeds = std::mem::take(&mut *lock(&self.unnumbered));
        feeds.iter().for_each(|feed| feed.is_noted.store(false, Ordering::Release));
        feeds
    }

    /// It was.
    pub(crate) fn numbered(&self, feeds: Vec<Arc<Feed>>) {
        if !feeds.is_empty() {
            lock(&self.numbered).extend(feeds);
            self.to_look.notify_one();
        }
    }

    /// Where to look.
    fn due(&self, all: bool) -> Vec<Arc<Feed>> {
        let due = std::mem::take(&mut *lock(&self.numbered));
        if !all {
            return due;
        }
        let mut projects = lock(&self.projects);
        // Whoever joins holds the lock, so that nobody is forgotten.
        projects.retain(|_, feed| feed.news.receiver_count() > 0);
        projects.values().cloned().collect()
    }

    fn pass(&self, secret_hash: Hash256) -> Arc<Pass> {
        Arc::clone(lock(&self.passes).entry(secret_hash).or_default())
    }

    /// The tokens that are in use.
    fn passes(&self) -> Vec<(Hash256, Arc<Pass>)> {
        let mut passes = lock(&self.passes);
        passes.retain(|_, pass| Arc::strong_count(pass) > 1);
        passes.iter().map(|(hash, pass)| (*hash, Arc::clone(pass))).collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Feed {
    /// Lets go of a page that everybody has had time to take.
    fn forget_page(&self) {
        self.news.send_if_modified(|news| {
            if news.is_old {
                (news.page, news.from) = (None, news.until.unwrap_or(0));
            }
            news.is_old = news.page.is_some();
            false
        });
    }
}

impl Kernel {
    /// Follows the log of a project from a position on, as the holder of the token with this secret hash.
    pub fn follow_log(
        &self,
        project: &ProjectId,
        secret_hash: Hash256,
        after: u64,
        filter: EventFilter,
    ) -> Follower {
        let (feed, news) = self.changes.feeds.join(project);
        Follower {
            feed,
            news,
            pass: self.changes.feeds.pass(secret_hash),
            filter: Box::new(filter),
            after,
            until: after,
            page: None,
            given: 0,
            is_awake: false,
        }
    }

    /// Reads on. Answers whether the follower has come further; if not, there will be a hint. An error when its token or its
    /// project is gone.
    pub async fn follow_on(&self, follower: &mut Follower) -> Result<bool, KernelError> {
        if follower.pass.is_over.load(Ordering::Acquire) {
            return Err(KernelError::Unauthenticated);
        }
        let News { until, page, from, is_over, .. } = follower.news.borrow_and_update().clone();
        let project = &follower.feed.project;
        if is_over {
            return Err(Rejection::no_project(project).into());
        }
        // The first time it looks for itself.
        if follower.is_awake && until.is_none_or(|until| until <= follower.until) {
            return Ok(false);
        }
        if let (Some(page), Some(until), true) = (page, until, from <= follower.until && follower.is_awake) {
            follower.take(page, until);
            return Ok(true);
        }
        let (events, until) = self.events_until(project, follower.until, &follower.filter).await?;
        if until > follower.until {
            follower.take(events.into(), until);
        } else {
            // What is told from now on is looked at: it may already have been.
            follower.is_awake = true;
        }
        Ok(true)
    }

    pub(crate) async fn keep_following(self: Arc<Self>, mut stop: Stop) {
        let mut looks = tokio::time::interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let all = tokio::select! {
                () = self.changes.feeds.to_look.notified() => false,
                _ = looks.tick() => true,
                () = stop.stopped() => return,
            };
            if let Err(error) = self.look_for_news(all).await {
                tracing::warn!(%error, "could not look for new events");
            }
        }
    }

    /// Looks at the logs that have grown, or at all that are followed.
    async fn look_for_news(&self, all: bool) -> Result<(), StoreError> {
        let due = self.changes.feeds.due(all);
        if !due.is_empty() {
            let projects: Vec<ProjectId> = due.iter().map(|feed| feed.project.clone()).collect();
            let ends = self.store.last_positions(&projects).await?;
            let ends: HashMap<ProjectId, u64> = ends.into_iter().collect();
            let tell = |feed: Arc<Feed>| {
                let end = ends.get(&feed.project).copied();
                async move { self.tell(&feed, end, all).await }
            };
            stream::iter(due).for_each_concurrent(READS_AT_ONCE, tell).await;
        }
        if all { self.check_passes().await } else { Ok(()) }
    }

    /// Tells those who follow a project what is new there.
    async fn tell(&self, feed: &Arc<Feed>, end: Option<u64>, all: bool) {
        let known = feed.news.borrow().until;
        let (known, end) = match (known, end) {
            (_, None) => return feed.news.send_modify(|news| news.is_over = true),
            (None, Some(end)) => {
                let news = News { until: Some(end), from: end, ..News::default() };
                return drop(feed.news.send_replace(news));
            }
            (Some(known), Some(end)) if end <= known => {
                if all {
                    feed.forget_page();
                }
                return;
            }
            (Some(known), Some(end)) => (known, end),
        };
        let events = match self.events(&feed.project, known, &EventFilter::default()).await {
            Ok(events) => events,
            // Looked for again with all others.
            Err(error) => return tracing::warn!(%error, project = %feed.project, "could not read new events"),
        };
        let found = events.last().map_or(known, |event| event.position);
        let is_all = events.len() < limits::EVENT_PAGE;
        let until = Some(if is_all { found.max(end) } else { found });
        feed.news.send_replace(News { until, page: Some(events.into()), from: known, ..News::default() });
        if !is_all {
            self.changes.feeds.numbered(vec![Arc::clone(feed)]);
        }
    }

    /// Tells followers whose tokens open nothing any more.
    async fn check_passes(&self) -> Result<(), StoreError> {
        let feeds = &self.changes.feeds;
        let passes = feeds.passes();
        if passes.is_empty() {
            return Ok(());
        }
        let hashes: Vec<Hash256> = passes.iter().map(|(hash, _)| *hash).collect();
        let (tokens, now) = (self.store.tokens_by_hashes(&hashes).await?, self.now());
        let live: HashSet<Hash256> =
            tokens.iter().filter(|token| token.is_live(now)).map(|token| token.secret_hash).collect();
        let over = passes.iter().filter(|(hash, _)| !live.contains(hash));
        if over.map(|(_, pass)| pass.is_over.store(true, Ordering::Release)).count() > 0 {
            // Whose they were is not known here: everybody looks at its own.
            lock(&feeds.projects).values().for_each(|feed| feed.news.send_modify(|_| {}));
        }
        Ok(())
    }
}
