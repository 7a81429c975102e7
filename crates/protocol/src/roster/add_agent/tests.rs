//! Each rule of the roster by its number.

use super::*;
use crate::fixtures::{box_id, card_id, moment, project};
use cardwire_model::{Profile, Timestamp};

fn profile(name: &str) -> Profile {
    Profile {
        name: name.parse().unwrap(),
        worker_target: "generic".parse().unwrap(),
        profile_box: box_id(50),
        card_id: card_id(50),
        tags: vec!["cheap".to_owned()],
        revision: Revision::FIRST,
        created_at: Timestamp::from_micros(0),
        updated_at: Timestamp::from_micros(0),
        deleted_at: None,
    }
}

fn command() -> AddAgent {
    AddAgent {
        id: "a".parse().unwrap(),
        profile_name: "Helper".parse().unwrap(),
        display_name: None,
        tags: None,
        metadata: CanonicalJson::empty_object(),
        refresh: false,
        trace_id: None,
    }
}

fn add(command: &AddAgent, agent: Option<Agent>) -> Result<Decision<Added>, Rejection> {
    let profile = Some(profile(command.profile_name.as_str()));
    decide(&Snapshot { profile, agent, ..Snapshot::default() }, &project(), command, &moment())
}

fn added() -> Agent {
    let added = add(&command(), None).unwrap().outcome;
    assert!(added.created);
    added.agent
}

#[test]
fn pm_02_a_new_agent_is_a_row_and_an_edge_and_the_same_again_is_nothing() {
    let commit = add(&command(), None).unwrap().commit;
    let [Write::PutAgent { was: None, agent }, Write::AddIdentityEdge(edge)] = &commit.writes[..] else {
        panic!("{:?}", commit.writes)
    };
    assert_eq!((edge.action, &edge.target_agent), (IdentityAction::Provision, &agent.id));
    assert_eq!(
        (commit.events[0].kind, commit.audit[0].action),
        (EventKind::AgentProvisioned, AuditAction::AgentProvision)
    );
    let again = add(&command(), Some(added())).unwrap();
    assert!(again.commit.is_empty() && !again.outcome.created);
    assert_eq!(again.outcome.agent, added());
    let renamed = AddAgent { display_name: Some("A".to_owned()), ..command() };
    let commit = add(&renamed, Some(added())).unwrap().commit;
    let [Write::PutAgent { was: Some(was), agent }, Write::AddIdentityEdge(edge)] = &commit.writes[..] else {
        panic!("{:?}", commit.writes)
    };
    assert_eq!((*was, agent.revision), (Revision::FIRST, Revision::FIRST.next()));
    assert_eq!(edge.action, IdentityAction::Update);
}

#[test]
fn pm_03_an_agent_keeps_its_profile_and_tags() {
    let refused = |command: AddAgent| match add(&command, Some(added())) {
        Err(Rejection::Refused(refusal)) => refusal.code,
        other => panic!("{other:?}"),
    };
    let other = AddAgent { profile_name: "Other".parse().unwrap(), ..command() };
    assert_eq!(refused(other), RefusalCode::ExistingAgentProfile);
    for tags in [vec![], vec!["fast".to_owned()]] {
        let other = AddAgent { tags: Some(tags), ..command() };
        assert_eq!(refused(other), RefusalCode::ExistingAgentTags);
    }
    // What the profile has become meanwhile is for new agents.
    let before = Agent { profile_box: box_id(49), worker_target: "old".parse().unwrap(), ..added() };
    let metadata = |text| CanonicalJson::parse(text, "metadata").unwrap();
    let before =
        Agent { metadata: metadata(r#"{"k":1,"l":1}"#), owner: Some("o".parse().unwrap()), ..before };
    let changed = AddAgent { metadata: metadata(r#"{"k":2}"#), ..command() };
    let after = add(&changed, Some(before.clone())).unwrap().outcome.agent;
    let expected =
        Agent { metadata: metadata(r#"{"k":2,"l":1}"#), revision: before.revision.next(), ..before };
    assert_eq!(after, expected);
}

fn with_metadata(text: &str) -> AddAgent {
    AddAgent { metadata: CanonicalJson::parse(text, "metadata").unwrap(), ..command() }
}

#[test]
fn pm_03_metadata_is_bounded_as_a_whole_and_says_for_ever_where_the_agent_came_from() {
    let half = "x".repeat(limits::METADATA_BYTES / 2);
    let first = add(&with_metadata(&format!(r#"{{"a":"{half}"}}"#)), None).unwrap().outcome.agent;
    let more = with_metadata(&format!(r#"{{"b":"{half}"}}"#));
    let refused = add(&more, Some(first)).unwrap_err();
    assert!(matches!(refused, Rejection::Invalid(Invalid::TooLarge { .. })), "{refused:?}");

    let from = Agent {
        metadata: CanonicalJson::parse(r#"{"derived_from":"x","spawned_by":"y"}"#, "metadata").unwrap(),
        ..added()
    };
    let forged = with_metadata(r#"{"derived_from":"z","spawned_by":"z","note":1}"#);
    let kept = add(&forged, Some(from)).unwrap().outcome.agent.metadata;
    assert_eq!(kept.as_str(), r#"{"derived_from":"x","note":1,"spawned_by":"y"}"#);
}
