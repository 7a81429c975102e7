//! `cardwire verify` (SEC-05).

use crate::{client::Client, failure::Failure, output::Output, route::Route, text::count};
use axum::http::Method;
use cardwire_api::system::{VerifiedRealm, VerifyOut};
use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

pub(crate) async fn run(output: Output, client: &Client) -> Result<(), Failure> {
    let spinner = spinner();
    let answer = client.send(Method::POST, &Route::new(&["admin", "verify"])?.takes_long(), None).await;
    spinner.finish_and_clear();
    let answer = answer?;
    let report: VerifyOut = answer.parse()?;
    if output.json {
        output.json(&answer.text)?;
    } else {
        output.table(
            &["PROJECT", "CARDS", "BAD", "SEALED", "UNSEALED", "CHAIN"],
            report.realms.iter().map(row).collect(),
        )?;
        for realm in &report.realms {
            explain(realm, output)?;
        }
    }
    let unsealed: u64 = report.realms.iter().map(|realm| realm.unsealed).sum();
    if unsealed > 0 {
        output.note(format_args!("{} not sealed yet", count(unsealed, "audit row is", "audit rows are")));
    }
    if report.ok {
        return Ok(());
    }
    let cards = report.realms.iter().map(|realm| realm.bad_cards).sum();
    let chains = report.realms.iter().filter(|realm| realm.broken_at.is_some()).count() as u64;
    Err(Failure::failed(format!(
        "the store does not fit its hashes: {}, {}",
        count(cards, "bad card", "bad cards"),
        count(chains, "broken audit chain", "broken audit chains")
    ))
    .hint("it was changed from outside, or the disk is damaged; compare it with a backup"))
}

/// Shown on a terminal only.
fn spinner() -> ProgressBar {
    let spinner = ProgressBar::new_spinner().with_message("recomputing hashes");
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
        spinner.set_style(style);
    }
    spinner.enable_steady_tick(Duration::from_millis(120));
    spinner
}

fn name(realm: &VerifiedRealm) -> &str {
    realm.project_id.as_deref().unwrap_or("(system)")
}

fn row(realm: &VerifiedRealm) -> Vec<String> {
    let chain = realm.broken_at.map_or_else(|| "ok".to_owned(), |place| format!("broken at {place}"));
    let numbers = [realm.cards, realm.bad_cards, realm.sealed, realm.unsealed].map(|n| n.to_string());
    [vec![name(realm).to_owned()], numbers.to_vec(), vec![chain]].concat()
}

fn explain(realm: &VerifiedRealm, output: Output) -> Result<(), Failure> {
    let name = name(realm);
    for card in &realm.bad_card_ids {
        output.line(format_args!("{name}: card {card} does not match its hash"))?;
    }
    let more = realm.bad_cards.saturating_sub(realm.bad_card_ids.len() as u64);
    if more > 0 {
        output.line(format_args!("{name}: and {}", count(more, "more card", "more cards")))?;
    }
    if let Some(place) = realm.broken_at {
        output.line(format_args!("{name}: the audit row at place {place} does not fit the chain"))?;
    }
    Ok(())
}
