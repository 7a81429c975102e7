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
    /// Names the request among those of this process, so that asking again after a lost answer does nothing twice. A port
    /// that loses no answers need not pass it on; any other must add a name of the process.
    pub key: Option<String>,
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
