//! Writing iterations: once, whole, and again after a crash (HO-08, HO-11).

use crate::fixtures::{DIR, SEED_REPORT, Watched, World, case_files, names, package, parse, value};
use cardwire_handoff::{
    FileError, Files, Iteration, LoadRequest, Mode, Part, Refusal, RefusalKind, SafePath, Written,
    check_files, load,
};
use cardwire_model::limits::HANDOFF_FILE_BYTES;
use serde_json::{Value, json};
use std::fs;

const IDS: [&str; 3] = ["a", "b", "c"];

/// Writes three samples of which two failed, sample by sample, and gives the index. 14 files.
fn write(files: &dyn Files) -> Result<Vec<Value>, Refusal> {
    let mut iteration = Iteration::open(files, DIR)?;
    for id in IDS {
        for part in Part::CASE {
            iteration.put(part, id, &json!({ "sample_id": id, "part": part }))?;
        }
    }
    iteration.put_failure_summary(&json!({ "failed": 2 }))?;
    iteration.put_report(&value(SEED_REPORT))?;
    ["a", "b"].into_iter().map(|id| iteration.entry(id, json!({ "priority": "high", "mine": 1 }))).collect()
}

fn package_value(index: Vec<Value>) -> Value {
    let mut package = crate::fixtures::execution();
    package["failure_samples_index"] = json!(index);
    package
}

/// All file names below the iteration.
fn on_disk(world: &World) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![world.at("")];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path.strip_prefix(world.at("")).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

fn all_files() -> Vec<String> {
    let mut files: Vec<String> = IDS.iter().flat_map(|id| case_files(id)).collect();
    files.extend(["failure_summary.json".to_owned(), "layer1_problems_report.json".to_owned()]);
    files
}

/// HO-08
#[test]
fn what_is_written_passes_the_gate_and_is_loaded_as_it_was() {
    let world = World::empty();
    let index = write(&world.files).unwrap();
    assert_eq!(index[0]["mine"], 1);
    assert_eq!(index[0]["sha256"]["trace"].as_str().unwrap().len(), 32);
    let package = package(package_value(index));
    world.check(&package).unwrap();
    world.check_deep(&package).unwrap();
    let request = LoadRequest { mode: Mode::Full, ..LoadRequest::default() };
    let load = load(&package, &world.files, &request).unwrap();
    assert_eq!((load.loaded.len(), load.changed.len()), (1 + 8, 0));
    assert_eq!(load.loaded[1].content.to_value(), json!({ "sample_id": "a", "part": "sample" }));
    let mut expected = all_files();
    expected.sort();
    assert_eq!(on_disk(&world), expected);
}

/// HO-08, HO-11
#[test]
fn after_a_crash_at_any_file_the_gate_names_exactly_what_is_missing_and_writing_again_completes_it() {
    let index = write(&World::empty().files).unwrap();
    let package = parse(package_value(index.clone())).unwrap().0;
    for written in 0..all_files().len() {
        let world = World::empty();
        let watched = Watched::new(&world.files);
        *watched.writes_left.lock().unwrap() = written;
        let refusal = write(&watched).unwrap_err();
        assert_eq!((refusal.kind, refusal.code), (RefusalKind::Unprocessable, "file_not_written"));

        let refusal = check_files(&package, &world.files, &crate::fixtures::options(false)).unwrap_err();
        assert_eq!(refusal.code, "persistence_incomplete");
        // The sample that passed is not known before its own file is there, and needs no attribution.
        let known = |file: &&String| !file.contains("/c") || (written > 8 && !file.contains("attribution"));
        let mut missing: Vec<String> = all_files()[written..].iter().filter(known).cloned().collect();
        if written == 0 {
            missing.push("samples".to_owned());
        }
        missing.sort();
        assert_eq!(names(&refusal.problems), missing, "after {written}");

        assert_eq!(write(&world.files).unwrap(), index, "again after {written}");
        world.check_deep(&package).unwrap();
    }
}

/// HO-11
#[test]
fn a_file_is_never_written_with_other_content() {
    let world = World::empty();
    write(&world.files).unwrap();
    let before = fs::read(world.at("samples/a.json")).unwrap();
    let mut iteration = Iteration::open(&world.files, DIR).unwrap();
    for content in [json!({ "sample_id": "a" }), json!({ "sample_id": "a", "part": "sample", "more": 1 })] {
        let refusal = iteration.put(Part::Sample, "a", &content).unwrap_err();
        assert_eq!((refusal.kind, refusal.code), (RefusalKind::Conflict, "iteration_changed"));
        assert_eq!(refusal.problems[0].file.as_deref(), Some("samples/a.json"));
    }
    assert_eq!(iteration.put_failure_summary(&json!({})).unwrap_err().code, "iteration_changed");
    let mut report = value(SEED_REPORT);
    report["iteration"] = json!(13);
    assert_eq!(iteration.put_report(&report).unwrap_err().code, "iteration_changed");
    assert_eq!(fs::read(world.at("samples/a.json")).unwrap(), before);
    // The same content in another order of its members is the same content.
    iteration.put(Part::Sample, "a", &json!({ "part": "sample", "sample_id": "a" })).unwrap();
}

/// HO-11
#[test]
fn two_iterations_do_not_meet() {
    let world = World::empty();
    let older =
        Iteration::open(&world.files, "out/iteration_1").unwrap().put(Part::Sample, "a", &json!({ "n": 1 }));
    let newer =
        Iteration::open(&world.files, "out/iteration_2").unwrap().put(Part::Sample, "a", &json!({ "n": 2 }));
    assert_eq!((older, newer), (Ok(()), Ok(())));
    let old = fs::read_to_string(world.root().join("out/iteration_1/samples/a.json")).unwrap();
    assert_eq!(old, "{\"n\":1}");
}

/// HO-08
#[test]
fn an_entry_needs_all_parts_of_its_sample() {
    let world = World::empty();
    let mut iteration = Iteration::open(&world.files, DIR).unwrap();
    iteration.put(Part::Sample, "a", &json!({})).unwrap();
    let refusal = iteration.entry("a", json!({})).unwrap_err();
    assert_eq!((refusal.kind, refusal.code), (RefusalKind::Unprocessable, "persistence_incomplete"));
    assert_eq!(iteration.entry("a", json!([])).unwrap_err().code, "invalid_request");
}

/// HO-09, HO-10
#[test]
fn only_names_that_can_be_found_again_are_written() {
    let world = World::empty();
    for (dir, code) in
        [("../iteration_1", "unsafe_path"), ("/iteration_1", "unsafe_path"), ("out", "invalid_request")]
    {
        assert_eq!(Iteration::open(&world.files, dir).err().unwrap().code, code, "{dir}");
    }
    let mut iteration = Iteration::open(&world.files, DIR).unwrap();
    for id in ["../a", "a/b", "", ".a", "a\0"] {
        assert_eq!(iteration.put(Part::Trace, id, &json!({})).unwrap_err().code, "unsafe_path", "{id}");
    }
    assert_eq!(iteration.put(Part::Trace, &"a".repeat(129), &json!({})).unwrap_err().code, "invalid_request");
    assert!(iteration.put(Part::Trace, &"a".repeat(128), &json!({})).is_ok());
    let refusal = iteration.put(Part::Trace, "a", &json!({ "sample_id": "b" })).unwrap_err();
    assert_eq!(refusal.field.as_deref(), Some("sample_id"));
    assert_eq!(
        iteration.put(Part::Trace, "a", &json!({ "x": "\u{0}" })).unwrap_err().code,
        "invalid_request"
    );
    assert_eq!(iteration.put_report(&json!({})).unwrap_err().code, "invalid_report");
    assert_eq!(on_disk(&world).len(), 1);
}

/// SEC-07
#[test]
fn a_file_has_at_most_sixteen_mebibytes() {
    let world = World::empty();
    let mut iteration = Iteration::open(&world.files, DIR).unwrap();
    let text = |bytes: u64| json!("x".repeat(usize::try_from(bytes - 2).unwrap()));
    iteration.put(Part::Trace, "a", &text(HANDOFF_FILE_BYTES)).unwrap();
    let refusal = iteration.put(Part::Trace, "b", &text(HANDOFF_FILE_BYTES + 1)).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::TooLarge);
}

/// HO-11
#[test]
fn writing_tells_new_from_same_and_leaves_no_temporary_files() {
    let world = World::empty();
    let path = SafePath::parse("a/b/c.json").unwrap();
    assert_eq!(world.files.create(&path, b"1").unwrap(), Written::New);
    assert_eq!(world.files.create(&path, b"1").unwrap(), Written::Same);
    for other in [&b"2"[..], b"", b"12"] {
        assert!(matches!(world.files.create(&path, other), Err(FileError::Exists)));
    }
    world.files.replace(&path, b"22").unwrap();
    assert_eq!(world.files.read(&path, 10).unwrap(), b"22");
    assert_eq!(fs::read_dir(world.root().join("a/b")).unwrap().count(), 1);
}

/// HO-11
#[test]
fn of_many_who_write_the_same_name_at_once_one_wins_and_the_others_know() {
    let world = World::empty();
    let path = SafePath::parse("a/b/c.json").unwrap();
    let outcomes: Vec<Result<Written, FileError>> = std::thread::scope(|scope| {
        let write = |n: u8| {
            let (files, path) = (&world.files, &path);
            scope.spawn(move || files.create(path, &[b'0' + n / 2; 1_000]))
        };
        let writers: Vec<_> = (0..8).map(write).collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    let new = outcomes.iter().filter(|outcome| matches!(outcome, Ok(Written::New))).count();
    let same = outcomes.iter().filter(|outcome| matches!(outcome, Ok(Written::Same))).count();
    let lost = outcomes.iter().filter(|outcome| matches!(outcome, Err(FileError::Exists))).count();
    assert_eq!((new, same, lost), (1, 1, 6), "{outcomes:?}");
    let bytes = world.files.read(&path, 1_000).unwrap();
    assert!(bytes.len() == 1_000 && bytes.iter().all(|byte| *byte == bytes[0]));
    assert_eq!(fs::read_dir(world.root().join("a/b")).unwrap().count(), 1);
}
