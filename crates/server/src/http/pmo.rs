//! Handover and orchestration (API-09).

use super::remembered;
use crate::{
    error::{Answer, ApiError},
    request::{By, Request},
    respond,
};
use axum::http::StatusCode;
use cardwire_api::{
    handover::{PackIn, PackOut},
    parse,
    pmo::{CallIn, CallOut},
};
use cardwire_kernel::{
    Done,
    protocol::{Rejection, handover::pack::Packed, pmo::calls::Answered},
};
use cardwire_model::{Invalid, ResourceName};
use serde_json::{Value, json};

pub(crate) async fn pack(request: Request) -> Answer {
    let (project, kernel) = (request.project()?, &request.state.kernel);
    let command = request.read(|body: PackIn, _| body.into_command()).await?;
    if request.flag("dry_run")?.unwrap_or(false) {
        return respond::ok(&PackOut::from(&kernel.preflight(project, &request.caller()?, &command).await?));
    }
    let remember =
        request.remember(|packed: &Packed| remembered(StatusCode::CREATED, &PackOut::from(packed)))?;
    match kernel.pack_context(project, &request.caller()?, &command, remember.as_ref()).await? {
        Done::Replayed(answer) => respond::replayed(answer),
        Done::Fresh(packed) => respond::created(&PackOut::from(&packed)),
    }
}

pub(crate) async fn call(request: Request) -> Answer {
    let (project, kernel) = (request.project()?, &request.state.kernel);
    let settings = kernel.live_project(project).await?.settings;
    let tool: ResourceName = request.param("tool")?;
    let tool = tool.as_str();
    let by = match &request.by {
        Some(By::Turn(turn, hash)) => Some((*turn, *hash)),
        Some(By::Token(_)) | None => None,
    };
    let body = request.body::<CallIn>().await?;
    let wait = parse::wait(body.wait_ms);
    let call = body.into_call(tool, by, &request.trace, &settings)?;
    if request.flag("dry_run")?.unwrap_or(false) {
        let would = kernel.pmo_preflight(project, &request.caller()?, &call).await?;
        let would =
            would.ok_or_else(|| Invalid::field("dry_run", format!("{tool} gives nothing to anybody")))?;
        return respond::ok(&CallOut::preflight(tool, &would));
    }
    // A call that was refused has left its cards, so that it must not be made again either.
    let remember = request.remember(|answered: &Answered| match refusal(answered) {
        None => remembered(StatusCode::OK, &CallOut::from(answered)),
        Some(error) => {
            let (status, body) = error.into_body();
            remembered(status, &body)
        }
    })?;
    let done = kernel.pmo_call(project, &request.caller()?, &call, code, remember.as_ref()).await?;
    let answered = match done {
        Done::Replayed(answer) => match started(&answer.body).filter(|_| !wait.is_zero()) {
            Some(answered) => answered,
            None => return respond::replayed(answer),
        },
        Done::Fresh(answered) => answered,
    };
    let answered =
        if wait.is_zero() { answered } else { kernel.await_batch(project, answered, wait).await? };
    match refusal(&answered) {
        None => respond::ok(&CallOut::from(&answered)),
        Some(error) => Err(error),
    }
}

/// Why a request was refused, and what it has left.
fn refusal(answered: &Answered) -> Option<ApiError> {
    let ids = json!({
        "tool_call_id": answered.tool_call_id,
        "tool_result_card_id": answered.result_card.map(|card| card.to_string()),
    });
    Some(ApiError::from(answered.refused.clone()?).with_detail(&ids))
}

/// A fork that was running when its answer was remembered: whoever asks again may wait for its join.
fn started(answer: &str) -> Option<Answered> {
    let answer: Value = serde_json::from_str(answer).ok()?;
    let batch = answer["result"]["batch_id"].as_str()?.parse().ok()?;
    Some(Answered {
        tool_call_id: answer["tool_call_id"].as_str()?.to_owned(),
        result_card: None,
        is_success: true,
        batch: Some(batch),
        is_due: false,
        joined: None,
        result: answer["result"].clone(),
        refused: None,
    })
}

/// The code of a refusal, for the card that records it.
fn code(rejection: &Rejection) -> &'static str {
    ApiError::from(rejection.clone()).code.as_str()
}
