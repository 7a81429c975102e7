//! What models are sent, and why (API-11, RP-01..RP-04).

use super::{Endpoint, Op, boolean, get, json, needed, post};
use crate::{
    Access,
    calls::{CallContextOut, ModelCallIn, ModelCallOut},
    compose::{ComposeIn, ComposeOut},
    explain::{DiffOut, ExpandOut, WhyOut},
};
use cardwire_model::Scope::{Operate, Read};

pub(super) const ENDPOINTS: &[Endpoint] = &[
    post(
        Op::ComposeContext,
        "/context/compose",
        Access::Any(Read),
        "Compose messages from what is given: a pure function.",
        json::<ComposeIn>(),
        (200, json::<ComposeOut>()),
    ),
    // The answer holds the whole request, which is never stored (RP-01): of a repeat, the call is remembered and rendered
    // again.
    post(
        Op::ComposeCall,
        "/projects/{project_id}/l0/turns/{agent_turn_id}/calls",
        Access::Turn(Operate),
        "Compose the next model call of a turn and keep its manifest.",
        json::<ModelCallIn>(),
        (201, json::<ModelCallOut>()),
    )
    .repeatable(),
    get(
        Op::GetCallContext,
        "/projects/{project_id}/calls/{call_id}/context",
        Access::Project(Read),
        "What a model was sent: the manifest of a call, with every card.",
        json::<CallContextOut>(),
    )
    .query(&[
        boolean("render", "Render the request again and hold it against its hash."),
        boolean("spans", "Render it, and tell where each byte of it comes from."),
    ]),
    get(
        Op::DiffContext,
        "/projects/{project_id}/context:diff",
        Access::Project(Read),
        "What changed between two calls or turns, by layer and card.",
        json::<DiffOut>(),
    )
    .query(&[needed("left", "A call, or a turn."), needed("right", "A call, or a turn.")]),
    get(
        Op::WhyContext,
        "/projects/{project_id}/context:why",
        Access::Project(Read),
        "Why a card is in a call, or why not.",
        json::<WhyOut>(),
    )
    .query(&[needed("call", "Which call."), needed("card", "Which card.")]),
    get(
        Op::ExpandContext,
        "/projects/{project_id}/context:expand",
        Access::Project(Read),
        "The cards that a summary stands for.",
        json::<ExpandOut>(),
    )
    .query(&[needed("card", "The card of the summary.")]),
];
