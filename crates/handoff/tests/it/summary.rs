//! The complete index beside the data (HO-06).

use crate::fixtures::{SECRET, World, entry, execution, package, value};
use cardwire_handoff::{LoadRequest, Mode, fit, keep_complete_index, load};
use serde_json::{Value, json};
use std::fs;

fn summary(world: &World) -> Value {
    value(&fs::read_to_string(world.at("failure_summary.json")).unwrap())
}

fn keep(world: &World, complete: &[Value]) {
    keep_complete_index(&package(execution()), complete, &world.files).unwrap();
}

/// HO-06
#[test]
fn what_the_summary_says_stays_beside_the_index() {
    let complete = [entry("a"), entry("b")];
    for (before, after) in [
        (r#"{"failed":2}"#, json!({ "failed": 2, "failure_samples_index": complete })),
        (r#"["x"]"#, json!({ "previous": ["x"], "failure_samples_index": complete })),
        ("7", json!({ "previous": 7, "failure_samples_index": complete })),
        (
            r#"{"failure_samples_index":["old"],"previous":1}"#,
            json!({ "previous": 1, "previous_2": ["old"], "failure_samples_index": complete }),
        ),
        ("", json!({ "failure_samples_index": complete })),
    ] {
        let world = World::seed();
        world.put("failure_summary.json", before);
        keep(&world, &complete);
        assert_eq!(summary(&world), after, "{before}");
        keep(&world, &complete);
        assert_eq!(summary(&world), after, "{before}, again");
    }
    let world = World::seed();
    world.remove("failure_summary.json");
    keep(&world, &complete);
    assert_eq!(summary(&world), json!({ "failure_samples_index": complete }));
}

/// HO-06, HO-11
#[test]
fn a_summary_that_holds_the_index_is_left_as_it_is() {
    let complete = [entry("a"), entry("b")];
    for text in [
        json!([entry("b"), entry("a"), entry("c")]).to_string(),
        format!("{{ \"failure_samples_index\" : {} }}", json!(complete)),
    ] {
        let world = World::seed();
        world.put("failure_summary.json", &text);
        keep(&world, &complete);
        assert_eq!(fs::read_to_string(world.at("failure_summary.json")).unwrap(), text);
    }
    // An entry that differs in anything is not the same entry.
    let world = World::seed();
    let mut other = entry("a");
    other["priority"] = json!("low");
    world.put("failure_summary.json", &json!([other, entry("b")]).to_string());
    keep(&world, &complete);
    assert_eq!(summary(&world)["failure_samples_index"], json!(complete));
}

/// HO-06
#[test]
fn what_an_earlier_package_refers_to_stays_in_the_index() {
    let world = World::seed();
    keep(&world, &[entry("a"), entry("b")]);
    keep(&world, &[entry("b"), entry("c")]);
    assert_eq!(summary(&world)["failure_samples_index"], json!([entry("b"), entry("c"), entry("a")]));
}

/// HO-06
#[test]
fn a_summary_that_cannot_be_read_is_not_written_over() {
    let world = World::seed();
    world.put("failure_summary.json", "{ half");
    let refusal = keep_complete_index(&package(execution()), &[entry("a")], &world.files).unwrap_err();
    assert_eq!(refusal.code, "invalid_file");
    assert_eq!(fs::read_to_string(world.at("failure_summary.json")).unwrap(), "{ half");

    world.remove("failure_summary.json");
    std::os::unix::fs::symlink(world.secret(), world.at("failure_summary.json")).unwrap();
    let refusal = keep_complete_index(&package(execution()), &[entry("a")], &world.files).unwrap_err();
    assert_eq!(refusal.code, "unsafe_path");
    assert!(fs::read_to_string(world.secret()).unwrap().contains(SECRET));
    let refusal = keep_complete_index(&package(crate::fixtures::design()), &[], &world.files).unwrap_err();
    assert_eq!(refusal.code, "invalid_request");
}

/// HO-06, LD-01
#[test]
fn two_hundred_failed_samples_are_loaded_although_the_package_names_fewer() {
    let world = World::seed();
    let ids: Vec<String> = (0..200).map(|n| format!("s{n:03}")).collect();
    for id in &ids {
        world.case(id, &json!({ "sample_id": id }));
    }
    let mut sent = execution();
    sent["failure_samples_index"] = ids.iter().map(|id| entry(id)).collect();
    let sent = package(sent);
    world.check(&sent).unwrap();
    let fitted = fit(sent).unwrap();
    keep_complete_index(&fitted.package, &fitted.complete_index.unwrap(), &world.files).unwrap();
    world.check(&fitted.package).unwrap();
    assert!(fitted.package.index().len() < 200);

    let request = LoadRequest { mode: Mode::Full, ..LoadRequest::default() };
    let all = load(&fitted.package, &world.files, &request).unwrap();
    assert_eq!(all.loaded.len(), 1 + 200 * 4);
    assert_eq!((all.missing.len(), all.invalid.len(), all.omitted.len()), (0, 0, 0));
    let request =
        LoadRequest { mode: Mode::Custom, sample_ids: vec!["s199".to_owned()], ..LoadRequest::default() };
    assert_eq!(load(&fitted.package, &world.files, &request).unwrap().loaded.len(), 1 + 4);
}

/// LD-07, LD-08
#[test]
fn without_its_complete_index_a_package_loads_what_it_names() {
    for (text, missing, invalid) in
        [(None, 1, 0), (Some("{"), 0, 1), (Some("{\"a\":1}"), 0, 1), (Some("[1]"), 0, 1)]
    {
        let world = World::seed();
        match text {
            Some(text) => world.put("failure_summary.json", text),
            None => world.remove("failure_summary.json"),
        }
        let mut sent = execution();
        sent["metadata"] = json!({ "index_truncated": true });
        let request = LoadRequest { mode: Mode::Full, ..LoadRequest::default() };
        let load = load(&package(sent), &world.files, &request).unwrap();
        assert_eq!(
            (load.loaded.len(), load.missing.len(), load.invalid.len()),
            (9, missing, invalid),
            "{text:?}"
        );
    }
}
