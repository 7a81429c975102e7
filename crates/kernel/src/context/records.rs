//! What calls left lately, in memory: the manifest of each agent's last one, which its next is held against (OB-05), and
//! the cards of blocks and lists of tools, because most calls have those of the call before. None of it ever changes.

use crate::KernelError;
use cardwire_model::{AgentId, Card, CardId, Manifest, ProjectId, Timestamp};
use quick_cache::{Equivalent, Weighter, sync::Cache};
use std::sync::Arc;

/// About how much is kept of each.
const BYTES: u64 = 16 << 20;
/// Estimated entries; see the cache of boxes for why it is not more.
const FEW: usize = 32;

pub(crate) struct Records {
    last: Cache<(ProjectId, AgentId), LastCall, Weigher>,
    /// By the name that is derived from project and text.
    cards: Cache<CardId, Card, Weigher>,
    /// The cards of lists of tools by the text that was sent: to read such a list takes longer than anything else of a call
    /// does in memory.
    tools: Cache<ToolsKey, Card, Weigher>,
    /// Which of these are stored for sure: cards are marked deleted, never removed.
    stored: Cache<CardId, ()>,
}

#[derive(Clone)]
struct LastCall {
    call: CardId,
    manifest: Arc<Manifest>,
}

/// Names of stored cards remembered at most.
const STORED: usize = 10_000;

impl Default for Records {
    fn default() -> Self {
        Self {
            last: Cache::with_weighter(FEW, BYTES, Weigher),
            cards: Cache::with_weighter(FEW, BYTES, Weigher),
            tools: Cache::with_weighter(FEW, BYTES, Weigher),
            stored: Cache::new(STORED),
        }
    }
}

impl Records {
    /// The manifest of this call, if it is the last that is known of the agent.
    pub(super) fn manifest(
        &self,
        project: &ProjectId,
        agent: &AgentId,
        call: CardId,
    ) -> Option<Arc<Manifest>> {
        let last = self.last.get(&(project.clone(), agent.clone()))?;
        (last.call == call).then_some(last.manifest)
    }

    /// An agent has made this call.
    pub(super) fn keep(&self, project: &ProjectId, call: CardId, manifest: Arc<Manifest>) {
        self.last.insert((project.clone(), manifest.agent_id.clone()), LastCall { call, manifest });
    }

    /// A card that is named by what it says, as if it were made now.
    pub(super) fn named(
        &self,
        id: CardId,
        now: Timestamp,
        make: impl FnOnce() -> Result<Card, KernelError>,
    ) -> Result<Card, KernelError> {
        recalled(self.cards.get(&id), now, make, |card| self.cards.insert(id, card))
    }

    /// The card of a list of tools, as if it were made now.
    pub(super) fn of_tools(
        &self,
        project: &ProjectId,
        text: &str,
        now: Timestamp,
        make: impl FnOnce() -> Result<Card, KernelError>,
    ) -> Result<Card, KernelError> {
        let known = self.tools.get(&ToolsRef(project, text));
        recalled(known, now, make, |card| self.tools.insert(ToolsKey(project.clone(), text.into()), card))
    }

    /// Whether a card is stored, as far as is known here.
    pub(super) fn is_stored(&self, card: &Card) -> bool {
        self.stored.get(&card.id).is_some()
    }

    /// These are stored now.
    pub(super) fn stored(&self, cards: impl IntoIterator<Item = CardId>) {
        cards.into_iter().for_each(|id| self.stored.insert(id, ()));
    }
}

/// The card that is known, or else a new one, which is kept.
fn recalled(
    known: Option<Card>,
    now: Timestamp,
    make: impl FnOnce() -> Result<Card, KernelError>,
    keep: impl FnOnce(Card),
) -> Result<Card, KernelError> {
    if let Some(card) = known {
        return Ok(Card { created_at: now, ..card });
    }
    let card = make()?;
    keep(card.clone());
    Ok(card)
}

/// A list of tools as it was sent.
#[derive(PartialEq, Eq, Hash)]
struct ToolsKey(ProjectId, Box<str>);

/// The same, borrowed: its hash is that of the key.
#[derive(Hash)]
struct ToolsRef<'a>(&'a ProjectId, &'a str);

impl Equivalent<ToolsKey> for ToolsRef<'_> {
    fn equivalent(&self, key: &ToolsKey) -> bool {
        *self.0 == key.0 && *self.1 == *key.1
    }
}

#[derive(Clone)]
struct Weigher;

impl Weighter<ToolsKey, Card> for Weigher {
    fn weight(&self, ToolsKey(_, text): &ToolsKey, card: &Card) -> u64 {
        (text.len() + card.size() + 400) as u64
    }
}

impl Weighter<(ProjectId, AgentId), LastCall> for Weigher {
    fn weight(&self, _: &(ProjectId, AgentId), LastCall { manifest: record, .. }: &LastCall) -> u64 {
        (1_024 + 128 * (record.entries.len() + record.omissions.len() + record.repairs.len())) as u64
    }
}

impl Weighter<CardId, Card> for Weigher {
    fn weight(&self, _: &CardId, card: &Card) -> u64 {
        (card.size() + 400) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cardwire_model::{CanonicalJson, CardDraft, Origin};

    /// CB-08
    #[test]
    fn the_same_list_of_tools_is_another_card_in_another_project() {
        let (records, now) = (Records::default(), Timestamp::from_micros(1));
        let card_of = |project: &str, text: &str| {
            let project: ProjectId = project.parse().unwrap();
            let make = || {
                let draft = CardDraft {
                    content: CanonicalJson::parse(text, "tools")?,
                    metadata: CanonicalJson::parse(r#"{"type":"sys.tools"}"#, "metadata")?,
                    tool_calls: None,
                    tool_call_id: None,
                    ttl_seconds: None,
                };
                Ok(draft.into_card(CardId::derived(&[project.as_str(), text]), Origin::Agent, now)?)
            };
            records.of_tools(&project, text, now, make).unwrap().id
        };
        let first = card_of("p1", "[]");
        assert_eq!(card_of("p1", "[]"), first);
        assert_ne!(card_of("p2", "[]"), first);
        assert_ne!(card_of("p1", "[{}]"), first);
    }
}
