//! Packing: read the boxes and the profile that a handover names, decide, commit; or only say what would be packed.

use crate::{Caller, Done, Kernel, KernelError, Remember, WouldSend, execute::Plan};
use cardwire_model::{AgentId, BoxId, Card, CardId, Keys, Profile, ProfileName, ProjectId, Realm, limits};
use cardwire_protocol::{
    Rejection,
    handover::{
        pack::{self, Assembly, Inherited, PackContext, Packed, PackedCard, Required, Target},
        profile,
    },
    turn::view,
};
use std::{collections::HashMap, sync::Arc};

/// What a handover would pack (PK-21). Nothing was written.
#[derive(Debug, Clone)]
pub struct Preflight {
    /// The box of the profile it is for.
    pub profile_box: BoxId,
    /// Tokens of the profile's own text.
    pub profile_tokens: u64,
    /// What the target would be sent first.
    pub request: WouldSend,
    /// In order. New cards have no id yet.
    pub cards: Vec<WouldPack>,
    /// Boxes that are not there.
    pub missing: Vec<BoxId>,
    /// Boxes that are out of the caller's reach.
    pub denied: Vec<BoxId>,
}

/// A card that would be packed.
#[derive(Debug, Clone)]
pub struct WouldPack {
    /// The card; of a new one only its place counts.
    pub packed: PackedCard,
    /// It would be made.
    pub is_new: bool,
    /// Its kind; `None` when the card is gone.
    pub card_type: Option<String>,
    /// Its tokens.
    pub tokens: u64,
}

impl Kernel {
    /// Packs a context box (PK-01).
    #[tracing::instrument(name = "pack", level = "trace", skip_all, fields(cardwire.project.id = %project))]
    pub async fn pack_context(
        &self,
        project: &ProjectId,
        caller: &Caller,
        command: &PackContext,
        remember: Option<&Remember<Packed>>,
    ) -> Result<Done<Packed>, KernelError> {
        let profile = self.target_profile(project, command).await?;
        let boxes = pack::boxes(&command.arguments, &command.handover)?;
        let (inherited, missing) = self.inherited(project, &command.required, &boxes).await?;
        if let Some(id) = missing.first() {
            return Err(pack::no_box(id).into());
        }
        let (realm, target) = (Realm::from(project.clone()), Target::from(&profile));
        let plan = Plan { realm: &realm, caller, keys: Keys::default(), flat: None, remember };
        // A box that grows or is rewritten meanwhile keeps what was read of it.
        self.execute(plan, |_, moment| pack::decide(project, command, &target, &inherited, moment)).await
    }

    /// Says what [`Self::pack_context`] would do, on the same path up to the commit.
    pub async fn preflight(
        &self,
        project: &ProjectId,
        caller: &Caller,
        command: &PackContext,
    ) -> Result<Preflight, KernelError> {
        let profile = self.target_profile(project, command).await?;
        let boxes = pack::boxes(&command.arguments, &command.handover)?;
        let denied = pack::denied(&command.reach, &boxes);
        let allowed: Vec<BoxId> = boxes.into_iter().filter(|id| !denied.contains(id)).collect();
        let (inherited, missing) = self.inherited(project, &command.required, &allowed).await?;
        let Assembly { cards, packed, .. } =
            pack::assemble(command, &Target::from(&profile), &inherited, &self.moment(caller))?;
        self.preflight_of(project, &cards, packed, None, (missing, denied)).await
    }

    /// What was found out about a box that is not written. `output` is what the target has and goes on with.
    pub(crate) async fn preflight_of(
        &self,
        project: &ProjectId,
        new: &[Card],
        packed: Packed,
        output: Option<BoxId>,
        (missing, denied): (Vec<BoxId>, Vec<BoxId>),
    ) -> Result<Preflight, KernelError> {
        let (_, profile) = self.box_tail(project, packed.profile_box, limits::HYDRATE_MAX, true).await?;
        let profile = profile.whole()?;
        let old: Vec<CardId> =
            packed.cards.iter().filter(|card| card.from.is_some()).map(|card| card.card_id).collect();
        let old = self.get_cards(project, &old, false).await?;
        let known = new.iter().map(|card| Arc::new(card.clone())).chain(old);
        let known: HashMap<CardId, Arc<Card>> = known.map(|card| (card.id, card)).collect();
        let shown = |card: &PackedCard| Some((Arc::clone(known.get(&card.card_id)?), card.source));
        let shown: Vec<_> = packed.cards.iter().filter_map(shown).collect();
        let own = view::profile(profile.iter(), self.now());
        let before = match output {
            Some(output) => self.box_cards(project, output).await?.cards,
            None => vec![],
        };
        Ok(Preflight {
            profile_box: packed.profile_box,
            profile_tokens: profile.iter().map(|card| u64::from(card.tokens)).sum(),
            request: self.would_send(project, own.map(AsRef::as_ref), &shown, &before).await?,
            cards: would_pack(packed.cards, &known),
            missing,
            denied,
        })
    }

    /// PK-02
    async fn target_profile(
        &self,
        project: &ProjectId,
        command: &PackContext,
    ) -> Result<Profile, KernelError> {
        let name = profile::wanted(&command.arguments, &command.handover).map_err(Rejection::from)?;
        self.resolve_profile(project, name).await
    }

    /// The profile of that name, or of the only one like it.
    pub(crate) async fn resolve_profile(
        &self,
        project: &ProjectId,
        name: &str,
    ) -> Result<Profile, KernelError> {
        if let Ok(exact) = name.parse::<ProfileName>() {
            let keys = Keys { profile: Some(exact), ..Keys::default() };
            let found = self.store.load(&Realm::from(project.clone()), &keys).await?.profile;
            if let Some(profile) = found.filter(|profile| profile.deleted_at.is_none()) {
                return Ok(profile);
            }
        }
        let (mut similar, mut after) = (vec![], None);
        loop {
            let page = self.store.profiles(project, after.as_ref(), limits::PAGE_MAX).await?;
            let ended = page.len() < limits::PAGE_MAX;
            after = page.last().map(|profile| profile.name.clone());
            similar.extend(page.into_iter().filter(|one| one.name.as_str().eq_ignore_ascii_case(name)));
            if ended {
                return Ok(profile::resolve(name, &similar)?.clone());
            }
        }
    }

    /// Whether a box that shows the card was handed to the agent by a result.
    pub(crate) async fn was_granted(
        &self,
        project: &ProjectId,
        agent: &AgentId,
        card: CardId,
    ) -> Result<bool, KernelError> {
        let (mut after, mut looked_at) = (None, 0);
        while looked_at < limits::SEARCHED_GRANTS {
            let limit = limits::PAGE_MAX.min(limits::SEARCHED_GRANTS - looked_at);
            let page = self.store.grants(project, agent, after, limit).await?;
            for grant in &page {
                if self.view_box(project, *grant, None).await?.card_ids().any(|id| id == card) {
                    return Ok(true);
                }
            }
            if page.len() < limit {
                break;
            }
            looked_at += page.len();
            after = page.last().copied();
        }
        Ok(false)
    }

    /// The boxes to inherit as they are now, and those that are not there.
    pub(crate) async fn inherited(
        &self,
        project: &ProjectId,
        required: &Required,
        boxes: &[BoxId],
    ) -> Result<(Vec<Arc<Inherited>>, Vec<BoxId>), KernelError> {
        let keys = Keys { boxes: boxes.to_vec(), ..Keys::default() };
        let mut heads = self.store.load(&Realm::from(project.clone()), &keys).await?.boxes;
        let (mut inherited, mut missing) = (vec![], vec![]);
        for id in boxes {
            let Some(head) = heads.remove(id) else {
                missing.push(*id);
                continue;
            };
            let mut cards = self.flat_ids(project, &head).await?;
            // The cache may be ahead of the head.
            cards.truncate(head.len as usize);
            let copy = BoxId::from_uuid(self.ids.uuid());
            let mut from = Inherited { head, cards, card_types: Default::default(), copy };
            if required.asks_for_kinds() {
                let cards = self.get_cards(project, &from.cards, false).await?;
                from.card_types = cards.iter().map(|card| card.kind.as_str().to_owned()).collect();
            }
            inherited.push(Arc::new(from));
        }
        Ok((inherited, missing))
    }
}

fn would_pack(packed: Vec<PackedCard>, known: &HashMap<CardId, Arc<Card>>) -> Vec<WouldPack> {
    let describe = |packed: PackedCard| {
        let card = known.get(&packed.card_id);
        WouldPack {
            is_new: packed.from.is_none(),
            card_type: card.map(|card| card.kind.as_str().to_owned()),
            tokens: card.map_or(0, |card| u64::from(card.tokens)),
            packed,
        }
    };
    packed.into_iter().map(describe).collect()
}
