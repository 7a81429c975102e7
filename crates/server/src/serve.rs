//! Serves connections until told to stop. Whatever clients do, a connection costs a bounded time and a bounded room before
//! its client is known, and a stop ends.
//!
//! A connection without a request is closed after a while, and earlier if its place is needed ([`guests`]); a client that
//! does not read its answer is given up ([`watched`]). Nothing here is generic: HTTP over a connection is a lot of code,
//! which is compiled here once for every kind of connection.

mod guests;
mod watched;

use crate::{
    seldom::Seldom,
    tls::{self, TlsError},
};
use axum::{
    Router,
    body::{Body, Bytes},
    extract::Request,
    response::Response,
};
use cardwire_kernel::{
    Kernel,
    spawn::{Crowd, Stop},
};
use cardwire_model::limits;
use futures_util::future::BoxFuture;
use guests::{Busy, Guest, Guests};
use hyper::{
    body::{Frame, Incoming, SizeHint},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use std::{
    convert::Infallible,
    io,
    net::{IpAddr, SocketAddr},
    path::Path,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;
use watched::{Connection, Watched};

pub use guests::Room;

const FIRST_REQUEST: Duration = Duration::from_secs(limits::FIRST_REQUEST_SECONDS);
const IDLE: Duration = Duration::from_secs(limits::IDLE_CONNECTION_SECONDS);
const STOP_REQUESTS: Duration = Duration::from_secs(limits::STOP_REQUESTS_SECONDS);
/// How long a connection without a request may take to say goodbye.
const GOODBYE: Duration = Duration::from_millis(500);
/// Pause after the system could not accept a connection.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// Where a request came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// Where connections come from, and how many there may be.
pub struct Listening {
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    room: Room,
}

impl Listening {
    /// Connections as they are.
    pub fn plain(listener: TcpListener, room: Room) -> Self {
        Self { listener, tls: None, room }
    }

    /// Connections with TLS, by a certificate chain and its key (PEM files).
    pub fn tls(listener: TcpListener, room: Room, cert: &Path, key: &Path) -> Result<Self, TlsError> {
        Ok(Self { listener, tls: Some(tls::acceptor(cert, key)?), room })
    }
}

/// Serves the router until `stop` completes, and then as long as requests under way may take.
pub fn serve(
    listening: Listening,
    router: Router,
    kernel: Arc<Kernel>,
    stop: BoxFuture<'static, ()>,
) -> BoxFuture<'static, io::Result<()>> {
    Box::pin(async move {
        let crowd = accept_until(listening, router, &kernel, stop).await;
        // Event streams and connections without a request end now.
        kernel.tasks().begin_shutdown();
        let ended = crowd.end_within(STOP_REQUESTS).await;
        if ended > 0 {
            tracing::warn!(connections = ended, "stopped before every request was answered");
        }
        Ok(())
    })
}

async fn accept_until(
    Listening { listener, tls, room }: Listening,
    router: Router,
    kernel: &Kernel,
    mut stop: BoxFuture<'static, ()>,
) -> Crowd {
    let (mut crowd, guests) = (Crowd::default(), Arc::new(Guests::new(room)));
    let mut warnings = Seldom::default();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => return crowd,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                warnings.tell(kernel.now(), || tracing::warn!(%error, "could not accept a connection"));
                // It may be that the process has no files left.
                guests.close_oldest();
                tokio::time::sleep(ACCEPT_AGAIN).await;
                continue;
            }
        };
        let Some(guest) = guests.admit(peer(address)) else {
            warnings.tell(kernel.now(), || {
                let open = guests.count();
                tracing::warn!(%address, open, "refused a connection: too many have a request under way");
            });
            continue;
        };
        if guests.is_full() {
            warnings.tell(kernel.now(), || {
                let open = guests.count();
                tracing::warn!(%address, open, "too many connections: the oldest without a request are closed");
            });
        }
        let served = connection(stream, tls.clone(), guest, router.clone(), kernel.tasks().stop());
        crowd.spawn("a connection", served);
    }
}

/// The address that bounds are counted by. A machine that speaks IPv6 has a network of addresses, so that its network counts.
fn peer(address: SocketAddr) -> IpAddr {
    match address.ip().to_canonical() {
        IpAddr::V6(ip) => IpAddr::V6((ip.to_bits() >> 64 << 64).into()),
        ip @ IpAddr::V4(_) => ip,
    }
}

async fn connection(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    guest: Arc<Guest>,
    router: Router,
    mut stop: Stop,
) {
    let _ = stream.set_nodelay(true);
    let shaken = tokio::select! {
        shaken = tokio::time::timeout(FIRST_REQUEST, shake_hands(stream, tls)) => shaken,
        () = guest.told_to_leave() => return,
        () = stop.stopped() => return,
    };
    match shaken {
        Ok(Ok((stream, speech))) => {
            speak(Watched::new(stream, Arc::clone(&guest)), speech, &guest, router, stop).await;
        }
        Ok(Err(error)) => tracing::debug!(%error, "a connection ended before it began"),
        Err(_) => tracing::debug!("a connection said nothing for too long"),
    }
}

/// What may be spoken on a connection.
#[derive(Clone, Copy)]
enum Speech {
    Http1,
    /// HTTP/1 or HTTP/2, which its first bytes will tell.
    Either,
}

async fn shake_hands(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
) -> io::Result<(Box<dyn Connection>, Speech)> {
    if let Some(tls) = tls {
        return Ok((Box::new(tls.accept(stream).await?), Speech::Either));
    }
    // Looking whether it is HTTP/2 makes hyper keep twice the room for reading as long as the connection lasts, so we look
    // first: HTTP/2 begins with `PRI`, and no method of HTTP/1 with `PR` is served here but `PROPFIND` and the like.
    let mut first = [0; 2];
    let seen = stream.peek(&mut first).await?;
    let speech = if b"PR".starts_with(&first[..seen]) { Speech::Either } else { Speech::Http1 };
    Ok((Box::new(stream), speech))
}

/// Polls a conversation until it ends by itself or has to.
macro_rules! converse {
    ($conversation:expr, $guest:ident, $stop:ident) => {{
        let mut conversation = Box::pin($conversation);
        let end = tokio::select! {
            _ = conversation.as_mut() => End::Now,
            end = time_to_end($guest, $stop) => end,
        };
        if let End::Kindly = end {
            conversation.as_mut().graceful_shutdown();
            tokio::select! {
                _ = conversation.as_mut() => {}
                () = goodbye($guest) => {}
            }
        }
    }};
}

/// Speaks HTTP until the client leaves, its time is up, its place is needed or the server stops.
async fn speak(stream: Watched, speech: Speech, guest: &Arc<Guest>, router: Router, stop: Stop) {
    // In a box, which is given back with the answer: hyper keeps a place for it as long as the connection lasts.
    let service = service_fn(|request| Box::pin(answer(request, guest.begin(), router.clone())));
    let stream = TokioIo::new(stream);
    match speech {
        Speech::Http1 => converse!(http1::Builder::new().serve_connection(stream, service), guest, stop),
        Speech::Either => {
            let builder = auto::Builder::new(TokioExecutor::new());
            converse!(builder.serve_connection(stream, service), guest, stop);
        }
    }
}

/// How a connection ends that does not end by itself.
enum End {
    Now,
    /// What is under way is answered.
    Kindly,
}

async fn time_to_end(guest: &Guest, mut stop: Stop) -> End {
    loop {
        let (moves, patience) = (guest.moves(), if guest.moves() == 0 { FIRST_REQUEST } else { IDLE });
        tokio::select! {
            () = guest.told_to_leave() => return End::Now,
            () = stop.stopped() => return End::Kindly,
            () = tokio::time::sleep(patience) => {
                if guest.is_idle() && guest.moves() == moves {
                    return End::Kindly;
                }
            }
        }
    }
}

/// Completes when nothing has happened for a moment and nothing is under way.
async fn goodbye(guest: &Guest) {
    loop {
        let moves = guest.moves();
        tokio::time::sleep(GOODBYE).await;
        if guest.is_idle() && guest.moves() == moves {
            return;
        }
    }
}

async fn answer(
    mut request: hyper::Request<Incoming>,
    busy: Busy,
    router: Router,
) -> Result<Response<Answered>, Infallible> {
    request.extensions_mut().insert(Peer(busy.address()));
    let request: Request = request.map(Body::new);
    let Ok(response) = router.oneshot(request).await;
    Ok(response.map(|body| Answered { body, _busy: busy }))
}

/// The body of an answer; the request is under way until it was sent.
struct Answered {
    body: Body,
    _busy: Busy,
}

impl hyper::body::Body for Answered {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests;
