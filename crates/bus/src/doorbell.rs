//! Doorbells over core NATS: sent after the commit, heard by whoever waits for work (DP-11).

use crate::subjects;
use async_nats::{Client, HeaderMap};
use cardwire_kernel::{Kernel, doorbell::Ring, spawn::Stop};
use cardwire_model::{SpanId, TraceParent, trace::TRACEPARENT};
use futures_util::StreamExt;
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::sync::mpsc;

/// Pause before another attempt to subscribe.
const RETRY: Duration = Duration::from_secs(1);

/// Sends the rings of this process.
pub(crate) async fn send(client: Client, mut rings: mpsc::Receiver<Ring>, mut stop: Stop) {
    loop {
        let ring = tokio::select! {
            ring = rings.recv() => ring,
            () = stop.stopped() => return,
        };
        let Some(ring) = ring else { return };
        let subject = subjects::wakeup(&ring.project, &ring.channel, &ring.target);
        let body = json!({ "inbox_id": ring.inbox_id.to_string(), "reason": ring.reason });
        // While the bus is away the client keeps a few and then makes us wait; a ring is not worth that.
        let sent = client.publish_with_headers(subject, headers(&ring), body.to_string().into());
        tokio::select! {
            sent = sent => {
                if let Err(error) = sent {
                    lost();
                    tracing::debug!(%error, "a doorbell was not sent");
                }
            }
            () = tokio::time::sleep(RETRY) => {
                lost();
                tracing::debug!("a doorbell was not sent in time");
            }
            () = stop.stopped() => return,
        }
    }
}

/// Nobody elsewhere hears of it; the row is found by looking.
pub(crate) fn lost() {
    metrics::counter!("cardwire_doorbells_lost_total").increment(1);
}

/// The trace a ring belongs to, and the span of its turn.
fn headers(ring: &Ring) -> HeaderMap {
    let mut headers = HeaderMap::new();
    put_trace(&mut headers, ring.trace_id.as_deref(), SpanId::of(ring.turn_id.uuid()));
    headers
}

/// Names a trace and a span of it. A trace id that is not W3C's (callers may choose their own) is not
/// passed off as one.
pub(crate) fn put_trace(headers: &mut HeaderMap, trace_id: Option<&str>, span: Option<SpanId>) {
    let parent = trace_id.zip(span).and_then(|(trace, span)| TraceParent::new(trace, span));
    if let Some(parent) = parent {
        headers.insert(TRACEPARENT, parent.to_string());
    }
}

/// Wakes the workers that wait in this process.
pub(crate) async fn hear(client: Client, kernel: Arc<Kernel>, mut stop: Stop) {
    loop {
        let subscribed = tokio::select! {
            subscribed = client.subscribe(subjects::ALL_WAKEUPS) => subscribed,
            () = stop.stopped() => return,
        };
        match subscribed {
            Ok(mut wakeups) => loop {
                let message = tokio::select! {
                    message = wakeups.next() => message,
                    () = stop.stopped() => return,
                };
                let Some(message) = message else { break };
                // Whatever else a message says is not looked at: it could be anybody's.
                if let Some((project, target)) = subjects::doorbell(&message.subject) {
                    metrics::counter!("cardwire_doorbells_received_total").increment(1);
                    kernel.wake(&target);
                    kernel.heard_of(&project);
                }
            },
            Err(error) => tracing::warn!(%error, "cannot listen for doorbells"),
        }
        tokio::select! {
            () = tokio::time::sleep(RETRY) => {}
            () = stop.stopped() => return,
        }
    }
}
