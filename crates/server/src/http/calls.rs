//! Model calls: composing the next one of a turn, and showing one that was made (RP-01, RP-02).

use super::{remembered, worker::fence};
use crate::{
    error::{Answer, ApiError},
    request::Request,
    respond,
};
use axum::http::StatusCode;
use cardwire_api::{
    ErrorCode,
    calls::{CallContextOut, ModelCallIn, ModelCallOut, RememberedCall},
    parse,
};
use cardwire_kernel::{ComposedCall, Done};

pub(crate) async fn compose(request: Request) -> Answer {
    let body: ModelCallIn = request.body().await?;
    let fence = fence(&request, body.turn_epoch)?;
    let (kernel, command) = (&request.state.kernel, body.into_request(fence)?);
    let remember = request
        .remember(|call: &ComposedCall| remembered(StatusCode::CREATED, &RememberedCall::from(call)))?;
    let project = request.project()?;
    let call = match kernel.compose_call(project, &request.caller()?, &command, remember.as_ref()).await? {
        Done::Fresh(call) => call,
        Done::Replayed(answer) => {
            let RememberedCall { call_id, knowledge_refs, warnings } = parse::body(answer.body.as_bytes())?;
            let call_id = parse::one("call_id", &call_id)?;
            kernel.composed_again(project, call_id, knowledge_refs, warnings).await?
        }
    };
    respond::created(&ModelCallOut::new(call))
}

pub(crate) async fn show(request: Request) -> Answer {
    let (project, kernel) = (request.project()?, &request.state.kernel);
    // Steps may name calls that were not composed here, by ids of any form: those have no manifest.
    let name = request.params.get("call_id").map_or("", String::as_str);
    let missing = |_| ApiError::new(ErrorCode::NotFound, format!("call not found: {name}"));
    let id = name.parse().map_err(missing)?;
    let call = kernel.call(project, id).await?;
    let with_spans = request.flag("spans")?.unwrap_or(false);
    let rendered = match with_spans || request.flag("render")?.unwrap_or(false) {
        true => Some(kernel.render_call(project, id).await?),
        false => None,
    };
    respond::ok(&CallContextOut::new(&call, rendered, with_spans)?)
}
