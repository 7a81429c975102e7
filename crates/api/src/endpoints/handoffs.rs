//! Handoff packages, and the files they refer to (API-12).

use super::{CURSOR, Endpoint, LIMIT, Op, Query, boolean, delete, get, json, post, text, yaml};
use crate::{
    Access,
    documents::{HandoffTypeIn, HandoffTypeList, HandoffTypeOut},
    handoffs::{HandoffList, HandoffOut, LoadIn, LoadOut, PackageIn, ValidOut},
    workspace::{AboutIn, FilesIn, FilesOut, PackageOut},
};
use cardwire_model::Scope::{Operate, Read, Work};

const HANDOFFS: &str = "/projects/{project_id}/handoffs";
const TYPES: &str = "/projects/{project_id}/handoff-types";
const TYPE: &str = "/projects/{project_id}/handoff-types/{type_name}";
const HANDOFF_TYPE: Query = text(
    "handoff_type",
    "The type, where the package does not say it. Another one in the package is refused.",
);
const GATE: Query = text(
    "gate",
    "`strict`: the files of an `init_to_execute` must be there; `off` (the default): they are warned of.",
);
const SENDER: Query = text("agent_id", "The agent that sends it, and may hand it on.");
const MAKER: Query = text("agent_id", "The agent that makes it. It reaches its project's directory alone.");
const DEEP: Query =
    boolean("deep", "Read every file of an `execute_to_init`, instead of seeing that it is there.");

pub(super) const ENDPOINTS: &[Endpoint] = &[
    post(
        Op::CreateHandoff,
        HANDOFFS,
        Access::Project(Work),
        "Hand a package over: paths and an index. Everything it tells of must be on disk.",
        json::<PackageIn>(),
        (201, json::<HandoffOut>()),
    )
    .query(&[HANDOFF_TYPE, GATE, DEEP, SENDER])
    .repeatable(),
    get(Op::ListHandoffs, HANDOFFS, Access::Project(Read), "Packages, the oldest first.", json::<HandoffList>())
        .query(&[CURSOR, LIMIT]),
    get(
        Op::GetHandoff,
        "/projects/{project_id}/handoffs/{handoff_id}",
        Access::Project(Read),
        "A package. No file is read.",
        json::<HandoffOut>(),
    ),
    post(
        Op::LoadHandoff,
        "/projects/{project_id}/handoffs/{handoff_id}:load",
        Access::Project(Read),
        "Load what a package refers to, under a budget of tokens.",
        json::<LoadIn>(),
        (200, json::<LoadOut>()),
    ),
    post(
        Op::ValidateHandoff,
        "/handoffs:validate",
        Access::Any(Read),
        "Check a package or a report. Files are looked at below the server's workspace root, for tokens of no one project.",
        json::<PackageIn>(),
        (200, json::<ValidOut>()),
    )
    .query(&[HANDOFF_TYPE, GATE, DEEP]),
    post(
        Op::ValidateProjectHandoff,
        "/projects/{project_id}/handoffs:validate",
        Access::Project(Read),
        "Check a package or a report, with the files of the project.",
        json::<PackageIn>(),
        (200, json::<ValidOut>()),
    )
    .query(&[HANDOFF_TYPE, GATE, DEEP]),
    post(
        Op::PackHandoff,
        "/projects/{project_id}/handoffs:pack",
        Access::Project(Read),
        "Make an `execute_to_init` package of a directory of results. It is not stored.",
        json::<AboutIn>(),
        (200, json::<PackageOut>()),
    )
    .query(&[MAKER]),
    post(
        Op::WriteFiles,
        "/projects/{project_id}/workspace/files",
        Access::Project(Work),
        "Write files of the workspace. One that is there with other bytes is a conflict, and nothing is written.",
        json::<FilesIn>(),
        (201, json::<FilesOut>()),
    ),
    get(Op::ListHandoffTypes, TYPES, Access::Project(Read), "Further kinds of packages.", json::<HandoffTypeList>())
        .query(&[CURSOR, LIMIT]),
    get(Op::GetHandoffType, TYPE, Access::Project(Read), "A further kind of packages.", json::<HandoffTypeOut>()),
    post(
        Op::PutHandoffType,
        TYPE,
        Access::Project(Operate),
        "Write a further kind of packages: its JSON Schema, and which members are paths. 200 when it was there.",
        yaml::<HandoffTypeIn>(),
        (201, json::<HandoffTypeOut>()),
    )
    .method("PUT"),
    delete(Op::DeleteHandoffType, TYPE, Access::Project(Operate), "Delete a further kind of packages."),
];
