//! Steps: what a turn did, iteration by iteration (CB-17).

use super::case::{Case, Check, assert_pages, commit};
use crate::fixtures::{agent_id, at, json, step, step_id};
use cardwire_model::{Conflict, Step, TurnEpoch, Write};
use cardwire_store::{RowFilter, Store};
use std::{cmp::Reverse, sync::Arc};

fn create(step: &Step) -> Write {
    Write::CreateStep(Box::new(step.clone()))
}

fn update(step: &Step) -> Write {
    Write::UpdateStep(Box::new(step.clone()))
}

/// A step with a value in every field.
fn full(case: &mut Case, plain: &Step) -> Step {
    Step {
        epoch: TurnEpoch::new(1 << 53),
        phase: "工具 'phase'".to_owned(),
        status: Some("failed 😀".to_owned()),
        call_id: Some("call_\"1\"".to_owned()),
        request_box: Some(case.ids.card_box()),
        output_len: 100_000,
        trace_id: "踪迹".to_owned(),
        metadata: json(r#"{"n":9223372036854775807,"list":[null,"😀"]}"#),
        created_at: at(-5),
        updated_at: at(70),
        ..plain.clone()
    }
}

/// CB-17: a step is what it was written as.
pub async fn a_step_comes_back_with_every_field(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let turn = case.turn("a").await;
    let plain = step("step_1", &turn);
    let full = full(&mut case, &step("step_2", &turn));
    for step in [plain, full] {
        case.write([create(&step)]).await;
        assert_eq!(case.store.step(&case.project, &step.id).await.unwrap(), Some(step));
    }
    assert_eq!(case.store.step(&case.project, &step_id("step_3")).await.unwrap(), None);
    assert_eq!(case.store.step(&case.project, &step_id("STEP_1")).await.unwrap(), None);
}

/// DP-17, CB-17: a step id is taken once, and only the turn that took it writes it again.
pub async fn a_step_is_created_once_and_changed_by_its_own_turn(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let other = case.create_project("p2").await;
    let (turn, stranger) = (case.turn("a").await, case.turn("b").await);
    let first = step("step_1", &turn);
    case.write([create(&first)]).await;
    case.refuse_write(create(&first), Conflict::Step).await;
    case.refuse_write(create(&step("step_1", &stranger)), Conflict::Step).await;
    case.refuse_write(update(&step("step_1", &stranger)), Conflict::Step).await;
    case.refuse_write(update(&step("step_2", &turn)), Conflict::Step).await;
    case.refuse(commit(&other, [update(&first)]), Conflict::Step).await;

    let new = Step { agent_id: agent_id("z"), ..full(&mut case, &first) };
    case.write([update(&new)]).await;
    // Whose it is, its epoch, its trace and its birth are left alone.
    let expected = Step {
        phase: new.phase,
        status: new.status,
        call_id: new.call_id,
        request_box: new.request_box,
        output_len: new.output_len,
        metadata: new.metadata,
        updated_at: new.updated_at,
        ..first.clone()
    };
    assert_eq!(case.store.step(&case.project, &first.id).await.unwrap(), Some(expected));
    case.write([update(&first)]).await;
    assert_eq!(case.store.step(&case.project, &first.id).await.unwrap(), Some(first));
}

/// API-08: steps newest first by creation, then by id; by every part of a filter.
pub async fn steps_are_listed_newest_first_by_every_filter(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let turns = [case.turn("a").await, case.turn("b").await];
    let names = ["step_b", "step_B", "step_-", "step_a0", "step__", "step_a", "step_0", "step_ab"];
    let mut steps = vec![];
    for (number, name) in names.into_iter().enumerate() {
        steps.push(Step {
            trace_id: format!("trace-{}", number % 3),
            status: (number % 3 != 0).then(|| format!("状态-{}", number % 2)),
            phase: format!("阶段-{}", number % 3),
            created_at: at(100 + number as i64 / 4),
            ..step(name, &turns[number % 2])
        });
    }
    case.write(steps.iter().map(create)).await;
    steps.sort_by_key(|step| Reverse((step.created_at, step.id.clone())));
    let (none, turn) = (RowFilter::default(), turns[1].turn_id);
    let checks: Vec<Check<Step>> = vec![
        (none.clone(), Box::new(|_| true)),
        (
            RowFilter { agent_id: Some(agent_id("a")), ..none.clone() },
            Box::new(|step| step.agent_id.as_str() == "a"),
        ),
        (RowFilter { turn_id: Some(turn), ..none.clone() }, Box::new(move |step| step.turn_id == turn)),
        (
            RowFilter { trace_id: Some("trace-1".to_owned()), ..none.clone() },
            Box::new(|step| step.trace_id == "trace-1"),
        ),
        (
            RowFilter { step_status: Some("状态-1".to_owned()), ..none.clone() },
            Box::new(|step| step.status.as_deref() == Some("状态-1")),
        ),
        (
            RowFilter { step_status: Some("状态-1".to_owned()), turn_id: Some(turn), ..none.clone() },
            Box::new(move |step| step.turn_id == turn && step.status.as_deref() == Some("状态-1")),
        ),
        (
            RowFilter {
                step_status: Some("状态-0".to_owned()),
                agent_id: Some(agent_id("a")),
                ..none.clone()
            },
            Box::new(|step| step.agent_id.as_str() == "a" && step.status.as_deref() == Some("状态-0")),
        ),
        (
            RowFilter { step_phase: Some("阶段-1".to_owned()), ..none.clone() },
            Box::new(|step| step.phase == "阶段-1"),
        ),
        (
            RowFilter { step_phase: Some("阶段-1".to_owned()), turn_id: Some(turn), ..none.clone() },
            Box::new(move |step| step.turn_id == turn && step.phase == "阶段-1"),
        ),
        (
            RowFilter {
                step_phase: Some("阶段-0".to_owned()),
                agent_id: Some(agent_id("a")),
                ..none.clone()
            },
            Box::new(|step| step.agent_id.as_str() == "a" && step.phase == "阶段-0"),
        ),
        (RowFilter { from: Some(at(101)), ..none.clone() }, Box::new(|step| step.created_at == at(101))),
        (RowFilter { until: Some(at(101)), ..none.clone() }, Box::new(|step| step.created_at == at(100))),
        // What steps do not have is ignored.
        (RowFilter { correlation_id: Some("x".to_owned()), turns_only: true, ..none }, Box::new(|_| true)),
    ];
    for (filter, wanted) in checks {
        let expected: Vec<_> = steps.iter().filter(|step| wanted(step)).cloned().collect();
        assert!(!expected.is_empty(), "{filter:?}");
        assert_pages(
            &format!("{filter:?}"),
            &expected,
            |step| (step.created_at, step.id.clone()),
            async |before, limit| case.store.steps(&case.project, &filter, before.as_ref(), limit).await,
        )
        .await;
    }
}
