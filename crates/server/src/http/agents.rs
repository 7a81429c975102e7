//! Agents of the roster (API-07).

use super::{next_cursor, remembered};
use crate::{error::Answer, request::Request, respond};
use axum::http::StatusCode;
use cardwire_api::roster::{AgentIn, AgentList, AgentOut};
use cardwire_kernel::{Done, protocol::roster::add_agent::Added};

pub(crate) async fn list(request: Request) -> Answer {
    let (limit, after) = (request.page_limit()?, request.parsed("cursor")?);
    let page = request.state.kernel.list_agents(request.project()?, after.as_ref(), limit).await?;
    respond::ok(&AgentList {
        items: page.iter().map(AgentOut::from).collect(),
        next_cursor: next_cursor(&page, limit, |agent| agent.id.to_string()),
    })
}

pub(crate) async fn get(request: Request) -> Answer {
    let agent = request.state.kernel.agent(request.project()?, &request.param("agent_id")?).await?;
    respond::ok(&AgentOut::from(&agent))
}

pub(crate) async fn add(request: Request) -> Answer {
    let command = request.body::<AgentIn>().await?.into_command(&request.trace.id)?;
    let status = |added: &Added| if added.created { StatusCode::CREATED } else { StatusCode::OK };
    let remember =
        request.remember(move |added: &Added| remembered(status(added), &AgentOut::from(&added.agent)))?;
    let kernel = &request.state.kernel;
    match kernel.add_agent(request.project()?, &request.caller()?, &command, remember.as_ref()).await? {
        Done::Replayed(answer) => respond::replayed(answer),
        Done::Fresh(added) => Ok(respond::json(status(&added), &AgentOut::from(&added.agent))),
    }
}
