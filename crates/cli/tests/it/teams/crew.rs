//! Documents of teams for tests.

use serde_json::{Value, json};

/// A team of agents whose model follows these rules. The system prompt of agent `a` is `SECRET-a`, so that it is
/// recognised wherever it turns up.
pub(super) fn crew(process: &str, agents: &[&str], rules: Value) -> Value {
    let agent = |id: &&str| json!({ "id": id, "profile": { "system_prompt": format!("SECRET-{id}") } });
    json!({
        "name": "crew", "process": process,
        "model": { "provider": "scripted", "script": { "rules": rules } },
        "agents": agents.iter().map(agent).collect::<Vec<_>>(),
    })
}

/// A rule: this agent always answers this.
pub(super) fn says(agent: &str, reply: &str) -> Value {
    json!({ "match": { "agent": agent }, "reply": reply })
}

/// A rule: this agent calls these tools in its n-th request.
pub(super) fn calls(agent: &str, step: u32, tools: &[(&str, Value)]) -> Value {
    let call = |(name, arguments): &(&str, Value)| json!({ "name": name, "arguments": arguments });
    json!({
        "match": { "agent": agent, "step": step }, "tool_calls": tools.iter().map(call).collect::<Vec<_>>(),
    })
}

/// One of the files that come with Cardwire.
pub(super) fn example(name: &str) -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/teams/");
    std::fs::read_to_string(format!("{path}{name}.yaml")).unwrap()
}

/// The same with every delay multiplied by `times` and divided by `parts`.
pub(super) fn paced(text: &str, times: u64, parts: u64) -> String {
    let line = |line: &str| match line.split_once("delay_ms: ") {
        Some((before, delay)) => {
            format!("{before}delay_ms: {}\n", delay.trim().parse::<u64>().unwrap() * times / parts)
        }
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}
