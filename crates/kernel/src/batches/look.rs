//! Looking after a batch: see how it stands, do what `protocol` says, look again.

use super::FollowUp;
use crate::{Caller, Kernel, KernelError};
use cardwire_context::tokens::Tokenizer;
use cardwire_model::{
    Batch, BatchId, Branch, BranchStatus, CanonicalJson, Card, CardId, Commit, Keys, ProjectId, Realm,
    Timestamp, Write, limits,
};
use cardwire_protocol::{
    Actor, Moment, Rejection,
    batch::{
        branch::{self, NOTED_AFTER, Watch},
        cancel, join,
        progress::{self, Facts, Next},
        view::{self, View},
    },
};
use cardwire_store::{CommitError, Standing};
use futures_util::{StreamExt, TryStreamExt, stream};
use std::{collections::HashMap, sync::Arc};

/// Pages of branches that are read at the same time.
const AT_ONCE: usize = 4;

/// What a look has done.
#[derive(Debug, Default)]
pub(crate) struct Looked {
    pub(crate) follow_up: FollowUp,
    /// By name, in order.
    pub(crate) done: Vec<&'static str>,
}

/// In whose name.
pub(super) fn caller() -> Caller {
    Caller { actor: Actor::system("pmo.batch_manager") }
}

impl Kernel {
    /// Does with a batch what is to be done now. A `thorough` look, the watchdog's, also sees to branches that wait.
    #[tracing::instrument(name = "batch.look", level = "trace", skip_all, fields(cardwire.project.id = %project, cardwire.batch.id = %batch))]
    pub(crate) async fn look_after(
        &self,
        project: &ProjectId,
        batch: BatchId,
        now: Option<Timestamp>,
        thorough: bool,
    ) -> Result<Looked, KernelError> {
        let mut looked = Looked::default();
        let mut lost = 0;
        while lost < limits::DECIDE_ATTEMPTS {
            let moment = self.moment_at(&caller(), now);
            let quiet = moment.now.plus_seconds(-NOTED_AFTER);
            let found = self.store.standing(project, batch, moment.now, quiet, limits::BRANCH_PAGE).await?;
            let Some(standing) = found else { return Ok(looked) };
            let facts = Facts {
                batch: &standing.batch,
                open: standing.open,
                failed: standing.failed,
                succeeded: standing.succeeded,
                dispatched: standing.dispatched,
                pending: standing.pending.len(),
            };
            let stands = match progress::next(&facts, moment.now) {
                Next::Nothing => {
                    // What is seen of branches that wait cannot come before the end of the batch (BM-18, BM-19).
                    if thorough && self.watch_branches(project, &standing, &moment, &mut looked).await? {
                        continue;
                    }
                    return Ok(looked);
                }
                Next::BeginClose(reason) => {
                    let commit = cancel::begin(project, &standing.batch, reason, &moment);
                    self.applied(commit, &mut looked, "begin_close").await?
                }
                Next::Dispatch(count) => {
                    self.dispatch_branches(project, &standing, count, &moment, &mut looked).await?
                }
                Next::Join => {
                    if self.join(project, &standing.batch, &moment, &mut looked).await? {
                        return Ok(looked);
                    }
                    false
                }
            };
            lost += usize::from(!stands);
        }
        Err(KernelError::Contended)
    }

    /// Whether the commit was applied; not when somebody else got in between.
    async fn applied(
        &self,
        commit: Commit,
        looked: &mut Looked,
        what: &'static str,
    ) -> Result<bool, KernelError> {
        if commit.is_empty() {
            return Ok(false);
        }
        match self.apply(commit).await {
            Ok(more) => {
                looked.follow_up.extend(more);
                looked.done.push(what);
                Ok(true)
            }
            Err(CommitError::Conflict(_)) => Ok(false),
            Err(CommitError::Store(error)) => Err(error.into()),
        }
    }

    /// BM-19. Answers whether a branch has failed by it, so that the batch stands otherwise now.
    async fn watch_branches(
        &self,
        project: &ProjectId,
        standing: &Standing,
        moment: &Moment,
        looked: &mut Looked,
    ) -> Result<bool, KernelError> {
        let mut failed = false;
        for row in &standing.unleased {
            let Some(turn) = row.turn_id else { continue };
            let Some(item) = self.store.turn(project, turn).await? else { continue };
            let Watch::Note { branch, wake } = branch::watch(&standing.batch, row, &item, moment.now) else {
                continue;
            };
            failed |= branch.status == BranchStatus::Failed;
            if wake {
                looked.follow_up.wake.extend(branch.agent_id.clone());
            }
            let mut commit = Commit::new(project.clone());
            commit.writes.push(Write::MoveBranch { from: row.status, branch });
            self.applied(commit, looked, "watch").await?;
        }
        Ok(failed)
    }

    /// BM-08, BM-10
    async fn dispatch_branches(
        &self,
        project: &ProjectId,
        standing: &Standing,
        count: usize,
        moment: &Moment,
        looked: &mut Looked,
    ) -> Result<bool, KernelError> {
        let realm = Realm::from(project.clone());
        let reused = self.live_project(project).await?.settings.output.single_writer.into();
        let mut stands = false;
        for row in standing.pending.iter().take(count) {
            let keys = Keys { agent: row.agent_id.clone(), ..Keys::default() };
            let mut snapshot = self.store.load(&realm, &keys).await?;
            let output = branch::output_box(&snapshot, reused);
            let profile = snapshot.agent.as_ref().map(|agent| agent.profile_box);
            let keys = Keys {
                boxes: [profile, row.context_box, output].into_iter().flatten().collect(),
                writers_of: output.into_iter().collect(),
                ..Keys::default()
            };
            let found = self.store.load(&realm, &keys).await?;
            (snapshot.boxes, snapshot.writers) = (found.boxes, found.writers);
            match branch::dispatch(&snapshot, project, &standing.batch, row, reused, moment) {
                Ok(decision) => stands |= self.applied(decision.commit, looked, "dispatch").await?,
                Err(Rejection::Lost(agent)) => {
                    self.rebuild_at(project, &caller(), &agent, Some(moment.now)).await?;
                }
                Err(rejection) => return Err(rejection.into()),
            }
        }
        Ok(stands)
    }

    /// Answers whether the batch is closed by this.
    #[tracing::instrument(name = "join", level = "trace", skip_all, fields(cardwire.project.id = %project, cardwire.batch.id = %batch.id))]
    async fn join(
        &self,
        project: &ProjectId,
        batch: &Batch,
        moment: &Moment,
        looked: &mut Looked,
    ) -> Result<bool, KernelError> {
        let parent = async {
            let Some(turn) = batch.parent_turn else { return Ok::<_, KernelError>(None) };
            let (realm, keys) = (Realm::from(project.clone()), Keys { turn: Some(turn), ..Keys::default() });
            let mut rows = self.store.load(&realm, &keys).await?;
            self.load_next_box(&realm, &mut rows).await?;
            Ok(Some(rows))
        };
        let viewed = async {
            let (admitted, tokenizer) = self.admitted(project, batch).await?;
            let mut share = admitted;
            loop {
                let branches = self.viewed_branches(project, batch, share).await?;
                let Some(tokenizer) = tokenizer else { return Ok::<_, KernelError>((branches, share)) };
                let result = CanonicalJson::from_value(&join::result(batch.status, &branches, share));
                let counted = tokenizer.count_content(&result.map_err(Rejection::from)?);
                match view::smaller(share, counted.into(), admitted, batch.branches) {
                    Some(smaller) => share = smaller,
                    None => return Ok((branches, share)),
                }
            }
        };
        let ((branches, share), parent) = tokio::try_join!(viewed, parent)?;
        match join::decide(parent.as_ref(), project, batch, branches, share, moment) {
            Ok(decision) => self.applied(decision.commit, looked, "join").await,
            Err(Rejection::Lost(agent)) => {
                self.rebuild_at(project, &caller(), &agent, Some(moment.now)).await?;
                Ok(false)
            }
            Err(rejection) => Err(rejection.into()),
        }
    }

    /// What each branch may take of the result: its share at the fork, or of what the parent has left now if that is less,
    /// because it went on meanwhile or has been given the results of other forks. And what the parent counts with, where shares
    /// were not cut by that.
    async fn admitted(
        &self,
        project: &ProjectId,
        batch: &Batch,
    ) -> Result<(u32, Option<Tokenizer>), KernelError> {
        if !view::is_bounded(batch) {
            return Ok((batch.result_tokens, None));
        }
        let head = self.store.head(project, &batch.parent_agent).await?;
        let live = head.and_then(|head| head.live).filter(|live| Some(live.turn_id) == batch.parent_turn);
        let Some(live) = live else { return Ok((batch.result_tokens, None)) };
        let room = self.room_left(project, &live).await?;
        let tokenizer = room.map(|room| room.tokenizer).filter(|one| *one != Tokenizer::Estimate);
        Ok((view::admitted(batch, room.map(|room| room.left)), tokenizer))
    }

    /// Every branch with what its deliverable says. Read a few at a time, and the next meanwhile: nothing else goes on until all
    /// are known. Only digests of the cards are kept.
    pub(super) async fn viewed_branches(
        &self,
        project: &ProjectId,
        batch: &Batch,
        share: u32,
    ) -> Result<Vec<(Branch, View)>, KernelError> {
        // Every task has its row from the start, so that where a page begins is known without the one before.
        let pages = stream::iter((0..batch.branches).step_by(limits::BATCH_IDS));
        pages.map(|from| self.viewed_page(project, batch, from, share)).buffered(AT_ONCE).try_concat().await
    }

    async fn viewed_page(
        &self,
        project: &ProjectId,
        batch: &Batch,
        from: u32,
        share: u32,
    ) -> Result<Vec<(Branch, View)>, KernelError> {
        let page = self.store.branches(project, batch.id, from, limits::BATCH_IDS).await?;
        let ids: Vec<CardId> = page.iter().filter_map(|branch| branch.deliverable).collect();
        let cards = self.get_cards(project, &ids, false).await?;
        let cards: HashMap<CardId, &Arc<Card>> = cards.iter().map(|card| (card.id, card)).collect();
        let viewed = page.into_iter().map(|branch| {
            let card = branch.deliverable.and_then(|id| cards.get(&id)).map(|card| card.as_ref());
            let view = view::of(&branch, card, share);
            (branch, view)
        });
        Ok(viewed.collect())
    }
}
