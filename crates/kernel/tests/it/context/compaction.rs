//! Compaction with a summariser: proactive, cumulative, and without effect when it fails (CP-01..CP-07).

use super::{append, key, message, sent};
use crate::desk::{Desk, caller};
use async_trait::async_trait;
use cardwire_kernel::{
    CompactRequest, Compacted, ContextConfig, Summariser, SummaryAnswer, SummaryRequest,
    protocol::project::update::UpdateProject,
};
use cardwire_model::Speaker;
use serde_json::json;
use std::sync::{Arc, Mutex};

/// Answers what it was told to, and remembers what it was asked.
#[derive(Default)]
struct Scripted {
    answers: Mutex<Vec<Result<SummaryAnswer, String>>>,
    asked: Mutex<Vec<String>>,
}

#[async_trait]
impl Summariser for Scripted {
    async fn summarise(&self, request: &SummaryRequest) -> Result<SummaryAnswer, String> {
        self.asked.lock().unwrap().push(request.prompt.clone());
        let mut answers = self.answers.lock().unwrap();
        if answers.is_empty() { Err("nothing to say".to_owned()) } else { answers.remove(0) }
    }
}

fn says(text: &str, tool_calls: bool) -> Result<SummaryAnswer, String> {
    Ok(SummaryAnswer { text: text.to_owned(), tool_calls })
}

async fn desk(answers: Vec<Result<SummaryAnswer, String>>) -> (Desk, Arc<Scripted>) {
    let scripted = Arc::new(Scripted { answers: Mutex::new(answers), ..Scripted::default() });
    let context = ContextConfig { summariser: Some(Arc::clone(&scripted) as _), ..ContextConfig::default() };
    (Desk::with(&["a"], context).await, scripted)
}

async fn talk(desk: &Desk, from: usize, rounds: usize) {
    let mut messages = vec![];
    for n in from..from + rounds {
        messages.push(message(&format!("h{n}"), Speaker::Human, &format!("question {n}")));
        messages.push(message(&format!("a{n}"), Speaker::Ai, &format!("answer {n} {}", "long ".repeat(50))));
    }
    desk.patch("s", &append(messages)).await;
}

async fn compact(desk: &Desk) -> Compacted {
    let request = CompactRequest::default();
    let done = desk.kernel.compact_session(&desk.project, &caller(), &key("s"), &request, None).await;
    done.unwrap().fresh().unwrap()
}

/// CP-02, CP-05, CP-07
#[tokio::test]
async fn cp_05_a_second_summary_is_made_of_the_first_and_no_person_is_lost() {
    let (desk, scripted) = desk(vec![says("first summary", false), says("second summary", false)]).await;
    talk(&desk, 0, 10).await;
    assert!(matches!(compact(&desk).await, Compacted::Done { covered: 7, .. }));
    talk(&desk, 10, 5).await;
    assert!(matches!(compact(&desk).await, Compacted::Done { .. }));
    let asked = scripted.asked.lock().unwrap().clone();
    assert!(asked[1].contains("first summary") && asked[0].contains("answer 0"));
    let view = desk.session("s").await;
    assert_eq!(view.summary.as_deref(), Some("second summary"));
    let texts = desk.texts("s").await;
    for n in 0..15 {
        assert_eq!(texts.iter().filter(|text| **text == format!("question {n}")).count(), 1);
    }
    assert!(!texts.iter().any(|text| text.contains("summary")), "CP-04: never as a message");
    // Both layers of what was covered can be opened again.
    let summary = view.checkpoint.summary.unwrap();
    let (text, cards) = desk.kernel.expand_summary(&desk.project, summary).await.unwrap();
    let covered: Vec<_> = cards.iter().filter_map(|card| card.content.to_text()).collect();
    assert_eq!(text, "second summary");
    assert!(covered[0].starts_with("answer 0") && covered.iter().any(|text| text.starts_with("answer 11")));
    assert!(matches!(compact(&desk).await, Compacted::Nothing(_)));
}

/// CP-06
#[tokio::test]
async fn cp_06_no_summary_changes_nothing() {
    let answers = vec![Err("overloaded".to_owned()), says("  ", false), says("do it", true)];
    let (desk, _) = desk(answers).await;
    talk(&desk, 0, 10).await;
    let before = desk.session("s").await;
    for _ in 0..3 {
        assert!(matches!(compact(&desk).await, Compacted::Failed { .. }));
    }
    let after = desk.session("s").await;
    assert_eq!((after.session, after.checkpoint), (before.session, before.checkpoint));
}

/// CP-01: before a request would be too long, its session is compacted, once.
#[tokio::test]
async fn cp_01_a_long_session_is_compacted_before_the_call() {
    let (desk, scripted) = desk(vec![says("in short", false)]).await;
    let settings = json!({ "context": { "compact_threshold": 500 } });
    let command = UpdateProject { id: desk.project.clone(), title: None, settings: Some(settings) };
    desk.kernel.update_project(&caller(), &command).await.unwrap();
    talk(&desk, 0, 10).await;
    let lease = desk.turn_of("a", "s", "Go on").await;
    let call = desk.call(&lease, None).await.unwrap();
    assert_eq!(scripted.asked.lock().unwrap().len(), 1);
    let sent = sent(&call);
    assert!(sent.iter().any(|(role, text)| role == "system" && text == "in short"));
    assert!(!sent.iter().any(|(_, text)| text.starts_with("answer 0")));
    assert!(sent.iter().any(|(_, text)| text == "question 0"));
    // The summariser has nothing more to say: the call is made all the same.
    let again = desk.call(&lease, None).await.unwrap();
    assert_eq!(again.body, call.body);
    desk.finish(&lease).await;
    assert_eq!(desk.session("s").await.summary.as_deref(), Some("in short"));
}
