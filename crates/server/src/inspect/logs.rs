//! What was spent, the event log and the audit chain.

use super::{answer, gather, visit::Visit};
use crate::{error::Answer, http, respond};
use cardwire_api::{events::EventOut, parse};
use cardwire_inspector::{
    Section,
    pages::{cost, log},
    text,
};
use cardwire_kernel::{
    CostBy, CostQuery, RealmReport,
    store::{EventFilter, RowFilter},
};
use cardwire_model::{CardId, Realm, limits};

/// What was spent.
pub(super) async fn cost(visit: Visit) -> Answer {
    let by = visit.request.text("by").unwrap_or("agent").to_owned();
    let subtree = visit.request.text("subtree").map(str::to_owned);
    let title = "What it cost, and on what it was spent";
    if answer::wants_twin(&visit) {
        let mut query = vec![("by", by)];
        query.extend(subtree.map(|turn| ("subtree_of", turn)));
        let format = visit.format;
        return answer::with_twins(format, title, visit.api(&[], &query), http::state::cost).await;
    }
    let words = CostBy::ALL.map(CostBy::as_str);
    let query = CostQuery {
        by: parse::word("by", &by, CostBy::from_name, words)?,
        filter: RowFilter::default(),
        subtree_of: visit.request.parsed("subtree")?,
        batch: None,
    };
    let (total, sums) = visit.request.state.kernel.cost(visit.request.project()?, &query).await?;
    let mut rows: Vec<_> = sums
        .into_iter()
        .map(|(name, spent)| {
            let href = match query.by {
                CostBy::Turn => Some(visit.link(&format!("/turns/{name}"))),
                // What was spent on no card has a name, too.
                CostBy::Card => name.parse::<CardId>().ok().map(|id| visit.link(&format!("/cards/{id}"))),
                CostBy::Agent | CostBy::Step | CostBy::Model | CostBy::Layer => None,
            };
            (name, href, gather::spent(spent))
        })
        .collect();
    rows.sort_by_key(|(name, _, spent)| (std::cmp::Reverse(spent.input), name.clone()));
    rows.truncate(limits::PAGE_MAX);
    let view = cost::Cost { by, subtree, total: gather::spent(total), rows };
    let frame = visit.frame(Section::Cost, title, vec![("cost".to_owned(), None)]);
    Ok(answer::html(cost::show(&frame, &view)))
}

/// The event log, newest first.
pub(super) async fn events(visit: Visit) -> Answer {
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let last = kernel.last_position(project).await?;
    let until =
        visit.request.integer("until")?.and_then(|until| u64::try_from(until).ok()).unwrap_or(last).min(last);
    let after = until.saturating_sub(limits::PAGE_DEFAULT as u64);
    let mut found = kernel.events(project, after, &EventFilter::default()).await?;
    found.retain(|event| event.position <= until);
    if answer::wants_twin(&visit) {
        let (format, project) = (visit.format, project.clone());
        let list = move |_| async move {
            respond::ok(&found.iter().map(|event| EventOut::new(&project, event)).collect::<Vec<_>>())
        };
        return answer::with_twins(format, "Events", visit.api(&[], &[]), list).await;
    }
    found.reverse();
    let line = |event: &cardwire_model::Event| {
        let told = EventOut::new(project, event);
        let turn = event.event.turn_id.map(|turn| turn.to_string());
        let href = turn.as_ref().map(|turn| visit.link(&format!("/turns/{turn}")));
        log::Line {
            position: Some(event.position),
            at: event.event.at,
            kind: told.kind.to_owned(),
            subject: (turn.unwrap_or_else(|| event.event.target.clone()), href),
            details: event
                .event
                .agent_id
                .as_ref()
                .map(|agent| text::agent(agent.as_str()))
                .unwrap_or_default(),
        }
    };
    let view = log::Log {
        noun: "event",
        rows: found.iter().map(line).collect(),
        next: (after > 0).then(|| visit.link(&format!("/events?until={after}"))),
        fact: Some(format!("the log ends at {}", text::grouped(last))),
        act: None,
        verdict: None,
        now: visit.now,
    };
    let mut frame =
        visit.frame(Section::Events, "What happened, newest first", vec![("events".to_owned(), None)]);
    frame.is_live = until == last;
    Ok(answer::html(log::show(&frame, &view)))
}

/// The audit chain, newest first.
pub(super) async fn audit(visit: Visit) -> Answer {
    let title = "Who did what, and who was refused";
    if answer::wants_twin(&visit) {
        let format = visit.format;
        return answer::with_twins(format, title, visit.api(&[], &[]), http::projects::audit).await;
    }
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let before = visit.request.integer("before")?.and_then(|before| u64::try_from(before).ok());
    let realm = Realm::from(project.clone());
    let found = kernel.list_audit(&realm, &RowFilter::default(), before, limits::PAGE_DEFAULT).await?;
    let verdict = match visit.request.text("verify") {
        Some(_) => Some(told(&kernel.verify_audit(&realm).await?)),
        None => None,
    };
    let sealed = found.iter().filter_map(|row| row.sealed.map(|head| head.position)).max();
    let line = |row: &cardwire_model::AuditRow| log::Line {
        position: row.sealed.map(|head| head.position),
        at: row.audit.at,
        kind: row.audit.action.as_str().to_owned(),
        subject: (row.audit.subject.clone(), None),
        details: format!("{} by {}", row.audit.verdict.as_str(), row.audit.actor),
    };
    let next = found.last().map(|row| row.seq).filter(|_| found.len() == limits::PAGE_DEFAULT);
    let view = log::Log {
        noun: "row",
        rows: found.iter().map(line).collect(),
        next: next.map(|seq| visit.link(&format!("/audit?before={seq}"))),
        fact: sealed.map(|position| format!("sealed into the chain up to row {}", text::grouped(position))),
        act: Some(("Verify the chain", visit.link("/audit?verify=yes"))),
        verdict,
        now: visit.now,
    };
    let frame = visit.frame(Section::Audit, title, vec![("audit".to_owned(), None)]);
    Ok(answer::html(log::show(&frame, &view)))
}

/// What recomputing the chain came to.
fn told(report: &RealmReport) -> (bool, String) {
    let rest = match report.unsealed {
        0 => String::new(),
        more => format!(" {} are not sealed yet.", text::plural(more, "row")),
    };
    match report.broken_at {
        None => (true, format!("Every hash holds, verified to row {}.{rest}", text::grouped(report.sealed))),
        Some(row) => {
            (false, format!("The chain is broken at row {}: a row was changed or lost.", text::grouped(row)))
        }
    }
}

/// The event log as a stream, for the pages that are open: from the position that they know on, or from now on. A browser that
/// comes back sends `Last-Event-ID`, which goes before.
pub(super) async fn stream(visit: Visit) -> Answer {
    let after = match visit.request.integer("after")? {
        Some(after) => after.to_string(),
        None => visit.request.state.kernel.last_position(visit.request.project()?).await?.to_string(),
    };
    crate::sse::read(visit.api(&[], &[("after", after)])).await
}
