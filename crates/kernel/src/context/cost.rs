//! What was spent, by whom and on what (OB-04).

use crate::{Kernel, KernelError};
use cardwire_context::cost::{self, Spent, Sums};
use cardwire_model::{BatchId, Invalid, ProjectId, Step, TurnId, limits};
use cardwire_store::RowFilter;
use serde_json::Value;
use std::collections::HashSet;

/// By what sums are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostBy {
    /// By agent.
    Agent,
    /// By turn.
    Turn,
    /// By step.
    Step,
    /// By model.
    Model,
    /// By layer of the context.
    Layer,
    /// By card that was shown.
    Card,
}

impl CostBy {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Agent, Self::Turn, Self::Step, Self::Model, Self::Layer, Self::Card];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Turn => "turn",
            Self::Step => "step",
            Self::Model => "model",
            Self::Layer => "layer",
            Self::Card => "card",
        }
    }

    /// The one with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|by| by.as_str() == name)
    }
}

/// Which calls count.
#[derive(Debug, Clone)]
pub struct CostQuery {
    /// By what sums are made.
    pub by: CostBy,
    /// Of which steps.
    pub filter: RowFilter,
    /// Only this turn and those below it.
    pub subtree_of: Option<TurnId>,
    /// Only the branches of this batch and the turns below them.
    pub batch: Option<BatchId>,
}

impl Kernel {
    /// What was spent in all, and by name.
    pub async fn cost(&self, project: &ProjectId, query: &CostQuery) -> Result<(Spent, Sums), KernelError> {
        let mut filter = query.filter.clone();
        let turns = self.counted_turns(project, query, &mut filter).await?;
        let (mut total, mut sums, mut calls) = (Spent::default(), Sums::new(), 0);
        let (mut before, mut read) = (None, 0);
        loop {
            let steps = self.store.steps(project, &filter, before.as_ref(), limits::PAGE_MAX).await?;
            read += steps.len();
            Invalid::check_size("filter", read, limits::COST_STEPS, "steps")?;
            for step in &steps {
                if turns.as_ref().is_some_and(|turns| !turns.contains(&step.turn_id)) {
                    continue;
                }
                let metadata = step.metadata.to_value();
                let Some(spent) = Spent::of_step(&metadata) else { continue };
                total.add(spent);
                calls += 1;
                self.count(project, query.by, step, &metadata, spent, calls, &mut sums).await?;
            }
            before = steps.last().map(|step| (step.created_at, step.id.clone()));
            if steps.len() < limits::PAGE_MAX {
                return Ok((total, sums));
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one step, with everything that was read of it")]
    async fn count(
        &self,
        project: &ProjectId,
        by: CostBy,
        step: &Step,
        metadata: &Value,
        spent: Spent,
        calls: usize,
        sums: &mut Sums,
    ) -> Result<(), KernelError> {
        let name = match by {
            CostBy::Agent => step.agent_id.to_string(),
            CostBy::Turn => step.turn_id.to_string(),
            CostBy::Step => step.id.to_string(),
            CostBy::Model => metadata["model"].as_str().unwrap_or("unknown").to_owned(),
            CostBy::Layer | CostBy::Card => {
                // Each of these reads a manifest and what it names.
                Invalid::check_size("filter", calls, limits::COST_CALLS, "calls")?;
                let id = step.call_id.as_deref().and_then(|id| id.parse().ok());
                let composed = match id {
                    Some(id) => match self.call(project, id).await {
                        Ok(call) => Some(call),
                        // A worker may name what it likes.
                        Err(KernelError::Rejected(_)) => None,
                        Err(error) => return Err(error),
                    },
                    None => None,
                };
                let Some(call) = composed else {
                    cost::add(sums, cost::UNKNOWN, spent);
                    return Ok(());
                };
                let shown: Vec<_> = call
                    .entries
                    .iter()
                    .map(|entry| match by {
                        CostBy::Card => (entry.card_id.to_string(), entry.tokens),
                        CostBy::Layer | CostBy::Agent | CostBy::Turn | CostBy::Step | CostBy::Model => {
                            (entry.layer.as_str().to_owned(), entry.tokens)
                        }
                    })
                    .collect();
                cost::share(sums, spent, &shown);
                return Ok(());
            }
        };
        cost::add(sums, name, spent);
        Ok(())
    }

    /// The turns below a turn or a batch; none where nothing of the kind is asked for. All are of one trace.
    async fn counted_turns(
        &self,
        project: &ProjectId,
        query: &CostQuery,
        filter: &mut RowFilter,
    ) -> Result<Option<HashSet<TurnId>>, KernelError> {
        let (roots, trace): (HashSet<TurnId>, _) = match (query.subtree_of, query.batch) {
            (None, None) => return Ok(None),
            (Some(turn), _) => ([turn].into(), self.turn_row(project, turn).await?.trace_id),
            (None, Some(batch)) => {
                let view = self.batch(project, batch).await?;
                let turns = view.branches.iter().filter_map(|branch| branch.turn_id).collect();
                (turns, Some(view.batch.trace_id))
            }
        };
        filter.trace_id = filter.trace_id.take().or(trace);
        Ok(Some(self.subtree(project, roots, filter.trace_id.clone()).await?))
    }
}
