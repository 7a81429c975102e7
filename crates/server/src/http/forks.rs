//! Forks and replays of turns (RP-05, RP-06).

use super::remembered;
use crate::{
    error::{Answer, ApiError},
    replays::CannotReplay,
    request::Request,
    respond,
};
use axum::http::StatusCode;
use cardwire_api::{
    ErrorCode,
    forks::{ReplayOut, TurnForkIn, TurnForkOut},
};
use cardwire_kernel::{Done, protocol::turn::dispatch::Dispatched};
use cardwire_model::TurnId;

pub(crate) async fn fork(request: Request) -> Answer {
    let (project, kernel) = (request.project()?, &request.state.kernel);
    let wanted = request.body::<TurnForkIn>().await?.into_request(request.param("agent_turn_id")?)?;
    let plan = kernel.plan_fork(project, &wanted).await?;
    let remember = request.remember({
        let plan = plan.clone();
        move |dispatched: &Dispatched| match dispatched {
            Dispatched::Accepted(receipt) => {
                remembered(StatusCode::CREATED, &TurnForkOut::new(&plan, receipt))
            }
            Dispatched::Repeated(_) => None,
        }
    })?;
    let trace = &request.trace.id;
    match kernel.fork_turn(project, &request.caller()?, &plan, trace, remember.as_ref()).await? {
        Done::Replayed(answer) => respond::replayed(answer),
        Done::Fresh(Dispatched::Accepted(receipt)) => respond::created(&TurnForkOut::new(&plan, &receipt)),
        Done::Fresh(Dispatched::Repeated(turn)) => {
            respond::created(&TurnForkOut::new(&plan, &kernel.receipt(project, turn).await?))
        }
    }
}

pub(crate) async fn replay(request: Request) -> Answer {
    respond::ok(&run_again(&request, request.param("agent_turn_id")?).await?)
}

/// What running a turn again comes to.
pub(crate) async fn run_again(request: &Request, turn: TurnId) -> Result<ReplayOut, ApiError> {
    let (project, kernel) = (request.project()?, &request.state.kernel);
    // A turn that is not there is told before anything else.
    kernel.turn(project, turn).await?;
    let Some(replays) = &request.state.config.replays else {
        let message = "this server has no worker that could run turns again";
        return Err(ApiError::new(ErrorCode::Conflict, message));
    };
    let replayed = replays.replay(kernel, &request.by()?.secret, project, turn).await;
    let replayed = replayed.map_err(|cannot| match cannot {
        CannotReplay::Turn(why) => ApiError::new(ErrorCode::Conflict, why),
        CannotReplay::Unread(why) => ApiError::new(ErrorCode::Unavailable, why),
    })?;
    for call in replayed.calls.iter().filter(|call| !call.hash_ok) {
        // To call the turn another one would blame it for what its record lacks (0021).
        let Ok(id) = call.call_id.parse() else { continue };
        if let Some(missing) = kernel.render_call(project, id).await?.missing {
            let message = format!("turn {turn} cannot be replayed: of call {id}, {missing}");
            return Err(ApiError::new(ErrorCode::Conflict, message));
        }
    }
    Ok(replayed)
}
