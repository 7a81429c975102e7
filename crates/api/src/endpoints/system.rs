//! The server itself, projects, tokens, the audit and event logs.

use super::{
    AGENT_ID, AGENT_TURN_ID, CURSOR, Endpoint, LIMIT, Op, QueryKind, SINCE, TRACE_ID, UNTIL, boolean, delete,
    get, integer, json, post, query, text, typed,
};
use crate::{Access, events, projects, system, tokens};
use cardwire_model::Scope::{Admin, Read};

pub(super) const ENDPOINTS: &[Endpoint] = &[
    get(Op::Health, "/health", Access::Open, "The process is alive.", json::<system::HealthOut>()),
    get(
        Op::Ready,
        "/ready",
        Access::Guest(Read),
        "The server can do its work. With a token it says what it works with, or why it cannot.",
        json::<system::ReadyOut>(),
    ),
    get(
        Op::Metrics,
        "/metrics",
        Access::Global(Read),
        "Prometheus metrics.",
        typed::<String>(&["text/plain"]),
    ),
    get(Op::OpenApi, "/openapi.json", Access::Open, "This document.", json::<serde_json::Value>()),
    get(
        Op::ListProjects,
        "/projects",
        Access::Any(Read),
        "Projects by name.",
        json::<projects::ProjectList>(),
    )
    .query(&[CURSOR, LIMIT]),
    post(
        Op::CreateProject,
        "/projects",
        Access::Global(Admin),
        "Make a project.",
        json::<projects::ProjectIn>(),
        (201, json::<projects::ProjectOut>()),
    )
    .repeatable(),
    get(
        Op::GetProject,
        "/projects/{project_id}",
        Access::Project(Read),
        "A project.",
        json::<projects::ProjectOut>(),
    ),
    post(
        Op::UpdateProject,
        "/projects/{project_id}",
        Access::Project(Admin),
        "Change a project's title or settings.",
        json::<projects::ProjectPatch>(),
        (200, json::<projects::ProjectOut>()),
    )
    .method("PATCH"),
    delete(
        Op::DeleteProject,
        "/projects/{project_id}",
        Access::Project(Admin),
        "Delete a project. Its name stays taken.",
    ),
    get(
        Op::ListAudit,
        "/projects/{project_id}/audit",
        Access::Project(Read),
        "Audit rows, newest first.",
        json::<projects::AuditList>(),
    )
    .query(&[
        text("actor", "Only what this one did: the id of a token or of a turn, or a part of the system."),
        text("action", "Only this: `card.delete`, say."),
        text("subject", "Only what was done to this."),
        text("verdict", "Only what was allowed or denied."),
        SINCE,
        UNTIL,
        CURSOR,
        LIMIT,
    ]),
    get(
        Op::ReadEvents,
        "/projects/{project_id}/events",
        Access::Project(Read),
        "The durable event log as server-sent events.",
        typed::<events::EventOut>(&["text/event-stream"]),
    )
    .query(&[
        integer("after", "Start after this position; 0 is the beginning."),
        AGENT_ID,
        AGENT_TURN_ID,
        text("batch_id", "Only of this batch."),
        TRACE_ID,
        boolean("follow", "`false` ends the stream at the end of the log."),
    ]),
    get(
        Op::ListTokens,
        "/tokens",
        Access::Any(Admin),
        "Tokens, without their secrets.",
        json::<tokens::TokenList>(),
    )
    .query(&[CURSOR, LIMIT]),
    post(
        Op::CreateToken,
        "/tokens",
        Access::Any(Admin),
        "Make a token. Its secret is shown once.",
        json::<tokens::TokenIn>(),
        (201, json::<tokens::TokenOut>()),
    )
    .repeatable(),
    delete(Op::RevokeToken, "/tokens/{token_id}", Access::Any(Admin), "End a token."),
    post(
        Op::Verify,
        "/admin/verify",
        Access::Global(Admin),
        "Recompute card hashes and audit chains.",
        None,
        (200, json::<system::VerifyOut>()),
    ),
    post(
        Op::Tick,
        "/admin/watchdog:tick",
        Access::Global(Admin),
        "Run the watchdog once, at a moment of your choice.",
        json::<system::TickIn>(),
        (200, json::<system::TickOut>()),
    )
    .query(&[query("now", QueryKind::Time, "The moment; the same may be said in the body.")]),
];
