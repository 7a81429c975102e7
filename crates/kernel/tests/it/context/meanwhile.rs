//! What happens to a turn while its call is being composed (WK-05, NF-03): the step is decided on the rows that the call began
//! with, and must not stand if they are no longer true.

use super::{draft, fence};
use crate::desk::{Desk, caller};
use async_trait::async_trait;
use cardwire_kernel::{
    ContextConfig, ContextProvider, Kernel, NewTurnCard, ProviderError, ProviderRequest,
    protocol::turn::{Command, append::Append, claim::Lease, stop::Stop},
};
use cardwire_store::RowFilter;
use serde_json::json;
use std::sync::{Arc, Mutex};

/// Does something to the turn when it is asked for its block, once.
#[derive(Default)]
struct Meanwhile(Mutex<Option<(Arc<Kernel>, Command)>>);

#[async_trait]
impl ContextProvider for Meanwhile {
    fn key(&self) -> &str {
        "meanwhile__context"
    }

    async fn collect(&self, request: &ProviderRequest<'_>) -> Result<String, ProviderError> {
        let next = self.0.lock().unwrap().take();
        if let Some((kernel, command)) = next {
            kernel.turn_command(request.project, &caller(), command, None).await.unwrap();
        }
        Ok(String::new())
    }
}

async fn desk() -> (Desk, Arc<Meanwhile>, Lease) {
    let meanwhile = Arc::new(Meanwhile::default());
    let context = ContextConfig { providers: vec![Arc::clone(&meanwhile) as _], ..ContextConfig::default() };
    let desk = Desk::with(&["a"], context).await;
    let lease = desk.turn_of("a", "s", "Go.").await;
    // Blocks that nobody has stored yet are looked up before the step; from the second call on they are known.
    desk.call(&lease, None).await.unwrap();
    (desk, meanwhile, lease)
}

impl Meanwhile {
    fn then(&self, desk: &Desk, command: Command) {
        *self.0.lock().unwrap() = Some((Arc::clone(&desk.kernel), command));
    }
}

/// How many cards each step counts, the last first.
async fn lengths(desk: &Desk) -> Vec<u32> {
    let steps = desk.kernel.list_steps(&desk.project, &RowFilter::default(), None, 9).await.unwrap();
    steps.iter().map(|step| step.output_len).collect()
}

fn write(desk: &Desk, lease: &Lease, kind: &str, call: Option<&str>) -> Command {
    let draft = draft(kind, &json!({ "tool_name": "look", "arguments": {} }), call);
    let cards = desk.kernel.turn_cards(vec![NewTurnCard { id: None, draft }]).unwrap();
    Command::Append(Append { fence: fence(lease), cards, calls: vec![], step: None })
}

#[tokio::test]
async fn wk_05_a_call_during_which_a_tool_was_called_is_decided_again() {
    let (desk, meanwhile, lease) = desk().await;
    meanwhile.then(&desk, write(&desk, &lease, "tool.call", Some("c1")));
    desk.call(&lease, None).await.unwrap();
    assert_eq!(lengths(&desk).await, [1, 0]);
}

#[tokio::test]
async fn wk_05_a_step_counts_the_cards_that_its_call_shows() {
    let (desk, meanwhile, lease) = desk().await;
    meanwhile.then(&desk, write(&desk, &lease, "agent.thought", None));
    desk.call(&lease, None).await.unwrap();
    assert_eq!(lengths(&desk).await, [0, 0]);
    desk.call(&lease, None).await.unwrap();
    assert_eq!(lengths(&desk).await, [1, 0, 0]);
}

#[tokio::test]
async fn nf_03_a_call_whose_turn_was_stopped_meanwhile_is_refused_and_leaves_nothing() {
    let (desk, meanwhile, lease) = desk().await;
    let stop = Stop { turn_id: lease.turn_id, epoch: None, reason: None, remains: Default::default() };
    meanwhile.then(&desk, Command::Stop(stop));
    assert!(desk.call(&lease, None).await.is_err());
    assert_eq!(lengths(&desk).await, [0]);
}
