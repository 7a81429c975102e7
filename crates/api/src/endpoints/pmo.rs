//! Handover and orchestration (API-09).

use super::{Endpoint, Op, boolean, json, post};
use crate::{
    Access,
    handover::{PackIn, PackOut},
    pmo::{CallIn, CallOut},
};
use cardwire_model::Scope::Operate;

pub(super) const ENDPOINTS: &[Endpoint] = &[
    post(
        Op::PackContext,
        "/projects/{project_id}/pmo/pack_context",
        Access::Project(Operate),
        "Pack a context box by the rules of a handover. 200 when it was only tried.",
        json::<PackIn>(),
        (201, json::<PackOut>()),
    )
    .query(&[boolean("dry_run", "Say what would be packed, and write nothing.")])
    .repeatable(),
    post(
        Op::CallTool,
        "/projects/{project_id}/pmo/{tool}:call",
        Access::Turn(Operate),
        "Call a tool for an agent: delegate_async, fork_join, launch_principal, ask_expert, provision_agent, or a recipe.",
        json::<CallIn>(),
        (200, json::<CallOut>()),
    )
    .query(&[boolean("dry_run", "Say what the target would be given, and write nothing.")])
    .repeatable(),
];
