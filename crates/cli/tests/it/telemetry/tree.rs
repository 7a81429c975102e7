//! What is looked at in a trace: its one root, and the tree of its turns.

use super::receiver::{Forest, Seen};
use serde_json::Value;

/// The one span of a trace that nothing is above, or only what lives elsewhere.
#[track_caller]
pub(super) fn root<'a>(forest: &'a Forest, trace: &str, outside: &str) -> &'a Seen {
    let spans = forest.of(trace);
    let roots: Vec<_> =
        spans.iter().filter(|span| span.parent.is_empty() || span.parent == outside).collect();
    assert_eq!(roots.len(), 1, "{roots:#?}");
    roots[0]
}

/// Every turn was enqueued once and worked on at least once below that, and was caused by the work on the turn that forked it.
#[track_caller]
pub(super) fn check_turns(forest: &Forest, trace: &str, turns: &[Value]) {
    let spans = forest.of(trace);
    for turn in turns {
        let id = turn["agent_turn_id"].as_str().unwrap();
        let is = |span: &&&Seen, name: &str| {
            let own = span.attributes.get("cardwire.turn.id").is_some_and(|of| of == id);
            own && span.name.split(' ').next() == Some(name)
        };
        let enqueued: Vec<_> = spans.iter().filter(|span| is(span, "enqueue")).collect();
        assert_eq!(enqueued.len(), 1, "turn {id}: {enqueued:#?}");
        let runs: Vec<_> = spans.iter().filter(|span| is(span, "invoke_agent")).collect();
        assert!(!runs.is_empty(), "nobody worked on {turn:#}");
        for run in runs {
            assert_eq!(run.parent, enqueued[0].id, "{run:#?}");
            assert_eq!(run.text("gen_ai.agent.id"), turn["agent_id"].as_str().unwrap());
        }
        let above = forest.above(enqueued[0]);
        let causes: Vec<_> = above.iter().filter(|span| span.name.starts_with("invoke_agent ")).collect();
        match turn["parent_agent_turn_id"].as_str() {
            Some(parent) => assert_eq!(causes[0].text("cardwire.turn.id"), parent, "{above:#?}"),
            None => assert!(causes.is_empty(), "{causes:#?}"),
        }
    }
}

/// The spans of a kind, by the first word of their names.
pub(super) fn named<'a>(spans: &[&'a Seen], name: &str) -> Vec<&'a Seen> {
    spans.iter().filter(|span| span.name.split(' ').next() == Some(name)).copied().collect()
}
