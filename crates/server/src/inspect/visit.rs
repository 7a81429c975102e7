//! A visit of a page: who comes, to which place, and in which form the answer is wanted.

use super::session::Session;
use crate::{
    error::ApiError,
    gate,
    request::{By, Request, form_pairs},
    state::State,
};
use axum::{
    body::Bytes,
    http::{Method, request::Parts},
};
use cardwire_api::{ErrorCode, parse, pmo::RequestTrace};
use cardwire_inspector::{Crumb, Frame, Section};
use cardwire_model::{ProjectId, Scope, Timestamp};
use std::{collections::HashMap, sync::Arc};

/// In which form an answer is wanted (IN-05).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// A page.
    Html,
    /// What the API says.
    Json,
    /// For another agent.
    Markdown,
}

/// A visit of a page.
pub(super) struct Visit {
    /// The request as the API's handlers see it: the twins of pages are their answers.
    pub(super) request: Request,
    pub(super) session: Session,
    /// The segments of the address below `/inspect`, without the suffix.
    pub(super) place: Vec<String>,
    pub(super) format: Format,
    /// The address without the suffix.
    path: String,
    query: String,
    pub(super) now: Timestamp,
    /// How far the event log was before anything was read for a page.
    position: Option<u64>,
}

impl Visit {
    /// Checks that the session reaches the project of the address, with the scope that the method needs.
    pub(super) async fn new(
        state: &Arc<State>,
        parts: &Parts,
        segments: &[&str],
        session: Session,
        trace: RequestTrace,
    ) -> Result<Self, ApiError> {
        let mut place: Vec<String> = segments.iter().map(|segment| (*segment).to_owned()).collect();
        let mut format = Format::Html;
        if let Some(last) = place.last_mut() {
            for (suffix, wanted) in [(".json", Format::Json), (".md", Format::Markdown)] {
                if let Some(stem) = last.strip_suffix(suffix) {
                    (*last, format) = (stem.to_owned(), wanted);
                    break;
                }
            }
        }
        let acts = parts.method == Method::POST;
        let project = match &place[..] {
            [first, name, ..] if first == "p" => {
                let project: ProjectId = parse::one("project", name)?;
                let scope = if acts { Scope::Operate } else { Scope::Read };
                gate::permit(state, &session.by, Some(&project), scope)?;
                state.kernel.live_project(&project).await?;
                Some(project)
            }
            _ => None,
        };
        if acts && project.is_some() && !session.may_write {
            let message = "this session only reads; let it write on its page, /inspect/session";
            return Err(ApiError::new(ErrorCode::Forbidden, message));
        }
        let position = match &project {
            Some(project) if !acts && format == Format::Html => {
                Some(state.kernel.last_position(project).await?)
            }
            Some(_) | None => None,
        };
        let query = parts.uri.query().unwrap_or_default();
        let request = Request {
            state: Arc::clone(state),
            method: parts.method.clone(),
            path: parts.uri.path().to_owned(),
            params: HashMap::new(),
            query: form_pairs(query)?.into_iter().collect(),
            headers: parts.headers.clone(),
            body: Bytes::new(),
            by: Some(By::Token(session.by.clone())),
            project,
            trace,
        };
        let path = format!("/inspect/{}", place.join("/")).trim_end_matches('/').to_owned();
        let query = if query.is_empty() { String::new() } else { format!("?{query}") };
        Ok(Self { request, session, place, format, path, query, now: state.kernel.now(), position })
    }

    /// What is around a page of this visit. The way to it begins with the projects and the runs of this one.
    pub(super) fn frame(
        &self,
        section: Section,
        title: impl Into<String>,
        way: Vec<(String, Option<String>)>,
    ) -> Frame {
        let project = self.request.project.as_ref().map(ToString::to_string);
        let mut crumbs = vec![Crumb { name: "Projects".to_owned(), href: Some("/inspect".to_owned()) }];
        if let Some(project) = &project {
            crumbs.push(Crumb { name: project.clone(), href: Some(format!("/inspect/p/{project}")) });
        }
        crumbs.extend(way.into_iter().map(|(name, href)| Crumb { name, href }));
        if let Some(last) = crumbs.last_mut() {
            last.href = None;
        }
        Frame {
            project,
            section,
            crumbs,
            title: title.into(),
            path: self.path.clone(),
            query: self.query.clone(),
            may_write: self.session.may_write,
            is_live: false,
            position: self.position,
        }
    }

    /// The address of something in the visited project.
    pub(super) fn link(&self, rest: &str) -> String {
        match &self.request.project {
            Some(project) => format!("/inspect/p/{project}{rest}"),
            None => "/inspect".to_owned(),
        }
    }

    /// The same request with parameters of a path and of a query, as a handler of the API knows them.
    pub(super) fn api(mut self, params: &[(&str, &str)], query: &[(&str, String)]) -> Request {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        self.request.params = params.iter().map(own).collect();
        self.request.query = query.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        self.request
    }
}
