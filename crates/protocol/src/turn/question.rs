//! What a turn asks of people (PR-10): a call that waits, of one of two tools that only a person answers.

use super::append::called;
use cardwire_model::{
    AgentId, Card, Head, InboxItem, LiveState, Timestamp, ToolCall, TurnEpoch, TurnId,
    asking::{APPROVAL, ASK_HUMAN},
};
use serde_json::{Map, Value};

/// A call that waits for a person. Whoever answers it reports the result of that call.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Who asks.
    pub agent_id: AgentId,
    /// In which turn.
    pub turn_id: TurnId,
    /// Under which epoch.
    pub epoch: TurnEpoch,
    /// The call to answer.
    pub tool_call_id: String,
    /// Since when.
    pub asked_at: Timestamp,
    /// What is asked.
    pub asks: Asks,
}

/// What a person is asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Asks {
    /// Words, in answer to this.
    Words(String),
    /// A yes or a no to a call that somebody wants to make.
    Approval {
        /// Of which tool.
        tool: String,
        /// The call itself, which is made once somebody agrees.
        call: String,
        /// With which arguments.
        arguments: Map<String, Value>,
    },
}

/// Whether a turn that has not ended goes on only when somebody answers its calls. Any other is at work, or will be
/// without anybody's word. `head` is the agent's, which may be at another turn.
pub fn waits(item: &InboxItem, head: Option<&Head>) -> bool {
    let live = head.and_then(|head| head.live.as_deref()).filter(|live| live.turn_id == item.turn_id);
    match live.map(|live| live.state) {
        Some(LiveState::Suspended { waiting, .. }) => waiting > 0,
        Some(LiveState::Dispatched | LiveState::Running) | None => false,
    }
}

/// The question that a call is, by the card that made it.
pub fn asked(call: &ToolCall, card: &Card, epoch: TurnEpoch) -> Option<Question> {
    if !call.waiting || call.answer.is_some() {
        return None;
    }
    let (tool, arguments) = called(card, &call.tool_call_id)?;
    let mut arguments = arguments.unwrap_or_default();
    let text = |arguments: &Map<String, Value>, name: &str| {
        arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let asks = match tool.as_str() {
        ASK_HUMAN => Asks::Words(text(&arguments, "question")),
        APPROVAL => Asks::Approval {
            tool: text(&arguments, "tool"),
            call: text(&arguments, "tool_call_id"),
            arguments: match arguments.remove("arguments") {
                Some(Value::Object(members)) => members,
                Some(
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_),
                )
                | None => Map::new(),
            },
        },
        _ => return None,
    };
    Some(Question {
        agent_id: call.agent_id.clone(),
        turn_id: call.turn_id,
        epoch,
        tool_call_id: call.tool_call_id.clone(),
        asked_at: call.created_at,
        asks,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fixtures::{agent::TestAgent, card_id, tool_call},
        turn::report::AfterExecution,
    };
    use cardwire_model::{ToolAnswer, card::ToolStatus};
    use serde_json::json;

    fn call() -> ToolCall {
        ToolCall {
            agent_id: "ann".parse().unwrap(),
            turn_id: TurnId::from_uuid(uuid::Uuid::from_u128(1)),
            tool_call_id: "c1".to_owned(),
            call_card: Some(card_id(1)),
            waiting: true,
            answer: None,
            created_at: Timestamp::from_micros(7),
        }
    }

    fn asks(call: &ToolCall, card: &Card) -> Option<Asks> {
        asked(call, card, TurnEpoch::new(3)).map(|question| question.asks)
    }

    /// PR-10
    #[test]
    fn calls_that_only_a_person_answers_are_questions() {
        let words = tool_call("ask_human", &json!({ "question": "Why?" }));
        assert_eq!(asks(&call(), &words), Some(Asks::Words("Why?".to_owned())));
        let approval = tool_call(
            "approval",
            &json!({ "tool": "publish", "tool_call_id": "c0", "arguments": { "to": "all" } }),
        );
        let arguments = Map::from_iter([("to".to_owned(), json!("all"))]);
        let wanted = Asks::Approval { tool: "publish".to_owned(), call: "c0".to_owned(), arguments };
        assert_eq!(asks(&call(), &approval), Some(wanted));
        assert_eq!(asks(&call(), &tool_call("look_up", &json!({ "question": "Why?" }))), None);
    }

    /// PR-10
    #[test]
    fn what_does_not_wait_or_has_its_answer_asks_nothing() {
        let words = tool_call("ask_human", &json!({ "question": "Why?" }));
        assert_eq!(asks(&ToolCall { waiting: false, ..call() }, &words), None);
        let answer = ToolAnswer {
            status: ToolStatus::Success,
            terminate: false,
            card: card_id(2),
            at: Timestamp::from_micros(8),
        };
        assert_eq!(asks(&ToolCall { answer: Some(answer), ..call() }, &words), None);
        assert_eq!(asks(&ToolCall { tool_call_id: "c2".to_owned(), ..call() }, &words), None);
    }

    /// PR-10
    #[test]
    fn a_turn_waits_from_its_suspension_to_its_last_answer() {
        let waits = |agent: &TestAgent, turn| super::waits(agent.row(turn).unwrap(), agent.head.as_ref());
        let (mut agent, fence) = TestAgent::running();
        let queued = agent.dispatch().turn_id;
        agent.run(&agent.tool_call(&fence, "c1")).unwrap();
        assert!(!waits(&agent, fence.turn_id), "it runs");
        agent.run(&TestAgent::suspend(&fence, &["c1"])).unwrap();
        assert!(waits(&agent, fence.turn_id));
        assert!(!waits(&agent, queued), "the head is at another turn");
        agent.run(&TestAgent::report(&fence, "c1", ToolStatus::Success, AfterExecution::Suspend)).unwrap();
        assert!(!waits(&agent, fence.turn_id), "it is about to go on");
    }
}
