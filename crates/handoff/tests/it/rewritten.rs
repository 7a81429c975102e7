//! Files that are rewritten after their package was accepted (F-20, HO-11, LD-08).

use crate::fixtures::{SEED_REPORT, Watched, World, case_files, entry, execution_of, package, with};
use cardwire_handoff::{
    FileError, Files, Fingerprints, HashAllowance, Load, LoadRequest, Mode, Package, Part, Refusal, SafePath,
    Stat, Written, load_accepted,
};
use cardwire_model::limits::{HANDOFF_ENTRIES, HANDOFF_FILE_BYTES};
use serde_json::{Value, json};
use std::cell::Cell;

const IDS: [&str; 2] = ["BS_MT_001", "BS_MT_003"];

fn take(package: &Package, files: &dyn Files, bytes: u64) -> Result<Fingerprints, Refusal> {
    Fingerprints::take(package, files, &HashAllowance { bytes, has_time: &|| true })
}

/// An accepted package without hashes of its own, and what was recorded of its files.
fn accepted(world: &World) -> (Package, Fingerprints) {
    let package = package(execution_of(&IDS));
    world.check(&package).unwrap();
    // What is kept is what is read again.
    let documents = take(&package, &world.files, u64::MAX).unwrap().documents();
    (package, Fingerprints::read(None, &Value::Null, &documents))
}

fn full(world: &World, package: &Package, accepted: &Fingerprints) -> Load {
    let request = LoadRequest { mode: Mode::Full, ..LoadRequest::default() };
    load_accepted(package, &world.files, &request, accepted).unwrap()
}

/// F-20, HO-11
#[test]
fn a_file_that_is_rewritten_after_acceptance_is_not_loaded_though_nobody_sent_its_hash() {
    for place in 0..4 {
        let world = World::seed();
        let (package, prints) = accepted(&world);
        assert_eq!(full(&world, &package, &prints).changed, []);
        // As long as it was, so that only its bytes tell.
        world.put(&case_files(IDS[0])[place], &json!({ "sample_id": "BS_MT_00X" }).to_string());
        let load = full(&world, &package, &prints);
        let changed: Vec<_> =
            load.changed.iter().map(|part| (part.sample_id.as_deref(), part.part)).collect();
        assert_eq!(changed, [(Some(IDS[0]), Part::CASE[place])]);
        assert!(!serde_json::to_string(&load.loaded).unwrap().contains("BS_MT_00X"));
        // All the rest is there: the report and seven parts.
        assert_eq!(load.loaded.len(), 8);
    }
}

/// F-20, LD-07, LD-08: a file that is gone is missing, and one that is no JSON any more is invalid, as ever.
#[test]
fn what_is_gone_is_missing_and_what_is_broken_is_invalid() {
    let world = World::seed();
    let (package, prints) = accepted(&world);
    let [sample, trace, ..] = case_files(IDS[0]);
    world.remove(&sample);
    world.put(&trace, "{ half");
    let load = full(&world, &package, &prints);
    assert_eq!((load.missing[0].part, load.invalid[0].part), (Part::Sample, Part::Trace));
    assert_eq!(load.changed, []);
}

/// F-20, HO-11: the report decides what is loaded, so that without the one that was accepted there is no answer.
#[test]
fn a_rewritten_report_is_a_conflict_and_a_broken_one_is_still_unprocessable() {
    let world = World::seed();
    let package = package(execution_of(&IDS));
    let hash = cardwire_model::Hash256::of(SEED_REPORT.as_bytes()).to_string();
    let prints = Fingerprints::read(Some(&hash), &Value::Null, &[]);
    let load = || load_accepted(&package, &world.files, &LoadRequest::default(), &prints);
    assert!(load().is_ok());
    world.put("layer1_problems_report.json", &SEED_REPORT.replace("high", "low"));
    let refusal = load().unwrap_err();
    assert_eq!((refusal.kind.status(), refusal.code), (409, "iteration_changed"));
    world.put("layer1_problems_report.json", "{ half");
    assert_eq!(load().unwrap_err().kind.status(), 422);
}

/// F-20: neither by the report nor by the shared summary can a sample be slipped in that was not there.
#[test]
fn a_sample_that_came_after_acceptance_is_not_loaded() {
    let world = World::seed();
    let sent = with(execution_of(&IDS), "/metadata", Some(json!({ "index_truncated": true })));
    world.put("failure_summary.json", &json!({ "failure_samples_index": [entry("BS_MT_010")] }).to_string());
    let package = package(sent);
    let prints = take(&package, &world.files, u64::MAX).unwrap();
    assert_eq!(full(&world, &package, &prints).loaded.len(), 1 + 4, "the complete index counts");
    world.case("NEW", &json!({ "sample_id": "NEW" }));
    let index = json!({ "failure_samples_index": [entry("BS_MT_010"), entry("NEW")] });
    world.put("failure_summary.json", &index.to_string());
    let load = full(&world, &package, &prints);
    assert!(!serde_json::to_string(&load).unwrap().contains("NEW"), "{load:?}");
    let wanted = LoadRequest { mode: Mode::Custom, sample_ids: vec!["NEW".into()], ..LoadRequest::default() };
    assert_eq!(load_accepted(&package, &world.files, &wanted, &prints).unwrap_err().code, "unknown_sample");
    // A part that was not there then is not there now.
    let [_, _, _, attribution] = case_files("BS_MT_010");
    let there = std::fs::read(world.at(&attribution)).unwrap();
    world.remove(&attribution);
    let prints = take(&package, &world.files, u64::MAX).unwrap();
    world.put(&attribution, std::str::from_utf8(&there).unwrap());
    let load = full(&world, &package, &prints);
    assert_eq!(load.changed[0].error.as_deref(), Some("was not there when the package was accepted"));
}

/// F-20: every case that a load may give is hashed, each file once, and the most important ones first.
#[test]
fn files_are_hashed_once() {
    let world = World::seed();
    let sent = with(execution_of(&IDS), "/failure_samples_index/1/priority", Some(json!("high")));
    let watched = Watched::new(&world.files);
    take(&package(sent), &watched, u64::MAX).unwrap();
    let reads = watched.reads();
    let cases: Vec<&String> = reads.iter().filter(|path| !path.ends_with("report.json")).collect();
    let typical = reads.iter().filter(|path| path.contains("BS_MT_001")).count();
    // The report calls a third sample typical that the index does not name.
    assert_eq!((cases.len(), typical), (12, 4), "{reads:?}");
    assert!(cases[0].contains("BS_MT_003"), "{reads:?}");
}

/// F-20, SEC-07: beyond the allowance of bytes or time a file is known by its length and time.
#[test]
fn what_is_too_much_to_hash_is_known_by_its_length_and_time() {
    let world = World::seed();
    let package = package(execution_of(&IDS));
    let bytes: u64 = 12 * json!({ "sample_id": IDS[0] }).to_string().len() as u64;
    let looked = |prints: &Fingerprints| prints.warning().map(|told| told.message);
    assert_eq!(looked(&take(&package, &world.files, bytes).unwrap()), None);
    let short = take(&package, &world.files, bytes - 1).unwrap();
    assert!(looked(&short).unwrap().starts_with("1 files were too much"), "{:?}", looked(&short));
    let left = Cell::new(5);
    let has_time = || {
        left.set(left.get() - 1);
        left.get() >= 0
    };
    let allowance = HashAllowance { bytes: u64::MAX, has_time: &has_time };
    let late = Fingerprints::take(&package, &world.files, &allowance).unwrap();
    assert!(looked(&late).unwrap().starts_with("7 files"), "{:?}", looked(&late));

    let none = take(&package, &world.files, 0).unwrap();
    let none = Fingerprints::read(None, &Value::Null, &none.documents());
    assert_eq!(full(&world, &package, &none).changed, []);
    let file = case_files(IDS[0])[0].clone();
    let modified = std::fs::metadata(world.at(&file)).unwrap().modified().unwrap();
    let write = |text: &str, later: u64| {
        world.put(&file, text);
        let written = std::fs::File::options().write(true).open(world.at(&file)).unwrap();
        written.set_modified(modified + std::time::Duration::from_micros(later)).unwrap();
    };
    write(&json!({ "sample_id": IDS[0], "x": 1 }).to_string(), 0);
    assert_eq!(full(&world, &package, &none).changed.len(), 1, "another length");
    write(&json!({ "sample_id": IDS[0] }).to_string(), 1);
    assert_eq!(full(&world, &package, &none).changed.len(), 1, "another time");
    write(&json!({ "sample_id": IDS[0] }).to_string(), 0);
    assert_eq!(full(&world, &package, &none).changed, []);
}

/// SEC-06, SEC-07: what is hashed goes through the same door as what is read.
#[test]
fn a_file_is_hashed_as_it_is_read_or_not_at_all() {
    let world = World::empty();
    let path = |text: &str| SafePath::parse(text).unwrap();
    let bytes: Vec<u8> = (0..200_000_u32).map(|n| n as u8).collect();
    world.write("a/large", &bytes);
    let hash = cardwire_model::Hash256::of(&bytes);
    for files in [&world.files as &dyn Files, &*world.files.kept()] {
        assert_eq!(files.hash(&path("a/large"), 200_000).unwrap(), hash);
        assert!(matches!(files.hash(&path("a/large"), 199_999), Err(FileError::TooLarge { limit: 199_999 })));
    }
    std::os::unix::fs::symlink(world.secret(), world.root().join("a/link")).unwrap();
    assert!(matches!(world.files.hash(&path("a/link"), HANDOFF_FILE_BYTES), Err(FileError::Unsafe { .. })));
}

/// Files that are all the same but for the summary.
struct Same(Vec<u8>);

impl Files for Same {
    fn stat(&self, _: &SafePath) -> Result<Stat, FileError> {
        Ok(Stat { bytes: 2, modified: None })
    }

    fn read(&self, path: &SafePath, _: u64) -> Result<Vec<u8>, FileError> {
        Ok(if path.file_name() == "failure_summary.json" { self.0.clone() } else { b"{}".to_vec() })
    }

    fn list(&self, _: &SafePath, _: &mut dyn FnMut(&str) -> Result<(), FileError>) -> Result<(), FileError> {
        Ok(())
    }

    fn create(&self, _: &SafePath, _: &[u8]) -> Result<Written, FileError> {
        Err(FileError::Missing)
    }

    fn replace(&self, _: &SafePath, _: &[u8]) -> Result<(), FileError> {
        Err(FileError::Missing)
    }

    fn kept(&self) -> Box<dyn Files + '_> {
        Box::new(self)
    }
}

/// SEC-07
#[test]
fn a_package_tells_of_at_most_ten_thousand_samples() {
    let sent = with(execution_of(&[]), "/metadata", Some(json!({ "index_truncated": true })));
    let package = package(sent);
    let taken = |samples: usize| {
        let index: Vec<Value> = (0..samples).map(|n| entry(&format!("S{n}"))).collect();
        let files = Same(json!({ "failure_samples_index": index }).to_string().into_bytes());
        take(&package, &files, u64::MAX)
    };
    let full = taken(HANDOFF_ENTRIES).unwrap();
    assert_eq!(full.documents().len(), 10);
    assert_eq!(taken(HANDOFF_ENTRIES + 1).unwrap_err().code, "package_too_large");
}
