//! Contexts: composing and collecting them, and explaining what was sent (API-11, RP-03, RP-04).

use super::sessions::key;
use crate::{
    error::{Answer, ApiError},
    request::Request,
    respond,
};
use cardwire_api::{
    ErrorCode,
    collect::{CollectIn, CollectedOut},
    compose::{ComposeIn, ComposeOut},
    explain::{self, DiffOut, ExpandOut, WhyOut},
    parse,
};
use cardwire_kernel::composer::compose;
use cardwire_model::{CancelFlag, CardId, Invalid};

/// Reads no store: the composer is a pure function (CM-01).
pub(crate) async fn compose(request: Request) -> Answer {
    let (body, placement) = (request.body.clone(), request.state.kernel.placement());
    let composed = move |cancel: &CancelFlag| {
        let given = parse::body::<ComposeIn>(&body)?;
        let input = given.into_input(cancel)?;
        let pieces = compose::compose(&input, placement).map_err(Invalid::from)?;
        cancel.check().map_err(Invalid::from)?;
        let out = ComposeOut::new(&pieces, placement).map_err(|error| {
            tracing::error!(%error, "a composed message is no JSON");
            ApiError::new(ErrorCode::Internal, "internal error; the server's log has the details")
        })?;
        cancel.check().map_err(Invalid::from)?;
        respond::ok(&out)
    };
    request.compute(request.body.len(), composed).await
}

pub(crate) async fn collect(request: Request) -> Answer {
    let key = key(&request)?;
    let command = request.read(|body: CollectIn, _| body.into_request(key)).await?;
    let collected = request.state.kernel.collect(request.project()?, &command).await?;
    respond::ok(&CollectedOut::from(collected))
}

pub(crate) async fn diff(request: Request) -> Answer {
    let (left, right) = (request.required("left")?, request.required("right")?);
    let sides = (explain::side("left", left)?, explain::side("right", right)?);
    let diff = request.state.kernel.diff_context(request.project()?, sides.0, sides.1).await?;
    respond::ok(&DiffOut::new(left, right, &diff))
}

pub(crate) async fn why(request: Request) -> Answer {
    let (call, card) = (card(&request, "call")?, card(&request, "card")?);
    respond::ok(&WhyOut::from(&request.state.kernel.why(request.project()?, call, card).await?))
}

pub(crate) async fn expand(request: Request) -> Answer {
    let (project, summary) = (request.project()?, card(&request, "card")?);
    let (text, cards) = request.state.kernel.expand_summary(project, summary).await?;
    respond::ok(&ExpandOut::new(project, summary, text, &cards))
}

fn card(request: &Request, name: &str) -> Result<CardId, Invalid> {
    parse::one(name, request.required(name)?)
}
