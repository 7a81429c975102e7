//! What is told of tasks that panic, and which of them are begun again.

use super::*;
use std::sync::{Arc, atomic::AtomicUsize, atomic::Ordering};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

/// What was logged: the fields of each event, in one line.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.push_str(&format!(" {}={value:?}", field.name()));
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

const TOLD: &str = r#"ERROR message=a background task panicked task="one""#;

#[tokio::test]
async fn a_task_that_panics_is_told_of_at_once_and_without_what_it_said() {
    let log = Log::default();
    let _logging = tracing::subscriber::set_default(log.clone());
    let tasks = Tasks::default();
    tasks.spawn("one", |_| async { panic!("content") });
    tasks.spawn("two", |mut stop| async move { stop.stopped().await });
    // Both have their turn; the end of all is not waited for.
    tokio::task::yield_now().await;
    assert_eq!(log.lines(), [TOLD]);
    tasks.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_kept_is_begun_again_until_it_is_told_to_end() {
    let log = Log::default();
    let _logging = tracing::subscriber::set_default(log.clone());
    let (tasks, begun, third) =
        (Tasks::default(), Arc::new(AtomicUsize::new(0)), Arc::new(tokio::sync::Notify::new()));
    let (count, reached) = (Arc::clone(&begun), Arc::clone(&third));
    tasks.keep("one", move |mut stop| {
        let (time, reached) = (count.fetch_add(1, Ordering::SeqCst), Arc::clone(&reached));
        async move {
            assert!(time >= 2, "the first two times");
            reached.notify_one();
            stop.stopped().await;
        }
    });
    third.notified().await;
    tasks.shutdown().await;
    assert_eq!(begun.load(Ordering::SeqCst), 3);
    assert_eq!(log.lines(), [TOLD, TOLD]);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_always_panics_ends_when_told_to() {
    let tasks = Tasks::default();
    tasks.keep("one", |_| async { panic!("always") });
    let ended = tokio::time::timeout(AGAIN_AFTER / 2, tasks.shutdown()).await;
    assert!(ended.is_ok(), "it waits for the next time");
}
