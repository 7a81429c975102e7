//! The three examples of the document, letter for letter (HO-13, X-16, X-17).

use crate::fixtures::{
    SEED_DESIGN, SEED_EXECUTION, SEED_REPORT, World, codes, design, execution, options, package, parse, value,
};
use cardwire_handoff::{Gate, LoadRequest, Mode, check_files, check_report, fit, load};

/// HO-13
#[test]
fn the_design_example_is_taken_as_it_is() {
    let (package, warnings) = parse(value(SEED_DESIGN)).unwrap();
    assert_eq!(warnings, []);
    let mut expected = design();
    expected["metadata"] = serde_json::json!({});
    assert_eq!(*package.value(), expected);
    let fitted = fit(package).unwrap();
    assert_eq!((fitted.warnings.len(), fitted.complete_index), (0, None));
    assert!((100..=300).contains(&fitted.token_estimate), "{}", fitted.token_estimate);
}

/// HO-13, HO-15
#[test]
fn the_design_example_passes_the_strict_gate_when_its_files_are_there() {
    let world = World::empty();
    let package = package(design());
    for path in package.value()["design_artifacts"].as_object().unwrap().values() {
        world.write(path.as_str().unwrap(), b"x");
    }
    let options = cardwire_handoff::CheckOptions { gate: Some(Gate::Strict), ..options(false) };
    assert_eq!(check_files(&package, &world.files, &options).unwrap(), []);
}

/// HO-13, X-16, X-17
#[test]
fn the_execution_example_is_taken_with_warnings_about_its_sums() {
    let world = World::seed();
    let (package, warnings) = parse(value(SEED_EXECUTION)).unwrap();
    assert_eq!(codes(&warnings), ["summary_mismatch"]);
    let mut expected = execution();
    expected["metadata"] = serde_json::json!({});
    assert_eq!(*package.value(), expected);
    assert_eq!(package.timestamp(), "2026-01-04T15:30:00");
    assert_eq!(package.output_dir(), Some(crate::fixtures::DIR));
    let warnings = world.check(&package).unwrap();
    let expected = ["affected_count_mismatch", "total_samples_mismatch", "typical_case_not_in_index"];
    assert_eq!(codes(&warnings), expected);
    assert_eq!(codes(&world.check_deep(&package).unwrap()), expected);
    assert_eq!(fit(package).unwrap().complete_index, None);
}

/// HO-13, X-17
#[test]
fn the_report_example_is_valid_by_itself() {
    let warnings = check_report(&value(SEED_REPORT)).unwrap();
    assert_eq!(codes(&warnings), ["affected_count_mismatch"]);
    assert_eq!(warnings[0].field.as_deref(), Some("layer1_problems/0/affected_count"));
}

/// HO-13, LD-01
#[test]
fn the_execution_example_can_be_loaded() {
    let world = World::seed();
    let request = LoadRequest { mode: Mode::Full, ..LoadRequest::default() };
    let load = load(&package(execution()), &world.files, &request).unwrap();
    assert_eq!(load.loaded.len(), 1 + 2 * 4);
    assert_eq!(load.loaded[0].content.to_value(), value(SEED_REPORT));
}
