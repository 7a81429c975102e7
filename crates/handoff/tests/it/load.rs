//! What is loaded, and in which order (LD-01, LD-03, LD-07, LD-08, LD-09).

use crate::fixtures::{
    DIR, SEED_REPORT, Watched, World, case_files, design, entry, execution, execution_of, package, value,
    with,
};
use cardwire_handoff::{Files, Load, LoadRequest, Mode, Package, Part, PartRef, RefusalKind, load};
use cardwire_model::{Hash256, limits::HANDOFF_ENTRIES, token_count};
use serde_json::{Value, json};

fn request(mode: Mode) -> LoadRequest {
    LoadRequest { mode, ..LoadRequest::default() }
}

fn custom(ids: &[&str], parts: &[Part]) -> LoadRequest {
    let sample_ids = ids.iter().map(|id| (*id).to_owned()).collect();
    LoadRequest { sample_ids, parts: parts.to_vec(), ..request(Mode::Custom) }
}

fn run(world: &World, package: &Package, request: &LoadRequest) -> Load {
    load(package, &world.files, request).unwrap()
}

/// `sample/part` of everything that was loaded, in order.
fn order(load: &Load) -> Vec<String> {
    let name = |id: &Option<String>, part: Part| format!("{}/{part}", id.as_deref().unwrap_or("-"));
    load.loaded.iter().map(|loaded| name(&loaded.sample_id, loaded.part)).collect()
}

fn samples(load: &Load) -> Vec<&str> {
    let mut ids: Vec<&str> = load.loaded.iter().filter_map(|loaded| loaded.sample_id.as_deref()).collect();
    ids.dedup();
    ids
}

fn paths(parts: &[PartRef]) -> Vec<&str> {
    parts.iter().map(|part| part.path.as_str()).collect()
}

/// LD-01
#[test]
fn by_default_the_report_is_loaded_and_nothing_else_is_read() {
    let world = World::seed();
    let watched = Watched::new(&world.files);
    let load = load(&package(execution()), &watched, &LoadRequest::default()).unwrap();
    assert_eq!(order(&load), ["-/report"]);
    assert_eq!((load.budget, load.loaded[0].content.to_value()), (40_000, value(SEED_REPORT)));
    assert_eq!(watched.reads(), [format!("{DIR}/layer1_problems_report.json")]);
}

/// LD-01, LD-04
#[test]
fn typical_cases_come_with_all_their_parts_and_each_file_is_read_once() {
    let world = World::seed();
    let watched = Watched::new(&world.files);
    let load = load(&package(execution()), &watched, &request(Mode::Typical)).unwrap();
    let expected =
        ["-/report", "BS_MT_001/sample", "BS_MT_001/trace", "BS_MT_001/evaluation", "BS_MT_001/attribution"];
    // BS_MT_010 is not in the index, but its files have the usual names.
    let other = ["sample", "trace", "evaluation", "attribution"].map(|part| format!("BS_MT_010/{part}"));
    assert_eq!(order(&load)[..5], expected);
    assert_eq!(order(&load)[5..], other);
    assert_eq!(watched.reads().len(), 9);
}

/// LD-02, LD-06
#[test]
fn tokens_are_those_of_the_canonical_text_and_add_up() {
    let world = World::seed();
    let load = run(&world, &package(execution()), &request(Mode::Full));
    for part in &load.loaded {
        assert_eq!(part.tokens, token_count::estimate(part.content.as_str()));
    }
    assert_eq!(load.used, load.loaded.iter().map(|part| part.tokens).sum::<u32>());
}

/// LD-03
#[test]
fn typical_cases_come_first_by_the_order_of_their_problems_then_the_index_by_priority() {
    let world = World::seed();
    let ids = ["low_1", "high_1", "mid_1", "high_2", "typical_2", "typical_1", "low_2"];
    let mut sent = execution_of(&ids);
    for (at, id) in ids.iter().enumerate() {
        world.case(id, &json!({ "sample_id": id }));
        let priority = match &id[..3] {
            "low" | "typ" => "low",
            "mid" => "medium",
            _ => "high",
        };
        sent["failure_samples_index"][at]["priority"] = json!(priority);
    }
    let mut report = value(SEED_REPORT);
    report["layer1_problems"][0]["typical_case_id"] = json!("typical_2");
    report["layer1_problems"][1]["typical_case_id"] = json!("typical_1");
    report["modification_priority"][0]["priority"] = json!(2);
    report["modification_priority"][1]["priority"] = json!(1);
    world.put("layer1_problems_report.json", &report.to_string());
    let full = run(&world, &package(sent.clone()), &request(Mode::Full));
    let expected = ["typical_1", "typical_2", "high_1", "high_2", "mid_1", "low_1", "low_2"];
    assert_eq!(samples(&full), expected);
    let chosen = run(&world, &package(sent), &custom(&["low_1", "typical_2", "high_2", "low_1"], &[]));
    assert_eq!(samples(&chosen), ["typical_2", "high_2", "low_1"]);
}

/// LD-01
#[test]
fn custom_gives_the_parts_that_were_asked_for_and_reads_no_others() {
    let world = World::seed();
    let watched = Watched::new(&world.files);
    let request = custom(&["BS_MT_003"], &[Part::Attribution, Part::Sample]);
    let load = load(&package(execution()), &watched, &request).unwrap();
    assert_eq!(order(&load), ["BS_MT_003/sample", "BS_MT_003/attribution"]);
    assert_eq!(watched.reads().len(), 2);
    let with_report =
        run(&world, &package(execution()), &custom(&["BS_MT_003"], &[Part::Report, Part::Trace]));
    assert_eq!(order(&with_report), ["-/report", "BS_MT_003/trace"]);
    // In the other modes parts narrow the cases, and the report is always there.
    let narrow = LoadRequest { parts: vec![Part::Evaluation], ..self::request(Mode::Full) };
    assert_eq!(
        order(&run(&world, &package(execution()), &narrow)),
        ["-/report", "BS_MT_001/evaluation", "BS_MT_003/evaluation"]
    );
}

/// LD-01, SEC-08
#[test]
fn a_request_that_contradicts_itself_is_refused() {
    let world = World::seed();
    let refused = |request: LoadRequest, field: &str| {
        let refusal = load(&package(execution()), &world.files, &request).unwrap_err();
        assert_eq!((refusal.kind, refusal.code), (RefusalKind::Invalid, "invalid_request"));
        assert_eq!(refusal.field.as_deref(), Some(field));
    };
    refused(LoadRequest { budget: 0, ..LoadRequest::default() }, "budget");
    refused(custom(&[], &[]), "sample_ids");
    for mode in [Mode::ReportOnly, Mode::Typical, Mode::Full] {
        refused(LoadRequest { mode, ..custom(&["BS_MT_001"], &[]) }, "sample_ids");
    }
    refused(LoadRequest { parts: vec![Part::Trace], ..LoadRequest::default() }, "parts");
    let many = |count: usize| LoadRequest {
        sample_ids: vec!["BS_MT_001".to_owned(); count],
        ..request(Mode::Custom)
    };
    assert!(load(&package(execution()), &world.files, &many(HANDOFF_ENTRIES)).is_ok());
    refused(many(HANDOFF_ENTRIES + 1), "sample_ids");
    let refusal = load(&package(design()), &world.files, &LoadRequest::default()).unwrap_err();
    assert_eq!(refusal.code, "invalid_request");
}

/// LD-01
#[test]
fn modes_and_requests_are_read_by_their_names() {
    for (name, mode) in [
        ("report_only", Mode::ReportOnly),
        ("typical", Mode::Typical),
        ("full", Mode::Full),
        ("custom", Mode::Custom),
    ] {
        assert_eq!(name.parse(), Ok(mode));
        let read: LoadRequest = serde_json::from_value(json!({ "mode": name })).unwrap();
        assert_eq!(read, request(mode));
    }
    assert_eq!("all".parse::<Mode>().unwrap_err().field.as_deref(), Some("mode"));
    for bad in
        [json!({ "mode": "all" }), json!({ "parts": ["x"] }), json!({ "budget": -1 }), json!({ "more": 1 })]
    {
        assert!(serde_json::from_value::<LoadRequest>(bad).is_err());
    }
}

/// LD-01
#[test]
fn a_sample_that_the_index_does_not_name_is_unknown() {
    let world = World::seed();
    let refusal = load(&package(execution()), &world.files, &custom(&["x", "BS_MT_001", "BS_MT_010"], &[]))
        .unwrap_err();
    assert_eq!((refusal.kind, refusal.code), (RefusalKind::NotFound, "unknown_sample"));
    assert_eq!(refusal.field.as_deref(), Some("sample_ids"));
    assert_eq!(refusal.problems.len(), 2);
}

/// LD-07, LD-09
#[test]
fn a_file_that_went_missing_is_reported_and_the_others_are_loaded() {
    let world = World::seed();
    let package = package(execution());
    world.check(&package).unwrap();
    let [_, trace, ..] = case_files("BS_MT_001");
    world.remove(&trace);
    let load = run(&world, &package, &request(Mode::Full));
    assert_eq!(paths(&load.missing), [trace]);
    assert_eq!(load.loaded.len(), 8);
}

/// LD-07, LD-08
#[test]
fn without_a_report_there_is_no_answer() {
    let world = World::seed();
    let refusal = |text: Option<&str>| {
        match text {
            Some(text) => world.put("layer1_problems_report.json", text),
            None => world.remove("layer1_problems_report.json"),
        }
        let refusal = load(&package(execution()), &world.files, &request(Mode::Full)).unwrap_err();
        (refusal.kind, refusal.code)
    };
    assert_eq!(refusal(None), (RefusalKind::NotFound, "report_not_found"));
    assert_eq!(refusal(Some("{")), (RefusalKind::Unprocessable, "invalid_report"));
    assert_eq!(refusal(Some("\u{feff}{}")), (RefusalKind::Unprocessable, "invalid_report"));
    // A request that does not ask for it does without.
    assert_eq!(run(&world, &package(execution()), &custom(&["BS_MT_001"], &[Part::Trace])).loaded.len(), 1);
}

/// LD-08
#[test]
fn a_corrupt_file_is_reported_with_its_error_and_the_others_are_loaded() {
    for bytes in [&b"{\"a\":"[..], b"", b"\xff\xfe", b"{\"a\":1,\"a\":2}", b"{\"a\":\"\\u0000\"}", b"nul"] {
        let world = World::seed();
        let [sample, ..] = case_files("BS_MT_003");
        world.write(&format!("{DIR}/{sample}"), bytes);
        let load = run(&world, &package(execution()), &request(Mode::Full));
        assert_eq!(paths(&load.invalid), [sample.as_str()], "{bytes:?}");
        assert!(load.invalid[0].error.is_some() && load.loaded.len() == 8);
    }
}

/// HO-11
#[test]
fn a_file_that_was_changed_is_not_loaded() {
    let world = World::seed();
    let hash = Hash256::of(b"{\"sample_id\":\"BS_MT_001\"}").to_string();
    for digits in [&hash[..16], &hash[..32], &hash, &hash.to_uppercase()] {
        let hashes = json!({ "sample": digits, "trace": digits });
        let sent = with(execution(), "/failure_samples_index/0/sha256", Some(hashes));
        world.case("BS_MT_001", &json!({ "sample_id": "BS_MT_001" }));
        assert_eq!(run(&world, &package(sent.clone()), &request(Mode::Full)).changed, []);
        world.put("samples/BS_MT_001.json", "{\"sample_id\":\"BS_MT_001\",\"tampered\":true}");
        let load = run(&world, &package(sent), &request(Mode::Full));
        assert_eq!(paths(&load.changed), ["samples/BS_MT_001.json"]);
        assert_eq!(load.loaded.len(), 8);
        assert!(!serde_json::to_string(&load).unwrap().contains("tampered"));
    }
}

/// HO-11
#[test]
fn a_typical_case_beyond_a_shortened_index_is_checked_by_its_hash_too() {
    let world = World::seed();
    let mut hashed = entry("BS_MT_010");
    hashed["sha256"] = json!({ "sample": "0".repeat(32) });
    world.put("failure_summary.json", &json!([entry("BS_MT_001"), hashed]).to_string());
    let mut sent = execution_of(&["BS_MT_001"]);
    sent["metadata"] = json!({ "index_truncated": true });
    let load = run(&world, &package(sent), &request(Mode::Typical));
    assert_eq!(paths(&load.changed), ["samples/BS_MT_010.json"]);
}

/// LD-05, NF-11
#[test]
fn loading_changes_no_file_and_gives_the_same_answer_again() {
    let world = World::seed();
    let long: Vec<Value> =
        (0..200).map(|n| json!({ "content": format!("turn {n} {}", "x".repeat(100)) })).collect();
    world.put("execution_traces/BS_MT_001_trace.json", &json!({ "conversation_history": long }).to_string());
    let path =
        cardwire_handoff::SafePath::parse(&format!("{DIR}/execution_traces/BS_MT_001_trace.json")).unwrap();
    let before = world.files.read(&path, 1 << 20).unwrap();
    let request = LoadRequest { budget: 2_000, ..request(Mode::Full) };
    let first = run(&world, &package(execution()), &request);
    assert_eq!(paths(&first.truncated), ["execution_traces/BS_MT_001_trace.json"]);
    assert_eq!(run(&world, &package(execution()), &request), first);
    assert_eq!(world.files.read(&path, 1 << 20).unwrap(), before);
}

/// API-17
#[test]
fn the_answer_has_the_documented_members() {
    let world = World::seed();
    let load = serde_json::to_value(run(&world, &package(execution()), &request(Mode::Full))).unwrap();
    for key in
        ["budget", "used", "over_budget", "loaded", "truncated", "omitted", "missing", "invalid", "changed"]
    {
        assert!(load.get(key).is_some(), "{key}");
    }
    assert!(load["loaded"][0].get("sample_id").is_none());
    let keys: Vec<&String> = load["loaded"][1].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["content", "part", "path", "sample_id", "tokens", "truncated"]);
}
