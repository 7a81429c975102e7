//! Where MCP servers are, as whoever runs a worker says it. Nothing of this is ever kept in a project: what a project holds
//! must not name a program.

use cardwire_model::{Invalid, MCP_SEPARATOR, limits};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, ffi::OsString, fmt, path::PathBuf};

/// Names of servers: what they share with the tools that a team's members have.
const HANDOVER: &str = crate::tools::handover::PREFIX;

/// MCP servers by name.
#[derive(Clone, Default)]
pub struct McpServers {
    pub(super) places: BTreeMap<String, Place>,
    pub(super) path: Option<OsString>,
}

/// Where a server is.
#[derive(Clone)]
pub(super) enum Place {
    /// A program that is started and spoken to over its input and output.
    Program(ProgramPlace),
    /// An address, with the name of the key that opens it.
    Address {
        /// With `http:` or `https:`.
        url: String,
        /// Among the keys of the worker.
        key: Option<String>,
    },
}

/// How a program is started.
#[derive(Clone)]
pub(super) struct ProgramPlace {
    pub(super) command: String,
    pub(super) args: Vec<String>,
    /// All that it finds in its environment besides `PATH`.
    pub(super) env: Vec<(String, String)>,
    pub(super) cwd: Option<PathBuf>,
}

impl fmt::Debug for McpServers {
    // What is in the environment of a program may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.places.keys()).finish()
    }
}

impl McpServers {
    /// Reads `{name: {command, args?, env?, cwd?} | {url, key?}}`.
    pub fn parse(servers: &Value) -> Result<Self, Invalid> {
        let servers = object("mcp_servers", servers)?;
        if servers.len() > limits::MCP_SERVERS {
            return Err(wrong("mcp_servers", &format!("names more than {} servers", limits::MCP_SERVERS)));
        }
        let mut places = BTreeMap::new();
        for (name, place) in servers {
            let at = format!("mcp_servers/{name}");
            check_name(&at, name)?;
            places.insert(name.clone(), Place::parse(&at, place)?);
        }
        Ok(Self { places, path: None })
    }

    /// These and others. A name that both have is nobody's.
    pub fn and(mut self, others: Self) -> Result<Self, Invalid> {
        for (name, place) in others.places {
            let at = format!("mcp_servers/{name}");
            if self.places.insert(name, place).is_some() {
                return Err(wrong(&at, "is given twice"));
            }
        }
        if self.places.len() > limits::MCP_SERVERS {
            return Err(wrong("mcp_servers", &format!("names more than {} servers", limits::MCP_SERVERS)));
        }
        Ok(Self { path: self.path.or(others.path), ..self })
    }

    /// Programs are found, and find others, in these directories: the one thing they are told unasked.
    #[must_use]
    pub fn with_path(self, path: Option<OsString>) -> Self {
        Self { path, ..self }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

impl Place {
    fn parse(at: &str, place: &Value) -> Result<Self, Invalid> {
        let fields = object(at, place)?;
        let known: &[&str] = match (fields.get("command"), fields.get("url")) {
            (Some(_), None) => &["command", "args", "env", "cwd"],
            (None, Some(_)) => &["url", "key"],
            (Some(_), Some(_)) | (None, None) => {
                return Err(wrong(at, "must have either `command` or `url`"));
            }
        };
        if let Some(field) = fields.keys().find(|field| !known.contains(&field.as_str())) {
            return Err(Invalid::unknown(format!("{at}/{field}"), field, known));
        }
        if known.contains(&"url") {
            let url = text(at, fields, "url")?.unwrap_or_default();
            return Ok(Self::Address { url: address(at, &url)?, key: text(at, fields, "key")? });
        }
        Ok(Self::Program(ProgramPlace {
            command: text(at, fields, "command")?.unwrap_or_default(),
            args: list(at, fields)?,
            env: environment(at, fields)?,
            cwd: text(at, fields, "cwd")?.map(PathBuf::from),
        }))
    }
}

/// A name that is told from the tool's by the first separator, and that leaves room for one.
fn check_name(at: &str, name: &str) -> Result<(), Invalid> {
    let room = limits::OFFERED_NAME_CHARS - MCP_SEPARATOR.len() - 1;
    if !crate::tools::is_name(name) || name.len() > room {
        return Err(wrong(at, &format!("must be 1 to {room} letters, digits, _ and -")));
    }
    if name.contains(MCP_SEPARATOR) || name.ends_with('_') || name.starts_with(HANDOVER) {
        let reason = format!("must not hold `{MCP_SEPARATOR}`, end with `_` or start with `{HANDOVER}`");
        return Err(wrong(at, &reason));
    }
    Ok(())
}

fn address(at: &str, url: &str) -> Result<String, Invalid> {
    cardwire_egress::parse(url).map_err(|refused| wrong(&format!("{at}/url"), &refused.to_string()))?;
    Ok(url.to_owned())
}

fn wrong(at: &str, reason: &str) -> Invalid {
    Invalid::field(at, reason)
}

fn object<'a>(at: &str, value: &'a Value) -> Result<&'a Map<String, Value>, Invalid> {
    value.as_object().ok_or_else(|| wrong(at, "must be an object"))
}

fn text(at: &str, fields: &Map<String, Value>, name: &str) -> Result<Option<String>, Invalid> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if !text.trim().is_empty() && !text.contains('\0') => {
            Ok(Some(text.clone()))
        }
        Some(_) => Err(wrong(&format!("{at}/{name}"), "must be a text that says something")),
    }
}

fn list(at: &str, fields: &Map<String, Value>) -> Result<Vec<String>, Invalid> {
    let texts = || wrong(&format!("{at}/args"), "must be a list of texts");
    match fields.get("args") {
        None | Some(Value::Null) => Ok(vec![]),
        Some(Value::Array(args)) => {
            args.iter().map(|arg| arg.as_str().map(str::to_owned).ok_or_else(texts)).collect()
        }
        Some(_) => Err(texts()),
    }
}

fn environment(at: &str, fields: &Map<String, Value>) -> Result<Vec<(String, String)>, Invalid> {
    let at = format!("{at}/env");
    let variables = match fields.get("env") {
        None | Some(Value::Null) => return Ok(vec![]),
        Some(variables) => object(&at, variables)?,
    };
    let variable = |(name, value): (&String, &Value)| {
        let legal = !name.is_empty() && !name.contains(['=', '\0']);
        let value = value.as_str().filter(|value| legal && !value.contains('\0'));
        let value = value.ok_or_else(|| wrong(&format!("{at}/{name}"), "must be a name and a text"))?;
        Ok((name.clone(), value.to_owned()))
    };
    variables.iter().map(variable).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(servers: Value) -> String {
        McpServers::parse(&servers).unwrap_err().to_string()
    }

    #[test]
    fn a_server_is_a_program_or_an_address() {
        let servers = McpServers::parse(&json!({
            "files": { "command": "files", "args": ["-v"], "env": { "A": "b" }, "cwd": "/" },
            "web": { "url": "https://mcp.example/mcp", "key": "web" },
        }))
        .unwrap();
        assert!(matches!(&servers.places["web"], Place::Address { key: Some(key), .. } if key == "web"));
        let Place::Program(program) = &servers.places["files"] else { panic!("no program") };
        assert_eq!((&program.args[0][..], &program.env[0].1[..]), ("-v", "b"));
        assert_eq!(format!("{servers:?}"), r#"["files", "web"]"#, "what is secret is not shown");
    }

    #[test]
    fn what_makes_no_server_is_refused_with_its_place() {
        for (server, place) in [
            (json!({}), "mcp_servers/s: must have either"),
            (json!({ "command": "a", "url": "http://b" }), "mcp_servers/s: must have either"),
            (json!({ "command": "a", "key": "b" }), "mcp_servers/s/key: is not known"),
            (json!({ "comand": "a", "url": "http://b" }), "mcp_servers/s/comand: is not known"),
            (
                json!({ "command": "a", "arg": ["b"] }),
                "mcp_servers/s/arg: is not known; did you mean `args`?",
            ),
            (json!({ "command": " " }), "mcp_servers/s/command: must be a text"),
            (json!({ "command": "a", "args": [1] }), "mcp_servers/s/args: must be a list"),
            (json!({ "command": "a", "env": { "A": 1 } }), "mcp_servers/s/env/A: must be"),
            (json!({ "command": "a", "env": { "A=B": "c" } }), "mcp_servers/s/env/A=B: must be"),
            (json!({ "url": "file:///etc" }), "mcp_servers/s/url: must begin with"),
            (json!({ "url": "https://me:secret@x" }), "mcp_servers/s/url: takes no user"),
            (json!("a"), "mcp_servers/s: must be an object"),
        ] {
            let said = refused(json!({ "s": server }));
            assert!(said.starts_with(place), "{said}");
        }
    }

    /// SEC-07
    #[test]
    fn names_of_servers_leave_room_for_a_tool_and_can_be_told_from_it() {
        let named = |name: &str| McpServers::parse(&json!({ name: { "command": "a" } }));
        let room = limits::OFFERED_NAME_CHARS - 3;
        assert!(named("a-B_1").is_ok() && named(&"x".repeat(room)).is_ok());
        for wrong in ["", "a.b", "a__b", "a_", "delegate_to_b", "卡", &"x".repeat(room + 1)] {
            assert!(named(wrong).is_err(), "{wrong}");
        }
    }

    /// SEC-07
    #[test]
    fn servers_are_counted_and_given_once() {
        let servers = |first: usize, count: usize| {
            let one = |n: usize| (format!("s{n}"), json!({ "command": "a" }));
            McpServers::parse(&Value::Object((first..first + count).map(one).collect()))
        };
        let most = limits::MCP_SERVERS;
        assert!(servers(0, most).is_ok() && servers(0, most + 1).is_err());
        assert!(servers(0, most - 1).unwrap().and(servers(most, 1).unwrap()).is_ok());
        assert!(servers(0, most).unwrap().and(servers(most, 1).unwrap()).is_err());
        let twice = servers(0, 1).unwrap().and(servers(0, 1).unwrap()).unwrap_err();
        assert_eq!(twice.to_string(), "mcp_servers/s0: is given twice");
    }
}
