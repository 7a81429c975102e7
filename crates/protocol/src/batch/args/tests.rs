//! Each rule about the arguments of `fork_join` by its number.

use super::*;
use serde_json::json;

fn task() -> Value {
    json!({ "target_strategy": "New", "target_ref": " Helper ", "instruction": " Go. " })
}

fn parse(args: &Value) -> Result<Fork, Invalid> {
    Fork::parse(args.as_object().unwrap(), &PmoSettings::default())
}

fn refused(args: &Value) -> String {
    parse(args).unwrap_err().to_string()
}

#[test]
fn bm_01_tasks_are_read_strictly_and_refused_by_their_path() {
    let fork = parse(&json!({ "tasks": [task()] })).unwrap();
    assert_eq!((fork.fail_fast, fork.enough, fork.parallel), (false, 0, 0));
    assert_eq!(fork.tasks[0].strategy, Strategy::New);
    assert_eq!((&*fork.tasks[0].target_ref, &*fork.tasks[0].instruction), ("Helper", "Go."));
    for (name, wrong) in [
        ("target_strategy", json!("steal")),
        ("target_strategy", json!(null)),
        ("target_ref", json!("  ")),
        ("instruction", json!(7)),
        ("context_box_id", json!([])),
        ("context_box_id", json!(" ")),
        ("retries", json!(1)),
    ] {
        let mut second = task();
        second[name] = wrong;
        let message = refused(&json!({ "tasks": [task(), second] }));
        assert!(message.contains(&format!("invalid args.tasks.1.{name}")), "{message}");
    }
    for (args, path) in [
        (json!({}), "args.tasks"),
        (json!({ "tasks": [] }), "args.tasks"),
        (json!({ "tasks": {} }), "args.tasks"),
        (json!({ "tasks": ["x"] }), "args.tasks.0"),
        (json!({ "tasks": [task()], "retry_batch_id": "b" }), "args.retry_batch_id"),
        (json!({ "tasks": [task()], "max_parallel": 0 }), "args.max_parallel"),
        (json!({ "tasks": [task()], "max_parallel": "4" }), "args.max_parallel"),
    ] {
        let message = refused(&args);
        assert!(message.contains(&format!("invalid {path}")), "{message}");
    }
}

#[test]
fn bm_01_fail_fast_is_a_flag_a_number_or_a_word() {
    let read =
        |value: Value| parse(&json!({ "tasks": [task()], "fail_fast": value })).map(|fork| fork.fail_fast);
    for yes in [json!(true), json!(1), json!(0.5), json!("true"), json!("YES"), json!("on"), json!("1")] {
        assert!(read(yes.clone()).unwrap(), "{yes}");
    }
    for no in [json!(false), json!(0), json!("false"), json!("no"), json!("off"), json!("0"), json!("")] {
        assert!(!read(no.clone()).unwrap(), "{no}");
    }
    for wrong in [json!("maybe"), json!([]), json!({})] {
        assert!(read(wrong.clone()).is_err(), "{wrong}");
    }
}

#[test]
fn bm_01_and_bm_03_the_deadline_is_a_positive_number_and_900_seconds_when_absent() {
    let read = |args: Value| parse(&args).map(|fork| fork.deadline);
    assert_eq!(read(json!({ "tasks": [task()] })).unwrap(), Some(900_000_000));
    assert_eq!(read(json!({ "tasks": [task()], "deadline_seconds": 0.5 })).unwrap(), Some(500_000));
    let max = limits::FORK_DEADLINE_SECONDS_MAX;
    assert!(read(json!({ "tasks": [task()], "deadline_seconds": max })).is_ok());
    for wrong in [json!(true), json!(0), json!(-1), json!("NaN"), json!("5"), json!(max + 1)] {
        assert!(read(json!({ "tasks": [task()], "deadline_seconds": wrong })).is_err(), "{wrong}");
    }
    let args = json!({ "tasks": [task()] });
    let off = PmoSettings { fork_join_deadline_seconds: Some(0), ..PmoSettings::default() };
    assert_eq!(Fork::parse(args.as_object().unwrap(), &off).unwrap().deadline, None);
}

#[test]
fn bm_02_the_fan_out_is_bounded() {
    let args = |count: usize| json!({ "tasks": vec![task(); count] });
    assert_eq!(parse(&args(limits::FORK_TASKS)).unwrap().tasks.len(), limits::FORK_TASKS);
    let message = refused(&args(limits::FORK_TASKS + 1));
    assert!(message.contains("tasks fanout exceeds max limit (got=1001, max=1000)"), "{message}");
    let max = |max: i64| PmoSettings { fork_join_max_tasks: Some(max), ..PmoSettings::default() };
    let three = args(3);
    assert!(Fork::parse(three.as_object().unwrap(), &max(3)).is_ok());
    assert!(Fork::parse(three.as_object().unwrap(), &max(2)).is_err());
    for (given, allowed) in [(0, 1_000), (-5, 1_000), (10_000, 10_000), (10_001, 10_000)] {
        assert_eq!(max(given).fork_tasks(), allowed, "{given}");
    }
}

#[test]
fn bm_04_no_agent_is_reused_twice() {
    let reuse = |name: &str| json!({ "target_strategy": "reuse", "target_ref": name, "instruction": "i" });
    assert!(parse(&json!({ "tasks": [reuse("a"), reuse("b"), task(), task()] })).is_ok());
    let message = refused(&json!({ "tasks": [reuse("a"), reuse(" a ")] }));
    assert!(message.contains("duplicate reuse target"), "{message}");
}

#[test]
fn aggregation_is_all_any_or_a_quorum_that_can_be_reached() {
    let read = |value: Value| {
        parse(&json!({ "tasks": vec![task(); 3], "aggregation": value })).map(|fork| fork.enough)
    };
    for (value, enough) in [
        (json!(null), 0),
        (json!("all"), 0),
        (json!("any"), 1),
        (json!("quorum(2)"), 2),
        (json!({ "quorum": 3 }), 3),
    ] {
        assert_eq!(read(value.clone()).unwrap(), enough, "{value}");
    }
    for wrong in [
        json!("most"),
        json!("quorum(0)"),
        json!("quorum(4)"),
        json!("quorum(-1)"),
        json!({ "n": 1 }),
        json!(2),
    ] {
        assert!(read(wrong.clone()).is_err(), "{wrong}");
    }
}
