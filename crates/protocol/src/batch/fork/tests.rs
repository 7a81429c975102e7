//! The step in which a fork is made (DP-02).

use crate::{
    batch::{
        branch,
        rules::{Forking, batch_of, branches_of},
    },
    fixtures::agent::TestAgent,
    pmo::calls::ReusedOutput,
};
use cardwire_model::{BranchStatus, Commit, Primitive, Snapshot, StepId, Write};
use serde_json::json;

/// The steps that the turns of a commit and their edges name, and that of the join.
fn steps(commit: &Commit) -> Vec<Option<StepId>> {
    let named = commit.writes.iter().filter_map(|write| {
        if let Write::Enqueue(item) = write {
            Some(item.parent_step.clone())
        } else if let Write::AddIdentityEdge(edge) = write {
            Some(edge.parent_step.clone())
        } else if let Write::AddEdge(edge) = write {
            (edge.primitive != Primitive::ToolCall).then(|| edge.parent_step.clone())
        } else {
            None
        }
    });
    named.collect()
}

#[test]
fn dp_02_every_branch_names_the_step_of_the_fork_however_late_it_is_sent() {
    let mut forking = Forking::of(3, &json!({ "max_parallel": 2 }));
    let step: StepId = "step_7".parse().unwrap();
    for task in &mut forking.given.tasks {
        task.parties.caller_step = Some(step.clone());
    }
    let forked = forking.decide().unwrap().commit;
    // The join, three agents, and two turns with an edge each.
    assert_eq!(steps(&forked), vec![Some(step.clone()); 8]);

    // As they are when there is room for the third.
    let batch = batch_of(&forked);
    let waiting = branches_of(&forked).pop().unwrap();
    assert_eq!(waiting.status, BranchStatus::Pending);
    let mut snapshot = Snapshot::default();
    for write in &forked.writes {
        if let Write::PutAgent { agent, .. } = write
            && Some(&agent.id) == waiting.agent_id.as_ref()
        {
            snapshot.agent = Some(agent.as_ref().clone());
        } else if let Write::CreateBox(made) = write {
            snapshot.boxes.insert(made.head.box_id, made.head.clone());
        }
    }
    snapshot.boxes.extend(forking.given.tasks[0].known.heads.clone());
    let project = forked.realm.project().unwrap();
    let moment = TestAgent::running().0.moment;
    let later = branch::dispatch(&snapshot, project, &batch, &waiting, ReusedOutput::Kept, &moment).unwrap();
    assert_eq!(later.outcome, BranchStatus::Dispatched);
    assert_eq!(steps(&later.commit), vec![Some(step); 2]);
}
