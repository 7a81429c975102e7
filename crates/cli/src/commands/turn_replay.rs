//! `cardwire turn replay` (RP-05).

use crate::{
    client::Client,
    failure::{Code, Failure},
    output::Output,
    route::Route,
    text,
};
use serde_json::Value;

/// How much of a difference is shown.
const WORDS: usize = 400;

pub(super) async fn run(id: &str, project: &str, output: Output, client: &Client) -> Result<(), Failure> {
    let answer = client.get(&Route::in_project(project, &["turns", id, "replay"])?).await;
    let answer = answer.map_err(|failure| match failure.code {
        Code::Conflict => failure.hint(format!(
            "only a turn that has ended, with every call of its model made by `/calls` and answered, is run again, and a card \
             that was deleted or has expired is not shown again; `cardwire turn steps {id}` lists its calls, and `cardwire \
             context show CALL` has the rest"
        )),
        Code::Done | Code::Failed | Code::Usage | Code::NotFound => failure,
    })?;
    let replay: Value = answer.parse()?;
    let is_same = replay["same"] == true;
    if output.json {
        output.json(&replay.to_string())?;
    } else {
        let size = |name: &str| replay[name].as_array().map_or(0, Vec::len) as u64;
        let calls = text::count(size("calls"), "call", "calls");
        let cards = text::count(replay["cards"].as_u64().unwrap_or(0), "card", "cards");
        let word = if is_same { "the same" } else { "not the same" };
        output.line(format_args!("{word}: {calls} rendered again, {cards} compared"))?;
        for difference in replay["differences"].as_array().into_iter().flatten() {
            output.line(text::cut(&text::clean(&text::cell(difference)), WORDS))?;
        }
    }
    if is_same {
        return Ok(());
    }
    Err(Failure::failed(format!("turn {id} does not come to the same"))
        .hint("what differs is told above; `cardwire context show CALL` shows a call as it was sent"))
}
