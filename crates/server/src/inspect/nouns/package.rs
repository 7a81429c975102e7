//! Handoff packages: what is in one, and what is loaded of it under a budget.

use super::{ROWS, command, cursor, cut};
use crate::{
    error::Answer,
    http,
    inspect::{answer, visit::Visit},
};
use cardwire_api::handoffs::{LoadIn, LoadOut, PartName, PartOut};
use cardwire_inspector::{
    Section,
    pages::{
        list::{self, Cell},
        package as page,
    },
    text,
};
use cardwire_kernel::HandoffView;
use cardwire_model::ResourceName;
use serde_json::{Value, json};

/// The packages of a project, the oldest first.
pub(in crate::inspect) async fn list(visit: Visit) -> Answer {
    let title = "Which files were handed over";
    if answer::wants_twin(&visit) {
        let (format, query) = (visit.format, cursor(&visit));
        return answer::with_twins(format, title, visit.api(&[], &query), http::handoffs::list).await;
    }
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let after = visit.request.parsed::<ResourceName>("after")?;
    let mut found = kernel.list_handoffs(project, after.as_ref(), ROWS + 1).await?;
    let has_more = cut(&mut found);
    let row = |view: &HandoffView| {
        let content = view.card.content.to_value();
        vec![
            Cell::Title {
                name: content["handoff_type"].as_str().unwrap_or(text::UNKNOWN).to_owned(),
                href: Some(visit.link(&format!("/handoffs/{}", view.id))),
                line: text::short(view.id.as_str()),
            },
            Cell::Number(Some(index_of(&content).len() as u64)),
            Cell::Number(Some(view.card.tokens.into())),
            Cell::At(Some(view.card.created_at)),
        ]
    };
    let next =
        found.last().filter(|_| has_more).map(|last| visit.link(&format!("/handoffs?after={}", last.id)));
    let view = list::List {
        noun: "package",
        columns: vec!["package", "Entries", "Tokens", "Accepted"],
        rows: found.iter().map(row).collect(),
        next,
        empty: ("No package was handed over yet. Send one:", command(&visit, "handoff send package.json")),
        search: None,
        now: visit.now,
    };
    let frame = visit.frame(Section::More, title, vec![("packages".to_owned(), None)]);
    Ok(answer::html(list::show(&frame, &view)))
}

/// One package.
pub(in crate::inspect) async fn show(mut visit: Visit, id: &str) -> Answer {
    let mode = visit.request.text("mode").unwrap_or("typical").to_owned();
    let budget = visit.request.integer("budget")?;
    if answer::wants_twin(&visit) {
        let (format, title) = (visit.format, format!("Package {id}"));
        return answer::with_twins(
            format,
            &title,
            visit.api(&[("handoff_id", id)], &[]),
            http::handoffs::get,
        )
        .await;
    }
    visit.request.params.insert("handoff_id".to_owned(), id.to_owned());
    let wanted = json!({ "mode": mode, "budget": budget });
    let wanted = cardwire_api::parse::body::<LoadIn>(wanted.to_string().as_bytes())?.into_request()?;
    let budget = wanted.budget;
    let view = http::handoffs::view(&visit.request).await?;
    let (package, warnings) = http::handoffs::stored(&view)?;
    let load = match http::handoffs::loaded(&visit.request, &view, wanted).await {
        Ok(load) => Ok(parts(&LoadOut::new(id.to_owned(), load))),
        // A package without files, or whose files are elsewhere, still has an index.
        Err(error) if error.code.status() < 500 => Err(error.message),
        Err(error) => return Err(error),
    };
    let tokens = package.token_estimate();
    let kind = package.handoff_type().to_owned();
    let document = package.into_value();
    let index = index_of(&document);
    let page_view = page::Package {
        id: id.to_owned(),
        kind: kind.clone(),
        card: view.card.id.to_string(),
        box_id: view.box_id.clone(),
        tokens: tokens.into(),
        warnings: warnings.iter().map(|problem| problem.message.clone()).collect(),
        index_total: index.len() as u64,
        index: index.into_iter().take(ROWS).collect(),
        document: serde_json::to_string_pretty(&document).unwrap_or_default(),
        mode,
        budget: budget.into(),
        load,
        at: view.card.created_at,
        now: visit.now,
    };
    let way = vec![("packages".to_owned(), Some(visit.link("/handoffs"))), (text::short(id), None)];
    let title =
        format!("What this package holds, and what fits into {} tokens", text::grouped(budget.into()));
    Ok(answer::html(page::show(&visit.frame(Section::More, title, way), &page_view)))
}

/// What a package refers to: its failed samples, or its design files.
fn index_of(package: &Value) -> Vec<page::Entry> {
    let text = |value: &Value| value.as_str().unwrap_or(text::UNKNOWN).to_owned();
    if let Some(samples) = package["failure_samples_index"].as_array() {
        let entry = |sample: &Value| {
            let members = sample.as_object().into_iter().flatten();
            let paths = members.filter(|(name, _)| name.ends_with("_path"));
            page::Entry {
                name: text(&sample["sample_id"]),
                line: format!("{}, priority {}", text(&sample["failure_type"]), text(&sample["priority"])),
                paths: paths.filter_map(|(_, path)| path.as_str().map(str::to_owned)).collect(),
            }
        };
        return samples.iter().map(entry).collect();
    }
    let files = package["design_artifacts"].as_object().into_iter().flatten();
    let entry = |(name, path): (&String, &Value)| page::Entry {
        name: name.clone(),
        line: "a design file".to_owned(),
        paths: path.as_str().map(str::to_owned).into_iter().collect(),
    };
    files.map(entry).collect()
}

fn parts(load: &LoadOut) -> page::Load {
    let name = |part: PartName| {
        serde_json::to_value(part).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
    };
    let mut parts: Vec<page::Part> = load
        .loaded
        .iter()
        .map(|part| page::Part {
            sample: part.sample_id.clone(),
            name: name(part.part),
            path: part.path.clone(),
            tokens: Some(part.tokens.into()),
            state: if part.truncated { "shortened" } else { "loaded" },
        })
        .collect();
    let is_changed = |part: &PartOut| load.changed.iter().any(|changed| changed.path == part.path);
    let invalid = load
        .invalid
        .iter()
        .map(|part| (part, if is_changed(part) { "changed since" } else { "not readable" }));
    let left = load
        .omitted
        .iter()
        .map(|part| (part, "no room"))
        .chain(load.missing.iter().map(|part| (part, "gone")));
    parts.extend(left.chain(invalid).map(|(part, state)| page::Part {
        sample: part.sample_id.clone(),
        name: name(part.part),
        path: part.path.clone(),
        tokens: part.tokens.map(u64::from),
        state,
    }));
    let total = parts.len() as u64;
    parts.truncate(ROWS);
    page::Load { used: load.used.into(), over: load.over_budget, parts, total }
}
