//! Resources that are documents: tools, recipes, teams and the plan, each a card under a name (API-07).

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
