//! What people are asked by a turn and everything below it (PR-10).

use crate::support::{Api, Leased, on_sqlite};
use serde_json::{Value, json};

on_sqlite! {
    pr_10_questions_are_those_of_a_turn_and_of_everything_below_it;
    pr_10_a_run_pauses_when_nothing_below_it_goes_on_by_itself;
    f_12_all_questions_of_a_project_are_listed_page_by_page;
    f_07_runs_that_have_not_ended_are_listed_to_those_who_may_see_them;
}

/// A turn that runs, below another if one is given.
async fn started(api: &Api, agent: &str, parent: Option<&Leased>) -> Leased {
    let mut more = json!({ "trace_id": "one" });
    if let Some(parent) = parent {
        more["parent_agent_turn_id"] = parent.turn.as_str().into();
    }
    let turn = api.dispatch_with(agent, more).await;
    let leases = api.claim_with(json!({ "start": true })).await;
    leases.into_iter().find(|lease| lease.turn == turn.id).unwrap()
}

/// The turn waits for a person.
async fn ask(api: &Api, leased: &Leased, question: &str) {
    let content = json!({ "tool_name": "ask_human", "arguments": { "question": question } });
    let call = json!({ "content": content, "tool_call_id": "c1", "metadata": { "type": "tool.call" } });
    api.verb(leased, "/cards", call).await.expect(200);
    api.verb(leased, ":suspend", json!({ "waiting_tool_call_ids": ["c1"] })).await.expect(200);
}

async fn asked(api: &Api, leased: &Leased) -> Vec<String> {
    let list = api.get(&format!("/projects/p1/turns/{}/questions", leased.turn)).await.expect(200);
    let text = |item: &Value| item["question"].as_str().unwrap().to_owned();
    list["items"].as_array().unwrap().iter().map(text).collect()
}

/// One between that has ended does not hide those below it; a turn of the same trace that is not below is left out.
async fn pr_10_questions_are_those_of_a_turn_and_of_everything_below_it(api: Api) {
    let root = started(&api, "root", None).await;
    let between = started(&api, "between", Some(&root)).await;
    let below = started(&api, "below", Some(&between)).await;
    let beside = started(&api, "beside", None).await;
    // One that is queued behind a turn asks nothing yet.
    api.dispatch_with("beside", json!({ "trace_id": "one", "parent_agent_turn_id": root.turn })).await;
    assert_eq!(asked(&api, &root).await, [] as [&str; 0]);
    api.finish(&between, "success").await;
    ask(&api, &below, "left?").await;
    ask(&api, &beside, "right?").await;
    assert_eq!(asked(&api, &root).await, ["left?"]);
    ask(&api, &root, "on?").await;
    assert_eq!(asked(&api, &root).await, ["on?", "left?"]);
    assert_eq!(asked(&api, &between).await, ["left?"]);
    assert_eq!(asked(&api, &beside).await, ["right?"]);
    api.report(&root, "c1", json!({ "status": "success", "result": "yes" })).await.expect(200);
    assert_eq!(asked(&api, &root).await, ["left?"]);
}

/// What a run is told, if it pauses.
async fn paused(api: &Api, leased: &Leased) -> Option<usize> {
    let turn = leased.turn.parse().unwrap();
    api.kernel.pause(&"p1".parse().unwrap(), turn).await.unwrap().map(|questions| questions.len())
}

/// Whoever is at work is found among the few that were sent last, and behind many that wait.
async fn pr_10_a_run_pauses_when_nothing_below_it_goes_on_by_itself(api: Api) {
    let root = started(&api, "root", None).await;
    ask(&api, &root, "on?").await;
    assert_eq!(paused(&api, &root).await, Some(1));
    let first = started(&api, "first", Some(&root)).await;
    assert_eq!(paused(&api, &root).await, None);
    let mut others = vec![];
    for number in 0..12 {
        let other = started(&api, &format!("other-{number}"), Some(&root)).await;
        ask(&api, &other, "which?").await;
        others.push(other);
    }
    assert_eq!(paused(&api, &root).await, None);
    ask(&api, &first, "left?").await;
    assert_eq!(paused(&api, &root).await, Some(14));
    // At work, in the same trace, and not below.
    let beside = started(&api, "beside", None).await;
    assert_eq!(paused(&api, &root).await, Some(14));
    assert_eq!(paused(&api, &beside).await, None);
    // Sent, and not claimed by anybody yet.
    api.dispatch_with("waiting", json!({ "trace_id": "one", "parent_agent_turn_id": root.turn })).await;
    assert_eq!(paused(&api, &root).await, None);
    assert_eq!(paused(&api, &others[0]).await, Some(1));
}

/// F-12: whoever has to answer need not know which turns there are.
async fn f_12_all_questions_of_a_project_are_listed_page_by_page(api: Api) {
    let listed = async |query: &str| {
        let list = api.get(&format!("/projects/p1/questions{query}")).await.expect(200);
        let text = |item: &Value| item["question"].as_str().unwrap().to_owned();
        let asked: Vec<_> = list["items"].as_array().unwrap().iter().map(text).collect();
        (asked, list["next_cursor"].as_str().map(str::to_owned))
    };
    assert_eq!(listed("").await, (vec![], None));
    // The first name that there can be, too.
    for agent in ["-", "b", "c"] {
        let turn = started(&api, agent, None).await;
        ask(&api, &turn, &format!("{agent}?")).await;
    }
    started(&api, "works", None).await;
    assert_eq!(listed("").await, (vec!["-?".to_owned(), "b?".to_owned(), "c?".to_owned()], None));
    let (mut found, mut query) = (vec![], "?limit=1".to_owned());
    loop {
        let (asked, next) = listed(&query).await;
        assert!(asked.len() <= 1, "{asked:?}");
        found.extend(asked);
        let Some(next) = next else { break };
        query = format!("?limit=1&cursor={next}");
    }
    assert_eq!(found, ["-?", "b?", "c?"]);
    let elsewhere = api.get("/projects/p2/questions").await.expect(200);
    assert_eq!(elsewhere["items"], json!([]), "another project's");
}

/// F-07, CB-08
async fn f_07_runs_that_have_not_ended_are_listed_to_those_who_may_see_them(api: Api) {
    let team =
        json!({ "process": "sequential", "agents": [{ "id": "a", "profile": { "system_prompt": "x" } }] });
    for project in ["p1", "p2"] {
        let path = format!("/projects/{project}/teams/crew");
        api.with(&api.admin, "PUT", &path, &team.to_string()).await.expect(201);
    }
    let start = async |project: &str, session: &str| {
        let body = json!({ "query": "Why?", "session_id": session });
        let run = api.post(&format!("/projects/{project}/teams/crew:run"), body).await.expect(200);
        run["agent_turn_id"].as_str().unwrap().to_owned()
    };
    let listed = async |token: &str, query: &str| {
        let list = api.with(token, "GET", &format!("/runs{query}"), "").await.expect(200);
        list["items"].as_array().unwrap().clone()
    };
    // A turn that is no run is none of these.
    api.dispatch("somebody").await;
    assert_eq!(listed(&api.admin, "").await, [] as [Value; 0]);
    let (first, other) = (start("p1", "s1").await, start("p2", "s2").await);
    start("p1", "s3").await;
    let runs = listed(&api.admin, "").await;
    let turns: Vec<_> = runs.iter().map(|run| run["agent_turn_id"].as_str().unwrap()).collect();
    assert_eq!(turns, [first.as_str(), other.as_str()]);
    let run = &runs[0];
    assert_eq!((&run["project_id"], &run["team"]), (&json!("p1"), &json!("crew")), "{run:#}");
    assert_eq!((&run["session_id"], &run["agent_id"]), (&json!("s1"), &json!("team_crew")));
    assert_eq!((&run["status"], &run["queued"]), (&json!("dispatched"), &json!(1)));
    let of = |runs: Vec<Value>| runs.iter().map(|run| run["project_id"].clone()).collect::<Vec<_>>();
    assert_eq!(of(listed(&api.admin, "?project_id=p2").await), ["p2"]);
    // Page by page; a page may be short, since turns that are no runs are passed over, and then says where to go on.
    let (mut paged, mut query) = (vec![], "?limit=1".to_owned());
    loop {
        let page = api.get(&format!("/runs{query}")).await.expect(200);
        paged.extend(page["items"].as_array().unwrap().clone());
        let Some(next) = page["next_cursor"].as_str() else { break };
        query = format!("?limit=1&cursor={next}");
    }
    assert_eq!(of(paged), ["p1", "p2"]);
    // Another project's are not seen, and not asked for.
    let own = api.token(json!({ "project_id": "p2", "scopes": ["read"] })).await;
    assert_eq!(of(listed(&own, "").await), ["p2"]);
    api.with(&own, "GET", "/runs?project_id=p1", "").await.expect_error(403, "forbidden");
    api.get("/runs?project_id=nowhere").await.expect_error(404, "not_found");
    for bad in ["x", "p1", "p1.", ".a", "p1.a b"] {
        api.get(&format!("/runs?cursor={}", bad.replace(' ', "%20"))).await.expect_error(400, "bad_request");
    }
    api.get("/runs?project_id=p2&cursor=p1.a").await.expect_error(400, "bad_request");
    api.post(&format!("/projects/p2/turns/{other}:stop"), json!({})).await.expect(200);
    assert_eq!(of(listed(&api.admin, "").await), ["p1"]);
    api.delete("/projects/p1").await.expect(204);
    assert_eq!(listed(&api.admin, "").await, [] as [Value; 0], "of a deleted project there are none");
}
