//! Packing a context over HTTP (SPEC.md, Packing).

use crate::support::{Api, NOBODY, Reply, on_both, on_sqlite};
use cardwire_model::{ProjectId, limits};
use serde_json::{Value, json};

on_both! {
    packing_costs_the_same_whatever_is_inherited;
}

on_sqlite! {
    a_packed_box_is_what_the_rules_say;
    what_cannot_be_packed_leaves_nothing;
    a_later_append_does_not_reach_a_packed_box;
    a_profile_is_found_by_its_name_or_the_only_one_like_it;
    a_dry_run_tells_and_writes_nothing;
    pk_19_a_long_chain_of_packs_tells_every_source;
    a_repeated_pack_is_one_pack;
    packs_are_audited;
    readers_may_not_pack;
}

const PATH: &str = "/projects/p1/pmo/pack_context";

fn rules(packing: Value) -> Value {
    json!({ "target_profile_config": { "profile_name": "Helper" }, "context_packing_config": packing })
}

/// Instruction, inherited boxes, parent.
fn all_rules(order: &str) -> Value {
    rules(json!({
        "pack_arguments": [
            "not a rule",
            { "arg_key": "absent" },
            { "arg_key": "instruction", "card_metadata": { "k": 1 } },
        ],
        "inherit_context": { "include_boxes_from_args": ["input_box_ids", 7, "more"], "include_parent": true },
        "order": order,
    }))
}

fn body(arguments: Value, handover: Value) -> Value {
    json!({ "tool_suffix": "delegate_async", "source_agent_id": "boss", "arguments": arguments, "handover": handover })
}

async fn pack(api: &Api, arguments: Value, handover: Value) -> Reply {
    api.post(PATH, body(arguments, handover)).await
}

/// How many cards and boxes the project has.
async fn census(api: &Api) -> (usize, usize) {
    let project: ProjectId = "p1".parse().unwrap();
    let cards = api.store.scan_cards(&project, None, 10_000).await.unwrap().len();
    (cards, api.store.scan_boxes(&project, None, 10_000).await.unwrap().len())
}

/// PK-01, PK-04..PK-07, PK-09, PK-11, PK-14, PK-15, PK-17, PK-19
async fn a_packed_box_is_what_the_rules_say(api: Api) {
    let profile = api.profile("p1").await;
    let ids = api.cards("p1", 3).await;
    let a = api.make_box("p1", &ids[..2]).await;
    let b = api.make_box("p1", &ids[1..]).await;
    let before = census(&api).await;
    for order in ["args_first", "inherit_first"] {
        let arguments = json!({ "instruction": 42, "input_box_ids": [a, b], "more": a });
        let packed = pack(&api, arguments, all_rules(order)).await.expect(201);
        let context = packed["context_box_id"].as_str().unwrap();
        assert_eq!(packed["target_profile_box_id"], json!(profile));
        let shown = api.shown("p1", context).await;
        assert_eq!(packed["attached_card_ids"], json!(shown));
        assert_eq!(shown.len(), 5);
        let (instruction, inherited) =
            if order == "args_first" { (&shown[0], &shown[1..4]) } else { (&shown[3], &shown[..3]) };
        assert_eq!(inherited, &ids[..]);

        let card = api.get(&format!("/projects/p1/cards/{instruction}")).await.expect(200);
        assert_eq!((&card["content"], &card["metadata"]["type"]), (&json!("42"), &json!("task.instruction")));
        assert_eq!((&card["metadata"]["role"], &card["metadata"]["k"]), (&json!("user"), &json!(1)));
        assert_eq!(card["metadata"]["author_id"], "delegate_async");
        let parent = api.get(&format!("/projects/p1/cards/{}", shown[4])).await.expect(200);
        assert_eq!(parent["content"], json!({ "parent_agent_id": "boss" }));
        assert_eq!(parent["metadata"]["type"], "meta.parent_pointer");
        assert_eq!(
            (&parent["metadata"]["role"], &parent["metadata"]["author_id"]),
            (&json!("system"), &json!("boss"))
        );

        let provenance = api.get(&format!("/projects/p1/boxes/{context}/provenance")).await.expect(200);
        assert!(provenance["handover_hash"].is_string(), "{provenance}");
        let origin = |id: &str| {
            let cards = provenance["cards"].as_array().unwrap();
            cards.iter().find(|card| card["card_id"] == id).cloned().unwrap()
        };
        assert_eq!(
            (&origin(instruction)["origin"], &origin(instruction)["rule"]),
            (&json!("argument"), &json!(2))
        );
        assert_eq!((&origin(&ids[0])["origin"], &origin(&ids[0])["box_id"]), (&json!("box"), &json!(a)));
        assert_eq!(origin(&ids[2])["box_id"], json!(b));
        assert_eq!(origin(&shown[4])["origin"], "parent");
    }
    let after = census(&api).await;
    assert_eq!((after.0 - before.0, after.1 - before.1), (4, 2), "two cards and one box each");
}

/// PK-02, PK-03, PK-08, PK-10, PK-12, PK-14, PK-20, X-05, X-06, W-12
async fn what_cannot_be_packed_leaves_nothing(api: Api) {
    api.profile("p1").await;
    let before = census(&api).await;
    let fields = rules(json!({ "pack_arguments": [
        { "arg_key": "instruction" }, { "arg_key": "f", "as_card_type": "task.result_fields" },
    ] }));
    let inherit = || {
        rules(json!({
            "pack_arguments": [{ "arg_key": "instruction" }],
            "inherit_context": { "include_boxes_from_args": ["b"] },
        }))
    };
    let of_p2 = api.make_box("p2", &[]).await;
    let unprintable =
        json!({ "tool_suffix": "a\u{0}b", "arguments": { "instruction": "x" }, "handover": inherit() });
    let reply = api.post(PATH, unprintable).await;
    assert_eq!(reply.expect(400)["error"]["detail"]["field"], "tool_suffix");
    for (arguments, handover, status, code) in [
        (json!({ "instruction": "x" }), json!(null), 400, "bad_request"),
        (json!({ "instruction": "x" }), json!({}), 400, "bad_request"),
        (json!({ "instruction": "x" }), json!({ "context_packing_config": {} }), 400, "bad_request"),
        (json!({ "profile_name": "Nope" }), inherit(), 404, "not_found"),
        (json!({ "profile_name": "No such/profile" }), inherit(), 404, "not_found"),
        (json!({ "instruction": "x", "f": "x" }), fields.clone(), 400, "bad_request"),
        (json!({ "instruction": "x", "f": [{ "name": "" }] }), fields, 400, "bad_request"),
        (json!({ "instruction": "x", "b": { "x": 1 } }), inherit(), 400, "bad_request"),
        (json!({ "instruction": "x", "b": true }), inherit(), 400, "bad_request"),
        (json!({ "instruction": "x", "b": [NOBODY, null] }), inherit(), 400, "bad_request"),
        (json!({ "instruction": "x", "b": "b1" }), inherit(), 404, "not_found"),
        (json!({ "instruction": "x", "b": NOBODY }), inherit(), 404, "not_found"),
        (json!({ "instruction": "x", "b": of_p2 }), inherit(), 404, "not_found"),
        (json!({ "instruction": "x" }), rules(json!({ "pack_arguments": {} })), 400, "bad_request"),
        (
            json!({ "instruction": "x" }),
            rules(json!({ "inherit_context": { "include_parent": "yes" } })),
            400,
            "bad_request",
        ),
    ] {
        let reply = pack(&api, arguments.clone(), handover.clone()).await;
        assert_eq!(reply.status.as_u16(), status, "{arguments} {handover}: {}", reply.json());
        assert_eq!(reply.code(), code, "{arguments} {handover}");
    }
    let message = pack(&api, json!({ "b": NOBODY }), inherit()).await.json()["error"]["message"].clone();
    assert_eq!(message, json!(format!("inherit_context: box not found: {NOBODY}")));
    let orphan = json!({ "tool_suffix": "t", "handover": rules(json!({ "inherit_context": { "include_parent": true } })) });
    api.post(PATH, orphan).await.expect_error(400, "bad_request");
    for bad in [json!({ "handover": {} }), json!({ "tool_suffix": "t", "arguments": [] }), json!({ "x": 1 })]
    {
        api.post(PATH, bad).await.expect_error(400, "bad_request");
    }
    assert_eq!(census(&api).await, before);
}

/// PK-13
async fn a_later_append_does_not_reach_a_packed_box(api: Api) {
    api.profile("p1").await;
    let ids = api.cards("p1", 2).await;
    let source = api.make_box("p1", &ids[..1]).await;
    let packed = pack(&api, json!({ "input_box_ids": source }), all_rules("args_first")).await.expect(201);
    let context = packed["context_box_id"].as_str().unwrap();
    let path = format!("/projects/p1/l0/boxes/{source}/cards");
    api.post(&path, json!({ "card_ids": [ids[1]] })).await.expect(200);
    api.post(&format!("/projects/p1/l0/boxes/{source}:rewrite"), json!({ "card_ids": [] })).await.expect(200);
    assert_eq!(api.shown("p1", context).await[0], ids[0]);
    assert_eq!(api.shown("p1", context).await.len(), 2);
}

/// PK-02, W-11
async fn a_profile_is_found_by_its_name_or_the_only_one_like_it(api: Api) {
    let put = async |name: &str| {
        let body = json!({ "worker_target": "w1", "system_prompt": name }).to_string();
        let path = format!("/projects/p1/profiles/{name}");
        api.with(&api.admin, "PUT", &path, &body).await.expect(201)["profile_box_id"].clone()
    };
    let analyst = put("Analyst").await;
    let found = async |name: &str| {
        let handover =
            json!({ "target_profile_config": { "profile_name": "Analyst" }, "context_packing_config": {} });
        pack(&api, json!({ "profile_name": name }), handover).await
    };
    for name in ["Analyst", " analyst ", "ANALYST", "  "] {
        assert_eq!(found(name).await.expect(201)["target_profile_box_id"], analyst, "{name}");
    }
    let lower = put("analyst").await;
    assert_eq!(found("analyst").await.expect(201)["target_profile_box_id"], lower);
    assert_eq!(found("Analyst").await.expect(201)["target_profile_box_id"], analyst);
    found("ANALYST").await.expect_error(409, "conflict");
}

/// PK-21
async fn a_dry_run_tells_and_writes_nothing(api: Api) {
    let profile = api.profile("p1").await;
    let ids = api.cards("p1", 1).await;
    let source = api.make_box("p1", &ids).await;
    let before = census(&api).await;
    let dry = async |arguments: Value| {
        api.post(&format!("{PATH}?dry_run=true"), body(arguments, all_rules("args_first"))).await
    };
    let told = dry(json!({ "instruction": "Look it up.", "input_box_ids": source })).await.expect(200);
    assert_eq!((&told["context_box_id"], &told["target_profile_box_id"]), (&Value::Null, &json!(profile)));
    assert_eq!(told["attached_card_ids"], json!(ids));
    let preflight = &told["preflight"];
    assert_eq!(preflight["ok"], true);
    let cards = preflight["cards"].as_array().unwrap();
    let origins: Vec<_> = cards.iter().map(|card| card["origin"].as_str().unwrap()).collect();
    assert_eq!(origins, ["argument", "box", "parent"]);
    assert_eq!((&cards[0]["card_id"], &cards[0]["rule"]), (&Value::Null, &json!(2)));
    assert_eq!((&cards[1]["card_id"], &cards[1]["box_id"]), (&json!(ids[0]), &json!(source)));
    assert!(cards.iter().all(|card| card["tokens"].as_u64().unwrap() > 0), "{preflight}");
    let tokens = |name: &str| preflight["tokens"][name].as_u64().unwrap();
    assert_eq!(tokens("total"), tokens("profile") + tokens("context"));
    assert!(tokens("profile") > 0);

    let told = dry(json!({ "instruction": "x", "input_box_ids": NOBODY })).await.expect(200);
    assert_eq!(
        (&told["preflight"]["ok"], &told["preflight"]["missing_box_ids"]),
        (&json!(false), &json!([NOBODY]))
    );
    dry(json!({ "input_box_ids": true })).await.expect_error(400, "bad_request");
    assert_eq!(census(&api).await, before);
}

/// PK-19, CB-11: where boxes nest too deep to be referred to, too.
async fn pk_19_a_long_chain_of_packs_tells_every_source(api: Api) {
    api.profile("p1").await;
    api.agent("boss").await;
    let ids = api.cards("p1", 3).await;
    let mut source = api.make_box("p1", &ids).await;
    let handover = rules(json!({ "inherit_context": { "include_boxes_from_args": ["box"] } }));
    for _ in 0..=usize::from(limits::SEGMENT_DEPTH) {
        let packed = pack(&api, json!({ "box": source }), handover.clone()).await.expect(201);
        let context = packed["context_box_id"].as_str().unwrap().to_owned();
        assert_eq!(api.shown("p1", &context).await[..3], ids);
        let told = api.get(&format!("/projects/p1/boxes/{context}/provenance")).await.expect(200);
        for card in &told["cards"].as_array().unwrap()[..3] {
            let from = (&card["origin"], &card["box_id"], &card["generation"]);
            assert_eq!(from, (&json!("box"), &json!(source), &json!(1)));
        }
        source = context;
    }
    // The last of them was a copy already, so that the next one refers again; the one before it is too deep for a fork.
    let boxes = async || census(&api).await.1;
    let forked = async |context: &str| {
        let before = boxes().await;
        let task = json!({ "target_strategy": "new", "target_ref": "Helper", "instruction": "x", "context_box_id": context });
        let body = json!({ "caller_agent_id": "boss", "args": { "tasks": [task, task, task] } });
        let answer = api.post("/projects/p1/pmo/fork_join:call", body).await.expect(200);
        let id = answer["result"]["batch_id"].as_str().unwrap().to_owned();
        let tasks = api.get(&format!("/projects/p1/batches/{id}")).await.expect(200)["tasks"].clone();
        for task in tasks.as_array().unwrap() {
            let context = task["context_box_id"].as_str().unwrap();
            assert_eq!(api.shown("p1", context).await[1..4], ids);
        }
        boxes().await - before
    };
    let told = api.get(&format!("/projects/p1/boxes/{source}/provenance")).await.expect(200);
    let deep = told["cards"][0]["box_id"].as_str().unwrap().to_owned();
    // Contexts and outputs, and one copy of what all inherit.
    assert_eq!((forked(&source).await, forked(&deep).await), (6, 7));
}

/// API-16
async fn a_repeated_pack_is_one_pack(api: Api) {
    api.profile("p1").await;
    let bearer = format!("Bearer {}", api.admin);
    let send = async |instruction: &str| {
        let body = body(json!({ "instruction": instruction }), all_rules("args_first")).to_string();
        api.request("POST", PATH, &[("authorization", &bearer), ("idempotency-key", "k")], body).await
    };
    let first = send("x").await.expect(201);
    let before = census(&api).await;
    assert_eq!(send("x").await.expect(201), first);
    send("y").await.expect_error(409, "conflict");
    assert_eq!(census(&api).await, before);
}

/// CB-11
async fn packing_costs_the_same_whatever_is_inherited(api: Api) {
    api.profile("p1").await;
    let ids = api.cards("p1", 50).await;
    let mut entries = vec![];
    for len in [1, 50] {
        let source = api.make_box("p1", &ids[..len]).await;
        let packed =
            pack(&api, json!({ "input_box_ids": source }), all_rules("args_first")).await.expect(201);
        let context = packed["context_box_id"].as_str().unwrap().parse().unwrap();
        assert_eq!(packed["attached_card_ids"].as_array().unwrap().len(), len + 1);
        let head = api.store.box_head(&"p1".parse().unwrap(), context).await.unwrap().unwrap().head;
        entries.push(head.entries);
    }
    assert_eq!(entries, [2, 2]);
}

/// PK-19, SEC-05
async fn packs_are_audited(api: Api) {
    api.profile("p1").await;
    let source = api.make_box("p1", &api.cards("p1", 1).await).await;
    let packed = pack(&api, json!({ "input_box_ids": source }), all_rules("args_first")).await.expect(201);
    api.kernel.seal_audit().await.unwrap();
    let rows = api.get("/projects/p1/audit").await.expect(200);
    let row =
        rows["items"].as_array().unwrap().iter().find(|row| row["action"] == "context.pack").unwrap().clone();
    assert_eq!(row["subject"], packed["context_box_id"]);
    assert_eq!(row["detail"]["inherited"][0]["box_id"], json!(source));
    assert_eq!(
        (&row["detail"]["profile_name"], &row["detail"]["source_agent_id"]),
        (&json!("Helper"), &json!("boss"))
    );
}

/// SEC-01
async fn readers_may_not_pack(api: Api) {
    api.profile("p1").await;
    let token = api.post("/tokens", json!({ "project_id": "p1", "scopes": ["read"] })).await.expect(201);
    let body = body(json!({}), all_rules("args_first")).to_string();
    api.with(token["token"].as_str().unwrap(), "POST", PATH, &body).await.expect_error(403, "forbidden");
}
