//! Tools that a profile names and that are not there (F-02): a turn that began without them would do its work as if nobody
//! had wanted them, so it fails before its model is asked, and says what is missing and what to do.

use super::{Bench, handover, offer::Offered, submit};
use crate::{mcp::Served, trouble::Trouble};
use cardwire_model::{MCP_SEPARATOR, all_of_server, every_built_in_tool, limits, nearest};
use serde_json::Value;
use std::collections::BTreeSet;

/// The code of a turn that ends for this.
pub(crate) const CODE: &str = "tools_missing";

/// How many names are looked through for what was meant.
const NAMES: u64 = 500;

/// What is missing, as sentences; nothing if everything is there.
pub(crate) async fn missing(
    bench: &Bench<'_>,
    offers: &[Offered],
    served: &Served,
) -> Result<Option<String>, Trouble> {
    let mut missing = BTreeSet::new();
    for (place, entry) in bench.profile.tool_entries() {
        if let Some(why) = why_missing(bench, offers, served, entry).await? {
            // One server may be named often.
            missing.insert(if why.starts_with("the MCP server") { why } else { format!("{place}: {why}") });
        }
    }
    let ends = bench.profile.must_end_with();
    if !ends.is_empty() && !ends.iter().any(|name| offers.iter().any(|offer| offer.name() == *name)) {
        missing.insert(format!(
            "must_end_with: none of {} is among the tools of this agent, so it could never end",
            ends.join(", ")
        ));
    }
    if missing.is_empty() {
        return Ok(None);
    }
    let all: Vec<String> = missing.into_iter().collect();
    Ok(Some(format!("not all tools that the agent's profile names are there: {}", all.join("; "))))
}

async fn why_missing(
    bench: &Bench<'_>,
    offers: &[Offered],
    served: &Served,
    entry: &str,
) -> Result<Option<String>, Trouble> {
    let is_offered = offers.iter().any(|offer| offer.name() == entry);
    let is_known = entry == submit::NAME
        || entry.starts_with(handover::PREFIX)
        || every_built_in_tool().any(|name| name == entry);
    if is_offered || is_known {
        return Ok(None);
    }
    let server = entry.split_once(MCP_SEPARATOR).map(|(server, _)| server);
    if let Some(server) = server.filter(|server| bench.mcp.has(server)) {
        return Ok(of_server(served, server, entry));
    }
    if all_of_server(entry).is_none() {
        if bench.document(entry).await?.is_some() {
            let is_long = entry.len() > limits::OFFERED_NAME_CHARS;
            return Ok(is_long.then(|| {
                format!(
                    "the name `{entry}` is longer than the {} characters that models take",
                    limits::OFFERED_NAME_CHARS
                )
            }));
        }
        if is_there(bench, &format!("/recipes/{entry}")).await? {
            return Ok(None);
        }
    }
    match server {
        Some(server) => Ok(Some(no_server(bench, server))),
        None => unknown(bench, served, entry).await.map(Some),
    }
}

/// Why a server that is there does not have a tool.
fn of_server(served: &Served, server: &str, entry: &str) -> Option<String> {
    if let Some(why) = served.failed.get(server) {
        return Some(why.clone());
    }
    let own: Vec<&str> =
        served.all.iter().map(|offer| offer.name.as_str()).filter(|name| of(name, server)).collect();
    if all_of_server(entry).is_some() {
        return own.is_empty().then(|| format!("the MCP server `{server}` offers no tools"));
    }
    let has = match nearest(entry, own.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if own.is_empty() => "it offers none".to_owned(),
        None => format!("it has {}", own.join(", ")),
    };
    Some(format!("the server `{server}` has no tool `{entry}`; {has}"))
}

fn of(tool: &str, server: &str) -> bool {
    tool.split_once(MCP_SEPARATOR).is_some_and(|(own, _)| own == server)
}

fn no_server(bench: &Bench<'_>, server: &str) -> String {
    let meant = nearest(server, bench.mcp.names());
    let meant = meant.map_or_else(String::new, |meant| format!(" (did you mean `{meant}`?)"));
    format!(
        "there is no MCP server `{server}` where the agents run{meant}: write it under `mcp_servers` in a file for the process that \
         runs them, `cardwire up --mcp FILE` or `cardwire worker --mcp FILE`; `cardwire run` uses those of the team's file only \
         where no server runs the agents"
    )
}

async fn unknown(bench: &Bench<'_>, served: &Served, entry: &str) -> Result<String, Trouble> {
    let listed = bench.desk.get(&format!("/tools?limit={NAMES}")).await?;
    let named = listed["items"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str());
    let own = served.all.iter().map(|offer| offer.name.as_str());
    let meant = nearest(entry, named.chain(own)).or_else(|| nearest(entry, every_built_in_tool()));
    let meant = meant.map_or_else(
        || "put it into the project with `cardwire tool put`, or take the name out of the profile".to_owned(),
        |meant| format!("did you mean `{meant}`?"),
    );
    Ok(format!("no tool is called `{entry}`; {meant}"))
}

async fn is_there(bench: &Bench<'_>, route: &str) -> Result<bool, Trouble> {
    match bench.desk.get(route).await {
        Ok(found) => Ok(found != Value::Null),
        Err(Trouble::Refused { status: 404 | 400, .. }) => Ok(false),
        Err(trouble) => Err(trouble),
    }
}
