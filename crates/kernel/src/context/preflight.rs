//! What a handover would make of its target's first request (PK-21): the same composing, fitting and linting that a call goes
//! through, of cards that are not written yet. Nothing is kept of it.

use super::{
    call::{Parts, Setup},
    collect::CollectRequest,
    pieces::Placed,
};
use crate::{Kernel, KernelError};
use cardwire_context::{fit, layers, piece::Place, process::Process, prompt, tokens::Tokenizer};
use cardwire_model::{BoxId, Card, Cause, EntrySource, Generation, Invalid, Layer, ProjectId, Provider};
use cardwire_protocol::turn::view;
use serde_json::{Map, Value};
use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

/// The request that a target would be sent first.
#[derive(Debug, Clone)]
pub struct WouldSend {
    /// About how long each layer is, before anything is left out.
    pub layers: BTreeMap<Layer, u64>,
    /// How much the profile's model takes, if the profile tells it.
    pub window: Option<u32>,
    /// What of it is kept free for the answer.
    pub reserve: u32,
    /// Tokens that would be left out to make it fit.
    pub omitted: u64,
    /// Why it could not be sent at all.
    pub problem: Option<Invalid>,
}

impl WouldSend {
    /// The whole of it.
    pub fn tokens(&self) -> u64 {
        self.layers.values().sum()
    }

    /// Whether all of it fits.
    pub fn fits(&self) -> bool {
        self.window.is_none_or(|window| self.tokens() + u64::from(self.reserve) <= u64::from(window))
    }
}

impl Kernel {
    /// Composes what an agent with this profile would be sent first, given these cards, each with why it is there, and with
    /// what stands in its output box before.
    pub(crate) async fn would_send(
        &self,
        project: &ProjectId,
        profile: Option<&Card>,
        given: &[(Arc<Card>, EntrySource)],
        before: &[Arc<Card>],
    ) -> Result<WouldSend, KernelError> {
        let asked = view::instruction(given.iter().map(|(card, source)| (card, *source)));
        let asked = asked.map(AsRef::as_ref);
        let cards: Vec<_> = given.iter().map(|(card, _)| Arc::clone(card)).collect();
        let setup = self.would_setup(profile, &cards);
        let request = CollectRequest {
            session: None,
            agent_id: None,
            process: Process::Sequential,
            share: true,
            query: asked.and_then(|card| card.content.to_text()),
            overrides: BTreeMap::new(),
            offered: None,
        };
        let collected = self.collect_with(project, &request, None, Some(&setup.profile)).await?;
        let block = |(key, text): (&String, &String)| {
            let layer = layers::layer_of(key).map_err(Invalid::from)?;
            Ok((key.clone(), layer, self.block_card(project, text)?))
        };
        let prompt = Some(setup.prompt.as_str()).filter(|prompt| !prompt.trim().is_empty());
        let parts = Parts {
            system_prompt: prompt.map(|prompt| self.block_card(project, prompt)).transpose()?,
            blocks: collected.contexts.iter().map(block).collect::<Result<_, KernelError>>()?,
            placed: placed(before, &cards, asked),
            tells_giver: true,
        };
        self.count_ahead(project, setup.tokenizer, parts.cards()).await?;
        let words = parts.words();
        let (pieces, _) = self.arranged(&setup, &parts, &words);
        let mut layers = BTreeMap::new();
        for piece in &pieces {
            *layers.entry(piece.layer).or_default() += u64::from(piece.tokens);
        }
        let (omitted, problem) = match self.fitted(&setup, setup.window, &pieces) {
            Ok((fitted, _)) => (fitted.omitted.iter().map(|(piece, _)| u64::from(piece.tokens)).sum(), None),
            Err(problem) => (0, Some(problem)),
        };
        Ok(WouldSend { layers, window: setup.window, reserve: setup.reserve, omitted, problem })
    }

    /// What the profile says. A model that it does not name is named by whoever calls it.
    fn would_setup(&self, profile: Option<&Card>, cards: &[Arc<Card>]) -> Setup {
        let content = profile.map_or(Value::Null, |card| card.content.to_value());
        let config = &content["llm_config"];
        let text = |name: &str| config.get(name).and_then(Value::as_str);
        let number = |name: &str| config.get(name)?.as_u64().and_then(|number| u32::try_from(number).ok());
        let model = text("model").unwrap_or_default().to_owned();
        let own = content.get("system_prompt").and_then(Value::as_str).unwrap_or_default();
        let window = number("context_window");
        Setup {
            prompt: prompt::system_prompt(own, view::result_fields(cards.iter()).map(|card| &card.content)),
            provider: text("provider").and_then(Provider::from_name).unwrap_or(Provider::OpenAiChat),
            tokenizer: Tokenizer::for_model(&model),
            model,
            params: Map::new(),
            placement: self.context.placement(),
            window,
            reserve: number("reserve").unwrap_or_else(|| fit::default_reserve(window)),
            tools: None,
            profile: content,
        }
    }
}

/// The cards where they would stand (WK-03), in a box that is not there yet. What stands twice counts where it stands first.
fn placed(before: &[Arc<Card>], cards: &[Arc<Card>], asked: Option<&Card>) -> Vec<Placed> {
    let nowhere = BoxId::from_uuid(uuid::Uuid::nil());
    let mut seen = HashSet::new();
    let history = before.iter().map(|card| (card, Layer::Checkpoint, Cause::History));
    let context = cards.iter().map(|card| match asked.is_some_and(|asked| asked.id == card.id) {
        true => (card, Layer::Query, Cause::Instruction),
        false => (card, Layer::Checkpoint, Cause::Context),
    });
    let shown = history.chain(context).filter(|(card, ..)| seen.insert(card.id));
    let place = |(index, (card, layer, cause)): (usize, (&Arc<Card>, Layer, Cause))| {
        let place = Place { box_id: nowhere, generation: Generation::FIRST, index: index as u32 };
        Placed { card: Arc::clone(card), place, layer, cause }
    };
    shown.enumerate().map(place).collect()
}
