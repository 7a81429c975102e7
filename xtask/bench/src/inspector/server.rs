//! The server whose pages are measured: this program once more, on a database that nobody else has open.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use anyhow::Context;
use cardwire_kernel::{Kernel, KernelConfig};
use cardwire_server::{Listening, Room, ServerConfig};
use cardwire_store::Store;
use tokio::net::TcpListener;

/// Files that it may have open.
const FILES: u64 = 1_024;

/// Serves until standard input ends, which it does with the process that started this one.
pub(crate) async fn serve(store: Arc<dyn Store>) -> anyhow::Result<()> {
    let kernel = Kernel::start(KernelConfig::new(store));
    let router = cardwire_server::router(Arc::clone(&kernel), ServerConfig::new(env!("CARGO_PKG_VERSION")));
    let listener = TcpListener::bind("127.0.0.1:0").await.context("cannot listen")?;
    println!("{}", listener.local_addr()?);
    let until = Box::pin(async {
        let end = || std::io::stdin().read_to_end(&mut vec![]);
        drop(tokio::task::spawn_blocking(end).await);
    });
    let listening = Listening::plain(listener, Room::within(FILES));
    cardwire_server::serve(listening, router, Arc::clone(&kernel), until).await?;
    kernel.shutdown().await;
    Ok(())
}

/// What becomes of memory that is no longer used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Memory {
    /// The allocator keeps it for a while, which is fast.
    Kept,
    /// The system has it at once, so that it can be seen what is used.
    GivenBack,
}

/// That process, ended with its value.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    pub(super) token: String,
    child: Child,
}

impl Server {
    pub(super) fn start(store: &str, place: &str, token: &str, memory: Memory) -> anyhow::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["inspector", "--store", store, "--serve", place]);
        if memory == Memory::GivenBack {
            command.env("MIMALLOC_PURGE_DELAY", "0");
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start a server")?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("a server without output")?).read_line(&mut line)?;
        let address = line.trim().parse().with_context(|| format!("the server said `{line}`"))?;
        Ok(Self { address, token: token.to_owned(), child })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The end of its input ends it in order, so that the next one finds its database free.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
