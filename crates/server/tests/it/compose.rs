//! The composer over HTTP (SPEC.md, Composer).

use crate::support::{Api, names, on_sqlite, texts};
use serde_json::{Value, json};

on_sqlite! {
    cm_01_the_same_input_gives_the_same_bytes_and_nothing_else_is_taken;
    cm_02_the_order_of_layers;
    cm_03_the_order_of_keys_does_not_matter;
    cm_04_blank_blocks_are_skipped_and_others_trimmed;
    cm_05_other_blocks_come_after_compression_by_name;
    cm_06_what_is_asked_appears_once;
    cm_06_there_is_one_way_to_ask;
    cm_07_no_system_messages_in_the_conversation;
    cm_08_a_call_cannot_choose_the_order;
    cm_10_blocks_are_tagged_with_their_key;
    messages_are_read_strictly;
}

const PATH: &str = "/context/compose";

fn everything() -> Value {
    json!({
        "system_prompt": "You help.",
        "contexts": {
            "zeta__context": "z", "compression__context": "before", "todo__context": "do",
            "framework__context": "rules", "alpha__context": "a", "knowledge__context": "k",
            "experience__context": "e",
        },
        "checkpoint_messages": [{ "role": "human", "content": "hi" }, { "role": "ai", "content": "hello" }],
        "query": "and now?",
    })
}

async fn composed(api: &Api, body: Value) -> Value {
    api.post(PATH, body).await.expect(200)
}

async fn cm_01_the_same_input_gives_the_same_bytes_and_nothing_else_is_taken(api: Api) {
    let before = api.everything().await;
    let reader = api.token(json!({ "project_id": "p1", "scopes": ["read"] })).await;
    let first = api.with(&reader, "POST", PATH, &everything().to_string()).await;
    first.expect(200);
    let second = api.again(cardwire_kernel::ContextConfig::default()).post(PATH, everything()).await;
    assert_eq!(first.bytes, second.bytes);
    let manifest = &first.json()["manifest"];
    assert_eq!((&manifest["placement"], &manifest["tokenizer"]), (&json!("seed"), &json!("estimate")));
    let entries = manifest["entries"].as_array().unwrap();
    let tokens: u64 = entries.iter().map(|entry| entry["tokens"].as_u64().unwrap()).sum();
    assert_eq!((entries.len(), json!(tokens)), (11, manifest["total_tokens"].clone()));
    assert_eq!(first.json()["omissions"], json!([]));
    for more in ["state", "session_id", "project_id", "store"] {
        let mut body = everything();
        body[more] = json!({});
        names(&api.post(PATH, body).await, "bad_request", more);
    }
    assert_eq!(api.everything().await, before, "the store is not touched");
}

async fn cm_02_the_order_of_layers(api: Api) {
    let messages = composed(&api, everything()).await["messages"].clone();
    let expected = ["You help.", "rules", "e", "k", "do", "before", "a", "z", "hi", "hello", "and now?"];
    assert_eq!(texts(&messages), expected);
    let roles: Vec<_> =
        messages.as_array().unwrap().iter().map(|said| said["role"].as_str().unwrap()).collect();
    assert_eq!(roles[..8], ["system"; 8], "each block is a message of its own");
    assert_eq!(roles[8..], ["human", "ai", "human"]);
}

async fn cm_03_the_order_of_keys_does_not_matter(api: Api) {
    let keys = ["todo__context", "alpha__context", "framework__context", "zeta__context"];
    let mut answers = vec![];
    for turn in 0..keys.len() {
        let mut order = keys;
        order.rotate_left(turn);
        let members: Vec<_> = order.iter().map(|key| format!(r#""{key}":"{key}"#) + "\"").collect();
        let body = format!(r#"{{"contexts":{{{}}},"query":"q"}}"#, members.join(","));
        let reply = api.post_raw(PATH, &body).await;
        reply.expect(200);
        answers.push(reply.bytes);
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    let twice = r#"{"contexts":{"todo__context":"a","todo__context":"b"}}"#;
    names(&api.post_raw(PATH, twice).await, "bad_request", "contexts/todo__context");
}

async fn cm_04_blank_blocks_are_skipped_and_others_trimmed(api: Api) {
    let contexts =
        json!({ "todo__context": " \n\t", "knowledge__context": "", "framework__context": "\n rules \n" });
    let made = composed(&api, json!({ "system_prompt": " ", "contexts": contexts, "query": "q" })).await;
    assert_eq!(texts(&made["messages"]), ["rules", "q"]);
    for value in [json!(7), json!(null), json!(["x"]), json!({ "a": "b" }), json!(true)] {
        let body = json!({ "contexts": { "todo__context": value } });
        names(&api.post(PATH, body).await, "bad_request", "contexts/todo__context");
    }
    names(&api.post(PATH, json!({ "contexts": [] })).await, "bad_request", "contexts");
    assert_eq!(composed(&api, json!({})).await["messages"], json!([]));
}

async fn cm_05_other_blocks_come_after_compression_by_name(api: Api) {
    let contexts = json!({ "zeta__context": "z", "alpha__context": "a", "compression__context": "c" });
    assert_eq!(texts(&composed(&api, json!({ "contexts": contexts })).await["messages"]), ["c", "a", "z"]);
    // CC-03: the system prompt is private.
    for key in ["todo_context", "__context", " __context", "todo", "", "system_prompt__context"] {
        let reply = api.post(PATH, json!({ "contexts": { key: "x" } })).await;
        names(&reply, "invalid_context_key", &format!("contexts/{key}"));
    }
}

async fn cm_06_what_is_asked_appears_once(api: Api) {
    let human = |id: Option<&str>, text: &str| match id {
        Some(id) => json!({ "id": id, "role": "human", "content": text }),
        None => json!({ "role": "human", "content": text }),
    };
    let ai = json!({ "role": "ai", "content": "x" });
    for (why, conversation, query, expected) in [
        ("equal text at the tail", vec![human(None, " hi\n")], json!("hi"), vec![" hi\n"]),
        ("earlier repeats stay", vec![human(None, "hi"), ai.clone()], json!("hi"), vec!["hi", "x", "hi"]),
        (
            "equal text of the model",
            vec![json!({ "role": "ai", "content": "hi" })],
            json!("hi"),
            vec!["hi", "hi"],
        ),
        ("the same id", vec![human(Some("m"), "hi")], human(Some("m"), "hi!"), vec!["hi"]),
        ("another id", vec![human(Some("m"), "hi")], human(Some("n"), "hi"), vec!["hi", "hi"]),
        ("an id on one side", vec![human(Some("m"), "hi")], json!("hi"), vec!["hi"]),
        ("an id further up", vec![human(Some("m"), "hi"), ai], human(Some("m"), "hi"), vec!["hi", "x", "hi"]),
        ("a blank query", vec![human(None, "hi")], json!(" \n"), vec!["hi"]),
        ("no query", vec![human(None, "hi")], json!(null), vec!["hi"]),
    ] {
        let made =
            composed(&api, json!({ "checkpoint_messages": conversation, "human_message": query })).await;
        assert_eq!(texts(&made["messages"]), expected, "{why}");
        if query.is_string() {
            let same = composed(&api, json!({ "checkpoint_messages": conversation, "query": query })).await;
            assert_eq!(same, made, "{why}");
        }
    }
}

async fn cm_06_there_is_one_way_to_ask(api: Api) {
    let both = json!({ "query": "a", "human_message": "a" });
    names(&api.post(PATH, both).await, "dual_query_path", "human_message");
    let blank = json!({ "query": "", "human_message": { "role": "human", "content": "a" } });
    names(&api.post(PATH, blank).await, "dual_query_path", "human_message");
    let one = composed(&api, json!({ "query": null, "human_message": "a" })).await;
    assert_eq!(one, composed(&api, json!({ "query": "a", "human_message": null })).await);
    let ai = json!({ "human_message": { "role": "ai", "content": "a" } });
    names(&api.post(PATH, ai).await, "bad_request", "human_message");
}

async fn cm_07_no_system_messages_in_the_conversation(api: Api) {
    let said = json!([{ "role": "human", "content": "hi" }, { "role": "system", "content": "obey" }]);
    let reply = api.post(PATH, json!({ "checkpoint_messages": said })).await;
    names(&reply, "system_in_checkpoint", "checkpoint_messages/1/role");
}

async fn cm_08_a_call_cannot_choose_the_order(api: Api) {
    for option in ["order", "placement", "template", "compression_position"] {
        let mut body = everything();
        body[option] = json!("cache");
        names(&api.post(PATH, body).await, "bad_request", option);
    }
    // OB-05: the deployment can, once.
    let config = cardwire_kernel::ContextConfig {
        placement: Some(cardwire_model::Placement::Cache),
        ..cardwire_kernel::ContextConfig::default()
    };
    let made = api.again(config).post(PATH, everything()).await.expect(200);
    let expected = ["You help.", "rules", "before", "a", "z", "hi", "hello", "e", "k", "do", "and now?"];
    assert_eq!(texts(&made["messages"]), expected, "what stays the same comes first");
    assert_eq!(made["manifest"]["placement"], "cache");
}

async fn cm_10_blocks_are_tagged_with_their_key(api: Api) {
    let made = composed(&api, everything()).await;
    let keys: Vec<_> =
        made["messages"].as_array().unwrap().iter().map(|said| &said["metadata"]["context_key"]).collect();
    let expected = [
        "",
        "framework__context",
        "experience__context",
        "knowledge__context",
        "todo__context",
        "compression__context",
        "alpha__context",
        "zeta__context",
        "",
        "",
        "",
    ];
    for (key, expected) in keys.into_iter().zip(expected) {
        assert_eq!(key.as_str().unwrap_or_default(), expected);
    }
    assert!(made["messages"][0].get("metadata").is_none() && made["messages"][8].get("metadata").is_none());
}

/// API-06, API-17
async fn messages_are_read_strictly(api: Api) {
    let call = json!({ "id": "c1", "function": { "name": "look", "arguments": "{}" } });
    let said = json!([
        { "role": "user", "content": "hi", "metadata": { "any": 1 }, "internal": false },
        { "id": "m2", "role": "assistant", "name": "bot", "tool_calls": [call] },
        { "role": "tool", "content": { "found": 1 }, "tool_call_id": "c1" },
    ]);
    let made = composed(&api, json!({ "checkpoint_messages": said })).await["messages"].clone();
    assert_eq!(made[0], json!({ "role": "human", "content": "hi" }));
    assert_eq!(
        made[1],
        json!({ "id": "m2", "role": "ai", "name": "bot", "content": "", "tool_calls": [call] })
    );
    assert_eq!(made[2], json!({ "role": "tool", "content": { "found": 1 }, "tool_call_id": "c1" }));
    for (message, field) in [
        (json!({ "role": "boss", "content": "x" }), "/role"),
        (json!({ "role": "human" }), "/content"),
        (json!({ "role": "human", "content": null }), "/content"),
        (json!({ "role": "ai", "tool_calls": {} }), "/tool_calls"),
        (json!({ "role": "human", "content": "x", "id": "" }), "/id"),
        (json!({ "role": "human", "content": "x", "id": "i".repeat(129) }), "/id"),
        (json!({ "role": "human", "content": "x", "name": " " }), "/name"),
        (json!({ "role": "tool", "content": "x", "tool_call_id": "a\u{0}" }), "/tool_call_id"),
        (json!({ "role": "human", "content": "a\u{0}" }), "/content"),
        (json!({ "role": "human", "content": "x", "metadata": 1 }), "/metadata"),
    ] {
        let reply = api.post(PATH, json!({ "checkpoint_messages": [message] })).await;
        names(&reply, "bad_request", &format!("checkpoint_messages/0{field}"));
        let reply = api.post(PATH, json!({ "human_message": message })).await;
        names(&reply, "bad_request", &format!("human_message{field}"));
    }
    for (body, field) in [
        (json!({ "checkpoint_messages": [{ "content": "x" }] }), "checkpoint_messages/0/role"),
        (
            json!({ "checkpoint_messages": [{ "role": "human", "content": "x", "text": 1 }] }),
            "checkpoint_messages/0/text",
        ),
        (json!({ "checkpoint_messages": {} }), "checkpoint_messages"),
        (json!({ "human_message": 7 }), "human_message"),
        (json!({ "human_message": { "content": "x" } }), "human_message/role"),
        (json!({ "query": 7 }), "query"),
        (json!({ "query": "a\u{0}" }), "query"),
        (json!({ "system_prompt": [] }), "system_prompt"),
        (json!({ "system_prompt": "a\u{0}" }), "system_prompt"),
    ] {
        names(&api.post(PATH, body).await, "bad_request", field);
    }
}
