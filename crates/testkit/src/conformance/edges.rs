//! The execution graph: edges and their correlations (DP-10).

use super::case::{Case, Check, assert_pages, commit};
use crate::fixtures::{agent_id, at, edge, full_edge};
use cardwire_model::{Conflict, Edge, EdgePhase, Keys, Primitive, Write};
use cardwire_store::{RowFilter, Store};
use std::sync::Arc;

fn add(edge: &Edge) -> Write {
    Write::AddEdge(Box::new(edge.clone()))
}

/// DP-10: an edge is what it was written as.
pub async fn an_edge_comes_back_with_every_field(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let mut edges = vec![];
    for primitive in Primitive::ALL {
        for phase in EdgePhase::ALL {
            edges.push(full_edge(&mut case.ids, *primitive, *phase, "关联 ' \" \\ 😀"));
            edges.push(edge(&mut case.ids, *primitive, *phase, ""));
        }
    }
    case.write(edges.iter().map(add)).await;
    edges.sort_by_key(|edge| std::cmp::Reverse(edge.id));
    let found = case.store.edges(&case.project, &RowFilter::default(), None, 100).await.unwrap();
    assert_eq!(found, edges);
}

/// DP-10: turns and batches correlate within the project, whoever their ends are.
pub async fn a_correlation_of_turns_is_unique_in_its_project(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let other = case.create_project("p2").await;
    for primitive in [Primitive::Enqueue, Primitive::Join] {
        let first = full_edge(&mut case.ids, primitive, EdgePhase::Request, "corr");
        case.write([add(&first)]).await;
        // Of other turns, or of none.
        let taken = full_edge(&mut case.ids, primitive, EdgePhase::Request, "corr");
        case.refuse_write(add(&taken), Conflict::Edge).await;
        let taken = edge(&mut case.ids, primitive, EdgePhase::Request, "corr");
        case.refuse_write(add(&taken), Conflict::Edge).await;
        // The other half, another correlation and another project are free; an id is not.
        let response = edge(&mut case.ids, primitive, EdgePhase::Response, "corr");
        let another = edge(&mut case.ids, primitive, EdgePhase::Request, "Corr");
        case.write([add(&response), add(&another)]).await;
        case.apply(commit(&other, [add(&first)])).await;
        let same_id = Edge { id: first.id, ..edge(&mut case.ids, primitive, EdgePhase::Request, "free") };
        case.refuse_write(add(&same_id), Conflict::Edge).await;
        let keys = Keys { edge: Some((primitive, EdgePhase::Request, "corr".to_owned())), ..Keys::default() };
        assert_eq!(case.load(keys).await.edge, Some(first));
    }
}

/// DP-10: models number their calls as they like, so tools correlate within the turn that called them.
pub async fn a_correlation_of_tools_is_unique_in_its_turn(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    for primitive in [Primitive::ToolCall, Primitive::Report] {
        let turn = case.ids.turn();
        let base = |edge: Edge| Edge { source_turn: None, target_turn: None, ..edge };
        let mut new = || base(full_edge(&mut case.ids, primitive, EdgePhase::Request, "call_1"));
        let as_source = |edge: Edge, turn| Edge { source_turn: Some(turn), ..edge };
        let as_target = |edge: Edge, turn| Edge { target_turn: Some(turn), ..edge };
        let (first, second, third, target) = (new(), new(), new(), new());
        let (nobody, again) = (new(), new());
        let (elsewhere, other) = (case.ids.turn(), case.ids.turn());
        case.write([add(&as_source(first, turn))]).await;
        // The source counts when there is one, else the target.
        case.refuse_write(add(&as_source(second.clone(), turn)), Conflict::Edge).await;
        case.refuse_write(add(&as_target(second.clone(), turn)), Conflict::Edge).await;
        case.refuse_write(add(&as_target(as_source(second.clone(), turn), other)), Conflict::Edge).await;
        case.write([add(&as_target(as_source(second, other), turn))]).await;
        case.write([add(&as_target(third, elsewhere))]).await;
        case.refuse_write(add(&as_source(target, elsewhere)), Conflict::Edge).await;
        // An edge of no turn is in the project's own scope.
        case.write([add(&nobody)]).await;
        case.refuse_write(add(&again), Conflict::Edge).await;
        let key = (primitive, EdgePhase::Request, "call_1".to_owned());
        let keys = Keys { edge: Some(key), ..Keys::default() };
        assert_eq!(case.load(keys).await.edge, Some(nobody));
    }
}

/// API-08: edges newest first, by every part of a filter; agents and turns as source or target.
pub async fn edges_are_listed_newest_first_by_every_filter(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let turns = [case.ids.turn(), case.ids.turn(), case.ids.turn()];
    let names = ["a", "b", "c"].map(agent_id);
    let mut edges = vec![];
    for number in 0..12_usize {
        let (primitive, phase) = (Primitive::ALL[number % 4], EdgePhase::ALL[number / 4 % 2]);
        edges.push(Edge {
            source_agent: (number % 5 != 0).then(|| names[number % 3].clone()),
            target_agent: (number % 4 != 0).then(|| names[(number + 1) % 3].clone()),
            source_turn: (number % 5 != 0).then(|| turns[number % 3]),
            target_turn: (number % 4 != 0).then(|| turns[(number + 1) % 3]),
            trace_id: format!("trace-{}", number % 3),
            created_at: at(100 + number as i64 / 3),
            ..edge(&mut case.ids, primitive, phase, &format!("corr-{}", number / 2))
        });
    }
    case.write(edges.iter().map(add)).await;
    edges.sort_by_key(|edge| std::cmp::Reverse(edge.id));
    let (none, name, turn) = (RowFilter::default(), agent_id("a"), turns[1]);
    let checks: Vec<Check<Edge>> = vec![
        (none.clone(), Box::new(|_| true)),
        (
            RowFilter { agent_id: Some(name.clone()), ..none.clone() },
            Box::new(move |edge| [&edge.source_agent, &edge.target_agent].contains(&&Some(name.clone()))),
        ),
        (
            RowFilter { turn_id: Some(turn), ..none.clone() },
            Box::new(move |edge| [edge.source_turn, edge.target_turn].contains(&Some(turn))),
        ),
        (
            RowFilter { trace_id: Some("trace-2".to_owned()), ..none.clone() },
            Box::new(|edge| edge.trace_id == "trace-2"),
        ),
        (
            RowFilter { correlation_id: Some("corr-3".to_owned()), ..none.clone() },
            Box::new(|edge| edge.correlation_id == "corr-3"),
        ),
        (
            RowFilter { primitive: Some(Primitive::Report), ..none.clone() },
            Box::new(|edge| edge.primitive == Primitive::Report),
        ),
        (
            RowFilter { phase: Some(EdgePhase::Response), ..none.clone() },
            Box::new(|edge| edge.phase == EdgePhase::Response),
        ),
        (
            RowFilter { from: Some(at(101)), until: Some(at(103)), ..none.clone() },
            Box::new(|edge| edge.created_at == at(101) || edge.created_at == at(102)),
        ),
        (
            RowFilter {
                agent_id: Some(agent_id("b")),
                turn_id: Some(turn),
                phase: Some(EdgePhase::Request),
                ..none.clone()
            },
            // Names and turns go together above.
            Box::new(move |edge| {
                [edge.source_turn, edge.target_turn].contains(&Some(turn)) && edge.phase == EdgePhase::Request
            }),
        ),
        // What edges do not have is ignored.
        (
            RowFilter { inbox_status: Some(cardwire_model::InboxStatus::Error), turns_only: true, ..none },
            Box::new(|_| true),
        ),
    ];
    for (filter, wanted) in checks {
        let expected: Vec<_> = edges.iter().filter(|edge| wanted(edge)).cloned().collect();
        assert!(!expected.is_empty(), "{filter:?}");
        assert_pages(
            &format!("{filter:?}"),
            &expected,
            |edge| edge.id,
            async |before, limit| case.store.edges(&case.project, &filter, before, limit).await,
        )
        .await;
    }
}
