//! Handover and orchestration (API-09).

use super::remembered;
use crate::{error::Answer, request::Request, respond};
use axum::http::StatusCode;
use cardwire_api::handover::{PackIn, PackOut};
use cardwire_kernel::{Done, protocol::handover::pack::Packed};

pub(crate) async fn pack(request: Request) -> Answer {
    let (project, kernel) = (request.project()?, &request.state.kernel);
    let command = request.body::<PackIn>()?.into_command()?;
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
