//! The one way to the kernel: the HTTP interface that workers in any language speak, into this process or over a network.

use async_trait::async_trait;
use serde_json::Value;
use std::fmt;

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Read.
    Get,
    /// Do.
    Post,
}

/// A name of a request, so that asking again after a lost answer does nothing twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// Among the requests of this process. A port that loses no answers need not pass it on; any other adds a name of the
    /// process.
    Here(String),
    /// Among those of everybody who asks with the same token. Every port passes it on as it is, since whoever asked first
    /// may have gone down before the answer was written.
    Everywhere(String),
}

/// One request.
#[derive(Debug, Clone)]
pub struct Ask<'a> {
    /// What is done.
    pub method: Method,
    /// To what: path and query.
    pub path: String,
    /// The token of a turn; the port's own when absent.
    pub token: Option<&'a str>,
    /// The body, as JSON text.
    pub body: Option<String>,
    /// The `traceparent` of the request: the trace that it belongs to, and the span that sends it.
    pub trace: Option<&'a str>,
    /// Its name, if it has one.
    pub key: Option<Key>,
}

/// What was answered.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The status of HTTP.
    pub status: u16,
    /// The body; null when there is none.
    pub body: Value,
}

/// Nobody answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreachable(pub String);

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no answer: {}", self.0)
    }
}

/// A way to the kernel.
#[async_trait]
pub trait Port: Send + Sync + fmt::Debug {
    /// Sends a request.
    async fn ask(&self, ask: &Ask<'_>) -> Result<Reply, Unreachable>;
}
