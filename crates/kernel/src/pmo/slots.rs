//! How many calls are worked on at once, and how many may wait (PM-17). Whoever finds the queue full is told so: nothing is
//! dropped in silence.

use crate::KernelError;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{Semaphore, SemaphorePermit};

/// How the service works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PmoConfig {
    /// Calls worked on at once; at least 1.
    pub max_concurrency: usize,
    /// Calls that may wait; 0 means any number.
    pub queue_maxsize: usize,
}

impl Default for PmoConfig {
    fn default() -> Self {
        Self { max_concurrency: 8, queue_maxsize: 10_000 }
    }
}

/// The places to work at.
pub(crate) struct Slots {
    places: Semaphore,
    waiting: AtomicUsize,
    queue_maxsize: usize,
}

impl Slots {
    pub(crate) fn new(config: &PmoConfig) -> Self {
        Self {
            places: Semaphore::new(config.max_concurrency.clamp(1, Semaphore::MAX_PERMITS)),
            waiting: AtomicUsize::new(0),
            queue_maxsize: config.queue_maxsize,
        }
    }

    /// How many calls wait for a place.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }

    /// Waits for a place, first come first served.
    pub(crate) async fn enter(&self) -> Result<SemaphorePermit<'_>, KernelError> {
        if let Ok(place) = self.places.try_acquire() {
            return Ok(place);
        }
        let waiting = Waiting::count(&self.waiting);
        if self.queue_maxsize > 0 && waiting.number > self.queue_maxsize {
            metrics::counter!("cardwire_pmo_refused_total").increment(1);
            return Err(KernelError::QueueFull(self.queue_maxsize));
        }
        // The semaphore is never closed.
        self.places.acquire().await.map_err(|_| KernelError::QueueFull(self.queue_maxsize))
    }
}

/// One that waits; also when it goes away unserved.
struct Waiting<'a> {
    count: &'a AtomicUsize,
    number: usize,
}

impl<'a> Waiting<'a> {
    fn count(count: &'a AtomicUsize) -> Self {
        Self { count, number: count.fetch_add(1, Ordering::SeqCst) + 1 }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        future::Future,
        pin::pin,
        task::{Context, Poll, Waker},
    };

    fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn pm_17_four_work_at_once_and_the_fifth_waits() {
        let slots = Slots::new(&PmoConfig { max_concurrency: 4, queue_maxsize: 1 });
        let working: Vec<_> = (0..4).map(|_| pin_ready(&slots)).collect();
        let mut fifth = pin!(slots.enter());
        assert!(poll(fifth.as_mut()).is_pending());
        // One more than may wait is told so, and what waits keeps its place.
        let mut sixth = pin!(slots.enter());
        assert!(matches!(poll(sixth.as_mut()), Poll::Ready(Err(KernelError::QueueFull(1)))));
        drop(working);
        assert!(matches!(poll(fifth.as_mut()), Poll::Ready(Ok(_))));
    }

    #[test]
    fn pm_17_one_that_goes_away_leaves_its_place_in_the_queue() {
        let slots = Slots::new(&PmoConfig { max_concurrency: 1, queue_maxsize: 1 });
        let _working = pin_ready(&slots);
        {
            let mut gone = pin!(slots.enter());
            assert!(poll(gone.as_mut()).is_pending());
        }
        let mut next = pin!(slots.enter());
        assert!(poll(next.as_mut()).is_pending());
    }

    fn pin_ready(slots: &Slots) -> SemaphorePermit<'_> {
        match poll(pin!(slots.enter())) {
            Poll::Ready(Ok(place)) => place,
            Poll::Ready(Err(_)) | Poll::Pending => panic!("there is a place"),
        }
    }
}
