//! `cardwire verify` (SEC-05).

use crate::{
    client::Client,
    context::Context,
    failure::Failure,
    locate,
    output::Output,
    route::Route,
    store,
    text::{clean, count},
};
use axum::http::Method;
use cardwire_api::system::{ReachOut, VerifiedRealm, VerifyOut};
use cardwire_kernel::{Caller, Kernel, KernelConfig, protocol::Actor};
use cardwire_store_sqlite::{OpenError, SqliteStore};
use indicatif::{ProgressBar, ProgressStyle};
use std::{sync::Arc, time::Duration};

pub(crate) async fn run(context: &Context) -> Result<(), Failure> {
    let output = context.output;
    let spinner = spinner();
    let (text, unopened) = match locate::connect_or_tell(context).await? {
        Ok(client) => {
            let answer = ask(&client).await;
            client.close().await;
            (answer?, None)
        }
        // What cannot be opened as it should be is looked at all the same, and not changed.
        Err(error) => {
            let (text, error) = read_only(context, error).await?;
            (text, Some(error))
        }
    };
    spinner.finish_and_clear();
    let report: VerifyOut = serde_json::from_str(&text)
        .map_err(|error| Failure::failed(format!("the server's answer makes no sense: {error}")))?;
    show(&report, &text, output)?;
    if let Some(error) = &unopened {
        output.note(format_args!("the store was opened for reading alone: {}", clean(&error.to_string())));
    }
    if !report.recorded {
        output.note("this verification is not in the audit log: the store takes no writes now");
    }
    judge(&report)?;
    match unopened {
        // All that is there fits, and still it is not what it should be.
        Some(error @ (OpenError::Mark { .. } | OpenError::Inconsistent(_))) => {
            Err(store::cannot_open(&context.dir, error))
        }
        Some(_) | None => Ok(()),
    }
}

async fn ask(client: &Client) -> Result<String, Failure> {
    let route = Route::new(&["admin", "verify"])?.takes_long();
    client.send(Method::POST, &route, None).await.map(|answer| answer.text)
}

async fn read_only(context: &Context, error: OpenError) -> Result<(String, OpenError), Failure> {
    let opened = match &error {
        OpenError::Held(_) => None,
        OpenError::Behind(_)
        | OpenError::Mark { .. }
        | OpenError::Inconsistent(_)
        | OpenError::Missing { .. }
        | OpenError::Migrate(_)
        | OpenError::File { .. } => SqliteStore::open_read_only(&context.dir.database()).ok(),
    };
    let Some(store) = opened else { return Err(store::cannot_open(&context.dir, error)) };
    let kernel = Kernel::idle(KernelConfig::new(Arc::new(store)));
    let report = kernel.verify(&Caller { actor: Actor::system("verify") }).await;
    kernel.shutdown().await;
    let report = report.map_err(|error| Failure::failed(error.to_string()))?;
    let text = serde_json::to_string(&VerifyOut::from(&report));
    Ok((text.map_err(|error| Failure::failed(error.to_string()))?, error))
}

fn show(report: &VerifyOut, text: &str, output: Output) -> Result<(), Failure> {
    if output.json {
        output.json(text)?;
    } else {
        output.table(
            &["PROJECT", "CARDS", "BAD", "SEALED", "UNSEALED", "CHAIN"],
            report.realms.iter().map(row).collect(),
        )?;
        for realm in &report.realms {
            explain(realm, output)?;
        }
        if let Some(why) = &report.unread_projects {
            output.line(format_args!("the projects behind these cannot be read: {}", clean(why)))?;
        }
        if let Some(reach) = &report.reach {
            output.line(reached(reach))?;
        }
    }
    let unsealed: u64 = report.realms.iter().map(|realm| realm.unsealed).sum();
    if unsealed > 0 {
        output.note(format_args!("{} not sealed yet", count(unsealed, "audit row is", "audit rows are")));
    }
    Ok(())
}

fn judge(report: &VerifyOut) -> Result<(), Failure> {
    if report.ok {
        return Ok(());
    }
    if let Some(reach) = report.reach.as_ref().filter(|reach| reach.found < reach.acknowledged) {
        return Err(Failure::failed(format!("the store has lost commits: {}", reached(reach)))
            .hint("put the missing files back, or restore a backup; `cardwire up --accept-loss` goes on without them"));
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

fn reached(reach: &ReachOut) -> String {
    let what = if reach.log == "audit" { "audit row" } else { "event" };
    let whose =
        reach.project_id.as_ref().map_or_else(|| "the system".to_owned(), |id| format!("project {id}"));
    let ReachOut { acknowledged, found, .. } = reach;
    format!("acknowledged up to {what} {acknowledged} of {whose}, found up to {found}")
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
    if let Some(why) = &realm.unread_cards {
        output.line(format_args!("{name}: the cards behind these cannot be read: {}", clean(why)))?;
    }
    if let Some(place) = realm.broken_at {
        output.line(format_args!("{name}: the audit row at place {place} does not fit the chain"))?;
    }
    Ok(())
}
