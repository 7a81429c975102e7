//! What a commit looks like from outside: spans for what it starts, and counts (OB-06).
//!
//! Ids, states and counts only, never content. The span of a turn has an id that is made of the turn's own, so that a worker in
//! any process puts its spans below it, and nothing has to be stored for that. It must not know who listens.

use cardwire_model::{
    Batch, BatchStatus, Commit, InboxItem, InboxKind, Realm, SpanId, TaskStatus, TraceParent, Write,
};
use tracing::Level;

/// What is told of a commit once it stands. Taken before, because the store takes the commit.
#[derive(Default)]
pub(crate) struct Told {
    enqueued: u64,
    /// How turns ended.
    ended: Vec<TaskStatus>,
    forked: u64,
    /// How batches were closed.
    joined: Vec<BatchStatus>,
    /// Spans to be; none unless somebody listens.
    spans: Vec<Start>,
}

impl Told {
    pub(crate) fn of(commit: &Commit) -> Self {
        let mut told = Self::default();
        let listened = tracing::span_enabled!(target: TARGET, Level::TRACE);
        for write in &commit.writes {
            if let Write::Enqueue(item) = write
                && item.kind == InboxKind::Turn
            {
                told.enqueued += 1;
                if listened {
                    told.spans.push(Start::of_turn(&commit.realm, item));
                }
            }
            if let Write::UpdateInbox { from, item } = write
                && item.kind == InboxKind::Turn
                && from.is_open()
                && let Some(ended) = &item.ended
            {
                told.ended.push(ended.status);
            }
            if let Write::CreateBatch(batch) = write {
                told.forked += 1;
                if listened {
                    told.spans.push(Start::of_batch(&commit.realm, batch));
                }
            }
            if let Write::CloseBatch(batch) = write {
                told.joined.push(batch.status);
            }
        }
        told
    }

    /// The commit stands.
    pub(crate) fn tell(self) {
        if self.enqueued > 0 {
            metrics::counter!("cardwire_turns_enqueued_total").increment(self.enqueued);
        }
        for status in self.ended {
            metrics::counter!("cardwire_turns_ended_total", "status" => status.as_str()).increment(1);
        }
        if self.forked > 0 {
            metrics::counter!("cardwire_batches_opened_total").increment(self.forked);
        }
        for status in self.joined {
            metrics::counter!("cardwire_batches_closed_total", "status" => status.as_str()).increment(1);
        }
        self.spans.iter().for_each(Start::show);
    }
}

/// Of the spans below; in full so that asking whether anybody listens and showing them cannot come apart.
const TARGET: &str = "cardwire_kernel::telemetry";

/// Where a turn or a batch begins.
struct Start {
    name: &'static str,
    project: String,
    trace_id: Option<String>,
    span_id: Option<SpanId>,
    parent: Option<SpanId>,
    agent_id: Option<String>,
    turn_id: Option<String>,
    parent_turn_id: Option<String>,
    batch_id: Option<String>,
    branches: Option<u64>,
}

impl Start {
    fn of_turn(realm: &Realm, item: &InboxItem) -> Self {
        let span = placed(item.trace_id.as_deref(), SpanId::of(item.turn_id.uuid()));
        let batch = item.branch.map(|branch| branch.batch_id);
        Self {
            name: "enqueue",
            project: project(realm),
            parent: span.and(batch).and_then(|batch| SpanId::of(batch.uuid())),
            trace_id: span.and(item.trace_id.clone()),
            span_id: span,
            agent_id: Some(item.agent_id.to_string()),
            turn_id: Some(item.turn_id.to_string()),
            parent_turn_id: item.parent_turn.map(|turn| turn.to_string()),
            batch_id: batch.map(|batch| batch.to_string()),
            branches: None,
        }
    }

    fn of_batch(realm: &Realm, batch: &Batch) -> Self {
        let span = placed(Some(&batch.trace_id), SpanId::of(batch.id.uuid()));
        Self {
            name: "fork",
            project: project(realm),
            trace_id: span.map(|_| batch.trace_id.clone()),
            span_id: span,
            parent: None,
            agent_id: None,
            turn_id: None,
            parent_turn_id: batch.parent_turn.map(|turn| turn.to_string()),
            batch_id: Some(batch.id.to_string()),
            branches: Some(u64::from(batch.branches)),
        }
    }

    /// An instant: what comes of it is told by those who do it.
    fn show(&self) {
        drop(tracing::trace_span!(
            target: TARGET,
            "start",
            otel.name = self.name,
            otel.kind = "producer",
            trace_id = self.trace_id,
            span_id = self.span_id.map(SpanId::get),
            parent_id = self.parent.map(SpanId::get),
            cardwire.project.id = self.project,
            cardwire.agent.id = self.agent_id,
            cardwire.turn.id = self.turn_id,
            cardwire.turn.parent_id = self.parent_turn_id,
            cardwire.batch.id = self.batch_id,
            cardwire.batch.branches = self.branches,
        ));
    }
}

/// The span, if the trace is one that others can follow.
fn placed(trace_id: Option<&str>, span: Option<SpanId>) -> Option<SpanId> {
    TraceParent::new(trace_id?, span?).map(|placed| placed.span_id)
}

fn project(realm: &Realm) -> String {
    realm.project().map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_is_that_of_this_file() {
        assert_eq!(TARGET, module_path!().trim_end_matches("::tests"));
    }
}
