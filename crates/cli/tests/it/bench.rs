//! `cardwire bench` (API-15).

use crate::support::{Backend, Home, Run};
use serde_json::Value;

/// API-15
#[test]
fn a_short_measurement_gives_sensible_figures_and_leaves_nothing() {
    let home = Home::new(Backend::Sqlite);
    let scratch = home.root().join("scratch");
    std::fs::create_dir(&scratch).unwrap();
    let mut command = home.command(&["bench", "--seconds", "1", "--json"]);
    command.env("TMPDIR", &scratch);
    let run = Run::of(command, "");
    assert!(run.code == 0 && !run.stderr.contains("in flight"), "no progress without a terminal: {run:?}");
    let told: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&told["store"], &told["seconds"]), (&"sqlite".into(), &1.into()));
    let cases = told["cases"].as_array().unwrap();
    let names: Vec<_> = cases
        .iter()
        .map(|case| (case["case"].as_str().unwrap(), case["in_flight"].as_u64().unwrap()))
        .collect();
    assert_eq!(names, [("commits", 1), ("commits", 64), ("turns", 1), ("turns", 64)]);
    for case in cases {
        let number = |name: &str| case[name].as_f64().unwrap();
        assert!(number("done") >= number("in_flight"), "{case}");
        // It took a second, and what was under way at its end.
        assert!(number("per_second") > 0.0 && number("per_second") <= number("done") + 1.0, "{case}");
        assert!(number("p50_ms") > 0.0 && number("p50_ms") <= number("p99_ms"), "{case}");
    }
    assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0, "its directory is removed");
    assert!(!home.data_dir().exists(), "the data directory is not used");
}

/// API-15
#[test]
fn a_measurement_takes_a_bounded_time() {
    let home = Home::new(Backend::Sqlite);
    for wrong in ["0", "61", "-1", "x"] {
        home.cardwire(&["bench", &format!("--seconds={wrong}")]).failed(2, "--seconds");
    }
}
