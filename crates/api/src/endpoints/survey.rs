//! Whole runs, lists of cards and boxes, and where a card is used.

use super::{CURSOR, Endpoint, LIMIT, Op, get, json, post, text};
use crate::{
    Access,
    handed::HandedOut,
    survey::{BoxList, CardList, HolderList, InspectorCodeOut, OutlineOut, RunList, SentCardList},
};
use cardwire_model::Scope::Read;

pub(super) const ENDPOINTS: &[Endpoint] = &[
    get(
        Op::ListOutlines,
        "/projects/{project_id}/outlines",
        Access::Project(Read),
        "Turns that no other turn has sent, newest first, with sums over all turns below them.",
        json::<RunList>(),
    )
    .query(&[CURSOR, LIMIT]),
    get(
        Op::GetOutline,
        "/projects/{project_id}/turns/{agent_turn_id}/outline",
        Access::Project(Read),
        "A turn and all turns below it: who did what when, and what it cost.",
        json::<OutlineOut>(),
    ),
    get(
        Op::GetHandover,
        "/projects/{project_id}/turns/{agent_turn_id}/handover",
        Access::Project(Read),
        "What a turn was handed and by which rules, what its sender knew and kept, and what the same rules would pack now.",
        json::<HandedOut>(),
    ),
    get(
        Op::ListBoxes,
        "/projects/{project_id}/boxes",
        Access::Project(Read),
        "Boxes, newest first, without their cards.",
        json::<BoxList>(),
    )
    .query(&[CURSOR, LIMIT]),
    get(
        Op::ListCards,
        "/projects/{project_id}/cards",
        Access::Project(Read),
        "Cards, newest first: all of them, those of a type, or those with a text in them.",
        json::<CardList>(),
    )
    .query(&[
        text("type", "Only those of this type."),
        text("text", "Only those with this text in them, in letters of either case; at most 256 characters."),
        CURSOR,
        LIMIT,
    ]),
    get(
        Op::ListCardBoxes,
        "/projects/{project_id}/cards/{card_id}/boxes",
        Access::Project(Read),
        "The boxes that hold a card, of every generation.",
        json::<HolderList>(),
    ),
    get(
        Op::ListCardCalls,
        "/projects/{project_id}/cards/{card_id}/calls",
        Access::Project(Read),
        "The calls that sent a card to a model, newest first.",
        json::<SentCardList>(),
    )
    .query(&[CURSOR, LIMIT]),
    post(
        Op::CreateInspectorCode,
        "/inspector/codes",
        Access::Any(Read),
        "A code that signs a browser in to the inspector, with the reach of this token: once, within a minute.",
        None,
        (201, json::<InspectorCodeOut>()),
    ),
];
