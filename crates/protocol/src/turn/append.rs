//! Cards of a turn, into its output box (WK-05, CB-14). A card that makes a tool call opens it; a `tool.result`
//! answers it.

use super::{
    Outcome,
    fence::{self, Fence},
    step::{self, NewStep},
    work::Work,
};
use crate::{
    Decision, Moment, Rejection,
    facts::{check_given, put_card::same_fact},
};
use cardwire_model::{
    Card, CardDraft, CardId, EventKind, Invalid, Origin, ProjectId, Snapshot, Status, Timestamp, ToolCall,
    card::{Content, ToolStatus},
    limits,
};
use serde_json::{Map, Value, json};

/// Cards to write.
#[derive(Debug, Clone)]
pub struct Append {
    /// Who writes.
    pub fence: Fence,
    /// In this order.
    pub cards: Vec<NewCard>,
    /// Every tool call of the turn, if a card touches one.
    pub calls: Vec<ToolCall>,
    /// The step that wrote them.
    pub step: Option<Box<NewStep>>,
}

/// One card.
#[derive(Debug, Clone)]
pub struct NewCard {
    /// The card, with its final id.
    pub card: Card,
    /// The caller chose the id, so it may be there already.
    pub named: bool,
}

impl NewCard {
    /// A card as its worker described it, under the id that the worker chose, or else a fresh one. Whoever answers a call, the
    /// answer is the tool's.
    pub fn given(
        draft: CardDraft,
        named: Option<CardId>,
        fresh: impl FnOnce() -> CardId,
        now: Timestamp,
    ) -> Result<Self, Invalid> {
        let mut card = draft.into_card(named.unwrap_or_else(fresh), Origin::Agent, now)?;
        if card.kind.as_str() == "tool.result" {
            card.origin = Origin::Tool;
        }
        check_given(&card, named)?;
        Ok(Self { card, named: named.is_some() })
    }
}

/// Writes the cards and adds them to the output box.
pub fn decide(
    snapshot: &Snapshot,
    project: &ProjectId,
    command: &Append,
    moment: &Moment,
) -> Result<Decision<Outcome>, Rejection> {
    let held = fence::hold(snapshot, project, &command.fence, &[Status::Running])?;
    let mut work = Work::new(held, moment);
    let card_ids = write(&mut work, snapshot, &command.cards, &command.calls)?;
    let added = work.appended().len() as u32;
    if added > 0 {
        work.append(false)?;
        let ids: Vec<_> = work.appended().iter().map(CardId::to_string).collect();
        let data = json!({
            "added": added, "card_ids": ids, "box_id": held.live.output_box.to_string(),
            "agent_turn_id": held.live.turn_id.to_string(),
        });
        let mut event = work.event(EventKind::BoxAppended, &data);
        event.target = held.live.output_box.to_string();
        work.commit.events.push(event);
    }
    if let Some(step) = &command.step {
        step.check().map_err(|wrong| wrong.under("step"))?;
        step::write(&mut work, snapshot, step)?;
    }
    work.nudge.seen = Some(moment.now);
    Ok(work.stay(Outcome::Appended { card_ids, added }))
}

/// The part that other verbs share.
pub(super) fn write(
    work: &mut Work<'_>,
    snapshot: &Snapshot,
    cards: &[NewCard],
    calls: &[ToolCall],
) -> Result<Vec<CardId>, Rejection> {
    Invalid::check_size("cards", cards.len(), limits::TURN_CARDS, "cards")?;
    let mut ids = Vec::with_capacity(cards.len());
    for (index, new) in cards.iter().enumerate() {
        let card = &new.card;
        if cards[..index].iter().any(|earlier| earlier.card.id == card.id) {
            return Err(Invalid::field(format!("cards/{index}/card_id"), "given twice").into());
        }
        ids.push(card.id);
        let existing = new.named.then(|| snapshot.cards.get(&card.id)).flatten();
        if let Some(fact) = existing {
            same_fact(fact, card, work.moment)?;
        }
        match existing {
            // A repeat of what this turn wrote before.
            Some(_) if snapshot.members.contains(&card.id) => continue,
            Some(_) => work.add(card.kind.as_str(), card.id),
            None => {
                work.put(card.clone());
            }
        }
        note_tools(work, card, calls).map_err(|refused| of_card(index, cards.len(), refused))?;
    }
    Ok(ids)
}

/// The refusal of one of several cards.
fn of_card(index: usize, cards: usize, refused: Rejection) -> Rejection {
    let Rejection::Invalid(wrong) = refused else { return refused };
    Rejection::Invalid(if cards > 1 { wrong.under(&format!("cards/{index}")) } else { wrong })
}

/// Opens the calls that a card makes, or answers the one it is the result of.
fn note_tools(work: &mut Work<'_>, card: &Card, calls: &[ToolCall]) -> Result<(), Rejection> {
    if card.kind.as_str() == "tool.result" {
        return note_result(work, card, calls);
    }
    for id in made_calls(card)? {
        if work.open.iter().any(|call| call.tool_call_id == id) {
            continue;
        }
        if has_answer(work, calls, &id) {
            // Under that name there is nothing left to answer (NF-05).
            return Err(answered(&id));
        }
        work.open_call(&id, Some(card.id), false)?;
    }
    Ok(())
}

/// Whether a call that is not open was answered before, or by an earlier card of the same request. One that stands among
/// `calls` without an answer was made after the rest was read: the commit finds it, and all is read again.
fn has_answer(work: &Work<'_>, calls: &[ToolCall], id: &str) -> bool {
    calls.iter().any(|call| call.tool_call_id == id && call.answer.is_some()) || work.has_answered(id)
}

fn answered(id: &str) -> Rejection {
    Rejection::Conflict(format!("tool call {id} has its answer already"))
}

fn note_result(work: &mut Work<'_>, card: &Card, calls: &[ToolCall]) -> Result<(), Rejection> {
    let id = card
        .tool_call_id
        .clone()
        .ok_or_else(|| Invalid::field("tool_call_id", "is required on a tool.result of a turn"))?;
    let status = match Content::parse(&card.kind, &card.content)? {
        Content::ToolResult { status, .. } => status,
        Content::Text(_)
        | Content::Json(_)
        | Content::Fields(_)
        | Content::ToolCall { .. }
        | Content::Tools(_) => ToolStatus::Success,
    };
    if !work.open.iter().any(|call| call.tool_call_id == id) {
        if has_answer(work, calls, &id) {
            return Err(answered(&id));
        }
        work.open_call(&id, None, false)?;
    }
    work.answer(&id, status, false, card.id);
    Ok(())
}

/// The ids of the calls a card makes: its own `tool_call_id` for a `tool.call`, and those in `tool_calls`.
fn made_calls(card: &Card) -> Result<Vec<String>, Invalid> {
    let mut ids = vec![];
    if card.kind.as_str() == "tool.call" {
        let id = card.tool_call_id.clone();
        ids.push(id.ok_or_else(|| Invalid::field("tool_call_id", "is required on a tool.call of a turn"))?);
    }
    let listed = card.tool_calls.as_ref().map(|calls| calls.to_value());
    for (index, call) in listed.as_ref().and_then(Value::as_array).into_iter().flatten().enumerate() {
        let field = format!("tool_calls/{index}/id");
        let id =
            call.get("id").and_then(Value::as_str).ok_or_else(|| Invalid::field(&field, "is required"))?;
        check_call_id(&field, id)?;
        if !ids.iter().any(|known| known == id) {
            ids.push(id.to_owned());
        }
    }
    Ok(ids)
}

/// The tool that a card calls under this id, and its arguments if they are an object (WK-08, PM-15), in any of the shapes that
/// models and frameworks write.
pub fn called(card: &Card, id: &str) -> Option<(String, Option<Map<String, Value>>)> {
    let is_own = card.kind.as_str() == "tool.call" && card.tool_call_id.as_deref() == Some(id);
    if is_own
        && let Ok(Content::ToolCall { tool_name, arguments }) = Content::parse(&card.kind, &card.content)
    {
        return Some((tool_name, object(&arguments)));
    }
    let listed = card.tool_calls.as_ref()?.to_value();
    let call = listed.as_array()?.iter().find(|call| call["id"] == id)?;
    let names = [&call["function"]["name"], &call["name"], &call["tool_name"]];
    let name = names.into_iter().find_map(Value::as_str)?;
    let arguments = [&call["function"]["arguments"], &call["arguments"], &call["args"], &call["input"]];
    Some((name.to_owned(), arguments.into_iter().find_map(object)))
}

/// Arguments as they are, or as the text that a model wrote.
fn object(arguments: &Value) -> Option<Map<String, Value>> {
    match arguments {
        Value::Object(members) => Some(members.clone()),
        Value::String(text) => serde_json::from_str(text).ok(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}

/// Tool call ids come from models: short, printable, not blank.
pub fn check_call_id(field: &str, id: &str) -> Result<(), Invalid> {
    Invalid::check_printable(field, id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fixtures::{agent::TestAgent, card_id},
        turn::report::AfterExecution,
    };
    use cardwire_model::{CanonicalJson, Write};

    fn draft(kind: &str, content: &Value, calls: Option<&Value>) -> CardDraft {
        let json = |value: &Value| CanonicalJson::parse(&value.to_string(), "x").unwrap();
        CardDraft {
            content: json(content),
            metadata: json(&json!({ "type": kind })),
            tool_calls: calls.map(json),
            tool_call_id: kind.starts_with("tool.").then(|| "c1".to_owned()),
            ttl_seconds: None,
        }
    }

    fn card(kind: &str, content: &Value, calls: Option<&Value>) -> Card {
        let now = Timestamp::from_micros(0);
        draft(kind, content, calls).into_card(card_id(1), Origin::Agent, now).unwrap()
    }

    #[test]
    fn what_a_worker_gives_is_the_agents_or_the_tools_under_its_own_id_or_a_fresh_one() {
        let given = |kind: &str, content: &Value, named| {
            NewCard::given(draft(kind, content, None), named, || card_id(7), Timestamp::from_micros(0))
        };
        let thought = given("agent.thought", &json!("x"), None).unwrap();
        assert_eq!((thought.card.id, thought.named, thought.card.origin), (card_id(7), false, Origin::Agent));
        let answer = json!({ "status": "success", "result": 1 });
        let result = given("tool.result", &answer, Some(card_id(3))).unwrap();
        assert_eq!((result.card.id, result.named, result.card.origin), (card_id(3), true, Origin::Tool));
        let refused = given("sys.manifest", &json!({}), None).unwrap_err();
        assert_eq!(refused.field_name(), "metadata/type");
    }

    /// NF-05
    #[test]
    fn a_call_is_made_once_however_many_cards_tell_of_it_before_its_answer() {
        let (mut agent, fence) = TestAgent::running();
        let made = agent.tool_call(&fence, "c1");
        agent.run(&made).unwrap();
        agent.run(&agent.tool_call(&fence, "c1")).unwrap();
        agent.run(&TestAgent::report(&fence, "c1", ToolStatus::Success, AfterExecution::Suspend)).unwrap();
        let again = agent.run(&agent.tool_call(&fence, "c1"));
        assert!(matches!(again, Err(Rejection::Conflict(_))), "{again:?}");
        agent.run(&agent.tool_call(&fence, "c2")).unwrap();
    }

    /// NF-05: whoever makes the same call at the same moment is not told that it has its answer.
    #[test]
    fn a_call_that_is_made_meanwhile_has_no_answer_for_that() {
        let (mut agent, fence) = TestAgent::running();
        let before = agent.for_turn(fence.turn_id);
        agent.run(&agent.tool_call(&fence, "c1")).unwrap();
        let cards = vec![agent.card("tool.call", r#"{"tool_name":"t","arguments":{}}"#, Some("c1"))];
        let command = Append { fence, cards, calls: agent.calls.clone(), step: None };
        let decision = decide(&before, &crate::fixtures::project(), &command, &agent.moment).unwrap();
        let opens = |write: &Write| matches!(write, Write::OpenCall(call) if call.tool_call_id == "c1");
        assert!(decision.commit.writes.iter().any(opens), "which the store refuses");
    }

    /// NF-05: also of one request.
    #[test]
    fn a_call_that_one_request_makes_and_answers_is_neither_made_nor_answered_by_it_again() {
        let (agent, fence) = TestAgent::running();
        let call = || agent.card("tool.call", r#"{"tool_name":"t","arguments":{}}"#, Some("c1"));
        let answer = || agent.card("tool.result", r#"{"status":"success","result":1}"#, Some("c1"));
        let write = |cards| {
            let append = Append { fence: fence.clone(), cards, calls: vec![], step: None };
            agent.decide(&crate::turn::Command::Append(append)).map(drop)
        };
        assert_eq!(write(vec![call(), call(), answer()]), Ok(()));
        for again in [call(), answer()] {
            let refused = write(vec![call(), answer(), again]);
            assert!(matches!(refused, Err(Rejection::Conflict(_))), "{refused:?}");
        }
    }

    /// WK-08
    #[test]
    fn the_tool_of_a_call_is_found_in_its_card() {
        let own = card("tool.call", &json!({ "tool_name": "look", "arguments": {} }), None);
        assert_eq!(called(&own, "c1"), Some(("look".to_owned(), Some(Map::new()))));
        assert_eq!(called(&own, "c2"), None);
        let calls = json!([
            { "id": "a", "function": { "name": "one", "arguments": "{}" } }, { "id": "b", "name": "two" },
            { "id": "c", "tool_name": "three" }, { "id": "d" }, { "id": "e", "name": 7 },
        ]);
        let listed = card("agent.thought", &json!("x"), Some(&calls));
        let found = ["a", "b", "c", "d", "e", "f"].map(|id| called(&listed, id).map(|(tool, _)| tool));
        let names = ["one", "two", "three"].map(|name| Some(name.to_owned()));
        assert_eq!((&found[..3], &found[3..]), (&names[..], &[None, None, None][..]));
        let arguments = ["a", "b"].map(|id| called(&listed, id).and_then(|(_, arguments)| arguments));
        assert_eq!(arguments, [Some(Map::new()), None], "text that is an object, and nothing");
    }
}
