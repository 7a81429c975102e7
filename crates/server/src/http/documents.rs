//! Recipes (API-07).

use super::next_cursor;
use crate::{error::Answer, request::Request, respond};
use axum::http::StatusCode;
use cardwire_api::recipes::{RecipeIn, RecipeList, RecipeOut};
use cardwire_model::ResourceKind::Recipe;

pub(crate) async fn list(request: Request) -> Answer {
    let (limit, after) = (request.page_limit()?, request.parsed("cursor")?);
    let kernel = &request.state.kernel;
    let page = kernel.list_resources(request.project()?, Recipe, after.as_ref(), limit).await?;
    respond::ok(&RecipeList {
        items: page.iter().map(|(recipe, card)| RecipeOut::new(recipe, &card.content)).collect(),
        next_cursor: next_cursor(&page, limit, |(recipe, _)| recipe.name.to_string()),
    })
}

pub(crate) async fn get(request: Request) -> Answer {
    let name = request.param("recipe_name")?;
    let (recipe, card) = request.state.kernel.resource(request.project()?, Recipe, &name).await?;
    respond::ok(&RecipeOut::new(&recipe, &card.content))
}

pub(crate) async fn put(request: Request) -> Answer {
    let name = request.param("recipe_name")?;
    let draft = request.body::<RecipeIn>()?.into_draft(&name, &request.body)?;
    let (kernel, content) = (&request.state.kernel, draft.content.clone());
    let put = kernel.put_resource(request.project()?, &request.caller()?, Recipe, name, draft).await?;
    let status = if put.created { StatusCode::CREATED } else { StatusCode::OK };
    Ok(respond::json(status, &RecipeOut::new(&put.resource, &content)))
}

pub(crate) async fn delete(request: Request) -> Answer {
    let name = request.param("recipe_name")?;
    request.state.kernel.delete_resource(request.project()?, &request.caller()?, Recipe, &name).await?;
    respond::no_content()
}
