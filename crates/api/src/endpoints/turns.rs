//! Turns: dispatching and following them, and what their workers say (API-10).

use super::{
    AGENT_ID, AGENT_TURN_ID, CORRELATION_ID, CURSOR, Endpoint, LIMIT, Op, Query, SINCE, TRACE_ID, UNTIL, get,
    json, post, text, typed,
};
use crate::{
    Access,
    chunks::{ChunkIn, ChunkOut},
    claim::{ClaimIn, ClaimOut},
    dispatch::{DispatchIn, DispatchOut},
    finish::{EndedOut, FinishIn, ReleaseIn, ReleasedOut},
    forks::{ReplayOut, TurnForkIn, TurnForkOut},
    questions::QuestionList,
    reports::{ReportIn, ReportOut},
    runs::UnfinishedRunList,
    turns::{StopIn, StopOut, TurnList, TurnOut},
    verbs::{AppendedOut, EpochIn, StateOut, StepIn, StepOut, SuspendIn, SuspendedOut, TurnCardsIn},
    view::ViewOut,
};
use cardwire_model::Scope::{Operate, Read, Work};

const STEP_ID: Query = text("step_id", "As it was when this step was written.");

pub(super) const ENDPOINTS: &[Endpoint] = &[
    post(
        Op::DispatchTurn,
        "/projects/{project_id}/l0/turns",
        Access::Project(Operate),
        "Put a turn into an agent's inbox. 200 when the same request was accepted before.",
        json::<DispatchIn>(),
        (201, json::<DispatchOut>()),
    )
    .repeatable(),
    post(
        Op::ClaimTurns,
        "/l0/claim",
        Access::Any(Work),
        "Take what waits for a worker, and wait for it if need be.",
        json::<ClaimIn>(),
        (200, json::<ClaimOut>()),
    ),
    verb::<EpochIn>(
        Op::StartTurn,
        "/projects/{project_id}/l0/turns/{agent_turn_id}:start",
        "Start a turn, or resume it.",
        (200, json::<StateOut>()),
    ),
    verb::<EpochIn>(
        Op::BeatTurn,
        "/projects/{project_id}/l0/turns/{agent_turn_id}:heartbeat",
        "Show that the worker of a turn is alive.",
        (200, json::<StateOut>()),
    ),
    verb::<TurnCardsIn>(
        Op::AppendTurnCards,
        "/projects/{project_id}/l0/turns/{agent_turn_id}/cards",
        "Write cards into the turn's output box: one card, or a list.",
        (200, json::<AppendedOut>()),
    ),
    verb::<StepIn>(
        Op::TakeStep,
        "/projects/{project_id}/l0/turns/{agent_turn_id}/steps",
        "Write a step, or change one.",
        (201, json::<StepOut>()),
    ),
    verb::<SuspendIn>(
        Op::SuspendTurn,
        "/projects/{project_id}/l0/turns/{agent_turn_id}:suspend",
        "Wait for tools.",
        (200, json::<SuspendedOut>()),
    ),
    verb::<FinishIn>(
        Op::FinishTurn,
        "/projects/{project_id}/l0/turns/{agent_turn_id}:finish",
        "Deliver and end the turn.",
        (200, json::<EndedOut>()),
    ),
    verb::<ReleaseIn>(
        Op::ReleaseTurn,
        "/projects/{project_id}/l0/turns/{agent_turn_id}:release",
        "Give the turn back unfinished.",
        (200, json::<ReleasedOut>()),
    ),
    post(
        Op::SendChunk,
        "/projects/{project_id}/l0/turns/{agent_turn_id}/chunks",
        Access::Turn(Operate),
        "Pass on what a model is writing to those who watch. It is kept by nobody.",
        json::<ChunkIn>(),
        (204, None),
    ),
    get(
        Op::ReadChunks,
        "/projects/{project_id}/turns/{agent_turn_id}/chunks",
        Access::Project(Read),
        "What the turn is writing, as server-sent events, until it has ended. Only from now on, and only what this server hears.",
        typed::<ChunkOut>(&["text/event-stream"]),
    ),
    get(
        Op::ViewTurn,
        "/projects/{project_id}/l0/turns/{agent_turn_id}/view",
        Access::Turn(Operate),
        "What the turn sees.",
        json::<ViewOut>(),
    )
    .query(&[STEP_ID]),
    post(
        Op::ReportTool,
        "/projects/{project_id}/l0/reports",
        Access::Turn(Work),
        "Answer a tool call of a turn.",
        json::<ReportIn>(),
        (200, json::<ReportOut>()),
    )
    .repeatable(),
    get(
        Op::ListTurns,
        "/projects/{project_id}/turns",
        Access::Project(Read),
        "Turns, newest first.",
        json::<TurnList>(),
    )
    .query(&[
        AGENT_ID,
        AGENT_TURN_ID,
        TRACE_ID,
        CORRELATION_ID,
        text("status", "Only in this state: queued, dispatched, running, suspended, or how it ended."),
        SINCE,
        UNTIL,
        CURSOR,
        LIMIT,
    ]),
    get(
        Op::GetTurn,
        "/projects/{project_id}/turns/{agent_turn_id}",
        Access::Project(Read),
        "A turn.",
        json::<TurnOut>(),
    ),
    get(
        Op::GetTurnView,
        "/projects/{project_id}/turns/{agent_turn_id}/view",
        Access::Project(Read),
        "What the turn sees, or saw.",
        json::<ViewOut>(),
    )
    .query(&[STEP_ID]),
    get(
        Op::ListQuestions,
        "/projects/{project_id}/turns/{agent_turn_id}/questions",
        Access::Project(Read),
        "What people are asked by the turn and everything below it. Answer with a report.",
        json::<QuestionList>(),
    ),
    get(
        Op::ListOpenQuestions,
        "/projects/{project_id}/questions",
        Access::Project(Read),
        "What people are asked by all turns of the project, by agent. Questions of one turn are on one page.",
        json::<QuestionList>(),
    )
    .query(&[CURSOR, LIMIT]),
    get(
        Op::ListUnfinishedRuns,
        "/runs",
        Access::Any(Read),
        "Runs of teams that have not ended, in every project that the token opens.",
        json::<UnfinishedRunList>(),
    )
    .query(&[text("project_id", "Only of this project."), CURSOR, LIMIT]),
    post(
        Op::StopTurn,
        "/projects/{project_id}/turns/{agent_turn_id}:stop",
        Access::Project(Operate),
        "Call a turn off.",
        json::<StopIn>(),
        (200, json::<StopOut>()),
    )
    .repeatable(),
    post(
        Op::ForkTurn,
        "/projects/{project_id}/turns/{agent_turn_id}:fork",
        Access::Project(Operate),
        "Go on from one of a turn's calls with one thing changed: a new turn of an agent of its own. The original stays.",
        json::<TurnForkIn>(),
        (201, json::<TurnForkOut>()),
    )
    .repeatable(),
    get(
        Op::ReplayTurn,
        "/projects/{project_id}/turns/{agent_turn_id}/replay",
        Access::Project(Read),
        "Run a turn that has ended again, with the answers that its model and its tools gave then, and compare.",
        json::<ReplayOut>(),
    ),
];

/// What the holder of a turn says.
const fn verb<T: utoipa::ToSchema>(
    op: Op,
    path: &'static str,
    summary: &'static str,
    success: (u16, Option<super::Body>),
) -> Endpoint {
    post(op, path, Access::Turn(Operate), summary, json::<T>(), success).repeatable()
}
