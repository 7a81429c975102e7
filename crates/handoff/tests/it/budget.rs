//! Budgets (LD-02, LD-04): what is given up, and in which order.

use crate::fixtures::{DIR, SEED_REPORT, Watched, World, case_files, execution_of, package, value};
use cardwire_handoff::{Load, LoadRequest, Mode, Package, Part, load};
use cardwire_model::limits::{HANDOFF_FILE_BYTES, LOAD_BYTES};
use serde_json::{Value, json};

const ID: &str = "a";

/// One case: a long trace that can be shortened, and three parts with one long text each.
fn world() -> (World, Package) {
    let world = World::seed();
    let turns: Vec<Value> =
        (0..100).map(|n| json!({ "content": format!("turn {n} {}", "x".repeat(400)) })).collect();
    let [sample, trace, evaluation, attribution] = case_files(ID);
    world.put(&trace, &json!({ "conversation_history": turns }).to_string());
    for file in [sample, evaluation, attribution] {
        world.put(&file, &json!({ "text": "y".repeat(8_000) }).to_string());
    }
    (world, package(execution_of(&[ID])))
}

fn run(budget: u32) -> Load {
    let (world, package) = world();
    let request = LoadRequest { mode: Mode::Custom, budget, sample_ids: vec![ID.to_owned()], ..all() };
    load(&package, &world.files, &request).unwrap()
}

fn all() -> LoadRequest {
    LoadRequest { parts: Part::CASE.to_vec(), ..LoadRequest::default() }
}

fn parts(refs: &[cardwire_handoff::PartRef]) -> Vec<Part> {
    refs.iter().map(|part| part.part).collect()
}

/// LD-04
#[test]
fn the_trace_is_shortened_first_and_the_attribution_given_up_last() {
    use Part::{Attribution, Evaluation, Sample, Trace};
    let whole = run(1_000_000);
    let tokens = |part: Part| whole.loaded.iter().find(|loaded| loaded.part == part).unwrap().tokens;
    let (long_trace, long) = (tokens(Trace), tokens(Sample));
    let short = run(6_500);
    let trace = short.loaded.iter().find(|loaded| loaded.part == Trace).unwrap().tokens;
    let text = {
        let load = run(trace + 2 * long + 1_000);
        load.loaded.iter().find(|loaded| loaded.part == Sample).unwrap().tokens
    };
    assert!(trace < long_trace && text < long);

    // Each step is given at the smallest budget that allows it, and the next one below that.
    let shortened: [(u32, &[Part]); 5] = [
        (long_trace + 3 * long, &[]),
        (trace + 3 * long, &[Trace]),
        (trace + text + 2 * long, &[Sample, Trace]),
        (trace + 2 * text + long, &[Sample, Trace, Evaluation]),
        (trace + 3 * text, &[Sample, Trace, Evaluation, Attribution]),
    ];
    for (at, (budget, truncated)) in shortened.iter().enumerate() {
        let load = run(*budget);
        assert_eq!((parts(&load.truncated), load.used), (truncated.to_vec(), *budget), "{at}");
        assert_eq!(load.omitted, []);
        if let Some((_, next)) = shortened.get(at + 1) {
            assert_eq!(parts(&run(budget - 1).truncated), next.to_vec(), "below {at}");
        }
    }
    let omitted: [(u32, &[Part]); 4] = [
        (3 * text, &[Trace]),
        (2 * text, &[Sample, Trace]),
        (text, &[Sample, Trace, Evaluation]),
        (text - 1, &[Sample, Trace, Evaluation, Attribution]),
    ];
    for (budget, omitted) in omitted {
        let load = run(budget);
        assert_eq!(parts(&load.omitted), omitted.to_vec(), "{budget}");
        assert_eq!(load.loaded.len() + omitted.len(), 4);
        assert!(load.omitted.iter().all(|part| part.tokens.is_some()));
    }
}

/// LD-04, LD-05
#[test]
fn turns_that_evaluation_and_attribution_speak_of_are_kept() {
    let (world, package) = world();
    let [_, trace, evaluation, attribution] = case_files(ID);
    world.put(&evaluation, &json!({ "checks": [{ "turn_index": 40 }] }).to_string());
    world.put(&attribution, &json!({ "evidence": { "turn_index": [50, 51] } }).to_string());
    let request = LoadRequest { mode: Mode::Custom, budget: 4_000, sample_ids: vec![ID.to_owned()], ..all() };
    let load = load(&package, &world.files, &request).unwrap();
    let short = load.loaded.iter().find(|loaded| loaded.path == trace).unwrap();
    let text = short.content.as_str();
    for (turn, kept) in [("turn 40 ", true), ("turn 50 ", true), ("turn 51 ", true), ("turn 41 ", false)] {
        assert_eq!(text.contains(turn), kept, "{turn}");
    }
    assert!(short.truncated);
}

/// One trace by itself, one token short of what it takes; and the files that were read for it.
fn trace_alone(world: &World, package: &Package) -> (Load, Vec<String>) {
    let request = |budget: u32| LoadRequest {
        mode: Mode::Custom,
        budget,
        sample_ids: vec![ID.to_owned()],
        parts: vec![Part::Trace],
        ..LoadRequest::default()
    };
    let whole = load(package, &world.files, &request(1_000_000)).unwrap().used;
    let watched = Watched::new(&world.files);
    let load = load(package, &watched, &request(whole - 1)).unwrap();
    assert_eq!((parts(&load.truncated), load.loaded.len()), (vec![Part::Trace], 1));
    assert_eq!((load.used, load.over_budget), (load.loaded[0].tokens, false));
    for others in [&load.omitted, &load.missing, &load.invalid, &load.changed] {
        assert_eq!(others, &[], "nobody asked for them");
    }
    (load, watched.reads())
}

#[test]
fn ld_05_turns_are_kept_for_an_evaluation_and_an_attribution_that_were_not_asked_for() {
    let (world, package) = world();
    let [_, trace, evaluation, attribution] = case_files(ID);
    world.put(&evaluation, &json!({ "checks": [{ "turn_index": 40 }] }).to_string());
    world.put(&attribution, &json!({ "evidence": { "turn_index": [50, 51] } }).to_string());
    let (load, reads) = trace_alone(&world, &package);
    let text = load.loaded[0].content.as_str();
    for (turn, kept) in [("turn 40 ", true), ("turn 50 ", true), ("turn 51 ", true), ("turn 41 ", false)] {
        assert_eq!(text.contains(turn), kept, "{turn}");
    }
    assert_eq!(reads, [&trace, &evaluation, &attribution].map(|file| format!("{DIR}/{file}")));
    assert_eq!(trace_alone(&world, &package), (load, reads), "the same again (NF-11)");
}

#[test]
fn ld_05_an_evaluation_that_cannot_be_used_names_no_turns() {
    let (world, _) = world();
    let [_, _, evaluation, attribution] = case_files(ID);
    let mut sent = execution_of(&[ID]);
    let mut keeps = |evaluated: &dyn Fn(), hash: Option<&str>| {
        evaluated();
        sent["failure_samples_index"][0]["sha256"] =
            hash.map_or(json!({}), |hash| json!({ "evaluation": hash }));
        let (load, _) = trace_alone(&world, &package(sent.clone()));
        let text = load.loaded[0].content.as_str();
        assert!(text.contains("turn 50 "), "the other one still names its own");
        text.contains("turn 40 ")
    };
    world.put(&attribution, &json!({ "turn_index": 50 }).to_string());
    let named = json!({ "turn_index": 40 }).to_string();
    assert!(keeps(&|| world.put(&evaluation, &named), None));
    assert!(!keeps(&|| {}, Some(&"0".repeat(32))), "changed since its hash was taken");
    assert!(!keeps(&|| world.put(&evaluation, &named[1..]), None), "corrupt");
    assert!(!keeps(&|| world.remove(&evaluation), None), "missing");
}

#[test]
fn ld_05_what_is_not_shortened_needs_no_other_file() {
    let (world, package) = world();
    let [sample, trace, evaluation, attribution] = case_files(ID);
    let reads = |parts: &[Part], budget: u32| {
        let watched = Watched::new(&world.files);
        let sample_ids = vec![ID.to_owned()];
        let request = LoadRequest { mode: Mode::Custom, budget, sample_ids, parts: parts.to_vec(), ..all() };
        load(&package, &watched, &request).unwrap();
        watched.reads()
    };
    assert_eq!(reads(&[Part::Trace], 1_000_000), [format!("{DIR}/{trace}")]);
    // An evaluation tells no turns of its own.
    assert_eq!(reads(&[Part::Evaluation], 1_000), [format!("{DIR}/{evaluation}")]);
    let read = reads(&[Part::Sample, Part::Evaluation], 1_000);
    assert_eq!(read, [sample, evaluation, attribution].map(|file| format!("{DIR}/{file}")));
}

/// LD-02
#[test]
fn what_comes_after_an_exhausted_budget_is_omitted_without_being_read() {
    let world = World::seed();
    for id in ["a", "b", "c"] {
        world.case(id, &json!({ "sample_id": id }));
    }
    let watched = Watched::new(&world.files);
    let sample_ids = ["a", "b", "c"].map(str::to_owned).to_vec();
    let one = LoadRequest { mode: Mode::Custom, sample_ids: vec!["a".to_owned()], ..all() };
    let package = package(execution_of(&["a", "b", "c"]));
    let budget = load(&package, &world.files, &one).unwrap().used;
    let load = load(&package, &watched, &LoadRequest { budget, sample_ids, ..one }).unwrap();
    assert_eq!((load.used, load.loaded.len(), load.omitted.len()), (budget, 4, 8));
    assert_eq!(watched.reads().len(), 4);
    assert!(load.omitted.iter().all(|part| part.tokens.is_none()));
}

/// LD-02
#[test]
fn a_report_over_the_budget_is_omitted_unless_the_reader_insists() {
    let world = World::seed();
    let package = package(execution_of(&["BS_MT_001"]));
    let tokens = load(&package, &world.files, &LoadRequest::default()).unwrap().used;
    let run = |budget, hard| {
        load(
            &package,
            &world.files,
            &LoadRequest { mode: Mode::Full, budget, hard, ..LoadRequest::default() },
        )
        .unwrap()
    };
    let fits = run(tokens, true);
    assert_eq!((fits.used, fits.over_budget, fits.loaded.len(), fits.omitted.len()), (tokens, false, 1, 4));
    let hard = run(tokens - 1, true);
    assert!(hard.used < tokens && !hard.over_budget);
    assert_eq!((hard.omitted[0].part, hard.omitted[0].tokens), (Part::Report, Some(tokens)));
    // What is left of the budget goes to the cases.
    assert_eq!(hard.loaded.len(), 4);
    let soft = run(tokens - 1, false);
    assert_eq!((soft.used, soft.over_budget, soft.loaded.len(), soft.omitted.len()), (tokens, true, 1, 4));
    assert!(!run(tokens, false).over_budget);
}

/// LD-02, LD-05
#[test]
fn a_report_with_a_long_text_is_shortened_to_fit() {
    let world = World::seed();
    let mut report = value(SEED_REPORT);
    report["layer1_problems"][0]["description"] = json!("字".repeat(30_000));
    world.put("layer1_problems_report.json", &report.to_string());
    let request = LoadRequest { budget: 5_000, ..LoadRequest::default() };
    let load = load(&package(execution_of(&["BS_MT_001"])), &world.files, &request).unwrap();
    assert!(load.loaded[0].truncated && load.used <= 5_000 && load.truncated[0].tokens > Some(30_000));
    let content = load.loaded[0].content.to_value();
    let text = content["layer1_problems"][0]["description"].as_str().unwrap();
    assert!(text.contains("[... 28000 chars omitted ...]"));
}

/// SEC-07
#[test]
fn one_load_reads_at_most_64_mebibytes_whatever_its_budget() {
    let world = World::seed();
    let ids = ["a", "b"];
    for id in ids {
        for file in case_files(id) {
            // Blanks take no tokens.
            let mut text = " ".repeat(usize::try_from(HANDOFF_FILE_BYTES).unwrap() - 1);
            text.push('1');
            world.write(&format!("{DIR}/{file}"), text.as_bytes());
        }
    }
    let sample_ids = ids.map(str::to_owned).to_vec();
    let request = LoadRequest { mode: Mode::Custom, sample_ids, ..all() };
    let run = || load(&package(execution_of(&ids)), &world.files, &request).unwrap();
    assert_eq!(LOAD_BYTES, 4 * HANDOFF_FILE_BYTES);
    let load = run();
    assert_eq!((load.loaded.len(), load.omitted.len(), load.invalid.len()), (4, 4, 0));
    // With a byte less there is a byte left, which is not enough for what comes next.
    world.put(
        &case_files("a")[0],
        &format!("{}1", " ".repeat(usize::try_from(HANDOFF_FILE_BYTES).unwrap() - 2)),
    );
    let load = run();
    assert_eq!((load.loaded.len(), load.omitted.len(), load.invalid.len()), (4, 4, 0));
    world.put(&case_files("b")[0], "1");
    assert_eq!(run().loaded.len(), 5);
    world.put(&case_files("a")[0], &" ".repeat(usize::try_from(HANDOFF_FILE_BYTES).unwrap() + 1));
    assert_eq!(run().invalid[0].path, "samples/a.json");
}
