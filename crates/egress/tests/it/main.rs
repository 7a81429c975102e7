//! What becomes of calls on real sockets. A listener that must not hear of a call looks whether anybody connected.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

use cardwire_egress::{Allowed, Asker, Door, Keyring, Refused, parse, refusal};
use std::{
    io::{ErrorKind, Read, Write},
    net::TcpListener,
    time::Duration,
};

const PROJECT: Asker<'_> = Asker::Project("p1");

fn listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

/// Answers one request with this head.
fn answering(listener: TcpListener, head: String) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut heard, mut bytes) = (vec![], [0; 1024]);
        while !heard.ends_with(b"\r\n\r\n") {
            let read = stream.read(&mut bytes).unwrap();
            assert_ne!(read, 0);
            heard.extend_from_slice(&bytes[..read]);
        }
        write!(stream, "HTTP/1.1 {head}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
    })
}

#[track_caller]
fn nobody_came(listener: &TcpListener) {
    listener.set_nonblocking(true).unwrap();
    let kind = listener.accept().map(drop).unwrap_err().kind();
    assert_eq!(kind, ErrorKind::WouldBlock, "somebody connected");
}

async fn status(door: &Door, asker: Asker<'_>, url: &str) -> Result<u16, Option<Refused>> {
    let to = door.destination(asker, parse(url).map_err(Some)?).map_err(Some)?;
    // A listener that must not hear of a call would not answer one.
    let sent =
        to.post().timeout(Duration::from_secs(5)).send().await.map_err(|error| refusal(&error).cloned())?;
    Ok(sent.status().as_u16())
}

/// F-39: the name is judged by what it resolves to when the call connects, not by how it looks.
#[tokio::test]
async fn a_name_that_leads_inside_is_refused_when_the_call_connects() {
    let (kept, port) = listener();
    let url = format!("http://localhost:{port}/tool");
    for shut in [Allowed::default(), Allowed::parse(["10.0.0.0/8", "other.example"]).unwrap()] {
        let door = Door::new(Keyring::default(), shut);
        let refused = Refused::Inside { host: "localhost".to_owned() };
        // Once more: nothing was learnt from the first time.
        for _ in 0..2 {
            assert_eq!(status(&door, PROJECT, &url).await, Err(Some(refused.clone())));
        }
    }
    nobody_came(&kept);
}

/// F-39
#[tokio::test]
async fn what_the_operator_opens_is_reached_and_what_he_asks_for_himself_as_well() {
    let open = |entry: &str| Door::new(Keyring::default(), Allowed::parse([entry]).unwrap());
    for (door, asker) in [
        (Door::new(Keyring::default(), Allowed::loopback()), PROJECT),
        (open("127.0.0.0/8"), PROJECT),
        (open("localhost"), PROJECT),
        (Door::bare(), Asker::Operator),
        (Door::bare().with_own("p1"), PROJECT),
    ] {
        let (heard, port) = listener();
        let answered = answering(heard, "200 OK".to_owned());
        assert_eq!(status(&door, asker, &format!("http://localhost:{port}/")).await, Ok(200), "{door:?}");
        answered.join().unwrap();
    }
}

/// F-38, F-39: whoever is called cannot send the call elsewhere.
#[tokio::test]
async fn a_redirect_is_an_answer_and_is_not_followed() {
    let (elsewhere, port) = listener();
    for code in ["301 X", "302 X", "307 X", "308 X"] {
        let (heard, own) = listener();
        let answered = answering(heard, format!("{code}\r\nlocation: http://127.0.0.1:{port}/"));
        let status = status(&Door::bare(), Asker::Operator, &format!("http://127.0.0.1:{own}/")).await;
        assert_eq!(status, Ok(code[..3].parse().unwrap()));
        answered.join().unwrap();
    }
    nobody_came(&elsewhere);
}
