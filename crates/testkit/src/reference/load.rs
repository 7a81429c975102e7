//! The one read that precedes a decision.

use super::state::State;
use cardwire_model::{
    AgentId, CardId, InboxItem, InboxKind, InboxStatus, Keys, Lost, Realm, Snapshot, ToolCall, TurnEpoch,
    TurnId, TurnRows, limits::POISON_ROWS,
};
use uuid::Uuid;

impl State {
    /// What a decision asked for: nothing more, and nothing for keys that are not there.
    pub fn load(&self, realm: &Realm, keys: &Keys) -> Snapshot {
        let mut snapshot = Snapshot::default();
        if keys.project {
            snapshot.project = realm.project().and_then(|id| self.project(id)).cloned();
        }
        for id in &keys.cards {
            snapshot.cards.extend(self.card(realm, *id).map(|card| (*id, card.into())));
        }
        for id in keys.boxes.iter().chain(keys.members.iter().map(|(id, _)| id)) {
            snapshot.boxes.extend(self.card_box(realm, *id).map(|head| (*id, head.clone())));
        }
        if let Some((box_id, cards)) = &keys.members
            && let Some(head) = self.card_box(realm, *box_id)
        {
            let is_entry = |card: &&CardId| self.is_member(realm, *box_id, head.generation, **card);
            snapshot.members = cards.iter().filter(is_entry).copied().collect();
        }
        let token = keys.token.and_then(|id| self.token(id));
        snapshot.token = token.filter(|token| token.realm == *realm).cloned();
        snapshot.answer = keys.answer.as_ref().and_then(|key| self.answer(realm, key)).cloned();
        self.load_agent(realm, keys, &mut snapshot);
        self.load_rows(realm, keys, &mut snapshot);
        snapshot
    }

    /// The agent, the turn, and the head of the turn's agent, or else of the agent.
    fn load_agent(&self, realm: &Realm, keys: &Keys, snapshot: &mut Snapshot) {
        snapshot.agent = keys.agent.as_ref().and_then(|id| self.agent(realm, id)).cloned();
        snapshot.turn =
            keys.turn.and_then(|id| self.turn_rows(realm, id)).map(|rows| match keys.turn_alone {
                true => TurnRows::alone(rows.item),
                false => rows,
            });
        let item = snapshot.turn.as_ref().map(|turn| &turn.item);
        if let Some(box_id) = item.and_then(|item| item.output_box) {
            snapshot.boxes.extend(self.card_box(realm, box_id).map(|head| (box_id, head.clone())));
        }
        let Some(agent) = item.map(|item| &item.agent_id).or(keys.agent.as_ref()) else { return };
        snapshot.head = self.head(realm, agent).cloned();
        if snapshot.head.is_none() {
            snapshot.lost = Some(self.lost(realm, agent));
        }
    }

    fn load_rows(&self, realm: &Realm, keys: &Keys, snapshot: &mut Snapshot) {
        snapshot.depth = keys.depth_of.and_then(|id| self.turn(realm, id)).and_then(|item| item.depth);
        snapshot.inbox = keys.inbox.and_then(|id| self.inbox_item(realm, id)).cloned();
        snapshot.edge = keys.edge.as_ref().and_then(|(primitive, phase, correlation)| {
            let key = (realm.clone(), *primitive, *phase, correlation.clone(), Uuid::nil());
            let id = self.correlations.get(&key)?;
            self.edges.get(&(realm.clone(), *id)).cloned()
        });
        snapshot.step = keys.step.as_ref().and_then(|id| self.step(realm, id)).cloned();
        for box_id in &keys.writers_of {
            let writers = self.writers_of(realm, *box_id);
            snapshot.writers.extend(writers.map(|agent| (*box_id, agent.clone())));
        }
        snapshot.profile = keys.profile.as_ref().and_then(|name| self.profile(realm, name)).cloned();
        let resource = keys.resource.as_ref().and_then(|(kind, name)| self.resource(realm, *kind, name));
        snapshot.resource = resource.cloned();
        snapshot.session = keys.session.as_ref().and_then(|key| self.session(realm, key)).cloned();
    }

    fn turn_rows(&self, realm: &Realm, id: TurnId) -> Option<TurnRows> {
        let item = self.turn(realm, id)?.clone();
        let matters = |call: &&ToolCall| call.answer.as_ref().is_none_or(|answer| answer.terminate);
        let calls = self.calls(realm, id).filter(matters).cloned().collect();
        let is_report = |row: &&InboxItem| row.turn_id == id && row.id != item.id && row.status.is_open();
        let reports = in_order(self.inbox(realm).filter(is_report));
        let waits = |row: &&InboxItem| row.status == InboxStatus::Queued;
        let mut next = in_order(self.turns_of(realm, &item.agent_id).filter(waits));
        next.truncate(POISON_ROWS + 1);
        Some(TurnRows { item, calls, reports, next })
    }

    /// WD-08: what inbox and steps still know of an agent.
    fn lost(&self, realm: &Realm, agent: &AgentId) -> Lost {
        let of_inbox = self.inbox(realm).filter(|row| row.agent_id == *agent).filter_map(|row| row.epoch);
        let of_steps = self.steps(realm).filter(|step| step.agent_id == *agent).map(|step| step.epoch);
        let is_live = |row: &&InboxItem| row.status.is_with_workers();
        let newest = |fits: &dyn Fn(&&InboxItem) -> bool| {
            self.turns_of(realm, agent).filter(fits).max_by_key(|row| row.seq)
        };
        let waits = |row: &&InboxItem| row.status == InboxStatus::Queued;
        Lost {
            copy: self.copies.get(&(realm.clone(), agent.clone())).cloned(),
            highest: of_inbox.chain(of_steps).max().unwrap_or(TurnEpoch::ZERO),
            open: newest(&is_live).cloned(),
            last_output_box: newest(&|row| row.ended.is_some()).and_then(|row| row.output_box),
            queued: self.turns_of(realm, agent).filter(waits).count() as u32,
        }
    }

    /// The rows of an agent's turns, in no particular order.
    fn turns_of(&self, realm: &Realm, agent: &AgentId) -> impl Iterator<Item = &InboxItem> {
        let is_turn = move |row: &&InboxItem| row.kind == InboxKind::Turn && row.agent_id == *agent;
        self.inbox(realm).filter(is_turn)
    }
}

/// By place in the queue.
fn in_order<'a>(rows: impl Iterator<Item = &'a InboxItem>) -> Vec<InboxItem> {
    let mut rows: Vec<_> = rows.cloned().collect();
    rows.sort_by_key(|row| row.seq);
    rows
}
