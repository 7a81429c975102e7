//! `cardwire card get` (CB-21): input order, duplicates repeated, missing ones skipped. With `--json` a list of cards.

use super::card;
use crate::{client::Client, failure::Failure, output::Output, route::Route};
use axum::http::Method;
use cardwire_kernel::protocol::facts::distinct;
use cardwire_model::{CardId, limits};
use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use std::collections::HashMap;

#[derive(Debug, Args)]
pub(crate) struct GetArgs {
    /// Ids of cards; an id given twice is shown twice.
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Show deleted and expired cards too.
    #[arg(long)]
    include_deleted: bool,
}

/// One answer of the server. Cards are kept as they came.
#[derive(Deserialize)]
struct Batch {
    cards: Vec<Box<RawValue>>,
    #[serde(default)]
    damaged_ids: Vec<String>,
}

#[derive(Deserialize)]
struct Id {
    card_id: String,
}

pub(crate) async fn run(
    args: &GetArgs,
    project: &str,
    output: Output,
    client: &Client,
) -> Result<(), Failure> {
    let asked: Vec<CardId> = cardwire_api::parse::list("card_ids", &args.ids)?;
    let (mut found, damaged) = read_some(&distinct(&asked), project, client).await?;
    if args.include_deleted {
        for id in distinct(&asked) {
            if !found.contains_key(&id)
                && !damaged.contains(&id)
                && let Some(card) = read_deleted(id, project, client).await?
            {
                found.insert(id, card);
            }
        }
    }
    let cards: Vec<&RawValue> = asked.iter().filter_map(|id| found.get(id)).map(Box::as_ref).collect();
    let is_missing = |id: &CardId| !found.contains_key(id) && !damaged.contains(id);
    let missing: Vec<CardId> = distinct(&asked).into_iter().filter(is_missing).collect();
    let missing_ids: Vec<String> = missing.iter().map(ToString::to_string).collect();
    let nothing = cards.is_empty();
    if !missing_ids.is_empty() {
        crate::output::say(&format!("missing: {}", missing_ids.join(" ")));
    }
    if output.json {
        let shown = serde_json::to_string(&cards);
        output.json(&shown.map_err(|error| Failure::failed(error.to_string()))?)?;
    } else if !nothing {
        let cards =
            cards.iter().map(|card| serde_json::from_str(card.get())).collect::<Result<Vec<Value>, _>>();
        card::table(cards.map_err(|error| Failure::failed(error.to_string()))?.iter(), output)?;
    }
    if !damaged.is_empty() {
        return Err(damage(&damaged));
    }
    if nothing {
        return Err(Failure::not_found(format!("none of these cards is in project {project}")));
    }
    Ok(())
}

/// Cards by their ids, as they came.
type Cards = HashMap<CardId, Box<RawValue>>;

fn damage(ids: &[CardId]) -> Failure {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    Failure::failed(format!("what is stored is not what was written: {}", ids.join(" ")))
        .hint("`cardwire verify` tells how much is damaged, and a backup has the cards")
}

/// Reads as many at once as the server allows, and tells which are damaged.
async fn read_some(ids: &[CardId], project: &str, client: &Client) -> Result<(Cards, Vec<CardId>), Failure> {
    let route = Route::in_project(project, &["cards", "batch"])?;
    let (mut found, mut damaged) = (HashMap::new(), vec![]);
    for chunk in ids.chunks(limits::BATCH_IDS) {
        let ids: Vec<String> = chunk.iter().map(ToString::to_string).collect();
        let batch: Batch = client.post(&route, &json!({ "card_ids": ids })).await?.parse()?;
        for card in batch.cards {
            let id: Id = serde_json::from_str(card.get())
                .map_err(|error| Failure::failed(format!("the server sent a card without an id: {error}")))?;
            found.insert(id.card_id.parse()?, card);
        }
        for id in batch.damaged_ids {
            damaged.push(id.parse()?);
        }
    }
    Ok((found, damaged))
}

/// Batches never hold deleted cards, so these are asked for one by one.
async fn read_deleted(id: CardId, project: &str, client: &Client) -> Result<Option<Box<RawValue>>, Failure> {
    let route = Route::in_project(project, &["cards", &id.to_string()])?.query("include_deleted", Some(true));
    let answer = client.ask(Method::GET, &route, None).await?;
    match answer.status {
        200 => answer.parse().map(Some),
        404 => Ok(None),
        _ => Err(answer.into_failure()),
    }
}
