//! The end of a turn, whoever brings it about (WK-06, WD-01, WD-02, WD-06, WD-07, NF-04, NF-05).
//!
//! Invariant 4: this is the only place that writes a task event for a leased turn. Its commit closes every open tool call,
//! puts a deliverable into the output box, ends the turn's row, moves the head on to the next turn or to idle, and
//! tells of all that exactly once: a second end finds another epoch.

use super::{Fence, Outcome, append::NewCard, copy, lease, named, work::Work};
use crate::{Decision, Rejection};
use cardwire_model::{
    BoxHead, BranchEnd, Card, CardId, Ended, EventKind, Head, InboxItem, InboxStatus, Invalid, Origin,
    Snapshot, TaskStatus, Timestamp, ToolCall, Write, card::ToolStatus, limits,
};
use serde_json::{Value, json};

/// How a turn ends.
pub(super) enum End<'a> {
    /// Its holder says so.
    Finished {
        fence: &'a Fence,
        status: TaskStatus,
        deliverable: &'a super::finish::Deliverable,
        error: Option<&'a str>,
        error_code: Option<&'a str>,
        remains: &'a Remains,
        /// Cards come with it.
        brings: bool,
    },
    /// Its tools say so (WK-08).
    Tools(ToolEnd),
    /// It is taken away from its holder: the epoch rises (WD-01).
    TakenAway { status: TaskStatus, reason: &'a str, remains: &'a Remains },
}

/// What a turn left behind that a deliverable can be made of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remains {
    /// Answers of tools.
    pub tool_results: u32,
    /// The last thing the agent thought.
    pub last_thought: Option<String>,
}

impl Remains {
    /// From which entry on an output box is looked at: only what the turn itself wrote, and not all of a long one. What stood
    /// there before may be several cards in one entry; what a turn writes is one in each.
    pub fn since(watermark: u32, output: &BoxHead) -> u32 {
        let own = output.len.saturating_sub(watermark);
        output.entries.saturating_sub(own.min(limits::REMAINS_ENTRIES))
    }

    /// What the cards of a turn leave of it, in their order (WD-06).
    pub fn of<'a>(cards: impl IntoIterator<Item = &'a Card>) -> Self {
        let mut remains = Self::default();
        for card in cards {
            match card.kind.as_str() {
                "tool.result" => remains.tool_results += 1,
                "agent.thought" => {
                    let text = card.content.to_text();
                    remains.last_thought = Some(text.unwrap_or_else(|| card.content.as_str().to_owned()));
                }
                _ => {}
            }
        }
        remains
    }
}

/// The tool answers that end a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolEnd {
    status: TaskStatus,
    card: CardId,
    tool_call_id: String,
}

/// Whether an answer ends the turn: any that says so; of several, a failed one wins (WK-08).
pub(super) fn terminated(calls: &[ToolCall], work: Option<&Work<'_>>) -> Option<ToolEnd> {
    let written = work
        .into_iter()
        .flat_map(|work| &work.commit.writes)
        .filter_map(|write| if let Write::UpdateCall(call) = write { Some(call.as_ref()) } else { None });
    let ends = calls.iter().chain(written).filter_map(|call| {
        let answer = call.answer.as_ref().filter(|answer| answer.terminate)?;
        Some(ToolEnd {
            status: task_status(answer.status),
            card: answer.card,
            tool_call_id: call.tool_call_id.clone(),
        })
    });
    // WK-08: a failed one wins, and success comes last.
    let rank = |end: &ToolEnd| match end.status {
        TaskStatus::Failed => 0,
        TaskStatus::Canceled | TaskStatus::Timeout | TaskStatus::Partial => 1,
        TaskStatus::Success => 2,
    };
    ends.min_by_key(rank)
}

const fn task_status(status: ToolStatus) -> TaskStatus {
    match status {
        ToolStatus::Success => TaskStatus::Success,
        ToolStatus::Failed => TaskStatus::Failed,
        ToolStatus::Canceled => TaskStatus::Canceled,
        ToolStatus::Timeout => TaskStatus::Timeout,
        ToolStatus::Partial => TaskStatus::Partial,
    }
}

/// Ends the turn.
pub(super) fn end(
    mut work: Work<'_>,
    snapshot: &Snapshot,
    end: End<'_>,
) -> Result<Decision<Outcome>, Rejection> {
    let taken_away = matches!(end, End::TakenAway { .. });
    let (tool_status, code) = match &end {
        End::Finished { .. } | End::Tools(_) => (ToolStatus::Canceled, "turn_ended"),
        End::TakenAway { .. } => (ToolStatus::Canceled, "turn_taken_away"),
    };
    work.close_calls(tool_status, code)?;
    let (status, error, error_code) = match &end {
        End::Finished { status, error, error_code, .. } => {
            (*status, error.map(str::to_owned), error_code.map(str::to_owned))
        }
        End::Tools(tools) => (tools.status, None, None),
        End::TakenAway { status, reason, .. } => {
            (*status, Some((*reason).to_owned()), Some((*reason).to_owned()))
        }
    };
    let deliverable = deliver(&mut work, snapshot, &end)?;
    // A box that takes no more holds up what its holder brings, and can keep for itself; never the end as such.
    if work.is_writable() || matches!(end, End::Finished { brings: true, .. }) {
        work.append(true)?;
    } else {
        work.leave_out();
    }
    let ended = Ended {
        status,
        deliverable,
        error,
        error_code,
        output: (work.held.live.watermark, work.output_len()),
        at: work.moment.now,
    };
    close_rows(&mut work, &ended);
    work.commit.writes.extend(branch_end(&work.held.rows.item, &ended));
    tell(&mut work, &ended);
    go_on(work, snapshot, taken_away, Outcome::Ended { status, deliverable })
}

/// The turn's own row and whatever else waits for it.
fn close_rows(work: &mut Work<'_>, ended: &Ended) {
    let item = &work.held.rows.item;
    let now = work.moment.now;
    let closed = InboxItem {
        status: InboxStatus::Consumed,
        processed_at: item.processed_at.or(Some(now)),
        ended: Some(ended.clone()),
        ..item.clone()
    };
    work.commit.writes.push(Write::UpdateInbox { from: item.status, item: Box::new(closed) });
    for report in &work.held.rows.reports {
        let skipped = InboxItem {
            status: InboxStatus::Skipped,
            processed_at: report.processed_at.or(Some(now)),
            reason: Some("turn_ended".to_owned()),
            ..report.clone()
        };
        work.commit.writes.push(Write::UpdateInbox { from: report.status, item: Box::new(skipped) });
    }
}

/// What a batch learns of the end of a turn that is one of its branches (BM-11), in the commit that ends the turn.
/// Invariant 15: the store takes the first end only.
pub(super) fn branch_end(item: &InboxItem, ended: &Ended) -> Option<Write> {
    let end = BranchEnd {
        key: item.branch?,
        status: ended.status,
        deliverable: Some(ended.deliverable),
        error_detail: ended.error.clone(),
        error_code: ended.error_code.clone(),
        at: ended.at,
    };
    Some(Write::EndBranch(Box::new(end)))
}

/// The one task event (NF-04).
fn tell(work: &mut Work<'_>, ended: &Ended) {
    let live = work.held.live;
    let item = &work.held.rows.item;
    let data = task_data(item, ended, Some(work.held.head.epoch.get()), &live.output_box.to_string());
    let mut event = work.event(EventKind::AgentTask, &data);
    event.batch_id = item.branch.map(|branch| branch.batch_id);
    work.commit.events.push(event);
}

/// What a task event says.
pub(super) fn task_data(item: &InboxItem, ended: &Ended, epoch: Option<u64>, output_box: &str) -> Value {
    let mut data = json!({
        "agent_turn_id": item.turn_id.to_string(),
        "status": ended.status.as_str(),
        "output_box_id": output_box,
        "deliverable_card_id": ended.deliverable.to_string(),
        "correlation_id": item.correlation_id,
    });
    if let Some(epoch) = epoch {
        data["turn_epoch"] = epoch.into();
    }
    for (key, value) in [("error", &ended.error), ("error_code", &ended.error_code)] {
        if let Some(value) = value {
            data[key] = value.clone().into();
        }
    }
    if let Some(parent) = item.parent_turn {
        data["parent_agent_turn_id"] = parent.to_string().into();
    }
    data
}

/// To the next turn, or to idle, in the commit that ends this one (invariant 1).
fn go_on(
    mut work: Work<'_>,
    snapshot: &Snapshot,
    taken_away: bool,
    outcome: Outcome,
) -> Result<Decision<Outcome>, Rejection> {
    let held = work.held;
    let epoch = if taken_away { held.head.epoch.next() } else { held.head.epoch };
    let idle = Head {
        agent_id: held.head.agent_id.clone(),
        epoch,
        live: None,
        last_output_box: Some(held.live.output_box),
        queued: 0,
        updated_at: work.moment.now,
    };
    let own = (held.live.output_box, work.output_len());
    let next = lease::next(&idle, &held.rows.next, snapshot, Some(own), work.moment)?;
    let mut guard = held.head.guard_move();
    let mut gone = next.taken;
    if held.rows.next.is_empty() {
        // Somebody who queues behind this turn meanwhile must find it ended, or be found here. Where the count says that somebody
        // waits already, and nobody does who can be read, the inbox is the truth.
        gone = held.head.queued;
        guard.queued = (gone, gone);
    }
    work.commit.writes.extend(next.writes);
    work.commit.events.extend(next.events);
    let gone = i32::try_from(gone).unwrap_or(i32::MAX);
    work.commit.writes.push(copy::move_head(guard, next.head, -gone));
    Ok(Decision { commit: work.commit, outcome })
}

/// The card that ends the turn: the one given, else the latest the turn has written, else one made of what there is.
fn deliver(work: &mut Work<'_>, snapshot: &Snapshot, end: &End<'_>) -> Result<CardId, Rejection> {
    use super::finish::Deliverable;
    match end {
        End::Finished { fence, deliverable, status, error, remains, .. } => match deliverable {
            Deliverable::Content(content) => {
                let agent = work.held.head.agent_id.to_string();
                let extra = [("role", json!("assistant")), ("author_id", json!(agent))];
                let card =
                    work.own_card("task.deliverable", &content.to_value(), &extra, None, Origin::Agent);
                Ok(work.put(card.map_err(|wrong| wrong.at("deliverable"))?))
            }
            Deliverable::Card(id) => add_existing(work, snapshot, (fence, *id)),
            Deliverable::Absent => match delivered(snapshot, work.deliverable(), work.moment.now) {
                Some(id) => Ok(id),
                None => {
                    fallback(work, *status, error.unwrap_or("no deliverable was given"), "l0.finish", remains)
                }
            },
        },
        End::Tools(tools) => {
            let content = json!({
                "schema_version": 1, "kind": "tool_deliverable", "status": tools.status.as_str(),
                "tool_call_id": tools.tool_call_id, "tool_result_card_id": tools.card.to_string(),
            });
            let agent = work.held.head.agent_id.to_string();
            let extra = [("role", json!("assistant")), ("author_id", json!(agent))];
            let card = work.own_card("task.deliverable", &content, &extra, None, Origin::Agent)?;
            Ok(work.put(card))
        }
        End::TakenAway { status, reason, remains } => {
            match delivered(snapshot, work.deliverable(), work.moment.now) {
                Some(id) => Ok(id),
                None => fallback(work, *status, reason, "pmo.l0_guard.watchdog", remains),
            }
        }
    }
}

/// What a turn has delivered, unless that was deleted or has expired since.
pub fn delivered(snapshot: &Snapshot, deliverable: Option<CardId>, now: Timestamp) -> Option<CardId> {
    let is_gone = |id: &CardId| snapshot.cards.get(id).is_some_and(|fact| !fact.is_visible(now));
    deliverable.filter(|id| !is_gone(id))
}

fn add_existing(
    work: &mut Work<'_>,
    snapshot: &Snapshot,
    (fence, id): (&Fence, CardId),
) -> Result<CardId, Rejection> {
    // It may be one of the cards that come with the finish itself, new or known: whoever sends all of a card has it.
    let fresh = work.commit.writes.iter().find_map(|write| {
        let Write::PutCard(card) = write else { return None };
        (card.id == id).then_some(&card.kind)
    });
    let repeated = snapshot.cards.get(&id).filter(|_| work.appended().contains(&id));
    let kind = match fresh.or(repeated.map(|fact| &fact.kind)) {
        Some(kind) => kind,
        None => &named::card(snapshot, fence, id, work.moment)?.kind,
    };
    if kind.as_str() != "task.deliverable" {
        return Err(Invalid::field("deliverable_card_id", "must be a card of type task.deliverable").into());
    }
    if !snapshot.members.contains(&id) && !work.appended().contains(&id) {
        work.add("task.deliverable", id);
    }
    Ok(id)
}

/// WD-06
fn fallback(
    work: &mut Work<'_>,
    status: TaskStatus,
    reason: &str,
    source: &str,
    remains: &Remains,
) -> Result<CardId, Rejection> {
    let card = fallback_card(work, status, reason, source, remains)?;
    Ok(work.put(card))
}

fn fallback_card(
    work: &Work<'_>,
    status: TaskStatus,
    reason: &str,
    source: &str,
    remains: &Remains,
) -> Result<Card, Invalid> {
    let content = fallback_content(status, reason, source, remains);
    let agent = work.held.head.agent_id.to_string();
    let extra = [
        ("role", json!("assistant")),
        ("author_id", json!(agent)),
        ("partial", json!(true)),
        ("stop_reason", json!(shorten(reason, limits::NAME_CHARS))),
    ];
    work.own_card("task.deliverable", &content, &extra, None, Origin::Agent)
}

/// The content of a deliverable that nobody wrote.
pub(super) fn fallback_content(status: TaskStatus, reason: &str, source: &str, remains: &Remains) -> Value {
    let thought = remains.last_thought.as_deref().map(|text| shorten(text, THOUGHT_CHARS));
    let message = format!("the turn ended without a deliverable: {reason}");
    json!({
        "schema_version": 1,
        "kind": "fallback_deliverable",
        "status": "partial",
        "partial": true,
        "message": message,
        "fields": [
            { "name": "summary", "value": message },
            { "name": "output", "value": thought },
            { "name": "reason", "value": reason },
        ],
        "diagnostics": {
            "source": source,
            "tool_result_count": remains.tool_results,
            "last_agent_thought": thought,
            "partial": true,
            "terminal_status": status.as_str(),
        },
    })
}

/// Longest thought that a made-up deliverable repeats.
const THOUGHT_CHARS: usize = 2_000;

fn shorten(text: &str, chars: usize) -> String {
    text.chars().take(chars).collect()
}

/// Cards that are written with the end of a turn.
pub(super) fn write_cards(
    work: &mut Work<'_>,
    snapshot: &Snapshot,
    cards: &[NewCard],
    calls: &[ToolCall],
) -> Result<(), Rejection> {
    super::append::write(work, snapshot, cards, calls).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{agent::TestAgent, box_id};
    use cardwire_model::Timestamp;

    /// WD-06
    #[test]
    fn what_remains_are_answers_of_tools_and_the_last_thought() {
        let agent = TestAgent::new();
        let card = |kind: &str, content: &str| {
            agent.card(kind, content, kind.starts_with("tool.").then_some("c1")).card
        };
        let answer = r#"{"status":"success","result":1}"#;
        let cards = [
            card("agent.thought", r#""first""#),
            card("tool.result", answer),
            card("agent.thought", r#"{"plan":2}"#),
            card("tool.call", r#"{"tool_name":"t","arguments":{}}"#),
            card("tool.result", answer),
        ];
        let last_thought = Some(r#"{"plan":2}"#.to_owned());
        assert_eq!(Remains::of(&cards), Remains { tool_results: 2, last_thought });
        assert_eq!(Remains::of(&cards[..1]).last_thought.as_deref(), Some("first"));
        assert_eq!(Remains::of([]), Remains::default());
    }

    #[test]
    fn so_much_of_a_long_output_is_looked_at_and_nothing_of_earlier_turns() {
        let most = limits::REMAINS_ENTRIES;
        let since = |watermark, len, entries| {
            let head = BoxHead { len, entries, ..BoxHead::empty(box_id(1), Timestamp::from_micros(0)) };
            Remains::since(watermark, &head)
        };
        assert_eq!(since(0, most, most), 0);
        assert_eq!(since(0, most + 1, most + 1), 1);
        assert_eq!(since(5, most + 1, most + 1), 5);
        assert_eq!(since(5, 7, 3), 1, "five cards in one entry stood there before");
    }
}
