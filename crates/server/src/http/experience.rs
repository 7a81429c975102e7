//! The experience of a session: gathering and saving it (EX-01).

use super::{remembered, sessions::key};
use crate::{error::Answer, request::Request, respond};
use axum::http::StatusCode;
use cardwire_api::experience::{self, ExperienceNotedOut, ExperienceSaveIn, ExperienceSavedOut};
use cardwire_kernel::{Done, Noted, Saved};

pub(crate) async fn get(request: Request) -> Answer {
    let key = key(&request)?;
    respond::ok(&request.state.kernel.experience(request.project()?, &key).await?)
}

pub(crate) async fn note(request: Request) -> Answer {
    let (kernel, key) = (&request.state.kernel, key(&request)?);
    let record = experience::record(&request.body)?;
    let remember =
        request.remember(|noted: &Noted| remembered(StatusCode::OK, &ExperienceNotedOut::from(noted)))?;
    let (project, caller) = (request.project()?, request.caller()?);
    match kernel.note_experience(project, &caller, &key, &record, remember.as_ref()).await? {
        Done::Replayed(answer) => respond::replayed(answer),
        Done::Fresh(noted) => respond::ok(&ExperienceNotedOut::from(&noted)),
    }
}

pub(crate) async fn save(request: Request) -> Answer {
    let (kernel, key) = (&request.state.kernel, key(&request)?);
    let feedback = request.body::<ExperienceSaveIn>().await?.feedback()?;
    let remember = request
        .remember(|saved: &Saved| remembered(StatusCode::OK, &ExperienceSavedOut::from(saved.clone())))?;
    let (project, caller) = (request.project()?, request.caller()?);
    let feedback = feedback.as_ref();
    match kernel.save_experience(project, &caller, &key, feedback, remember.as_ref()).await? {
        Done::Replayed(answer) => respond::replayed(answer),
        Done::Fresh(saved) => respond::ok(&ExperienceSavedOut::from(saved)),
    }
}
