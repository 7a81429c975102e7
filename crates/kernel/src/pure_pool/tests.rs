//! Turns, bounds, and ends of jobs.

use super::*;
use std::{
    future::Future,
    pin::pin,
    sync::mpsc,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

fn project(name: &str) -> Option<ProjectId> {
    Some(name.parse().unwrap())
}

/// Takes the only place until it is told.
fn occupied(pool: &PurePool) -> (mpsc::Sender<()>, impl Future<Output = Result<(), KernelError>>) {
    let (go, told) = mpsc::channel();
    let (began, begun) = mpsc::channel();
    let pool = pool.clone();
    let mut job = Box::pin(async move {
        let work = move |_: &CancelFlag| {
            began.send(()).unwrap();
            told.recv().unwrap();
        };
        pool.run(None, work).await
    });
    assert!(poll(job.as_mut()).is_pending());
    begun.recv_timeout(Duration::from_secs(10)).unwrap();
    (go, job)
}

fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// F-45
#[tokio::test]
async fn projects_take_turns_however_many_jobs_one_of_them_has() {
    let pool = PurePool::default();
    let (go, first) = occupied(&pool);
    let order = Arc::new(Mutex::new(vec![]));
    let jobs: Vec<_> = ["a", "a", "a", "a", "b", "c", "b"]
        .into_iter()
        .map(|name| {
            let (pool, order) = (pool.clone(), Arc::clone(&order));
            let mut job = Box::pin(async move {
                pool.run(project(name), move |_| order.lock().unwrap().push(name)).await.unwrap();
            });
            assert!(poll(job.as_mut()).is_pending());
            job
        })
        .collect();
    go.send(()).unwrap();
    first.await.unwrap();
    futures_util::future::join_all(jobs).await;
    assert_eq!(*order.lock().unwrap(), ["a", "b", "c", "a", "b", "a", "a"]);
    let queues = pool.queues();
    assert!(queues.waiting.is_empty() && queues.turns.is_empty());
}

/// F-45, SEC-07
#[tokio::test]
async fn a_project_has_so_many_jobs_waiting_and_others_are_not_refused_for_it() {
    let pool = PurePool::default();
    let (go, first) = occupied(&pool);
    let wait = |name: &'static str| {
        let pool = pool.clone();
        Box::pin(async move { pool.run(project(name), |_| ()).await })
    };
    let mut jobs: Vec<_> = (0..limits::WAITING_JOBS).map(|_| wait("a")).collect();
    for job in &mut jobs {
        assert!(poll(job.as_mut()).is_pending());
    }
    let refused = wait("a").await;
    assert!(matches!(refused, Err(KernelError::Crowded(limits::WAITING_JOBS))), "{refused:?}");
    let mut other = wait("b");
    assert!(poll(other.as_mut()).is_pending());
    // Who goes away leaves his place to another.
    jobs.pop();
    let mut another = wait("a");
    assert!(poll(another.as_mut()).is_pending());
    go.send(()).unwrap();
    first.await.unwrap();
    other.await.unwrap();
    another.await.unwrap();
    assert!(futures_util::future::join_all(jobs).await.iter().all(Result::is_ok));
}

/// F-45
#[tokio::test]
async fn a_job_that_nobody_waits_for_does_not_begin_and_one_that_has_begun_is_told() {
    let pool = PurePool::default();
    let (told, heard) = mpsc::channel();
    {
        let (began, begun) = mpsc::channel();
        let mut running = pin!(pool.run(project("a"), move |cancel| {
            began.send(()).unwrap();
            let until = Instant::now() + Duration::from_secs(10);
            while !cancel.is_set() && Instant::now() < until {
                std::thread::yield_now();
            }
            told.send(cancel.is_set()).unwrap();
        }));
        assert!(poll(running.as_mut()).is_pending());
        begun.recv_timeout(Duration::from_secs(10)).unwrap();
        let mut waiting = pin!(pool.run(project("a"), |_| panic!("it began")));
        assert!(poll(waiting.as_mut()).is_pending());
    }
    assert!(heard.recv_timeout(Duration::from_secs(20)).unwrap(), "the one that runs was told");
    pool.run(project("a"), |_| ()).await.unwrap();
}

#[tokio::test]
async fn a_panic_is_one_of_whoever_waits_and_takes_nobody_with_it() {
    let pool = PurePool::default();
    let panicked = AssertUnwindSafe(pool.run(None, |_| -> () { panic!("content") }));
    assert!(futures_util::FutureExt::catch_unwind(panicked).await.is_err());
    assert_eq!(pool.run(None, |_| 7).await.unwrap(), 7);
}

/// F-45
#[tokio::test]
async fn what_is_short_is_done_at_once_and_what_is_long_is_not() {
    let kernel = Kernel::idle(crate::KernelConfig::new(Arc::new(cardwire_testkit::ReferenceStore::new())));
    let thread = |_: &CancelFlag| std::thread::current().id();
    let here = std::thread::current().id();
    assert_eq!(kernel.compute(None, limits::AT_ONCE_BYTES, thread).await.unwrap(), here);
    assert_ne!(kernel.compute(None, limits::AT_ONCE_BYTES + 1, thread).await.unwrap(), here);
}
