//! Reading the event log (NF-08, API-13).

use cardwire_kernel::{Kernel, KernelConfig};
use cardwire_model::{AgentId, Commit, Event, ProjectId, Realm, limits};
use cardwire_store::{EventFilter, Store};
use cardwire_testkit::{
    ReferenceStore,
    fixtures::{SeededIds, agent_id, event},
};
use std::sync::Arc;

fn positions(events: &[Event]) -> Vec<u64> {
    events.iter().map(|event| event.position).collect()
}

/// What is not wanted is passed over once; what is wanted comes whole, however many pages it takes.
#[tokio::test]
async fn a_reader_goes_on_from_where_it_has_looked() {
    let (store, mut ids) = (Arc::new(ReferenceStore::new()), SeededIds::new(1));
    let kernel = Kernel::idle(KernelConfig::new(Arc::clone(&store) as _));
    let project: ProjectId = "p".parse().unwrap();
    let mut tell = async |agents: &[&AgentId]| {
        let mut commit = Commit::new(Realm::from(project.clone()));
        commit.events.extend(agents.iter().map(|agent| event(ids.event(), "x", Some((*agent).clone()))));
        store.commit(commit).await.unwrap();
    };
    let (mine, other) = (agent_id("mine"), agent_id("other"));
    let filter = EventFilter { agent_id: Some(mine.clone()), ..EventFilter::default() };
    let look = async |after| {
        let (events, until) = kernel.events_until(&project, after, &filter).await.unwrap();
        (positions(&events), until)
    };
    assert_eq!(look(0).await, (vec![], 0), "an empty log");
    tell(&[&other, &mine, &other, &other]).await;
    assert_eq!(look(0).await, (vec![2], 4), "all of it was looked at");
    assert_eq!(look(4).await, (vec![], 4));
    assert_eq!(look(9).await, (vec![], 9), "a place that is not there yet");
    tell(&[&other]).await;
    assert_eq!(look(4).await, (vec![], 5), "nothing of it is wanted");
    tell(&[&mine; limits::EVENT_PAGE + 1]).await;
    tell(&[&other]).await;
    let page = limits::EVENT_PAGE as u64;
    let (first, until) = look(5).await;
    assert_eq!((first.len(), until), (limits::EVENT_PAGE, 5 + page), "a full page ends with its last event");
    assert_eq!(look(until).await, (vec![6 + page], 7 + page));
}
