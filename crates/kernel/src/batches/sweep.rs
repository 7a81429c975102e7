//! Sweeps: stop what a stopped turn or a closed batch has started. The sweep is a row until it is done, so that a crash
//! half way is gone on with by whoever looks next. Invariant 16: nothing below is left running.

use super::FollowUp;
use crate::{Caller, Kernel, KernelError};
use cardwire_model::{BatchStatus, Commit, ProjectId, Sweep, Timestamp, TurnId, Write, limits};
use cardwire_protocol::{
    Actor, Rejection,
    turn::{Command, Remains, stop::Stop},
};
use cardwire_store::{BatchFilter, CommitError};
use futures_util::{StreamExt as _, stream};

/// Turns that are stopped at the same time.
const AT_ONCE: usize = 32;

impl Kernel {
    /// Stops the descendants. What those have started in turn follows.
    #[tracing::instrument(name = "batch.sweep", level = "trace", skip_all, fields(cardwire.project.id = %project))]
    pub(crate) async fn sweep(
        &self,
        project: &ProjectId,
        sweep: Sweep,
        now: Option<Timestamp>,
    ) -> Result<FollowUp, KernelError> {
        let mut follow_up = FollowUp::default();
        match sweep {
            Sweep::Turn(parent) => {
                self.stop_children(project, parent, now, &mut follow_up).await?;
                self.cancel_batches(project, parent, &mut follow_up).await?;
            }
            Sweep::Batch(batch) => {
                let mut from = 0;
                loop {
                    let page = self.store.open_branches(project, batch, from, limits::BRANCH_PAGE).await?;
                    let Some((last, _)) = page.last() else { break };
                    from = last.index + 1;
                    let turns = page.into_iter().map(|(_, turn)| turn).collect();
                    self.stop_turns(project, turns, now, &mut follow_up).await?;
                }
            }
        }
        let mut done = Commit::new(project.clone());
        done.writes.push(Write::EndSweep(sweep));
        match self.apply(done).await {
            Ok(_) | Err(CommitError::Conflict(_)) => Ok(follow_up),
            Err(CommitError::Store(error)) => Err(error.into()),
        }
    }

    /// Turns that this turn has delegated.
    async fn stop_children(
        &self,
        project: &ProjectId,
        parent: TurnId,
        now: Option<Timestamp>,
        follow_up: &mut FollowUp,
    ) -> Result<(), KernelError> {
        let mut after = None;
        loop {
            let page = self.store.open_children(project, parent, after, limits::BRANCH_PAGE).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(*last);
            self.stop_turns(project, page, now, follow_up).await?;
        }
    }

    /// Batches that this turn has forked. Each takes no more ends of branches from here on; that it is closed and its
    /// branches are stopped follows.
    async fn cancel_batches(
        &self,
        project: &ProjectId,
        parent: TurnId,
        follow_up: &mut FollowUp,
    ) -> Result<(), KernelError> {
        let filter = BatchFilter {
            parent_turn: Some(parent),
            status: Some(BatchStatus::Running),
            ..BatchFilter::default()
        };
        let mut before = None;
        loop {
            let page = self.store.batches(project, &filter, before, limits::PAGE_MAX).await?;
            let Some(last) = page.last() else { return Ok(()) };
            before = Some(last.id);
            for batch in page {
                self.cancel_batch_alone(project, &sweeper(), batch.id).await?;
                follow_up.batches.push(batch.id);
            }
        }
    }

    async fn stop_turns(
        &self,
        project: &ProjectId,
        turns: Vec<TurnId>,
        now: Option<Timestamp>,
        follow_up: &mut FollowUp,
    ) -> Result<(), KernelError> {
        let caller = sweeper();
        let stops = turns.into_iter().map(|turn| {
            let stop = Stop {
                turn_id: turn,
                epoch: None,
                reason: Some("what started it was stopped".to_owned()),
                remains: Remains::default(),
            };
            self.turn_command_alone(project, &caller, Command::Stop(stop), None, now)
        });
        let mut stops = stream::iter(stops).buffer_unordered(AT_ONCE);
        let mut failed = None;
        while let Some(stopped) = stops.next().await {
            match stopped {
                Ok((_, more)) => follow_up.extend(more),
                // It has ended by itself.
                Err(KernelError::Rejected(Rejection::StaleTurn(..) | Rejection::NotFound { .. })) => {}
                Err(error) => failed = Some(error),
            }
        }
        // The rest was stopped; the row stays for what was not.
        failed.map_or(Ok(()), Err)
    }
}

fn sweeper() -> Caller {
    Caller { actor: Actor::system("pmo.sweep") }
}
