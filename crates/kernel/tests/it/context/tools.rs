//! Which tools an agent is told of (CC-04): those that its profile allows, by the rule that workers go by.

use super::{draft, plugged::request};
use crate::desk::{Desk, caller};
use cardwire_kernel::{CollectRequest, NewProfile, protocol::roster::add_agent::AddAgent};
use cardwire_model::{CanonicalJson, allows_tool};
use serde_json::json;

#[tokio::test]
async fn cc_04_an_agent_is_told_of_the_tools_that_it_may_call() {
    let desk = Desk::new(&[]).await;
    let profiles = [
        json!({}),
        json!({ "allowed_tools": null }),
        json!({ "allowed_tools": null, "allowed_internal_tools": ["look"] }),
        json!({ "allowed_tools": [] }),
        json!({ "allowed_tools": ["look"], "allowed_internal_tools": ["plan_todo"] }),
    ];
    for (number, profile) in profiles.iter().enumerate() {
        let name = format!("a{number}");
        let new = NewProfile {
            name: name.parse().unwrap(),
            worker_target: "desk".parse().unwrap(),
            tags: vec![],
            draft: draft("sys.profile", profile, None),
        };
        desk.kernel.put_profile(&desk.project, &caller(), new).await.unwrap();
        let agent = AddAgent {
            id: name.parse().unwrap(),
            profile_name: name.parse().unwrap(),
            display_name: None,
            tags: None,
            metadata: CanonicalJson::empty_object(),
            refresh: false,
            trace_id: None,
        };
        desk.kernel.add_agent(&desk.project, &caller(), &agent, None).await.unwrap();
        let request = CollectRequest { agent_id: Some(agent.id), ..request(true) };
        let collected = desk.kernel.collect(&desk.project, &request).await.unwrap();
        let told =
            collected.contexts.get("framework__context").is_some_and(|text| text.contains("plan_todo"));
        assert_eq!(told, allows_tool(profile, "plan_todo"), "{profile}: {:?}", collected.contexts);
    }
}
