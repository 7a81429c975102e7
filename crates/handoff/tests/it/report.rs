//! Reports (HO-12, X-16, X-17).

use crate::fixtures::{SEED_REPORT, codes, value, with};
use cardwire_handoff::{Refusal, RefusalKind, check_report};
use serde_json::{Value, json};

fn report() -> Value {
    value(SEED_REPORT)
}

fn refused(value: Value, field: &str) -> Refusal {
    let refusal = check_report(&value).unwrap_err();
    assert_eq!((refusal.kind, refusal.code), (RefusalKind::Invalid, "invalid_report"), "{refusal}");
    assert_eq!(refusal.field.as_deref(), Some(field), "{refusal}");
    refusal
}

/// HO-12
#[test]
fn every_field_must_be_there_with_its_type() {
    let pointers = [
        "/report_version",
        "/generated_at",
        "/iteration",
        "/total_samples",
        "/failed_samples",
        "/failure_rate",
        "/layer1_problems",
        "/layer1_problems/0/problem_id",
        "/layer1_problems/0/problem_type",
        "/layer1_problems/0/severity",
        "/layer1_problems/0/title",
        "/layer1_problems/0/description",
        "/layer1_problems/0/affected_samples",
        "/layer1_problems/0/affected_count",
        "/layer1_problems/0/evidence_summary",
        "/layer1_problems/0/typical_case_id",
        "/layer1_problems/0/suggested_fix",
        "/layer1_problems/0/suggested_fix/target",
        "/layer1_problems/0/suggested_fix/section",
        "/layer1_problems/0/suggested_fix/modification",
        "/layer1_problems/0/suggested_fix/rationale",
        "/modification_priority",
        "/modification_priority/1/priority",
        "/modification_priority/1/problem_id",
        "/modification_priority/1/impact",
        "/modification_priority/1/estimated_improvement",
    ];
    for pointer in pointers {
        for bad in [None, Some(Value::Null), Some(json!(true))] {
            let refusal = check_report(&with(report(), pointer, bad)).unwrap_err();
            let named =
                refusal.problems.iter().any(|problem| problem.field.as_deref() == Some(&pointer[1..]));
            assert!(named && refusal.code == "invalid_report", "{pointer}: {refusal}");
        }
    }
    assert_eq!(check_report(&json!([])).unwrap_err().code, "invalid_report");
}

/// HO-12
#[test]
fn the_version_of_a_report_is_one() {
    refused(with(report(), "/report_version", Some(json!("2.0"))), "report_version");
}

/// HO-12
#[test]
fn a_problem_is_named_once_and_has_a_known_severity() {
    let twice = with(report(), "/layer1_problems/1/problem_id", Some(json!("L1P_001")));
    let refusal = check_report(&twice).unwrap_err();
    assert!(refusal.message.contains("layer1_problems/1/problem_id: L1P_001 is there already"), "{refusal}");
    refused(
        with(report(), "/layer1_problems/0/severity", Some(json!("fatal"))),
        "layer1_problems/0/severity",
    );
    for severity in ["critical", "high", "medium", "low"] {
        assert!(check_report(&with(report(), "/layer1_problems/0/severity", Some(json!(severity)))).is_ok());
    }
}

/// HO-12
#[test]
fn the_order_names_known_problems_and_counts_from_one() {
    let at = "modification_priority/1/priority";
    refused(with(report(), &format!("/{at}"), Some(json!(1))), at);
    refused(with(report(), &format!("/{at}"), Some(json!(3))), at);
    refused(with(report(), &format!("/{at}"), Some(json!(0))), at);
    refused(with(report(), &format!("/{at}"), Some(json!(1.5))), at);
    let at = "modification_priority/1/problem_id";
    refused(with(report(), &format!("/{at}"), Some(json!("L1P_404"))), at);
}

/// HO-12
#[test]
fn a_problem_that_is_not_in_the_order_is_worth_a_warning() {
    let mut short = report();
    short["modification_priority"].as_array_mut().unwrap().pop();
    assert!(codes(&check_report(&short).unwrap()).contains(&"problem_without_priority"));
}

/// HO-12, X-16
#[test]
fn a_rate_may_be_off_by_half_a_percent() {
    let warns = |rate: f64| {
        let warnings = check_report(&with(report(), "/failure_rate", Some(json!(rate)))).unwrap();
        codes(&warnings).contains(&"failure_rate_mismatch")
    };
    for rate in [0.67, 0.665, 0.675, 0.666_7] {
        assert!(!warns(rate), "{rate}");
    }
    for rate in [0.66, 0.68, 0.33, 67.0, -0.67] {
        assert!(warns(rate), "{rate}");
    }
    let mut empty = report();
    empty["total_samples"] = json!(0);
    empty["failed_samples"] = json!(0);
    empty["failure_rate"] = json!(0);
    assert!(!codes(&check_report(&empty).unwrap()).contains(&"failure_rate_mismatch"));
    empty["failed_samples"] = json!(1);
    assert!(codes(&check_report(&empty).unwrap()).contains(&"failed_samples_mismatch"));
}

/// HO-12
#[test]
fn everything_that_is_wrong_is_found_at_once() {
    let refusal =
        check_report(&json!({ "layer1_problems": [{}], "modification_priority": [1] })).unwrap_err();
    assert!(refusal.problems.len() > 12, "{refusal}");
    assert!(refusal.problems.is_sorted());
}

/// HO-12
#[test]
fn extra_fields_and_an_empty_report_are_fine() {
    let mut empty = report();
    empty["layer1_problems"] = json!([]);
    empty["modification_priority"] = json!([]);
    empty["mine"] = json!(1);
    assert_eq!(check_report(&empty).unwrap(), []);
    assert!(
        codes(&check_report(&with(empty, "/generated_at", Some(json!("today")))).unwrap())
            .contains(&"odd_timestamp")
    );
}
