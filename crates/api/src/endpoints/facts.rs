//! Cards and boxes.

use super::{Endpoint, Op, Query, boolean, delete, get, integer, json, json_list, post};
use crate::{Access, boxes, cards};
use cardwire_model::Scope::{Operate, Read};

const HYDRATED: Query = integer("limit", "How many; clamped to 1..500, 200 when absent.");
const INCLUDE_DELETED: Query = boolean("include_deleted", "Show deleted and expired cards too.");

pub(super) const ENDPOINTS: &[Endpoint] = &[
    get(
        Op::GetBox,
        "/projects/{project_id}/boxes/{box_id}",
        Access::Project(Read),
        "A box: its card ids in order.",
        json::<boxes::BoxOut>(),
    )
    .query(&[integer("generation", "An earlier generation.")]),
    get(
        Op::GetBoxCards,
        "/projects/{project_id}/boxes/{box_id}/cards",
        Access::Project(Read),
        "The last `limit` cards of a box, in box order.",
        json_list::<cards::CardOut>(),
    )
    .query(&[HYDRATED, INCLUDE_DELETED]),
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
    )
    .query(&[INCLUDE_DELETED]),
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
    )
    .query(&[INCLUDE_DELETED]),
    post(
        Op::PutCard,
        "/projects/{project_id}/l0/cards",
        Access::Project(Operate),
        "Write a card. 200 when the same fact was there.",
        json::<cards::CardIn>(),
        (201, json::<cards::CardOut>()),
    )
    .repeatable(),
    delete(
        Op::DeleteCard,
        "/projects/{project_id}/l0/cards/{card_id}",
        Access::Project(Operate),
        "Soft-delete a card.",
    ),
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
