//! What models are sent: collect the blocks, compose the request, keep its manifest, and explain it afterwards. What is
//! composed, and how, is decided in `cardwire_context`.

mod blocks;
mod call;
mod collect;
mod compacting;
mod cost;
mod experience;
mod explain;
mod knowledge;
mod pieces;
mod preflight;
mod previous;
mod provider;
mod records;
mod render;
mod room;
mod summary;
mod tokens;
mod told;
mod written;

pub use call::{CallRequest, ComposedCall, Purpose};
pub use collect::{CollectRequest, Collected};
pub use cost::{CostBy, CostQuery};
pub use experience::{Noted, Saved};
pub use explain::{Side, WhyAnswer};
pub use knowledge::{Document, FoundSection, FoundSections, KnowledgeQuery, SourceView};
pub use preflight::WouldSend;
pub use provider::{ContextProvider, Embedder, ProviderError, ProviderRequest, Reranker};
pub(crate) use records::Records;
pub(crate) use render::BoxLists;
pub use render::{CallEntry, ExpandedCall, RenderedCall};
pub(crate) use tokens::TokenCache;

use crate::Summariser;
use cardwire_model::Placement;
use std::sync::Arc;

/// What a deployment adds to the composer.
#[derive(Clone, Default)]
pub struct ContextConfig {
    /// Where layers go (OB-05); `seed` when absent.
    pub placement: Option<Placement>,
    /// What summarises conversations.
    pub summariser: Option<Arc<dyn Summariser>>,
    /// What places texts among meanings.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// What puts what was found into a better order.
    pub reranker: Option<Arc<dyn Reranker>>,
    /// Blocks of one's own.
    pub providers: Vec<Arc<dyn ContextProvider>>,
}

impl ContextConfig {
    /// Where layers go.
    pub fn placement(&self) -> Placement {
        self.placement.unwrap_or(Placement::Seed)
    }
}
