//! The kit for workers (docs/decisions/0012): the example passes, its broken copy does not, and nothing is left behind.

use crate::support::{Backend, Home, Run, eventually};
use serde_json::Value;
use std::{
    fs,
    process::{Command, Stdio},
};

const RULES: [&str; 9] = [
    "runs-a-turn",
    "duplicate-doorbells",
    "crash-after-claim",
    "stale-epoch",
    "cancel",
    "suspend-resume",
    "oversized-card",
    "never-invents-epochs",
    "server-restart",
];

/// The shell command that starts an example.
fn python(file: &str) -> String {
    format!("python3 '{}'", example(file))
}

fn example(file: &str) -> String {
    format!("{}/../../examples/{file}", env!("CARGO_MANIFEST_DIR"))
}

fn tck(cmd: &str, more: &[&str]) -> Run {
    Home::new(Backend::Sqlite).cardwire(&[&["tck", "worker", "--cmd", cmd], more].concat())
}

/// WK-01, WK-06, WK-08, WK-09, NF-03, NF-04, NF-07
#[test]
fn the_example_keeps_every_rule() {
    let report: Value = serde_json::from_str(&tck(&python("worker.py"), &["--json"]).ok()).unwrap();
    let rules = report["rules"].as_array().unwrap();
    let names: Vec<_> = rules.iter().map(|rule| rule["rule"].as_str().unwrap()).collect();
    assert_eq!(names, RULES);
    assert!(rules.iter().all(|rule| rule["passed"] == true && rule["spec"][0].is_string()), "{report:#}");
    assert_eq!(report["ok"], true);
}

/// A copy that looks careful: it keeps the epoch of an agent, and tries again whatever is refused.
#[test]
fn a_worker_with_bugs_is_told_which_rules_it_breaks() {
    let run = tck(&python("broken_worker.py"), &[]);
    let result = |line: &str| {
        let mut words = line.split_whitespace();
        (words.next().unwrap().to_owned(), words.next().unwrap().to_owned())
    };
    // F-15: what a worker must obey is said before anything is checked.
    let first = run.stdout.lines().next().unwrap();
    assert!(["echo", "tool", "big", "slow", "--help"].iter().all(|word| first.contains(word)), "{first}");
    let (names, results): (Vec<_>, Vec<_>) = run.stdout.lines().skip(2).map(result).unzip();
    assert_eq!(names, RULES, "{run:?}");
    let broken: Vec<_> = (0..RULES.len()).filter(|at| results[*at] == "FAIL").map(|at| RULES[at]).collect();
    assert_eq!(broken, ["stale-epoch", "cancel", "oversized-card", "never-invents-epochs"], "{run:?}");
    assert!(run.stdout.contains("goes on"), "{run:?}");
    assert!(run.stdout.contains("at epoch 1, and its lease says 2"), "{run:?}");
    run.failed(1, "4 of 9 rules broken");
}

/// Every rule that the broken copy keeps can be broken as well: the example, with one change each.
#[test]
fn every_rule_can_fail() {
    let home = Home::new(Backend::Sqlite);
    let text = fs::read_to_string(example("worker.py")).unwrap();
    let changes = [
        ("runs-a-turn", r#"{"answer": answer}"#, r#"{"answer": 42}"#, "delivered {\"answer\":42}"),
        (
            "duplicate-doorbells",
            r#"say("/steps", phase="answer")"#,
            r#"say("/cards", content=thought, metadata={"type": "agent.thought"})"#,
            "1 leases and 2 agent.thought cards",
        ),
        ("suspend-resume", "if not results:", "if False:", "ended as failed"),
        (
            "server-restart",
            "time.sleep(0.5)",
            r#"raise SystemExit("lost")"#,
            "ended by itself (exit status: 1: lost)",
        ),
    ];
    let mut workers: Vec<_> = changes
        .map(|(rule, old, new, why)| {
            assert_eq!(text.matches(old).count(), 1, "{old}");
            let file = home.root().join(format!("{rule}.py"));
            fs::write(&file, text.replace(old, new)).unwrap();
            (rule, format!("python3 '{}'", file.display()), why)
        })
        .into();
    let started = home.root().join("started").display().to_string();
    let once = format!("test -e '{started}' && exit 9; touch '{started}'; exec {}", python("worker.py"));
    workers.push(("crash-after-claim", once, "ended by itself (exit status: 9)"));
    std::thread::scope(|scope| {
        for (rule, cmd, why) in &workers {
            scope.spawn(move || {
                let run = tck(cmd, &["--only", rule]);
                run.failed(1, "1 of 1 rules broken");
                assert!(run.stdout.contains(why), "{run:?}");
            });
        }
    });
}

#[test]
fn a_worker_that_ends_by_itself_breaks_the_rule() {
    let run = tck("echo no such luck; exit 3", &["--only", "runs-a-turn", "--json"]);
    run.failed(1, "1 of 1 rules broken");
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["rules"][0]["why"], "the worker ended by itself (exit status: 3: no such luck)");
}

#[test]
fn a_worker_that_claims_nothing_breaks_the_rule() {
    let run = tck("sleep 60", &["--only", "runs-a-turn", "--timeout", "1"]);
    assert!(run.stdout.contains("waited in vain for the worker to claim turns: 1 s are over"), "{run:?}");
    run.failed(1, "1 of 1 rules broken");
}

/// A worker is more than the shell that starts it, and a kit that is told to stop takes all of it along.
#[test]
fn what_the_kit_starts_ends_with_it() {
    let home = Home::new(Backend::Sqlite);
    let started = home.root().join("pids");
    let cmd = format!("sleep 600 & echo $$ $! $PPID >'{}'; wait", started.display());
    let mut kit = home.command(&["tck", "worker", "--only", "runs-a-turn", "--cmd", &cmd]);
    let mut kit = kit.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let pids = eventually("the worker to start", || {
        let text = fs::read_to_string(&started).ok()?;
        text.ends_with('\n').then(|| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    });
    assert_eq!(pids[2], kit.id().to_string());
    assert!(lives(&pids[0]) && lives(&pids[1]));
    assert!(Command::new("kill").args(["-TERM", &pids[2]]).status().unwrap().success());
    assert_eq!(kit.wait().unwrap().code(), Some(1));
    eventually("the worker to be gone", || (!lives(&pids[0]) && !lives(&pids[1])).then_some(()));
}

/// Whether a process is there and has not ended.
fn lives(pid: &str) -> bool {
    let state = Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap();
    let state = String::from_utf8(state.stdout).unwrap();
    !state.trim().is_empty() && !state.trim().starts_with('Z')
}

/// The example is what people copy.
#[test]
fn the_example_is_short_and_needs_the_standard_library_alone() {
    let text = fs::read_to_string(example("worker.py")).unwrap();
    assert!(text.lines().count() <= 60 && text.lines().all(|line| line.len() <= 110));
    let check = "import ast, sys\n\
                 for node in ast.walk(ast.parse(open(sys.argv[1]).read())):\n  \
                   names = [name.name for name in node.names] if isinstance(node, ast.Import) else \
                   [node.module] if isinstance(node, ast.ImportFrom) else []\n  \
                   for name in names: assert name.split('.')[0] in sys.stdlib_module_names, name\n";
    let run = Command::new("python3").args(["-c", check, &example("worker.py")]).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}
