//! A server that speaks TLS itself (SEC-01).

use crate::support::{Backend, Home};
use serde_json::json;
use std::{fs, path::PathBuf, sync::Arc};

fn certificate(home: &Arc<Home>, name: &str) -> (String, String) {
    let made = rcgen::generate_simple_self_signed(vec!["cards.example".to_owned()]).unwrap();
    let write = |suffix: &str, pem: String| {
        let path: PathBuf = home.root().join(format!("{name}.{suffix}"));
        fs::write(&path, pem).unwrap();
        path.to_str().unwrap().to_owned()
    };
    (write("crt", made.cert.pem()), write("key", made.signing_key.serialize_pem()))
}

/// SEC-01
#[test]
fn with_a_certificate_a_server_may_be_reached_from_elsewhere() {
    let home = Home::new(Backend::Sqlite);
    let (cert, key) = certificate(&home, "server");
    let server = home.up(&["--listen", "0.0.0.0:0", "--tls-cert", &cert, "--tls-key", &key]);
    assert!(server.url.starts_with("https://0.0.0.0:"), "{}", server.url);
    // The command finds the server's own certificate in the data directory, whatever name it is made for.
    assert_eq!(home.json(&["project", "create", "p1"])["project_id"], json!("p1"));
    let port = server.url.rsplit_once(':').unwrap().1;
    let stranger = home.cardwire(&["project", "list", "--server", &format!("https://127.0.0.1:{port}")]);
    stranger.failed(1, "cannot reach");
    assert_eq!(server.terminate().code(), Some(0));
}

#[test]
fn a_key_that_does_not_fit_is_refused() {
    let home = Home::new(Backend::Sqlite);
    let ((cert, _), (_, key)) = (certificate(&home, "one"), certificate(&home, "two"));
    let run = home.cardwire(&["up", "--listen", "127.0.0.1:0", "--tls-cert", &cert, "--tls-key", &key]);
    run.failed(1, "cannot speak TLS");
    assert!(!home.server_file().exists());
    assert_eq!(home.cardwire(&["up", "--tls-cert", &cert]).code, 2);
}
