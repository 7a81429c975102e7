//! `cardwire doctor`: what could be wrong, checked one by one.

use super::{doctor_waiting, unfinished};
use crate::{
    client::{Client, Place, health, is_healthy},
    context::Context,
    data_dir::DataDir,
    failure::Failure,
    hint::Asked,
    locate::{self, Init},
    output::Output,
    presence::{self, Found},
    private,
    route::Route,
    text::clean,
};
use axum::http::Method;
use serde::Serialize;
use serde_json::Value;
use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Ok,
    Warn,
    Fail,
}

impl Status {
    fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    status: Status,
    detail: String,
}

/// Everything that was found.
#[derive(Debug, Default, Serialize)]
struct Findings {
    checks: Vec<Check>,
}

impl Findings {
    fn add(&mut self, name: &'static str, status: Status, detail: impl Into<String>) {
        self.checks.push(Check { name, status, detail: detail.into() });
    }

    fn failures(&self) -> usize {
        self.checks.iter().filter(|check| check.status == Status::Fail).count()
    }

    fn print(&self, output: Output) -> Result<(), Failure> {
        if output.json {
            let json = serde_json::json!({ "ok": self.failures() == 0, "checks": self.checks });
            return output.json(&json.to_string());
        }
        let asked = Asked::here();
        for Check { name, status, detail } in &self.checks {
            let detail = asked.complete(detail);
            output.line(format_args!("{:<4}  {name}: {}", status.as_str(), clean(&detail)))?;
        }
        Ok(())
    }
}

const HINT: &str = "what failed is told with what is wrong; put that right and check again";

pub(crate) async fn run(context: &Context) -> Result<(), Failure> {
    let mut findings = Findings::default();
    if context.globals.server.is_none() {
        check_files(&context.dir, &mut findings);
    }
    check_server(context, &mut findings).await;
    match locate::given_token() {
        Err(failure) => findings.add("token", Status::Fail, told(&failure)),
        Ok(_) => match locate::connect(context, Init::Never).await {
            Ok(client) => {
                check_store(&client, &mut findings).await;
                if findings.failures() == 0 {
                    check_workers(&client, &mut findings).await;
                }
                client.close().await;
            }
            Err(failure) => findings.add("store", Status::Fail, told(&failure)),
        },
    }
    findings.print(context.output)?;
    match findings.failures() {
        0 => Ok(()),
        1 => Err(Failure::failed("1 check failed").hint(HINT)),
        many => Err(Failure::failed(format!("{many} checks failed")).hint(HINT)),
    }
}

/// What went wrong, and what to do.
fn told(failure: &Failure) -> String {
    match &failure.hint {
        Some(hint) => format!("{}; {hint}", failure.message),
        None => failure.message.clone(),
    }
}

fn check_files(dir: &DataDir, findings: &mut Findings) {
    // Others who can look into the directory see names; others who can read the token can do everything.
    check_mode("data directory", dir.path(), Status::Warn, "chmod 700", findings);
    if dir.path().exists() {
        check_mode("token file", &dir.token_file(), Status::Fail, "chmod 600", findings);
    }
}

fn check_mode(name: &'static str, path: &Path, bad: Status, remedy: &str, findings: &mut Findings) {
    let shown = path.display();
    match private::open_to_others(path) {
        Ok(None) => findings.add(name, Status::Ok, format!("`{shown}` is for its owner only")),
        Ok(Some(mode)) => {
            findings.add(name, bad, format!("`{shown}` has mode {mode:o}; use `{remedy} {shown}`"));
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let detail = format!(
                "`{shown}` is not there; `cardwire up` makes it, and so does the first run of a team"
            );
            findings.add(name, Status::Fail, detail);
        }
        Err(error) => findings.add(name, Status::Fail, format!("`{shown}`: {error}")),
    }
}

async fn check_server(context: &Context, findings: &mut Findings) {
    let mut add = |status, detail: String| findings.add("server", status, detail);
    if let Some(url) = &context.globals.server {
        let place = Place { url: url.clone(), certificate: None };
        return match health(&place).await {
            Ok(()) => add(Status::Ok, format!("{url} answers")),
            Err(failure) => add(Status::Fail, told(&failure)),
        };
    }
    match presence::find(&context.dir) {
        Found::Nothing => add(Status::Ok, "none is running; commands open the store themselves".to_owned()),
        Found::Stale(address) => {
            let detail = format!("process {} ended without tidying up; its address is ignored", address.pid);
            add(Status::Warn, detail);
        }
        Found::Live(address) if is_healthy(&address.place()).await => {
            add(Status::Ok, format!("process {} answers at {}", address.pid, address.url));
        }
        Found::Live(address) => {
            add(Status::Fail, format!("process {} does not answer at {}", address.pid, address.url));
        }
    }
}

async fn check_store(client: &Client, findings: &mut Findings) {
    let route = match Route::new(&["ready"]) {
        Ok(route) => route,
        Err(failure) => return findings.add("store", Status::Fail, failure.message),
    };
    let answer = match client.ask(Method::GET, &route, None).await {
        Ok(answer) => answer,
        Err(failure) => return findings.add("store", Status::Fail, told(&failure)),
    };
    if matches!(answer.status, 401 | 403) {
        return findings.add("token", Status::Fail, told(&answer.into_failure()));
    }
    findings.add("token", Status::Ok, "it is accepted");
    if answer.status != 200 {
        return findings.add("store", Status::Fail, answer.into_failure().message);
    }
    match answer.parse::<Value>() {
        Ok(ready) => check_ready(&ready, findings),
        Err(failure) => return findings.add("store", Status::Fail, failure.message),
    }
    check_runs(client, findings).await;
}

/// Runs that have not ended (F-07). A server goes on with them by itself; without one they wait.
async fn check_runs(client: &Client, findings: &mut Findings) {
    let (runs, more) = match unfinished::runs(client, None).await {
        Ok(found) => found,
        Err(failure) => return findings.add("runs", Status::Fail, told(&failure)),
    };
    if runs.is_empty() {
        return findings.add("runs", Status::Ok, "all have ended");
    }
    for run in &runs {
        let (words, commands) = (run.words(), run.commands(None));
        let (resume, stop) = (commands.resume, commands.stop);
        match client {
            Client::Http(_) => findings.add(
                "run",
                Status::Ok,
                format!(
                    "{words}; the server goes on with it ({}): `{resume}` watches it, `{stop}` stops it",
                    run.status()
                ),
            ),
            Client::Embedded(_) => findings.add(
                "run",
                Status::Warn,
                format!("{words}, and nobody works on it: `{resume}` goes on with it, `{stop}` gives it up"),
            ),
        }
    }
    if more {
        findings.add("runs", Status::Ok, format!("there are more than these {}", runs.len()));
    }
}

/// Work that nobody serves is no fault of the server, and is what people wonder about.
async fn check_workers(client: &Client, findings: &mut Findings) {
    match doctor_waiting::unasked(client).await {
        Ok(told) if told.is_empty() => findings.add("workers", Status::Ok, "no turn waits for one in vain"),
        Ok(told) => told.into_iter().for_each(|detail| findings.add("workers", Status::Warn, detail)),
        Err(failure) => findings.add("workers", Status::Warn, failure.message),
    }
}

fn check_ready(ready: &Value, findings: &mut Findings) {
    let text = |name: &str| crate::text::cell(&ready[name]);
    let store = format!("{} {} answers, schema {}", text("store"), text("store_version"), text("schema"));
    findings.add("store", Status::Ok, store);
    let (ours, theirs) = (env!("CARGO_PKG_VERSION"), text("version"));
    if ours == theirs {
        findings.add("version", Status::Ok, ours);
    } else {
        findings.add("version", Status::Warn, format!("this command is {ours}, the server is {theirs}"));
    }
    for (name, field, what) in [
        ("events", "unnumbered_events", "committed events have no position yet"),
        ("audit", "unsealed_audit", "audit rows are not sealed yet"),
    ] {
        match ready[field].as_u64() {
            Some(0) => findings.add(name, Status::Ok, format!("0 {what}")),
            Some(backlog) => {
                let detail = format!("{backlog} {what}; that should not last longer than a second");
                findings.add(name, Status::Warn, detail);
            }
            None => findings.add(name, Status::Fail, format!("the server does not tell `{field}`")),
        }
    }
}
