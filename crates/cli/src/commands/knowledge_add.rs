//! `cardwire knowledge add`: one request for each document, so that a directory may be larger than any request.

use super::knowledge_files::{self, File};
use crate::{
    client::{Answer, Client, Payload},
    failure::Failure,
    output::Output,
    route::Route,
    text::{cell, clean, count},
};
use axum::http::Method;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json, value::RawValue};
use std::path::PathBuf;

pub(crate) async fn run(
    paths: &[PathBuf],
    namespace: Option<&str>,
    route: &Route,
    output: Output,
    client: &Client,
) -> Result<(), Failure> {
    let found = knowledge_files::find(paths)?;
    let bar = bar(found.files.len() as u64);
    let note = |what: &str, why: &str| bar.suspend(|| output.note(clean(&format!("skipped {what}: {why}"))));
    for (name, why) in &found.skipped {
        note(name, why);
    }
    let mut taken = Taken::default();
    let mut outcome = Ok(());
    for file in &found.files {
        bar.set_message(clean(&file.source_id));
        outcome = taken.add(file, namespace, route, client, &note).await;
        if outcome.is_err() {
            break;
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    // What was taken in stays, also when the rest could not be.
    taken.tell(output)?;
    outcome.and_then(|()| taken.ended())
}

/// How the documents fared.
#[derive(Default)]
struct Taken {
    /// The server's answers.
    answers: Vec<Box<RawValue>>,
    /// Documents that it refused.
    refused: Vec<Failure>,
}

impl Taken {
    async fn add(
        &mut self,
        file: &File,
        namespace: Option<&str>,
        route: &Route,
        client: &Client,
        note: &impl Fn(&str, &str),
    ) -> Result<(), Failure> {
        let text = match file.read()? {
            Ok(text) => text,
            Err(why) => {
                note(&file.source_id, why);
                return Ok(());
            }
        };
        let answer = send(file, &text, namespace, route, client).await?;
        match answer.status {
            200..300 => self.answers.push(answer.parse()?),
            // One document that cannot be is no reason to leave the others out.
            400 | 413 => {
                let failure = answer.into_failure();
                note(&file.source_id, &failure.message);
                self.refused.push(failure);
            }
            _ => return Err(answer.into_failure()),
        }
        Ok(())
    }

    fn tell(&self, output: Output) -> Result<(), Failure> {
        // A failure says the rest.
        if self.answers.is_empty() {
            return Ok(());
        }
        let wrong = |error: serde_json::Error| Failure::failed(error.to_string());
        if output.json {
            return output.json(&serde_json::to_string(&self.answers).map_err(wrong)?);
        }
        let row = |answer: &RawValue| {
            let answer: Value = serde_json::from_str(answer.get())?;
            Ok(["source_id", "sections", "parts"].map(|name| cell(&answer[name])).to_vec())
        };
        let rows = self.answers.iter().map(Box::as_ref).map(row).collect::<Result<_, _>>().map_err(wrong)?;
        output.table(&["SOURCE", "SECTIONS", "PARTS"], rows)
    }

    fn ended(mut self) -> Result<(), Failure> {
        match (self.answers.len() as u64, self.refused.len() as u64) {
            (0, 0) => Err(Failure::usage("there is nothing to take in")
                .hint("give text files in UTF-8, or directories that hold some")),
            (_, 0) => Ok(()),
            (0, 1) => Err(self.refused.remove(0)),
            (taken, bad) => Err(Failure::failed(format!(
                "{} taken in, {} not",
                count(taken, "document was", "documents were"),
                count(bad, "was", "were")
            ))
            .hint("each that was not is noted above with the reason")),
        }
    }
}

async fn send(
    file: &File,
    text: &str,
    namespace: Option<&str>,
    route: &Route,
    client: &Client,
) -> Result<Answer, Failure> {
    let mut body = json!({ "source_id": file.source_id, "text": text });
    if let Some(namespace) = namespace {
        body["namespace"] = namespace.into();
    }
    client.ask(Method::POST, route, Some(Payload::json(body.to_string()))).await
}

/// Shown on a terminal only.
fn bar(files: u64) -> ProgressBar {
    let bar = ProgressBar::new(files);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {wide_msg}") {
        bar.set_style(style);
    }
    bar
}
