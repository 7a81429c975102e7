//! A turn's place in its trace: what the kernel and tools elsewhere are told caused a request (W3C Trace Context).
//!
//! The span of a turn is known by the turn's id, so that whoever runs it, wherever, works below the span of its dispatch.
//! Invariant: no two spans of a process have the same id, and the seed sees to it that no two processes do.

use crate::lease::Lease;
use cardwire_model::{SpanId, TraceParent, TurnId, trace::is_trace_id};
use std::sync::atomic::{AtomicU64, Ordering};

/// Spans of this process so far.
static SPANS: AtomicU64 = AtomicU64::new(0);

/// A span id that was not given before. Different numbers always give different ones (SplitMix64 is a bijection).
pub(crate) fn fresh(seed: u64) -> Option<SpanId> {
    let count = SPANS.fetch_add(1, Ordering::Relaxed);
    let mut id = seed.wrapping_add(count.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    id = (id ^ (id >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    id = (id ^ (id >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    SpanId::new(id ^ (id >> 31))
}

/// Where a turn stands.
#[derive(Debug)]
pub(crate) struct Trace {
    trace_id: String,
    parent: Option<SpanId>,
    run: Option<SpanId>,
    /// What is being done: the run itself, or a call within it. One thing at a time.
    current: AtomicU64,
    seed: u64,
}

impl Trace {
    pub(crate) fn of(lease: &Lease, seed: u64) -> Self {
        let turn = lease.agent_turn_id.parse::<TurnId>().ok().map(TurnId::uuid);
        let is_known = is_trace_id(&lease.trace_id);
        let own = || turn.map(|turn| turn.simple().to_string()).unwrap_or_default();
        let run = fresh(seed);
        Self {
            // A trace that is not W3C's cannot be gone on with; the turn is one by itself.
            trace_id: if is_known { lease.trace_id.clone() } else { own() },
            parent: turn.filter(|_| is_known).and_then(SpanId::of),
            run,
            current: AtomicU64::new(run.map_or(0, SpanId::get)),
            seed,
        }
    }

    pub(crate) fn trace_id(&self) -> &str {
        &self.trace_id
    }

    /// The span of the turn's dispatch.
    pub(crate) const fn parent(&self) -> Option<SpanId> {
        self.parent
    }

    /// The span of this stretch of work.
    pub(crate) const fn run(&self) -> Option<SpanId> {
        self.run
    }

    pub(crate) const fn seed(&self) -> u64 {
        self.seed
    }

    /// The `traceparent` of what is done now.
    pub(crate) fn header(&self) -> Option<String> {
        let span = SpanId::new(self.current.load(Ordering::Relaxed))?;
        TraceParent::new(&self.trace_id, span).map(|parent| parent.to_string())
    }

    /// Until what this gives is dropped, this span is what is being done.
    pub(crate) fn within(&self, span: Option<SpanId>) -> Within<'_> {
        let before = self.current.load(Ordering::Relaxed);
        self.current.store(span.map_or(before, SpanId::get), Ordering::Relaxed);
        Within { trace: self, before }
    }
}

pub(crate) struct Within<'a> {
    trace: &'a Trace,
    before: u64,
}

impl Drop for Within<'_> {
    fn drop(&mut self) {
        self.trace.current.store(self.before, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const TURN: &str = "turn_0190b0a0-0000-7000-8000-000000000001";
    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    fn lease(trace_id: &str) -> Lease {
        let lease = serde_json::json!({
            "project_id": "p", "agent_id": "a", "agent_turn_id": turn_id(), "turn_epoch": 1,
            "trace_id": trace_id, "kind": "turn",
        });
        serde_json::from_value(lease).unwrap()
    }

    fn turn_id() -> String {
        TurnId::from_uuid(TURN.trim_start_matches("turn_").parse().unwrap()).to_string()
    }

    #[test]
    fn a_run_is_below_the_dispatch_and_a_call_below_the_run() {
        let trace = Trace::of(&lease(TRACE), 7);
        assert_eq!((trace.trace_id(), trace.parent().unwrap().get()), (TRACE, 0x8000_0000_0000_0001));
        let run = trace.header().unwrap();
        assert!(run.starts_with(&format!("00-{TRACE}-")), "{run}");
        {
            let _tool = trace.within(SpanId::new(0xabc));
            assert_eq!(trace.header().unwrap(), format!("00-{TRACE}-0000000000000abc-01"));
        }
        assert_eq!(trace.header().unwrap(), run);
    }

    #[test]
    fn a_trace_that_is_not_w3c_s_is_not_passed_off_as_one() {
        let trace = Trace::of(&lease("mine"), 7);
        assert_eq!((trace.trace_id(), trace.parent()), ("0190b0a0000070008000000000000001", None));
    }

    #[test]
    fn no_two_spans_have_the_same_id() {
        let ids: HashSet<_> = (0..1_000).map(|_| fresh(7)).collect();
        assert_eq!(ids.len(), 1_000);
    }
}
