//! Documents under names: tools, recipes, teams, and the plan (API-07). One family of handlers for all kinds.

use super::next_cursor;
use crate::{
    error::{Answer, ApiError},
    request::Request,
    respond,
};
use axum::http::StatusCode;
use cardwire_api::documents::{self, DocumentList, DocumentOut};
use cardwire_model::{CardDraft, Invalid, ResourceKind, ResourceName};

pub(crate) async fn list(request: Request, kind: ResourceKind) -> Answer {
    let (limit, after) = (request.page_limit()?, request.parsed("cursor")?);
    let kernel = &request.state.kernel;
    let page = kernel.list_resources(request.project()?, kind, after.as_ref(), limit).await?;
    respond::ok(&DocumentList {
        items: page.iter().map(|(document, card)| DocumentOut::new(document, &card.content)).collect(),
        next_cursor: next_cursor(&page, limit, |(document, _)| document.name.to_string()),
    })
}

pub(crate) async fn get(request: Request, kind: ResourceKind) -> Answer {
    let name = name(&request, kind)?;
    let (document, card) = request.state.kernel.resource(request.project()?, kind, &name).await?;
    respond::ok(&DocumentOut::new(&document, &card.content))
}

pub(crate) async fn put(request: Request, kind: ResourceKind) -> Answer {
    let name = name(&request, kind)?;
    let draft = draft(&request, kind, name.clone()).await?;
    let (kernel, content) = (&request.state.kernel, draft.content.clone());
    let put = kernel.put_resource(request.project()?, &request.caller()?, kind, name, draft).await?;
    let status = if put.created { StatusCode::CREATED } else { StatusCode::OK };
    Ok(respond::json(status, &DocumentOut::new(&put.resource, &content)))
}

pub(crate) async fn delete(request: Request, kind: ResourceKind) -> Answer {
    let name = name(&request, kind)?;
    request.state.kernel.delete_resource(request.project()?, &request.caller()?, kind, &name).await?;
    respond::no_content()
}

/// The document in the body.
pub(super) async fn draft(
    request: &Request,
    kind: ResourceKind,
    name: ResourceName,
) -> Result<CardDraft, ApiError> {
    let json = request.json().await?;
    request.compute(json.len(), move |_| Ok(documents::draft(kind, &name, &json)?)).await
}

/// The document the path is about. A project has one plan, which has the name of its kind.
fn name(request: &Request, kind: ResourceKind) -> Result<ResourceName, Invalid> {
    match documents::parameter(kind) {
        Some(parameter) => request.param(parameter),
        None => kind.as_str().parse(),
    }
}
