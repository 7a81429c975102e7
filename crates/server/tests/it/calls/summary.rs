//! Calls that ask for a summary of the turn's session: with manifest, step and cost, like any other (CP-01, RP-01, OB-04).

use super::{call, on, request, said, show};
use crate::support::{Api, Leased, names, on_sqlite};
use serde_json::{Value, json};

on_sqlite! {
    rp_01_a_call_for_a_summary_is_kept_as_references;
    cp_05_the_next_call_for_a_summary_goes_on_from_the_last;
    ob_04_what_a_summary_costs_is_counted;
    cp_01_a_summary_is_asked_for_only_where_there_is_something_to_summarise;
}

async fn talk(api: &Api, from: usize, to: usize) -> Leased {
    let said: Vec<_> = (from..=to).map(|n| (format!("m{n}"), format!("text {n}."))).collect();
    let said: Vec<_> = said.iter().map(|(id, text)| (id.as_str(), "ai", text.as_str())).collect();
    api.say("s", &said).await;
    let more = json!({ "runtime_config": { "session_id": "s" } });
    on(api, "a1", &[api.card("p1", "and now?").await], more).await
}

fn summary() -> Value {
    json!({ "purpose": "summary" })
}

async fn rp_01_a_call_for_a_summary_is_kept_as_references(api: Api) {
    let leased = talk(&api, 1, 12).await;
    let made = call(&api, &leased, json!({ "purpose": "summary", "params": { "max_tokens": 99 } })).await;
    let body = request(&made);
    let [(system, _), (user, prompt)] = &said(&body)[..] else { panic!("{body:#}") };
    assert_eq!((system.as_str(), user.as_str()), ("system", "user"));
    assert!(prompt.contains("[ai] text 1.") && prompt.contains("[ai] text 7."), "{prompt}");
    assert!(!prompt.contains("text 8.") && !prompt.contains("and now?"), "{prompt}");
    assert_eq!((&body["model"], &body["max_tokens"]), (&json!("m-1"), &json!(99)));
    assert!(made.get("follows").is_none(), "{made:#}");

    let shown = show(&api, &made, "?render=true").await;
    assert_eq!((&shown["hash_ok"], &shown["request"]), (&json!(true), &made["request"]));
    let entries = shown["manifest"]["entries"].as_array().unwrap();
    let layers: Vec<_> = entries.iter().map(|entry| (&entry["layer"], &entry["cards"])).collect();
    assert_eq!(layers, [(&json!("system_prompt"), &json!(1)), (&json!("checkpoint"), &json!(7))]);
    assert!(!shown["manifest"].to_string().contains("text 1."), "references only");

    // The messages are deleted: the request cannot be shown any more, and nobody pretends it can.
    api.with(&api.admin, "DELETE", "/projects/p1/sessions/s", "").await.expect(204);
    assert_eq!(show(&api, &made, "?render=true").await["hash_ok"], false);
}

async fn cp_05_the_next_call_for_a_summary_goes_on_from_the_last(api: Api) {
    let leased = talk(&api, 1, 12).await;
    api.post("/projects/p1/sessions/s:compact", json!({ "summary": "The gist." })).await.expect(200);
    let said_more: Vec<_> = (13..=18).map(|n| (format!("m{n}"), format!("text {n}."))).collect();
    let said_more: Vec<_> = said_more.iter().map(|(id, text)| (id.as_str(), "ai", text.as_str())).collect();
    api.say("s", &said_more).await;
    let made = call(&api, &leased, summary()).await;
    let asked = said(&request(&made)).remove(1).1;
    assert!(asked.contains("# Summary So Far\nThe gist.") && asked.contains("[ai] text 13."), "{asked}");
    assert!(!asked.contains("text 1."), "{asked}");
    let told = api.get("/projects/p1/sessions/s/compaction").await.expect(200);
    assert_eq!(made["follows"], told["follows"]);
    assert!(made["follows"].is_string(), "{made:#}");
    assert_eq!(show(&api, &made, "?render=true").await["hash_ok"], true);
    let body = json!({ "summary": "The new gist.", "follows": made["follows"] });
    api.post("/projects/p1/sessions/s:compact", body).await.expect(200);
    assert_eq!(api.session("s").await["compression__context"], "The new gist.");
    assert_eq!(
        show(&api, &made, "?render=true").await["hash_ok"],
        true,
        "what it was made of is still there"
    );
}

async fn ob_04_what_a_summary_costs_is_counted(api: Api) {
    let leased = talk(&api, 1, 12).await;
    let made = call(&api, &leased, summary()).await;
    let step = json!({
        "step_id": made["step_id"], "phase": "summary", "status": "done", "call_id": made["call_id"],
        "metadata": { "model": "m-1", "usage": { "input_tokens": 70, "output_tokens": 7 }, "cost_micros": 5 },
    });
    api.verb(&leased, "/cards", json!({ "cards": [], "step": step })).await.expect(200);
    let cost = api.get(&format!("/projects/p1/cost?by=turn&agent_turn_id={}", leased.turn)).await.expect(200);
    assert_eq!((&cost["total"]["calls"], &cost["total"]["cost_micros"]), (&json!(1), &json!(5)), "{cost:#}");
    let steps = api.items(&format!("state/steps?agent_turn_id={}", leased.turn)).await;
    assert_eq!((&steps[0]["phase"], &steps[0]["call_id"]), (&json!("summary"), &made["call_id"]));
}

async fn cp_01_a_summary_is_asked_for_only_where_there_is_something_to_summarise(api: Api) {
    let leased = talk(&api, 1, 5).await;
    let alone = on(&api, "a2", &[api.card("p1", "do it").await], json!({})).await;
    let before = api.everything().await;
    let ask = async |leased: &Leased, more: Value| {
        let mut body = json!({ "model": "m-1" });
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        api.verb(leased, "/calls", body).await
    };
    ask(&leased, summary()).await.expect_error(409, "conflict");
    names(&ask(&alone, summary()).await, "bad_request", "purpose");
    names(&ask(&leased, json!({ "purpose": "fun" })).await, "bad_request", "purpose");
    for (field, value) in [
        ("tools", json!([])),
        ("contexts", json!({ "framework__context": "x" })),
        ("without", json!(["todo"])),
    ] {
        names(&ask(&leased, json!({ "purpose": "summary", field: value })).await, "bad_request", field);
    }
    assert_eq!(api.everything().await, before, "nothing was written");
}
