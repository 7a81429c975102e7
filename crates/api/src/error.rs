//! Errors, everywhere the same body: `{"error":{"code","message","detail"?}}`. A turn that is not accepted says so
//! in the words of a dispatch as well.

use cardwire_kernel::protocol::RefusalCode;
use cardwire_model::{Invalid, InvalidCode};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, Type},
};

macro_rules! error_codes {
    ($(#[doc = $meaning:literal] $name:ident = $status:literal $text:literal => $remedy:literal,)*) => {
        /// A stable code with its HTTP status.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ErrorCode {
            $(#[doc = $meaning] $name,)*
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

            /// When it is answered.
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$name => $meaning.trim_ascii(),)*
                }
            }

            /// What to do about it.
            pub const fn remedy(self) -> &'static str {
                match self {
                    $(Self::$name => $remedy,)*
                }
            }
        }
    };
}

error_codes! {
    /// Malformed or out of range; the message names the field.
    BadRequest = 400 "bad_request"
        => "Correct the field that `error.detail.field` names, and send the request again.",
    /// No token, or one that opens nothing.
    Unauthenticated = 401 "unauthenticated"
        => "Send `Authorization: Bearer TOKEN` with a live token. `cardwire token create` makes one; the server's own is in `admin.token` of its data directory.",
    /// The token may not do this.
    Forbidden = 403 "forbidden"
        => "Use a token with the scope that the message names, bound to this project or to none. For `Host` and `Origin`: start the server with `--allow-host NAME`.",
    /// No such thing here.
    NotFound = 404 "not_found"
        => "Check the id or name, and that it is of the project in the path. Deleted and expired things are not found either.",
    /// The path exists, the method does not.
    MethodNotAllowed = 405 "method_not_allowed"
        => "Use a method that the header `Allow` lists.",
    /// Something has changed since the caller read it, or the name or key stands for something else.
    Conflict = 409 "conflict"
        => "Read the thing again and decide again. With an `Idempotency-Key`: use a new key for another request.",
    /// The card id holds another fact.
    CardConflict = 409 "card_conflict"
        => "Use another card id, or send exactly what was written under this one. A card never changes.",
    /// The box takes no more changes.
    BoxSealed = 409 "box_sealed"
        => "Fork the box and write into the fork.",
    /// The turn has ended, or another worker holds it.
    StaleTurn = 409 "stale_turn"
        => "Stop working on this turn: drop what you have, and claim again.",
    /// A turn writes its own output box and no other.
    BoxNotWritable = 403 "box_not_writable"
        => "Write into the turn's own output box, by the verbs of the turn.",
    /// The box was not handed to the agent that wants to hand it on.
    UnauthorizedBox = 403 "unauthorized_box"
        => "Hand on only boxes that the agent was given, or have its project's `settings.acl.inherit` changed by an operator.",
    /// No agent was named.
    MissingAgentId = 400 "missing_agent_id"
        => "Name the agent in `agent_id`.",
    /// No profile box was named, and the agent has no profile of its own to take.
    MissingProfileBoxId = 400 "missing_profile_box_id"
        => "Add the agent to the roster, so that it has a profile, or name a box in `profile_box_id`.",
    /// No context box was named.
    MissingContextBoxId = 400 "missing_context_box_id"
        => "Name the box with the task in `context_box_id`.",
    /// The parent turn, call or step is not there, or they do not belong together.
    ProtocolViolation = 400 "protocol_violation"
        => "Name a parent turn, call and step that are there, and belong to each other.",
    /// Turns delegate deeper than the project allows.
    RecursionDepthExceeded = 400 "recursion_depth_exceeded"
        => "Delegate less deep, or raise `settings.max_recursion_depth` of the project.",
    /// The profile box is not in this project.
    ProfileBoxNotFound = 404 "profile_box_not_found"
        => "Name a box that is there, or leave `profile_box_id` out to use the agent's own profile.",
    /// The context box is not in this project.
    ContextBoxNotFound = 404 "context_box_not_found"
        => "Make the box first (`POST …/l0/boxes`), in the same project.",
    /// The output box is not in this project.
    UnknownOutputBox = 404 "unknown_output_box"
        => "Name a box that is there, or leave `output_box_id` out to get a new one.",
    /// Another turn writes the box.
    OutputBoxInUse = 409 "output_box_in_use"
        => "Leave `output_box_id` out to get a new box, or wait until the other turn has ended. To pass on what a running turn has written, fork its box.",
    /// The output box takes no more changes.
    OutputBoxSealed = 409 "output_box_sealed"
        => "Leave `output_box_id` out to get a new box.",
    /// The correlation or turn id stands for another request.
    DuplicateCorrelation = 409 "duplicate_correlation"
        => "Use a new `correlation_id` and `agent_turn_id` for another request. The same request again is answered with the first turn.",
    /// The agent is not in the roster, so no workers serve it.
    WorkerTargetMissing = 404 "worker_target_missing"
        => "Add the agent to the roster (`cardwire agent add`); its profile says which workers serve it.",
    /// The agent has a live turn, and waiting was not wanted.
    AgentBusy = 409 "agent_busy"
        => "Try again when the agent's turn has ended, or let the turn wait with `queue_if_busy: true`.",
    /// Too many turns wait for the agent.
    InboxFull = 429 "inbox_full"
        => "Wait for turns of this agent to end, or use more agents.",
    /// The agent already waits for the caller.
    AncestorCycle = 400 "ancestor_cycle"
        => "Give the work to an agent that does not wait for the caller, or to a new one.",
    /// There are too many turns below one root.
    TreeBudgetExceeded = 429 "tree_budget_exceeded"
        => "Start fewer turns below one root, or raise `settings.pmo.max_tree_turns` of the project.",
    /// The least result of the fork does not fit into what is left of the caller's window.
    ResultBudgetExceeded = 413 "result_budget_exceeded"
        => "Fork fewer tasks at once.",
    /// The project has too many open turns.
    ProjectBudgetExceeded = 429 "project_budget_exceeded"
        => "Wait for turns to end, or raise `settings.pmo.max_open_turns` of the project.",
    /// Too many calls or computations of the project wait already.
    QueueFull = 503 "queue_full"
        => "Wait a second and send the request again; the header `Retry-After` says how long.",
    /// The action is not one of `ensure`, `create`, `derive`.
    InvalidAction = 400 "invalid_action"
        => "Use one of `ensure`, `create`, `derive`.",
    /// `tags` is not a list of names.
    InvalidTags = 400 "invalid_tags"
        => "Send `tags` as a list of names.",
    /// `metadata` is not an object.
    InvalidMetadata = 400 "invalid_metadata"
        => "Send `metadata` as an object.",
    /// There is no profile of that name.
    ProfileNotFound = 404 "profile_not_found"
        => "Write the profile first (`PUT …/profiles/NAME`), or correct its name.",
    /// There is no tool and no recipe of that name.
    ToolDefinitionMissing = 404 "tool_definition_missing"
        => "Correct the tool's name, or write a tool or a recipe of that name.",
    /// `derive` was asked for without the agent to copy.
    MissingDerivedFrom = 400 "missing_derived_from"
        => "Name the agent to copy in `derived_from`.",
    /// The agent is a copy of another agent.
    DerivedAgentConflict = 409 "derived_agent_conflict"
        => "Use another `agent_id` for the copy.",
    /// An agent keeps the profile it was made with.
    ExistingAgentProfile = 409 "existing_agent_profile_mutation_forbidden"
        => "Make a new agent with the other profile.",
    /// An agent keeps its owner.
    ExistingAgentOwner = 409 "existing_agent_owner_mutation_forbidden"
        => "Leave the owner out, or make a new agent.",
    /// An agent keeps the workers that serve it.
    ExistingAgentWorkerTarget = 409 "existing_agent_worker_target_mutation_forbidden"
        => "Make a new agent with a profile that names the other workers.",
    /// An agent keeps its tags.
    ExistingAgentTags = 409 "existing_agent_tags_mutation_forbidden"
        => "Leave `tags` out, or make a new agent.",
    /// The key does not end in `__context`, or the block is not shared.
    InvalidContextKey = 400 "invalid_context_key"
        => "Use a key that ends in `__context` and is shared.",
    /// Both `query` and `human_message` were given.
    DualQueryPath = 400 "dual_query_path"
        => "Send either `query` or `human_message`.",
    /// A system message stands among those of memory.
    SystemInCheckpoint = 400 "system_in_checkpoint"
        => "Leave system messages out of memory; profiles and blocks make them.",
    /// Sessions have no such field.
    InvalidBlackboardKey = 400 "invalid_blackboard_key"
        => "Correct the field's name: a session has those that `GET …/sessions/S` shows.",
    /// The field of a session is changed by an operation of its own.
    ReducerField = 400 "reducer_field"
        => "Change the field by its own operation, such as `messages.append`.",
    /// The block is made anew for every call and cannot be kept.
    ContextNotPersistable = 400 "context_not_persistable"
        => "Leave the block out: it is made anew for every call. `settings.context.reproducible_contexts` names those that may be kept.",
    /// No request can be made of these cards.
    UnrepairableContext = 400 "unrepairable_context"
        => "Read the message: it names the card that no request can be made with, such as an answer without its call.",
    /// What must be sent does not fit into the model's window.
    ContextOverflow = 413 "context_overflow"
        => "Give the agent less context, compact the session, or use a model with a larger window.",
    /// The tool is known here, and carried out elsewhere.
    NotImplemented = 400 "not_implemented"
        => "Run the tool in a worker: it is not one that the server carries out.",
    /// The handoff package is malformed; the message names the field.
    InvalidPackage = 400 "invalid_package"
        => "Correct the field that the message names; `detail.problems` lists all that is wrong.",
    /// The package has another major version.
    UnsupportedVersion = 400 "unsupported_version"
        => "Write the package in a version with a major number that this server knows.",
    /// A package carries a content instead of a path.
    InlineContentForbidden = 400 "inline_content_forbidden"
        => "Write the content to a file and refer to it by its path.",
    /// A path that leads, or could lead, out of the workspace.
    UnsafePath = 400 "unsafe_path"
        => "Use a path below the workspace without `..`, links or a leading slash.",
    /// The package says something else of an iteration than an earlier one.
    IterationChanged = 409 "iteration_changed"
        => "Leave written iterations as they are; tell of the change in a new one.",
    /// The package is too long even with the shortest index.
    PackageTooLarge = 413 "package_too_large"
        => "Shorten the texts of the package; contents belong in files.",
    /// Files that the package names are not there.
    PersistenceIncomplete = 422 "persistence_incomplete"
        => "Write the files that `detail.missing` lists, then send the package again.",
    /// A file is not what the package says it is.
    InvalidFile = 422 "invalid_file"
        => "Correct the files that `detail.problems` lists.",
    /// A file cannot be read.
    FileUnreadable = 422 "file_unreadable"
        => "Check that the file is there and that the server may read it.",
    /// A file cannot be written.
    FileNotWritten = 422 "file_not_written"
        => "Check room and rights of the workspace; the message says which file.",
    /// The report is malformed.
    InvalidReport = 422 "invalid_report"
        => "Correct the report; `detail.problems` lists what is wrong.",
    /// The report is no longer there.
    ReportNotFound = 404 "report_not_found"
        => "Write the report again, or send the package without it.",
    /// The package has no such sample.
    UnknownSample = 404 "unknown_sample"
        => "Name a sample of the package's index.",
    /// Over a size limit.
    TooLarge = 413 "too_large"
        => "Send less: the message says how much and what the limit is. See [settings](settings.md#limits).",
    /// Too many requests by this token, or from this address.
    RateLimited = 429 "rate_limited"
        => "Wait a second and send the request again; the header `Retry-After` says how long. `cardwire up --rate-limit` sets the rate of a token.",
    /// A fault of the server. The message tells nothing; the log does.
    Internal = 500 "internal"
        => "Look into the server's log for this time, and report a bug. For damaged cards: `cardwire verify` says how much is damaged.",
    /// The embedding provider failed.
    RetrieverFailed = 502 "retriever_failed"
        => "Check the embedding provider that the server was started with, or search with `method=full_text`.",
    /// The store cannot be read or written now.
    Unavailable = 503 "unavailable"
        => "Send the request again, with the same `Idempotency-Key` where it writes. If it lasts: `cardwire doctor`, and the server's log.",
    /// The request took too long.
    Timeout = 504 "timeout"
        => "Send the request again, with the same `Idempotency-Key` where it writes; ask for less at once.",
}

impl PartialSchema for ErrorCode {
    /// One of all codes.
    fn schema() -> RefOr<Schema> {
        let codes = Self::ALL.iter().map(|code| code.as_str());
        ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some(codes))
            .description(Some("What went wrong, for programs: stable, with one HTTP status each."))
            .into()
    }
}

impl ToSchema for ErrorCode {}

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
    #[schema(value_type = Option<ErrorCode>)]
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
    #[schema(value_type = ErrorCode)]
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
