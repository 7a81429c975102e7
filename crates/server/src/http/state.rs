//! What agents are doing and what they have done (API-08), and rebuilding what was lost (WD-08).

use super::next_cursor;
use crate::{
    error::{Answer, ApiError},
    request::Request,
    respond,
};
use cardwire_api::{
    ErrorCode,
    cost::CostOut,
    parse,
    state::{
        EdgeList, EdgeOut, HeadList, HeadOut, IdentityEdgeList, IdentityEdgeOut, InboxList, InboxOut,
        RebuildOut, StepList, StepRow,
    },
};
use cardwire_kernel::{
    CostBy, CostQuery,
    protocol::turn::rebuild::Rebuilt,
    store::{RosterFilter, Rostered, RowFilter},
};
use cardwire_model::{AgentId, EdgePhase, Head, InboxStatus, Invalid, Primitive, Status, Step, Timestamp};
use std::{fmt::Display, str::FromStr};

pub(crate) async fn heads(request: Request) -> Answer {
    let (project, kernel) = (request.project()?, &request.state.kernel);
    let (limit, before) = (request.page_limit()?, dated_place(&request)?);
    let RowFilter { agent_id, turn_id, trace_id, from, until, .. } = row_filter(&request)?;
    let status = request.text("status").map(read_status).transpose()?;
    let filter = RosterFilter { status, turn_id, trace_id, from, until };
    let one = |one: Option<Rostered>| {
        respond::ok(&HeadList { items: one.iter().map(shown).collect(), next_cursor: None })
    };
    match (agent_id, turn_id) {
        (Some(agent), _) => return one(kernel.rostered(project, &agent, &filter).await?),
        (None, Some(turn)) => return one(kernel.rostered_at(project, turn, &filter).await?),
        (None, None) => {}
    }
    let page = kernel.list_roster(project, &filter, before.as_ref(), limit).await?;
    let cursor = |one: &Rostered| dated_cursor(one.place());
    respond::ok(&HeadList {
        items: page.iter().map(shown).collect(),
        next_cursor: next_cursor(&page, limit, cursor),
    })
}

/// An agent that never had a turn is shown as one that has nothing to do.
fn shown(one: &Rostered) -> HeadOut {
    one.head.as_ref().map_or_else(|| HeadOut::from(&one.agent), HeadOut::from)
}

pub(crate) async fn head(request: Request) -> Answer {
    let (project, kernel) = (request.project()?, &request.state.kernel);
    let agent: AgentId = request.param("agent_id")?;
    match kernel.head(project, &agent).await? {
        Some(head) => respond::ok(&HeadOut::from(&head)),
        None => respond::ok(&HeadOut::from(&kernel.agent(project, &agent).await?)),
    }
}

pub(crate) async fn rebuild(request: Request) -> Answer {
    let agent: AgentId = request.param("agent_id")?;
    let rebuilt = request.state.kernel.rebuild(request.project()?, &request.caller()?, &agent).await?;
    let answer = |head: &Head, rebuilt| respond::ok(&RebuildOut { head: HeadOut::from(head), rebuilt });
    match rebuilt {
        Rebuilt::Present(head) => answer(&head, false),
        Rebuilt::Restored(head) => answer(&head, true),
        Rebuilt::Unknown => {
            let message = format!("nothing is known of a state of agent {agent}");
            Err(ApiError::new(ErrorCode::NotFound, message))
        }
    }
}

pub(crate) async fn inbox(request: Request) -> Answer {
    let (limit, before) = (request.page_limit()?, request.parsed("cursor")?);
    let mut filter = row_filter(&request)?;
    filter.inbox_status = request
        .text("status")
        .map(|name| {
            let words = InboxStatus::ALL.iter().map(|status| status.as_str());
            parse::word("status", name, InboxStatus::from_name, words)
        })
        .transpose()?;
    let page = request.state.kernel.list_inbox(request.project()?, &filter, before, limit).await?;
    respond::ok(&InboxList {
        items: page.iter().map(InboxOut::from).collect(),
        next_cursor: next_cursor(&page, limit, |item| item.id.to_string()),
    })
}

pub(crate) async fn steps(request: Request) -> Answer {
    let (limit, before) = (request.page_limit()?, dated_place(&request)?);
    let filter = RowFilter {
        step_status: request.printable("status")?,
        step_phase: request.printable("phase")?,
        ..row_filter(&request)?
    };
    let page = request.state.kernel.list_steps(request.project()?, &filter, before.as_ref(), limit).await?;
    let cursor = |step: &Step| dated_cursor((step.created_at, &step.id));
    respond::ok(&StepList {
        items: page.iter().map(StepRow::from).collect(),
        next_cursor: next_cursor(&page, limit, cursor),
    })
}

/// A place among rows that are listed by when they were made.
pub(crate) fn dated_cursor((at, id): (Timestamp, &impl Display)) -> String {
    format!("{}.{id}", at.micros())
}

pub(super) fn dated_place<T: FromStr>(request: &Request) -> Result<Option<(Timestamp, T)>, Invalid> {
    place_of("cursor", request.text("cursor"))
}

/// The place that a cursor of this field names.
pub(crate) fn place_of<T: FromStr>(
    field: &str,
    cursor: Option<&str>,
) -> Result<Option<(Timestamp, T)>, Invalid> {
    let Some(cursor) = cursor else { return Ok(None) };
    let wrong = || Invalid::field(field, "must be a `next_cursor`");
    let (micros, id) = cursor.split_once('.').ok_or_else(wrong)?;
    let at = micros.parse().map_err(|_| wrong())?;
    Ok(Some((Timestamp::from_micros(at), id.parse().map_err(|_| wrong())?)))
}

pub(crate) async fn edges(request: Request) -> Answer {
    let (limit, before) = (request.page_limit()?, request.parsed("cursor")?);
    let mut filter = row_filter(&request)?;
    if let Some(name) = request.text("primitive") {
        let words = Primitive::ALL.iter().map(|one| one.as_str());
        filter.primitive = Some(parse::word("primitive", name, Primitive::from_name, words)?);
    }
    if let Some(name) = request.text("edge_phase") {
        let words = EdgePhase::ALL.iter().map(|one| one.as_str());
        filter.phase = Some(parse::word("edge_phase", name, EdgePhase::from_name, words)?);
    }
    let page = request.state.kernel.list_edges(request.project()?, &filter, before, limit).await?;
    respond::ok(&EdgeList {
        items: page.iter().map(EdgeOut::from).collect(),
        next_cursor: next_cursor(&page, limit, |edge| edge.id.to_string()),
    })
}

pub(crate) async fn identity_edges(request: Request) -> Answer {
    let (limit, before) = (request.page_limit()?, request.parsed("cursor")?);
    let filter = row_filter(&request)?;
    let project = request.project()?;
    let page = request.state.kernel.list_identity_edges(project, &filter, before, limit).await?;
    respond::ok(&IdentityEdgeList {
        items: page.iter().map(|edge| IdentityEdgeOut::new(project, edge)).collect(),
        next_cursor: next_cursor(&page, limit, |edge| edge.id.to_string()),
    })
}

/// OB-04
pub(crate) async fn cost(request: Request) -> Answer {
    let words = CostBy::ALL.map(CostBy::as_str);
    let by = request.text("by").map(|by| parse::word("by", by, CostBy::from_name, words)).transpose()?;
    let query = CostQuery {
        by: by.unwrap_or(CostBy::Agent),
        filter: row_filter(&request)?,
        subtree_of: request.parsed("subtree_of")?,
        batch: request.parsed("batch_id")?,
    };
    let (total, sums) = request.state.kernel.cost(request.project()?, &query).await?;
    respond::ok(&CostOut::new(query.by, total, sums))
}

/// The filters that lists share. An endpoint that does not offer one has refused it before.
pub(super) fn row_filter(request: &Request) -> Result<RowFilter, Invalid> {
    Ok(RowFilter {
        agent_id: request.parsed("agent_id")?,
        turn_id: request.parsed("agent_turn_id")?,
        trace_id: request.printable("trace_id")?,
        correlation_id: request.printable("correlation_id")?,
        from: request.time("since")?,
        until: request.time("until")?,
        ..RowFilter::default()
    })
}

fn read_status(name: &str) -> Result<Status, Invalid> {
    parse::word("status", name, Status::from_name, Status::ALL.map(Status::as_str))
}
