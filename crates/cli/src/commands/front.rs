//! A router on a socket: announced, served while something else goes on, and ended in order.

use super::egress::Reach;
use crate::{
    client::{Embedded, Place},
    failure::Failure,
    open_files,
    presence::Presence,
    signals::Signals,
};
use axum::Router;
use cardwire_kernel::Kernel;
use cardwire_server::{Listening, Room};
use futures_util::future::BoxFuture;
use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};
use tokio::{net::TcpListener, sync::oneshot};

/// A server that commands find. Connections wait in the listener's queue until they are served, so its address is good before
/// that.
pub(super) struct Front<'a> {
    presence: &'a Presence,
    url: String,
    serving: BoxFuture<'static, io::Result<()>>,
    stop: oneshot::Sender<()>,
}

impl<'a> Front<'a> {
    pub(super) fn open(
        presence: &'a Presence,
        place: Place,
        reach: Reach,
        listening: Listening,
        router: Router,
        kernel: &Arc<Kernel>,
    ) -> Result<Self, Failure> {
        let url = place.url.clone();
        presence.announce(place, reach == Reach::Network)?;
        let (stop, stopped) = oneshot::channel();
        let until = Box::pin(async { drop(stopped.await) });
        let serving = cardwire_server::serve(listening, router, Arc::clone(kernel), until);
        Ok(Self { presence, url, serving, stop })
    }

    /// On a free port that only programs of this machine reach.
    pub(super) async fn on_this_machine(presence: &'a Presence, inside: &Embedded) -> Result<Self, Failure> {
        let failed = |error| Failure::failed(format!("cannot listen on this machine: {error}"));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(failed)?;
        let place =
            Place { url: address_of("http", listener.local_addr().map_err(failed)?), certificate: None };
        let listening = Listening::plain(listener, Room::within(open_files::raise()));
        let (kernel, ..) = inside.inside();
        Self::open(presence, place, Reach::Local, listening, inside.router().clone(), kernel)
    }

    /// Where commands on this machine reach it.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Serves until something else is done.
    pub(super) async fn during<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Failure> {
        tokio::select! {
            outcome = &mut self.serving => {
                let why = outcome.map_or_else(|error| error.to_string(), |()| "it ended by itself".to_owned());
                Err(Failure::failed(format!("the server failed: {why}")))
            }
            done = work => Ok(done),
        }
    }

    /// Ends in order: nobody is sent here any more, and requests under way are answered.
    pub(super) async fn close(self, signals: &mut Signals) -> Result<(), Failure> {
        self.presence.withdraw();
        let _ = self.stop.send(());
        tokio::select! {
            outcome = self.serving => outcome.map_err(|error| Failure::failed(format!("the server failed: {error}"))),
            () = signals.next() => Err(Failure::failed("stopped before every request was answered")
                .hint("what was committed is kept; whoever had no answer may ask again")),
        }
    }
}

/// Where commands on this machine reach a server that may listen on every address.
pub(super) fn address_of(scheme: &str, address: SocketAddr) -> String {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip @ (IpAddr::V4(_) | IpAddr::V6(_)) => ip,
    };
    format!("{scheme}://{}", SocketAddr::new(ip, address.port()))
}
