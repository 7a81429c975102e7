//! Deleting a session with everything that its versions ever pointed to (ST-09). What that is and in which order it goes
//! is decided in `protocol::session`; here the checkpoints are walked and the boxes read.

use super::load::{Wanted, damaged};
use crate::{Caller, Kernel, KernelError, execute::Plan};
use cardwire_model::{CardId, Checkpoint, Former, Keys, ProjectId, Realm, SessionKey, limits};
use cardwire_protocol::{
    Rejection,
    session::{
        Holdings,
        delete::{self, Deleted, Gathered},
    },
};
use serde_json::Value;

impl Kernel {
    /// Deletes a session and every card of its versions, or goes on with a deletion that did not come to its end.
    #[tracing::instrument(name = "session.delete", level = "trace", skip_all, fields(cardwire.project.id = %project))]
    pub async fn delete_session(
        &self,
        project: &ProjectId,
        caller: &Caller,
        key: &SessionKey,
    ) -> Result<(), KernelError> {
        let missing = || Rejection::NotFound { what: "session", id: key.to_string() };
        let row = self.store.session(project, key).await?.ok_or_else(missing)?;
        if row.deleted_at.is_some() {
            if self.own_card(project, row.checkpoint).await?.deleted_at.is_some() {
                return Err(missing().into());
            }
            return self.sweep_session(project, caller, key, row.checkpoint).await;
        }
        let gathered = self.gather(project, key, row.checkpoint, limits::DELETED_CARDS).await?;
        let wanted = gathered.as_ref().map_or(&[][..], |gathered| &gathered.cards);
        let deleted = self.session_once(project, caller, key, Wanted::Cards(wanted), |state, moment| {
            delete::decide(state, gathered.as_ref(), moment)
        });
        match deleted.await? {
            Deleted::Whole => Ok(()),
            Deleted::Row(checkpoint) => self.sweep_session(project, caller, key, checkpoint).await,
        }
    }

    /// Deletes the cards of a session whose row is marked.
    async fn sweep_session(
        &self,
        project: &ProjectId,
        caller: &Caller,
        key: &SessionKey,
        checkpoint: CardId,
    ) -> Result<(), KernelError> {
        let realm = Realm::from(project.clone());
        let gathered = self.gather(project, key, checkpoint, usize::MAX).await?;
        let cards = gathered.map_or_else(Vec::new, |gathered| gathered.cards);
        for cards in cards.chunks(limits::DELETED_CARDS) {
            let keys = Keys { cards: cards.to_vec(), ..Keys::default() };
            let plan = Plan { realm: &realm, caller, keys, flat: None, remember: None };
            self.execute_once(plan, |loaded, moment| {
                Ok(delete::sweep(&loaded.snapshot, project, key, cards, moment))
            })
            .await?;
        }
        Ok(())
    }

    /// Every card that a checkpoint and those before it lead to; `None` when these are more than `most`.
    async fn gather(
        &self,
        project: &ProjectId,
        key: &SessionKey,
        checkpoint: CardId,
        most: usize,
    ) -> Result<Option<Gathered>, KernelError> {
        let mut holdings = Holdings::default();
        let mut next = Some(checkpoint);
        while let Some(id) = next {
            let card = self.own_card(project, id).await?;
            let found = Checkpoint::from_json(&card.content, key);
            let found = found.ok_or_else(|| damaged("a checkpoint of a session is of another one"))?;
            holdings.add(id, &found);
            // Each version has a checkpoint, so that a long walk is not begun in vain.
            let versions = (found.version - found.first.min(found.version)) as usize;
            if holdings.at_least().saturating_add(versions) > most {
                return Ok(None);
            }
            next = match found.previous {
                Some(previous) => Some(previous),
                None => self.left_behind(project, found.former).await?,
            };
        }
        for reach in holdings.reaches() {
            holdings.add_cards(self.reach_ids(project, Some(reach)).await?);
        }
        for fields in holdings.fields().chunks(limits::BATCH_IDS) {
            for card in self.get_cards(project, fields, true).await? {
                if let Value::Object(fields) = card.content.to_value() {
                    holdings.add_deliverables(&fields);
                }
            }
        }
        let cards = holdings.into_cards();
        Ok((cards.len() <= most).then_some(Gathered { checkpoint, cards }))
    }

    /// The last checkpoint of an earlier session of the name, if not all of that one is deleted.
    async fn left_behind(
        &self,
        project: &ProjectId,
        former: Option<Former>,
    ) -> Result<Option<CardId>, KernelError> {
        let Some(Former { checkpoint, .. }) = former else { return Ok(None) };
        let gone = self.own_card(project, checkpoint).await?.deleted_at.is_some();
        Ok((!gone).then_some(checkpoint))
    }
}
