//! Further types of packages, each with a schema of its own.

use crate::fixtures::{World, codes, options};
use cardwire_handoff::{CheckOptions, Gate, Package, Refusal, RefusalKind, Types, check_files, fit};
use cardwire_model::{
    CancelFlag,
    limits::{HANDOFF_PATH_FIELDS, HANDOFF_TOKENS, HANDOFF_TYPES, NAME_CHARS, SCHEMA_BYTES},
};
use serde_json::{Value, json};

fn types() -> Types {
    let mut types = Types::built_in();
    let schema = json!({
        "type": "object",
        "required": ["reviewer", "files"],
        "properties": { "reviewer": { "type": "string", "pattern": "^[a-z]+$" }, "score": { "maximum": 10 } },
    });
    let paths = ["/files", "/notes/path"].map(str::to_owned).to_vec();
    types.register("review", schema, paths).unwrap();
    types
}

fn review() -> Value {
    json!({
        "handoff_type": "review",
        "timestamp": "2026-01-04T10:30:00",
        "reviewer": "ada",
        "files": ["a.md", "b/c.md"],
        "notes": { "path": "n.md" },
    })
}

fn refused(value: Value) -> Refusal {
    Package::parse(value, None, &types()).unwrap_err()
}

/// HO-01
#[test]
fn a_registered_type_is_checked_by_its_schema_and_by_what_every_package_has() {
    let (package, warnings) = Package::parse(review(), None, &types()).unwrap();
    assert_eq!(
        (package.handoff_type(), package.value()["version"].as_str(), warnings.len()),
        ("review", Some("2.0"), 0)
    );
    assert_eq!((package.output_dir(), package.index().len()), (None, 0));
    let mut bad = review();
    bad["reviewer"] = json!("ADA");
    bad["score"] = json!(11);
    bad["timestamp"] = json!("now");
    let refusal = refused(bad);
    let fields: Vec<&str> = refusal.problems.iter().filter_map(|problem| problem.field.as_deref()).collect();
    assert_eq!(fields, ["reviewer", "score", "timestamp"]);
    assert_eq!((refusal.kind, refusal.code), (RefusalKind::Invalid, "invalid_package"));
    assert_eq!(
        Package::parse(review(), None, &Types::built_in()).unwrap_err().field.as_deref(),
        Some("handoff_type")
    );
}

/// SEC-09
#[test]
fn what_a_schema_refuses_is_not_quoted() {
    let mut bad = review();
    bad["reviewer"] = json!("SECRET VALUE");
    assert!(!format!("{:?}", refused(bad)).contains("SECRET VALUE"));
}

/// HO-10
#[test]
fn its_paths_stay_below_the_root() {
    for (pointer, field) in [("/files/1", "files/1"), ("/notes/path", "notes/path")] {
        let mut bad = review();
        *bad.pointer_mut(pointer).unwrap() = json!("../x");
        let refusal = refused(bad);
        assert_eq!((refusal.code, refusal.field.as_deref()), ("unsafe_path", Some(field)));
    }
    for files in [json!([1]), json!(1), json!(true)] {
        let mut bad = review();
        bad["files"] = files;
        assert_eq!(refused(bad).code, "invalid_package");
    }
    let mut fine = review();
    fine["files"] = json!({ "a": "a.md" });
    fine["notes"] = json!(null);
    assert!(Package::parse(fine, None, &types()).is_ok());
}

/// HO-15
#[test]
fn its_files_are_checked_as_strictly_as_is_asked_for() {
    let world = World::empty();
    let (package, _) = Package::parse(review(), None, &types()).unwrap();
    let check = |gate| check_files(&package, &world.files, &CheckOptions { gate, ..options(false) });
    assert_eq!(codes(&check(None).unwrap()), ["file_missing"; 3]);
    assert_eq!(check(Some(Gate::Strict)).unwrap_err().code, "persistence_incomplete");
    for file in ["a.md", "b/c.md", "n.md"] {
        world.write(file, b"x");
    }
    assert_eq!(check(Some(Gate::Strict)).unwrap(), []);
}

/// HO-06, SEC-07
#[test]
fn a_long_package_of_a_registered_type_is_worth_a_warning() {
    let of = |chars: usize| {
        let mut value = review();
        value["text"] = json!("字".repeat(chars));
        Package::parse(value, None, &types()).unwrap().0
    };
    let chars = (HANDOFF_TOKENS - of(0).token_estimate()) as usize;
    assert_eq!(fit(of(chars)).unwrap().warnings, []);
    assert_eq!(codes(&fit(of(chars + 1)).unwrap().warnings), ["package_long"]);
}

/// SEC-08
#[test]
fn a_type_that_cannot_work_is_not_registered() {
    let mut types = types();
    let mut register = |name: &str, schema: Value, paths: &[&str]| {
        let refusal =
            types.register(name, schema, paths.iter().map(|path| (*path).to_owned()).collect()).unwrap_err();
        (refusal.kind, refusal.field.unwrap())
    };
    let invalid = |field: &str| (RefusalKind::Invalid, field.to_owned());
    for name in ["", "A", "a b", "a/b", "ä"] {
        assert_eq!(register(name, json!({}), &[]), invalid("name"));
    }
    for name in ["review", "init_to_execute", "execute_to_init"] {
        assert_eq!(register(name, json!({}), &[]), (RefusalKind::Conflict, "name".to_owned()));
    }
    for schema in [
        json!({ "type": 1 }),
        json!(1),
        json!({ "pattern": "(" }),
        json!({ "$ref": "https://example.com/x" }),
    ] {
        assert_eq!(register("new", schema, &[]), invalid("schema"));
    }
    assert_eq!(register("new", json!({}), &["/a", "b"]), invalid("path_fields/1"));
}

/// Definitions, each of which names the next twice.
fn doubling(levels: usize) -> Value {
    let level = |n: usize| {
        let next = json!({ "$ref": format!("#/$defs/d{}", n + 1) });
        (format!("d{n}"), json!({ "anyOf": [next, next] }))
    };
    let mut defs: serde_json::Map<String, Value> = (0..levels).map(level).collect();
    defs.insert(format!("d{levels}"), json!({ "type": "null" }));
    json!({ "$ref": "#/$defs/d0", "$defs": defs })
}

/// F-41, SEC-07: with the bounds taken away this takes all memory there is.
#[test]
fn a_schema_that_doubles_its_work_at_every_level_is_given_up() {
    let mut types = Types::built_in();
    types.register("bomb", doubling(28), vec![]).unwrap();
    let package = json!({ "handoff_type": "bomb", "timestamp": "2026-01-04T10:30:00" });
    let refusal = Package::parse(package.clone(), None, &types).unwrap_err();
    assert_eq!((refusal.kind, refusal.code), (RefusalKind::Invalid, "invalid_package"));
    assert!(refusal.message.contains("takes more than 4000000 steps"), "{refusal}");
    // F-45: and sooner, if nobody waits for it.
    let cancel = CancelFlag::default();
    cancel.set();
    let refusal = Package::parse(package, None, &types.until(cancel)).unwrap_err();
    assert!(refusal.message.contains("nobody waits"), "{refusal}");
}

/// SEC-07
#[test]
fn names_schemas_fields_and_types_are_bounded() {
    let mut types = Types::built_in();
    let schema = |bytes: usize| json!({ "title": "x".repeat(bytes - r#"{"title":""}"#.len()) });
    let paths = |count: usize| (0..count).map(|n| format!("/{n}")).collect::<Vec<_>>();
    types.register(&"a".repeat(NAME_CHARS), schema(SCHEMA_BYTES), paths(HANDOFF_PATH_FIELDS)).unwrap();
    assert!(types.register(&"a".repeat(NAME_CHARS + 1), json!({}), vec![]).is_err());
    let kind = |result: Result<(), Refusal>| result.unwrap_err().kind;
    assert_eq!(kind(types.register("b", schema(SCHEMA_BYTES + 1), vec![])), RefusalKind::TooLarge);
    assert_eq!(kind(types.register("b", json!({}), paths(HANDOFF_PATH_FIELDS + 1))), RefusalKind::TooLarge);
    for n in 1..HANDOFF_TYPES {
        types.register(&format!("t{n}"), json!({}), vec![]).unwrap();
    }
    assert_eq!(kind(types.register("one_more", json!({}), vec![])), RefusalKind::TooLarge);
}
