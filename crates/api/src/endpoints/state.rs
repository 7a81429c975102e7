//! What agents are doing, and what they have done (API-08).

use super::{
    AGENT_ID, AGENT_TURN_ID, CORRELATION_ID, CURSOR, Endpoint, LIMIT, Op, Query, SINCE, TRACE_ID, UNTIL, get,
    json, post, text,
};
use crate::{
    Access,
    batches::{BatchList, BatchOut},
    cost::CostOut,
    state::{EdgeList, HeadList, HeadOut, IdentityEdgeList, InboxList, RebuildOut, StepList},
};
use cardwire_model::Scope::{Operate, Read};

pub(super) const ENDPOINTS: &[Endpoint] = &[
    get(
        Op::ListHeads,
        "/projects/{project_id}/state/agents",
        Access::Project(Read),
        "What each agent is doing, the newest first.",
        json::<HeadList>(),
    )
    .query(&[
        AGENT_ID,
        text("agent_turn_id", "Only the one that has this turn live."),
        text("trace_id", "Only those with a live turn of this trace."),
        text("status", "Only those that are idle, dispatched, running or suspended."),
        Query { summary: "Changed at or after this.", ..SINCE },
        Query { summary: "Changed before this.", ..UNTIL },
        CURSOR,
        LIMIT,
    ]),
    get(
        Op::GetHead,
        "/projects/{project_id}/state/agents/{agent_id}",
        Access::Project(Read),
        "What an agent is doing.",
        json::<HeadOut>(),
    ),
    post(
        Op::RebuildHead,
        "/projects/{project_id}/state/agents/{agent_id}:rebuild",
        Access::Project(Operate),
        "Rebuild the state of an agent that has lost it.",
        None,
        (200, json::<RebuildOut>()),
    ),
    get(
        Op::ListInbox,
        "/projects/{project_id}/state/inbox",
        Access::Project(Read),
        "Inbox rows, newest first.",
        json::<InboxList>(),
    )
    .query(&[
        AGENT_ID,
        AGENT_TURN_ID,
        TRACE_ID,
        CORRELATION_ID,
        text("status", "Only rows in this state."),
        SINCE,
        UNTIL,
        CURSOR,
        LIMIT,
    ]),
    get(
        Op::ListSteps,
        "/projects/{project_id}/state/steps",
        Access::Project(Read),
        "Steps, newest first.",
        json::<StepList>(),
    )
    .query(&[
        AGENT_ID,
        AGENT_TURN_ID,
        TRACE_ID,
        text("status", "Only those whose worker says this of their end."),
        text("phase", "Only those of this phase."),
        SINCE,
        UNTIL,
        CURSOR,
        LIMIT,
    ]),
    get(
        Op::SumCost,
        "/projects/{project_id}/cost",
        Access::Project(Read),
        "What calls of models have cost.",
        json::<CostOut>(),
    )
    .query(&[
        text("by", "Sums by `agent` (the default), `turn`, `step`, `model`, `layer` or `card`."),
        text("subtree_of", "Only this turn and those below it."),
        text("batch_id", "Only the branches of this batch and the turns below them."),
        AGENT_ID,
        AGENT_TURN_ID,
        TRACE_ID,
        SINCE,
        UNTIL,
    ]),
    get(
        Op::ListEdges,
        "/projects/{project_id}/state/execution/edges",
        Access::Project(Read),
        "Edges of the execution graph, newest first.",
        json::<EdgeList>(),
    )
    .query(&[
        AGENT_ID,
        AGENT_TURN_ID,
        TRACE_ID,
        CORRELATION_ID,
        text("primitive", "Only of this primitive: enqueue, tool_call, report or join."),
        text("edge_phase", "Only of this phase: request or response."),
        SINCE,
        UNTIL,
        CURSOR,
        LIMIT,
    ]),
    get(
        Op::ListIdentityEdges,
        "/projects/{project_id}/state/identity/edges",
        Access::Project(Read),
        "How agents came to be, newest first.",
        json::<IdentityEdgeList>(),
    )
    .query(&[AGENT_ID, TRACE_ID, SINCE, UNTIL, CURSOR, LIMIT]),
    get(
        Op::ListBatches,
        "/projects/{project_id}/batches",
        Access::Project(Read),
        "Batches, newest first, without their tasks.",
        json::<BatchList>(),
    )
    .query(&[
        text("agent_id", "Only forked by this agent."),
        text("agent_turn_id", "Only forked in this turn."),
        TRACE_ID,
        text("status", "Only in this state: running, success, partial, failed or timeout."),
        SINCE,
        UNTIL,
        CURSOR,
        LIMIT,
    ]),
    get(
        Op::GetBatch,
        "/projects/{project_id}/batches/{batch_id}",
        Access::Project(Read),
        "A batch with its tasks.",
        json::<BatchOut>(),
    ),
    post(
        Op::CancelBatch,
        "/projects/{project_id}/batches/{batch_id}:cancel",
        Access::Project(Operate),
        "Call a batch off: what has not ended is stopped. One that is closed stays as it is.",
        None,
        (200, json::<BatchOut>()),
    ),
];
