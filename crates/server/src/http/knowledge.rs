//! Documents: taken in, listed, searched, dropped (KN-01..KN-04).

use super::{next_cursor, remembered, sessions::namespace};
use crate::{error::Answer, request::Request, respond};
use axum::http::StatusCode;
use cardwire_api::knowledge::{
    DocumentIn, FoundList, FoundOut, SourceList, SourceOut, TakenInOut, method, score_threshold,
};
use cardwire_kernel::{
    Done, KnowledgeQuery,
    protocol::knowledge::{self, TakenIn},
};

/// Sections found when the caller does not say, and at most.
const FOUND: (usize, usize) = (8, 100);

pub(crate) async fn take_in(request: Request) -> Answer {
    let document = request.read(|body: DocumentIn, _| body.into_document()).await?;
    let (namespace, source_id) = (document.namespace.clone(), document.source_id.clone());
    let out = move |taken: &TakenIn| TakenInOut::new(&namespace, source_id.clone(), taken);
    let shown = out.clone();
    let remember = request.remember(move |taken| remembered(StatusCode::CREATED, &out(taken)))?;
    let (project, caller) = (request.project()?, request.caller()?);
    match request.state.kernel.take_in(project, &caller, document, remember.as_ref()).await? {
        Done::Replayed(answer) => respond::replayed(answer),
        Done::Fresh(taken) => respond::created(&shown(&taken)),
    }
}

pub(crate) async fn list(request: Request) -> Answer {
    let (limit, namespace) = (request.page_limit()?, namespace(&request)?);
    let after = request.text("cursor");
    after.map(knowledge::check_source).transpose().map_err(|invalid| invalid.at("cursor"))?;
    let page = request.state.kernel.list_sources(request.project()?, &namespace, after, limit).await?;
    respond::ok(&SourceList {
        items: page.iter().map(SourceOut::from).collect(),
        next_cursor: next_cursor(&page, limit, |source| source.source_id.clone()),
    })
}

pub(crate) async fn search(request: Request) -> Answer {
    let query = KnowledgeQuery {
        shelf: knowledge::shelf(&namespace(&request)?),
        text: request.required("query")?.to_owned(),
        method: method(request.text("method"))?,
        top_k: request.positive_limit(FOUND.0, FOUND.1)?,
        score_threshold: score_threshold(request.text("score_threshold"))?,
    };
    let found = request.state.kernel.search_sections(request.project()?, &query).await?;
    let items = found.sections.iter().map(FoundOut::from).collect();
    respond::ok(&FoundList { items, truncated: found.is_cut })
}

pub(crate) async fn remove(request: Request) -> Answer {
    let (namespace, source_id) = (namespace(&request)?, request.required("source_id")?);
    let (kernel, caller) = (&request.state.kernel, request.caller()?);
    kernel.drop_source(request.project()?, &caller, &namespace, source_id).await?;
    respond::no_content()
}
