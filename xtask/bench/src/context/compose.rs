//! A request of 5,000 cards and 5 MB: composed, fitted, linted, rendered and hashed, with its manifest, against the time
//! that serde_json takes to write the same messages. And the whole call in the kernel, where no text is counted twice.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, ensure};
use cardwire_kernel::composer::compose::{Layers, arrange};
use cardwire_kernel::composer::fit::{self, Budget};
use cardwire_kernel::composer::piece::{Body, Piece, Place as Where, Reference};
use cardwire_kernel::composer::process::Process;
use cardwire_kernel::composer::render::{self, RequestSpec};
use cardwire_kernel::composer::tokens::Tokenizer;
use cardwire_kernel::composer::{lint, manifest};
use cardwire_kernel::protocol::turn::{Fence, Proof};
use cardwire_kernel::{CallRequest, Kernel};
use cardwire_model::{
    BoxId, CanonicalJson, Card, CardDraft, CardId, Cause, Generation, Layer, Origin, Placement, Provider,
    Timestamp,
};
use serde::Serialize;
use serde_json::{Map, json};
use std::collections::BTreeMap;

use super::AREA;
use crate::Plan;
use crate::database::Database;
use crate::measure::{Latencies, median};
use crate::report::{Check, Line, Report};
use crate::turns::place::Place;
use crate::world::TEXT;

const CARDS: usize = 5_000;
/// Five times 200 bytes.
const REPEATS: usize = 5;
const TIMES: usize = 7;
/// How much longer than writing the messages alone.
const TARGET: f64 = 3.0;

pub(super) async fn run(
    database: &dyn Database,
    kernel: Arc<Kernel>,
    plan: Plan,
    report: &mut Report,
) -> anyhow::Result<()> {
    pure(database, plan, report)?;
    whole(database, kernel, report).await
}

/// A message as a program that has nothing but messages would hold it.
#[derive(Serialize)]
struct Plain {
    role: &'static str,
    content: String,
}

fn pure(database: &dyn Database, plan: Plan, report: &mut Report) -> anyhow::Result<()> {
    let cards = cards()?;
    let plain: Vec<Plain> = cards
        .iter()
        .map(|card| Plain { role: card.role.as_str(), content: card.content.to_text().unwrap_or_default() })
        .collect();
    let (mut ratios, mut ours, mut theirs, mut latencies) = (vec![], vec![], vec![], Latencies::default());
    for _ in 0..plan.rounds {
        let (mut own, mut raw) = (vec![], vec![]);
        for _ in 0..TIMES {
            let begun = Instant::now();
            let written = serde_json::to_vec(&plain)?;
            raw.push(begun.elapsed().as_secs_f64());
            ensure!(written.len() > 5_000_000, "{} bytes", written.len());
            let begun = Instant::now();
            let body = compose(&cards)?;
            let time = begun.elapsed();
            ensure!(body > 5_000_000, "{body} bytes");
            own.push(time.as_secs_f64());
            latencies.add(time);
        }
        ratios.push(median(&own) / median(&raw));
        ours.push(median(&own));
        theirs.push(median(&raw));
    }
    let ratio = median(&ratios);
    report.checks.push(Check::at_most("compose_5000", "× serde_json", TARGET, ratio));
    report.lines.push(Line {
        area: AREA,
        case: "compose_5000".to_owned(),
        store: database.name(),
        value: median(&ours) * 1e6,
        unit: "µs",
        raw: Some(median(&theirs) * 1e6),
        ratio: Some(ratio),
        p50_ms: latencies.percentile_ms(0.5),
        p99_ms: latencies.percentile_ms(0.99),
        n: latencies.len(),
        ..Line::default()
    });
    Ok(())
}

/// Every step from cached cards to a request with its manifest; answers the length of the request.
fn compose(cards: &[Card]) -> anyhow::Result<usize> {
    let box_id = BoxId::from_uuid(uuid::Uuid::from_u128(1));
    let checkpoint: Vec<Piece<'_>> = cards
        .iter()
        .enumerate()
        .map(|(index, card)| {
            let place = Where { box_id, generation: Generation::FIRST, index: index as u32 };
            Piece {
                layer: Layer::Checkpoint,
                context_key: None,
                cause: Cause::Memory,
                body: Body::Card(card),
                reference: Reference::Card { id: card.id, place: Some(place) },
                tokens: Tokenizer::Estimate.count_card(card),
                pinned: false,
            }
        })
        .collect();
    let layers = Layers { system_prompt: None, blocks: vec![], checkpoint, query: None, turn: vec![] };
    let pieces = arrange(layers, Placement::Seed);
    let fitted = fit::fit(pieces, Budget { window: Some(10_000_000), reserve: 4_096, fixed: 0 })?;
    let linted = lint::lint(Provider::OpenAiChat, &fitted.kept)?;
    let params = Map::new();
    let spec = RequestSpec { provider: Provider::OpenAiChat, model: "bench", params: &params, tools: None };
    let body = render::render(&linted, &spec);
    let entries = manifest::entries(&fitted.kept, &linted.omitted)?;
    let hash = render::sha256(&body);
    ensure!(entries.len() == 1 && hash.len() == 64, "{} entries", entries.len());
    Ok(body.len())
}

fn cards() -> anyhow::Result<Vec<Card>> {
    let card = |number: usize| {
        let role = if number.is_multiple_of(2) { "user" } else { "assistant" };
        let draft = CardDraft {
            content: CanonicalJson::string(&format!("{number}: {}", TEXT.repeat(REPEATS + 1)))?,
            metadata: CanonicalJson::from_value(&json!({ "type": "session.message", "role": role }))?,
            tool_calls: None,
            tool_call_id: None,
            ttl_seconds: None,
        };
        let id = CardId::from_uuid(uuid::Uuid::from_u128(number as u128 + 1));
        Ok(draft.into_card(id, Origin::Agent, Timestamp::from_micros(0))?)
    };
    (0..CARDS).map(card).collect()
}

/// A call in the kernel, twice: the second time nothing is tokenised.
async fn whole(database: &dyn Database, kernel: Arc<Kernel>, report: &mut Report) -> anyhow::Result<()> {
    let mut place = Place::create(Arc::clone(&kernel), "compose", 0).await?;
    let agent = place.add_agent("composer").await?;
    let context = place.world.filled_box(CARDS).await?;
    place.dispatch_with(&agent, context, None).await?;
    let lease = place.claim("bench", std::time::Duration::ZERO).await?.pop().context("no lease")?;
    let turn = lease.turn.as_ref().context("a lease without a turn")?;
    let fence = Fence {
        turn_id: lease.turn_id,
        epoch: lease.epoch,
        proof: Proof::Lease(cardwire_model::Hash256::of(&turn.secret)),
    };
    let request = CallRequest {
        fence,
        provider: Some(Provider::OpenAiChat),
        model: Some("gpt-4o".to_owned()),
        params: Map::new(),
        tools: None,
        process: Process::Sequential,
        share: false,
        contexts: BTreeMap::new(),
        without: vec![],
        window: None,
        reserve: None,
        step_id: None,
        purpose: cardwire_kernel::Purpose::Answer,
    };
    let compose = async || {
        let done = kernel.compose_call(&place.world.project, place.caller(), &request, None).await?;
        done.fresh().context("nobody has asked before")
    };
    let first = compose().await?;
    let counted = kernel.texts_counted();
    let (mut latencies, mut bytes) = (Latencies::default(), vec![]);
    for _ in 0..TIMES {
        let before = database.bytes().await?;
        let begun = Instant::now();
        let again = compose().await?;
        latencies.add(begun.elapsed());
        bytes.push((database.bytes().await? - before) as f64);
        ensure!(again.body == first.body, "the same cards made another request");
    }
    let more = kernel.texts_counted() - counted;
    let target = "no text counted again";
    report.checks.push(Check::new("call_5000", target, format!("{more} counted"), more == 0));
    report.lines.push(Line {
        area: AREA,
        case: "call_5000".to_owned(),
        store: database.name(),
        value: latencies.percentile_ms(0.5).unwrap_or_default() * 1e3,
        unit: "µs",
        p50_ms: latencies.percentile_ms(0.5),
        p99_ms: latencies.percentile_ms(0.99),
        wal_bytes: Some(median(&bytes)),
        n: latencies.len(),
        ..Line::default()
    });
    Ok(())
}
