//! Writes of edges, steps and tool calls.

use super::{Applied, Apply};
use crate::sql;
use cardwire_model::{Conflict, Edge, Step, ToolCall};
use rusqlite::params;

impl Apply<'_> {
    pub(super) fn add_edge(&self, edge: &Edge) -> Applied {
        let row = params![
            self.realm,
            edge.id.uuid().into_bytes(),
            edge.primitive.as_str(),
            edge.phase.as_str(),
            edge.correlation_id,
            edge.source_agent.as_ref().map(|agent| agent.as_str()),
            edge.source_turn.map(|turn| turn.uuid().into_bytes()),
            edge.target_agent.as_ref().map(|agent| agent.as_str()),
            edge.target_turn.map(|turn| turn.uuid().into_bytes()),
            edge.depth,
            edge.trace_id,
            edge.parent_step.as_ref().map(|step| step.as_str()),
            edge.inbox_id.map(|inbox| inbox.uuid().into_bytes()),
            edge.request_hash.as_ref().map(|hash| hash.as_bytes()),
            edge.created_at.micros(),
            edge.scope().into_bytes(),
        ];
        self.run(sql::ADD_EDGE, row, Conflict::Edge).map(drop)
    }

    pub(super) fn create_step(&self, step: &Step) -> Applied {
        let row = params![
            self.realm,
            step.id.as_str(),
            step.agent_id.as_str(),
            step.turn_id.uuid().into_bytes(),
            step.epoch.get() as i64,
            step.phase,
            step.status,
            step.call_id,
            step.request_box.map(|request| request.uuid().into_bytes()),
            step.output_len,
            step.trace_id,
            step.metadata.as_str(),
            step.created_at.micros(),
            step.updated_at.micros(),
        ];
        self.run(sql::CREATE_STEP, row, Conflict::Step).map(drop)
    }

    pub(super) fn update_step(&self, step: &Step) -> Applied {
        let row = params![
            self.realm,
            step.id.as_str(),
            step.turn_id.uuid().into_bytes(),
            step.phase,
            step.status,
            step.call_id,
            step.request_box.map(|request| request.uuid().into_bytes()),
            step.output_len,
            step.metadata.as_str(),
            step.updated_at.micros(),
        ];
        self.run_one(sql::UPDATE_STEP, row, Conflict::Step)
    }

    pub(super) fn open_call(&self, call: &ToolCall) -> Applied {
        let answer = call.answer.as_ref();
        let row = params![
            self.realm,
            call.agent_id.as_str(),
            call.turn_id.uuid().into_bytes(),
            call.tool_call_id,
            call.call_card.map(|card| card.uuid().into_bytes()),
            call.waiting,
            answer.map(|answer| answer.status.as_str()),
            answer.map(|answer| answer.terminate),
            answer.map(|answer| answer.card.uuid().into_bytes()),
            answer.map(|answer| answer.at.micros()),
            call.created_at.micros(),
        ];
        self.run(sql::OPEN_CALL, row, Conflict::Call).map(drop)
    }

    pub(super) fn update_call(&self, call: &ToolCall) -> Applied {
        let answer = call.answer.as_ref();
        let row = params![
            self.realm,
            call.turn_id.uuid().into_bytes(),
            call.tool_call_id,
            call.call_card.map(|card| card.uuid().into_bytes()),
            call.waiting,
            answer.map(|answer| answer.status.as_str()),
            answer.map(|answer| answer.terminate),
            answer.map(|answer| answer.card.uuid().into_bytes()),
            answer.map(|answer| answer.at.micros()),
        ];
        self.run_one(sql::UPDATE_CALL, row, Conflict::Call)
    }
}
