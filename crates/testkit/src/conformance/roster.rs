//! The roster: profiles, agents, and how they came to be (PM-02).

use super::case::{Case, Check, assert_pages, commit};
use crate::fixtures::{
    agent_id, agent_row, at, channel, identity_edge, json, profile, profile_name, resource, step_id,
    worker_target,
};
use cardwire_model::{
    Agent, Conflict, IdentityAction, IdentityEdge, Keys, Profile, Resource, ResourceKind, Revision,
    Timestamp, Write,
};
use cardwire_store::{RowFilter, Store};
use std::sync::Arc;

fn put_profile(was: Option<Revision>, profile: &Profile) -> Write {
    Write::PutProfile { was, profile: Box::new(profile.clone()) }
}

fn put_agent(was: Option<Revision>, agent: &Agent) -> Write {
    Write::PutAgent { was, agent: Box::new(agent.clone()) }
}

fn add(edge: &IdentityEdge) -> Write {
    Write::AddIdentityEdge(Box::new(edge.clone()))
}

fn tags() -> Vec<String> {
    ["b", "a", "", "标签 '\"\\", "a,b", "b"].map(str::to_owned).to_vec()
}

/// PM-02: a profile and an agent are what they were written as.
pub async fn profiles_and_agents_come_back_with_every_field(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let plain = profile(&mut case.ids, "plain");
    let full = Profile {
        worker_target: worker_target("Special_1"),
        tags: tags(),
        revision: Revision::new(41),
        created_at: at(-5),
        updated_at: Timestamp::from_micros(1_767_268_800_123_457),
        deleted_at: Some(at(9)),
        ..profile(&mut case.ids, "full")
    };
    for one in [&plain, &full] {
        case.write([put_profile(None, one)]).await;
        let keys = Keys { profile: Some(one.name.clone()), ..Keys::default() };
        assert_eq!(case.load(keys).await.profile.as_ref(), Some(one));
    }
    assert_eq!(case.store.profiles(&case.project, None, 9).await.unwrap(), [full, plain]);

    let plain = agent_row(&mut case.ids, "plain");
    let full = Agent {
        profile_name: profile_name("Other-1"),
        worker_target: worker_target("Special_1"),
        display_name: Some("名字 😀 ' \" \\".to_owned()),
        tags: tags(),
        owner: Some(agent_id("Owner")),
        metadata: json(r#"{"n":9223372036854775807,"none":null}"#),
        revision: Revision::new(41),
        created_at: at(-5),
        updated_at: at(6),
        ..agent_row(&mut case.ids, "full")
    };
    for one in [&plain, &full] {
        case.write([put_agent(None, one)]).await;
        assert_eq!(case.store.agent(&case.project, &one.id).await.unwrap().as_ref(), Some(one));
    }
    assert_eq!(case.store.agents(&case.project, None, 9).await.unwrap(), [full, plain]);
    assert_eq!(case.store.agent(&case.project, &agent_id("PLAIN")).await.unwrap(), None);
}

/// API-07, PM-02: nobody's change of the roster is overwritten unread.
pub async fn the_roster_changes_at_the_expected_revision_only(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let other = case.create_project("p2").await;
    let first = Profile { revision: Revision::new(2), ..profile(&mut case.ids, "p") };
    let second = Profile { revision: Revision::new(3), tags: tags(), ..profile(&mut case.ids, "p") };
    case.refuse_write(put_profile(Some(Revision::FIRST), &first), Conflict::Roster).await;
    case.write([put_profile(None, &first)]).await;
    for was in [None, Some(Revision::FIRST), Some(Revision::new(3))] {
        case.refuse_write(put_profile(was, &second), Conflict::Roster).await;
    }
    case.refuse(commit(&other, [put_profile(Some(first.revision), &second)]), Conflict::Roster).await;
    case.write([put_profile(Some(first.revision), &second)]).await;
    let gone = Profile { revision: Revision::new(4), deleted_at: Some(at(8)), ..second.clone() };
    case.write([put_profile(Some(second.revision), &gone)]).await;
    // A deleted profile keeps its name.
    case.refuse_write(put_profile(None, &first), Conflict::Roster).await;
    assert_eq!(case.store.profiles(&case.project, None, 9).await.unwrap(), [gone]);

    let first = Agent { revision: Revision::new(2), ..agent_row(&mut case.ids, "a") };
    let second = Agent { revision: Revision::new(3), tags: tags(), ..agent_row(&mut case.ids, "a") };
    case.refuse_write(put_agent(Some(Revision::FIRST), &first), Conflict::Roster).await;
    case.write([put_agent(None, &first)]).await;
    for was in [None, Some(Revision::FIRST), Some(Revision::new(3))] {
        case.refuse_write(put_agent(was, &second), Conflict::Roster).await;
    }
    case.refuse(commit(&other, [put_agent(Some(first.revision), &second)]), Conflict::Roster).await;
    case.write([put_agent(Some(first.revision), &second)]).await;
    assert_eq!(case.store.agents(&case.project, None, 9).await.unwrap(), [second]);
}

/// API-07: agents and profiles by name, in the order of its bytes.
pub async fn the_roster_pages_by_name(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let names = ["-", "0", "A", "B", "_x", "a", "a-b", "a0", "b"];
    let agents = names.map(|name| agent_row(&mut case.ids, name));
    let profiles = names.map(|name| profile(&mut case.ids, name));
    case.write(agents.iter().rev().map(|agent| put_agent(None, agent))).await;
    case.write(profiles.iter().rev().map(|one| put_profile(None, one))).await;
    assert_pages(
        "agents",
        &agents,
        |agent| agent.id.clone(),
        async |after, limit| case.store.agents(&case.project, after.as_ref(), limit).await,
    )
    .await;
    assert_pages(
        "profiles",
        &profiles,
        |one| one.name.clone(),
        async |after, limit| case.store.profiles(&case.project, after.as_ref(), limit).await,
    )
    .await;
}

/// PM-02: an identity edge is written once and kept as it is.
pub async fn an_identity_edge_is_written_once(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let other = case.create_project("p2").await;
    let plain = identity_edge(&mut case.ids, "a");
    let full = IdentityEdge {
        action: IdentityAction::Update,
        source_agent: Some(agent_id("Source")),
        channel: channel("team-1"),
        trace_id: Some("踪迹 😀".to_owned()),
        parent_step: Some(step_id("step_parent-1")),
        metadata: json(r#"{"n":9223372036854775807,"none":null}"#),
        created_at: at(-8),
        ..identity_edge(&mut case.ids, "b")
    };
    case.write([add(&plain), add(&full)]).await;
    case.refuse_write(add(&full), Conflict::Roster).await;
    let taken = IdentityEdge { id: plain.id, ..identity_edge(&mut case.ids, "c") };
    case.refuse_write(add(&taken), Conflict::Roster).await;
    case.apply(commit(&other, [add(&taken)])).await;
    let mut expected = vec![plain, full];
    expected.sort_by_key(|edge| std::cmp::Reverse(edge.id));
    let found = case.store.identity_edges(&case.project, &RowFilter::default(), None, 9).await.unwrap();
    assert_eq!(found, expected);
}

/// API-08: identity edges newest first, by every part of a filter; agents as source or target.
pub async fn identity_edges_are_listed_newest_first_by_every_filter(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let names = ["a", "b", "c"];
    let mut edges = vec![];
    for number in 0..9_usize {
        edges.push(IdentityEdge {
            source_agent: (number % 4 != 0).then(|| agent_id(names[(number + 1) % 3])),
            trace_id: (number % 3 != 0).then(|| format!("trace-{}", number % 2)),
            created_at: at(100 + number as i64 / 3),
            ..identity_edge(&mut case.ids, names[number % 3])
        });
    }
    case.write(edges.iter().map(add)).await;
    edges.sort_by_key(|edge| std::cmp::Reverse(edge.id));
    let (none, name) = (RowFilter::default(), agent_id("a"));
    let turn = case.ids.turn();
    let checks: Vec<Check<IdentityEdge>> = vec![
        (none.clone(), Box::new(|_| true)),
        (
            RowFilter { agent_id: Some(name.clone()), ..none.clone() },
            Box::new(move |edge| edge.source_agent.as_ref() == Some(&name) || edge.target_agent == name),
        ),
        (
            RowFilter { trace_id: Some("trace-1".to_owned()), ..none.clone() },
            Box::new(|edge| edge.trace_id.as_deref() == Some("trace-1")),
        ),
        (RowFilter { from: Some(at(102)), ..none.clone() }, Box::new(|edge| edge.created_at == at(102))),
        (RowFilter { until: Some(at(101)), ..none.clone() }, Box::new(|edge| edge.created_at == at(100))),
        // What identity edges do not have is ignored.
        (RowFilter { turn_id: Some(turn), correlation_id: Some("x".to_owned()), ..none }, Box::new(|_| true)),
    ];
    for (filter, wanted) in checks {
        let expected: Vec<_> = edges.iter().filter(|edge| wanted(edge)).cloned().collect();
        assert!(!expected.is_empty(), "{filter:?}");
        assert_pages(
            &format!("{filter:?}"),
            &expected,
            |edge| edge.id,
            async |before, limit| case.store.identity_edges(&case.project, &filter, before, limit).await,
        )
        .await;
    }
}

/// API-07: a document is known by its kind and name, and changes at the expected revision only.
pub async fn documents_are_kept_by_kind_and_name(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let other = case.create_project("p2").await;
    let put =
        |was: Option<Revision>, one: &Resource| Write::PutResource { was, resource: Box::new(one.clone()) };
    let recipe = resource(&mut case.ids, ResourceKind::Recipe, "same");
    let tool = Resource {
        revision: Revision::new(41),
        created_at: at(-5),
        updated_at: Timestamp::from_micros(1_767_268_800_123_457),
        deleted_at: Some(at(9)),
        ..resource(&mut case.ids, ResourceKind::Tool, "same")
    };
    for one in [&recipe, &tool] {
        case.refuse_write(put(Some(Revision::FIRST), one), Conflict::Roster).await;
        case.write([put(None, one)]).await;
        let keys = Keys { resource: Some((one.kind, one.name.clone())), ..Keys::default() };
        assert_eq!(case.load(keys).await.resource.as_ref(), Some(one));
        case.refuse_write(put(None, one), Conflict::Roster).await;
    }
    let changed =
        Resource { revision: Revision::new(2), ..resource(&mut case.ids, ResourceKind::Recipe, "same") };
    case.refuse_write(put(Some(Revision::new(2)), &changed), Conflict::Roster).await;
    case.refuse(commit(&other, [put(Some(Revision::FIRST), &changed)]), Conflict::Roster).await;
    case.write([put(Some(Revision::FIRST), &changed)]).await;
    let next = resource(&mut case.ids, ResourceKind::Recipe, "second");
    case.write([put(None, &next)]).await;
    let list = async |kind, after: Option<&str>, limit| {
        let after = after.map(crate::fixtures::resource_name);
        case.store.resources(&case.project, kind, after.as_ref(), limit).await.unwrap()
    };
    assert_eq!(list(ResourceKind::Recipe, None, 9).await, [changed.clone(), next.clone()]);
    assert_eq!(list(ResourceKind::Recipe, None, 1).await, [changed]);
    assert_eq!(list(ResourceKind::Recipe, Some("same"), 9).await, [next]);
    assert_eq!(list(ResourceKind::Tool, None, 9).await, [tool]);
    assert_eq!(list(ResourceKind::Team, None, 9).await, []);
}
