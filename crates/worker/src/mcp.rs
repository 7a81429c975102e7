//! MCP servers: programs beside the worker, and addresses elsewhere, whose tools agents call as `<server>__<tool>`.
//!
//! Connections are made on first use and shared by turns. Whatever goes wrong with one is the answer to the call that met it,
//! and the next call connects anew. Which tools an agent may call is not decided here.

mod answer;
mod bounded;
mod connection;
mod program;
mod servers;

use crate::{card::Answer, tools::offer::Offer};
use cardwire_egress::Door;
use cardwire_model::MCP_SEPARATOR;
use connection::Connection;
use futures_util::future::join_all;
use program::LastWords;
use serde_json::{Map, Value};
use std::{collections::BTreeMap, ffi::OsString, fmt, sync::Arc, time::Duration};
use tokio::sync::Mutex;

pub use servers::McpServers;

/// How long a server may take to start and to tell its tools, however short its tools may take.
const START_SECONDS: u64 = 60;

/// The servers of a worker.
pub(crate) struct Mcp {
    servers: BTreeMap<String, Server>,
    door: Arc<Door>,
    /// Where programs are found.
    path: Option<OsString>,
}

struct Server {
    place: servers::Place,
    /// Held while it is being made, so that turns that come at once share one.
    connection: Mutex<Option<Arc<Connection>>>,
    /// What its program said last.
    words: LastWords,
}

/// What servers answered when they were asked for their tools.
#[derive(Debug, Default)]
pub(crate) struct Served {
    /// Those that may be called.
    pub(crate) offers: Vec<Offer>,
    /// All of them.
    pub(crate) all: Vec<Offer>,
    /// Which servers could not be asked, and why.
    pub(crate) failed: BTreeMap<String, String>,
}

impl fmt::Debug for Mcp {
    // The environment of programs is not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.servers.keys()).finish()
    }
}

impl Mcp {
    pub(crate) fn new(servers: McpServers, door: Arc<Door>) -> Self {
        let server = |(name, place)| {
            (name, Server { place, connection: Mutex::default(), words: LastWords::default() })
        };
        Self { servers: servers.places.into_iter().map(server).collect(), door, path: servers.path }
    }

    /// Whether a tool of this name is one of these servers'.
    pub(crate) fn serves(&self, tool: &str) -> bool {
        self.find(tool).is_some()
    }

    fn find<'a>(&self, tool: &'a str) -> Option<(&str, &Server, &'a str)> {
        let (server, tool) = tool.split_once(MCP_SEPARATOR)?;
        let (name, server) = self.servers.get_key_value(server)?;
        Some((name, server, tool))
    }

    /// Whether there is a server of this name.
    pub(crate) fn has(&self, server: &str) -> bool {
        self.servers.contains_key(server)
    }

    /// The names of all servers.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.servers.keys().map(String::as_str)
    }

    /// The tools of all servers of which some may be called, without the others; and why servers could not be asked.
    pub(crate) async fn offers(
        &self,
        may_call_some: impl Fn(&str) -> bool,
        may_call: impl Fn(&str) -> bool,
        seconds: u64,
    ) -> Served {
        let asked = self.servers.iter().filter(|(name, _)| may_call_some(name));
        let lists = asked.map(async |(name, server)| {
            let list = async { self.connect(name, server).await?.tools(name).await };
            let seconds = seconds.max(START_SECONDS);
            let list = match tokio::time::timeout(Duration::from_secs(seconds), list).await {
                Ok(list) => list,
                Err(_) => Err(format!("it did not answer within {seconds} s")),
            };
            list.map_err(|why| {
                // What comes after it are words of the server (OB-06).
                let kind = why.split_once(": ").map_or(why.as_str(), |(kind, _)| kind);
                tracing::warn!(server = name, why = kind, "an MCP server does not serve");
                let said = server.words.lines();
                let said = said.map_or_else(String::new, |lines| {
                    format!("; its last lines on standard error:\n{lines}")
                });
                (name.clone(), format!("the MCP server `{name}` does not serve: {why}{said}"))
            })
        });
        let mut served = Served::default();
        for list in join_all(lists).await {
            match list {
                Ok(list) => served.all.extend(list.iter().cloned()),
                Err((name, why)) => {
                    served.failed.insert(name, why);
                }
            }
        }
        served.offers = served.all.iter().filter(|offer| may_call(&offer.name)).cloned().collect();
        served
    }

    /// Calls a tool. Whatever goes wrong is an answer.
    pub(crate) async fn call(&self, tool: &str, arguments: &Map<String, Value>, seconds: u64) -> Answer {
        let Some((name, server, own)) = self.find(tool) else {
            return Answer::failed("unknown_tool", format!("no MCP server has a tool {tool}"));
        };
        let called = async { self.connect(name, server).await?.call(own, arguments).await };
        match tokio::time::timeout(Duration::from_secs(seconds), called).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(why)) => Answer::failed("tool_failed", format!("the MCP server {name}: {why}")),
            Err(_) => Answer::failed("tool_timeout", format!("{tool} did not answer within {seconds} s")),
        }
    }

    /// The connection to a server; a new one if there is none, or none any more.
    async fn connect(&self, name: &str, server: &Server) -> Result<Arc<Connection>, String> {
        let mut held = server.connection.lock().await;
        if let Some(connection) = held.as_ref().filter(|connection| connection.is_open()) {
            return Ok(Arc::clone(connection));
        }
        // A program that has closed its output may still run: it goes before the next one comes.
        *held = None;
        let made =
            Connection::open(name, &server.place, &self.door, self.path.as_deref(), &server.words).await?;
        Ok(Arc::clone(held.insert(Arc::new(made))))
    }

    /// Ends every connection and every program.
    pub(crate) async fn close(&self) {
        let ends = self.servers.values().map(async |server| {
            if let Some(connection) = server.connection.lock().await.take().and_then(Arc::into_inner) {
                connection.close().await;
            }
        });
        join_all(ends).await;
    }
}
