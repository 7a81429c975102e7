//! The durable event log (NF-08).

use super::case::{Case, put};
use crate::{
    differential::settle,
    fixtures::{SeededIds, agent_id, at, event, json, text_card},
};
use cardwire_model::{Conflict, Event, EventId, EventKind, NewEvent, Project, ProjectId, Timestamp, Write};
use cardwire_store::{EventFilter, Store};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::{sync::watch, task::JoinSet};

/// Everything in a project's log, once numbered.
async fn log(case: &Case, project: &ProjectId) -> Vec<Event> {
    settle(case.store.as_ref()).await;
    case.store.events(project, 0, &EventFilter::default(), 10_000).await.unwrap()
}

/// NF-08, API-13: a log counts 1, 2, 3, … in commit order, each project for itself.
pub async fn positions_are_contiguous_from_one_per_project(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let other = case.create_project("p2").await;
    assert_eq!(case.store.last_position(&other).await.unwrap(), 0);
    let mut expected: BTreeMap<ProjectId, Vec<EventId>> = BTreeMap::new();
    for round in 0..9 {
        let project = if round % 3 == 0 { other.clone() } else { case.project.clone() };
        let mut commit = super::case::commit(&project, []);
        // One commit can tell several things, in this order.
        commit.events.extend((0..=round % 4).map(|_| event(case.ids.event(), "x", None)));
        let ids = commit.events.iter().map(|event| event.id);
        expected.entry(project).or_default().extend(ids);
        case.apply(commit).await;
    }
    for (project, ids) in expected {
        let found = log(&case, &project).await;
        assert_eq!(found.iter().map(|event| event.event.id).collect::<Vec<_>>(), ids);
        let positions: Vec<_> = found.iter().map(|event| event.position).collect();
        assert_eq!(positions, (1..=ids.len() as u64).collect::<Vec<_>>());
        assert_eq!(case.store.last_position(&project).await.unwrap(), ids.len() as u64);
    }
}

/// API-13, F-25: one look for all who follow logs, which also tells whose project is gone.
pub async fn the_ends_of_many_logs_are_told_at_once(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let projects = [case.project.clone(), case.create_project("p2").await, case.create_project("p3").await];
    for (project, count) in projects.iter().zip([3, 0, 1]) {
        let mut commit = super::case::commit(project, []);
        commit.events.extend((0..count).map(|_| event(case.ids.event(), "x", None)));
        case.apply(commit).await;
    }
    settle(case.store.as_ref()).await;
    let absent = crate::fixtures::project_id("absent");
    let ends = async |asked: &[&ProjectId]| {
        let asked: Vec<ProjectId> = asked.iter().map(|project| (*project).clone()).collect();
        case.store.last_positions(&asked).await.unwrap().into_iter().collect::<BTreeMap<_, _>>()
    };
    let [first, second, third] = &projects;
    let known = |of: &[(&ProjectId, u64)]| of.iter().map(|(id, end)| ((*id).clone(), *end)).collect();
    assert_eq!(ends(&[third, &absent, first, second]).await, known(&[(first, 3), (second, 0), (third, 1)]));
    assert_eq!(ends(&[]).await, BTreeMap::new());
    let row = case.store.project(first).await.unwrap().unwrap();
    case.write([Write::UpdateProject(Project { deleted_at: Some(at(1)), ..row })]).await;
    assert_eq!(ends(&[third, first]).await, known(&[(third, 1)]));
}

/// API-13: an event is told as it was decided.
pub async fn events_come_back_with_every_field(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let mut commit = case.commit([]);
    for kind in EventKind::ALL {
        commit.events.push(NewEvent {
            kind: *kind,
            channel: "私有 channel".to_owned(),
            agent_id: Some(agent_id("agent_x-1")),
            turn_id: Some(case.ids.turn()),
            batch_id: Some(case.ids.batch()),
            trace_id: Some("踪迹 ' 😀".to_owned()),
            data: json(r#"{"n":9223372036854775807,"list":[null,"😀"]}"#),
            at: Timestamp::from_micros(1_767_268_800_123_457),
            ..event(case.ids.event(), "目标", None)
        });
    }
    commit.events.push(NewEvent { at: at(-1), ..event(case.ids.event(), "", None) });
    let told = commit.events.clone();
    case.apply(commit).await;
    assert_eq!(
        log(&case, &case.project).await.into_iter().map(|found| found.event).collect::<Vec<_>>(),
        told
    );
}

/// API-13: readers page, resume and follow one agent.
pub async fn events_are_read_after_a_position_up_to_a_limit_and_by_agent(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let agents = [Some(agent_id("a")), None, Some(agent_id("b"))];
    for number in 0..12 {
        let mut commit = case.commit([]);
        commit.events.push(event(case.ids.event(), "x", agents[number % 3].clone()));
        case.apply(commit).await;
    }
    let all = log(&case, &case.project).await;
    assert_eq!(all.len(), 12);
    for agent in [None, Some(agent_id("a")), Some(agent_id("b")), Some(agent_id("nobody"))] {
        let filter = EventFilter { agent_id: agent.clone(), ..EventFilter::default() };
        for (after, limit) in [(0, 100), (0, 3), (4, 2), (11, 9), (12, 9), (99, 9), (u64::MAX, 9)] {
            let wanted = |found: &&Event| agent.is_none() || found.event.agent_id == agent;
            let expected: Vec<_> = all
                .iter()
                .filter(|found| found.position > after)
                .filter(wanted)
                .take(limit)
                .cloned()
                .collect();
            let found = case.store.events(&case.project, after, &filter, limit).await.unwrap();
            assert_eq!(found, expected, "after {after}, limit {limit}, agent {agent:?}");
        }
    }
}

/// API-13: one commit can tell more than a reader takes at once; wherever it stops, it resumes exactly.
pub async fn many_events_of_one_commit_are_read_in_pages(store: Arc<dyn Store>) {
    const EVENTS: usize = 300;
    let mut case = Case::new(store).await;
    let mut commit = case.commit([]);
    let agents = [Some(agent_id("a")), None];
    commit.events.extend(
        (0..EVENTS).map(|number| event(case.ids.event(), &number.to_string(), agents[number % 2].clone())),
    );
    let told = commit.events.clone();
    case.apply(commit).await;
    let all = log(&case, &case.project).await;
    assert_eq!(all.iter().map(|found| found.event.clone()).collect::<Vec<_>>(), told);
    let positions: Vec<_> = all.iter().map(|found| found.position).collect();
    assert_eq!(positions, (1..=EVENTS as u64).collect::<Vec<_>>());
    for agent in agents {
        let filter = EventFilter { agent_id: agent.clone(), ..EventFilter::default() };
        let wanted = |found: &&Event| agent.is_none() || found.event.agent_id == agent;
        let mine: Vec<_> = all.iter().filter(wanted).cloned().collect();
        for page in [7, 127, 128, 129] {
            let mut seen: Vec<Event> = vec![];
            loop {
                let after = seen.last().map_or(0, |found| found.position);
                let next = case.store.events(&case.project, after, &filter, page).await.unwrap();
                if next.is_empty() {
                    break;
                }
                seen.extend(next);
            }
            assert_eq!(seen, mine, "in pages of {page}");
        }
    }
}

/// API-13: readers follow one turn, batch or trace, or what several of these have in common.
pub async fn events_are_filtered_by_turn_batch_and_trace(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let (turns, batches) = ([case.ids.turn(), case.ids.turn()], [case.ids.batch(), case.ids.batch()]);
    let traces = ["trace-1", "Trace-1"];
    let mut commit = case.commit([]);
    for number in 0..24_usize {
        commit.events.push(NewEvent {
            agent_id: (number % 2 == 0).then(|| agent_id("a")),
            turn_id: (number % 3 != 0).then(|| turns[number % 2]),
            batch_id: (number % 4 != 0).then(|| batches[number / 2 % 2]),
            trace_id: (number % 5 != 0).then(|| traces[number % 3 % 2].to_owned()),
            ..event(case.ids.event(), "x", None)
        });
    }
    case.apply(commit).await;
    let all = log(&case, &case.project).await;
    for wanted in 0..16_usize {
        let filter = EventFilter {
            agent_id: (wanted & 1 > 0).then(|| agent_id("a")),
            turn_id: (wanted & 2 > 0).then_some(turns[0]),
            batch_id: (wanted & 4 > 0).then_some(batches[1]),
            trace_id: (wanted & 8 > 0).then(|| traces[0].to_owned()),
        };
        let fits = |found: &&Event| {
            let event = &found.event;
            (wanted & 1 == 0 || event.agent_id == Some(agent_id("a")))
                && (wanted & 2 == 0 || event.turn_id == Some(turns[0]))
                && (wanted & 4 == 0 || event.batch_id == Some(batches[1]))
                && (wanted & 8 == 0 || event.trace_id.as_deref() == Some(traces[0]))
        };
        let expected: Vec<_> = all.iter().filter(fits).cloned().collect();
        assert!(!expected.is_empty());
        let found = case.store.events(&case.project, 0, &filter, 100).await.unwrap();
        assert_eq!(found, expected, "{filter:?}");
        let after = expected[0].position;
        let found = case.store.events(&case.project, after, &filter, 1).await.unwrap();
        assert_eq!(found, expected[1..expected.len().min(2)], "{filter:?} after {after}");
    }
    let absent = EventFilter { turn_id: Some(case.ids.turn()), ..EventFilter::default() };
    assert_eq!(case.store.events(&case.project, 0, &absent, 100).await.unwrap(), []);
}

/// NF-08: an event implies durable state, and a commit that was not applied takes no position.
pub async fn a_refused_commit_leaves_no_gap(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let card = text_card(case.ids.card(), "x");
    case.write([put(card.clone())]).await;
    for round in 0..6 {
        let mut commit = case.commit(if round % 2 == 0 { vec![put(card.clone())] } else { vec![] });
        commit.events.push(event(case.ids.event(), "x", None));
        if round % 2 == 0 {
            case.refuse(commit, Conflict::Card).await;
        } else {
            case.apply(commit).await;
        }
    }
    let positions: Vec<_> = log(&case, &case.project).await.iter().map(|event| event.position).collect();
    assert_eq!(positions, [1, 2, 3]);
}

const WRITERS: usize = 8;
const ROUNDS: usize = 30;

/// NF-08: while many commit, a polling reader gets every acknowledged event exactly once, in an order that never
/// changes, and per agent in commit order.
pub async fn readers_never_miss_or_reorder_under_concurrent_writers(store: Arc<dyn Store>) {
    let case = Case::new(store).await;
    let (acknowledged, progress) = watch::channel(0_usize);
    let acknowledged = Arc::new(acknowledged);
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let (store, acknowledged) = (Arc::clone(&case.store), Arc::clone(&acknowledged));
        let project = case.project.clone();
        writers.spawn(async move {
            let mut ids = SeededIds::new(100 + writer as u64);
            let mut told = vec![];
            for round in 0..ROUNDS {
                let mut commit = super::case::commit(&project, [put(text_card(ids.card(), "x"))]);
                for _ in 0..=round % 2 {
                    commit.events.push(event(ids.event(), "x", Some(agent_id(&format!("agent-{writer}")))));
                }
                told.extend(commit.events.iter().map(|event| event.id));
                store.commit(commit).await.unwrap();
                acknowledged.send_modify(|count| *count += 1 + round % 2);
            }
            told
        });
    }
    let mut reader = JoinSet::new();
    reader.spawn(read_all(Arc::clone(&case.store), case.project.clone(), progress));
    let mut told = vec![];
    while let Some(writer) = writers.join_next().await {
        told.push(writer.unwrap());
    }
    // The reader ends when it has seen as many events as were acknowledged and nobody writes any more.
    drop(acknowledged);
    let seen = reader.join_next().await.unwrap().unwrap();

    // What the reader was given is the log: nothing came in at or below a position it had passed.
    assert_eq!(seen, log(&case, &case.project).await);
    assert_eq!(seen.len(), told.iter().map(Vec::len).sum::<usize>());
    for of_writer in told {
        let mine = |found: &&Event| of_writer.contains(&found.event.id);
        let order: Vec<_> = seen.iter().filter(mine).map(|found| found.event.id).collect();
        assert_eq!(order, of_writer, "each event once, and per agent in commit order");
    }
}

async fn read_all(store: Arc<dyn Store>, project: ProjectId, progress: watch::Receiver<usize>) -> Vec<Event> {
    let reading = async {
        let mut seen: Vec<Event> = vec![];
        loop {
            let (finished, acknowledged) = (progress.has_changed().is_err(), *progress.borrow());
            store.number_events().await.unwrap();
            let after = seen.last().map_or(0, |event| event.position);
            let page = store.events(&project, after, &EventFilter::default(), 7).await.unwrap();
            for found in page {
                let expected = seen.len() as u64 + 1;
                assert_eq!(found.position, expected, "positions are given without gaps");
                seen.push(found);
            }
            // All that is in the log can be read again: a position never changes its event.
            if seen.len().is_multiple_of(5) {
                let again = store.events(&project, 0, &EventFilter::default(), seen.len()).await.unwrap();
                assert_eq!(again, seen, "what was read before is still the beginning of the log");
            }
            if finished && seen.len() >= acknowledged {
                return seen;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), reading).await.expect("every event is numbered in time")
}
