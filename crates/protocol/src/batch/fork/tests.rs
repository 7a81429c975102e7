//! The step in which a fork is made (DP-02), and what it takes of the budget and of the room of its caller (OB-03).

use crate::{
    RefusalCode, Rejection,
    batch::{
        branch,
        rules::{Forking, batch_of, branches_of},
        view,
    },
    fixtures::{agent::TestAgent, uuid},
    pmo::{budget::Tree, calls::ReusedOutput},
};
use cardwire_model::{BranchStatus, Commit, Primitive, Snapshot, StepId, TurnId, Write};
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

#[test]
fn a_fork_takes_all_its_branches_from_the_budget_of_its_root() {
    let mut forking = Forking::of(3, &json!({}));
    let root = uuid::<TurnId>(TurnId::PREFIX, 1);
    forking.given.budget.tree = Some(Tree { root, spent: 7, limit: 10 });
    let forked = forking.decide().unwrap();
    assert_eq!(forked.commit.writes[0], Write::Spend { root, turns: 3, limit: 10 });
    forking.given.budget.tree = Some(Tree { root, spent: 8, limit: 10 });
    assert!(forking.decide().is_err());
}

/// OB-03
#[test]
fn a_fork_whose_least_result_does_not_fit_is_refused_to_a_turn_that_asks_a_model() {
    let mut forking = Forking::of(100, &json!({}));
    forking.given.left = Some(0);
    let mut refused = |at_most| {
        forking.given.at_most = at_most;
        let refused = forking.decide().err()?;
        let Rejection::Refused(refusal) = refused else { panic!("{refused}") };
        Some(refusal.code)
    };
    let least = view::least(100);
    assert_eq!(refused(None), None, "nobody knows that it will ask");
    assert_eq!(refused(Some(least - 1)), Some(RefusalCode::ResultBudgetExceeded));
    // The call itself is written, too, where the turn has not made it yet.
    assert_eq!(refused(Some(least)), Some(RefusalCode::ResultBudgetExceeded));
    assert_eq!(refused(Some(least + 1_000)), None);
    forking.call.carries_out = Some("c1".to_owned());
    for (at_most, fits) in [(least - 1, false), (least, true)] {
        forking.given.at_most = Some(at_most);
        let refused = matches!(forking.decide(), Err(Rejection::Refused(_)));
        assert_eq!(refused, !fits, "{at_most}");
    }
}
