//! Running a team on the wire (API-17).

use crate::{parse, questions::QuestionOut, turns::TurnOut};
use cardwire_model::{CanonicalJson, Invalid, Namespace, SessionId, limits};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// What a team is asked.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RunTeamIn {
    /// In words.
    #[schema(min_length = 1, pattern = "\\S")]
    pub query: String,
    /// The session that the run goes on with; a new one when absent.
    #[serde(default)]
    #[schema(pattern = "^[A-Za-z0-9_-]{1,128}$")]
    pub session_id: Option<String>,
    /// Of that session; `default` when absent.
    #[serde(default)]
    #[schema(pattern = "^[A-Za-z0-9_-]{1,128}$")]
    pub namespace: Option<String>,
    /// How long to wait for the end, or until nothing goes on without a person's answer; clamped to 0..30000, 0 when absent.
    #[serde(default, deserialize_with = "parse::clamped")]
    pub wait_ms: Option<i64>,
}

impl RunTeamIn {
    /// Checks what types alone cannot.
    pub fn check(&self) -> Result<(), Invalid> {
        self.check_query()?;
        parse::given::<SessionId>("session_id", self.session_id.as_deref())?;
        parse::given::<Namespace>("namespace", self.namespace.as_deref())?;
        Ok(())
    }

    /// The query becomes a card, and is counted as one (SEC-07).
    fn check_query(&self) -> Result<(), Invalid> {
        if self.query.trim().is_empty() {
            return Err(Invalid::field("query", "must not be blank"));
        }
        let content = CanonicalJson::string(&self.query).map_err(|invalid| invalid.at("query"))?;
        let quotes = 2;
        Invalid::check_size("query", content.as_bytes().len() - quotes, limits::CARD_BYTES, "bytes")
    }
}

/// A run of a team.
#[derive(Debug, Serialize, ToSchema)]
pub struct RunTeamOut {
    /// The team.
    pub team: String,
    /// The agent that runs it.
    pub agent_id: String,
    /// The turn that is the run.
    pub agent_turn_id: String,
    /// Where it writes.
    #[schema(required)]
    pub output_box_id: Option<String>,
    /// The session it goes on with.
    pub session_id: String,
    /// Of that session.
    pub namespace: String,
    /// As of a turn: `queued`, `dispatched`, `running`, `suspended`, or how it ended.
    pub status: &'static str,
    /// What came out, once it has ended.
    #[schema(required, value_type = Option<serde_json::Value>)]
    pub deliverable: Option<Value>,
    /// The card of that.
    #[schema(required)]
    pub deliverable_card_id: Option<String>,
    /// What went wrong, for people.
    #[schema(required)]
    pub error: Option<String>,
    /// What went wrong, for programs.
    #[schema(required)]
    pub error_code: Option<String>,
    /// What it waits for people to answer (PR-10).
    pub questions: Vec<QuestionOut>,
}

impl RunTeamOut {
    /// The run as its turn stands.
    pub fn new(
        team: &str,
        session: (&str, &str),
        turn: TurnOut,
        deliverable: Option<Value>,
        questions: Vec<QuestionOut>,
    ) -> Self {
        Self {
            team: team.to_owned(),
            agent_id: turn.agent_id,
            agent_turn_id: turn.agent_turn_id,
            output_box_id: turn.output_box_id,
            session_id: session.0.to_owned(),
            namespace: session.1.to_owned(),
            status: turn.status,
            deliverable,
            deliverable_card_id: turn.deliverable_card_id,
            error: turn.error,
            error_code: turn.error_code,
            questions,
        }
    }
}
