//! Rebuild the head of an agent that has lost it (WD-08, W-14). The epoch never goes back (NF-02); a turn whose row is
//! still open is leased again under a new epoch, so that whoever had it is fenced off.

use super::lease;
use crate::{Decision, Moment, Rejection};
use cardwire_model::{
    AgentId, AuditAction, BoxId, CardId, Commit, Head, InboxItem, InboxStatus, LiveState, Lost, ProjectId,
    Snapshot, TurnEpoch, Write,
};
use serde_json::json;

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rebuilt {
    /// The head was there.
    Present(Box<Head>),
    /// It is there again.
    Restored(Box<Head>),
    /// There is nothing to rebuild it from.
    Unknown,
}

/// What the turn that was live has done since its head was copied: writes that leave a turn where it is are not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Since {
    /// Its calls without an answer.
    pub open_calls: u32,
    /// The last deliverable in its output box.
    pub deliverable: Option<CardId>,
}

impl Since {
    /// Where to look for a deliverable: the box, and how many of its cards were there before the turn. Nowhere, if the copy
    /// does not know the turn, because nobody knows then which cards are its own (WD-06).
    pub fn output(snapshot: &Snapshot) -> Option<(BoxId, u32)> {
        let lost = snapshot.lost.as_ref()?;
        let live = lost.copy.as_ref()?.live.as_deref()?;
        let is_open = lost.open.as_ref().is_some_and(|item| item.turn_id == live.turn_id);
        is_open.then_some((live.output_box, live.watermark))
    }
}

/// Rebuilds the head from its copy and from the inbox.
pub fn decide(
    snapshot: &Snapshot,
    project: &ProjectId,
    agent_id: &AgentId,
    since: Since,
    moment: &Moment,
) -> Result<Decision<Rebuilt>, Rejection> {
    if let Some(head) = &snapshot.head {
        return Ok(Decision::nothing(project.clone(), Rebuilt::Present(Box::new(head.clone()))));
    }
    let Some(lost) = snapshot.lost.as_ref().filter(|lost| lost.is_something()) else {
        return Ok(Decision::nothing(project.clone(), Rebuilt::Unknown));
    };
    let mut commit = Commit::new(project.clone());
    let epoch = lost.copy.as_ref().map_or(TurnEpoch::ZERO, |copy| copy.epoch).max(lost.highest);
    let idle = Head {
        agent_id: agent_id.clone(),
        epoch,
        live: None,
        last_output_box: copied_output(lost).or(lost.last_output_box),
        queued: lost.queued,
        updated_at: moment.now,
    };
    let head = match lost.open.as_ref().and_then(|item| restore(&idle, lost, item, (snapshot, since), moment))
    {
        Some((head, item)) => {
            let from = lost.open.as_ref().map_or(InboxStatus::Pending, |open| open.status);
            commit.writes.push(Write::UpdateInbox { from, item: Box::new(item) });
            commit.events.push(lease::dispatched_event(&head, moment));
            head
        }
        None => idle,
    };
    commit.writes.push(Write::CreateHead(Box::new(head.clone())));
    let detail = json!({ "turn_epoch": head.epoch.get(), "status": head.status().as_str() });
    commit.audit.push(moment.audit(AuditAction::StateRebuild, agent_id, &detail));
    Ok(Decision { commit, outcome: Rebuilt::Restored(Box::new(head)) })
}

/// Where the last turn wrote, according to the copy. One that was live when it was copied, and whose row is no longer
/// open, has ended since: ends within an epoch are not copied.
fn copied_output(lost: &Lost) -> Option<BoxId> {
    let copy = lost.copy.as_ref()?;
    let is_open = |turn| lost.open.as_ref().is_some_and(|item| item.turn_id == turn);
    match &copy.live {
        Some(live) if !is_open(live.turn_id) => Some(live.output_box),
        Some(_) | None => copy.last_output_box,
    }
}

/// The turn that was live, dispatched again.
fn restore(
    idle: &Head,
    lost: &Lost,
    item: &InboxItem,
    (snapshot, since): (&Snapshot, Since),
    moment: &Moment,
) -> Option<(Head, InboxItem)> {
    let copy =
        lost.copy.as_ref().and_then(|copy| copy.live.as_ref()).filter(|live| live.turn_id == item.turn_id);
    let mut head = match copy {
        Some(live) => {
            let mut live = live.clone();
            live.state = LiveState::Dispatched;
            live.dispatched_at = moment.now;
            live.rung_at = Some(moment.now);
            Head { epoch: idle.epoch.next(), live: Some(live), ..idle.clone() }
        }
        None => {
            let payload = lease::usable(item).ok()?;
            let len = output_len(snapshot, payload.output_box);
            lease::leased(idle, item, &payload, len, moment)
        }
    };
    head.queued = idle.queued;
    if let Some(live) = &mut head.live {
        live.open_calls = since.open_calls;
        live.deliverable = since.deliverable.or(live.deliverable);
    }
    let pending = InboxItem {
        status: InboxStatus::Pending,
        epoch: Some(head.epoch),
        worker_id: None,
        processed_at: None,
        next_retry_at: None,
        ..item.clone()
    };
    Some((head, pending))
}

fn output_len(snapshot: &Snapshot, box_id: BoxId) -> u32 {
    snapshot.boxes.get(&box_id).map_or(0, |head| head.len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fixtures::{agent::TestAgent, project},
        turn::Command,
    };
    use cardwire_model::Status;
    use uuid::Uuid;

    /// WD-08, W-14, NF-02: a lost head comes back with a higher epoch, and the turn it had with it.
    #[test]
    fn a_lost_head_is_rebuilt_and_its_old_holder_fenced_off() {
        let (mut agent, fence) = TestAgent::running();
        let head = agent.head.take().unwrap();
        let lost = Lost {
            copy: Some(head.clone()),
            highest: head.epoch,
            open: agent.row(fence.turn_id).cloned(),
            last_output_box: None,
            queued: 0,
        };
        assert_eq!(agent.run(&Command::Heartbeat(fence.clone())), Err(Rejection::Lost("a".parse().unwrap())));
        let snapshot = Snapshot { lost: Some(lost), ..Snapshot::default() };
        let decision =
            decide(&snapshot, &project(), &head.agent_id, Since::default(), &agent.moment).unwrap();
        let Rebuilt::Restored(restored) = &decision.outcome else { panic!("{:?}", decision.outcome) };
        assert_eq!((restored.epoch.get(), restored.status()), (2, Status::Dispatched));
        assert_eq!(restored.live.as_ref().unwrap().output_box, head.live.as_ref().unwrap().output_box);
        agent.apply(decision.commit);
        assert!(matches!(agent.run(&Command::Heartbeat(fence)), Err(Rejection::StaleTurn(..))));
        let empty =
            Lost { copy: None, highest: TurnEpoch::ZERO, open: None, last_output_box: None, queued: 0 };
        let snapshot = Snapshot { lost: Some(empty), ..Snapshot::default() };
        let nothing = decide(&snapshot, &project(), &head.agent_id, Since::default(), &agent.moment).unwrap();
        assert_eq!(nothing.outcome, Rebuilt::Unknown);
    }

    /// WD-06, WD-08: cards leave a turn where it is, so that the copy does not know of them.
    #[test]
    fn a_rebuilt_turn_has_delivered_what_it_had() {
        let (agent, fence) = TestAgent::running();
        let head = agent.head.clone().unwrap();
        let live = head.live.as_deref().unwrap();
        let delivered = Some(crate::fixtures::card_id(9));
        let rebuilt = |open| {
            let copy = Some(head.clone());
            let lost = Lost { copy, highest: head.epoch, open, last_output_box: None, queued: 0 };
            let snapshot = Snapshot { lost: Some(lost), ..Snapshot::default() };
            let since = Since { open_calls: 2, deliverable: delivered };
            let decision = decide(&snapshot, &project(), &head.agent_id, since, &agent.moment).unwrap();
            let Rebuilt::Restored(restored) = decision.outcome else { panic!("{:?}", decision.outcome) };
            (Since::output(&snapshot), restored.live.map(|live| (live.open_calls, live.deliverable)))
        };
        let open = agent.row(fence.turn_id).cloned();
        assert_eq!(rebuilt(open), (Some((live.output_box, live.watermark)), Some((2, delivered))));
        assert_eq!(rebuilt(None), (None, None));
    }

    /// WD-08: ends within an epoch are not copied, so what the copy says of the last output depends on whether its turn is open.
    #[test]
    fn a_rebuilt_head_knows_where_the_last_turn_wrote() {
        let (agent, fence) = TestAgent::running();
        let before = BoxId::from_uuid(Uuid::from_u128(77));
        let head = Head { last_output_box: Some(before), ..agent.head.clone().unwrap() };
        let output = head.live.as_ref().unwrap().output_box;
        let idle = Head { live: None, ..head.clone() };
        let open = agent.row(fence.turn_id).cloned();
        let cases = [
            (&head, open, Status::Dispatched, before),
            (&head, None, Status::Idle, output),
            (&idle, None, Status::Idle, before),
        ];
        for (copy, open, status, last) in cases {
            let copy = Some(copy.clone());
            let lost = Lost { copy, highest: head.epoch, open, last_output_box: None, queued: 0 };
            let snapshot = Snapshot { lost: Some(lost), ..Snapshot::default() };
            let decision =
                decide(&snapshot, &project(), &head.agent_id, Since::default(), &agent.moment).unwrap();
            let Rebuilt::Restored(restored) = decision.outcome else { panic!("{:?}", decision.outcome) };
            assert_eq!((restored.status(), restored.last_output_box), (status, Some(last)));
        }
    }
}
