//! Leasing: a turn of the inbox becomes the live turn of an idle agent (DP-13, DP-14, NF-10).
//!
//! Invariant 2: a lease raises the epoch. Invariant 9: the oldest waiting turn is leased first.

use super::{
    ending::{self, Remains},
    reason,
    work::own_card,
};
use crate::{Moment, Rejection, decision::own_json};
use cardwire_model::{
    BoxHead, BoxId, CardId, Ended, EventKind, Expect, Head, InboxItem, InboxKind, InboxStatus, Live,
    LiveState, NewEvent, Origin, Snapshot, Status, TaskStatus, TurnPayload, Write, event::PUBLIC_CHANNEL,
    limits,
};
use serde_json::{Value, json};

/// What comes of looking for the next turn.
pub(super) struct Next {
    /// The agent with its new live turn, or as it was.
    pub(super) head: Head,
    pub(super) writes: Vec<Write>,
    pub(super) events: Vec<NewEvent>,
    /// Turns that do not wait any more.
    pub(super) taken: u32,
}

/// The output box of the turn that would be leased next: its length must be known to lease it.
pub fn next_output_box(waiting: &[InboxItem]) -> Option<BoxId> {
    waiting
        .iter()
        .take(limits::POISON_ROWS + 1)
        .find_map(|item| usable(item).ok())
        .map(|payload| payload.output_box)
}

/// The oldest turn that can be used; malformed rows before it are put away, at most so many at a time (DP-14).
/// `own` is the box the last turn wrote and the length it has after this commit.
pub(super) fn next(
    idle: &Head,
    waiting: &[InboxItem],
    snapshot: &Snapshot,
    own: Option<(BoxId, u32)>,
    moment: &Moment,
) -> Result<Next, Rejection> {
    let mut next = Next { head: idle.clone(), writes: vec![], events: vec![], taken: 0 };
    for item in waiting {
        match usable(item) {
            Err(_) if next.taken as usize >= limits::POISON_ROWS => break,
            Err(code) => {
                next.taken += 1;
                put_away(&mut next, item, &code, moment)?;
            }
            Ok(payload) => {
                let len = match own {
                    Some((box_id, len)) if box_id == payload.output_box => len,
                    Some(_) | None => snapshot.boxes.get(&payload.output_box).map_or(0, |head| head.len),
                };
                next.taken += 1;
                lease_into(&mut next, idle, item, &payload, len, moment);
                break;
            }
        }
    }
    Ok(next)
}

fn lease_into(
    next: &mut Next,
    idle: &Head,
    item: &InboxItem,
    payload: &TurnPayload,
    watermark: u32,
    moment: &Moment,
) {
    let mut head = leased(idle, item, payload, watermark, moment);
    head.last_output_box = idle.last_output_box;
    let pending = InboxItem { status: InboxStatus::Pending, epoch: Some(head.epoch), ..item.clone() };
    next.writes.push(Write::UpdateInbox { from: item.status, item: Box::new(pending) });
    next.events.push(dispatched_event(&head, moment));
    next.head = head;
}

/// The head of an agent whose next turn this is.
pub(super) fn leased(
    idle: &Head,
    item: &InboxItem,
    payload: &TurnPayload,
    watermark: u32,
    moment: &Moment,
) -> Head {
    let live = Live {
        turn_id: item.turn_id,
        inbox_id: item.id,
        state: LiveState::Dispatched,
        channel: item.channel.clone().unwrap_or_else(cardwire_model::Channel::public),
        worker_target: item.worker_target.clone(),
        profile_box: payload.profile_box,
        context_box: payload.context_box,
        output_box: payload.output_box,
        watermark,
        depth: item.depth.unwrap_or(0),
        trace_id: item.trace_id.clone().unwrap_or_default(),
        parent_step: item.parent_step.clone(),
        dispatched_at: moment.now,
        rung_at: Some(moment.now),
        deliverable: None,
        open_calls: 0,
        marks: 0,
    };
    Head {
        agent_id: idle.agent_id.clone(),
        epoch: idle.epoch.next(),
        live: Some(Box::new(live)),
        last_output_box: idle.last_output_box,
        queued: idle.queued,
        updated_at: moment.now,
    }
}

/// DP-12
pub(super) fn dispatched_event(head: &Head, moment: &Moment) -> NewEvent {
    let mut data = json!({ "status": Status::Dispatched.as_str(), "turn_epoch": head.epoch.get() });
    let mut event = moment.event(EventKind::AgentState, &head.agent_id, &data);
    if let Some(live) = &head.live {
        data["agent_turn_id"] = live.turn_id.to_string().into();
        data["output_box_id"] = live.output_box.to_string().into();
        event.data = own_json(&data);
        event.channel = live.channel.to_string();
        event.turn_id = Some(live.turn_id);
        event.trace_id = Some(live.trace_id.clone());
    }
    event.agent_id = Some(head.agent_id.clone());
    event
}

/// What is wrong with a row that was to become a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) code: &'static str,
    pub(super) detail: String,
}

/// Whether a row can become a turn (DP-14, WD-10).
pub(super) fn usable(item: &InboxItem) -> Result<TurnPayload, Fault> {
    if let Some(code) = damaged_context(item) {
        return Err(Fault { code, detail: code.to_owned() });
    }
    TurnPayload::from_stored(&item.payload).map_err(|fault| {
        let detail = match &fault {
            cardwire_model::PayloadFault::Missing(fields) => {
                [fault.code(), &fields.join(reason::COMMA)].join(reason::COLON)
            }
            cardwire_model::PayloadFault::InvalidJson
            | cardwire_model::PayloadFault::InvalidType
            | cardwire_model::PayloadFault::InvalidContext => fault.code().to_owned(),
        };
        Fault { code: fault.code(), detail }
    })
}

/// WD-10: a row that lacks what every row of ours has was damaged.
pub(super) fn damaged_context(item: &InboxItem) -> Option<&'static str> {
    if item.channel.is_none() {
        Some(reason::MISSING_CHANNEL)
    } else if item.trace_id.is_none() || item.depth.is_none() {
        Some(reason::INVALID_REPLAY_CONTEXT)
    } else {
        None
    }
}

/// A waiting turn that will never run: its row is put away, and it ends like any other turn, with an event and a
/// deliverable (NF-04).
fn put_away(next: &mut Next, item: &InboxItem, fault: &Fault, moment: &Moment) -> Result<(), Rejection> {
    let end = EndUnleased {
        status: TaskStatus::Failed,
        row: InboxStatus::Error,
        reason: &fault.detail,
        code: fault.code,
        error: None,
    };
    let ended = end_unleased(item, &end, None, moment)?;
    next.writes.extend(ended.writes);
    next.events.push(ended.event);
    Ok(())
}

/// How a turn that was never leased ends.
pub(super) struct EndUnleased<'a> {
    pub(super) status: TaskStatus,
    pub(super) row: InboxStatus,
    pub(super) reason: &'a str,
    pub(super) code: &'a str,
    /// What an `agent.error` card says of it before the deliverable, where there is a box with room for both.
    pub(super) error: Option<&'a Value>,
}

/// The end of a turn that was never leased.
pub(super) struct Unleased {
    pub(super) writes: Vec<Write>,
    pub(super) expect: Option<Expect>,
    pub(super) event: NewEvent,
    pub(super) deliverable: CardId,
}

/// Ends it with a deliverable in its output box (WK-06); without `output` in none: that box may be unknown, or another turn
/// writes it.
pub(super) fn end_unleased(
    item: &InboxItem,
    end: &EndUnleased<'_>,
    output: Option<&BoxHead>,
    moment: &Moment,
) -> Result<Unleased, Rejection> {
    debug_assert!(item.kind == InboxKind::Turn, "only turns end");
    let content =
        ending::fallback_content(end.status, end.reason, "pmo.l0_guard.dispatcher", &Remains::default());
    let own = |kind, content, extra: &[_]| {
        own_card(item.turn_id, kind, content, extra, (None, Origin::Agent), moment)
    };
    let extra = [
        ("role", json!("assistant")),
        ("author_id", json!(item.agent_id.to_string())),
        ("partial", json!(true)),
        ("stop_reason", json!(end.code)),
    ];
    let card = own("task.deliverable", &content, &extra)?;
    let deliverable = card.id;
    let room = output.map_or(0, |head| limits::BOX_CARDS.saturating_sub(head.len as usize));
    let told = match end.error.filter(|_| room > 1) {
        Some(content) => Some(own(
            "agent.error",
            content,
            &[("role", json!("system")), ("author_id", json!("sys.kernel"))],
        )?),
        None => None,
    };
    let cards: Vec<CardId> = told.iter().map(|told| told.id).chain([deliverable]).collect();
    let ended = Ended {
        status: end.status,
        deliverable,
        error: Some(end.reason.to_owned()),
        error_code: Some(end.code.to_owned()),
        output: output.map_or((0, 0), |head| (head.len, head.len + cards.len() as u32)),
        at: moment.now,
    };
    let output_id = item.output_box.map(|id| id.to_string()).unwrap_or_default();
    let data = ending::task_data(item, &ended, None, &output_id);
    let event = NewEvent {
        channel: item.channel.as_ref().map_or_else(|| PUBLIC_CHANNEL.to_owned(), ToString::to_string),
        agent_id: Some(item.agent_id.clone()),
        turn_id: Some(item.turn_id),
        batch_id: item.branch.map(|branch| branch.batch_id),
        trace_id: item.trace_id.clone(),
        ..moment.event(EventKind::AgentTask, &item.agent_id, &data)
    };
    let branch = ending::branch_end(item, &ended);
    let closed = InboxItem {
        status: end.row,
        processed_at: Some(moment.now),
        reason: Some(end.reason.to_owned()),
        ended: Some(ended),
        ..item.clone()
    };
    let mut writes: Vec<Write> =
        told.into_iter().chain([card]).map(|card| Write::PutCard(Box::new(card))).collect();
    writes.push(Write::UpdateInbox { from: item.status, item: Box::new(closed) });
    writes.extend(branch);
    let append =
        |head: &BoxHead| Write::AppendCards { box_id: head.box_id, generation: head.generation, cards };
    writes.extend(output.map(append));
    // As it was: where the deliverable stands is in the row.
    let expect = output.map(|head| Expect::OpenBox {
        box_id: head.box_id,
        generation: head.generation,
        min_len: head.len,
        max_len: head.len,
    });
    Ok(Unleased { writes, expect, event, deliverable })
}
