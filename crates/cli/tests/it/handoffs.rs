//! `cardwire handoff`, and the loop of design, trial and revision that comes as an example (HO-01..HO-15, LD-01..LD-10).

use crate::support::{Backend, DEADLINE, Home, Run, eventually, everywhere, exchange};
use crate::teams::stage::Process;
use serde_json::{Value, json};
use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
};

const DIR: &str = "out/iteration_1";
const TEAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/leave_application/team.yaml");
const QUERY: &str = "Make evaluation samples for leave applications.";

/// Where commands on this data look for files.
fn workspace(home: &Home) -> PathBuf {
    home.data_dir().join("workspace")
}

/// A directory of results with two failed samples and one that passed.
fn results(root: &Path) {
    let write = |path: String, content: &Value| {
        let path = root.join(DIR).join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content.to_string()).unwrap();
    };
    for (sample, passed) in [("S1", false), ("S2", false), ("S3", true)] {
        write(format!("samples/{sample}.json"), &json!({ "sample_id": sample }));
        write(format!("execution_traces/{sample}_trace.json"), &json!({ "conversation_history": [] }));
        write(format!("evaluation_results/{sample}_eval.json"), &json!({ "passed": passed }));
        write(format!("attribution_analysis/{sample}_attribution.json"), &json!({ "cause": "a rule" }));
    }
    let problem = json!({
        "problem_id": "P1", "problem_type": "T", "severity": "high", "title": "A rule is missing", "description": "d",
        "affected_samples": ["S1", "S2"], "affected_count": 2, "evidence_summary": "e", "typical_case_id": "S1",
        "suggested_fix": { "target": "rules.md", "section": "s", "modification": "m", "rationale": "r" },
    });
    let first = json!({ "priority": 1, "problem_id": "P1", "impact": "i", "estimated_improvement": "+66%" });
    let report = json!({
        "report_version": "1.0", "generated_at": "2026-01-04T15:30:00", "iteration": 1, "total_samples": 3,
        "failed_samples": 2, "failure_rate": 0.67, "layer1_problems": [problem], "modification_priority": [first],
    });
    write("layer1_problems_report.json".to_owned(), &report);
    write("failure_summary.json".to_owned(), &json!({ "failed": 2 }));
}

/// Arguments that make a package of the results.
const NEW: [&str; 13] = [
    "handoff",
    "new",
    "execute_to_init",
    DIR,
    "--reason",
    "two of three failed",
    "--suggestion",
    "a",
    "--suggestion",
    "b",
    "--suggestion",
    "c",
    "--out=package.json",
];

/// API-12, API-15
#[test]
fn a_package_is_made_checked_sent_shown_and_loaded() {
    everywhere(|home| {
        results(&workspace(home));
        home.ok(&NEW);
        assert_eq!(home.cardwire(&NEW).code, 4, "a file that is there is not overwritten");
        let valid = home.ok(&["handoff", "validate", "package.json", "--deep", "-p", "p1"]);
        assert_eq!(valid, "valid: execute_to_init, 0 warnings");
        let sent = home.json(&["handoff", "send", "package.json", "-p", "p1"]);
        let id = sent["handoff_id"].as_str().unwrap();
        assert!(home.ok(&["handoff", "list", "-p", "p1"]).contains(id));
        let shown = home.ok(&["handoff", "show", id, "-p", "p1"]);
        assert!(shown.contains("S1") && shown.contains("two of three failed"), "{shown}");
        let package: Value =
            serde_json::from_str(&std::fs::read_to_string(home.root().join("package.json")).unwrap())
                .unwrap();
        assert_eq!(home.json(&["handoff", "show", id, "-p", "p1"])["package"], package);
        let report = home.ok(&["handoff", "report", id, "-p", "p1"]);
        assert!(report.contains("A rule is missing") && report.contains("rules.md"), "{report}");
        let load = home.json(&["handoff", "load", id, "-p", "p1", "--mode", "typical"]);
        assert_eq!((load["loaded"].as_array().unwrap().len(), &load["budget"]), (5, &json!(40_000)));
        let table = home.ok(&["handoff", "load", id, "-p", "p1", "--mode", "full", "--budget", "300"]);
        assert!(table.contains("of 300 tokens used"), "{table}");
        let one =
            ["handoff", "load", id, "-p", "p1", "--mode", "custom", "--sample", "S2", "--part", "trace"];
        assert_eq!(home.json(&one)["loaded"][0]["part"], "trace");
        assert_eq!(home.cardwire(&["handoff", "load", "ho_none", "-p", "p1"]).code, 3);
        assert_eq!(home.cardwire(&["handoff", "load", id, "-p", "p1", "--budget", "0"]).code, 2);
    });
}

/// HO-08: every problem with its file and field.
#[test]
fn validate_names_everything_that_is_missing() {
    everywhere(|home| {
        results(&workspace(home));
        home.ok(&NEW);
        let gone = ["samples/S2.json", "evaluation_results/S3_eval.json"];
        for file in gone {
            std::fs::remove_file(workspace(home).join(DIR).join(file)).unwrap();
        }
        for command in ["validate", "send"] {
            let run = home.cardwire(&["handoff", command, "package.json", "-p", "p1"]);
            assert_eq!(run.code, 1, "{run:?}");
            for file in gone {
                assert!(run.stdout.contains(file), "{command}: {file} is not in {run:?}");
            }
            assert!(
                run.stdout.contains("persistence_incomplete") && run.stderr.starts_with("error: "),
                "{run:?}"
            );
        }
        let run = home.cardwire(&["handoff", "validate", "package.json", "-p", "p1", "--json"]);
        let told: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!((run.code, &told["error"]["code"]), (1, &json!("persistence_incomplete")));
        assert_eq!(home.json(&["handoff", "list", "-p", "p1"])["items"], json!([]));
    });
}

/// Without any server or store: files are enough.
#[test]
fn packages_are_made_and_checked_where_there_is_no_store() {
    let home = Home::new(Backend::Sqlite);
    results(home.root());
    home.ok(&NEW);
    let deep = ["handoff", "validate", "package.json", "--deep"];
    assert!(home.ok(&deep).starts_with("valid: execute_to_init"));
    assert!(home.ok(&["handoff", "validate", DIR]).starts_with("valid: execute_to_init"));
    std::fs::write(home.root().join(DIR).join("samples/S3.json"), "{ half").unwrap();
    assert!(home.ok(&["handoff", "validate", "package.json"]).starts_with("valid: "));
    let run = home.cardwire(&deep);
    assert!(run.code == 1 && run.stdout.contains("samples/S3.json"), "{run:?}");
    assert!(!home.data_dir().exists(), "nothing was started");
    let design = ["handoff", "new", "init_to_execute", "--requirement", "x", "--artifact", "rules=rules.md"];
    let made = home.json(&design);
    assert_eq!(
        (&made["handoff_type"], &made["design_artifacts"]["rules"]),
        (&json!("init_to_execute"), &json!("rules.md"))
    );
    assert_eq!(
        home.cardwire(&["handoff", "new", "init_to_execute", "--requirement", "x", "--artifact", "y"]).code,
        2
    );
}

/// HO-14: an agent is given the package, and sees it once.
#[test]
fn a_package_is_given_to_an_agent() {
    everywhere(|home| {
        home.file("design.yaml", "handoff_type: init_to_execute\ntimestamp: 2026-01-04T10:30:00\nuser_requirement: x\ndesign_artifacts: {rules: rules.md}\n");
        for (name, target) in [("sender", "s"), ("receiver", "r")] {
            home.ok(&["profile", "put", name, "-p", "p1", "--worker-target", target, "--system-prompt", "x"]);
            home.ok(&["agent", "add", name, "-p", "p1", "--profile", name]);
        }
        let send = ["handoff", "send", "design.yaml", "-p", "p1", "--to", "receiver", "--from", "sender"];
        let sent = home.json(&send);
        let view = home.json(&["turn", "view", sent["agent_turn_id"].as_str().unwrap(), "-p", "p1"]);
        let packages = view["messages"].as_array().unwrap().iter().filter(|m| m["type"] == "handoff.package");
        assert_eq!(packages.count(), 1, "{view:#}");
        let table = home.ok(&["turn", "view", sent["agent_turn_id"].as_str().unwrap(), "-p", "p1"]);
        assert!(table.contains("ORIGIN"), "SEC-10: {table}");
    });
}

/// The whole loop, wherever it runs: the same files, the same packages, the same end.
#[test]
fn the_leave_application_loop_does_the_same_everywhere() {
    let alone = Home::new(Backend::Sqlite);
    let first = looped(&alone);
    let home = Home::new(Backend::Postgres);
    let _server = home.up(&["--worker-turns", "0"]);
    let _worker = Process::worker(&home, "w");
    assert_eq!(looped(&home), first);
}

/// The same with files in a bucket: the server writes and reads them there, and so do commands without a server.
#[test]
fn the_leave_application_loop_works_in_a_bucket() {
    let url = std::env::var("CARDWIRE_TEST_S3").expect("CARDWIRE_TEST_S3: run `cargo xtask services`");
    let bucket = format!("leave-{}", std::process::id());
    let address = url.strip_prefix("http://").unwrap();
    let make = format!(
        "PUT /{bucket} HTTP/1.1\r\nhost: {address}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    );
    assert_eq!(exchange(address, make.as_bytes()).status, 200);
    let variables =
        [("AWS_ENDPOINT_URL", url.as_str()), ("AWS_ACCESS_KEY_ID", "k"), ("AWS_SECRET_ACCESS_KEY", "s")];
    let root = format!("--workspace-root=s3://{bucket}/teams/one");

    let home = Home::new(Backend::Sqlite);
    let server = home.up_with(&[&root], &variables);
    let told = home.json(&["run", TEAM, QUERY, "-p", "leave"]);
    assert_eq!(told["status"], "success", "{told:#}");
    let list = home.json(&["handoff", "list", "-p", "leave"]);
    let last = list["items"][3]["handoff_id"].as_str().unwrap();
    let load = home.json(&["handoff", "load", last, "-p", "leave", "--mode", "full"]);
    assert!(load["loaded"].as_array().unwrap().len() > 3, "{load:#}");
    assert!(!workspace(&home).join("scenarios").exists(), "nothing is on this machine");
    drop(server);

    let with_bucket = |args: &[&str]| {
        let mut command = home.command(args);
        command.arg(&root).envs(variables);
        Run::of(command, "")
    };
    let dir = "scenarios/leave_application/execution_outputs/iteration_2";
    let valid = with_bucket(&["handoff", "validate", dir, "--deep", "-p", "leave"]).ok();
    assert!(valid.starts_with("valid: execute_to_init"), "{valid}");
    let mut new = NEW;
    new[3] = dir;
    with_bucket(&[&new[..], &["-p", "leave"]].concat()).ok();
    let made = std::fs::read_to_string(home.root().join("package.json")).unwrap();
    let made: Value = serde_json::from_str(&made).unwrap();
    assert_eq!(made["failure_samples_index"].as_array().unwrap().len(), 3);
    // What is not there is a file that is missing, and a root that is none a mistake.
    let missing = with_bucket(&["handoff", "validate", "scenarios/nowhere"]);
    assert_ne!(missing.code, 0, "{missing:?}");
    let wrong = home.cardwire(&["handoff", "validate", dir, "--workspace-root", "s3:///x"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("no name of a bucket"), "{wrong:?}");
}

/// What came of the loop: its files, what each package says, and the deliverable.
fn looped(home: &Arc<Home>) -> (Vec<PathBuf>, Vec<Value>, Value) {
    let told = home.json(&["run", TEAM, QUERY, "-p", "leave"]);
    assert_eq!(told["status"], "success", "{told:#}");
    let list = home.json(&["handoff", "list", "-p", "leave"]);
    let ids: Vec<&str> =
        list["items"].as_array().unwrap().iter().map(|item| item["handoff_id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 4, "there and back, twice");
    let packages: Vec<Value> =
        ids.iter().map(|id| home.json(&["handoff", "show", id, "-p", "leave"])["package"].take()).collect();
    let failed = |package: &Value| package["failure_samples_index"].as_array().unwrap().len();
    assert_eq!((failed(&packages[1]), failed(&packages[3])), (18, 3));
    // What the init agent loaded is in its turn as the answer of a tool, and stays within 40,000 tokens.
    let turns = home.json(&["turn", "list", "--agent", "init", "-p", "leave"]);
    let view =
        home.json(&["turn", "view", turns["items"][0]["agent_turn_id"].as_str().unwrap(), "-p", "leave"]);
    let loads: Vec<&Value> = view["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|message| {
            message["content"]["result"].get("loaded").map(|_| &message["content"]["result"])
        })
        .collect();
    assert_eq!(loads.len(), 2);
    for load in loads {
        assert!(load["used"].as_u64().unwrap() <= 40_000 && !load["loaded"].as_array().unwrap().is_empty());
    }
    // F-40: the directory of the project is all that its agents reach.
    let root = workspace(home).join("leave");
    assert!(std::fs::read_dir(workspace(home)).unwrap().count() == 1 && root.is_dir());
    for iteration in ["iteration_1", "iteration_2"] {
        let dir = format!("scenarios/leave_application/execution_outputs/{iteration}");
        let valid =
            home.ok(&["handoff", "validate", &dir, "--workspace-root", root.to_str().unwrap(), "--deep"]);
        assert!(valid.starts_with("valid: execute_to_init"), "{valid}");
    }
    (files(&root), packages, told["deliverable"].clone())
}

/// All files below a directory, relative to it, in order.
fn files(root: &Path) -> Vec<PathBuf> {
    let (mut found, mut dirs) = (vec![], vec![root.to_owned()]);
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path)
            } else {
                found.push(path.strip_prefix(root).unwrap().to_owned())
            }
        }
    }
    found.sort();
    found
}

/// A crash in the middle of an iteration: a check names exactly what is missing, nothing half-written passes for a file,
/// and the run goes on to the same end.
#[test]
fn an_iteration_that_was_cut_off_is_told_and_finished() {
    let home = Home::new(Backend::Sqlite);
    let slow = std::fs::read_to_string(Path::new(TEAM).with_file_name("script.yaml")).unwrap();
    // Samples one after the other, so that there is a middle to be killed in.
    let slow = slow.replace("    capture: {id: ", "    delay_ms: 40\n    capture: {id: ");
    home.file("script.yaml", &slow);
    home.file("team.yaml", std::fs::read_to_string(TEAM).unwrap());
    let root = workspace(&home).join("leave");
    let samples = root.join("scenarios/leave_application/execution_outputs/iteration_1/samples");
    let mut run = home.command(&["run", "team.yaml", QUERY, "-p", "leave"]);
    let mut run =
        run.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    eventually("some samples are written", || {
        let names = std::fs::read_dir(&samples).ok()?;
        (names.count() >= 3).then_some(())
    });
    run.kill().unwrap();
    run.wait().unwrap();
    let dir = "scenarios/leave_application/execution_outputs/iteration_1";
    let check = ["handoff", "validate", dir, "--workspace-root", root.to_str().unwrap(), "--deep", "--json"];
    let cut = home.cardwire(&check);
    assert_eq!(cut.code, 1, "{cut:?}");
    let told: Value = serde_json::from_str(&cut.stdout).unwrap();
    let problems = told["error"]["detail"]["problems"].as_array().unwrap();
    assert!(problems.iter().any(|p| p["file"] == "layer1_problems_report.json"), "{told:#}");
    // What has its name is whole.
    for file in files(&root).iter().filter(|file| file.extension().is_some_and(|end| end == "json")) {
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        serde_json::from_str::<Value>(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
    home.ok(&["run", "team.yaml", "--resume", "-p", "leave"]);
    assert!(home.cardwire(&check).code == 0);
}

/// NF-05: a worker goes down after a package was taken and before it was told so. Who goes on with the turn sends the package
/// again, and there is one.
#[test]
fn a_package_that_is_sent_again_after_a_crash_is_one_package() {
    let home = Home::new(Backend::Sqlite);
    let server = home.up(&["--worker-turns", "0"]);
    results(&workspace(&home).join("p1"));
    // The index and the time of the package are made while it is sent.
    let arguments = json!({
        "handoff_type": "execute_to_init", "execution_output_dir": DIR, "trigger_reason": "two of three failed",
        "layer1_problems_report_path": "layer1_problems_report.json",
        "iteration_summary": { "total_iterations": 1, "total_samples": 3, "failed_samples": 2 },
        "modification_suggestions_summary": ["a", "b", "c"],
    });
    let team = json!({
        "name": "crew", "process": "sequential",
        "agents": [{ "id": "a", "profile": { "system_prompt": "Send.", "allowed_tools": ["send_handoff"] } }],
        "model": { "provider": "scripted", "script": { "rules": [
            { "match": { "step": 1 }, "tool_calls": [{ "name": "send_handoff", "arguments": arguments }] },
            { "reply": "Sent." },
        ] } },
    });
    home.ok(&["project", "create", "p1"]);
    assert_eq!(server.request("PUT", "/projects/p1/teams/crew", &team.to_string()).status, 201);
    let run = server.post("/projects/p1/teams/crew:run", json!({ "query": "Go." })).json();
    let turn = format!("/projects/p1/turns/{}", run["agent_turn_id"].as_str().unwrap());

    let (url, kept) = keeping_answers(server.address(), "POST /projects/p1/handoffs?");
    let first = home.command(&["worker", "--name", "w", "--server", &url]);
    let first = Process::start(first, &home, "first.log");
    kept.recv_timeout(DEADLINE).expect("an answer to whoever sends a package");
    first.kill();
    assert_eq!(home.json(&["handoff", "list", "-p", "p1"])["items"].as_array().unwrap().len(), 1);
    let _next = Process::worker(&home, "w");
    let ended = eventually("the run to end", || {
        let turn = server.get(&turn).json();
        (!turn["ended_at"].is_null()).then_some(turn)
    });
    assert_eq!(ended["status"], "success", "{ended:#}");
    let packages = home.json(&["handoff", "list", "-p", "p1"])["items"].as_array().unwrap().clone();
    let [package] = packages.as_slice() else { panic!("{packages:#?}") };
    let turns = home.json(&["turn", "list", "-p", "p1"]);
    let turn = turns["items"].as_array().unwrap().iter().find(|turn| turn["agent_id"] == "a").unwrap();
    let cards = home.json(&["box", "show", turn["output_box_id"].as_str().unwrap(), "--cards", "-p", "p1"]);
    let told = cards.as_array().unwrap().iter().find(|card| card["type"] == "tool.result").unwrap();
    assert_eq!(told["content"]["result"]["handoff_id"], package["handoff_id"], "{told:#}");
}

/// A way to a server that passes everything on but the answers to requests that begin so, of which it tells. Gives its
/// address.
fn keeping_answers(address: &str, request: &'static str) -> (String, mpsc::Receiver<()>) {
    let (listener, address) = (TcpListener::bind("127.0.0.1:0").unwrap(), address.to_owned());
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, kept) = mpsc::channel();
    std::thread::spawn(move || {
        for worker in listener.incoming().map_while(Result::ok) {
            let server = TcpStream::connect(&address).unwrap();
            let is_kept = Arc::new(AtomicBool::new(false));
            let asks = (worker.try_clone().unwrap(), server.try_clone().unwrap(), Arc::clone(&is_kept));
            std::thread::spawn(move || {
                let (worker, server, is_kept) = asks;
                pass_on(worker, server, |bytes| {
                    let text = String::from_utf8_lossy(bytes);
                    // A connection has one request at a time.
                    is_kept.fetch_or(text.starts_with(request), Ordering::SeqCst);
                    true
                });
            });
            let sender = sender.clone();
            std::thread::spawn(move || {
                pass_on(server, worker, |_| {
                    let is_kept = is_kept.load(Ordering::SeqCst);
                    if is_kept {
                        let _ = sender.send(());
                    }
                    !is_kept
                });
            });
        }
    });
    (url, kept)
}

/// Passes on what is read and wanted, until either side has gone.
fn pass_on(mut from: TcpStream, mut to: TcpStream, mut wants: impl FnMut(&[u8]) -> bool) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if wants(&bytes[..count]) && to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}
