//! What schemas and values cost that were made to cost much (F-41).

use super::*;
use crate::CancelFlag;
use std::time::{Duration, Instant};

/// Definitions, each of which names the next twice in `anyOf`.
pub(super) fn doubling(levels: usize) -> Value {
    let level = |level: usize| {
        let next = json!({ "$ref": format!("#/$defs/d{}", level + 1) });
        (format!("d{level}"), json!({ "anyOf": [next, next] }))
    };
    let mut defs: serde_json::Map<String, Value> = (0..levels).map(level).collect();
    defs.insert(format!("d{levels}"), json!({ "const": 1 }));
    json!({ "$ref": "#/$defs/d0", "$defs": defs })
}

/// Everything within the limits that we know to be worst, each with the value it is worst for.
fn worst() -> Vec<(&'static str, Value, Value)> {
    let numbers = |count: usize| (0..count).collect::<Vec<_>>();
    let text = |letters: usize| "x".repeat(letters);
    let nested = (0..60).fold(json!([1]), |inner, _| json!([inner]));
    let wide: serde_json::Map<String, Value> = (0..100_000).map(|n| (format!("k{n}"), json!(n))).collect();
    let fields: serde_json::Map<String, Value> = (0..3_000).map(|n| (format!("k{n}"), json!({}))).collect();
    let unevaluated = (0..30).fold(
        json!({ "additionalProperties": true }),
        |inner, _| json!({ "allOf": [inner], "unevaluatedProperties": false }),
    );
    vec![
        ("doubling", doubling(28), json!(2)),
        (
            "doubling in a list",
            json!({ "items": doubling(8), "$defs": doubling(8)["$defs"] }),
            json!(numbers(10_000)),
        ),
        (
            "every item with every option",
            json!({ "items": { "enum": numbers(10_000) } }),
            json!(vec![-1; 100_000]),
        ),
        ("unique numbers", json!({ "uniqueItems": true }), json!(numbers(1_000_000))),
        ("unique texts", json!({ "uniqueItems": true }), json!(vec![text(1_000); 8_000])),
        ("equal lists", json!({ "const": nested }), nested.clone()),
        (
            "every name with every pattern",
            json!({ "patternProperties": {
            "a*b*c*d*e*f*g*h*1$": {}, "[a-z]*[0-9]*7$": {}, "(k|k)*(1|1)*$x": {}, "^(a?){50}z": {},
        } }),
            json!(wide),
        ),
        ("a long text with a nasty pattern", json!({ "pattern": "(x+x+)+y" }), json!(text(4_000_000))),
        (
            "a long text with a large pattern",
            json!({ "pattern": "^(\\p{L}{1,10}\\P{L}?)*!" }),
            json!(text(1_000_000)),
        ),
        (
            "many alternatives",
            json!({ "pattern": format!("^(.*{})$", "|.*x".repeat(900)) }),
            json!(text(1_000_000)),
        ),
        ("what is evaluated again and again", unevaluated, json!(wide)),
        ("multiples", json!({ "items": { "multipleOf": 1e-300 } }), json!(vec![1.5e300; 500_000])),
        (
            "contains",
            json!({ "contains": { "contains": { "const": 0 } } }),
            json!(vec![vec![1; 1_000]; 1_000]),
        ),
        ("names that are there", json!({ "required": fields.keys().collect::<Vec<_>>() }), json!(wide)),
        ("many fields", json!({ "items": { "properties": fields } }), json!(vec![wide.clone(); 4])),
        ("misfits", json!({ "items": { "enum": [text(60_000)] } }), json!(numbers(100_000))),
    ]
}

/// F-41, SEC-07
#[test]
fn a_small_schema_cannot_make_a_check_endless() {
    let schema = read(&doubling(28)).unwrap();
    let mut steps = Steps::default();
    assert_eq!(schema.misfits(&json!(2), &mut steps), Err(Unfinished::OutOfSteps));
    assert_eq!(steps.taken(), limits::SCHEMA_STEPS);
    assert_eq!(
        schema.misfits(&json!(1), &mut Steps::default()),
        Ok(vec![]),
        "the first way is the right one"
    );
}

/// F-41, SEC-07: the bound is fifteen times what it takes where it is compiled for speed, because tests are not.
#[test]
fn the_worst_checks_within_the_limits_end_soon() {
    for (name, schema, value) in worst() {
        let begun = Instant::now();
        let schema = read(&schema).unwrap_or_else(|refused| panic!("{name}: {refused}"));
        let read_in = begun.elapsed();
        let mut steps = Steps::default();
        let outcome = schema.misfits(&value, &mut steps).map(|misfits| misfits.len());
        let took = begun.elapsed();
        println!(
            "{name}: read in {read_in:?}, checked in {:?}, {} steps: {outcome:?}",
            took - read_in,
            steps.taken()
        );
        assert!(took < Duration::from_secs(3), "{name}: {took:?}");
    }
}

/// F-41, SEC-07
#[test]
fn a_check_takes_no_more_than_its_steps() {
    let schema = json!({ "items": { "type": "integer" } });
    let taken = |items: usize| {
        let mut steps = Steps::default();
        let outcome = read(&schema).unwrap().misfits(&json!(vec![1; items]), &mut steps);
        (outcome, steps.taken())
    };
    let (one, two) = (taken(1).1, taken(2).1);
    let most = usize::try_from((limits::SCHEMA_STEPS - one) / (two - one)).unwrap() + 1;
    assert_eq!(taken(most).0, Ok(vec![]));
    assert_eq!(taken(most + 1).0, Err(Unfinished::OutOfSteps));
}

/// SEC-07
#[test]
fn schemas_apply_within_one_another_only_so_often() {
    // Each level of the value takes two: the items, and what they refer to.
    let chain = |links: usize| {
        let link = |n: usize| (format!("d{n}"), json!({ "$ref": format!("#/$defs/d{}", n + 1) }));
        let mut defs: serde_json::Map<String, Value> = (1..links).map(link).collect();
        defs.insert(format!("d{links}"), json!({}));
        json!({ "$ref": "#/$defs/d1", "$defs": defs })
    };
    let most = limits::SCHEMA_NESTING - 1;
    assert_eq!(told(chain(most), json!(1)), []);
    let over = read(&chain(most + 1)).unwrap().misfits(&json!(1), &mut Steps::default());
    assert_eq!(over, Err(Unfinished::TooDeep));
}

/// F-45
#[test]
fn a_check_ends_when_nobody_waits_for_it() {
    let cancel = CancelFlag::default();
    let schema = read(&doubling(28)).unwrap();
    cancel.set();
    let mut steps = Steps::until(cancel);
    assert_eq!(schema.misfits(&json!(2), &mut steps), Err(Unfinished::Cancelled));
    assert!(steps.taken() < 10_000);
}
