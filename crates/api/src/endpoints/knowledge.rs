//! Documents that agents are given passages of (KN-01..KN-04).

use super::{CURSOR, Endpoint, LIMIT, NAMESPACE, Op, delete, get, integer, json, needed, post, text};
use crate::{
    Access,
    knowledge::{DocumentIn, FoundList, SourceList, TakenInOut},
};
use cardwire_model::Scope::{Operate, Read};

const KNOWLEDGE: &str = "/projects/{project_id}/knowledge";

pub(super) const ENDPOINTS: &[Endpoint] = &[
    post(
        Op::TakeInKnowledge,
        KNOWLEDGE,
        Access::Project(Operate),
        "Take a document in, in the place of what was known by its name.",
        json::<DocumentIn>(),
        (201, json::<TakenInOut>()),
    )
    .repeatable(),
    get(Op::ListKnowledge, KNOWLEDGE, Access::Project(Read), "Documents by name.", json::<SourceList>())
        .query(&[NAMESPACE, CURSOR, LIMIT]),
    get(
        Op::SearchKnowledge,
        "/projects/{project_id}/knowledge:search",
        Access::Project(Read),
        "The sections that fit a query best. A blank query finds nothing.",
        json::<FoundList>(),
    )
    .query(&[
        needed("query", "What to look for."),
        NAMESPACE,
        integer("limit", "How many, from 1; more than 100 is 100, and 8 when absent."),
        text("score_threshold", "What fits less well is left out. What a score is depends on the method."),
        text("method", "`full_text`, `semantic` or `hybrid`; whatever the server can do when absent."),
    ]),
    delete(
        Op::DropKnowledge,
        KNOWLEDGE,
        Access::Project(Operate),
        "Drop a document: it is found no more. One that is not there is fine.",
    )
    .query(&[needed("source_id", "Which."), NAMESPACE]),
];
