//! A way to the server on which one message is lost.

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream, tcp::OwnedReadHalf, tcp::OwnedWriteHalf},
    sync::oneshot,
};

/// Where to connect, and what completes when the message is lost: the `nth` on a subject that begins so.
pub(crate) async fn losing(server: &str, subject: String, nth: usize) -> (String, oneshot::Receiver<()>) {
    let door = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("nats://{}", door.local_addr().unwrap());
    let server = server.trim_start_matches("nats://").to_owned();
    let (lost, is_lost) = oneshot::channel();
    tokio::spawn(async move {
        let mut thief = Thief { subject, left: nth, lost: Some(lost) };
        while let Ok((here, _)) = door.accept().await {
            let (from_client, mut to_client) = here.into_split();
            let (mut from_server, to_server) = TcpStream::connect(&server).await.unwrap().into_split();
            tokio::spawn(async move { tokio::io::copy(&mut from_server, &mut to_client).await });
            // Ends with the connection; the client comes back.
            let _ = thief.pass_on(from_client, to_server).await;
        }
    });
    (url, is_lost)
}

struct Thief {
    subject: String,
    left: usize,
    lost: Option<oneshot::Sender<()>>,
}

impl Thief {
    async fn pass_on(&mut self, from: OwnedReadHalf, mut to: OwnedWriteHalf) -> std::io::Result<()> {
        let mut from = BufReader::new(from);
        loop {
            let mut message = vec![];
            if from.read_until(b'\n', &mut message).await? == 0 {
                return Ok(());
            }
            let line = String::from_utf8(message.clone()).unwrap();
            let words: Vec<_> = line.split_ascii_whitespace().collect();
            if let ["PUB" | "HPUB", subject, .., length] = words[..] {
                // The body, and the end of its line.
                let begun = message.len();
                message.resize(begun + length.parse::<usize>().unwrap() + 2, 0);
                from.read_exact(&mut message[begun..]).await?;
                if subject.starts_with(&self.subject) && self.takes() {
                    continue;
                }
            }
            to.write_all(&message).await?;
        }
    }

    fn takes(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        let lost = (self.left == 0).then(|| self.lost.take()).flatten();
        lost.is_some_and(|lost| lost.send(()).is_ok())
    }
}
