//! The isolation matrix: every endpoint of the table, so that a new one cannot be forgotten.

use crate::support::{Api, NOBODY, on_both};
use cardwire_api::{Access, ENDPOINTS, Endpoint, Op};
use serde_json::json;

on_both! {
    no_token_opens_nothing_but_what_is_open;
    a_weaker_scope_is_refused;
    a_token_of_another_project_is_refused;
    ids_of_another_project_are_not_found;
    an_unknown_or_deleted_project_is_not_found;
    refusals_are_audited;
}

/// The path with every parameter filled in.
fn path(endpoint: &Endpoint, project: &str, id: &str) -> String {
    let token = format!("tok_{id}");
    endpoint
        .path
        .replace("{project_id}", project)
        .replace("{token_id}", &token)
        .replace("{box_id}", id)
        .replace("{card_id}", id)
        .replace("{agent_turn_id}", &format!("turn_{id}"))
        .replace("{batch_id}", &format!("batch_{id}"))
        .replace("{agent_id}", "somebody")
        .replace("{tool}", "delegate_async")
        .replace("{tool_name}", "some-tool")
        .replace("{recipe_name}", "some")
        .replace("{team_name}", "some")
        .replace("{profile_name}", "Some")
        .replace("{session_id}", "some")
        .replace("{call_id}", id)
        .replace("{handoff_id}", "ho_some")
        .replace("{type_name}", "some")
}

/// A body that would be accepted, with `id` wherever it takes one.
fn body(op: Op, id: &str) -> String {
    let body = match op {
        Op::PutCard => json!({ "content": "x", "metadata": { "type": "x" } }),
        Op::CreateBox | Op::AppendToBox | Op::RewriteBox | Op::ReadCards => json!({ "card_ids": [id] }),
        Op::ReadBoxes => json!({ "box_ids": [id] }),
        Op::CreateProject => json!({ "project_id": "new" }),
        Op::CreateToken => json!({ "scopes": ["read"] }),
        Op::ForkBox | Op::UpdateProject | Op::Tick | Op::StopTurn | Op::ForkTurn => json!({}),
        Op::PutProfile => json!({ "worker_target": "w1", "system_prompt": "x" }),
        Op::AddAgent => json!({ "agent_id": "somebody", "profile_name": "Some" }),
        Op::PutTool | Op::PutPlan => json!({}),
        Op::PutTeam => {
            json!({ "process": "react", "agents": [{ "id": "a", "profile": { "system_prompt": "x" } }] })
        }
        Op::RunTeam => json!({ "query": "secret" }),
        Op::PutRecipe => json!({ "handover": { "target_profile_config": { "profile_name": "Some" } } }),
        Op::PackContext => json!({
            "tool_suffix": "t", "arguments": { "b": id },
            "handover": { "target_profile_config": { "profile_name": "Some" }, "context_packing_config": {
                "inherit_context": { "include_boxes_from_args": ["b"] } } },
        }),
        Op::CallTool => json!({
            "caller_agent_id": "somebody",
            "args": { "target_strategy": "new", "target_ref": "Some", "instruction": "x", "context_box_id": id },
        }),
        Op::DispatchTurn => {
            json!({ "agent_id": "somebody", "profile_box_id": id, "context_box_id": id })
        }
        Op::ClaimTurns => json!({ "worker_target": "w1", "worker_id": "w" }),
        Op::StartTurn | Op::BeatTurn | Op::ReleaseTurn => json!({ "turn_epoch": 1 }),
        Op::AppendTurnCards => json!({ "turn_epoch": 1, "cards": [] }),
        Op::TakeStep => json!({ "turn_epoch": 1, "phase": "x" }),
        Op::SendChunk => json!({ "turn_epoch": 1, "index": 0, "text": "secret" }),
        Op::SuspendTurn => json!({ "turn_epoch": 1, "waiting_tool_call_ids": ["c"] }),
        Op::FinishTurn => json!({ "turn_epoch": 1, "status": "success" }),
        Op::ReportTool => json!({
            "agent_id": "somebody", "agent_turn_id": format!("turn_{id}"), "turn_epoch": 1,
            "tool_call_id": "c", "status": "success", "result": 1,
        }),
        Op::PatchSession => json!({ "set": { "goal": "secret" } }),
        Op::RestoreSession => json!({ "checkpoint_id": id }),
        Op::CompactSession | Op::CollectContext | Op::SaveExperience | Op::ComposeContext => json!({}),
        Op::NoteExperience => json!({ "goal": "secret" }),
        Op::TakeInKnowledge => json!({ "source_id": "some", "text": "secret" }),
        Op::ComposeCall => json!({ "turn_epoch": 1, "model": "m" }),
        Op::CreateHandoff | Op::ValidateHandoff | Op::ValidateProjectHandoff => json!({
            "handoff_type": "init_to_execute", "timestamp": "2026-01-04T10:30:00",
            "user_requirement": "secret", "design_artifacts": { "rules": "rules.md" },
        }),
        Op::PackHandoff => json!({ "execution_output_dir": "some" }),
        Op::WriteFiles => json!({ "files": [{ "path": "some.txt", "content": "secret" }] }),
        Op::PutHandoffType => json!({ "schema": {} }),
        Op::LoadHandoff => json!({}),
        Op::Health
        | Op::Ready
        | Op::Metrics
        | Op::OpenApi
        | Op::ListProjects
        | Op::GetProject
        | Op::DeleteProject
        | Op::ListAudit
        | Op::ReadEvents
        | Op::ListTokens
        | Op::RevokeToken
        | Op::Verify
        | Op::ReplayTurn
        | Op::GetBox
        | Op::GetBoxCards
        | Op::GetProvenance
        | Op::GetCard
        | Op::DeleteCard
        | Op::ListProfiles
        | Op::GetProfile
        | Op::DeleteProfile
        | Op::ListTools
        | Op::GetTool
        | Op::DeleteTool
        | Op::ListRecipes
        | Op::GetRecipe
        | Op::DeleteRecipe
        | Op::ListTeams
        | Op::GetTeam
        | Op::DeleteTeam
        | Op::GetPlan
        | Op::DeletePlan
        | Op::ListAgents
        | Op::GetAgent
        | Op::ListTurns
        | Op::GetTurn
        | Op::GetTurnView
        | Op::ListQuestions
        | Op::ListOpenQuestions
        | Op::ListUnfinishedRuns
        | Op::ViewTurn
        | Op::ListHeads
        | Op::GetHead
        | Op::RebuildHead
        | Op::ListInbox
        | Op::ListSteps
        | Op::ReadChunks
        | Op::SumCost
        | Op::ListEdges
        | Op::ListIdentityEdges
        | Op::ListBatches
        | Op::GetBatch
        | Op::CancelBatch
        | Op::ListSessions
        | Op::GetSession
        | Op::DeleteSession
        | Op::ListCheckpoints
        | Op::GetCompaction
        | Op::GetExperience
        | Op::ListKnowledge
        | Op::SearchKnowledge
        | Op::DropKnowledge
        | Op::GetCallContext
        | Op::DiffContext
        | Op::WhyContext
        | Op::ExpandContext
        | Op::ListHandoffs
        | Op::GetHandoff
        | Op::ListHandoffTypes
        | Op::GetHandoffType
        | Op::DeleteHandoffType
        | Op::ListOutlines
        | Op::GetOutline
        | Op::GetHandover
        | Op::ListBoxes
        | Op::ListCards
        | Op::ListCardBoxes
        | Op::ListCardCalls
        | Op::CreateInspectorCode => return String::new(),
    };
    body.to_string()
}

/// Whether it is about one document.
fn is_document(endpoint: &Endpoint) -> bool {
    let named = ["{tool_name}", "{recipe_name}", "{team_name}", "{type_name}"];
    named.iter().any(|name| endpoint.path.contains(name)) || endpoint.path.ends_with("/plan")
}

/// SEC-01, F-14
async fn no_token_opens_nothing_but_what_is_open(api: Api) {
    let long = format!("Bearer cw_{}", "0".repeat(64));
    for endpoint in ENDPOINTS {
        let path = path(endpoint, "p1", NOBODY);
        let none = api.request(endpoint.method, &path, &[], body(endpoint.op, NOBODY)).await;
        if endpoint.access == Access::Open {
            none.expect(200);
            continue;
        }
        if matches!(endpoint.access, Access::Guest(_)) {
            none.expect(200);
        } else {
            none.expect_error(401, "unauthenticated");
        }
        for bad in ["Bearer x", "Basic eDp5", "Bearer", "", &long, "Bearer cw_é"] {
            let Ok(value) = axum::http::HeaderValue::try_from(bad.as_bytes()) else { continue };
            let request = axum::http::Request::builder()
                .method(endpoint.method)
                .uri(&path)
                .header("host", "localhost")
                .header("authorization", value)
                .body(axum::body::Body::empty())
                .unwrap();
            api.send(request).await.expect_error(401, "unauthenticated");
        }
    }
    let open = ENDPOINTS.iter().filter(|endpoint| endpoint.access.scope().is_none());
    let open: Vec<_> = open.map(|endpoint| endpoint.path).collect();
    assert_eq!(open, ["/health", "/ready", "/openapi.json"]);
}

/// SEC-02
async fn a_weaker_scope_is_refused(api: Api) {
    for endpoint in ENDPOINTS {
        for scope in cardwire_model::Scope::ALL {
            let Some(needed) = endpoint.access.scope() else { continue };
            let token = api.token(json!({ "scopes": [scope.as_str()] })).await;
            if scope < needed {
                let reply = api
                    .with(&token, endpoint.method, &path(endpoint, "p1", NOBODY), &body(endpoint.op, NOBODY))
                    .await;
                reply.expect_error(403, "forbidden");
            } else if !matches!(endpoint.op, Op::ReadEvents | Op::DeleteProject) {
                let reply = api
                    .with(&token, endpoint.method, &path(endpoint, "p1", NOBODY), &body(endpoint.op, NOBODY))
                    .await;
                assert!(!matches!(reply.status.as_u16(), 401 | 403), "{:?} with {scope:?}", endpoint.op);
            }
        }
    }
    assert!(api.get("/projects/p1").await.status.is_success(), "nothing above was done");
}

/// CB-08: the same answer whether or not the project exists.
async fn a_token_of_another_project_is_refused(api: Api) {
    let token = api.token(json!({ "project_id": "p2", "scopes": ["admin"] })).await;
    for endpoint in ENDPOINTS {
        match endpoint.access {
            Access::Project(_) | Access::Turn(_) => {
                for project in ["p1", "nowhere"] {
                    let path = path(endpoint, project, NOBODY);
                    let reply = api.with(&token, endpoint.method, &path, &body(endpoint.op, NOBODY)).await;
                    reply.expect_error(403, "forbidden");
                    assert!(!String::from_utf8_lossy(&reply.bytes).contains("nowhere"));
                }
            }
            Access::Global(_) => {
                let path = path(endpoint, "p1", NOBODY);
                let reply = api.with(&token, endpoint.method, &path, &body(endpoint.op, NOBODY)).await;
                reply.expect_error(403, "forbidden");
            }
            Access::Open | Access::Guest(_) | Access::Any(_) => {}
        }
    }
    let listed = api.with(&token, "GET", "/projects", "").await.expect(200);
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    assert_eq!(listed["items"][0]["project_id"], "p2");
    let tokens = api.with(&token, "GET", "/tokens", "").await.expect(200);
    assert!(tokens["items"].as_array().unwrap().iter().all(|token| token["project_id"] == "p2"));
    let admin = api.get("/tokens").await.expect(200)["items"][0]["id"].as_str().unwrap().to_owned();
    api.with(&token, "DELETE", &format!("/tokens/{admin}"), "").await.expect_error(404, "not_found");
    for (project, scope) in [(json!("p1"), "read"), (json!(null), "read")] {
        let body = json!({ "project_id": project, "scopes": [scope] }).to_string();
        api.with(&token, "POST", "/tokens", &body).await.expect_error(403, "forbidden");
    }
}

/// CB-08
async fn ids_of_another_project_are_not_found(api: Api) {
    let card = api.card("p1", "secret").await;
    let box_id = api.make_box("p1", std::slice::from_ref(&card)).await;
    let turn = api.dispatch("somebody").await.id;
    let profile = json!({ "worker_target": "w1", "system_prompt": "secret" }).to_string();
    api.with(&api.admin, "PUT", "/projects/p1/profiles/Some", &profile).await.expect(201);
    for endpoint in ENDPOINTS.iter().filter(|endpoint| is_document(endpoint) && endpoint.method == "PUT") {
        let path = path(endpoint, "p1", NOBODY);
        api.with(&api.admin, "PUT", &path, &body(endpoint.op, NOBODY)).await.expect(201);
    }
    for op in [Op::PatchSession, Op::NoteExperience] {
        let endpoint = ENDPOINTS.iter().find(|endpoint| endpoint.op == op).unwrap();
        api.with(&api.admin, "POST", &path(endpoint, "p1", NOBODY), &body(op, NOBODY)).await.expect(200);
    }
    api.post("/projects/p1/knowledge", json!({ "source_id": "some", "text": "secret" })).await.expect(201);
    let before = api.everything().await;
    for endpoint in ENDPOINTS {
        let has = |name: &str| endpoint.path.contains(name);
        let id = if has("{box_id}") || endpoint.op == Op::ReadBoxes {
            &box_id
        } else if has("{agent_turn_id}") || endpoint.op == Op::ReportTool {
            turn.strip_prefix("turn_").unwrap()
        } else {
            &card
        };
        let asks_for_id = [
            "{box_id}",
            "{card_id}",
            "{agent_turn_id}",
            "{agent_id}",
            "{profile_name}",
            "{session_id}",
            "{call_id}",
        ];
        // A session is made by what is written to it, and one that is not there is an empty one to these.
        if matches!(
            endpoint.op,
            Op::PatchSession | Op::NoteExperience | Op::SaveExperience | Op::CollectContext
        ) {
            continue;
        }
        let asks_for_name = endpoint.op == Op::PutProfile || is_document(endpoint);
        let takes_id = matches!(
            endpoint.op,
            Op::CreateBox | Op::ReadBoxes | Op::ReadCards | Op::ReportTool | Op::AddAgent
        );
        let asks_for_it = asks_for_id.iter().any(|name| has(name)) || asks_for_name;
        // Writing a profile or a document makes one of that name here too.
        if (!asks_for_it && !takes_id) || (asks_for_name && endpoint.method == "PUT") {
            continue;
        }
        let reply =
            api.with(&api.admin, endpoint.method, &path(endpoint, "p2", id), &body(endpoint.op, id)).await;
        if endpoint.op == Op::ReadBoxes {
            assert_eq!(reply.expect(200)["missing_box_ids"], json!([id]));
        } else if endpoint.op == Op::ReadCards {
            assert_eq!(reply.expect(200)["missing_ids"], json!([id]));
        } else {
            reply.expect_error(404, "not_found");
        }
        assert!(!String::from_utf8_lossy(&reply.bytes).contains("secret"));
    }
    for query in ["knowledge?", "knowledge:search?query=secret", "sessions?"] {
        let found = api.get(&format!("/projects/p2/{query}")).await.expect(200);
        assert_eq!(found["items"], json!([]), "{query}");
    }
    for query in [
        format!("diff?left={card}&right={turn}"),
        format!("why?call={card}&card={card}"),
        format!("expand?card={card}"),
    ] {
        api.get(&format!("/projects/p2/context:{query}")).await.expect_error(404, "not_found");
    }
    let empty = api.post("/projects/p2/sessions/some/context:collect", json!({})).await.expect(200);
    assert!(!empty.to_string().contains("secret"), "{empty}");
    let saved = api.post("/projects/p2/sessions/some/experience:save", json!({})).await.expect(200);
    assert_eq!(saved["saved"], false);
    assert_eq!(api.everything().await, before);
}

async fn an_unknown_or_deleted_project_is_not_found(api: Api) {
    let card = api.card("p2", "x").await;
    let token = api.token(json!({ "project_id": "p2", "scopes": ["read"] })).await;
    api.delete("/projects/p2").await.expect(204);
    for endpoint in ENDPOINTS.iter().filter(|endpoint| endpoint.path.contains("{project_id}")) {
        for project in ["nowhere", "p2"] {
            let reply = api
                .with(&api.admin, endpoint.method, &path(endpoint, project, &card), &body(endpoint.op, &card))
                .await;
            reply.expect_error(404, "not_found");
        }
    }
    api.with(&token, "GET", "/projects/p2", "").await.expect_error(404, "not_found");
    api.post("/projects", json!({ "project_id": "p2" })).await.expect_error(409, "conflict");
    let listed = api.get("/projects").await.expect(200);
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
}

/// SEC-05
async fn refusals_are_audited(api: Api) {
    let token = api.token(json!({ "project_id": "p1", "scopes": ["read"] })).await;
    let body = json!({ "content": "x", "metadata": { "type": "x" } }).to_string();
    api.with(&token, "POST", "/projects/p1/l0/cards", &body).await.expect_error(403, "forbidden");
    let rows = api.get("/projects/p1/audit?limit=1").await.expect(200);
    let row = &rows["items"][0];
    assert_eq!((&row["action"], &row["verdict"]), (&json!("access.denied"), &json!("denied")));
    assert_eq!(row["subject"], "POST /projects/{project_id}/l0/cards");
    assert!(row["actor"].as_str().unwrap().starts_with("tok_"));
    assert!(rows["next_cursor"].is_string());
}
