//! What a run of a team writes, and that it writes all or nothing.

use super::*;
use crate::{
    RefusalCode,
    fixtures::{agent::TestAgent, card, moment, project},
};
use cardwire_model::{CanonicalJson, Head, ResourceKind, TurnEpoch, limits};

const CONTROLLER: &str = "team_crew";

fn add(id: &str, profile: &str) -> AddAgent {
    AddAgent {
        id: id.parse().unwrap(),
        profile_name: profile.parse().unwrap(),
        display_name: None,
        tags: None,
        metadata: CanonicalJson::empty_object(),
        refresh: true,
        trace_id: None,
    }
}

fn ready() -> Ready {
    let (none, moment) = (Snapshot::default(), moment());
    let mut ready = Ready::new(&project());
    let tool = PutResource {
        kind: ResourceKind::Tool,
        name: "publish".parse().unwrap(),
        card: card(1, "tool"),
        current: None,
        rival: None,
    };
    ready.tool(&none, &tool, &moment).unwrap();
    let profile = PutProfile {
        name: CONTROLLER.parse().unwrap(),
        worker_target: "w".parse().unwrap(),
        tags: vec![],
        card: card(2, "profile"),
        current: None,
    };
    ready.profile(&none, &profile, &moment).unwrap();
    ready.agent(none, &add(CONTROLLER, CONTROLLER), &moment).unwrap();
    ready
}

fn dispatch(ready: &mut Ready) -> Dispatch {
    let agent: AgentId = CONTROLLER.parse().unwrap();
    Dispatch {
        context_box: Some(ready.query(card(3, "why"), &moment())),
        profile_box: ready.profile_box(&agent),
        agent_id: Some(agent),
        ..TestAgent::new().dispatch_command()
    }
}

fn code<T: std::fmt::Debug>(refused: Result<T, Rejection>) -> RefusalCode {
    match refused {
        Err(Rejection::Refused(refusal)) => refusal.code,
        other => panic!("{other:?}"),
    }
}

/// W-13
#[test]
fn a_run_is_one_commit_with_all_that_it_needs() {
    let mut ready = ready();
    let command = dispatch(&mut ready);
    let decision = ready.dispatch(&Snapshot::default(), &command, &moment()).unwrap();
    let writes = &decision.commit.writes;
    let count = |is: fn(&Write) -> bool| writes.iter().filter(|write| is(write)).count();
    assert_eq!(count(|write| matches!(write, Write::PutCard(_))), 3, "tool, profile and query");
    assert_eq!(count(|write| matches!(write, Write::PutResource { .. })), 2, "and its name is held");
    assert_eq!(count(|write| matches!(write, Write::PutProfile { .. })), 1);
    assert_eq!(count(|write| matches!(write, Write::PutAgent { .. })), 1);
    assert_eq!(count(|write| matches!(write, Write::Enqueue(_))), 1);
    assert_eq!(count(|write| matches!(write, Write::SealBox { .. })), 0, "what is given is sealed when made");
    let Dispatched::Accepted(receipt) = decision.outcome else { panic!("{:?}", decision.outcome) };
    assert_eq!((receipt.agent_id.as_str(), Some(receipt.context_box)), (CONTROLLER, command.context_box));
}

#[test]
fn an_agent_has_a_profile_of_the_team_and_of_nobody_else() {
    let mut ready = ready();
    let refused = ready.agent(Snapshot::default(), &add("x", "elsewhere"), &moment());
    assert!(matches!(refused, Err(Rejection::NotFound { what: "profile", .. })));
    let there = TestAgent::new().roster();
    let snapshot = Snapshot { agent: Some(there), ..Snapshot::default() };
    let refused = ready.agent(snapshot, &add("a", CONTROLLER), &moment());
    assert_eq!(code(refused), RefusalCode::ExistingAgentProfile);
}

/// W-13, SEC-07
#[test]
fn a_run_that_the_inbox_has_no_room_for_is_nothing() {
    let mut ready = ready();
    let command = dispatch(&mut ready);
    let head = |queued| Head {
        agent_id: CONTROLLER.parse().unwrap(),
        epoch: TurnEpoch::ZERO,
        live: None,
        last_output_box: None,
        queued,
        updated_at: moment().now,
    };
    let full = Snapshot { head: Some(head(limits::INBOX_TURNS - 1)), ..Snapshot::default() };
    assert_eq!(code(ready.dispatch(&full, &command, &moment())), RefusalCode::InboxFull);
    let room = Snapshot { head: Some(head(limits::INBOX_TURNS - 2)), ..Snapshot::default() };
    assert!(!ready.dispatch(&room, &command, &moment()).unwrap().commit.is_empty());
}
