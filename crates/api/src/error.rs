//! Errors, everywhere the same body: `{"error":{"code","message","detail"?}}`. A turn that is not accepted says so
//! in the words of a dispatch as well.

use cardwire_kernel::protocol::RefusalCode;
use cardwire_model::{Invalid, InvalidCode};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

macro_rules! error_codes {
    ($($(#[$doc:meta])* $name:ident = $status:literal $text:literal,)*) => {
        /// A stable code with its HTTP status.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $($(#[$doc])* $name,)*
        }

        impl ErrorCode {
            /// All codes, in order.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The HTTP status.
            pub const fn status(self) -> u16 {
                match self {
                    $(Self::$name => $status,)*
                }
            }

            /// The code on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

error_codes! {
    /// Malformed or out of range; the message names the field.
    BadRequest = 400 "bad_request",
    /// No token, or one that opens nothing.
    Unauthenticated = 401 "unauthenticated",
    /// The token may not do this.
    Forbidden = 403 "forbidden",
    /// No such thing here.
    NotFound = 404 "not_found",
    /// The path exists, the method does not.
    MethodNotAllowed = 405 "method_not_allowed",
    /// Not as the caller assumed.
    Conflict = 409 "conflict",
    /// The card id holds another fact.
    CardConflict = 409 "card_conflict",
    /// The box takes no more changes.
    BoxSealed = 409 "box_sealed",
    /// The turn was ended, taken away or given to somebody else.
    StaleTurn = 409 "stale_turn",
    /// A turn writes its own output box and no other.
    BoxNotWritable = 403 "box_not_writable",
    /// The box was not handed to the agent that wants to hand it on.
    UnauthorizedBox = 403 "unauthorized_box",
    /// No agent was named.
    MissingAgentId = 400 "missing_agent_id",
    /// No profile box was named.
    MissingProfileBoxId = 400 "missing_profile_box_id",
    /// No context box was named.
    MissingContextBoxId = 400 "missing_context_box_id",
    /// The lineage does not hold together.
    ProtocolViolation = 400 "protocol_violation",
    /// Turns may not delegate so deep.
    RecursionDepthExceeded = 400 "recursion_depth_exceeded",
    /// No such box here.
    ProfileBoxNotFound = 404 "profile_box_not_found",
    /// No such box here.
    ContextBoxNotFound = 404 "context_box_not_found",
    /// No such box here.
    UnknownOutputBox = 404 "unknown_output_box",
    /// Another turn writes the box.
    OutputBoxInUse = 409 "output_box_in_use",
    /// The output box takes no more changes.
    OutputBoxSealed = 409 "output_box_sealed",
    /// The correlation or turn id stands for another request.
    DuplicateCorrelation = 409 "duplicate_correlation",
    /// Nobody is said to serve the agent.
    WorkerTargetMissing = 404 "worker_target_missing",
    /// The agent has a live turn, and waiting was not wanted.
    AgentBusy = 409 "agent_busy",
    /// Too many turns wait for the agent.
    InboxFull = 429 "inbox_full",
    /// The agent waits for the caller already.
    AncestorCycle = 400 "ancestor_cycle",
    /// Too many turns below one root.
    TreeBudgetExceeded = 429 "tree_budget_exceeded",
    /// A fork whose least result does not fit what its caller has left of the model's window.
    ResultBudgetExceeded = 413 "result_budget_exceeded",
    /// Too many open turns in the project.
    ProjectBudgetExceeded = 429 "project_budget_exceeded",
    /// Too many calls wait for the PMO.
    QueueFull = 503 "queue_full",
    /// Not one of ensure, create, derive.
    InvalidAction = 400 "invalid_action",
    /// Tags that are no list of names.
    InvalidTags = 400 "invalid_tags",
    /// Metadata that is no object.
    InvalidMetadata = 400 "invalid_metadata",
    /// No such profile.
    ProfileNotFound = 404 "profile_not_found",
    /// No tool and no recipe of that name.
    ToolDefinitionMissing = 404 "tool_definition_missing",
    /// A copy of whom?
    MissingDerivedFrom = 400 "missing_derived_from",
    /// The agent is a copy of somebody else.
    DerivedAgentConflict = 409 "derived_agent_conflict",
    /// What an agent is does not change.
    ExistingAgentProfile = 409 "existing_agent_profile_mutation_forbidden",
    /// Whose an agent is does not change.
    ExistingAgentOwner = 409 "existing_agent_owner_mutation_forbidden",
    /// Who serves an agent does not change.
    ExistingAgentWorkerTarget = 409 "existing_agent_worker_target_mutation_forbidden",
    /// The tags of an agent do not change.
    ExistingAgentTags = 409 "existing_agent_tags_mutation_forbidden",
    /// No `x__context`, or one that is not shared.
    InvalidContextKey = 400 "invalid_context_key",
    /// Both `query` and `human_message`.
    DualQueryPath = 400 "dual_query_path",
    /// A system message among those of memory.
    SystemInCheckpoint = 400 "system_in_checkpoint",
    /// Sessions have no such field.
    InvalidBlackboardKey = 400 "invalid_blackboard_key",
    /// The field has operations of its own.
    ReducerField = 400 "reducer_field",
    /// The block is made anew for every call.
    ContextNotPersistable = 400 "context_not_persistable",
    /// No request can be made of these cards.
    UnrepairableContext = 400 "unrepairable_context",
    /// What must be sent does not fit into the model's window.
    ContextOverflow = 413 "context_overflow",
    /// The tool is known here and carried out by others (PM-15).
    NotImplemented = 400 "not_implemented",
    /// A package that is not one; the message names the field.
    InvalidPackage = 400 "invalid_package",
    /// A package of another major version.
    UnsupportedVersion = 400 "unsupported_version",
    /// A package refers to contents and does not carry them.
    InlineContentForbidden = 400 "inline_content_forbidden",
    /// A path that leads, or could lead, out of the workspace.
    UnsafePath = 400 "unsafe_path",
    /// What a package tells of was told otherwise before.
    IterationChanged = 409 "iteration_changed",
    /// Even with the shortest index the package is too long.
    PackageTooLarge = 413 "package_too_large",
    /// What a package tells of is not all on disk.
    PersistenceIncomplete = 422 "persistence_incomplete",
    /// A file is not what it must be.
    InvalidFile = 422 "invalid_file",
    /// A file cannot be read.
    FileUnreadable = 422 "file_unreadable",
    /// A file cannot be written.
    FileNotWritten = 422 "file_not_written",
    /// The report is not one.
    InvalidReport = 422 "invalid_report",
    /// The report is not there any more.
    ReportNotFound = 404 "report_not_found",
    /// The package tells of no such sample.
    UnknownSample = 404 "unknown_sample",
    /// Over a size limit.
    TooLarge = 413 "too_large",
    /// Too many requests by this token.
    RateLimited = 429 "rate_limited",
    /// A fault of ours. The message tells nothing; the log does.
    Internal = 500 "internal",
    /// The embedding provider failed.
    RetrieverFailed = 502 "retriever_failed",
    /// The store cannot be used now.
    Unavailable = 503 "unavailable",
    /// It took too long.
    Timeout = 504 "timeout",
}

impl From<RefusalCode> for ErrorCode {
    fn from(code: RefusalCode) -> Self {
        match code {
            RefusalCode::MissingAgentId => Self::MissingAgentId,
            RefusalCode::MissingProfileBoxId => Self::MissingProfileBoxId,
            RefusalCode::MissingContextBoxId => Self::MissingContextBoxId,
            RefusalCode::ProtocolViolation => Self::ProtocolViolation,
            RefusalCode::RecursionDepthExceeded => Self::RecursionDepthExceeded,
            RefusalCode::ProfileBoxNotFound => Self::ProfileBoxNotFound,
            RefusalCode::ContextBoxNotFound => Self::ContextBoxNotFound,
            RefusalCode::UnknownOutputBox => Self::UnknownOutputBox,
            RefusalCode::OutputBoxInUse => Self::OutputBoxInUse,
            RefusalCode::OutputBoxSealed => Self::OutputBoxSealed,
            RefusalCode::DuplicateCorrelation => Self::DuplicateCorrelation,
            RefusalCode::WorkerTargetMissing => Self::WorkerTargetMissing,
            RefusalCode::AgentBusy => Self::AgentBusy,
            RefusalCode::InboxFull => Self::InboxFull,
            RefusalCode::AncestorCycle => Self::AncestorCycle,
            RefusalCode::TreeBudgetExceeded => Self::TreeBudgetExceeded,
            RefusalCode::ResultBudgetExceeded => Self::ResultBudgetExceeded,
            RefusalCode::ProjectBudgetExceeded => Self::ProjectBudgetExceeded,
            RefusalCode::InvalidAction => Self::InvalidAction,
            RefusalCode::InvalidTags => Self::InvalidTags,
            RefusalCode::InvalidMetadata => Self::InvalidMetadata,
            RefusalCode::ProfileNotFound => Self::ProfileNotFound,
            RefusalCode::MissingDerivedFrom => Self::MissingDerivedFrom,
            RefusalCode::DerivedAgentConflict => Self::DerivedAgentConflict,
            RefusalCode::ExistingAgentProfile => Self::ExistingAgentProfile,
            RefusalCode::ExistingAgentOwner => Self::ExistingAgentOwner,
            RefusalCode::ExistingAgentWorkerTarget => Self::ExistingAgentWorkerTarget,
            RefusalCode::ExistingAgentTags => Self::ExistingAgentTags,
        }
    }
}

impl From<&Invalid> for ErrorCode {
    fn from(invalid: &Invalid) -> Self {
        match invalid {
            Invalid::Field { .. } => Self::BadRequest,
            Invalid::Coded { code, .. } => (*code).into(),
            Invalid::TooLarge { .. } => Self::TooLarge,
        }
    }
}

impl From<InvalidCode> for ErrorCode {
    fn from(code: InvalidCode) -> Self {
        match code {
            InvalidCode::ContextKey => Self::InvalidContextKey,
            InvalidCode::DualQueryPath => Self::DualQueryPath,
            InvalidCode::SystemInCheckpoint => Self::SystemInCheckpoint,
            InvalidCode::BlackboardKey => Self::InvalidBlackboardKey,
            InvalidCode::ReducerField => Self::ReducerField,
            InvalidCode::ContextNotPersistable => Self::ContextNotPersistable,
            InvalidCode::Unrepairable => Self::UnrepairableContext,
            InvalidCode::ContextOverflow => Self::ContextOverflow,
            InvalidCode::NotImplemented => Self::NotImplemented,
        }
    }
}

/// The body of every error.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    /// What went wrong.
    pub error: ErrorInfo,
    /// How a dispatch or report ended that was not accepted: `busy`, `rejected` or `error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// With `status`: the code again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// With `status`: the agent it was for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Of a dispatch: the turn as its sender named it; null when it had no name yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub agent_turn_id: Option<Option<String>>,
    /// Of a dispatch: the trace that the turn would have had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
}

/// What went wrong.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ErrorInfo {
    /// Stable, for programs.
    pub code: String,
    /// For people.
    pub message: String,
    /// Facts, such as the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Value>,
}

#[cfg(test)]
mod tests {
    use super::*;

    ///
    #[test]
    fn a_refused_turn_keeps_its_code() {
        for code in RefusalCode::ALL {
            assert_eq!(ErrorCode::from(*code).as_str(), code.as_str());
        }
    }

    #[test]
    fn a_malformed_value_keeps_its_code() {
        for code in InvalidCode::ALL {
            assert_eq!(ErrorCode::from(*code).as_str(), code.as_str());
        }
    }
}
