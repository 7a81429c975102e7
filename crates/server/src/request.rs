//! A request as handlers see it: authenticated, authorised, with its body read.

use crate::{error::ApiError, state::State};
use axum::{
    body::Bytes,
    http::{HeaderMap, Method},
};
use cardwire_api::{Endpoint, endpoints::QueryKind, parse};
use cardwire_kernel::{Caller, Remember, protocol::Actor};
use cardwire_model::{AnswerKey, Invalid, ProjectId, Token, TokenSecret, hash::FieldHasher, limits};
use serde::de::DeserializeOwned;
use std::{collections::HashMap, str::FromStr, sync::Arc};

/// Who sent the request.
#[derive(Clone)]
pub(crate) struct Authenticated {
    pub(crate) token: Token,
    pub(crate) secret: TokenSecret,
}

pub(crate) struct Request {
    pub(crate) state: Arc<State>,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) params: HashMap<String, String>,
    pub(crate) query: HashMap<String, String>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Absent only where no token is needed.
    pub(crate) by: Option<Authenticated>,
    /// The project in the path, checked to be live.
    pub(crate) project: Option<ProjectId>,
}

impl Request {
    pub(crate) fn by(&self) -> Result<&Authenticated, ApiError> {
        self.by.as_ref().ok_or_else(|| cardwire_kernel::KernelError::Unauthenticated.into())
    }

    pub(crate) fn caller(&self) -> Result<Caller, ApiError> {
        Ok(Caller { actor: Actor::token(self.by()?.token.id) })
    }

    pub(crate) fn project(&self) -> Result<&ProjectId, ApiError> {
        self.project.as_ref().ok_or_else(|| Invalid::field("project_id", "is required").into())
    }

    pub(crate) fn param<T: FromStr<Err = Invalid>>(&self, name: &str) -> Result<T, Invalid> {
        parse::one(name, self.params.get(name).map_or("", String::as_str))
    }

    pub(crate) fn body<T: DeserializeOwned>(&self) -> Result<T, Invalid> {
        parse::body(&self.body)
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str)
    }

    pub(crate) fn integer(&self, name: &str) -> Result<Option<i64>, Invalid> {
        self.text(name).map(|text| parse_integer(name, text)).transpose()
    }

    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, Invalid> {
        self.text(name).map(|text| parse_flag(name, text)).transpose()
    }

    /// `limit`, clamped to what one answer may carry.
    pub(crate) fn limit(&self, default: usize, most: usize) -> Result<usize, Invalid> {
        let limit = self.integer("limit")?;
        Ok(limit.map_or(default, |limit| usize::try_from(limit).unwrap_or(1).clamp(1, most)))
    }

    pub(crate) fn page_limit(&self) -> Result<usize, Invalid> {
        self.limit(limits::PAGE_DEFAULT, limits::PAGE_MAX)
    }

    /// The request's `Idempotency-Key`, and how to make the answer that is remembered with it.
    pub(crate) fn remember<T>(
        &self,
        render: impl Fn(&T) -> Option<(u16, String)> + Send + Sync + 'static,
    ) -> Result<Option<Remember<T>>, ApiError> {
        let Some(header) = self.headers.get("idempotency-key") else { return Ok(None) };
        let key = header.to_str().map_err(|_| Invalid::field("Idempotency-Key", "must be visible ASCII"))?;
        let request_hash = FieldHasher::default()
            .field(self.method.as_str().as_bytes())
            .field(self.path.as_bytes())
            .field(&self.body)
            .finish();
        let key = AnswerKey::new(self.by()?.token.id.to_string(), key, request_hash)?;
        Ok(Some(Remember { key, render: Box::new(render) }))
    }
}

/// Reads and checks the query: unknown and repeated parameters are refused, values have the right type.
pub(crate) fn read_query(
    endpoint: &Endpoint,
    query: Option<&str>,
) -> Result<HashMap<String, String>, Invalid> {
    let mut values = HashMap::new();
    for (name, value) in form_pairs(query.unwrap_or(""))? {
        let Some(known) = endpoint.query.iter().find(|known| known.name == name) else {
            return Err(Invalid::field(name, "unknown query parameter"));
        };
        match known.kind {
            QueryKind::Integer => drop(parse_integer(&name, &value)?),
            QueryKind::Boolean => drop(parse_flag(&name, &value)?),
            QueryKind::Text => {}
        }
        if values.insert(name, value).is_some() {
            return Err(Invalid::field(known.name, "given twice"));
        }
    }
    Ok(values)
}

fn form_pairs(query: &str) -> Result<Vec<(String, String)>, Invalid> {
    let uri = format!("/?{query}").parse().map_err(|_| Invalid::field("query", "malformed"))?;
    let pairs = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(&uri);
    pairs.map(|pairs| pairs.0).map_err(|_| Invalid::field("query", "malformed"))
}

fn parse_integer(name: &str, text: &str) -> Result<i64, Invalid> {
    text.parse().map_err(|_| Invalid::field(name, "must be a whole number"))
}

fn parse_flag(name: &str, text: &str) -> Result<bool, Invalid> {
    text.parse().map_err(|_| Invalid::field(name, "must be true or false"))
}
