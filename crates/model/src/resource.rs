//! Resources that are documents: tools, recipes, teams, the plan and handoff packages, each a card under a name (API-07).

use crate::{CardId, ResourceName, Revision, Timestamp, inbox::names};

names! {
    /// What a document is.
    ResourceKind {
        /// A tool that agents may call.
        Tool = "tool",
        /// A named handover that agents may call.
        Recipe = "recipe",
        /// Agents that work together.
        Team = "team",
        /// What the project is about to do; there is one.
        Plan = "plan",
        /// A package that was handed over (HO-14).
        Handoff = "handoff",
        /// A directory of results that a package tells of, under a hash of its path (HO-11).
        Iteration = "iteration",
        /// A further kind of package, with its JSON Schema.
        HandoffType = "handoff_type",
    }
}

/// A document under a name. A changed document is another card, so that the old one can still be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// What it is.
    pub kind: ResourceKind,
    /// Its name, unique among those of its kind.
    pub name: ResourceName,
    /// The card that says it.
    pub card_id: CardId,
    /// Rises with every change of this row.
    pub revision: Revision,
    /// When it was made.
    pub created_at: Timestamp,
    /// When this row last changed.
    pub updated_at: Timestamp,
    /// When it was deleted.
    pub deleted_at: Option<Timestamp>,
}
