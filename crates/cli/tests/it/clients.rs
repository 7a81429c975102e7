//! F-14: clients that others generate from the OpenAPI document compile, pass a strict type checker, and talk to the server that
//! the document is of. Nothing that is generated is kept.

use crate::support::Server;
use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

/// Where the generators are; `cargo xtask test` and `cargo xtask services` install them and set these.
const PYTHON: &str = "CARDWIRE_TEST_CLIENT_PYTHON";
const NODE_MODULES: &str = "CARDWIRE_TEST_NODE_MODULES";

fn installed(variable: &str) -> PathBuf {
    let found = std::env::var_os(variable);
    found
        .unwrap_or_else(|| panic!("{variable} is not set: run `cargo xtask test`, or `cargo xtask services`"))
        .into()
}

/// A copy of one of our programs in `dir`.
fn program(dir: &Path, name: &str) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/clients").join(name);
    fs::copy(source, dir.join(name)).unwrap();
}

/// Runs a program to its end; what it printed.
#[track_caller]
fn run(dir: &Path, program: impl AsRef<OsStr>, args: &[&str]) -> String {
    let mut command = Command::new(program);
    command.current_dir(dir).args(args);
    let output = command.output().unwrap();
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{text}", output.status);
    text
}

/// F-14
#[test]
fn a_generated_typescript_client_compiles_strictly_and_talks_to_the_server() {
    let server = Server::start(&[]);
    let dir = tempfile::tempdir().unwrap();
    let modules = installed(NODE_MODULES);
    symlink(&modules, dir.path().join("node_modules")).unwrap();
    fs::write(dir.path().join("package.json"), r#"{ "private": true, "type": "module" }"#).unwrap();
    // The document is fetched without a token.
    let document = format!("{}/openapi.json", server.url);
    let generator = "node_modules/openapi-typescript/bin/cli.js";
    run(dir.path(), "node", &[generator, &document, "--output", "cardwire.ts"]);
    program(dir.path(), "talk.ts");
    let strict = ["node_modules/typescript/bin/tsc", "--strict", "--noEmitOnError", "--outDir", "out"];
    let modern =
        ["--target", "es2022", "--lib", "es2022,dom", "--module", "nodenext", "--skipLibCheck", "talk.ts"];
    run(dir.path(), "node", &[&strict[..], &modern[..]].concat());
    let said = run(dir.path(), "node", &["out/talk.js", &server.url, &server.token]);
    assert!(said.contains("all is well"), "{said}");
}

/// F-14
#[test]
fn a_generated_python_client_passes_the_type_checker_and_talks_to_the_server() {
    let server = Server::start(&[]);
    let dir = tempfile::tempdir().unwrap();
    let python = installed(PYTHON);
    let beside = |name: &str| python.with_file_name(name);
    fs::write(dir.path().join("config.yml"), "post_hooks: []\n").unwrap();
    let document = format!("{}/openapi.json", server.url);
    let made = run(
        dir.path(),
        beside("openapi-python-client"),
        &[
            "generate",
            "--url",
            &document,
            "--meta",
            "none",
            "--output-path",
            "cardwire_client",
            "--config",
            "config.yml",
        ],
    );
    // It knows no YAML, and takes the JSON that the same bodies may be.
    let (warnings, of_yaml) = ("WARNING parsing", "Unsupported content type application/yaml");
    assert_eq!(made.matches(warnings).count(), made.matches(of_yaml).count(), "{made}");
    assert!(!made.contains("ERROR"), "{made}");
    program(dir.path(), "talk.py");
    // What the generator writes for lists of anything casts a list to one.
    let strict = ["--strict", "--disable-error-code", "redundant-cast"];
    let cache = beside("mypy-cache").to_string_lossy().into_owned();
    run(
        dir.path(),
        beside("mypy"),
        &[&strict[..], &["--cache-dir", &cache, "cardwire_client", "talk.py"]].concat(),
    );
    let said = run(dir.path(), &python, &["talk.py", &server.url, &server.token]);
    assert!(said.contains("all is well"), "{said}");
}
