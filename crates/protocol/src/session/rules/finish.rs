//! The end of an agent's part, as one patch (ST-12..ST-14).

use super::*;

fn finish(agent: &str, deliverable: Value) -> Patch {
    let finish_agent = FinishAgent {
        task: Some("t1".to_owned()),
        deliverable: Some(deliverable),
        ..FinishAgent::new(agent.parse().unwrap(), "completed")
    };
    Patch { finish_agent: Some(finish_agent), ..Patch::default() }
}

#[test]
fn st_12_13_14_the_end_of_an_agents_part_is_one_patch() {
    let mut world = World::new();
    world.patch(&set(json!({ "active_agent": "writer", "assigned_task": "write" })));
    world.patch(&finish("writer", json!("draft")));
    world.patch(&finish("writer", json!("final")));
    assert_eq!(world.state.fields["deliverable_keys"], json!(["writer"]));
    let card: CardId = world.state.fields["deliverables"]["writer"].as_str().unwrap().parse().unwrap();
    assert_eq!(world.cards[&card].content.to_value()["deliverable"], "final");
    assert_eq!(world.state.fields["last_agent_status"], "completed");
    assert!(
        !world.state.fields.contains_key("active_agent") && !world.state.fields.contains_key("assigned_task")
    );
    assert_eq!(world.texts()[0], "【RESULT】agent=writer task=t1 status=completed deliverable=writer");
    let mut failed = finish("critic", json!(null));
    let part = failed.finish_agent.as_mut().unwrap();
    (part.deliverable, part.task, part.error) = (None, None, Some("no idea".to_owned()));
    part.status = "failed".to_owned();
    world.patch(&failed);
    assert_eq!(world.texts()[2], "【RESULT】agent=critic status=failed error=no idea");
    assert_eq!(world.state.fields["last_agent_error"], "no idea");
}

#[test]
fn st_03_14_the_end_of_a_part_that_is_told_twice_under_one_name_is_one_message() {
    let mut world = World::new();
    let mut named = finish("writer", json!("draft"));
    named.finish_agent.as_mut().unwrap().message_id = Some("turn_1_1".to_owned());
    world.patch(&named);
    world.patch(&append(vec![human("a", "one")]));
    world.patch(&named);
    assert_eq!(world.texts(), ["【RESULT】agent=writer task=t1 status=completed deliverable=writer", "one"]);
}
