//! Reading a project's log as it grows, over restarts of the server (API-13).

use crate::{
    client::{Answer, ByteStream, Client},
    context::Context,
    failure::Failure,
    locate,
    route::Route,
};
use cardwire_llm::sse::Parser;
use futures_util::StreamExt;
use std::{ops::ControlFlow, time::Duration};

/// Pauses between attempts to come back: the first, and the longest.
const RETRY_FIRST: Duration = Duration::from_millis(200);
const RETRY_MAX: Duration = Duration::from_secs(5);

/// A reader of one project's log.
pub(crate) struct Follower<'a> {
    pub(crate) context: &'a Context,
    /// The stream.
    pub(crate) route: Route,
    /// Come back when the stream ends.
    pub(crate) follow: bool,
    /// The last position that was read.
    pub(crate) position: u64,
}

/// How a stream ended.
enum End {
    /// Enough was read.
    Enough,
    /// The server ended it.
    Clean,
    /// The connection was lost.
    Lost(Failure),
}

/// Nobody writes to a log that no server keeps.
pub(crate) fn needs_a_server(client: &Client) -> Result<(), Failure> {
    match client {
        Client::Http(_) => Ok(()),
        Client::Embedded(_) => Err(Failure::failed("there is nothing to follow: no server is running")),
    }
}

impl Follower<'_> {
    /// Gives the data of every event, until there are no more or enough was read.
    pub(crate) async fn read(
        &mut self,
        client: &Client,
        mut each: impl FnMut(&str) -> Result<ControlFlow<()>, Failure>,
    ) -> Result<(), Failure> {
        let mut stream =
            client.open(&self.route, Some(self.position)).await?.map_err(Answer::into_failure)?;
        loop {
            match self.drain(stream, &mut each).await? {
                End::Enough => return Ok(()),
                End::Clean | End::Lost(_) if self.follow => stream = self.come_back().await?,
                End::Clean => return Ok(()),
                End::Lost(failure) => return Err(failure),
            }
        }
    }

    /// Reads events until the stream ends.
    async fn drain(
        &mut self,
        mut stream: ByteStream,
        each: &mut impl FnMut(&str) -> Result<ControlFlow<()>, Failure>,
    ) -> Result<End, Failure> {
        let mut parser = Parser::default();
        while let Some(bytes) = stream.next().await {
            let bytes = match bytes {
                Ok(bytes) => bytes,
                Err(failure) => return Ok(End::Lost(failure)),
            };
            for event in parser.push(&bytes)? {
                let next = each(&event.data)?;
                let position = event.id.and_then(|id| id.parse().ok());
                self.position = position.unwrap_or(self.position);
                if next.is_break() {
                    return Ok(End::Enough);
                }
            }
        }
        Ok(End::Clean)
    }

    /// Finds the server again, which may have another address by now, and goes on where the log was left.
    async fn come_back(&self) -> Result<ByteStream, Failure> {
        self.context.output.note("the event stream ended; trying again");
        let mut pause = RETRY_FIRST;
        loop {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(RETRY_MAX);
            let Some(client) = locate::server(self.context).await? else { continue };
            match client.open(&self.route, Some(self.position)).await {
                Ok(Ok(stream)) => return Ok(stream),
                // A token that was revoked or a project that was deleted does not come back by waiting.
                Ok(Err(answer)) if answer.is_final() => return Err(answer.into_failure()),
                Ok(Err(_)) | Err(_) => {}
            }
        }
    }
}
