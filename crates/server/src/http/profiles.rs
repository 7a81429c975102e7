//! Profiles (API-07).

use super::next_cursor;
use crate::{error::Answer, request::Request, respond};
use axum::http::StatusCode;
use cardwire_api::roster::{ProfileIn, ProfileList, ProfileOut};

pub(crate) async fn list(request: Request) -> Answer {
    let (limit, after) = (request.page_limit()?, request.parsed("cursor")?);
    let page = request.state.kernel.list_profiles(request.project()?, after.as_ref(), limit).await?;
    respond::ok(&ProfileList {
        items: page.iter().map(|(profile, card)| ProfileOut::new(profile, &card.content)).collect(),
        next_cursor: next_cursor(&page, limit, |(profile, _)| profile.name.to_string()),
    })
}

pub(crate) async fn get(request: Request) -> Answer {
    let name = request.param("profile_name")?;
    let (profile, card) = request.state.kernel.profile(request.project()?, &name).await?;
    respond::ok(&ProfileOut::new(&profile, &card.content))
}

pub(crate) async fn put(request: Request) -> Answer {
    let name = request.param("profile_name")?;
    let body = request.json().await?;
    let (new, content) = ProfileIn::read(&body)?.into_profile(name, &body)?;
    let put = request.state.kernel.put_profile(request.project()?, &request.caller()?, new).await?;
    let status = if put.created { StatusCode::CREATED } else { StatusCode::OK };
    Ok(respond::json(status, &ProfileOut::new(&put.profile, &content)))
}

pub(crate) async fn delete(request: Request) -> Answer {
    let name = request.param("profile_name")?;
    request.state.kernel.delete_profile(request.project()?, &request.caller()?, &name).await?;
    respond::no_content()
}
