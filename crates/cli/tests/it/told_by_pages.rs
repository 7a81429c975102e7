//! What the pages tell another agent: the facts with which it answers "why did it not know X?" (IN-05).

use crate::{
    open::{look, sign_in},
    support::{Backend, Home},
};
use serde_json::Value;

const RESEARCH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/teams/research.yaml");
const BUDGET: &str = "We may spend 200 euros a month.";

/// The question of docs/inspector.md, answered from the Markdown of one page alone: of the run, of the searcher's call, and of
/// the comparison with its sender.
#[test]
fn in_05_markdown_alone_tells_why_the_searcher_did_not_see_the_budget() {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let home = Home::new(backend);
        let server = home.up(&[]);
        let asked = format!("Where should our measurements be kept? {BUDGET}");
        let ran = home.cardwire(&["run", RESEARCH, &asked, "--project", "research"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        let opened = home.json(&["open", "-p", "research"]);
        let (host, cookie, _) = sign_in(opened["url"].as_str().unwrap());
        let page = |path: &str| {
            let reply = look(host, &cookie, &format!("/inspect/p/research{path}"));
            assert_eq!(reply.status, 200, "{path}: {reply:?}");
            reply.body
        };
        let runs = server.get("/projects/research/outlines").json();
        let run = runs["items"][0]["agent_turn_id"].as_str().unwrap().to_owned();
        let steps = server.get("/projects/research/state/steps?limit=100").json();
        let calls: Vec<&Value> = steps["items"]
            .as_array()
            .unwrap()
            .iter()
            .rev()
            .filter(|step| step["call_id"].is_string())
            .collect();
        let first = calls[0]["call_id"].as_str().unwrap();
        let searcher = calls.iter().find(|call| call["agent_turn_id"] != calls[0]["agent_turn_id"]).unwrap();
        let searcher = searcher["call_id"].as_str().unwrap();
        let why = "No box that holds it was handed to the agent.";
        for (path, facts) in [
            // Who did not know what, and why; who sent whom; what each was given.
            (format!("/runs/{run}.md"), vec![BUDGET, why, "searcher_tables", "asked by principal", "given:"]),
            (format!("/calls/{searcher}.md"), vec![BUDGET, why, "How well do", "Not given"]),
            (format!("/diff.md?l={first}&r={searcher}"), vec![BUDGET, why, "Only principal", "How well do"]),
        ] {
            let told = page(&path);
            for fact in facts {
                assert!(told.contains(fact), "{path} does not tell `{fact}`:\n{told}");
            }
        }
        // The page of the searcher leads to the rule and to what to do about it.
        let call = page(&format!("/calls/{searcher}"));
        let link = call.split("href=\"").find(|part| part.contains("/why?call=")).unwrap();
        let link = link.split('"').next().unwrap().replace("&amp;", "&");
        assert!(look(host, &cookie, &link).body.contains("inherit_context"), "{link}");
    }
}
