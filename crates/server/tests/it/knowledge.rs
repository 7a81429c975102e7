//! Documents over HTTP (SPEC.md, Knowledge).

use crate::support::{Api, BrokenEmbedder, Meanings, names, on_both, on_sqlite};
use cardwire_kernel::ContextConfig;
use cardwire_model::limits;
use serde_json::{Value, json};
use std::sync::Arc;

on_both! {
    kn_02_sections_are_found_and_shown_once;
    kn_02_a_document_takes_the_place_of_the_last;
    kn_02_meanings_are_found_where_somebody_tells_them;
    kn_04_namespaces_share_nothing;
    kn_04_texts_of_any_script_are_found;
}

on_sqlite! {
    kn_03_the_block_byte_for_byte;
    kn_03_no_chunk_is_shown_in_part;
    kn_02_what_fits_less_well_than_asked_for_is_not_found;
    bad_documents_and_searches_are_refused;
    settings_have_a_limit;
}

async fn settings_have_a_limit(api: Api) {
    let settings: [fn(usize) -> Value; 4] = [
        |n| json!({ "knowledge": { "top_k": n } }),
        |n| json!({ "knowledge": { "max_chunks": n } }),
        |n| json!({ "experience": { "shown": n } }),
        |n| json!({ "min_keep_entries": n }),
    ];
    for setting in settings {
        api.settle(setting(limits::SETTING_MAX)).await;
        let body = json!({ "settings": { "context": setting(limits::SETTING_MAX + 1) } }).to_string();
        let refused = api.with(&api.admin, "PATCH", "/projects/p1", &body).await;
        refused.expect_error(413, "too_large");
    }
}

async fn search(api: &Api, query: &str) -> Vec<Value> {
    let found = api.get(&format!("/projects/p1/knowledge:search?query={query}")).await.expect(200);
    found["items"].as_array().unwrap().clone()
}

fn sources(found: &[Value]) -> Vec<&str> {
    found.iter().map(|one| one["source_id"].as_str().unwrap()).collect()
}

async fn kn_02_sections_are_found_and_shown_once(api: Api) {
    // Two parts of one section speak of it.
    let filler = "plain words follow one another here. ".repeat(20);
    let taken = api.document("a.md", &format!("# Whales\n\nwhale song {filler} whale song")).await;
    assert_eq!(
        (&taken["source_id"], &taken["namespace"], &taken["sections"]),
        (&json!("a.md"), &json!("default"), &json!(1))
    );
    assert!(taken["parts"].as_u64().unwrap() >= 2, "{taken}");
    let found = search(&api, "whale").await;
    assert_eq!(sources(&found), ["a.md"], "a section is shown once, as a whole");
    assert_eq!(found[0]["title"], "Whales");
    assert!(found[0]["content"].as_str().unwrap().ends_with("whale song"));
    assert!(found[0]["score"].is_number());
    let card =
        api.get(&format!("/projects/p1/cards/{}", found[0]["card_id"].as_str().unwrap())).await.expect(200);
    assert_eq!((&card["type"], &card["content"]["source_id"]), (&json!("knowledge.section"), &json!("a.md")));
    // No document crowds the others out, and equal texts are shown once.
    let chapters: String = (0..5).map(|n| format!("# Chapter {n}\n\nwhale whale {n}\n\n")).collect();
    api.document("b.md", &chapters).await;
    for copy in ["c.md", "d.md"] {
        api.document(copy, "The same whale.").await;
    }
    let found = search(&api, "whale").await;
    let of = |name: &str| sources(&found).iter().filter(|source| **source == name).count();
    assert_eq!((of("b.md"), of("c.md") + of("d.md")), (2, 1));
    let one = api.get("/projects/p1/knowledge:search?query=whale&limit=1").await.expect(200);
    assert_eq!(one["items"].as_array().unwrap().len(), 1);
    for blank in ["", "%20", "%0A", "!%3F"] {
        assert!(search(&api, blank).await.is_empty(), "{blank:?}");
    }
    assert!(search(&api, "submarine").await.is_empty());
}

async fn kn_02_a_document_takes_the_place_of_the_last(api: Api) {
    api.document("a.md", "about whales").await;
    let kept = search(&api, "whales").await[0]["card_id"].as_str().unwrap().to_owned();
    api.document("a.md", "about boats").await;
    assert!(search(&api, "whales").await.is_empty());
    assert_eq!(sources(&search(&api, "boats").await), ["a.md"]);
    for name in ["b.md", "c.md"] {
        api.document(name, "about boats too").await;
    }
    let listed = api.items("knowledge").await;
    assert_eq!(sources(&listed), ["a.md", "b.md", "c.md"]);
    assert_eq!(listed[0], json!({ "source_id": "a.md", "parts": 1 }));
    let page = api.get("/projects/p1/knowledge?limit=2").await.expect(200);
    let next = page["next_cursor"].as_str().unwrap();
    let rest = api.get(&format!("/projects/p1/knowledge?limit=2&cursor={next}")).await.expect(200);
    assert_eq!(sources(rest["items"].as_array().unwrap()), ["c.md"]);
    for _ in 0..2 {
        api.delete("/projects/p1/knowledge?source_id=a.md").await.expect(204);
    }
    assert_eq!(sources(&api.items("knowledge").await), ["b.md", "c.md"]);
    assert!(!sources(&search(&api, "boats").await).contains(&"a.md"));
    // What a call has shown can still be read.
    api.get(&format!("/projects/p1/cards/{kept}")).await.expect(200);
    // A document with nothing in it is known by name only.
    assert_eq!(api.document("b.md", " \n").await["parts"], 0);
}

async fn kn_02_meanings_are_found_where_somebody_tells_them(api: Api) {
    let server = api.again(ContextConfig { embedder: Some(Arc::new(Meanings)), ..ContextConfig::default() });
    server.document("sea.md", "The old ship went down.").await;
    server.document("wood.md", "An oak stood there.").await;
    let by = async |method: &str| {
        let path = format!("/projects/p1/knowledge:search?query=vessel&limit=1&method={method}");
        server.get(&path).await.expect(200)["items"].clone()
    };
    assert_eq!(by("full_text").await, json!([]), "no word of it");
    assert_eq!(by("semantic").await[0]["source_id"], "sea.md");
    assert_eq!(by("hybrid").await[0]["source_id"], "sea.md");
    let broken =
        api.again(ContextConfig { embedder: Some(Arc::new(BrokenEmbedder)), ..ContextConfig::default() });
    let body = json!({ "source_id": "x", "text": "x" });
    broken.post("/projects/p1/knowledge", body).await.expect_error(502, "retriever_failed");
    broken.get("/projects/p1/knowledge:search?query=x").await.expect_error(502, "retriever_failed");
    assert_eq!(api.items("knowledge").await.len(), 2, "nothing was taken in");
}

async fn kn_03_the_block_byte_for_byte(api: Api) {
    api.document("a.md", "# Boats\n\nA red boat.").await;
    let taken = json!({ "source_id": "b.txt", "text": "One boat less.", "title": "Losses" });
    api.post("/projects/p1/knowledge", taken).await.expect(201);
    let collected = api.collect("s", json!({ "query": "boat" })).await.expect(200);
    let refs = collected["knowledge_refs"].as_array().unwrap();
    let found = search(&api, "boat").await;
    assert_eq!(refs.iter().collect::<Vec<_>>(), found.iter().map(|one| &one["card_id"]).collect::<Vec<_>>());
    let chunk = |n: usize, one: &Value| {
        let text = |name: &str| one[name].as_str().unwrap().trim().to_owned();
        format!("\n\n### Chunk {n}\n- Source: {}\n{}\n{}", text("source_id"), text("title"), text("content"))
    };
    let expected = format!("# Knowledge Context\n\n## Chunks{}{}", chunk(1, &found[0]), chunk(2, &found[1]));
    assert_eq!(collected["contexts"]["knowledge__context"], json!(expected));
    api.settle(json!({ "knowledge": { "format": "json", "max_chunks": 1 } })).await;
    let collected = api.collect("s", json!({ "query": "boat" })).await.expect(200);
    let block: Value =
        serde_json::from_str(collected["contexts"]["knowledge__context"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&block["title"], block["chunks"].as_array().unwrap().len()),
        (&json!("Knowledge Context"), 1)
    );
    assert_eq!(block["chunks"][0]["chunk_id"], found[0]["card_id"]);
    assert!(
        api.collect("s", json!({ "query": " " })).await.expect(200)["contexts"]
            .get("knowledge__context")
            .is_none()
    );
}

async fn kn_03_no_chunk_is_shown_in_part(api: Api) {
    let text = |word: &str, chars: usize| {
        format!("{word} {}", "ab ".repeat(chars / 3))[..chars].trim_end().to_owned()
    };
    api.document("a.md", &text("boat boat boat", 1500)).await;
    api.document("b.md", &text("boat", 1000)).await;
    let collected = api.collect("s", json!({ "query": "boat" })).await.expect(200);
    assert_eq!(collected["knowledge_refs"].as_array().unwrap().len(), 1, "2,500 of 2,400 characters");
    api.settle(json!({ "knowledge": { "max_tokens": 1_300 } })).await;
    let collected = api.collect("s", json!({ "query": "boat" })).await.expect(200);
    assert_eq!(collected["knowledge_refs"].as_array().unwrap().len(), 2);
}

async fn kn_02_what_fits_less_well_than_asked_for_is_not_found(api: Api) {
    api.document("a.md", "boat boat boat").await;
    api.document("b.md", "One boat, and much else besides that is said here of other things.").await;
    let at_least = async |score: f64| {
        let path = format!("/projects/p1/knowledge:search?query=boat&score_threshold={score}");
        api.get(&path).await.expect(200)["items"].as_array().unwrap().len()
    };
    let found = search(&api, "boat").await;
    let score = |n: usize| found[n]["score"].as_f64().unwrap();
    assert!(score(0) > score(1));
    assert_eq!((at_least(score(1)).await, at_least(score(0)).await), (2, 1));
    assert_eq!(at_least(score(0) + 1.0).await, 0);
    for wrong in ["much", "NaN"] {
        let path = format!("/projects/p1/knowledge:search?query=boat&score_threshold={wrong}");
        let answer = api.get(&path).await;
        answer.expect_error(400, "bad_request");
        assert_eq!(answer.expect(400)["error"]["detail"]["field"], "score_threshold");
    }
}

async fn kn_04_namespaces_share_nothing(api: Api) {
    let put = async |namespace: &str, text: &str| {
        let body = json!({ "namespace": namespace, "source_id": "a.md", "text": text });
        let taken = api.post("/projects/p1/knowledge", body).await.expect(201);
        assert_eq!(taken["namespace"], namespace);
    };
    put("red", "a red boat").await;
    put("blue", "a blue boat").await;
    for (namespace, text) in [("red", "a red boat"), ("blue", "a blue boat")] {
        let found = api
            .get(&format!("/projects/p1/knowledge:search?query=boat&namespace={namespace}"))
            .await
            .expect(200);
        assert_eq!(
            (found["items"].as_array().unwrap().len(), &found["items"][0]["content"]),
            (1, &json!(text))
        );
        let path = format!("/projects/p1/sessions/s/context:collect?namespace={namespace}");
        let collected = api.post(&path, json!({ "query": "boat" })).await.expect(200);
        let block = collected["contexts"]["knowledge__context"].as_str().unwrap();
        assert!(block.ends_with(text) && block.matches("### Chunk").count() == 1, "{block}");
    }
    assert!(search(&api, "boat").await.is_empty());
    api.delete("/projects/p1/knowledge?source_id=a.md&namespace=red").await.expect(204);
    let listed = |namespace: &str| format!("knowledge?namespace={namespace}");
    assert_eq!((api.items(&listed("red")).await.len(), api.items(&listed("blue")).await.len()), (0, 1));
}

async fn kn_04_texts_of_any_script_are_found(api: Api) {
    api.document("zh.md", "# 数据库\n\n事务日志保证数据不会丢失。").await;
    api.document("de.md", "Die Größe des Schiffes zählt.").await;
    // 事务 (transaction), 数据 (data), größe
    for (query, source) in [
        ("%E4%BA%8B%E5%8A%A1", "zh.md"),
        ("%E6%95%B0%E6%8D%AE", "zh.md"),
        ("GR%C3%96SSE%20gr%C3%B6%C3%9Fe", "de.md"),
    ] {
        assert_eq!(sources(&search(&api, query).await), [source], "{query}");
    }
    // 火车 (train)
    assert!(search(&api, "%E7%81%AB%E8%BD%A6").await.is_empty());
}

async fn bad_documents_and_searches_are_refused(api: Api) {
    let before = api.everything().await;
    for (body, field) in [
        (json!({ "text": "x" }), "source_id"),
        (json!({ "source_id": "a" }), "text"),
        (json!({ "source_id": " ", "text": "x" }), "source_id"),
        (json!({ "source_id": "a\nb", "text": "x" }), "source_id"),
        (json!({ "source_id": "s".repeat(513), "text": "x" }), "source_id"),
        (json!({ "source_id": "a", "text": 7 }), "text"),
        (json!({ "source_id": "a", "text": "a\u{0}" }), "text"),
        (json!({ "source_id": "a", "text": "x", "title": "t".repeat(513) }), "title"),
        (json!({ "source_id": "a", "text": "x", "namespace": "a b" }), "namespace"),
        (json!({ "source_id": "a", "text": "x", "sections": [] }), "sections"),
    ] {
        names(&api.post("/projects/p1/knowledge", body).await, "bad_request", field);
    }
    for (path, field) in [
        ("knowledge:search", "query"),
        ("knowledge:search?query=x&method=magic", "method"),
        ("knowledge:search?query=x&method=semantic", "method"),
        ("knowledge:search?query=x&limit=many", "limit"),
        ("knowledge:search?query=x&namespace=a.b", "namespace"),
        ("knowledge?namespace=a.b", "namespace"),
        ("knowledge?cursor=%00", "cursor"),
        ("knowledge?query=x", "query"),
    ] {
        names(&api.get(&format!("/projects/p1/{path}")).await, "bad_request", field);
    }
    for (query, field) in
        [("", "source_id"), ("?source_id=%00", "source_id"), ("?source_id=a&namespace=*", "namespace")]
    {
        names(&api.delete(&format!("/projects/p1/knowledge{query}")).await, "bad_request", field);
    }
    assert_eq!(api.everything().await, before, "nothing was written");
}
