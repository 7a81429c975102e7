//! What people are asked, and their answers (PR-10). Whoever agrees to a call can read all of what it would be called with.

use super::names::Names;
use crate::{
    client::Client,
    failure::Failure,
    output::say,
    pretty,
    route::Route,
    text::{cell, clean, clean_lines, cut, shell_word, wrapped},
};
use serde::Serialize;
use serde_json::{Value, json};

/// How much of a question stands in one line.
const WORDS: usize = 100;
/// Columns of a question that is shown whole.
const WIDTH: usize = 100;
/// How many lines of a question are shown unless all are asked for.
const LINES: usize = 40;
/// How many questions are read at once.
const PAGE: usize = 100;

/// A question that waits for a person, as the server tells it.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Question {
    #[serde(flatten)]
    told: Value,
    /// What people call the agent that asks.
    #[serde(skip)]
    agent: String,
}

impl Question {
    pub(super) fn turn(&self) -> String {
        cell(&self.told["agent_turn_id"])
    }

    /// Whether it is a yes or a no that is asked for.
    pub(super) fn is_approval(&self) -> bool {
        self.told["kind"] == "approval"
    }

    /// Its id: that of the call which waits for the answer.
    pub(super) fn call(&self) -> &str {
        self.told["tool_call_id"].as_str().unwrap_or_default()
    }

    /// A row of a list.
    pub(super) fn row(&self) -> Vec<String> {
        let text = |name: &str| cell(&self.told[name]);
        let (id, kind, agent) = (text("tool_call_id"), text("kind"), self.agent.clone());
        vec![id, kind, agent, text("agent_turn_id"), text("asked_at"), self.asks()]
    }

    pub(super) fn asked_at(&self) -> String {
        cell(&self.told["asked_at"])
    }

    pub(super) fn json(&self) -> &Value {
        &self.told
    }

    /// What is asked, without who asks.
    fn asks(&self) -> String {
        match self.is_approval() {
            true => format!("call {} with {}", cell(&self.told["tool_name"]), self.told["arguments"]),
            false => cell(&self.told["question"]),
        }
    }

    /// Who asks what, cut to one line.
    pub(super) fn words(&self) -> String {
        let agent = &self.agent;
        let words = match self.is_approval() {
            true => {
                format!(
                    "{agent} wants to call {} with {}",
                    cell(&self.told["tool_name"]),
                    self.told["arguments"]
                )
            }
            false => format!("{agent} asks: {}", cell(&self.told["question"])),
        };
        cut(&clean(&words), WORDS)
    }

    /// Everything that is asked, in lines that fit a terminal.
    fn lines(&self) -> Vec<String> {
        let agent = &self.agent;
        let (head, body) = match self.is_approval() {
            true => (
                format!("{agent} wants to call {} with", cell(&self.told["tool_name"])),
                pretty::indent(&self.told["arguments"].to_string()),
            ),
            false => (format!("{agent} asks:"), cell(&self.told["question"])),
        };
        let body = clean_lines(&body);
        let body = body.lines().flat_map(|line| wrapped(line, WIDTH)).map(|line| format!("  {line}"));
        [clean(&head)].into_iter().chain(body).collect()
    }

    /// The same, up to a number of lines unless all are asked for.
    pub(super) fn shown(&self, project: &str, all: bool) -> Vec<String> {
        let mut lines = self.lines();
        if !all && lines.len() > LINES {
            let left = lines.len() - LINES;
            lines.truncate(LINES);
            let whole = crate::hint::Asked::here().whole(&self.command("show", project));
            lines.push(format!("  … {left} more lines; `{whole} --all` shows them"));
        }
        lines
    }

    /// Shows it on standard error, before what can be done is told.
    pub(super) fn say(&self, project: &str) {
        for line in self.shown(project, false) {
            say(&line);
        }
    }

    /// A command about it.
    pub(super) fn command(&self, verb: &str, project: &str) -> String {
        let (call, project) = (shell_word(self.call()), shell_word(project));
        format!("cardwire question {verb} {call} --turn {} --project {project}", self.turn())
    }

    /// The command that answers it, in words.
    pub(super) fn answers(&self, project: &str) -> String {
        let answer = format!("cardwire turn answer {} --project {}", self.turn(), shell_word(project));
        match self.is_approval() {
            true => format!("`{answer} --approve` agrees (`--deny` does not)"),
            false => format!("`{answer} --reply TEXT` answers"),
        }
    }

    /// Answers it.
    pub(super) async fn answer(
        &self,
        client: &Client,
        project: &str,
        approved: bool,
        reply: Option<&str>,
    ) -> Result<(), Failure> {
        let mut result = if self.is_approval() { json!({ "approved": approved }) } else { json!({}) };
        if let Some(reply) = reply {
            result["reply"] = reply.into();
        }
        let asked = &self.told;
        let body = json!({
            "agent_id": asked["agent_id"], "agent_turn_id": asked["agent_turn_id"],
            "turn_epoch": asked["turn_epoch"], "tool_call_id": asked["tool_call_id"], "status": "success",
            "result": result, "author_id": "operator",
        });
        client.post(&Route::in_project(project, &["l0", "reports"])?, &body).await.map(drop)
    }
}

/// What a turn and everything below it ask of people.
pub(super) async fn questions_of(
    client: &Client,
    project: &str,
    turn: &str,
) -> Result<Vec<Question>, Failure> {
    let route = Route::in_project(project, &["turns", turn, "questions"])?;
    let list = client.get(&route).await?.parse()?;
    Ok(questions(list, project, client).await)
}

/// What all turns of a project ask of people, oldest first.
pub(super) async fn open_questions(client: &Client, project: &str) -> Result<Vec<Question>, Failure> {
    let route = Route::in_project(project, &["questions"])?.query("limit", Some(PAGE));
    let (mut found, mut cursor) = (vec![], None::<String>);
    loop {
        let page: Value = client.get(&route.clone().query("cursor", cursor.as_deref())).await?.parse()?;
        cursor = page["next_cursor"].as_str().map(str::to_owned);
        found.extend(questions(page, project, client).await);
        if cursor.is_none() {
            found.sort_by_key(Question::asked_at);
            return Ok(found);
        }
    }
}

async fn questions(mut list: Value, project: &str, client: &Client) -> Vec<Question> {
    let Value::Array(items) = list["items"].take() else { return vec![] };
    let names = Names::of(&items, &["agent_id"], project, client).await;
    items.into_iter().map(|told| Question { agent: names.show(&told["agent_id"]), told }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn approval(arguments: Value) -> Question {
        let told = json!({
            "agent_turn_id": "turn_1", "kind": "approval", "tool_name": "pay", "tool_call_id": "c1", "arguments": arguments,
        });
        Question { told, agent: "a".to_owned() }
    }

    /// F-12
    #[test]
    fn whoever_approves_can_read_every_character_of_the_arguments() {
        let text = (0..400).map(|number| format!("word{number} ")).collect::<String>();
        let question = approval(json!({ "to": "bob", "why": text, "list": (0..200).collect::<Vec<_>>() }));
        let all = question.shown("p1", true);
        assert!(all.iter().all(|line| line.chars().count() <= WIDTH + 2), "{all:#?}");
        let joined: String = all.iter().map(|line| line.trim_start()).collect::<Vec<_>>().join("");
        let squeezed = |text: &str| text.replace(' ', "");
        assert!(squeezed(&joined).contains(&squeezed(&text)), "{all:#?}");
        for number in [0, 199] {
            assert!(
                all.iter().any(|line| line.trim().trim_end_matches(',') == number.to_string()),
                "{number}"
            );
        }
        let some = question.shown("p1", false);
        assert_eq!((some.len(), &some[..LINES]), (LINES + 1, &all[..LINES]));
        let last = some.last().unwrap();
        let left = all.len() - LINES;
        assert!(last.contains(&format!("{left} more lines")), "{last}");
        assert!(last.contains("`cardwire question show c1 --turn turn_1 --project p1 --all`"), "{last}");
    }

    /// F-12
    #[test]
    fn a_short_question_is_shown_whole_and_steers_no_terminal() {
        let question = approval(json!({ "to": "\u{1b}[2Jbob" }));
        let shown = question.shown("p1", false);
        assert_eq!(shown.len(), 4, "{shown:#?}");
        assert!(!shown.concat().contains('\u{1b}'), "{shown:#?}");
        assert!(!question.words().contains('\u{1b}'));
    }
}
