//! What a session tells of itself for its experience (EX-01): read when somebody looks at the record or saves it, because the
//! turns know it and nobody needs it before.

use crate::{Kernel, KernelError, sessions::Wanted};
use cardwire_context::blocks::experience::{Told, TurnTold};
use cardwire_model::{
    CardId, InboxItem, ProjectId, SessionKey, Speaker, TurnId, TurnPayload, asking, limits,
};
use cardwire_protocol::{
    session::{State, turn as memory},
    turn::append::called,
};
use cardwire_store::RowFilter;
use std::collections::{HashMap, HashSet};

impl Kernel {
    /// What a session tells. Of its turns those among the newest of the project, as far as
    /// [`limits::EXPERIENCE_TURNS`] reaches.
    pub(super) async fn told_by(&self, project: &ProjectId, key: &SessionKey) -> Result<Told, KernelError> {
        let state = self.session_state(project, key, Wanted::Memory, false).await?;
        let memory = state.memory.as_deref().unwrap_or_default();
        let first = memory.iter().find(|held| held.speaker == Speaker::Human).map(|held| held.card_id);
        let last = memory.iter().rfind(|held| held.speaker == Speaker::Ai).map(|held| held.card_id);
        let goal = state.fields.get("goal").and_then(|goal| goal.as_str()).map(str::to_owned);
        let asked = self.words(project, first).await?;
        let said = self.words(project, last).await?;
        let turns = self.turns_told(project, key, &state).await?;
        Ok(Told { goal, asked, said, turns })
    }

    async fn words(&self, project: &ProjectId, card: Option<CardId>) -> Result<Option<String>, KernelError> {
        let Some(id) = card else { return Ok(None) };
        let card = self.get_cards(project, &[id], false).await?.pop();
        Ok(card.map(|card| card.content.to_text().unwrap_or_else(|| card.content.as_str().to_owned())))
    }

    async fn turns_told(
        &self,
        project: &ProjectId,
        key: &SessionKey,
        state: &State,
    ) -> Result<Vec<TurnTold>, KernelError> {
        let filter = RowFilter { turns_only: true, ..RowFilter::default() };
        let (mut before, mut looked, mut found) = (None, 0, vec![]);
        while looked < limits::EXPERIENCE_TURNS {
            let size = limits::PAGE_MAX.min(limits::EXPERIENCE_TURNS - looked);
            let page = self.store.inbox(project, &filter, before, size).await?;
            before = page.last().map(|item| item.id);
            looked += size;
            let is_last = page.len() < size;
            found.extend(page.into_iter().filter_map(|item| belongs(item, key, state)));
            if is_last {
                break;
            }
        }
        found.reverse();
        let turns: HashSet<TurnId> = found.iter().map(|(item, _)| item.turn_id).collect();
        let mut told = Vec::with_capacity(found.len());
        for (item, leads) in found {
            let tools = if leads { vec![] } else { self.called_by(project, item.turn_id).await? };
            told.push(TurnTold {
                agent: item.agent_id.to_string(),
                leads,
                is_root: item.parent_turn.is_none_or(|parent| !turns.contains(&parent)),
                began: item.created_at,
                ended: item.ended.map(|ended| (ended.status, ended.at)),
                tools,
            });
        }
        Ok(told)
    }

    /// The tools that a turn called, in order. A question to a person about a call is not one.
    async fn called_by(&self, project: &ProjectId, turn: TurnId) -> Result<Vec<String>, KernelError> {
        let calls = self.store.calls(project, turn).await?;
        let ids: Vec<CardId> = calls.iter().filter_map(|call| call.call_card).collect();
        let cards = self.get_cards(project, &ids, false).await?;
        let cards: HashMap<CardId, _> = cards.into_iter().map(|card| (card.id, card)).collect();
        let names = calls.iter().filter_map(|call| {
            let card = cards.get(&call.call_card?)?;
            called(card, &call.tool_call_id).map(|(name, _)| name)
        });
        Ok(names.filter(|name| name != asking::APPROVAL).collect())
    }
}

/// A turn of the session, and whether it leads a team. What is only tried out belongs to none, nor does what was sent before a
/// session of the name was deleted.
fn belongs(item: InboxItem, key: &SessionKey, state: &State) -> Option<(InboxItem, bool)> {
    // Most turns belong to no session: do not parse what cannot name one.
    if !item.payload.contains(key.session.as_str()) {
        return None;
    }
    let config = TurnPayload::from_stored(&item.payload).ok()?.runtime_config;
    let is_own = memory::session_of(&config).as_ref() == Some(key) && !memory::tries_out(&config);
    let is_former = state.former().is_some_and(|former| item.created_at < former.deleted_at);
    (is_own && !is_former).then(|| (item, memory::leads_team(&config)))
}
