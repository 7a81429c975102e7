//! Agents: who takes part, and one of them with its lease, its turns and what it was refused.

use super::{ROWS, command, cut};
use crate::{
    error::{Answer, ApiError},
    http,
    inspect::{answer, gather, visit::Visit},
};
use cardwire_api::{parse, turns::TurnStatus};
use cardwire_inspector::{
    Section,
    pages::{
        agent as page,
        list::{self, Cell},
    },
    text,
};
use cardwire_kernel::{
    ViewedTurn,
    store::{RosterFilter, Rostered, RowFilter},
};
use cardwire_model::{AgentId, AuditVerdict, Head, InboxId, InboxItem, LiveState, Realm, limits};

/// Who takes part, and what each is doing.
pub(in crate::inspect) async fn list(visit: Visit) -> Answer {
    let title = "Who takes part, and what each is doing";
    let after = visit.request.text("after").map(str::to_owned);
    if answer::wants_twin(&visit) {
        let (format, query) = (visit.format, super::cursor(&visit));
        return answer::with_twins(format, title, visit.api(&[], &query), http::state::heads).await;
    }
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let place = http::state::place_of("after", after.as_deref())?;
    let mut found = kernel.list_roster(project, &RosterFilter::default(), place.as_ref(), ROWS + 1).await?;
    let has_more = cut(&mut found);
    let names = gather::names(kernel, project, found.iter().map(|one| &one.agent.id)).await?;
    let row = |one: &Rostered| {
        let live = one.head.as_ref().and_then(|head| head.live.as_ref());
        let turn =
            live.map(|live| (live.turn_id.to_string(), visit.link(&format!("/turns/{}", live.turn_id))));
        vec![
            Cell::Title {
                name: gather::called(&names, &one.agent.id),
                href: Some(visit.link(&format!("/agents/{}", one.agent.id))),
                line: format!("{} · {}", one.agent.profile_name, text::short(one.agent.id.as_str())),
            },
            Cell::State(one.status().as_str().to_owned()),
            Cell::Id(turn),
            Cell::Number(one.head.as_ref().map(|head| head.epoch.get())),
            Cell::Number(Some(one.head.as_ref().map_or(0, |head| head.queued.into()))),
            Cell::At(Some(one.updated_at())),
        ]
    };
    let last = found.last().filter(|_| has_more);
    let next =
        last.map(|one| visit.link(&format!("/agents?after={}", http::state::dated_cursor(one.place()))));
    let view = list::List {
        noun: "agent",
        columns: vec!["agent", "State", "turn", "Epoch", "Waiting", "Changed"],
        rows: found.iter().map(row).collect(),
        next,
        empty: (
            "There is no agent yet. Add one with a profile:",
            format!(
                "{}\n{}",
                command(&visit, "profile put PROFILE --worker-target cardwire --system-prompt \"…\""),
                command(&visit, "agent add AGENT --profile PROFILE")
            ),
        ),
        search: None,
        now: visit.now,
    };
    let mut frame = visit.frame(Section::Agents, title, vec![("agents".to_owned(), None)]);
    frame.is_live = true;
    Ok(answer::html(list::show(&frame, &view)))
}

/// Refusals beside an agent.
const REFUSED: usize = 10;

/// One agent.
pub(in crate::inspect) async fn show(visit: Visit, id: &str) -> Answer {
    let agent_id: AgentId = parse::one("agent", id)?;
    let before = visit.request.parsed::<InboxId>("before")?;
    if answer::wants_twin(&visit) {
        let (format, title) = (visit.format, format!("Agent {id}"));
        return answer::with_twins(format, &title, visit.api(&[("agent_id", id)], &[]), http::state::head)
            .await;
    }
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let agent = kernel.agent(project, &agent_id).await?;
    let head = kernel.head(project, &agent_id).await?;
    let filter = RowFilter { agent_id: Some(agent_id.clone()), turns_only: true, ..RowFilter::default() };
    let mut rows = kernel.list_inbox(project, &filter, before, limits::PAGE_DEFAULT + 1).await?;
    let has_more = rows.len() > limits::PAGE_DEFAULT;
    rows.truncate(limits::PAGE_DEFAULT);
    let older =
        rows.last().filter(|_| has_more).map(|last| visit.link(&format!("/agents/{id}?before={}", last.id)));
    let mut turns = vec![];
    for item in rows {
        let asked = kernel.asked_of(project, &item).await?;
        turns.push(turn(item, head.as_ref(), asked));
    }
    let mut refused = refusals(&visit, id, &turns).await?;
    let refused_cut = refused.len() > REFUSED;
    refused.truncate(REFUSED);
    let live = head.as_ref().and_then(|head| head.live.as_deref());
    let lease = match (&head, live) {
        (Some(head), Some(live)) => {
            let item = kernel.turn(project, live.turn_id).await?.item;
            Some(page::Lease {
                turn: live.turn_id.to_string(),
                worker: item.worker_id,
                since: live.dispatched_at,
                seen: head.updated_at,
                open_calls: live.open_calls.into(),
                resume_by: match live.state {
                    LiveState::Suspended { resume_by, .. } => Some(resume_by),
                    LiveState::Dispatched | LiveState::Running => None,
                },
            })
        }
        _ => None,
    };
    let mut boxes = vec![("profile", agent.profile_box.to_string())];
    boxes.extend(live.map(|live| ("context box", live.context_box.to_string())));
    let output = live.map(|live| live.output_box).or(head.as_ref().and_then(|head| head.last_output_box));
    boxes.extend(output.map(|id| ("output box", id.to_string())));
    let name = gather::name(kernel, project, &agent_id).await?;
    let view = page::Agent {
        id: id.to_owned(),
        name: name.clone(),
        status: head.as_ref().map_or("idle", |head| head.status().as_str()).to_owned(),
        epoch: head.as_ref().map(|head| head.epoch.get()),
        live: lease,
        queued: head.as_ref().map_or(0, |head| head.queued.into()),
        turns,
        older,
        refused,
        refused_cut,
        profile: agent.profile_name.to_string(),
        worker_target: agent.worker_target.to_string(),
        owner: agent.owner.as_ref().map(ToString::to_string),
        boxes,
        at: agent.created_at,
        now: visit.now,
    };
    let way = vec![("agents".to_owned(), Some(visit.link("/agents"))), (name.clone(), None)];
    let mut frame = visit.frame(Section::Agents, format!("What {name} is doing, and what it has done"), way);
    frame.is_live = before.is_none();
    Ok(answer::html(page::show(&frame, &view)))
}

/// What the agent was refused, and writes to its turns that were: as the newest refusals of the audit log tell, which no index
/// leads to.
async fn refusals(visit: &Visit, id: &str, turns: &[page::Turn]) -> Result<Vec<page::Refused>, ApiError> {
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let filter = RowFilter { verdict: Some(AuditVerdict::Denied), ..RowFilter::default() };
    let rows = kernel.list_audit(&Realm::from(project.clone()), &filter, None, limits::PAGE_MAX).await?;
    let told = rows.into_iter().filter_map(|row| {
        let audit = row.audit;
        let detail = audit.detail.to_value();
        let reason = detail["reason"].as_str();
        let is_of = |turn: &page::Turn| {
            audit.actor.contains(&turn.id) || reason.is_some_and(|reason| reason.contains(&turn.id))
        };
        let is_its_own = audit.subject == id || turns.iter().any(is_of);
        let detail = reason.map_or_else(|| audit.detail.as_str().to_owned(), str::to_owned);
        is_its_own.then_some(page::Refused { what: audit.action.as_str().to_owned(), detail, at: audit.at })
    });
    Ok(told.collect())
}

fn turn(item: InboxItem, head: Option<&Head>, asked: Option<String>) -> page::Turn {
    let is_live = |head: &&Head| head.live.as_ref().is_some_and(|live| live.turn_id == item.turn_id);
    let viewed = ViewedTurn { head: head.filter(is_live).cloned(), item };
    let status = TurnStatus::of(&viewed).as_str().to_owned();
    let item = viewed.item;
    page::Turn {
        id: item.turn_id.to_string(),
        asked,
        status,
        epoch: item.epoch.map(|epoch| epoch.get()),
        worker: item.worker_id,
        retries: item.retry_count,
        at: item.created_at,
        ended: item.ended.map(|ended| ended.at),
    }
}
