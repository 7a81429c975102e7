//! Turns for those who send them: dispatching, following, stopping (DP, API-08).

use super::{remembered, state::row_filter, worker};
use crate::{
    error::{Answer, ApiError, RefusedTurn},
    request::Request,
    respond,
};
use axum::http::StatusCode;
use cardwire_api::{
    dispatch::{DispatchIn, DispatchOut},
    parse,
    questions::QuestionList,
    runs::{UnfinishedRunList, UnfinishedRunOut},
    turns::{StopIn, StopOut, TurnList, TurnOut, TurnStatus, WaitingOut},
    view::ViewOut,
};
use cardwire_kernel::{
    Done, ViewedTurn,
    protocol::{
        access::Needed,
        turn::{Command, Remains, dispatch::Dispatched, stop::Stop},
    },
};
use cardwire_model::{
    Head, InboxId, InboxItem, InboxStatus, Invalid, ProjectId, Realm, Scope, TurnEpoch, limits,
};

pub(crate) async fn dispatch(request: Request) -> Answer {
    let (project, kernel) = (request.project()?, &request.state.kernel);
    let max_depth = kernel.live_project(project).await?.settings.recursion_depth();
    let body = request.body::<DispatchIn>().await?;
    let parents = match body.parent_to_follow()?.filter(|_| !request.trace.is_given) {
        Some(parent) => kernel.trace_of(project, parent).await?,
        None => None,
    };
    let command = body.into_command(parents.as_ref().unwrap_or(&request.trace.id), max_depth)?;
    let remember = request.remember(|dispatched: &Dispatched| match dispatched {
        Dispatched::Accepted(receipt) => {
            remembered(StatusCode::CREATED, &DispatchOut::from(receipt.as_ref()))
        }
        Dispatched::Repeated(_) => None,
    })?;
    let agent_id = command.agent_id.as_ref().map(ToString::to_string);
    let turn = RefusedTurn {
        agent_turn_id: command.turn_id.map(|id| id.to_string()),
        trace_id: command.trace_id.clone(),
    };
    let done = kernel.dispatch(project, &request.caller()?, &command, remember.as_ref()).await;
    match done.map_err(|error| ApiError::from(error).for_agent(agent_id).for_turn(turn))? {
        Done::Replayed(answer) => respond::replayed(answer),
        Done::Fresh(Dispatched::Accepted(receipt)) => respond::created(&DispatchOut::from(receipt.as_ref())),
        Done::Fresh(Dispatched::Repeated(turn)) => {
            let receipt = kernel.receipt(project, turn).await?;
            respond::ok(&DispatchOut { idempotent: true, ..DispatchOut::from(&receipt) })
        }
    }
}

pub(crate) async fn get(request: Request) -> Answer {
    let (project, kernel) = (request.project()?, &request.state.kernel);
    let turn = kernel.turn(project, request.param("agent_turn_id")?).await?;
    let asked = kernel.target_asked(project, &turn.item.worker_target);
    let waiting = WaitingOut::new(&turn, asked, kernel.now());
    respond::ok(&TurnOut { waiting, ..TurnOut::from(&turn) })
}

pub(crate) async fn view(request: Request) -> Answer {
    let (turn, step) = (request.param("agent_turn_id")?, request.parsed("step_id")?);
    let view = request.state.kernel.turn_view(request.project()?, turn, step.as_ref()).await?;
    respond::ok(&ViewOut::from(&view))
}

pub(crate) async fn questions(request: Request) -> Answer {
    let turn = request.param("agent_turn_id")?;
    let asked = request.state.kernel.questions(request.project()?, turn).await?;
    respond::ok(&QuestionList { items: asked.into_iter().map(Into::into).collect(), next_cursor: None })
}

pub(crate) async fn open_questions(request: Request) -> Answer {
    let (limit, after) = (request.page_limit()?, request.parsed("cursor")?);
    let (asked, next) = request.state.kernel.open_questions(request.project()?, after, limit).await?;
    respond::ok(&QuestionList {
        items: asked.into_iter().map(Into::into).collect(),
        next_cursor: next.map(|agent| agent.to_string()),
    })
}

/// A token of one project sees those of that one.
pub(crate) async fn unfinished_runs(request: Request) -> Answer {
    let (kernel, token, limit) = (&request.state.kernel, &request.by()?.token, request.page_limit()?);
    let named: Option<ProjectId> = request.parsed("project_id")?;
    if let Some(project) = &named {
        let needed = Needed { scope: Scope::Read, global: false };
        kernel.permit(token, &Realm::from(project.clone()), needed)?;
        kernel.live_project(project).await?;
    }
    let project = named.as_ref().or_else(|| token.realm.project());
    let wrong = || Invalid::field("cursor", "must be a `next_cursor`");
    let after = match request.text("cursor").map(|cursor| cursor.split_once('.').ok_or_else(wrong)) {
        Some(place) => {
            let (of, agent) = place?;
            let of: ProjectId = of.parse().map_err(|_| wrong())?;
            if project.is_some_and(|project| *project != of) {
                return Err(wrong().into());
            }
            Some((of, agent.parse().map_err(|_| wrong())?))
        }
        None => None,
    };
    // A run is a turn that nobody sent.
    let is_root = |_: &Head, item: &InboxItem| item.parent_turn.is_none();
    let page = kernel.live_turns(project, after, limit, is_root).await?;
    respond::ok(&UnfinishedRunList {
        items: page.turns.iter().filter_map(UnfinishedRunOut::of).collect(),
        next_cursor: page.next.map(|(project, agent)| format!("{project}.{agent}")),
    })
}

pub(crate) async fn stop(request: Request) -> Answer {
    let body: StopIn = request.body().await?;
    let command = Command::Stop(Stop {
        turn_id: request.param("agent_turn_id")?,
        epoch: body.turn_epoch.map(TurnEpoch::new),
        reason: body.reason,
        remains: Remains::default(),
    });
    worker::run(&request, command, StatusCode::OK, StopOut::new).await
}

/// How many rows are read at once, and how often, while looking for turns in some state. A page may come out short
/// then, but never without the cursor to go on from.
const LOOK_ROWS: usize = limits::PAGE_MAX;
const LOOKS: usize = 20;

pub(crate) async fn list(request: Request) -> Answer {
    let (project, kernel) = (request.project()?, &request.state.kernel);
    let limit = request.page_limit()?;
    let wanted = request.text("status").map(read_status).transpose()?;
    let mut filter = row_filter(&request)?;
    filter.turns_only = true;
    filter.inbox_status = (wanted == Some(TurnStatus::Queued)).then_some(InboxStatus::Queued);
    let size = if wanted.is_some() { LOOK_ROWS } else { limit };
    let (mut before, mut items): (Option<InboxId>, _) = (request.parsed("cursor")?, vec![]);
    for _ in 0..LOOKS {
        let page = kernel.list_inbox(project, &filter, before, size).await?;
        let ended = page.len() < size;
        for item in page {
            before = Some(item.id);
            let turn = seen(&request, item).await?;
            if wanted.is_none_or(|wanted| wanted == TurnStatus::of(&turn)) {
                items.push(TurnOut::from(&turn));
            }
            if items.len() == limit {
                return respond::ok(&TurnList { items, next_cursor: before.map(|id| id.to_string()) });
            }
        }
        if ended {
            return respond::ok(&TurnList { items, next_cursor: None });
        }
    }
    respond::ok(&TurnList { items, next_cursor: before.map(|id| id.to_string()) })
}

/// The turn of a row. Only of a live one the agent's head knows more.
async fn seen(request: &Request, item: InboxItem) -> Result<ViewedTurn, ApiError> {
    if item.ended.is_some() || item.status == InboxStatus::Queued {
        return Ok(ViewedTurn { item, head: None });
    }
    Ok(request.state.kernel.turn(request.project()?, item.turn_id).await?)
}

fn read_status(name: &str) -> Result<TurnStatus, Invalid> {
    parse::word("status", name, TurnStatus::from_name, TurnStatus::all().map(TurnStatus::as_str))
}
