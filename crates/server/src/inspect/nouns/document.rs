//! Documents under names: teams, recipes, and what agents are given passages of.

use super::{ROWS, command, cursor, cut, handover::rules};
use crate::{
    error::Answer,
    http,
    inspect::{answer, gather, session::encoded, visit::Visit},
};
use cardwire_api::{knowledge, parse};
use cardwire_inspector::{
    Section,
    pages::{
        document as page,
        list::{self, Cell},
    },
    text,
};
use cardwire_kernel::{
    FoundSection, KnowledgeQuery, SourceView,
    protocol::{handover::recipe::Recipe, knowledge as shelf},
};
use cardwire_model::{Card, CardId, Invalid, ResourceKind, ResourceName, limits};
use serde_json::Value;

/// What is said of a kind of documents.
struct Kind {
    kind: ResourceKind,
    noun: &'static str,
    path: &'static str,
    title: &'static str,
    empty: (&'static str, &'static str),
    columns: [&'static str; 2],
}

const TEAMS: Kind = Kind {
    kind: ResourceKind::Team,
    noun: "team",
    path: "teams",
    title: "Which teams there are, and how they work",
    empty: ("There is no team yet. Keep one:", "team put examples/teams/research.yaml"),
    columns: ["process", "Agents"],
};

const RECIPES: Kind = Kind {
    kind: ResourceKind::Recipe,
    noun: "recipe",
    path: "recipes",
    title: "By which rules agents hand work over",
    empty: ("There is no recipe yet. Write one, and agents call it by its name:", "recipe put review.yaml"),
    columns: ["profile", "Rules"],
};

/// The teams of a project.
pub(in crate::inspect) async fn teams(visit: Visit) -> Answer {
    list(visit, &TEAMS).await
}

/// One team.
pub(in crate::inspect) async fn team(visit: Visit, name: &str) -> Answer {
    show(visit, &TEAMS, name).await
}

/// The recipes of a project.
pub(in crate::inspect) async fn recipes(visit: Visit) -> Answer {
    list(visit, &RECIPES).await
}

/// One recipe.
pub(in crate::inspect) async fn recipe(visit: Visit, name: &str) -> Answer {
    show(visit, &RECIPES, name).await
}

async fn list(visit: Visit, of: &Kind) -> Answer {
    if answer::wants_twin(&visit) {
        let (format, query, kind) = (visit.format, cursor(&visit), of.kind);
        let api = move |request| http::documents::list(request, kind);
        return answer::with_twins(format, of.title, visit.api(&[], &query), api).await;
    }
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let after = visit.request.parsed::<ResourceName>("after")?;
    let mut found = kernel.list_resources(project, of.kind, after.as_ref(), ROWS + 1).await?;
    let has_more = cut(&mut found);
    let rows = found.iter().map(|(document, card)| {
        let content = card.content.to_value();
        let (what, parts) = sums(of, &content);
        vec![
            Cell::Title {
                name: document.name.to_string(),
                href: Some(visit.link(&format!("/{}/{}", of.path, document.name))),
                line: text::first_line(content["description"].as_str().unwrap_or_default(), 160),
            },
            Cell::Text(what),
            Cell::Number(parts),
            Cell::At(Some(document.updated_at)),
        ]
    });
    let rows = rows.collect();
    let last = found.last().filter(|_| has_more);
    let view = list::List {
        noun: of.noun,
        columns: vec![of.noun, of.columns[0], of.columns[1], "Changed"],
        rows,
        next: last.map(|(document, _)| visit.link(&format!("/{}?after={}", of.path, document.name))),
        empty: (of.empty.0, command(&visit, of.empty.1)),
        search: None,
        now: visit.now,
    };
    let frame = visit.frame(Section::More, of.title, vec![(of.path.to_owned(), None)]);
    Ok(answer::html(list::show(&frame, &view)))
}

/// How a team works and how many are in it; whom a recipe is for and how many rules it has.
fn sums(of: &Kind, content: &Value) -> (String, Option<u64>) {
    let said = |value: &Value| value.as_str().unwrap_or(text::UNKNOWN).to_owned();
    match of.kind {
        ResourceKind::Team => {
            (said(&content["process"]), content["agents"].as_array().map(|agents| agents.len() as u64))
        }
        ResourceKind::Recipe
        | ResourceKind::Tool
        | ResourceKind::Plan
        | ResourceKind::Handoff
        | ResourceKind::Iteration
        | ResourceKind::HandoffType => {
            let handover = &content["handover"];
            let rules = handover["context_packing_config"]["pack_arguments"].as_array();
            (said(&handover["target_profile_config"]["profile_name"]), rules.map(|rules| rules.len() as u64))
        }
    }
}

async fn show(visit: Visit, of: &Kind, name: &str) -> Answer {
    let resource: ResourceName = parse::one(of.noun, name)?;
    if answer::wants_twin(&visit) {
        let (format, kind) = (visit.format, of.kind);
        let parameter = cardwire_api::documents::parameter(kind).unwrap_or("name");
        let api = move |request| http::documents::get(request, kind);
        return answer::with_twins(format, name, visit.api(&[(parameter, name)], &[]), api).await;
    }
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let (document, card) = kernel.resource(project, of.kind, &resource).await?;
    let content = card.content.to_value();
    let (what, parts) = sums(of, &content);
    let says = match Recipe::parse(&card.content) {
        Ok(recipe) => rules(&recipe.handover),
        Err(_) => members(&content),
    };
    let call = match of.kind {
        ResourceKind::Team => format!("team get {name}"),
        ResourceKind::Recipe
        | ResourceKind::Tool
        | ResourceKind::Plan
        | ResourceKind::Handoff
        | ResourceKind::Iteration
        | ResourceKind::HandoffType => format!("pmo call {name} --caller AGENT --args '{{…}}'"),
    };
    let mut facts = vec![(what, of.columns[0])];
    facts.extend(
        parts.map(|parts| {
            (text::grouped(parts), if of.kind == ResourceKind::Team { "agents" } else { "rules" })
        }),
    );
    let view = page::Document {
        noun: of.noun,
        facts,
        says,
        parts: vec![],
        total: 0,
        json: Some(serde_json::to_string_pretty(&content).unwrap_or_default()),
        card: Some(document.card_id.to_string()),
        command: command(&visit, &call),
        updated: Some(document.updated_at),
        now: visit.now,
    };
    let title = match of.kind {
        ResourceKind::Team => format!("How the team {name} works"),
        ResourceKind::Recipe
        | ResourceKind::Tool
        | ResourceKind::Plan
        | ResourceKind::Handoff
        | ResourceKind::Iteration
        | ResourceKind::HandoffType => format!("What {name} hands over"),
    };
    let way = vec![(of.path.to_owned(), Some(visit.link(&format!("/{}", of.path)))), (name.to_owned(), None)];
    Ok(answer::html(page::show(&visit.frame(Section::More, title, way), &view)))
}

/// Who is in a team, each as a sentence.
fn members(team: &Value) -> Vec<String> {
    let agents = team["agents"].as_array().into_iter().flatten();
    let sentence = |agent: &Value| {
        let id = agent["id"].as_str().unwrap_or(text::UNKNOWN);
        let says =
            [&agent["description"], &agent["profile"]["description"], &agent["profile"]["system_prompt"]];
        let says = says.into_iter().find_map(Value::as_str).unwrap_or(text::UNKNOWN);
        format!("{id}: {}", text::first_line(says, 200))
    };
    agents.map(sentence).collect()
}

/// The documents that agents are given passages of; with `q`, the sections that fit best.
pub(in crate::inspect) async fn sources(visit: Visit) -> Answer {
    let title = "Which documents agents are given passages of";
    let namespace = knowledge::namespace(visit.request.text("namespace"))?;
    let wanted = visit.request.text("q").unwrap_or_default().trim().to_owned();
    Invalid::check_size("q", wanted.chars().count(), limits::SEARCH_TEXT_CHARS, "characters")?;
    if answer::wants_twin(&visit) {
        let (format, mut query) = (visit.format, vec![("namespace", namespace.to_string())]);
        if wanted.is_empty() {
            query.extend(cursor(&visit));
            return answer::with_twins(format, title, visit.api(&[], &query), http::knowledge::list).await;
        }
        query.push(("query", wanted));
        return answer::with_twins(format, title, visit.api(&[], &query), http::knowledge::search).await;
    }
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let place = |source: &str| {
        visit.link(&format!("/knowledge/document?namespace={namespace}&source_id={}", encoded(source)))
    };
    let (rows, next, empty) = if wanted.is_empty() {
        let after = visit.request.text("after");
        after.map(shelf::check_source).transpose().map_err(|invalid| invalid.at("after"))?;
        let mut found = kernel.list_sources(project, &namespace, after, ROWS + 1).await?;
        let has_more = cut(&mut found);
        let row = |source: &SourceView| {
            let line = format!("of {namespace}");
            vec![
                Cell::Title { name: source.source_id.clone(), href: Some(place(&source.source_id)), line },
                Cell::Number(Some(source.parts.into())),
            ]
        };
        let next = found.last().filter(|_| has_more).map(|last| {
            visit.link(&format!("/knowledge?namespace={namespace}&after={}", encoded(&last.source_id)))
        });
        (found.iter().map(row).collect(), next, "Nothing is known yet. Take files in:")
    } else {
        let query = KnowledgeQuery {
            shelf: shelf::shelf(&namespace),
            text: wanted.clone(),
            method: None,
            top_k: ROWS,
            score_threshold: None,
        };
        let found = kernel.search_sections(project, &query).await?;
        let row = |found: &FoundSection| {
            let (title, said) = section(&found.card);
            let name = if title.is_empty() {
                found.source_id.clone()
            } else {
                format!("{} · {title}", found.source_id)
            };
            vec![
                Cell::Title {
                    name,
                    href: Some(place(&found.source_id)),
                    line: text::first_line(body(&said), 200),
                },
                Cell::Number(Some(found.part.into())),
            ]
        };
        (found.sections.iter().map(row).collect(), None, "Nothing that is known fits. Take more files in:")
    };
    let view = list::List {
        noun: if wanted.is_empty() { "document" } else { "section" },
        columns: vec!["document", if wanted.is_empty() { "Parts" } else { "Part" }],
        rows,
        next,
        empty: (empty, command(&visit, "knowledge add docs/")),
        search: Some(("Search in what is known", wanted)),
        now: visit.now,
    };
    let frame = visit.frame(Section::More, title, vec![("knowledge".to_owned(), None)]);
    Ok(answer::html(list::show(&frame, &view)))
}

/// The heading and the text of a section.
fn section(card: &Card) -> (String, String) {
    let content = card.content.to_value();
    let said = |name: &str| content[name].as_str().unwrap_or_default().to_owned();
    (said("title"), said("text"))
}

/// A section without its heading.
fn body(said: &str) -> &str {
    match said.split_once('\n') {
        Some((heading, body)) if heading.starts_with('#') => body.trim_start(),
        Some(_) | None => said,
    }
}

/// One document that agents are given passages of.
pub(in crate::inspect) async fn source(visit: Visit) -> Answer {
    let namespace = knowledge::namespace(visit.request.text("namespace"))?;
    let source = visit.request.required("source_id")?.to_owned();
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let ids: Vec<CardId> = kernel.sections_of_source(project, &namespace, &source).await?;
    if answer::wants_twin(&visit) {
        let format = visit.format;
        let ids: Vec<String> = ids.iter().take(ROWS).map(ToString::to_string).collect();
        let mut request = visit.api(&[], &[]);
        request.body = serde_json::json!({ "card_ids": ids }).to_string().into();
        return answer::with_twins(format, &source, request, http::cards::batch).await;
    }
    let first: Vec<CardId> = ids.iter().copied().take(ROWS).collect();
    let cards = gather::cards(kernel, project, &first).await?;
    let part = |id: &CardId| {
        let card = cards.get(id).filter(|card| card.is_visible(visit.now))?;
        let (title, said) = section(card);
        let title = if title.is_empty() { "Section".to_owned() } else { title };
        Some(page::Part { title, text: said, card: Some(id.to_string()), tokens: Some(card.tokens.into()) })
    };
    let view = page::Document {
        noun: "knowledge",
        facts: vec![(text::grouped(ids.len() as u64), "sections"), (namespace.to_string(), "is whose it is")],
        says: vec![],
        parts: first.iter().filter_map(part).collect(),
        total: ids.len() as u64,
        json: None,
        card: None,
        command: command(&visit, "knowledge search \"…\""),
        updated: cards.values().map(|card| card.created_at).max(),
        now: visit.now,
    };
    let way = vec![("knowledge".to_owned(), Some(visit.link("/knowledge"))), (source.clone(), None)];
    let title = format!("What is known from {source}");
    Ok(answer::html(page::show(&visit.frame(Section::More, title, way), &view)))
}
