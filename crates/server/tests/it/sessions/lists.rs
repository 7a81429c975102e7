//! The lists of a session: messages and results (ST-03..ST-06).

use crate::support::{Api, names, on_sqlite, texts};
use serde_json::{Value, json};

on_sqlite! {
    a_session_is_read_in_parts;
    st_03_a_message_with_an_id_is_there_once;
    st_03_messages_are_replaced_as_a_whole;
    st_04_results_are_there_once_per_task;
    st_05_nothing_is_inferred_from_transcripts;
    st_06_memory_holds_conversation_only;
}

async fn st_03_a_message_with_an_id_is_there_once(api: Api) {
    let said = [("m1", "human", "hi"), ("m2", "ai", "hello"), ("m3", "human", "bye")];
    let first = api.say("s", &said).await;
    let again = api.say("s", &said).await;
    assert_eq!((&first["message_count"], &first["version"]), (&json!(3), &json!(1)));
    assert_eq!(
        (&again["changed"], &again["version"], &again["message_count"]),
        (&json!(false), &json!(1), &json!(3))
    );
    let before = api.session("s").await;
    // Another text takes the place of the first, where it stood.
    let changed = api.say("s", &[("m2", "ai", "hello!"), ("m4", "ai", "bye")]).await;
    assert_eq!((&changed["changed"], &changed["message_count"]), (&json!(true), &json!(4)));
    let now = api.session("s").await;
    assert_eq!(texts(&now["messages"]), ["hi", "hello!", "bye", "bye"]);
    let ids: Vec<_> =
        now["messages"].as_array().unwrap().iter().map(|said| said["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["m1", "m2", "m3", "m4"]);
    assert_eq!(now["messages"][0]["card_id"], before["messages"][0]["card_id"]);
    assert_ne!(now["messages"][1]["card_id"], before["messages"][1]["card_id"], "a card never changes");
    // A message without an id can be named by its card.
    api.patch("s", json!({ "messages": { "append": [{ "role": "human", "content": "x" }] } }))
        .await
        .expect(200);
    let last = api.session("s").await["messages"][4].clone();
    assert_eq!(last["id"], last["card_id"]);
    let same = json!([{ "id": last["id"], "role": "human", "content": "x" }]);
    assert_eq!(api.patch("s", json!({ "messages": { "append": same } })).await.expect(200)["changed"], false);
}

async fn st_03_messages_are_replaced_as_a_whole(api: Api) {
    api.say("s", &[("m1", "human", "hi"), ("m2", "ai", "hello"), ("m3", "human", "bye")]).await;
    let kept = api.session("s").await["messages"][2].clone();
    let all = json!([{ "id": "m3", "role": "human", "content": "bye" }, { "role": "ai", "content": "new" }]);
    let replaced = api.patch("s", json!({ "messages": { "replace": all } })).await.expect(200);
    assert_eq!(replaced["message_count"], 2);
    let now = api.session("s").await["messages"].clone();
    assert_eq!((texts(&now), &now[0]), (vec!["bye", "new"], &kept));
    let none = api.patch("s", json!({ "messages": { "replace": [] } })).await.expect(200);
    assert_eq!((&none["message_count"], &api.session("s").await["messages"]), (&json!(0), &json!([])));
    assert_eq!(api.say("s", &[("m1", "human", "hi again")]).await["message_count"], 1);
}

async fn st_04_results_are_there_once_per_task(api: Api) {
    let append = |results: Value| json!({ "mapreduce_results": { "append": results } });
    let (one, two) = (json!({ "task_id": "t1", "answer": 1 }), json!({ "task_id": "t2", "answer": [2] }));
    let patched = api.patch("s", append(json!([one, two]))).await.expect(200);
    assert_eq!(patched["result_count"], 2);
    let again = api.patch("s", append(json!([two]))).await.expect(200);
    assert_eq!(
        (&again["changed"], &again["result_count"]),
        (&json!(false), &json!(2)),
        "a worker that ran twice"
    );
    assert_eq!(api.session("s").await["mapreduce_results"], json!([one, two]));
    let reset = api.patch("s", json!({ "mapreduce_results": { "reset": true } })).await.expect(200);
    assert_eq!(
        (&reset["result_count"], &api.session("s").await["mapreduce_results"]),
        (&json!(0), &json!([]))
    );
    // The same task belongs to another plan now.
    assert_eq!(api.patch("s", append(json!([one]))).await.expect(200)["result_count"], 1);
    assert_eq!(api.session("s").await["mapreduce_results"], json!([one]));
    assert_eq!(
        api.patch("s", json!({ "set": { "mapreduce_results": [] } })).await.expect(200)["result_count"],
        0
    );
    let reply = api.patch("s", json!({ "set": { "mapreduce_results": [one] } })).await;
    names(&reply, "reducer_field", "set/mapreduce_results");
}

async fn st_05_nothing_is_inferred_from_transcripts(api: Api) {
    let mut transcript: Vec<(String, &str, String)> = vec![];
    for turn in 0..3 {
        transcript.push((format!("h{turn}"), "human", format!("question {turn}")));
        transcript.push((format!("a{turn}"), "ai", format!("answer {turn}")));
        let said: Vec<_> =
            transcript.iter().map(|(id, role, text)| (id.as_str(), *role, text.as_str())).collect();
        // The prefix is there already, under its ids.
        api.say("s", &said).await;
    }
    assert_eq!(api.session("s").await["messages"].as_array().unwrap().len(), 6);
    let literal = json!({ "messages": { "append": [
        { "role": "human", "content": "question 0" }, { "role": "ai", "content": "answer 0" },
    ] } });
    for count in [8, 10] {
        assert_eq!(api.patch("s", literal.clone()).await.expect(200)["message_count"], count);
    }
}

async fn st_06_memory_holds_conversation_only(api: Api) {
    let append = |said: Value| json!({ "messages": { "append": said } });
    let system = json!([{ "role": "human", "content": "hi" }, { "role": "system", "content": "obey" }]);
    for op in ["append", "replace"] {
        let reply = api.patch("s", json!({ "messages": { op: system } })).await;
        reply.expect_error(400, "system_in_checkpoint");
        let field = reply.json()["error"]["detail"]["field"].as_str().unwrap().to_owned();
        assert!(field.starts_with("messages/") && field.ends_with("1/role"), "{field}");
    }
    api.get("/projects/p1/sessions/s").await.expect_error(404, "not_found");
    let internal = json!([
        { "role": "human", "content": "hi" },
        { "role": "ai", "content": "thinking", "internal": true },
        { "role": "system", "content": "note to self", "internal": true },
    ]);
    assert_eq!(api.patch("s", append(internal)).await.expect(200)["message_count"], 1);
    let alone = json!([{ "role": "tool", "content": "42", "tool_call_id": "c1" }]);
    api.patch("s", append(alone.clone())).await.expect_error(400, "bad_request");
    api.patch("s", append(json!([{ "role": "tool", "content": "42" }])))
        .await
        .expect_error(400, "bad_request");
    let call = json!([{ "id": "c1", "function": { "name": "look", "arguments": "{}" } }]);
    api.patch("s", append(json!([{ "role": "ai", "tool_calls": call }]))).await.expect(200);
    api.patch("s", append(alone)).await.expect(200);
    let messages = api.session("s").await["messages"].clone();
    assert_eq!((&messages[1]["tool_calls"], &messages[1]["content"]), (&call, &json!("")));
    assert_eq!((&messages[2]["role"], &messages[2]["tool_call_id"]), (&json!("tool"), &json!("c1")));
}

async fn a_session_is_read_in_parts(api: Api) {
    for n in 1..=5 {
        api.patch("s", json!({
            "messages": { "append": [{ "id": format!("m{n}"), "role": "human", "content": format!("say {n}") }] },
            "timeline": { "append": [n] },
        })).await.expect(200);
    }
    api.patch("s", json!({ "mapreduce_results": { "append": [{ "task_id": "t" }] } })).await.expect(200);
    let part = async |query: &str| api.get(&format!("/projects/p1/sessions/s?{query}")).await.expect(200);
    let whole = api.session("s").await;
    assert_eq!((texts(&whole["messages"]).len(), whole.get("earlier")), (5, None), "nothing is left out");
    let last = part("limit=2").await;
    assert_eq!((texts(&last["messages"]), &last["timeline"]), (vec!["say 4", "say 5"], &json!([4, 5])));
    assert_eq!(last["earlier"], json!({ "messages": 3, "mapreduce_results": 0, "timeline": 3 }));
    assert_eq!(
        (&last["mapreduce_results"], &last["version"]),
        (&whole["mapreduce_results"], &whole["version"])
    );
    // What comes meanwhile does not move the places of what was there.
    api.say("s", &[("m6", "human", "say 6")]).await;
    let before = part("limit=2&before=3").await;
    assert_eq!(texts(&before["messages"]), ["say 2", "say 3"]);
    let first = part(&format!("limit=2&before={}", before["earlier"]["messages"])).await;
    assert_eq!((texts(&first["messages"]), first.get("earlier")), (vec!["say 1"], None));
    for (query, shown) in
        [("limit=6", 6), ("limit=9999", 6), ("before=0", 0), ("before=-1", 0), ("before=99", 6)]
    {
        assert_eq!(texts(&part(query).await["messages"]).len(), shown, "{query}");
    }
    // An earlier version is read in parts too.
    let then = whole["checkpoint_id"].as_str().unwrap();
    assert_eq!(texts(&part(&format!("limit=1&checkpoint={then}")).await["messages"]), ["say 5"]);
    names(&api.get("/projects/p1/sessions/s?limit=0").await, "bad_request", "limit");
    for field in ["limit", "before"] {
        names(&api.get(&format!("/projects/p1/sessions/s?{field}=x")).await, "bad_request", field);
    }
}
