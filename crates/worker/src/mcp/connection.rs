//! A connection to one MCP server: its tools, asked for once, and calls of them.

use super::{
    answer,
    bounded::Bounded,
    program::{LastWords, Program},
    servers::{Place, ProgramPlace},
};
use crate::{card::Answer, tools, tools::offer::Offer};
use cardwire_egress::{Asker, Door, parse};
use cardwire_model::{MCP_SEPARATOR, limits};
use rmcp::{
    ClientHandler, RoleClient,
    model::{
        CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientConfig, Implementation,
        PaginatedRequestParams, ProtocolVersion, Tool,
    },
    service::{ClientLifecycleMode, ClientServiceExt, NotificationContext, RunningService},
    transport::{
        StreamableHttpClientTransport, async_rw::AsyncRwTransport,
        streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use secrecy::ExposeSecret;
use serde_json::{Map, Value};
use std::{
    collections::HashSet,
    error::Error,
    ffi::OsStr,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::sync::Mutex;

/// How long a server may take to end a connection.
const CLOSE: Duration = Duration::from_secs(2);
/// How much is told of why something failed.
const REASON_CHARS: usize = 500;

/// A connection.
pub(super) struct Connection {
    client: RunningService<RoleClient, Listener>,
    /// What runs for this connection alone. It ends with it.
    program: Option<Program>,
    /// What was answered when its tools were asked for.
    tools: Mutex<Option<Arc<Vec<Offer>>>>,
    /// The server has said that this is not true any more.
    changed: Arc<AtomicBool>,
}

/// What this side is to a server: nobody who answers questions.
struct Listener {
    changed: Arc<AtomicBool>,
}

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        let own = Implementation::new("cardwire", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), own)
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.store(true, Ordering::Relaxed);
    }
}

impl Connection {
    /// Connects, in the protocol that the server speaks: with a handshake, or since 2026-07-28 without.
    pub(super) async fn open(
        name: &str,
        place: &Place,
        door: &Door,
        path: Option<&OsStr>,
        words: &LastWords,
    ) -> Result<Self, String> {
        let changed = Arc::new(AtomicBool::new(false));
        let listener = Listener { changed: Arc::clone(&changed) };
        let (client, program) = match place {
            // One that takes long to start answers the question for its protocol when that was given up: it is started once
            // more and greeted as all programs understand it.
            Place::Program(place) => match start(name, place, path, words, (listener, lifecycle())).await {
                Ok(started) => started,
                Err(_) => {
                    let listener = Listener { changed: Arc::clone(&changed) };
                    start(name, place, path, words, (listener, ClientLifecycleMode::Initialize)).await?
                }
            },
            Place::Address { url, key } => {
                let transport = address(url, key.as_deref(), door)?;
                (
                    listener
                        .serve_with_lifecycle(transport, lifecycle())
                        .await
                        .map_err(|error| reason(&error))?,
                    None,
                )
            }
        };
        Ok(Self { client, program, tools: Mutex::default(), changed })
    }

    pub(super) fn is_open(&self) -> bool {
        !self.client.is_closed() && !self.client.is_transport_closed()
    }

    /// The tools of the server that can be offered.
    pub(super) async fn tools(&self, server: &str) -> Result<Arc<Vec<Offer>>, String> {
        let mut known = self.tools.lock().await;
        if self.changed.swap(false, Ordering::Relaxed) {
            *known = None;
        }
        if let Some(tools) = known.as_ref() {
            return Ok(Arc::clone(tools));
        }
        let (mut listed, mut cursor) = (vec![], None);
        // A server whose list does not end has one of so many pages.
        for _ in 0..limits::MCP_TOOLS {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let page = self.client.list_tools(Some(page)).await.map_err(|error| reason(&error))?;
            listed.extend(page.tools);
            cursor = page.next_cursor;
            if cursor.is_none() || listed.len() > limits::MCP_TOOLS {
                break;
            }
        }
        Ok(Arc::clone(known.insert(Arc::new(offered(server, listed)))))
    }

    /// Calls a tool. Who drops this calls it off.
    pub(super) async fn call(&self, tool: &str, arguments: &Map<String, Value>) -> Result<Answer, String> {
        let call = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments.clone());
        match self.client.peer().call_tool_once(call).await.map_err(|error| reason(&error))? {
            CallToolResponse::Complete(result) => Ok(answer::of(result)),
            CallToolResponse::InputRequired(_) => Err(format!("{tool} asks for more, and nobody is there")),
            CallToolResponse::Task(_) => Err(format!("{tool} answers with a task, which is not supported")),
            _ => Err(format!("{tool} answers with something unknown")),
        }
    }

    /// Ends the connection in order, and then the program.
    pub(super) async fn close(self) {
        let Self { mut client, program, .. } = self;
        let _ = client.close_with_timeout(CLOSE).await;
        if let Some(program) = program {
            program.end().await;
        }
    }
}

type Client = RunningService<RoleClient, Listener>;

async fn start(
    name: &str,
    place: &ProgramPlace,
    path: Option<&OsStr>,
    words: &LastWords,
    (listener, lifecycle): (Listener, ClientLifecycleMode),
) -> Result<(Client, Option<Program>), String> {
    let (program, output, input) = Program::start(name, place, path, words)?;
    let transport = AsyncRwTransport::new_client(Bounded::new(output, limits::MCP_MESSAGE_BYTES), input)
        .with_max_line_length(usize::MAX);
    match listener.serve_with_lifecycle(transport, lifecycle).await {
        Ok(client) => Ok((client, Some(program))),
        Err(error) => {
            program.heard_out().await;
            Err(reason(&error))
        }
    }
}

fn address(
    url: &str,
    key: Option<&str>,
    door: &Door,
) -> Result<StreamableHttpClientTransport<reqwest::Client>, String> {
    // Nothing that a project keeps can name an MCP server, nor its key.
    let (asker, at) = (Asker::Operator, parse(url).map_err(|refused| reason(&refused))?);
    let mut config =
        StreamableHttpClientTransportConfig::with_uri(url).max_sse_event_size(limits::MCP_MESSAGE_BYTES);
    if let Some(name) = key {
        let key = door.key(asker, name, &at).map_err(|refused| reason(&refused))?;
        let key = key.ok_or_else(|| format!("there is no key `{name}`"))?;
        config = config.auth_header(key.expose_secret());
    }
    let to = door.destination(asker, at).map_err(|refused| reason(&refused))?;
    Ok(StreamableHttpClientTransport::with_client(to.into_client(), config))
}

fn lifecycle() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::LATEST],
        legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
    }
}

/// What can be offered of what a server lists. What cannot is left out, and said.
fn offered(server: &str, listed: Vec<Tool>) -> Vec<Offer> {
    let (mut offers, mut names) = (vec![], HashSet::new());
    for tool in listed {
        let name = format!("{server}{MCP_SEPARATOR}{}", tool.name);
        let offer = Offer {
            description: tool.description.as_deref().unwrap_or_default().to_owned(),
            parameters: Value::Object(Map::clone(&tool.input_schema)),
            name,
        };
        let bytes = offer.description.len() + offer.parameters.to_string().len();
        let why = if !tools::is_name(&offer.name) || offer.name.len() > limits::OFFERED_NAME_CHARS {
            "its name is none that a model can call"
        } else if bytes > limits::MCP_TOOL_BYTES {
            "its description and schema are too long"
        } else if offers.len() == limits::MCP_TOOLS {
            "the server has too many"
        } else if !names.insert(offer.name.clone()) {
            "there is another of this name"
        } else {
            offers.push(offer);
            continue;
        };
        tracing::warn!(server, tool = %tool.name, why, "a tool is not offered");
    }
    offers
}

/// Why something failed, with what is behind it, in so many words.
fn reason(error: &(dyn Error + 'static)) -> String {
    let mut words = without_address(&error.to_string()).to_owned();
    let mut source = error.source();
    while let Some(error) = source {
        words = format!("{words}: {}", without_address(&error.to_string()));
        source = error.source();
    }
    words.chars().take(REASON_CHARS).collect()
}

/// An address may hold a secret (SEC-09). What is behind an error is told by its sources.
fn without_address(words: &str) -> &str {
    words.split_once(" for url (").map_or(words, |(before, _)| before)
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("program", &self.program).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(name: &str, description: &str) -> Tool {
        serde_json::from_value(json!({
            "name": name, "description": description, "inputSchema": { "type": "object" },
        }))
        .unwrap()
    }

    fn names(listed: Vec<Tool>) -> Vec<String> {
        offered("s", listed).into_iter().map(|offer| offer.name).collect()
    }

    /// SEC-09
    #[test]
    fn the_address_of_a_server_is_not_told() {
        #[derive(Debug)]
        struct Failed(&'static str, Option<Box<Failed>>);
        impl fmt::Display for Failed {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.0)
            }
        }
        impl Error for Failed {
            fn source(&self) -> Option<&(dyn Error + 'static)> {
                self.1.as_deref().map(|source| source as _)
            }
        }
        let refused = Failed("connection refused", None);
        let sent = Failed(
            "Client error: error sending request for url (https://x/?key=a)b)",
            Some(Box::new(refused)),
        );
        assert_eq!(reason(&sent), "Client error: error sending request: connection refused");
    }

    #[test]
    fn a_tool_is_offered_under_the_name_of_its_server_with_its_schema() {
        let offers = offered("s", vec![tool("look", "Looks.")]);
        let expected = Offer {
            name: "s__look".to_owned(),
            description: "Looks.".to_owned(),
            parameters: json!({ "type": "object" }),
        };
        assert_eq!(offers, [expected]);
    }

    /// SEC-07
    #[test]
    fn what_is_listed_is_bounded() {
        let most = limits::MCP_TOOLS;
        let many = |count: usize| names((0..count).map(|n| tool(&format!("t{n}"), "")).collect()).len();
        assert_eq!((many(most), many(most + 1)), (most, most));
        let schema = json!({ "type": "object" }).to_string().len();
        let long = |bytes: usize| names(vec![tool("t", &"x".repeat(bytes))]).len();
        assert_eq!(
            (long(limits::MCP_TOOL_BYTES - schema), long(limits::MCP_TOOL_BYTES - schema + 1)),
            (1, 0)
        );
        let room = limits::OFFERED_NAME_CHARS - "s__".len();
        let named = |chars: usize| names(vec![tool(&"n".repeat(chars), "")]).len();
        assert_eq!((named(room), named(room + 1)), (1, 0));
    }

    #[test]
    fn names_that_no_model_could_call_and_doubles_are_left_out() {
        let listed = ["look", "files/read", "a.b", "", "look", "看"].map(|name| tool(name, "")).into();
        assert_eq!(names(listed), ["s__look", "s__"]);
    }
}
