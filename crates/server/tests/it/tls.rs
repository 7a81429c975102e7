//! TLS end to end: a real socket, a real handshake.

use crate::support::{Api, Backend};
use cardwire_server::{Listening, Room, serve};
use std::sync::Arc;
use tokio::{net::TcpListener, sync::oneshot};

/// SEC-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_speaks_tls_and_a_client_without_the_certificate_gets_nothing() {
    let api = Api::start(Backend::Sqlite).await;
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let files = tempfile::tempdir().unwrap();
    let (cert, key) = (files.path().join("cert.pem"), files.path().join("key.pem"));
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();

    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = socket.local_addr().unwrap().port();
    let room = Room::within(64);
    let listening = Listening::tls(socket, room, &cert, &key).unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let until = Box::pin(async { drop(stopped.await) });
    let server = serve(listening, api.router.clone(), Arc::clone(&api.kernel), until);
    let client = async {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let trusted = reqwest::Certificate::from_pem(made.cert.pem().as_bytes()).unwrap();
        let url = format!("https://localhost:{port}/health");
        let with = reqwest::Client::builder().tls_certs_only([trusted]).build().unwrap();
        assert_eq!(with.get(&url).send().await.unwrap().status(), 200);
        let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let stranger = reqwest::Certificate::from_pem(other.cert.pem().as_bytes()).unwrap();
        let without = reqwest::Client::builder().tls_certs_only([stranger]).build().unwrap();
        assert!(without.get(&url).send().await.is_err());
        assert!(reqwest::get(format!("http://localhost:{port}/health")).await.is_err());
        drop(stop);
    };
    let (served, ()) = tokio::join!(server, client);
    served.unwrap();
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    assert!(Listening::tls(socket, room, &key, &cert).is_err());
}
