//! Random questions: keys of loads, filters, horizons.

use super::Generator;
use crate::fixtures::{agent_id, profile_name, step_id};
use cardwire_model::{
    AgentId, BatchId, EdgePhase, InboxStatus, Keys, Primitive, ProjectId, Realm, StepId, Timestamp, TurnId,
};
use cardwire_store::{EventFilter, Horizon, RowFilter};

impl Generator {
    /// Keys of a random realm for a random load, some of which exist. The box of `members` is always asked for
    /// itself too: the contract does not say whether naming it there alone loads its head.
    pub fn keys(&mut self) -> (Realm, Keys) {
        let realm = self.any_realm();
        let (mut cards, mut boxes) = (vec![self.ids.card()], vec![self.ids.card_box()]);
        // Ids of other realms too: they must read as absent.
        for source in [realm.clone(), realm.clone(), self.any_known_realm()] {
            cards.extend(self.some_card(&source));
            boxes.extend(self.some_box(&source));
        }
        let members = self.rng.pick(&boxes).map(|box_id| (*box_id, cards.clone()));
        let token = self.any_token().map(|(_, id)| id);
        let answer = self.some_answer(&realm);
        let project = self.rng.chance(50);
        let keys = Keys { project, cards, boxes, members, token, answer, ..Keys::default() };
        let keys = self.turn_keys(&realm, keys);
        (realm, keys)
    }

    /// The same around a turn. Each key is asked for now and then only, so that none hides behind another.
    fn turn_keys(&mut self, realm: &Realm, mut keys: Keys) -> Keys {
        let source = if self.rng.chance(80) { realm.clone() } else { self.any_known_realm() };
        if self.rng.chance(50) {
            keys.agent = Some(self.any_agent(&source));
        }
        if self.rng.chance(50) {
            keys.turn = Some(self.any_turn(&source));
            keys.turn_alone = self.rng.chance(30);
        }
        if self.rng.chance(50) {
            keys.depth_of = Some(self.any_turn(&source));
            keys.inbox = self.some(&source, |known| &known.inbox);
            keys.step = self.some(&source, |known| &known.steps);
            keys.profile = self.some(&source, |known| &known.profiles);
            keys.resource = self.some(&source, |known| &known.resources);
        }
        if self.rng.chance(50) {
            keys.session = self.some(&source, |known| &known.sessions);
        }
        if self.rng.chance(50) {
            let edge = self.some(&source, |known| &known.edges).and_then(|id| self.model.edge(&source, id));
            keys.edge = edge.map(|edge| (edge.primitive, edge.phase, edge.correlation_id.clone()));
        }
        if self.rng.chance(50) {
            keys.writers_of = keys.boxes.clone();
        }
        keys
    }

    /// An agent with a head, with rows in its inbox alone, or with nothing.
    pub fn any_agent(&mut self, realm: &Realm) -> AgentId {
        let agent = match self.rng.below(4) {
            0 => self.some(realm, |known| &known.heads),
            1 => self.some(realm, |known| &known.agents),
            2 => {
                let row = self.some(realm, |known| &known.inbox);
                row.and_then(|id| self.model.inbox_item(realm, id)).map(|row| row.agent_id.clone())
            }
            _ => None,
        };
        agent.unwrap_or_else(|| agent_id("nobody"))
    }

    /// A turn, or an id that is none.
    pub fn any_turn(&mut self, realm: &Realm) -> TurnId {
        let turn = self.some(realm, |known| &known.turns);
        turn.unwrap_or_else(|| self.ids.turn())
    }

    /// A step, or an id that is none.
    pub fn any_step(&mut self, realm: &Realm) -> StepId {
        self.some(realm, |known| &known.steps).unwrap_or_else(|| step_id("step_none"))
    }

    /// What a reader may want: mostly one or two parts of a filter.
    pub fn filter(&mut self, realm: &Realm) -> RowFilter {
        let mut filter = RowFilter::default();
        for _ in 0..self.rng.below(3) {
            match self.rng.below(11) {
                0 => filter.agent_id = Some(self.any_agent(realm)),
                1 => filter.turn_id = Some(self.any_turn(realm)),
                2 => filter.trace_id = Some(self.trace()),
                3 => filter.correlation_id = Some(self.call_name()),
                4 => filter.primitive = self.rng.pick(Primitive::ALL).copied(),
                5 => filter.phase = self.rng.pick(EdgePhase::ALL).copied(),
                6 => filter.inbox_status = self.rng.pick(InboxStatus::ALL).copied(),
                7 => filter.turns_only = true,
                8 => filter.step_status = self.maybe_text(),
                9 => filter.step_phase = self.maybe_text(),
                _ => {
                    let from = self.some_time_ago();
                    filter.from = Some(from);
                    filter.until = self.rng.chance(50).then(|| from.plus_seconds(300));
                }
            }
        }
        filter
    }

    /// Which events a reader may want.
    pub fn event_filter(&mut self, project: &ProjectId) -> EventFilter {
        let realm = project.clone().into();
        let mut filter = EventFilter::default();
        match self.rng.below(6) {
            0 => filter.agent_id = Some(agent_id("alpha")),
            1 => filter.turn_id = Some(self.any_turn(&realm)),
            2 => filter.batch_id = Some(self.batch()),
            3 => filter.trace_id = Some(self.trace()),
            4 => {
                filter.batch_id = Some(self.batch());
                filter.trace_id = Some(self.trace());
            }
            _ => {}
        }
        filter
    }

    /// What the watchdog may ask for.
    pub fn horizon(&mut self) -> Horizon {
        Horizon {
            dispatched: self.some_time_ago(),
            running: self.some_time_ago(),
            resume: self.some_time_ago(),
            pending: self.some_time_ago(),
            processing: self.some_time_ago(),
            given: self.some_time_ago(),
        }
    }

    /// A key from which a list of all projects may go on.
    pub fn any_place(&mut self) -> Option<(ProjectId, AgentId)> {
        let project = self.any_project()?;
        let agent = self.any_agent(&project.clone().into());
        self.rng.chance(70).then_some((project, agent))
    }

    /// A name after which a list of profiles may go on.
    pub fn any_profile(&mut self, realm: &Realm) -> cardwire_model::ProfileName {
        self.some(realm, |known| &known.profiles).unwrap_or_else(|| profile_name("a"))
    }

    /// One of a few batches.
    pub(super) fn batch(&mut self) -> BatchId {
        BatchId::from_uuid(uuid::Uuid::from_u128(1 + self.rng.below(4) as u128))
    }

    /// A moment like those that rows have.
    pub fn some_time_ago(&mut self) -> Timestamp {
        Timestamp::from_micros(self.now - self.rng.below(2_000_000_000) as i64)
    }
}
