//! The server itself: whether it is ready, its numbers, and who holds tokens.

use super::ROWS;
use crate::{
    error::{Answer, ApiError},
    gate, http,
    inspect::{answer, visit::Visit},
    request::Authenticated,
    state::State,
};
use cardwire_inspector::{Section, pages::system as page};
use cardwire_kernel::protocol::access::Needed;
use cardwire_model::{Scope, Token};

/// Whether the session may read the numbers of the whole server.
pub(super) fn may_see(state: &State, by: &Authenticated) -> Result<(), ApiError> {
    let needed = Needed { scope: Scope::Read, global: true };
    Ok(state.kernel.permit(&by.token, &by.token.realm, needed)?)
}

/// Numbers, tokens, readiness.
pub(in crate::inspect) async fn show(visit: Visit) -> Answer {
    let title = "Is the server well, and who may ask it";
    may_see(&visit.request.state, visit.request.by()?)?;
    if answer::wants_twin(&visit) {
        let format = visit.format;
        return answer::with_twins(format, title, visit.api(&[], &[]), http::system::ready).await;
    }
    let (state, kernel, by) = (&visit.request.state, &visit.request.state.kernel, visit.request.by()?);
    let mut tokens = match gate::permit(state, by, None, Scope::Admin) {
        Ok(()) => Some(kernel.list_tokens(&by.token, None, ROWS + 1).await?),
        Err(_) => None,
    };
    let tokens_cut = tokens.as_mut().is_some_and(super::cut);
    // As for GET /metrics: a store that cannot be read is a reason to look at the other numbers.
    let measured = kernel.measure().await;
    let text = (state.config.render_metrics)();
    let numbers: Vec<page::Number> = text.lines().filter_map(page::Number::read).collect();
    let health = match measured {
        Ok(()) => kernel.health().await,
        Err(error) => Err(error),
    };
    let view = page::System {
        version: state.config.version.to_owned(),
        store: health.map_err(|error| error.to_string()).map(|health| page::Store {
            name: health.backend.to_owned(),
            version: health.version,
            schema: health.schema.into(),
            unnumbered: health.unnumbered_events,
            unsealed: health.unsealed_audit,
        }),
        trouble: kernel.takes_writes().await.err().map(|error| error.to_string()),
        tokens: tokens.map(|tokens| tokens.iter().map(token).collect()),
        tokens_cut,
        numbers_total: numbers.len() as u64,
        numbers: numbers.into_iter().take(NUMBERS).collect(),
        now: visit.now,
    };
    let frame = visit.frame(Section::Elsewhere, title, vec![("server".to_owned(), None)]);
    Ok(answer::html(page::show(&frame, &view)))
}

/// Numbers that stand on the page: a histogram has a dozen.
const NUMBERS: usize = 500;

fn token(token: &Token) -> page::Token {
    page::Token {
        id: token.id.to_string(),
        project: token.realm.project().map(ToString::to_string),
        scopes: token.scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(", "),
        at: token.created_at,
        expires: token.expires_at,
        revoked: token.revoked_at,
    }
}
