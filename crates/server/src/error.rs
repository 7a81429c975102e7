//! From what the kernel says to what a client gets.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use cardwire_api::{ErrorBody, ErrorCode, error::ErrorInfo, handoffs};
use cardwire_handoff::{Refusal, RefusalKind};
use cardwire_kernel::{
    KernelError,
    protocol::{Rejection, Verdict, resource},
    store::StoreError,
};
use cardwire_model::Invalid;
use serde_json::{Value, json};

/// An answer that is an error.
#[derive(Debug)]
pub(crate) struct ApiError {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
    pub(crate) detail: Option<Value>,
    /// How a dispatch or report ended that was not accepted.
    pub(crate) refused: Option<Box<Refused>>,
    /// Bytes of the request are left on the connection, so that it ends with this answer.
    pub(crate) closes: bool,
}

/// The words of a dispatch, besides those of an error.
#[derive(Debug)]
pub(crate) struct Refused {
    verdict: Verdict,
    agent_id: Option<String>,
    turn: Option<RefusedTurn>,
}

/// What a dispatch said of its turn (DP-09).
#[derive(Debug, Clone)]
pub(crate) struct RefusedTurn {
    /// Absent when it is for the server to name.
    pub(crate) agent_turn_id: Option<String>,
    pub(crate) trace_id: String,
}

pub(crate) type Answer = Result<Response, ApiError>;

impl ApiError {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), detail: None, refused: None, closes: false }
    }

    /// Adds to the detail.
    pub(crate) fn with_detail(mut self, more: &Value) -> Self {
        let mut detail = self.detail.take().unwrap_or_else(|| json!({}));
        if let (Some(detail), Some(more)) = (detail.as_object_mut(), more.as_object()) {
            detail.extend(more.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
        self.detail = Some(detail);
        self
    }

    /// Says which agent a refused turn was for.
    pub(crate) fn for_agent(mut self, agent_id: Option<String>) -> Self {
        if let Some(refused) = &mut self.refused {
            refused.agent_id = agent_id;
        }
        self
    }

    /// Says which turn was refused.
    pub(crate) fn for_turn(mut self, turn: RefusedTurn) -> Self {
        if let Some(refused) = &mut self.refused {
            refused.turn = Some(turn);
        }
        self
    }
}

impl From<Invalid> for ApiError {
    fn from(invalid: Invalid) -> Self {
        let code = ErrorCode::from(&invalid);
        let detail = Some(json!({ "field": invalid.field_name() }));
        Self { code, message: invalid.to_string(), detail, refused: None, closes: false }
    }
}

impl From<Rejection> for ApiError {
    fn from(rejection: Rejection) -> Self {
        let message = rejection.to_string();
        match rejection {
            Rejection::Invalid(invalid) => invalid.into(),
            Rejection::NotFound { what: resource::DEFINITION, .. } => {
                Self::new(ErrorCode::ToolDefinitionMissing, message)
            }
            Rejection::NotFound { .. } => Self::new(ErrorCode::NotFound, message),
            Rejection::CardConflict { .. } | Rejection::CardGone { .. } => {
                Self::new(ErrorCode::CardConflict, message)
            }
            Rejection::BoxSealed { .. } => Self::new(ErrorCode::BoxSealed, message),
            Rejection::Outdated => Self::new(ErrorCode::Conflict, message),
            Rejection::IterationChanged(_) => Self::new(ErrorCode::IterationChanged, message),
            Rejection::Conflict(_) => Self::new(ErrorCode::Conflict, message),
            Rejection::Forbidden(_) => Self::new(ErrorCode::Forbidden, message),
            Rejection::UnauthorizedBox { .. } => Self::new(ErrorCode::UnauthorizedBox, message),
            Rejection::StaleTurn(..) => Self::new(ErrorCode::StaleTurn, message),
            Rejection::Unauthenticated => Self::new(ErrorCode::Unauthenticated, message),
            Rejection::Refused(refusal) => {
                let refused =
                    Some(Box::new(Refused { verdict: refusal.verdict, agent_id: None, turn: None }));
                Self { refused, ..Self::new(refusal.code.into(), message) }
            }
            // The kernel rebuilds what is lost and decides again; when even that does not help, waiting might.
            Rejection::Lost(_) => Self::new(ErrorCode::Unavailable, message),
        }
    }
}

impl From<KernelError> for ApiError {
    fn from(error: KernelError) -> Self {
        match error {
            KernelError::Rejected(rejection) => rejection.into(),
            KernelError::Unauthenticated | KernelError::TokenEnded(_) => {
                Self::new(ErrorCode::Unauthenticated, error.to_string())
            }
            KernelError::QueueFull(_) | KernelError::Crowded(_) => {
                Self::new(ErrorCode::QueueFull, error.to_string())
            }
            KernelError::Retriever(_) => Self::new(ErrorCode::RetrieverFailed, error.to_string()),
            KernelError::Contended => Self::new(ErrorCode::Unavailable, error.to_string()),
            KernelError::Store(error) => error.into(),
        }
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let of_kind = match refusal.kind {
            RefusalKind::Invalid => ErrorCode::BadRequest,
            RefusalKind::NotFound => ErrorCode::NotFound,
            RefusalKind::Conflict => ErrorCode::Conflict,
            RefusalKind::TooLarge => ErrorCode::TooLarge,
            RefusalKind::Unprocessable => ErrorCode::InvalidFile,
        };
        let code = ErrorCode::ALL.iter().copied().find(|code| code.as_str() == refusal.code);
        let problems = handoffs::problems(&refusal.problems);
        let mut detail = json!({ "field": refusal.field, "problems": problems });
        if code == Some(ErrorCode::PersistenceIncomplete) {
            let missing = refusal.problems.iter().filter(|problem| problem.code == refusal.code);
            detail["missing"] = missing.filter_map(|problem| problem.file.as_deref()).collect();
        }
        Self { detail: Some(detail), ..Self::new(code.unwrap_or(of_kind), refusal.message) }
    }
}

impl From<StoreError> for ApiError {
    /// Internals go to the log, never to the client.
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(_) => {
                tracing::warn!(%error, "store unavailable");
                Self::new(ErrorCode::Unavailable, "the store is unavailable; nothing was written")
            }
            StoreError::CannotWrite(outage) => {
                tracing::warn!(%error, "store unavailable");
                let detail = Some(json!({ "reason": outage.as_str() }));
                Self { detail, ..Self::new(ErrorCode::Unavailable, error.to_string()) }
            }
            StoreError::DamagedCards(cards) => {
                let ids: Vec<String> = cards.iter().map(ToString::to_string).collect();
                let message = format!(
                    "what is stored is not what was written, in the cards {}; `cardwire verify` tells how much is \
                     damaged, and a backup has the cards",
                    ids.join(", ")
                );
                Self { detail: Some(json!({ "card_ids": ids })), ..Self::new(ErrorCode::Internal, message) }
            }
            StoreError::Uncertain(_) => {
                tracing::warn!(%error, "outcome unknown");
                let message = "the connection to the store was lost; the request may or may not have been done. \
                               Repeat it with the same Idempotency-Key or card id";
                Self::new(ErrorCode::Unavailable, message)
            }
            StoreError::Damaged(_) | StoreError::Internal(_) => {
                tracing::error!(%error, "store failed");
                Self::new(ErrorCode::Internal, "internal error; the server's log has the details")
            }
        }
    }
}

impl ApiError {
    /// What is sent.
    pub(crate) fn into_body(self) -> (StatusCode, ErrorBody) {
        let error =
            ErrorInfo { code: self.code.as_str().to_owned(), message: self.message, detail: self.detail };
        let status = StatusCode::from_u16(self.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let (status_word, agent_id, turn) = match self.refused.map(|refused| *refused) {
            Some(Refused { verdict, agent_id, turn }) => (Some(verdict.as_str().to_owned()), agent_id, turn),
            None => (None, None, None),
        };
        let body = ErrorBody {
            error_code: status_word.as_ref().map(|_| error.code.clone()),
            error,
            status: status_word,
            agent_id,
            agent_turn_id: turn.as_ref().map(|turn| turn.agent_turn_id.clone()),
            trace_id: turn.map(|turn| turn.trace_id),
        };
        (status, body)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (code, closes) = (self.code, self.closes);
        let (status, body) = self.into_body();
        let mut response = crate::respond::json(status, &body);
        let headers = response.headers_mut();
        if code == ErrorCode::Unauthenticated {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if matches!(
            code,
            ErrorCode::RateLimited | ErrorCode::InboxFull | ErrorCode::QueueFull | ErrorCode::Unavailable
        ) {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if closes {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}
