//! Forking: read what every task needs, decide, and wait for the join if the caller wants to.

use super::FollowUp;
use crate::{
    Kernel, KernelError,
    pmo::{Calling, Seen},
};
use cardwire_model::{Keys, ProjectId, Realm};
use cardwire_protocol::{
    Decision, Moment, Rejection,
    batch::{
        args::Fork,
        fork::{self, Given},
    },
    pmo::{
        calls::{Answered, Call},
        lineage,
    },
};
use std::time::Duration;

/// How long to wait between two looks at a batch that somebody waits for.
const PAUSES: [u64; 4] = [5, 10, 25, 50];

impl Kernel {
    pub(crate) async fn fork(
        &self,
        project: &ProjectId,
        call: &Call,
        tool_call_id: &str,
        calling: Calling,
        moment: &Moment,
    ) -> Result<Decision<Answered>, KernelError> {
        let fork = Fork::parse(&call.args, &call.pmo).map_err(Rejection::from)?;
        let given = self.given_tasks(project, call, &fork, &calling).await?;
        Ok(fork::decide(project, call, tool_call_id.to_owned(), &fork, &given, moment)?)
    }

    /// BM-04: everything is read and checked before anything is made.
    async fn given_tasks(
        &self,
        project: &ProjectId,
        call: &Call,
        fork: &Fork,
        calling: &Calling,
    ) -> Result<Given, KernelError> {
        let tasks = async {
            let (mut seen, mut tasks) = (Seen::default(), Vec::with_capacity(fork.tasks.len()));
            let mut inherited = 0;
            for (index, task) in fork.tasks.iter().enumerate() {
                let given = self.given(project, call, task, calling, &mut seen).await;
                let (given, amiss) = given.map_err(|error| of_task(index, error))?;
                amiss.check()?;
                inherited += given.inherited.iter().map(|from| from.cards.len()).sum::<usize>();
                fork::check_inherited(inherited)?;
                tasks.push(given);
            }
            Ok::<_, KernelError>(tasks)
        };
        let parent = async {
            let Some(turn) = calling.live_turn() else { return Ok(None) };
            let keys = Keys { turn: Some(turn), ..Keys::default() };
            Ok(Some(self.store.load(&Realm::from(project.clone()), &keys).await?))
        };
        let allowance = async {
            let lineage = self.lineage(project, calling).await?;
            let budget = self.budget(project, call, &lineage).await?;
            Ok((lineage, budget))
        };
        let left = async {
            let live = calling.head.as_ref().and_then(|head| head.live.as_deref());
            Ok::<_, KernelError>(match (calling.window, live) {
                (Some(_), Some(live)) => {
                    let room = self.room_left(project, live).await?;
                    (room.map(|room| room.left), room.and_then(|room| room.at_most))
                }
                (window, _) => (window, None),
            })
        };
        // None of them needs the others, and only the tasks can be refused.
        let (tasks, parent, (lineage, budget), (left, at_most)) =
            tokio::try_join!(tasks, parent, allowance, left)?;
        Ok(Given { tasks, parent, ancestors: lineage::waiting(lineage), left, at_most, budget })
    }

    /// A fork of which no branch could be dispatched has ended already; of others, the first branch that ends is looked after.
    pub(crate) async fn started(&self, project: &ProjectId, answered: &Answered) {
        if let Some(batch) = answered.batch.filter(|_| answered.is_due) {
            let follow_up = FollowUp { batches: vec![batch], ..FollowUp::default() };
            self.follow(project, follow_up, None).await;
        }
    }

    /// Waits for the join of a batch, for so long. The answer then has the result in it.
    pub async fn await_batch(
        &self,
        project: &ProjectId,
        answered: Answered,
        wait: Duration,
    ) -> Result<Answered, KernelError> {
        let Some(batch) = answered.batch else { return Ok(answered) };
        let joined = async {
            let mut pauses = PAUSES.into_iter();
            let mut pause = 0;
            loop {
                if let Some(result) = self.batch_result(project, batch).await? {
                    return Ok::<_, KernelError>(result);
                }
                pause = pauses.next().unwrap_or(pause);
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
        };
        let Ok(result) = tokio::time::timeout(wait, joined).await else { return Ok(answered) };
        let mut result = result?;
        result["batch_id"] = batch.to_string().into();
        let closed = self.batch_row(project, batch).await?;
        Ok(Answered { result, result_card: closed.result_card, joined: Some(closed.status), ..answered })
    }
}

/// What is amiss with one of several tasks.
pub(crate) fn of_task(index: usize, error: KernelError) -> KernelError {
    if let KernelError::Rejected(rejection) = error { fork::of_task(index, rejection).into() } else { error }
}
