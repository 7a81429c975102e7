//! The table of endpoints: one row drives routing, access, the OpenAPI document and the isolation tests, so that
//! none of them can forget a route.

use crate::{Access, boxes, cards, error::ErrorBody, events, projects, system, tokens};
use cardwire_model::Scope::{Admin, Operate, Read};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

/// What an endpoint does. The server matches on it without a wildcard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is named by its row in the table")]
pub enum Op {
    Health,
    Ready,
    Metrics,
    OpenApi,
    ListProjects,
    CreateProject,
    GetProject,
    UpdateProject,
    DeleteProject,
    ListAudit,
    ReadEvents,
    ListTokens,
    CreateToken,
    RevokeToken,
    Verify,
    GetBox,
    GetBoxCards,
    GetProvenance,
    ReadBoxes,
    GetCard,
    ReadCards,
    PutCard,
    DeleteCard,
    CreateBox,
    AppendToBox,
    RewriteBox,
    ForkBox,
}

/// One row.
pub struct Endpoint {
    /// What it does.
    pub op: Op,
    /// HTTP method.
    pub method: &'static str,
    /// Path with `{parameters}`; a verb follows the last one after a colon.
    pub path: &'static str,
    /// Who may call it.
    pub access: Access,
    /// One line for people.
    pub summary: &'static str,
    /// Query parameters.
    pub query: &'static [Query],
    /// The request body.
    pub body: Option<Body>,
    /// The status and body of success.
    pub success: (u16, Option<Body>),
    /// Whether `Idempotency-Key` is honoured.
    pub repeatable: bool,
}

/// A query parameter.
pub struct Query {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub kind: QueryKind,
    /// One line for people.
    pub summary: &'static str,
}

/// What a query parameter takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryKind {
    /// A whole number.
    Integer,
    /// `true` or `false`.
    Boolean,
    /// Any text.
    Text,
}

/// A body and its schema.
pub struct Body {
    /// `application/json` unless said otherwise.
    pub content_type: &'static str,
    /// The schema's name in the document.
    pub name: fn() -> String,
    /// The schema.
    pub schema: fn() -> RefOr<Schema>,
    /// Schemas it refers to.
    pub collect: fn(&mut Vec<(String, RefOr<Schema>)>),
    /// Whether the body is a list of these.
    pub list: bool,
}

const fn json<T: ToSchema>() -> Option<Body> {
    Some(Body {
        content_type: "application/json",
        name: || T::name().into_owned(),
        schema: <T as PartialSchema>::schema,
        collect: <T as ToSchema>::schemas,
        list: false,
    })
}

const fn typed<T: ToSchema>(content_type: &'static str) -> Option<Body> {
    match json::<T>() {
        Some(body) => Some(Body { content_type, ..body }),
        None => None,
    }
}

const fn json_list<T: ToSchema>() -> Option<Body> {
    match json::<T>() {
        Some(body) => Some(Body { list: true, ..body }),
        None => None,
    }
}

/// The body of every error.
pub const ERROR: Option<Body> = json::<ErrorBody>();

const INCLUDE_DELETED: Query = Query {
    name: "include_deleted",
    kind: QueryKind::Boolean,
    summary: "Show deleted and expired cards too.",
};
const CURSOR: Query =
    Query { name: "cursor", kind: QueryKind::Text, summary: "`next_cursor` of the page before." };
const LIMIT: Query =
    Query { name: "limit", kind: QueryKind::Integer, summary: "How many; clamped to 1..500." };

const fn get(
    op: Op,
    path: &'static str,
    access: Access,
    summary: &'static str,
    out: Option<Body>,
) -> Endpoint {
    Endpoint {
        op,
        method: "GET",
        path,
        access,
        summary,
        query: &[],
        body: None,
        success: (200, out),
        repeatable: false,
    }
}

const fn post(
    op: Op,
    path: &'static str,
    access: Access,
    summary: &'static str,
    body: Option<Body>,
    success: (u16, Option<Body>),
) -> Endpoint {
    Endpoint { op, method: "POST", path, access, summary, query: &[], body, success, repeatable: false }
}

impl Endpoint {
    const fn query(self, query: &'static [Query]) -> Self {
        // Written out because a const function cannot drop the rest of `self`.
        let Self { op, method, path, access, summary, query: _, body, success, repeatable } = self;
        Self { op, method, path, access, summary, query, body, success, repeatable }
    }

    const fn repeatable(mut self) -> Self {
        self.repeatable = true;
        self
    }

    const fn method(mut self, method: &'static str) -> Self {
        self.method = method;
        self
    }

    /// Names of the path parameters, in order.
    pub fn parameters(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.path.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name)
    }

    /// The verb after the last parameter, if there is one.
    pub fn verb(&self) -> Option<&'static str> {
        self.path.rsplit_once("}:").map(|(_, verb)| verb)
    }
}

/// Every endpoint there is.
pub const ENDPOINTS: &[Endpoint] = &[
    get(Op::Health, "/health", Access::Open, "The process is alive.", json::<system::HealthOut>()),
    get(Op::Ready, "/ready", Access::Any(Read), "The server can do its work.", json::<system::ReadyOut>()),
    get(Op::Metrics, "/metrics", Access::Global(Read), "Prometheus metrics.", typed::<String>("text/plain")),
    get(Op::OpenApi, "/openapi.json", Access::Any(Read), "This document.", json::<serde_json::Value>()),
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
    post(
        Op::DeleteProject,
        "/projects/{project_id}",
        Access::Project(Admin),
        "Delete a project. Its name stays taken.",
        None,
        (204, None),
    )
    .method("DELETE"),
    get(
        Op::ListAudit,
        "/projects/{project_id}/audit",
        Access::Project(Read),
        "Audit rows, newest first.",
        json::<projects::AuditList>(),
    )
    .query(&[CURSOR, LIMIT]),
    get(
        Op::ReadEvents,
        "/projects/{project_id}/events",
        Access::Project(Read),
        "The durable event log as server-sent events.",
        typed::<events::EventOut>("text/event-stream"),
    )
    .query(&[
        Query {
            name: "after",
            kind: QueryKind::Integer,
            summary: "Start after this position; 0 is the beginning.",
        },
        Query { name: "agent_id", kind: QueryKind::Text, summary: "Only events of this agent." },
        Query {
            name: "follow",
            kind: QueryKind::Boolean,
            summary: "`false` ends the stream at the end of the log.",
        },
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
    post(Op::RevokeToken, "/tokens/{token_id}", Access::Any(Admin), "End a token.", None, (204, None))
        .method("DELETE"),
    post(
        Op::Verify,
        "/admin/verify",
        Access::Global(Admin),
        "Recompute card hashes and audit chains.",
        None,
        (200, json::<system::VerifyOut>()),
    ),
    get(
        Op::GetBox,
        "/projects/{project_id}/boxes/{box_id}",
        Access::Project(Read),
        "A box: its card ids in order.",
        json::<boxes::BoxOut>(),
    )
    .query(&[Query { name: "generation", kind: QueryKind::Integer, summary: "An earlier generation." }]),
    get(
        Op::GetBoxCards,
        "/projects/{project_id}/boxes/{box_id}/cards",
        Access::Project(Read),
        "The last `limit` cards of a box, in box order.",
        json_list::<cards::CardOut>(),
    )
    .query(&[LIMIT, INCLUDE_DELETED]),
    get(
        Op::GetProvenance,
        "/projects/{project_id}/boxes/{box_id}/provenance",
        Access::Project(Read),
        "Where each card of a box came from.",
        json::<boxes::ProvenanceOut>(),
    ),
    post(
        Op::ReadBoxes,
        "/projects/{project_id}/boxes/batch",
        Access::Project(Read),
        "Many boxes at once.",
        json::<boxes::BoxBatchIn>(),
        (200, json::<boxes::BoxBatchOut>()),
    ),
    get(
        Op::GetCard,
        "/projects/{project_id}/cards/{card_id}",
        Access::Project(Read),
        "A card.",
        json::<cards::CardOut>(),
    )
    .query(&[INCLUDE_DELETED]),
    post(
        Op::ReadCards,
        "/projects/{project_id}/cards/batch",
        Access::Project(Read),
        "Many cards at once.",
        json::<cards::CardBatchIn>(),
        (200, json::<cards::CardBatchOut>()),
    ),
    post(
        Op::PutCard,
        "/projects/{project_id}/l0/cards",
        Access::Project(Operate),
        "Write a card. 200 when the same fact was there.",
        json::<cards::CardIn>(),
        (201, json::<cards::CardOut>()),
    )
    .repeatable(),
    post(
        Op::DeleteCard,
        "/projects/{project_id}/l0/cards/{card_id}",
        Access::Project(Operate),
        "Soft-delete a card.",
        None,
        (204, None),
    )
    .method("DELETE"),
    post(
        Op::CreateBox,
        "/projects/{project_id}/l0/boxes",
        Access::Project(Operate),
        "Make a box.",
        json::<boxes::BoxIn>(),
        (201, json::<boxes::BoxOut>()),
    )
    .repeatable(),
    post(
        Op::AppendToBox,
        "/projects/{project_id}/l0/boxes/{box_id}/cards",
        Access::Project(Operate),
        "Add cards to a box.",
        json::<boxes::AppendIn>(),
        (200, json::<boxes::BoxChangeOut>()),
    )
    .repeatable(),
    post(
        Op::RewriteBox,
        "/projects/{project_id}/l0/boxes/{box_id}:rewrite",
        Access::Project(Operate),
        "Give a box a new generation; the old one stays readable.",
        json::<boxes::RewriteIn>(),
        (200, json::<boxes::BoxOut>()),
    )
    .repeatable(),
    post(
        Op::ForkBox,
        "/projects/{project_id}/l0/boxes/{box_id}:fork",
        Access::Project(Operate),
        "Make a box that shows a prefix of another, by reference.",
        json::<boxes::ForkIn>(),
        (201, json::<boxes::BoxOut>()),
    )
    .repeatable(),
];
