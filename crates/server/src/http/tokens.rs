//! Tokens (API-17).

use super::remembered;
use crate::{
    error::{Answer, ApiError},
    request::Request,
    respond,
};
use axum::http::StatusCode;
use cardwire_api::{
    ErrorCode, parse,
    tokens::{TokenIn, TokenList, TokenOut},
};
use cardwire_kernel::{Done, Minted};
use cardwire_model::Token;

pub(crate) async fn list(request: Request) -> Answer {
    let limit = request.page_limit()?;
    let after = request.text("cursor").map(|cursor| parse::one("cursor", cursor)).transpose()?;
    let page = request.state.kernel.list_tokens(&request.by()?.token, after, limit).await?;
    let next_cursor = (page.len() == limit).then(|| page.last().map(|last| last.id.to_string())).flatten();
    respond::ok(&TokenList { items: page.iter().map(TokenOut::from).collect(), next_cursor })
}

pub(crate) async fn create(request: Request) -> Answer {
    let body: TokenIn = request.body().await?;
    let new =
        Minted { realm: body.realm()?, scopes: body.scopes()?, expires_in_seconds: body.expires_in_seconds };
    let remember =
        request.remember(|token: &Token| remembered(StatusCode::CREATED, &TokenOut::from(token)))?;
    let by = request.by()?;
    let (done, secret) =
        request.state.kernel.mint_token(&by.token, &by.secret, &new, remember.as_ref()).await?;
    let mut out = match done {
        Done::Fresh(token) => TokenOut::from(&token),
        Done::Replayed(answer) => serde_json::from_str(&answer.body)
            .map_err(|_| ApiError::new(ErrorCode::Internal, "a remembered answer is damaged"))?,
    };
    out.token = Some(secret.expose().to_owned());
    respond::created(&out)
}

pub(crate) async fn revoke(request: Request) -> Answer {
    request.state.kernel.revoke_token(&request.by()?.token, request.param("token_id")?).await?;
    respond::no_content()
}
