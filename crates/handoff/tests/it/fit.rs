//! Packages that are too long (HO-06).

use crate::fixtures::{codes, design, entry, execution, package, with};
use cardwire_handoff::{Priority, RefusalKind, fit};
use cardwire_model::{
    CanonicalJson,
    limits::{HANDOFF_DESIGN_TOKENS, HANDOFF_TOKENS},
    token_count,
};
use serde_json::{Value, json};

/// `count` entries, every third of them high, the next medium, the next low.
fn many(count: usize) -> Value {
    let entries: Vec<Value> = (0..count)
        .map(|n| {
            let mut entry = entry(&format!("样本_{n:04}"));
            entry["priority"] = json!(["low", "high", "medium"][n % 3]);
            entry
        })
        .collect();
    with(execution(), "/failure_samples_index", Some(json!(entries)))
}

fn ids(value: &Value) -> Vec<&str> {
    let entries = value["failure_samples_index"].as_array().unwrap();
    entries.iter().map(|entry| entry["sample_id"].as_str().unwrap()).collect()
}

/// HO-06
#[test]
fn two_hundred_entries_become_as_many_as_fit_the_highest_first() {
    let sent = package(many(200));
    let complete = sent.value()["failure_samples_index"].as_array().unwrap().clone();
    let fitted = fit(sent.clone()).unwrap();
    assert!(fitted.token_estimate <= HANDOFF_TOKENS, "{}", fitted.token_estimate);
    let text = CanonicalJson::from_value(fitted.package.value()).unwrap();
    assert_eq!(fitted.token_estimate, token_count::estimate(text.as_str()));
    assert_eq!(fitted.token_estimate, fitted.package.token_estimate());
    assert_eq!(fitted.complete_index, Some(complete));

    let kept = fitted.package.index();
    let metadata = &fitted.package.value()["metadata"];
    assert_eq!(
        *metadata,
        json!({ "index_truncated": true, "index_total": 200, "index_included": kept.len() })
    );
    assert!(kept.iter().is_sorted_by_key(|entry| entry.priority));
    assert!(kept.iter().is_sorted_by(|a, b| a.priority != b.priority || a.sample_id < b.sample_id));
    // No high one is missing while a lower one stays.
    let highs = kept.iter().filter(|entry| entry.priority == Priority::High).count();
    assert!(highs == 67 || highs == kept.len(), "{highs} of {}", kept.len());
    assert_eq!(
        ids(fitted.package.value()),
        kept.iter().map(|entry| entry.sample_id.as_str()).collect::<Vec<_>>()
    );
    assert_eq!(codes(&fitted.warnings), ["index_truncated"]);

    // One entry more would not have fitted.
    let order = |priority: &str| {
        let all = sent.value()["failure_samples_index"].as_array().unwrap().iter();
        all.filter(|entry| entry["priority"] == priority).cloned().collect::<Vec<_>>()
    };
    let sorted = [order("high"), order("medium"), order("low")].concat();
    let mut more = fitted.package.value().clone();
    more["failure_samples_index"] = json!(sorted[..=kept.len()]);
    more["metadata"]["index_included"] = json!(kept.len() + 1);
    assert!(package(more).token_estimate() > HANDOFF_TOKENS);
}

/// HO-06
#[test]
fn a_fitted_package_is_a_package_that_fits() {
    let fitted = fit(package(many(200))).unwrap();
    let again = package(fitted.package.value().clone());
    assert_eq!(again, fitted.package);
    let again = fit(again).unwrap();
    assert_eq!((again.package, again.complete_index), (fitted.package, None));
}

/// HO-06, SEC-07
#[test]
fn a_package_of_exactly_the_limit_stays_as_it_is() {
    let of = |chars: usize| package(with(execution(), "/x", Some(json!("x".repeat(chars)))));
    // Four characters are a token.
    let chars = 4 * (HANDOFF_TOKENS - of(0).token_estimate()) as usize;
    let longest =
        (chars - 4..chars + 4).rfind(|&chars| of(chars).token_estimate() == HANDOFF_TOKENS).unwrap();
    let fitted = fit(of(longest)).unwrap();
    assert_eq!((fitted.token_estimate, fitted.complete_index), (HANDOFF_TOKENS, None));
    let fitted = fit(of(longest + 1)).unwrap();
    assert_eq!(fitted.package.index().len(), 1);
    assert!(fitted.token_estimate <= HANDOFF_TOKENS && fitted.complete_index.unwrap().len() == 2);
}

/// HO-06
#[test]
fn what_does_not_fit_without_its_index_is_too_large() {
    let refusal = fit(package(with(execution(), "/x", Some(json!("字".repeat(5_000)))))).unwrap_err();
    assert_eq!((refusal.kind, refusal.code), (RefusalKind::TooLarge, "package_too_large"));
    // Also when only the entries are too long, each of them.
    let mut huge = entry("s");
    huge["notes"] = json!(vec!["字".repeat(1_999); 3]);
    let sent = with(execution(), "/failure_samples_index", Some(json!([huge])));
    assert_eq!(fit(package(sent)).unwrap_err().code, "package_too_large");
}

/// HO-06
#[test]
fn a_package_that_was_shortened_before_keeps_the_total_it_knows() {
    let mut sent = many(200);
    sent["metadata"] =
        json!({ "index_truncated": true, "index_total": 900, "index_included": 200, "mine": 1 });
    let fitted = fit(package(sent)).unwrap();
    assert_eq!(fitted.package.value()["metadata"]["index_total"], 900);
    assert_eq!(fitted.package.value()["metadata"]["mine"], 1);
}

/// HO-06, SEC-07
#[test]
fn a_long_design_is_taken_with_a_warning() {
    let of = |chars: usize| package(with(design(), "/user_requirement", Some(json!("字".repeat(chars)))));
    let chars = (HANDOFF_DESIGN_TOKENS - of(1).token_estimate()) as usize + 1;
    let fitted = fit(of(chars)).unwrap();
    assert_eq!((fitted.token_estimate, fitted.warnings.len()), (HANDOFF_DESIGN_TOKENS, 0));
    assert_eq!(codes(&fit(of(chars + 1)).unwrap().warnings), ["package_long"]);
}
