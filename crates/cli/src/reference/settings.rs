//! What can be set: flags of the programs that go on running, variables of the environment, settings of a project, limits.

use super::{MADE, commands, compare, head, limits, row};
use crate::cli::Cli;
use cardwire_api::openapi;
use clap::CommandFactory;
use serde_json::Value;
use std::collections::BTreeMap;

const ABOUT: &str = "\
# Settings

A flag goes before its variable. Durations, counts and sizes are whole numbers.
";

/// Variables besides those that stand for a flag: name, where it is read, what it says.
const VARIABLES: [(&str, &str, &str); 12] = [
    (
        "CARDWIRE_TOKEN",
        "commands, `worker`",
        "The access token. Without it a command on the server's machine reads `admin.token` of the data directory.",
    ),
    (
        "CARDWIRE_LOG",
        "everywhere",
        "What is logged, such as `info` or `cardwire_kernel=debug,warn`. `RUST_LOG` is read when it is absent.",
    ),
    (
        "CARDWIRE_KEY_NAME",
        "`up`, `worker`, `run`",
        "The key that a team file or profile calls by `key: name`.",
    ),
    (
        "CARDWIRE_KEY_NAME_HOSTS",
        "`up`, `worker`, `run`",
        "The only hosts that key is sent to, with commas between them.",
    ),
    (
        "CARDWIRE_KEY_NAME_PROJECTS",
        "`up`, `worker`, `run`",
        "The only projects that may use that key, with commas between them.",
    ),
    ("OPENAI_API_KEY", "`up`, `worker`, `run`", "The key of the provider `openai`."),
    ("ANTHROPIC_API_KEY", "`up`, `worker`, `run`", "The key of the provider `anthropic`."),
    ("CARDWIRE_EMBEDDINGS_KEY", "`up`", "The key of the provider of `--embeddings-url`."),
    (
        "OTEL_EXPORTER_OTLP_HEADERS",
        "`up`, `worker`, `run`",
        "Headers for the collector of `--otlp-endpoint`.",
    ),
    (
        "AWS_ACCESS_KEY_ID",
        "`up`, `worker`",
        "With `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_REGION` and `AWS_ENDPOINT_URL`: how a bucket as `--workspace-root` is reached.",
    ),
    (
        "NO_COLOR",
        "commands",
        "No colours, whatever standard error is. `CLICOLOR_FORCE` asks for them anyway.",
    ),
    ("COLUMNS", "commands", "How wide tables may be where there is no terminal."),
];

/// F-16
#[test]
fn the_reference_of_settings_is_made_from_the_code() {
    let mut command = Cli::command();
    command.build();
    let mut page = format!("{MADE}{ABOUT}");
    for name in ["up", "worker", "run"] {
        let inner = command.find_subcommand(name).unwrap();
        page += &format!("\n## Flags of `cardwire {name}`\n\n");
        page += &commands::options(inner, |arg| !arg.is_global_set());
    }
    page += "\n## Variables\n\nThe variable of a flag is named with the flag. Besides those:\n\n";
    page += &head(["variable", "read by", "what it says"]);
    for (name, by, what) in VARIABLES {
        page += &row([&format!("`{name}`"), by, what]);
    }
    page += "\n## Settings of a project\n\n\
             `cardwire project update P`, or `PATCH /projects/P` with `{\"settings\": {…}}`; null takes a setting away.\n\n";
    page += &head(["setting", "type", "what it says"]);
    project(&mut page, &openapi::schemas(), "SettingsDoc", "");
    page +=
        "\n## Limits\n\nThese are fixed. A request beyond one is refused with the number in the message.\n\n";
    page += &limits::table();
    compare("settings.md", &page);
}

/// The members of a settings document, and of those within it.
fn project(page: &mut String, schemas: &BTreeMap<String, Value>, name: &str, above: &str) {
    for (name, member) in schemas[name]["properties"].as_object().unwrap() {
        let path = format!("{above}{name}");
        let inner = member["oneOf"].as_array().into_iter().flatten().chain([member]);
        let mut inner = inner.filter_map(|part| part["$ref"].as_str()?.rsplit('/').next());
        match inner.next_back() {
            Some(inner) => project(page, schemas, inner, &format!("{path}.")),
            None => {
                let what = member["description"].as_str().unwrap_or_default();
                *page += &row([&format!("`{path}`"), &kind(member), what]);
            }
        }
    }
}

/// `integer, 1 to 100`.
fn kind(member: &Value) -> String {
    let given = &member["type"];
    let kinds = given.as_array().map_or_else(|| vec![given.clone()], Clone::clone);
    let kinds = kinds.iter().filter_map(Value::as_str).map(str::to_owned);
    let kinds: Vec<_> = kinds.filter(|kind| kind != "null").collect();
    let words = member["enum"].as_array().map(|words| {
        let words = words.iter().filter_map(Value::as_str).map(|word| format!("`{word}`"));
        words.collect::<Vec<_>>().join(" or ")
    });
    let kind = words.unwrap_or_else(|| kinds.join(" or "));
    match (member["minimum"].as_i64(), member["maximum"].as_i64()) {
        (Some(least), Some(most)) => format!("{kind}, {least} to {most}"),
        (None, Some(most)) => format!("{kind}, at most {most}"),
        (Some(least), None) if least > 0 => format!("{kind}, at least {least}"),
        (Some(_) | None, None) => kind,
    }
}

/// What is read from the environment is told of.
#[test]
fn every_variable_of_ours_is_in_the_reference() {
    let mut command = Cli::command();
    command.build();
    let mut told: Vec<String> = VARIABLES.iter().map(|(name, ..)| (*name).to_owned()).collect();
    let commands = command.get_subcommands().chain([&command]);
    for arg in commands.flat_map(clap::Command::get_arguments) {
        told.extend(arg.get_env().map(|name| name.to_string_lossy().into_owned()));
    }
    for (file, text) in sources() {
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        for rest in text.split("CARDWIRE_").skip(1) {
            let name: String = rest.chars().take_while(|c| c.is_ascii_uppercase() || *c == '_').collect();
            let name = format!("CARDWIRE_{name}");
            // A prefix, or what the checker of workers gives to those.
            let is_known = told.iter().any(|known| known.starts_with(&name)) || name == "CARDWIRE_TARGET";
            assert!(is_known, "{file} reads {name}, which the reference does not name");
        }
    }
}

/// The sources of the two crates that know the environment.
fn sources() -> Vec<(String, String)> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = vec![];
    let mut dirs = vec![root.join("src"), root.join("../egress/src")];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("reference") {
                dirs.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(found.len() > 50);
    found
}
