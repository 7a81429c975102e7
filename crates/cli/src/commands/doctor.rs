//! `cardwire doctor`: what could be wrong, checked one by one.

use crate::{
    client::{Client, Place, is_healthy},
    context::Context,
    data_dir::DataDir,
    failure::Failure,
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
        for Check { name, status, detail } in &self.checks {
            output.line(format_args!("{:<4}  {name}: {}", status.as_str(), clean(detail)))?;
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
    match locate::connect(context, Init::Never).await {
        Ok(client) => {
            check_store(&client, &mut findings).await;
            client.close().await;
        }
        Err(failure) => findings.add("store", Status::Fail, failure.message),
    }
    findings.print(context.output)?;
    match findings.failures() {
        0 => Ok(()),
        1 => Err(Failure::failed("1 check failed").hint(HINT)),
        many => Err(Failure::failed(format!("{many} checks failed")).hint(HINT)),
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
        Err(error) => findings.add(name, Status::Fail, format!("`{shown}`: {error}")),
    }
}

async fn check_server(context: &Context, findings: &mut Findings) {
    let mut add = |status, detail: String| findings.add("server", status, detail);
    if let Some(url) = &context.globals.server {
        let place = Place { url: url.clone(), certificate: None };
        return match is_healthy(&place).await {
            true => add(Status::Ok, format!("{url} answers")),
            false => add(Status::Fail, format!("{url} does not answer")),
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
        Err(failure) => return findings.add("store", Status::Fail, failure.message),
    };
    if answer.status == 401 {
        return findings.add("token", Status::Fail, "it is not accepted; set CARDWIRE_TOKEN or --data-dir");
    }
    findings.add("token", Status::Ok, "it is accepted");
    if answer.status != 200 {
        return findings.add("store", Status::Fail, answer.into_failure().message);
    }
    match answer.parse::<Value>() {
        Ok(ready) => check_ready(&ready, findings),
        Err(failure) => findings.add("store", Status::Fail, failure.message),
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
