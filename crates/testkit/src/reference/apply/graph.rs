//! Edges, steps and tool calls.

use super::{Applied, holds};
use crate::reference::state::State;
use cardwire_model::{Conflict, Edge, Realm, Step, ToolCall};

impl State {
    pub(super) fn add_edge(&mut self, realm: &Realm, edge: &Edge) -> Applied {
        let key = (realm.clone(), edge.id);
        let (primitive, phase, correlation) = (edge.primitive, edge.phase, edge.correlation_id.clone());
        let correlated = (realm.clone(), primitive, phase, correlation, edge.scope());
        holds(!self.edges.has(&key) && !self.correlations.has(&correlated), Conflict::Edge)?;
        self.correlations.put(correlated, edge.id);
        self.edges.put(key, edge.clone());
        Ok(())
    }

    pub(super) fn create_step(&mut self, realm: &Realm, step: &Step) -> Applied {
        let key = (realm.clone(), step.id.clone());
        holds(!self.steps.has(&key), Conflict::Step)?;
        self.steps.put(key, step.clone());
        Ok(())
    }

    /// Whose step it is, its epoch, its trace and its birth stay.
    pub(super) fn update_step(&mut self, realm: &Realm, new: &Step) -> Applied {
        let key = (realm.clone(), new.id.clone());
        let mut step = self.steps.get(&key).ok_or(Conflict::Step)?.clone();
        holds(step.turn_id == new.turn_id, Conflict::Step)?;
        step.phase.clone_from(&new.phase);
        step.status.clone_from(&new.status);
        step.call_id.clone_from(&new.call_id);
        step.request_box = new.request_box;
        step.output_len = new.output_len;
        step.metadata = new.metadata.clone();
        step.updated_at = new.updated_at;
        self.steps.put(key, step);
        Ok(())
    }

    pub(super) fn open_call(&mut self, realm: &Realm, call: &ToolCall) -> Applied {
        let key = (realm.clone(), call.turn_id, call.tool_call_id.clone());
        holds(!self.calls.has(&key), Conflict::Call)?;
        self.calls.put(key, call.clone());
        Ok(())
    }

    /// Whose call it is and its birth stay.
    pub(super) fn update_call(&mut self, realm: &Realm, new: &ToolCall) -> Applied {
        let key = (realm.clone(), new.turn_id, new.tool_call_id.clone());
        let mut call = self.calls.get(&key).ok_or(Conflict::Call)?.clone();
        holds(call.answer.is_none(), Conflict::Call)?;
        call.call_card = new.call_card;
        call.waiting = new.waiting;
        call.answer.clone_from(&new.answer);
        self.calls.put(key, call);
        Ok(())
    }
}
