//! `cardwire turn replay` (RP-05).

use crate::{client::Client, context::Context, failure::Failure, ports, route::Route, text};
use cardwire_worker::{CannotReplay, replay};
use serde_json::{Value, json};

/// How much of a difference is shown.
const WORDS: usize = 400;

pub(super) async fn run(id: &str, project: &str, context: &Context, client: &Client) -> Result<(), Failure> {
    // A turn that is not there is told as every other command tells it.
    client.get(&Route::in_project(project, &["turns", id])?).await?;
    let port = ports::of(client, context).await?;
    let replay = replay(port, project, id).await.map_err(|cannot| match &cannot {
        CannotReplay::Turn(why) => Failure::conflict(why).hint(format!(
            "only a turn that has ended, with every call of its model made by `/calls` and answered, is run again; \
             `cardwire turn steps {id}` lists its calls"
        )),
        CannotReplay::Unread(why) => Failure::failed(why),
    })?;
    for (call, _) in replay.calls.iter().filter(|(_, same)| !same) {
        // To call the turn another one would blame it for what its record lacks (0021).
        if let Some(missing) = missing(call, project, client).await? {
            return Err(Failure::conflict(format!(
                "turn {id} cannot be replayed: of call {call}, {missing}"
            ))
            .hint(format!("a card that was deleted or has expired is not shown again; `cardwire context show {call}` has the rest")));
        }
    }
    let output = context.output;
    if output.json {
        let call = |(id, same): &(String, bool)| json!({ "call_id": id, "hash_ok": same });
        let told = json!({
            "agent_turn_id": id, "same": replay.same, "cards": replay.cards,
            "calls": replay.calls.iter().map(call).collect::<Vec<Value>>(), "differences": replay.differences,
        });
        output.json(&told.to_string())?;
    } else {
        let calls = text::count(replay.calls.len() as u64, "call", "calls");
        let cards = text::count(replay.cards as u64, "card", "cards");
        let word = if replay.same { "the same" } else { "not the same" };
        output.line(format_args!("{word}: {calls} rendered again, {cards} compared"))?;
        for difference in &replay.differences {
            output.line(text::cut(&text::clean(difference), WORDS))?;
        }
    }
    if replay.same {
        return Ok(());
    }
    Err(Failure::failed(format!("turn {id} does not come to the same"))
        .hint("what differs is told above; `cardwire context show CALL` shows a call as it was sent"))
}

/// What a request cannot be rendered again without.
async fn missing(call: &str, project: &str, client: &Client) -> Result<Option<String>, Failure> {
    let route = Route::in_project(project, &["calls", call, "context"])?.query("render", Some(true));
    let shown: Value = client.get(&route).await?.parse()?;
    Ok(shown["missing"].as_str().map(str::to_owned))
}
