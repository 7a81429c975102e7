//! A run as it looks from outside: the tree of its turns, what they spent, and what waits for a person.

use super::{
    names::Names,
    price::price,
    questions::{Question, questions_of},
};
use crate::{
    client::Client,
    failure::Failure,
    hint::Asked,
    output::{Output, advise, say},
    route::Route,
    text::{cell, clean, shell_word},
};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    io::IsTerminal,
    time::{Duration, Instant},
};

/// Pause between two looks at everything.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How many turns and steps are read at once.
const PAGE: usize = 500;

/// What turns have spent.
#[derive(Debug, Clone, Copy, Default)]
struct Spent {
    calls: u64,
    input: u64,
    output: u64,
    /// Of the calls whose prices are known.
    cost: u64,
    /// How many calls have no known price.
    unpriced: u64,
}

impl Spent {
    /// None where there were calls and no price of any is known.
    fn cost(&self) -> Option<u64> {
        (self.calls == 0 || self.unpriced < self.calls).then_some(self.cost)
    }
}

/// A run.
pub(super) struct View {
    turns: Vec<Value>,
    spent: HashMap<String, Spent>,
    names: Names,
    bars: Option<(MultiProgress, HashMap<String, ProgressBar>)>,
    looked: Option<Instant>,
}

impl View {
    pub(super) fn new(output: Output) -> Self {
        let live = !output.json && std::io::stderr().is_terminal();
        let bars = live.then(|| (MultiProgress::new(), HashMap::new()));
        Self { turns: vec![], spent: HashMap::new(), names: Names::default(), bars, looked: None }
    }

    pub(super) fn is_due(&self) -> bool {
        self.looked.is_none_or(|looked| looked.elapsed() >= LOOK_EVERY)
    }

    /// Reads the turns of the run and what they spent.
    pub(super) async fn look(&mut self, client: &Client, project: &str, trace: &str) -> Result<(), Failure> {
        let turns = Route::in_project(project, &["turns"])?.query("trace_id", Some(trace));
        self.turns = all(client, turns).await?;
        self.turns.reverse();
        self.name_agents(client, project).await;
        let steps = Route::in_project(project, &["state", "steps"])?.query("trace_id", Some(trace));
        self.spent.clear();
        for step in all(client, steps).await? {
            let usage = &step["metadata"]["usage"];
            if usage.is_object() {
                let number = |value: &Value| value.as_u64().unwrap_or(0);
                let spent = self.spent.entry(cell(&step["agent_turn_id"])).or_default();
                spent.calls += 1;
                spent.input += number(&usage["input_tokens"]);
                spent.output += number(&usage["output_tokens"]);
                match step["metadata"]["cost_micros"].as_u64() {
                    Some(cost) => spent.cost += cost,
                    None => spent.unpriced += 1,
                }
            }
        }
        self.looked = Some(Instant::now());
        self.draw();
        Ok(())
    }

    async fn name_agents(&mut self, client: &Client, project: &str) {
        self.names.learn(&self.turns, &["agent_id"], project, client).await;
    }

    /// What people call the agent of a turn.
    fn name(&self, turn: &Value) -> String {
        self.names.show(&turn["agent_id"])
    }

    fn draw(&mut self) {
        let lines: Vec<_> =
            self.turns.iter().map(|turn| (cell(&turn["agent_turn_id"]), self.words(turn))).collect();
        let Some((all, bars)) = &mut self.bars else { return };
        for (turn, (words, is_over)) in lines {
            let bar = bars.entry(turn).or_insert_with(|| {
                let bar = all.add(ProgressBar::new_spinner());
                if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
                    bar.set_style(style);
                }
                bar.enable_steady_tick(LOOK_EVERY);
                bar
            });
            if is_over { bar.finish_with_message(words) } else { bar.set_message(words) }
        }
    }

    fn words(&self, turn: &Value) -> (String, bool) {
        let id = cell(&turn["agent_turn_id"]);
        let spent = self.spent.get(&id).copied().unwrap_or_default();
        let indent = "  ".repeat(self.depth(turn));
        let tokens = if spent.calls > 0 {
            format!("  {} calls, {} tokens", spent.calls, spent.input + spent.output)
        } else {
            String::new()
        };
        let words = format!("{indent}{}  {}{tokens}", self.name(turn), cell(&turn["status"]));
        (words, turn["ended_at"].is_string())
    }

    fn depth(&self, turn: &Value) -> usize {
        usize::try_from(turn["depth"].as_u64().unwrap_or(0)).unwrap_or(0)
    }

    /// Tells of trouble while the run goes on.
    pub(super) fn say(&self, trouble: &Failure) {
        self.aside(|| {
            say(&format!("note: {}", clean(&trouble.message)));
            if let Some(hint) = &trouble.hint {
                advise(hint);
            }
        });
    }

    /// Says something beside the live view.
    pub(super) fn aside(&self, tell: impl FnOnce()) {
        match &self.bars {
            Some((all, _)) => all.suspend(tell),
            None => tell(),
        }
    }

    /// Takes the live view off the screen.
    pub(super) fn clear(&mut self) {
        if let Some((all, _)) = self.bars.take() {
            let _ = all.clear();
        }
    }

    /// Whether a worker is, or will be, at one of the turns.
    pub(super) fn is_at_work(&self) -> bool {
        self.turns
            .iter()
            .any(|turn| matches!(turn["status"].as_str(), Some("running" | "dispatched" | "queued")))
    }

    /// The tree, once more, with what it spent.
    pub(super) fn summary(&self, output: Output) -> Result<(), Failure> {
        let row = |turn: &Value| {
            let spent = self.spent.get(&cell(&turn["agent_turn_id"])).copied().unwrap_or_default();
            vec![
                format!("{}{}", "  ".repeat(self.depth(turn)), self.name(turn)),
                cell(&turn["status"]),
                spent.calls.to_string(),
                spent.input.to_string(),
                spent.output.to_string(),
                price(spent.calls, spent.cost(), spent.unpriced),
                cell(&turn["agent_turn_id"]),
            ]
        };
        let header = ["AGENT", "STATUS", "CALLS", "IN", "OUT", "COST", "TURN"];
        output.table(&header, self.turns.iter().map(row).collect())
    }

    fn total(&self) -> Spent {
        self.spent.values().fold(Spent::default(), |all, one| Spent {
            calls: all.calls + one.calls,
            input: all.input + one.input,
            output: all.output + one.output,
            cost: all.cost + one.cost,
            unpriced: all.unpriced + one.unpriced,
        })
    }

    /// What all turns spent.
    pub(super) fn usage(&self) -> Value {
        let total = self.total();
        json!({
            "calls": total.calls, "input_tokens": total.input, "output_tokens": total.output,
            "cost_micros": total.cost(), "unpriced_calls": total.unpriced,
        })
    }

    /// The turns, in the order in which they began.
    pub(super) fn turns(&self) -> Value {
        let turn = |turn: &Value| {
            json!({
                "agent_id": turn["agent_id"], "agent_turn_id": turn["agent_turn_id"], "status": turn["status"],
                "depth": turn["depth"], "parent_agent_turn_id": turn["parent_agent_turn_id"],
                "error": turn["error"],
            })
        };
        self.turns.iter().map(turn).collect()
    }

    /// How to look at what happened. The last line is the one that shows its page.
    pub(super) fn inspect(&self, project: &str, page_line: &str) {
        let (asked, project) = (Asked::here(), shell_word(project));
        let whole = |command: String| asked.whole(&format!("{command} --project {project}"));
        say("");
        if let Some(turn) = self.first_agent() {
            say(&format!("{}   shows its calls", whole(format!("cardwire turn steps {turn}"))));
            say(&format!(
                "{}   shows what a model was sent, and why",
                whole("cardwire context show CALL".to_owned())
            ));
        }
        say(page_line);
    }

    /// A turn that called a model.
    fn first_agent(&self) -> Option<String> {
        let called = |turn: &&Value| self.spent.contains_key(&cell(&turn["agent_turn_id"]));
        self.turns.iter().find(called).map(|turn| cell(&turn["agent_turn_id"]))
    }

    /// What waits for a person.
    pub(super) async fn questions(&self, client: &Client, project: &str) -> Result<Vec<Question>, Failure> {
        if !self.turns.iter().any(|turn| turn["status"] == "suspended") {
            return Ok(vec![]);
        }
        match self.turns.first() {
            Some(root) => questions_of(client, project, &cell(&root["agent_turn_id"])).await,
            None => Ok(vec![]),
        }
    }
}

/// Every entry of a list.
async fn all(client: &Client, route: Route) -> Result<Vec<Value>, Failure> {
    let mut found = vec![];
    let mut cursor: Option<String> = None;
    loop {
        let page = route.clone().query("limit", Some(PAGE)).query("cursor", cursor.as_deref());
        let mut page: Value = client.get(&page).await?.parse()?;
        if let Value::Array(items) = page["items"].take() {
            found.extend(items);
        }
        match page["next_cursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => return Ok(found),
        }
    }
}
