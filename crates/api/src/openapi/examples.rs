//! An example of every request body, in the words of one story: a desk of writers. Tests send each of them.

use crate::Op;
use serde_json::{Value, json};

const CARD: &str = "0192f0c123457abc8def0123456789ab";
const BOX: &str = "0192f0c123457abc8def0123456789cd";

/// What an operation may be sent.
pub fn request(op: Op) -> Option<Value> {
    let areas = [system, facts, roster, documents, handing_over, turns, sessions, handoffs];
    areas
        .into_iter()
        .find_map(|area| area().into_iter().find(|(known, _)| *known == op))
        .map(|(_, body)| body)
}

fn system() -> Vec<(Op, Value)> {
    vec![
        (Op::CreateProject, json!({ "project_id": "demo", "title": "The desk" })),
        (Op::UpdateProject, json!({ "title": "The night desk", "settings": { "max_recursion_depth": 5 } })),
        (
            Op::CreateToken,
            json!({ "project_id": "demo", "scopes": ["read", "work"], "expires_in_seconds": 3600 }),
        ),
        (Op::Tick, json!({ "now": "2026-01-31T12:00:00Z" })),
    ]
}

fn facts() -> Vec<(Op, Value)> {
    vec![
        (
            Op::PutCard,
            json!({ "content": "Write about boats.", "metadata": { "type": "task.instruction", "role": "user" } }),
        ),
        (Op::ReadCards, json!({ "card_ids": [CARD] })),
        (Op::CreateBox, json!({ "card_ids": [CARD] })),
        (Op::AppendToBox, json!({ "card_ids": [CARD], "expected_len": 1 })),
        (Op::RewriteBox, json!({ "card_ids": [CARD] })),
        (Op::ForkBox, json!({ "upto": 1 })),
        (Op::ReadBoxes, json!({ "box_ids": [BOX], "hydrate": true, "limit": 50 })),
    ]
}

fn roster() -> Vec<(Op, Value)> {
    vec![
        (
            Op::PutProfile,
            json!({
                "worker_target": "writers", "system_prompt": "You write about boats.", "tags": ["prose"],
                "llm_config": { "model": "gpt-4o" },
            }),
        ),
        (
            Op::AddAgent,
            json!({ "agent_id": "writer", "profile_name": "Writer", "display_name": "The writer" }),
        ),
    ]
}

fn documents() -> Vec<(Op, Value)> {
    let text =
        json!({ "type": "object", "properties": { "query": { "type": "string" } }, "required": ["query"] });
    vec![
        (Op::PutTool, json!({ "description": "Search the archive.", "parameters": text })),
        (
            Op::PutRecipe,
            json!({
                "description": "Have a text reviewed.",
                "handover": { "target_profile_config": { "profile_name": "Reviewer" } },
            }),
        ),
        (
            Op::PutTeam,
            json!({
                "process": "sequential",
                "agents": [{ "id": "writer", "profile": { "system_prompt": "You write." } }],
            }),
        ),
        (Op::RunTeam, json!({ "query": "Write about boats.", "wait_ms": 0 })),
        (Op::PutPlan, json!({ "goal": "An issue about boats." })),
    ]
}

fn handing_over() -> Vec<(Op, Value)> {
    let task =
        json!({ "target_strategy": "new", "target_ref": "Writer", "instruction": "Write about boats." });
    vec![
        (
            Op::PackContext,
            json!({
                "tool_suffix": "review", "arguments": { "text": "A red boat." },
                "handover": {
                    "target_profile_config": { "profile_name": "Reviewer" },
                    "context_packing_config": {
                        "pack_arguments": [{ "arg_key": "text", "as_card_type": "task.instruction" }],
                    },
                },
            }),
        ),
        (
            Op::CallTool,
            json!({ "caller_agent_id": "writer", "args": { "tasks": [task], "fail_fast": true } }),
        ),
    ]
}

fn turns() -> Vec<(Op, Value)> {
    let card =
        json!({ "content": "A red boat.", "metadata": { "type": "agent.thought", "role": "assistant" } });
    vec![
        (Op::DispatchTurn, json!({ "agent_id": "writer", "context_box_id": BOX })),
        (Op::ClaimTurns, json!({ "worker_target": "writers", "worker_id": "worker-1", "max_turns": 4 })),
        (Op::StartTurn, json!({ "turn_epoch": 1 })),
        (Op::BeatTurn, json!({ "turn_epoch": 1 })),
        (Op::ReleaseTurn, json!({ "turn_epoch": 1 })),
        (Op::AppendTurnCards, json!({ "turn_epoch": 1, "cards": [card] })),
        (Op::TakeStep, json!({ "turn_epoch": 1, "phase": "writing", "status": "completed" })),
        (Op::SuspendTurn, json!({ "turn_epoch": 1, "waiting_tool_call_ids": ["call_1"] })),
        (
            Op::FinishTurn,
            json!({ "turn_epoch": 1, "status": "success", "deliverable": "A text about boats." }),
        ),
        (Op::SendChunk, json!({ "turn_epoch": 1, "index": 0, "text": "A red" })),
        (
            Op::ReportTool,
            json!({
                "agent_id": "writer", "agent_turn_id": "turn_0192f0c123457abc8def0123456789ef", "turn_epoch": 1,
                "tool_call_id": "call_1", "status": "success", "result": { "found": 3 },
            }),
        ),
        (Op::StopTurn, json!({ "reason": "not needed any more" })),
        (Op::ForkTurn, json!({ "at": "2", "without_layers": ["knowledge"] })),
        (Op::ComposeCall, json!({ "turn_epoch": 1, "model": "gpt-4o" })),
    ]
}

fn sessions() -> Vec<(Op, Value)> {
    vec![
        (Op::PatchSession, json!({ "messages": { "append": [{ "role": "human", "content": "Hello." }] } })),
        (Op::CompactSession, json!({ "summary": "They spoke of boats." })),
        (Op::RestoreSession, json!({ "checkpoint_id": CARD })),
        (Op::CollectContext, json!({ "process": "react" })),
        (Op::NoteExperience, json!({ "goal": "An issue about boats." })),
        (Op::SaveExperience, json!({})),
        (
            Op::TakeInKnowledge,
            json!({ "source_id": "boats.md", "title": "Boats", "text": "# Boats\n\nA red boat." }),
        ),
        (Op::ComposeContext, json!({ "query": "Write about boats." })),
    ]
}

fn handoffs() -> Vec<(Op, Value)> {
    let package = json!({
        "handoff_type": "init_to_execute", "timestamp": "2026-01-31T12:00:00Z",
        "user_requirement": "An issue about boats.", "design_artifacts": { "rules": "rules.md" },
    });
    vec![
        (Op::CreateHandoff, package.clone()),
        (Op::ValidateHandoff, package.clone()),
        (Op::ValidateProjectHandoff, package),
        (Op::LoadHandoff, json!({})),
        (Op::PackHandoff, json!({ "execution_output_dir": "results" })),
        (Op::WriteFiles, json!({ "files": [{ "path": "rules.md", "content": "Be brief." }] })),
        (Op::PutHandoffType, json!({ "description": "A report.", "schema": { "type": "object" } })),
    ]
}
