//! What a turn has written so far, as its holder needs to know it: after a crash, a resume or a move to another machine
//! this is all there is.

use serde_json::Value;
use std::collections::HashMap;

/// A call that the turn has made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    /// As the model wrote them.
    pub(crate) arguments: Value,
}

/// The cards of a turn.
#[derive(Debug, Clone)]
pub(crate) struct Transcript {
    cards: Vec<Value>,
    /// The turn, and the one it was forked from: what that had said, this one goes on from.
    turns: Vec<String>,
    /// Answers by call: the content of the `tool.result`.
    answers: HashMap<String, Value>,
}

impl Transcript {
    pub(crate) fn new(cards: Vec<Value>, turn: &str) -> Self {
        let mut answers = HashMap::new();
        for card in &cards {
            if kind(card) == "tool.result"
                && let Some(id) = card["tool_call_id"].as_str()
            {
                answers.insert(id.to_owned(), card["content"].clone());
            }
        }
        Self { cards, turns: vec![turn.to_owned()], answers }
    }

    /// The same for a turn that goes on where another one was.
    pub(crate) fn forked_from(mut self, turn: Option<&str>) -> Self {
        self.turns.extend(turn.map(str::to_owned));
        self
    }

    /// The turn's own cards of a kind.
    fn own<'a>(&'a self, wanted: &'a str) -> impl Iterator<Item = &'a Value> {
        self.cards.iter().filter(move |card| kind(card) == wanted && self.is_own(card))
    }

    fn is_own(&self, card: &Value) -> bool {
        let turn = card["metadata"]["agent_turn_id"].as_str().unwrap_or_default();
        self.turns.iter().any(|own| own == turn)
    }

    /// The answer that an earlier call of the same tool with the same arguments had.
    pub(crate) fn answer_to(&self, call: &Call) -> Option<&Value> {
        let same = |made: &Call| made.name == call.name && made.arguments == call.arguments;
        self.calls().into_iter().filter(same).find_map(|made| self.answers.get(&made.id))
    }

    /// Calls without an answer, in the order in which they were made.
    pub(crate) fn open_calls(&self) -> Vec<Call> {
        self.calls().into_iter().filter(|call| !self.answers.contains_key(&call.id)).collect()
    }

    /// Every call that was made.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.cards.iter().flat_map(made_calls).collect()
    }

    /// Those that the turn itself has made.
    pub(crate) fn own_calls(&self) -> Vec<Call> {
        self.cards.iter().filter(|card| self.is_own(card)).flat_map(made_calls).collect()
    }

    /// The card that makes a call.
    pub(crate) fn call_card(&self, call: &str) -> Option<&str> {
        self.making(call)?["card_id"].as_str()
    }

    /// When a call was made.
    pub(crate) fn called_at(&self, call: &str) -> Option<&str> {
        self.making(call)?["created_at"].as_str()
    }

    fn making(&self, call: &str) -> Option<&Value> {
        self.cards.iter().find(|card| made_calls(card).iter().any(|made| made.id == call))
    }

    /// The answer to a call: the content of its `tool.result`.
    pub(crate) fn answer(&self, call: &str) -> Option<&Value> {
        self.answers.get(call)
    }

    /// How many answers are failures with this code.
    pub(crate) fn failures(&self, code: &str) -> usize {
        self.own("tool.result").filter(|card| card["content"]["error"]["code"] == code).count()
    }

    /// The card of that answer.
    pub(crate) fn answer_card(&self, call: &str) -> Option<&Value> {
        self.cards.iter().find(|card| kind(card) == "tool.result" && card["tool_call_id"] == call)
    }

    /// How many answers of a model this turn has.
    pub(crate) fn model_answers(&self) -> u32 {
        u32::try_from(self.own("agent.thought").count()).unwrap_or(u32::MAX)
    }

    /// How many of the turn's own cards are of this kind.
    pub(crate) fn count(&self, wanted: &str) -> usize {
        self.own(wanted).count()
    }

    /// All cards.
    pub(crate) fn cards(&self) -> &[Value] {
        &self.cards
    }
}

/// What a card is.
pub(crate) fn kind(card: &Value) -> &str {
    card["type"].as_str().unwrap_or_default()
}

/// The calls that a card makes: those in `tool_calls`, or the one that it is.
fn made_calls(card: &Value) -> Vec<Call> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if kind(card) == "tool.call" {
        let content = &card["content"];
        return vec![Call {
            id: text(&card["tool_call_id"]),
            name: text(&content["tool_name"]),
            arguments: content["arguments"].clone(),
        }];
    }
    let listed = card["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
    let call = |call: &Value| Call {
        id: text(&call["id"]),
        name: text(&call["tool_name"]),
        arguments: call["arguments"].clone(),
    };
    listed.iter().map(call).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn thought(calls: &[&str]) -> Value {
        let calls: Vec<_> = calls
            .iter()
            .map(|id| json!({ "id": id, "tool_name": "look", "arguments": { "at": 1 } }))
            .collect();
        json!({
            "type": "agent.thought", "metadata": { "agent_turn_id": "turn_1" }, "content": "",
            "tool_calls": calls,
        })
    }

    fn result(id: &str) -> Value {
        json!({ "type": "tool.result", "tool_call_id": id, "content": { "status": "success" } })
    }

    #[test]
    fn calls_are_open_until_they_have_an_answer() {
        let transcript = Transcript::new(vec![thought(&["a", "b"]), result("a")], "turn_1");
        let open = transcript.open_calls();
        assert_eq!(open.len(), 1);
        assert_eq!((open[0].id.as_str(), open[0].name.as_str()), ("b", "look"));
        assert_eq!(open[0].arguments, json!({ "at": 1 }));
        assert_eq!(transcript.answer("a"), Some(&json!({ "status": "success" })));
        assert_eq!(transcript.calls().len(), 2);
    }

    #[test]
    fn a_call_may_be_a_card_of_its_own() {
        let card = json!({
            "type": "tool.call", "tool_call_id": "c",
            "content": { "tool_name": "approval", "arguments": {} },
        });
        let transcript = Transcript::new(vec![card], "turn_1");
        assert_eq!(transcript.open_calls()[0].name, "approval");
    }

    #[test]
    fn answers_of_earlier_turns_in_the_same_box_do_not_count() {
        let mut earlier = thought(&[]);
        earlier["metadata"]["agent_turn_id"] = "turn_0".into();
        let transcript = Transcript::new(vec![earlier, thought(&[])], "turn_1");
        assert_eq!(transcript.model_answers(), 1);
        assert_eq!(transcript.count("agent.thought"), 1);
        assert_eq!(transcript.cards().len(), 2);
    }
}
