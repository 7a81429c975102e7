//! A request as handlers see it: authenticated, authorised, with its body read.

use crate::{error::ApiError, state::State};
use axum::{
    body::Bytes,
    http::{HeaderMap, Method, header},
};
use cardwire_api::{Endpoint, ErrorCode, endpoints::QueryKind, parse, pmo::RequestTrace, yaml};
use cardwire_kernel::{
    Caller, KernelError, Remember,
    protocol::{
        Actor,
        turn::{Proof, append::check_call_id},
    },
};
use cardwire_model::{
    AnswerKey, CancelFlag, Hash256, Invalid, ProjectId, Timestamp, Token, TokenSecret, TurnId,
    hash::FieldHasher, limits,
};
use serde::de::DeserializeOwned;
use std::{
    collections::HashMap,
    num::{IntErrorKind, ParseIntError},
    str::FromStr,
    sync::Arc,
};

/// Who sent the request.
#[derive(Clone)]
pub(crate) enum By {
    /// The holder of an access token.
    Token(Authenticated),
    /// The holder of this turn, who knows the secret with this hash.
    Turn(TurnId, Hash256),
}

/// The holder of an access token.
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
    pub(crate) by: Option<By>,
    /// The project in the path, checked to be live.
    pub(crate) project: Option<ProjectId>,
    /// The trace the request belongs to.
    pub(crate) trace: RequestTrace,
}

impl Request {
    /// The access token. Endpoints that take turn tokens do not ask for it.
    pub(crate) fn by(&self) -> Result<&Authenticated, ApiError> {
        match &self.by {
            Some(By::Token(by)) => Ok(by),
            Some(By::Turn(..)) => {
                Err(ApiError::new(ErrorCode::Forbidden, "a turn token opens its turn only"))
            }
            None => Err(KernelError::Unauthenticated.into()),
        }
    }

    pub(crate) fn caller(&self) -> Result<Caller, ApiError> {
        let actor = match &self.by {
            Some(By::Token(by)) => Actor::token(by.token.id),
            Some(By::Turn(turn, _)) => Actor::turn(*turn),
            None => return Err(KernelError::Unauthenticated.into()),
        };
        Ok(Caller { actor })
    }

    /// Why the caller may speak for a turn. The decision compares.
    pub(crate) fn proof(&self) -> Result<Proof, ApiError> {
        match &self.by {
            Some(By::Token(_)) => Ok(Proof::Operator),
            Some(By::Turn(_, hash)) => Ok(Proof::Lease(*hash)),
            None => Err(KernelError::Unauthenticated.into()),
        }
    }

    pub(crate) fn project(&self) -> Result<&ProjectId, ApiError> {
        self.project.as_ref().ok_or_else(|| Invalid::field("project_id", "is required").into())
    }

    pub(crate) fn param<T: FromStr<Err = Invalid>>(&self, name: &str) -> Result<T, Invalid> {
        parse::one(name, self.params.get(name).map_or("", String::as_str))
    }

    /// The body as what the endpoint takes.
    pub(crate) async fn body<T: DeserializeOwned + Send + 'static>(&self) -> Result<T, ApiError> {
        self.read(|body, _| Ok(body)).await
    }

    /// What is made of the body. A large one is read where that holds up nobody.
    pub(crate) async fn read<B: DeserializeOwned, T: Send + 'static>(
        &self,
        make: impl FnOnce(B, &CancelFlag) -> Result<T, Invalid> + Send + 'static,
    ) -> Result<T, ApiError> {
        let body = self.body.clone();
        self.compute(body.len(), move |cancel| Ok(make(parse::body(&body)?, cancel)?)).await
    }

    /// The body as JSON text; YAML is turned into it where its content type says so.
    pub(crate) async fn json(&self) -> Result<Bytes, ApiError> {
        let content_type = self.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let body = self.body.clone();
        if !content_type.is_some_and(yaml::is_yaml) {
            return Ok(body);
        }
        let json = move |_: &CancelFlag| {
            let text = std::str::from_utf8(&body).map_err(|_| Invalid::field("body", "must be UTF-8"))?;
            Ok(yaml::to_json(text)?.into())
        };
        self.compute(self.body.len(), json).await
    }

    /// Pure work on so many bytes, for the project that asks: what is long does not hold up other requests (F-45).
    pub(crate) async fn compute<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce(&CancelFlag) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let of_token = match &self.by {
            Some(By::Token(by)) => by.token.realm.project(),
            Some(By::Turn(..)) | None => None,
        };
        self.state.kernel.compute(self.project.as_ref().or(of_token), bytes, work).await?
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

    pub(crate) fn time(&self, name: &str) -> Result<Option<Timestamp>, Invalid> {
        self.parsed(name)
    }

    /// A query parameter that is an id or a name.
    pub(crate) fn parsed<T: FromStr<Err = Invalid>>(&self, name: &str) -> Result<Option<T>, Invalid> {
        parse::given(name, self.text(name))
    }

    /// A query parameter that must be there.
    pub(crate) fn required(&self, name: &str) -> Result<&str, Invalid> {
        self.text(name).ok_or_else(|| Invalid::field(name, "is required"))
    }

    /// A query parameter that is a name which others chose: short and printable, so that every store can look for it.
    pub(crate) fn printable(&self, name: &str) -> Result<Option<String>, Invalid> {
        let text = self.text(name);
        text.map(|text| check_call_id(name, text)).transpose()?;
        Ok(text.map(str::to_owned))
    }

    /// `limit`, clamped to what one answer may carry (API-03).
    pub(crate) fn limit(&self, default: usize, most: usize) -> Result<usize, Invalid> {
        let limit = self.integer("limit")?;
        Ok(limit.map_or(default, |limit| usize::try_from(limit).unwrap_or(1).clamp(1, most)))
    }

    /// `limit` of a list that is read page by page. A page of none would be a page without an end.
    pub(crate) fn page_limit(&self) -> Result<usize, Invalid> {
        self.positive_limit(limits::PAGE_DEFAULT, limits::PAGE_MAX)
    }

    /// `limit`, which must be at least 1; more than one answer may carry is as many as it may.
    pub(crate) fn positive_limit(&self, default: usize, most: usize) -> Result<usize, Invalid> {
        match self.integer("limit")? {
            Some(none) if none < 1 => {
                Err(Invalid::field("limit", format!("must be from 1 to {most}, got {none}")))
            }
            Some(_) | None => self.limit(default, most),
        }
    }

    /// The request's `Idempotency-Key`, and how to make the answer that is remembered with it.
    pub(crate) fn remember<T>(
        &self,
        render: impl Fn(&T) -> Option<(u16, String)> + Send + Sync + 'static,
    ) -> Result<Option<Remember<T>>, ApiError> {
        let Some(header) = self.headers.get("idempotency-key") else { return Ok(None) };
        let key = header.to_str().map_err(|_| Invalid::field("Idempotency-Key", "must be visible ASCII"))?;
        let mut query: Vec<_> = self.query.iter().collect();
        query.sort_unstable();
        let hasher = FieldHasher::default()
            .field(self.method.as_str().as_bytes())
            .field(self.path.as_bytes())
            .field(&self.body);
        let with = |hasher: FieldHasher, (name, value): (&String, &String)| {
            hasher.field(name.as_bytes()).field(value.as_bytes())
        };
        let request_hash = query.into_iter().fold(hasher, with).finish();
        let key = AnswerKey::new(self.caller()?.actor.name().to_owned(), key, request_hash)?;
        Ok(Some(Remember { key, render: Box::new(render) }))
    }
}

/// Reads and checks the query: unknown and repeated parameters are refused, values have the right type. Whatever the
/// spelling, a parameter is known by its own name from here on.
pub(crate) fn read_query(
    endpoint: &Endpoint,
    query: Option<&str>,
) -> Result<HashMap<String, String>, Invalid> {
    let mut values = HashMap::new();
    for (name, value) in form_pairs(query.unwrap_or(""))? {
        let Some(known) = endpoint.parameter(&name) else {
            return Err(Invalid::field(name, "unknown query parameter"));
        };
        match known.kind {
            QueryKind::Integer => drop(parse_integer(&name, &value)?),
            QueryKind::Boolean => drop(parse_flag(&name, &value)?),
            QueryKind::Time => drop(parse::one::<Timestamp>(&name, &value)?),
            QueryKind::Text => {}
        }
        if values.insert(known.name.to_owned(), value).is_some() {
            return Err(Invalid::field(known.name, "given twice"));
        }
    }
    Ok(values)
}

pub(crate) fn form_pairs(query: &str) -> Result<Vec<(String, String)>, Invalid> {
    let uri = format!("/?{query}").parse().map_err(|_| Invalid::field("query", "malformed"))?;
    let pairs = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(&uri);
    pairs.map(|pairs| pairs.0).map_err(|_| Invalid::field("query", "malformed"))
}

/// Any run of digits is a whole number; those that are too large for one are the largest there is (API-03).
fn parse_integer(name: &str, text: &str) -> Result<i64, Invalid> {
    text.parse().or_else(|error: ParseIntError| {
        if *error.kind() == IntErrorKind::PosOverflow {
            Ok(i64::MAX)
        } else if *error.kind() == IntErrorKind::NegOverflow {
            Ok(i64::MIN)
        } else {
            Err(Invalid::field(name, "must be a whole number"))
        }
    })
}

fn parse_flag(name: &str, text: &str) -> Result<bool, Invalid> {
    text.parse().map_err(|_| Invalid::field(name, "must be true or false"))
}
