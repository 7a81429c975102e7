//! The experience of a session: gathering and saving it (EX-01).

use super::sessions::key;
use crate::{error::Answer, request::Request, respond};
use cardwire_api::experience::{self, ExperienceNotedOut, ExperienceSaveIn, ExperienceSavedOut};

pub(crate) async fn get(request: Request) -> Answer {
    let key = key(&request)?;
    respond::ok(&request.state.kernel.experience(request.project()?, &key).await?)
}

pub(crate) async fn note(request: Request) -> Answer {
    let (kernel, key) = (&request.state.kernel, key(&request)?);
    let record = experience::record(&request.body)?;
    let (session, known) =
        kernel.note_experience(request.project()?, &request.caller()?, &key, &record).await?;
    respond::ok(&ExperienceNotedOut::new(&session, known))
}

pub(crate) async fn save(request: Request) -> Answer {
    let (kernel, key) = (&request.state.kernel, key(&request)?);
    let feedback = request.body::<ExperienceSaveIn>()?.feedback()?;
    let saved =
        kernel.save_experience(request.project()?, &request.caller()?, &key, feedback.as_ref()).await?;
    respond::ok(&ExperienceSavedOut::from(saved))
}
