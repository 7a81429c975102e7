//! A project with boxes to measure on, and the calls that are measured.

use std::sync::Arc;

use anyhow::{Context, bail};
use cardwire_kernel::protocol::Actor;
use cardwire_kernel::protocol::facts::create_box::Created;
use cardwire_kernel::protocol::project::create::CreateProject;
use cardwire_kernel::{Caller, Done, Kernel};
use cardwire_model::{BoxId, CanonicalJson, CardDraft, Origin, ProjectId, ProjectSettings};
use serde_json::json;

/// About 200 bytes, as a short message has.
pub(crate) const TEXT: &str = "The harbour lamp was lit before dusk; the keeper wrote down the wind, the tide and the names of the \
                    three boats still out, then sat by the window and counted them in, one by one, until night.";

/// Cards written in one commit while a box is filled.
const FILL_BATCH: usize = 1000;

/// A kernel, a project of its own, and a card to write again and again.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) project: ProjectId,
    caller: Caller,
    draft: CardDraft,
}

impl World {
    /// Makes the project.
    pub(crate) async fn create(kernel: Arc<Kernel>, name: &str) -> anyhow::Result<Self> {
        let caller = Caller { actor: Actor::system("bench") };
        let project: ProjectId = name.parse()?;
        let command =
            CreateProject { id: project.clone(), title: None, settings: ProjectSettings::default() };
        kernel.create_project(&caller, &command, None).await.context("cannot create the project")?;
        let draft = CardDraft {
            content: CanonicalJson::string(TEXT)?,
            metadata: CanonicalJson::from_value(&json!({ "type": "agent.message", "author_id": "bench" }))?,
            tool_calls: None,
            tool_call_id: None,
            ttl_seconds: None,
        };
        Ok(Self { kernel, project, caller, draft })
    }

    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// A new, empty box.
    pub(crate) async fn new_box(&self) -> anyhow::Result<BoxId> {
        match self.kernel.create_box(&self.project, &self.caller, None, &[], None).await? {
            Done::Fresh(Created::New(head)) => Ok(head.box_id),
            Done::Fresh(Created::Existing(_)) | Done::Replayed(_) => {
                bail!("an unnamed box was there already")
            }
        }
    }

    /// A new box with so many cards.
    pub(crate) async fn filled_box(&self, cards: usize) -> anyhow::Result<BoxId> {
        let box_id = self.new_box().await?;
        let mut missing = cards;
        while missing > 0 {
            let batch = missing.min(FILL_BATCH);
            self.put(box_id, batch).await?;
            missing -= batch;
        }
        Ok(box_id)
    }

    /// The commit everything here is about: one card written and appended to its box.
    pub(crate) async fn append(&self, box_id: BoxId) -> anyhow::Result<()> {
        self.put(box_id, 1).await
    }

    /// A new box that inherits all cards of another.
    pub(crate) async fn fork(&self, source: BoxId) -> anyhow::Result<()> {
        self.kernel.fork_box(&self.project, &self.caller, source, None, None).await?;
        Ok(())
    }

    async fn put(&self, box_id: BoxId, cards: usize) -> anyhow::Result<()> {
        let drafts = vec![(self.draft.clone(), Origin::Agent); cards];
        self.kernel.put_and_append(&self.project, &self.caller, box_id, drafts).await?;
        Ok(())
    }
}
