//! Commands on cards and boxes.

use crate::{
    Caller, Done, Kernel, KernelError, Remember,
    execute::{Flat, Plan},
};
use cardwire_model::{
    BoxHead, BoxId, Card, CardDraft, CardId, Conflict, Keys, Origin, ProjectId, Realm, Snapshot, limits,
};
use cardwire_protocol::facts::{
    append::{self, Append, Appended, PutAndAppend},
    check_given,
    create_box::{self, CreateBox, Created},
    delete_card,
    fork_box::{self, ForkBox},
    put_card::{self, Put, PutCard},
    rewrite_box::{self, RewriteBox},
    seal_box,
};
use cardwire_store::CommitError;
use futures_util::future::BoxFuture;

/// A card to write.
#[derive(Debug, Clone)]
pub struct NewCard {
    /// The id the caller chose, if any.
    pub id: Option<CardId>,
    /// What it says.
    pub draft: CardDraft,
    /// Where it comes from.
    pub origin: Origin,
}

impl Kernel {
    /// Writes a card, or finds that the same fact is there.
    #[tracing::instrument(level = "trace", skip_all, fields(cardwire.project.id = %project))]
    pub async fn put_card(
        &self,
        project: &ProjectId,
        caller: &Caller,
        new: NewCard,
        remember: Option<&Remember<Put>>,
    ) -> Result<Done<Put>, KernelError> {
        let id = new.id.unwrap_or_else(|| self.card_id());
        let card = new.draft.into_card(id, new.origin, self.now())?;
        check_given(&card, new.id)?;
        let realm = Realm::from(project.clone());
        // A fresh id needs no look-up; if it is taken after all, the commit says so.
        let cards = new.id.into_iter().collect();
        let plan =
            Plan { realm: &realm, caller, keys: Keys { cards, ..Keys::default() }, flat: None, remember };
        self.execute(plan, |loaded, moment| {
            let command = PutCard { project: project.clone(), card: card.clone() };
            put_card::decide(&loaded.snapshot, command, moment)
        })
        .await
    }

    /// Soft-deletes a card.
    #[tracing::instrument(level = "trace", skip_all, fields(cardwire.project.id = %project))]
    pub async fn delete_card(
        &self,
        project: &ProjectId,
        caller: &Caller,
        card_id: CardId,
    ) -> Result<(), KernelError> {
        let realm = Realm::from(project.clone());
        let keys = Keys { cards: vec![card_id], ..Keys::default() };
        let plan = Plan { realm: &realm, caller, keys, flat: None, remember: None };
        self.execute_once(plan, |loaded, moment| {
            delete_card::decide(&loaded.snapshot, project, card_id, moment)
        })
        .await
    }

    /// Makes a box of existing cards.
    #[tracing::instrument(level = "trace", skip_all, fields(cardwire.project.id = %project))]
    pub async fn create_box(
        &self,
        project: &ProjectId,
        caller: &Caller,
        named: Option<BoxId>,
        card_ids: &[CardId],
        remember: Option<&Remember<Created>>,
    ) -> Result<Done<Created>, KernelError> {
        let realm = Realm::from(project.clone());
        let keys = Keys { cards: card_ids.to_vec(), boxes: named.into_iter().collect(), ..Keys::default() };
        let flat = named.map(|of| Flat { of, when: |_| true });
        let box_id = BoxId::from_uuid(self.ids.uuid());
        let plan = Plan { realm: &realm, caller, keys, flat, remember };
        self.execute(plan, |loaded, moment| {
            let command = CreateBox {
                project: project.clone(),
                box_id,
                named: named.map(|id| (id, loaded.flat.clone())),
                card_ids: card_ids.to_vec(),
            };
            create_box::decide(&loaded.snapshot, &command, moment)
        })
        .await
    }

    /// Adds existing cards to a box.
    #[tracing::instrument(level = "trace", skip_all, fields(cardwire.project.id = %command.project))]
    pub async fn append(
        &self,
        caller: &Caller,
        command: &Append,
        remember: Option<&Remember<Appended>>,
    ) -> Result<Done<Appended>, KernelError> {
        let realm = Realm::from(command.project.clone());
        let keys = Keys {
            cards: command.card_ids.clone(),
            members: Some((command.box_id, command.card_ids.clone())),
            writers_of: vec![command.box_id],
            ..Keys::default()
        };
        let plan = Plan { realm: &realm, caller, keys, flat: None, remember };
        self.execute(plan, |loaded, moment| append::decide(&loaded.snapshot, command, moment)).await
    }

    /// Writes new cards and adds them to a box in one commit, usually without reading anything first: the box's
    /// head is remembered, and the commit expects what it is relied on for.
    pub fn put_and_append<'a>(
        &'a self,
        project: &'a ProjectId,
        caller: &'a Caller,
        box_id: BoxId,
        drafts: Vec<(CardDraft, Origin)>,
    ) -> BoxFuture<'a, Result<Appended, KernelError>> {
        // Boxed, so that what follows is compiled here and not again by everybody who writes.
        Box::pin(self.write_and_append(project, caller, box_id, drafts))
    }

    #[tracing::instrument(level = "trace", skip_all, fields(cardwire.project.id = %project))]
    async fn write_and_append(
        &self,
        project: &ProjectId,
        caller: &Caller,
        box_id: BoxId,
        drafts: Vec<(CardDraft, Origin)>,
    ) -> Result<Appended, KernelError> {
        let moment = self.moment(caller);
        let cards: Vec<Card> = drafts
            .into_iter()
            .map(|(draft, origin)| draft.into_card(self.card_id(), origin, moment.now))
            .collect::<Result<_, _>>()?;
        let command = PutAndAppend { project: project.clone(), box_id, cards };
        let key = (project.clone(), box_id);
        let mut remembered = self.heads.get(&key);
        for _ in 0..limits::DECIDE_ATTEMPTS {
            let snapshot = match remembered.take() {
                Some(head) => Snapshot { boxes: [(box_id, head)].into(), ..Snapshot::default() },
                None => {
                    let keys = Keys { boxes: vec![box_id], ..Keys::default() };
                    self.store.load(&Realm::from(project.clone()), &keys).await?
                }
            };
            let decision = append::decide_new(&snapshot, &command, &moment)?;
            match self.commit(decision.commit).await {
                Ok(()) => {
                    if let Some(head) = snapshot.boxes.get(&box_id) {
                        self.heads.insert(key, head.clone());
                    }
                    return Ok(decision.outcome);
                }
                Err(CommitError::Conflict(Conflict::Box)) => {
                    self.heads.remove(&key);
                }
                Err(CommitError::Conflict(_)) => {}
                Err(CommitError::Store(error)) => return Err(error.into()),
            }
        }
        Err(KernelError::Contended)
    }

    /// Gives a box a new generation.
    #[tracing::instrument(level = "trace", skip_all, fields(cardwire.project.id = %command.project))]
    pub async fn rewrite_box(
        &self,
        caller: &Caller,
        command: &RewriteBox,
        remember: Option<&Remember<BoxHead>>,
    ) -> Result<Done<BoxHead>, KernelError> {
        let realm = Realm::from(command.project.clone());
        let keys = Keys {
            cards: command.card_ids.clone(),
            boxes: vec![command.box_id],
            writers_of: vec![command.box_id],
            ..Keys::default()
        };
        let plan = Plan { realm: &realm, caller, keys, flat: None, remember };
        self.execute(plan, |loaded, moment| rewrite_box::decide(&loaded.snapshot, command, moment)).await
    }

    /// Makes a box that shows a prefix of another.
    #[tracing::instrument(level = "trace", skip_all, fields(cardwire.project.id = %project))]
    pub async fn fork_box(
        &self,
        project: &ProjectId,
        caller: &Caller,
        source: BoxId,
        upto: Option<u32>,
        remember: Option<&Remember<BoxHead>>,
    ) -> Result<Done<BoxHead>, KernelError> {
        let realm = Realm::from(project.clone());
        let keys = Keys { boxes: vec![source], ..Keys::default() };
        let flat = Some(Flat { of: source, when: fork_box::needs_flat });
        let box_id = BoxId::from_uuid(self.ids.uuid());
        let plan = Plan { realm: &realm, caller, keys, flat, remember };
        self.execute(plan, |loaded, moment| {
            let command =
                ForkBox { project: project.clone(), box_id, source, upto, flat: loaded.flat.clone() };
            fork_box::decide(&loaded.snapshot, &command, moment)
        })
        .await
    }

    /// Lets a box take no more changes.
    #[tracing::instrument(level = "trace", skip_all, fields(cardwire.project.id = %project))]
    pub async fn seal_box(
        &self,
        project: &ProjectId,
        caller: &Caller,
        box_id: BoxId,
    ) -> Result<(), KernelError> {
        let realm = Realm::from(project.clone());
        let keys = Keys { boxes: vec![box_id], ..Keys::default() };
        let plan = Plan { realm: &realm, caller, keys, flat: None, remember: None };
        self.execute_once(plan, |loaded, moment| seal_box::decide(&loaded.snapshot, project, box_id, moment))
            .await
    }
}
