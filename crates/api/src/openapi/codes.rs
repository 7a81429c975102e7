//! Which errors an endpoint answers with. Tests of the server hold every refusal against it.

use crate::{Access, Endpoint, ErrorCode, Op};
use ErrorCode::{
    AgentBusy, AncestorCycle, BadRequest, BoxNotWritable, BoxSealed, CardConflict, Conflict,
    ContextBoxNotFound, ContextNotPersistable, ContextOverflow, DerivedAgentConflict, DualQueryPath,
    DuplicateCorrelation, ExistingAgentOwner, ExistingAgentProfile, ExistingAgentTags,
    ExistingAgentWorkerTarget, FileNotWritten, FileUnreadable, Forbidden, InboxFull, InlineContentForbidden,
    Internal, InvalidAction, InvalidBlackboardKey, InvalidContextKey, InvalidFile, InvalidMetadata,
    InvalidPackage, InvalidReport, InvalidTags, IterationChanged, MethodNotAllowed, MissingAgentId,
    MissingContextBoxId, MissingDerivedFrom, MissingProfileBoxId, NotFound, NotImplemented, OutputBoxInUse,
    OutputBoxSealed, PackageTooLarge, PersistenceIncomplete, ProfileBoxNotFound, ProfileNotFound,
    ProjectBudgetExceeded, ProtocolViolation, QueueFull, RateLimited, RecursionDepthExceeded, ReducerField,
    ReportNotFound, ResultBudgetExceeded, RetrieverFailed, StaleTurn, SystemInCheckpoint, Timeout, TooLarge,
    ToolDefinitionMissing, TreeBudgetExceeded, Unauthenticated, UnauthorizedBox, Unavailable,
    UnknownOutputBox, UnknownSample, UnrepairableContext, UnsafePath, UnsupportedVersion,
    WorkerTargetMissing,
};

/// Any request may be malformed or meet a server that cannot answer.
const ALWAYS: &[ErrorCode] =
    &[BadRequest, Forbidden, NotFound, MethodNotAllowed, TooLarge, Internal, QueueFull, Unavailable, Timeout];
/// A request for which its caller must be known.
const KNOWN: &[ErrorCode] = &[Unauthenticated, RateLimited];

/// What a turn is refused with.
const DISPATCH: &[ErrorCode] = &[
    MissingAgentId,
    MissingProfileBoxId,
    MissingContextBoxId,
    ProtocolViolation,
    RecursionDepthExceeded,
    ProfileBoxNotFound,
    ContextBoxNotFound,
    UnknownOutputBox,
    OutputBoxInUse,
    OutputBoxSealed,
    DuplicateCorrelation,
    WorkerTargetMissing,
    AgentBusy,
    InboxFull,
];
/// What a change of the roster is refused with.
const ROSTER: &[ErrorCode] = &[
    InvalidAction,
    InvalidTags,
    InvalidMetadata,
    ProfileNotFound,
    MissingDerivedFrom,
    DerivedAgentConflict,
    ExistingAgentProfile,
    ExistingAgentOwner,
    ExistingAgentWorkerTarget,
    ExistingAgentTags,
];
/// What a handover is refused with, besides those.
const HANDOVER: &[ErrorCode] = &[
    UnauthorizedBox,
    AncestorCycle,
    TreeBudgetExceeded,
    ResultBudgetExceeded,
    ProjectBudgetExceeded,
    ToolDefinitionMissing,
    NotImplemented,
    StaleTurn,
    BoxSealed,
    CardConflict,
    InvalidContextKey,
    ContextOverflow,
    UnrepairableContext,
];
/// What the composition of a request to a model is refused with.
const COMPOSE: &[ErrorCode] = &[
    InvalidContextKey,
    DualQueryPath,
    SystemInCheckpoint,
    UnrepairableContext,
    ContextOverflow,
    RetrieverFailed,
];
/// What a word of the holder of a turn is refused with.
const VERB: &[ErrorCode] = &[StaleTurn, ProtocolViolation];
/// What cards in a turn's box are refused with.
const CARDS: &[ErrorCode] = &[CardConflict, BoxSealed];
/// What a handoff package is refused with.
const PACKAGE: &[ErrorCode] = &[
    InvalidPackage,
    UnsupportedVersion,
    InlineContentForbidden,
    UnsafePath,
    IterationChanged,
    PackageTooLarge,
    PersistenceIncomplete,
    InvalidFile,
    FileUnreadable,
    InvalidReport,
    ReportNotFound,
];

/// What operations refuse themselves.
const OWN: &[(&[Op], &[&[ErrorCode]])] = &[
    (&[Op::DispatchTurn], &[DISPATCH, &[InvalidContextKey]]),
    (&[Op::RunTeam, Op::CallTool], &[DISPATCH, ROSTER, HANDOVER]),
    (&[Op::ForkTurn], &[DISPATCH, ROSTER]),
    (&[Op::PackContext], &[ROSTER, HANDOVER, &[ProfileBoxNotFound]]),
    (&[Op::AddAgent], &[ROSTER]),
    (&[Op::StopTurn, Op::StartTurn, Op::BeatTurn, Op::SuspendTurn, Op::TakeStep, Op::SendChunk], &[VERB]),
    (&[Op::ReportTool, Op::AppendTurnCards], &[VERB, CARDS]),
    (&[Op::FinishTurn, Op::ReleaseTurn], &[VERB, CARDS, SESSION]),
    (&[Op::ComposeContext, Op::CollectContext, Op::GetCallContext], &[COMPOSE]),
    (&[Op::ComposeCall], &[VERB, COMPOSE]),
    (
        &[Op::PatchSession, Op::CompactSession, Op::RestoreSession],
        &[SESSION, &[RetrieverFailed, CardConflict]],
    ),
    (&[Op::TakeInKnowledge, Op::SearchKnowledge], &[&[RetrieverFailed]]),
    (&[Op::PutCard], &[&[CardConflict]]),
    (&[Op::ReplayTurn], &[&[Conflict]]),
    (&[Op::AppendToBox, Op::RewriteBox], &[&[BoxSealed, BoxNotWritable, OutputBoxInUse]]),
    (&[Op::CreateHandoff, Op::ValidateHandoff, Op::ValidateProjectHandoff, Op::PackHandoff], &[PACKAGE]),
    (&[Op::LoadHandoff], &[PACKAGE, &[UnknownSample]]),
    (&[Op::WriteFiles], &[&[UnsafePath, IterationChanged, InvalidFile, FileNotWritten, FileUnreadable]]),
];

fn own(op: Op) -> impl Iterator<Item = &'static [ErrorCode]> {
    OWN.iter().filter(move |(ops, _)| ops.contains(&op)).flat_map(|(_, codes)| codes.iter().copied())
}

/// What a change of a session is refused with.
const SESSION: &[ErrorCode] = &[
    InvalidBlackboardKey,
    ReducerField,
    ContextNotPersistable,
    SystemInCheckpoint,
    InvalidContextKey,
    UnrepairableContext,
    ContextOverflow,
];

/// Every error that the endpoint answers with, in the order of the table.
pub fn codes(endpoint: &Endpoint) -> Vec<ErrorCode> {
    let known: &[_] = match endpoint.access {
        Access::Open if endpoint.op == Op::Health => &[],
        Access::Open => &[RateLimited],
        Access::Guest(_) | Access::Any(_) | Access::Global(_) | Access::Project(_) | Access::Turn(_) => KNOWN,
    };
    // A read knows nothing that could have changed.
    let changes: &[_] = if endpoint.method == "GET" { &[] } else { &[Conflict] };
    // Who lost the turn that a token was for is told so.
    let of_turn: &[_] = if matches!(endpoint.access, Access::Turn(_)) { &[StaleTurn] } else { &[] };
    let parts = [ALWAYS, known, changes, of_turn];
    let mut codes: Vec<_> = parts.into_iter().chain(own(endpoint.op)).flatten().copied().collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}
