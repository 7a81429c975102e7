//! What is stored grows with what is new (NF-12), and every request of the past can be rendered again (RP-02).

use super::draft;
use crate::desk::Desk;
use cardwire_kernel::ContextConfig;
use cardwire_store::Catalog;
use cardwire_store_sqlite::SqliteStore;
use cardwire_testkit::{ReferenceStore, scaled};
use serde_json::json;
use std::sync::Arc;

const TURNS: u64 = 400;
const RESULT_BYTES: usize = 50_000;
/// Words: a text without any takes many times as long to count.
const RESULT: &str = "what a tool said ";
/// A request takes the last few results and no more.
const WINDOW: u32 = 60_000;

/// Bytes of all cards of the project.
async fn stored(store: &SqliteStore, desk: &Desk) -> usize {
    let (mut after, mut bytes) = (None, 0);
    loop {
        let page = store.scan_cards(&desk.project, after, 500).await.unwrap();
        bytes += page.iter().map(cardwire_model::Card::size).sum::<usize>();
        match page.last() {
            Some(last) if page.len() == 500 => after = Some(last.id),
            _ => return bytes,
        }
    }
}

/// Many turns of one agent that keeps its output box, each with a tool result of 50 kB and a call that shows what fits.
#[tokio::test]
async fn nf_12_storage_grows_by_what_is_new_and_any_past_request_renders_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(&folder.path().join("growth.db")).unwrap());
    let unused = Arc::new(ReferenceStore::new());
    let desk = Desk::on(Arc::clone(&store) as _, unused, &["a"], ContextConfig::default()).await;
    let (mut calls, mut sizes, mut output) = (vec![], vec![], None);
    let turns = scaled(TURNS);
    for turn in 0..turns {
        let context = desk.instruction(&format!("turn {turn:05}")).await;
        let receipt = desk.dispatch_with("a", context, output, r#"{"session_id":"s"}"#).await;
        output = Some(receipt.output_box);
        let lease = desk.claim().await.pop().unwrap();
        let result = format!("{turn:05} {}", RESULT.repeat(RESULT_BYTES / RESULT.len()));
        let cards = vec![
            draft("tool.call", &json!({ "tool_name": "read", "arguments": {} }), Some("c")),
            draft("tool.result", &json!({ "status": "success", "result": result }), Some("c")),
        ];
        desk.write(&lease, cards).await;
        let call = desk.call(&lease, Some(WINDOW)).await.unwrap();
        assert!(call.manifest.total_tokens <= WINDOW);
        if turn % (turns / 20) == turns / 20 - 1 {
            calls.push((call.call_id, call.body));
        }
        if turn % (turns / 4) == turns / 4 - 1 {
            sizes.push(stored(&store, &desk).await);
        }
        desk.finish(&lease).await;
    }
    let growth: Vec<usize> = sizes.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let (early, late) = (growth[0], growth[growth.len() - 1]);
    assert!(late <= early + early / 50, "a quarter of the turns wrote {early} bytes early and {late} late");
    for (call_id, body) in calls {
        let rendered = desk.kernel.render_call(&desk.project, call_id).await.unwrap();
        assert!(rendered.hash_ok && rendered.body.as_deref() == Some(body.as_str()));
    }
}
