//! Each rule of provisioning by its number.

use super::*;
use crate::fixtures::{box_id, card_id, moment, project};
use cardwire_model::{Channel, IdentityAction, IdentityEdge, InheritMode, PmoSettings, Timestamp, Write};

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

fn call() -> Call {
    Call {
        tool: "provision_agent".to_owned(),
        caller: "boss".parse().unwrap(),
        by_turn: None,
        at_turn: None,
        epoch: None,
        proof: crate::turn::Proof::Operator,
        channel: "team".parse::<Channel>().unwrap(),
        trace_id: "t".to_owned(),
        is_traced: true,
        names_channel: true,
        args: Map::new(),
        max_depth: 20,
        acl: InheritMode::Enforce,
        pmo: PmoSettings::default(),
        require_policy: false,
        carries_out: None,
        run: Default::default(),
    }
}

fn parse(args: &Value) -> Result<Provision, Rejection> {
    Provision::parse(args.as_object().unwrap())
}

fn provision(args: &Value, given: &Given) -> Result<Decision<(Agent, bool)>, Rejection> {
    decide(&project(), &call(), &parse(args)?, given, &moment())
}

fn with_profile() -> Given {
    Given { profile: Some(profile("Helper")), ..Given::default() }
}

/// The agent that these arguments make.
fn made(args: &Value, given: &Given) -> Agent {
    let (agent, created) = provision(args, given).unwrap().outcome;
    assert!(created);
    agent
}

fn existing() -> Given {
    let agent =
        made(&json!({ "agent_id": "a", "profile_name": "Helper", "metadata": { "k": 1 } }), &with_profile());
    Given { existing: Some(agent), ..with_profile() }
}

fn refused<T: std::fmt::Debug>(result: Result<T, Rejection>) -> &'static str {
    let rejection = result.unwrap_err();
    let Rejection::Refused(refusal) = rejection else { panic!("{rejection:?}") };
    assert_eq!(refusal.verdict.as_str(), "rejected");
    refusal.code.as_str()
}

fn edges(commit: &Commit) -> Vec<&IdentityEdge> {
    let edges = commit.writes.iter().filter_map(|write| {
        if let Write::AddIdentityEdge(edge) = write { Some(edge.as_ref()) } else { None }
    });
    edges.collect()
}

#[test]
fn pm_02_the_agent_and_the_edge_are_one_commit_and_nothing_new_is_nothing() {
    let args = json!({ "agent_id": "a", "profile_name": "Helper", "display_name": "A" });
    let first = provision(&args, &with_profile()).unwrap();
    let [Write::PutAgent { was: None, agent }, Write::AddIdentityEdge(edge)] = &first.commit.writes[..]
    else {
        panic!("{:?}", first.commit.writes)
    };
    assert_eq!(*agent.as_ref(), first.outcome.0);
    assert_eq!((edge.action, edge.target_agent.as_str()), (IdentityAction::Provision, "a"));
    assert_eq!(edge.source_agent.as_ref().map(AgentId::as_str), Some("boss"));
    // Who listens on the channel hears of it there.
    assert_eq!((edge.channel.as_str(), &*first.commit.events[0].channel), ("team", "team"));
    assert_eq!((edge.channel.as_str(), edge.trace_id.as_deref()), ("team", Some("t")));
    let facts = json!({
        "profile_box_id": box_id(50).to_string(),
        "worker_target": "generic",
        "tags": ["cheap"],
        "display_name": "A",
        "owner_agent_id": "boss",
    });
    assert_eq!(edge.metadata.to_value(), facts);

    let known = Given { existing: Some(first.outcome.0.clone()), ..with_profile() };
    let step = Some("step_9".parse().unwrap());
    let in_step = provision(&args, &Given { caller_step: step.clone(), ..with_profile() }).unwrap();
    assert_eq!((&edges(&in_step.commit)[0].parent_step, &edge.parent_step), (&step, &None));
    let again = provision(&args, &known).unwrap();
    assert!(again.commit.is_empty());
    assert_eq!(again.outcome, (first.outcome.0.clone(), false));

    let renamed = provision(&json!({ "agent_id": "a", "display_name": "B" }), &known).unwrap();
    let [edge] = edges(&renamed.commit)[..] else { panic!("{:?}", renamed.commit.writes) };
    assert_eq!(
        (edge.action, &edge.metadata.to_value()["display_name"]),
        (IdentityAction::Update, &json!("B"))
    );
    assert_eq!(renamed.outcome.0.revision, first.outcome.0.revision.next());
    assert_eq!(renamed.commit.writes.len(), 2);
}

#[test]
fn pm_03_what_an_agent_is_does_not_change() {
    let known = existing();
    let other = Given { profile: Some(profile("Other")), ..known.clone() };
    for (change, given, code) in [
        (json!({ "profile_name": "Other" }), &other, "existing_agent_profile_mutation_forbidden"),
        (json!({ "owner_agent_id": "me" }), &known, "existing_agent_owner_mutation_forbidden"),
        (json!({ "worker_target": "other" }), &known, "existing_agent_worker_target_mutation_forbidden"),
        (json!({ "tags": [] }), &known, "existing_agent_tags_mutation_forbidden"),
        (json!({ "tags": ["cheap", "fast"] }), &known, "existing_agent_tags_mutation_forbidden"),
    ] {
        let mut args = change.clone();
        args["agent_id"] = "a".into();
        assert_eq!(refused(provision(&args, given)), code, "{change}");
    }
    // To say what is so is no change.
    let same = json!({
        "agent_id": "a", "profile_name": "Helper", "owner_agent_id": "boss", "worker_target": "generic", "tags": ["cheap"],
    });
    assert!(provision(&same, &known).unwrap().commit.is_empty());
}

#[test]
fn pm_03_name_and_metadata_may_change() {
    let known = existing();
    let args = json!({ "agent_id": "a", "display_name": "A", "metadata": { "k": 2, "l": 3 } });
    let (agent, created) = provision(&args, &known).unwrap().outcome;
    let before = known.existing.unwrap();
    assert_eq!((agent.display_name.as_deref(), created), (Some("A"), false));
    assert_eq!(agent.metadata.to_value(), json!({ "k": 2, "l": 3 }));
    let expected = Agent {
        display_name: agent.display_name.clone(),
        metadata: agent.metadata.clone(),
        revision: before.revision.next(),
        ..before
    };
    assert_eq!(agent, expected);
    let known = Given { existing: Some(agent), ..with_profile() };
    let (agent, _) = provision(&json!({ "agent_id": "a", "metadata": { "m": 4 } }), &known).unwrap().outcome;
    assert_eq!(agent.metadata.to_value(), json!({ "k": 2, "l": 3, "m": 4 }));
    assert_eq!(agent.display_name.as_deref(), Some("A"));
}

#[test]
fn pm_04_each_refusal_has_its_code() {
    for (args, code) in [
        (json!({ "agent_id": "a", "action": "destroy" }), "invalid_action"),
        (json!({ "agent_id": "a", "action": " " }), "invalid_action"),
        (json!({ "agent_id": "a", "action": 1 }), "invalid_action"),
        (json!({ "action": "ensure" }), "missing_agent_id"),
        (json!({ "agent_id": "  " }), "missing_agent_id"),
        (json!({ "agent_id": "a", "tags": "x" }), "invalid_tags"),
        (json!({ "agent_id": "a", "tags": ["x", 1] }), "invalid_tags"),
        (json!({ "agent_id": "a", "tags": [""] }), "invalid_tags"),
        (json!({ "agent_id": "a", "metadata": [] }), "invalid_metadata"),
        (json!({ "agent_id": "a", "metadata": "x" }), "invalid_metadata"),
        (
            json!({ "agent_id": "a", "metadata": { "k": "x".repeat(limits::METADATA_BYTES) } }),
            "invalid_metadata",
        ),
        (json!({ "agent_id": "a", "action": "derive" }), "missing_derived_from"),
        (json!({ "agent_id": "a", "action": "create", "profile_name": "Nope" }), "profile_not_found"),
        (json!({ "agent_id": "a" }), "profile_not_found"),
    ] {
        assert_eq!(refused(provision(&args, &Given::default())), code, "{args}");
    }
    let derive = json!({ "agent_id": "a", "action": "derive", "derived_from": "source" });
    assert_eq!(refused(provision(&derive, &existing())), "derived_agent_conflict");
    for action in ["ensure", "create", " CREATE "] {
        assert!(parse(&json!({ "agent_id": "a", "action": action })).is_ok(), "{action}");
    }
    assert!(matches!(parse(&json!({ "agent_id": "a", "colour": "red" })), Err(Rejection::Invalid(_))));
}

#[test]
fn pm_04_what_is_not_said_comes_from_the_profile() {
    let plain = made(&json!({ "agent_id": "a", "profile_name": "Helper" }), &with_profile());
    assert_eq!((plain.profile_name.as_str(), plain.profile_box), ("Helper", box_id(50)));
    assert_eq!((plain.worker_target.as_str(), &plain.tags[..]), ("generic", &["cheap".to_owned()][..]));
    assert_eq!(plain.owner.as_ref().map(AgentId::as_str), Some("boss"));
    let said = json!({
        "agent_id": "a", "profile_name": "Helper", "worker_target": "w", "tags": ["x"], "owner_agent_id": "o",
    });
    let said = made(&said, &with_profile());
    assert_eq!((said.worker_target.as_str(), &said.tags[..]), ("w", &["x".to_owned()][..]));
    assert_eq!(said.owner.as_ref().map(AgentId::as_str), Some("o"));
}

#[test]
fn pm_04_a_derived_agent_belongs_to_its_source() {
    let source = Agent {
        id: "source".parse().unwrap(),
        worker_target: "w".parse().unwrap(),
        ..existing().existing.unwrap()
    };
    let given = Given { source: Some(source.clone()), ..Given::default() };
    let args = json!({
        "agent_id": "b", "action": "derive", "derived_from": "source", "metadata": { "derived_from": "x", "k": 1 },
    });
    let derived = made(&args, &given);
    assert_eq!((&derived.profile_name, derived.profile_box), (&source.profile_name, source.profile_box));
    assert_eq!((&derived.worker_target, &derived.tags), (&source.worker_target, &source.tags));
    assert_eq!(derived.owner.as_ref(), Some(&source.id));
    assert_eq!(derived.metadata.to_value(), json!({ "derived_from": "source", "k": 1 }));
    // The same again is nothing; from somebody else it is a conflict.
    let known = Given { existing: Some(derived), ..given };
    let again = json!({ "agent_id": "b", "action": "derive", "derived_from": "source" });
    assert!(provision(&again, &known).unwrap().commit.is_empty());
    let other = json!({ "agent_id": "b", "action": "derive", "derived_from": "other" });
    assert_eq!(refused(provision(&other, &known)), "derived_agent_conflict");
}
