//! CB-08 for everything around turns: the same ids in two projects are unrelated rows.

use super::case::{Case, commit};
use crate::fixtures::{
    agent_id, agent_row, at, edge, full_item, identity_edge, live_head, profile, step, tool_call,
};
use cardwire_model::{
    Agent, Commit, Conflict, Edge, EdgePhase, Head, IdentityEdge, InboxItem, Keys, LiveState, Primitive,
    Profile, ProjectId, Revision, Step, ToolCall, Write,
};
use cardwire_store::{RosterFilter, Rostered, RowFilter, Store};
use std::{collections::BTreeSet, sync::Arc};

/// One row of every kind.
#[derive(Debug, Clone, PartialEq)]
struct Rows {
    head: Head,
    item: InboxItem,
    edge: Edge,
    step: Step,
    call: ToolCall,
    profile: Profile,
    agent: Agent,
    identity_edge: IdentityEdge,
}

impl Rows {
    fn new(case: &mut Case) -> Self {
        let item = full_item(&mut case.ids, "a");
        Self {
            head: live_head(&mut case.ids, agent_id("a"), LiveState::Running),
            edge: edge(&mut case.ids, Primitive::Enqueue, EdgePhase::Request, "corr"),
            step: step("step_1", &item),
            call: tool_call(&item, "call_1"),
            profile: profile(&mut case.ids, "p"),
            agent: agent_row(&mut case.ids, "a"),
            identity_edge: identity_edge(&mut case.ids, "a"),
            item,
        }
    }

    /// Rows with the same keys and other values.
    fn changed(&self, case: &mut Case) -> Self {
        let mut new = self.clone();
        new.head.updated_at = at(888);
        new.item.reason = Some("other".to_owned());
        new.item.output_box = Some(case.ids.card_box());
        new.edge.trace_id = "other".to_owned();
        new.step.phase = "other".to_owned();
        new.call.waiting = true;
        new.profile.tags = vec!["other".to_owned()];
        new.agent.display_name = Some("other".to_owned());
        new.identity_edge.source_agent = Some(agent_id("other"));
        new
    }

    fn create(&self, project: &ProjectId) -> Commit {
        let Self { head, item, edge, step, call, profile, agent, identity_edge } = self.clone();
        commit(
            project,
            [
                Write::CreateHead(Box::new(head)),
                Write::Enqueue(Box::new(item)),
                Write::AddEdge(Box::new(edge)),
                Write::CreateStep(Box::new(step)),
                Write::OpenCall(Box::new(call)),
                Write::PutProfile { was: None, profile: Box::new(profile) },
                Write::PutAgent { was: None, agent: Box::new(agent) },
                Write::AddIdentityEdge(Box::new(identity_edge)),
            ],
        )
    }

    /// The rows as every read of a project shows them; all must agree.
    async fn read(case: &Case, project: &ProjectId, keys: &Self) -> Option<Self> {
        let (store, all) = (case.store.as_ref(), RowFilter::default());
        let agent = &keys.head.agent_id;
        let head = store.head(project, agent).await.unwrap();
        assert_eq!(store.heads(project, None, 9).await.unwrap(), Vec::from_iter(head.clone()));
        let item = store.turn(project, keys.item.turn_id).await.unwrap();
        assert_eq!(store.inbox(project, &all, None, 9).await.unwrap(), Vec::from_iter(item.clone()));
        let edge = store.edges(project, &all, None, 9).await.unwrap().pop();
        let step = store.step(project, &keys.step.id).await.unwrap();
        assert_eq!(store.steps(project, &all, None, 9).await.unwrap(), Vec::from_iter(step.clone()));
        let call = store.calls(project, keys.item.turn_id).await.unwrap().pop();
        let profile = store.profiles(project, None, 9).await.unwrap().pop();
        let row = store.agent(project, agent).await.unwrap();
        assert_eq!(store.agents(project, None, 9).await.unwrap(), Vec::from_iter(row.clone()));
        let shown = row.clone().map(|agent| Rostered { agent, head: head.clone() });
        assert_eq!(
            store.roster(project, &RosterFilter::default(), None, 9).await.unwrap(),
            Vec::from_iter(shown)
        );
        let identity_edge = store.identity_edges(project, &all, None, 9).await.unwrap().pop();

        let asked = Keys {
            agent: Some(agent.clone()),
            turn: Some(keys.item.turn_id),
            depth_of: Some(keys.item.turn_id),
            inbox: Some(keys.item.id),
            edge: Some((Primitive::Enqueue, EdgePhase::Request, "corr".to_owned())),
            step: Some(keys.step.id.clone()),
            profile: Some(keys.profile.name.clone()),
            ..Keys::default()
        };
        let loaded = store.load(&project.clone().into(), &asked).await.unwrap();
        let turn = loaded.turn.clone();
        assert_eq!((&loaded.head, &loaded.agent, &loaded.inbox), (&head, &row, &item));
        assert_eq!((&loaded.edge, &loaded.step, &loaded.profile), (&edge, &step, &profile));
        assert_eq!(turn.as_ref().map(|turn| &turn.item), item.as_ref());
        assert_eq!(turn.map(|turn| turn.calls).unwrap_or_default(), Vec::from_iter(call.clone()));
        assert_eq!(loaded.depth.is_some(), item.is_some());
        let item = item.map(|item| InboxItem { seq: 0, ..item })?;
        let (head, edge, step, call) = (head?, edge?, step?, call?);
        Some(Self {
            head,
            item,
            edge,
            step,
            call,
            profile: profile?,
            agent: row?,
            identity_edge: identity_edge?,
        })
    }
}

/// CB-08: rows of two projects with the same keys do not meet, neither in reads nor in loads.
pub async fn the_same_keys_in_two_projects_are_unrelated_rows(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let (first, second) = (case.project.clone(), case.create_project("p2").await);
    let rows = Rows::new(&mut case);
    let other = rows.changed(&mut case);
    case.apply(rows.create(&first)).await;
    assert_eq!(Rows::read(&case, &second, &rows).await, None);
    case.apply(other.create(&second)).await;
    assert_eq!(Rows::read(&case, &first, &rows).await, Some(rows.clone()));
    assert_eq!(Rows::read(&case, &second, &rows).await, Some(other));
    let dump = case.dump().await;
    let places: BTreeSet<_> = dump.turns.inbox.values().map(|(project, _)| project).collect();
    assert_eq!(places, BTreeSet::from([&first, &second]));
}

/// CB-08: what another project has can be neither changed nor relied on.
pub async fn rows_of_another_project_cannot_be_changed(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let (first, second) = (case.project.clone(), case.create_project("p2").await);
    let rows = Rows::new(&mut case);
    let new = rows.changed(&mut case);
    case.apply(rows.create(&first)).await;
    let was = Some(Revision::FIRST);
    let (guard, to) = (rows.head.guard(), Box::new(new.head));
    let foreign = [
        (Write::MoveHead { guard: guard.clone(), to, queued: 0, is_copied: true }, Conflict::Head),
        (Write::NudgeHead { guard, nudge: cardwire_model::Nudge::default() }, Conflict::Head),
        (Write::UpdateInbox { from: rows.item.status, item: Box::new(new.item) }, Conflict::Inbox),
        (Write::UpdateStep(Box::new(new.step)), Conflict::Step),
        (Write::UpdateCall(Box::new(new.call)), Conflict::Call),
        (Write::PutProfile { was, profile: Box::new(new.profile) }, Conflict::Roster),
        (Write::PutAgent { was, agent: Box::new(new.agent) }, Conflict::Roster),
    ];
    for (write, conflict) in foreign {
        case.refuse(commit(&second, [write]), conflict).await;
    }
    assert_eq!(Rows::read(&case, &first, &rows).await, Some(rows));
}
