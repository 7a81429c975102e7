//! What pages are made of, written by the kernel's own verbs: a long box, a large call, a turn that is live.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use cardwire_kernel::composer::process::Process;
use cardwire_kernel::protocol::turn::{Fence, Proof};
use cardwire_kernel::{CallRequest, Kernel, Purpose};
use cardwire_model::{BoxId, CanonicalJson, CardDraft, Hash256, Origin, Provider};
use serde::Serialize;
use serde_json::{Map, json};

use crate::turns::place::Place;
use crate::world::{TEXT, World};

/// Cards of the long box, and of the large call.
const CARDS: usize = 5_000;
/// What the call must have.
const TOKENS: u32 = 1_000_000;
const AT_ONCE: usize = 500;

/// An agent that can be given a turn while its page is looked at.
#[derive(Serialize)]
pub(super) struct Live {
    project: String,
    agent: String,
    context_box: String,
}

/// A box of 5,000 cards. Answers where its page is.
pub(super) async fn a_box(kernel: &Arc<Kernel>) -> anyhow::Result<String> {
    let world = World::create(Arc::clone(kernel), "boxes").await?;
    let box_id = world.filled_box(CARDS).await?;
    Ok(format!("/inspect/p/boxes/boxes/{box_id}"))
}

/// A call of a million tokens from 5,000 cards. Answers where its page is, and the one that shows its bytes by their origin.
pub(super) async fn call(kernel: &Arc<Kernel>) -> anyhow::Result<[String; 2]> {
    let mut place = Place::create(Arc::clone(kernel), "calls", 0).await?;
    let agent = place.add_agent("composer").await?;
    let context = long_context(&place.world).await?;
    place.dispatch_with(&agent, context, None).await?;
    let lease = place.claim("bench", Duration::ZERO).await?.pop().context("no turn was leased")?;
    let turn = lease.turn.as_ref().context("a lease without a turn")?;
    let request = CallRequest {
        fence: Fence {
            turn_id: lease.turn_id,
            epoch: lease.epoch,
            proof: Proof::Lease(Hash256::of(&turn.secret)),
        },
        provider: Some(Provider::OpenAiChat),
        model: Some("gpt-4o".to_owned()),
        params: Map::new(),
        tools: None,
        process: Process::Sequential,
        share: false,
        contexts: BTreeMap::new(),
        without: vec![],
        window: Some(4 * TOKENS),
        reserve: None,
        step_id: None,
        purpose: Purpose::Answer,
    };
    let done = kernel.compose_call(&place.world.project, place.caller(), &request, None).await?;
    let call = done.fresh().context("nobody has asked before")?;
    let tokens = call.manifest.total_tokens;
    ensure!(tokens >= TOKENS, "the call has {tokens} tokens");
    let path = format!("/inspect/p/calls/calls/{}", call.call_id);
    Ok([path.clone(), format!("{path}?tab=bytes")])
}

async fn long_context(world: &World) -> anyhow::Result<BoxId> {
    let box_id = world.new_box().await?;
    let metadata =
        CanonicalJson::from_value(&json!({ "type": "agent.message", "author_id": "bench", "role": "user" }))?;
    let drafts = (0..CARDS).map(|number| {
        let draft = CardDraft {
            content: CanonicalJson::string(&format!("{number}: {}", [TEXT; 5].join(" ")))?,
            metadata: metadata.clone(),
            tool_calls: None,
            tool_call_id: None,
            ttl_seconds: None,
        };
        Ok((draft, Origin::Agent))
    });
    let drafts: Vec<_> = drafts.collect::<anyhow::Result<_>>()?;
    for drafts in drafts.chunks(AT_ONCE) {
        world.kernel.put_and_append(&world.project, world.caller(), box_id, drafts.to_vec()).await?;
    }
    Ok(box_id)
}

/// An agent without work.
pub(super) async fn live(kernel: &Arc<Kernel>) -> anyhow::Result<Live> {
    let place = Place::create(Arc::clone(kernel), "live", 1).await?;
    let context_box = place.world.filled_box(1).await?.to_string();
    let agent = place.agents.first().context("no agent")?.to_string();
    Ok(Live { project: place.world.project.to_string(), agent, context_box })
}
