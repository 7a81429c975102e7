//! Handoff packages: accepted, found again (HO-14). Files are not looked at here, neither when a package comes in nor when
//! it is read (LD-09).

use crate::{Caller, Done, Kernel, KernelError, Remember, execute::Plan};
use cardwire_model::{
    AgentId, BoxId, CanonicalJson, Card, CardDraft, Hash256, Keys, Origin, ProjectId, Realm, ResourceKind,
    ResourceName,
};
use cardwire_protocol::{
    Rejection,
    handoff::{self, Accept, Accepted, Iteration},
};
use serde_json::json;
use std::sync::Arc;

/// A package that was found sound.
#[derive(Debug, Clone)]
pub struct NewHandoff {
    /// The package.
    pub package: CanonicalJson,
    /// The directory it tells of, and the hash of the report in it.
    pub results: Option<(String, Option<Hash256>)>,
    /// The agent that sends it; nobody of the project when absent.
    pub sender: Option<AgentId>,
}

/// A package with where it is.
#[derive(Debug, Clone)]
pub struct HandoffView {
    /// The name it is found under.
    pub id: ResourceName,
    /// Its card.
    pub card: Arc<Card>,
    /// The box to hand it over by.
    pub box_id: String,
}

impl Kernel {
    /// Accepts a package.
    pub async fn accept_handoff(
        &self,
        project: &ProjectId,
        caller: &Caller,
        new: NewHandoff,
        remember: Option<&Remember<Accepted>>,
    ) -> Result<Done<Accepted>, KernelError> {
        let realm = Realm::from(project.clone());
        let box_id = BoxId::from_uuid(self.ids().uuid());
        let id: ResourceName = format!("ho_{}", self.ids().uuid().simple()).parse()?;
        let report = new.results.as_ref().and_then(|(_, report)| *report);
        let mut metadata = json!({
            "type": "handoff.package", "role": "user", "handoff_id": id.as_str(), "box_id": box_id.to_string(),
        });
        if let Some(report) = report {
            metadata["report_sha256"] = report.to_string().into();
        }
        if let Some(sender) = &new.sender {
            metadata["author_id"] = sender.as_str().into();
        }
        let draft = CardDraft {
            content: new.package,
            metadata: CanonicalJson::from_value(&metadata)?,
            tool_calls: None,
            tool_call_id: None,
            ttl_seconds: None,
        };
        let origin = if new.sender.is_some() { Origin::Agent } else { Origin::Operator };
        let card = draft.into_card(self.card_id(), origin, self.now())?;
        let iteration = match &new.results {
            Some((directory, _)) => Some(self.iteration(project, directory).await?),
            None => None,
        };
        let row = iteration.as_ref().map(|iteration| (ResourceKind::Iteration, iteration.name.clone()));
        let command = Accept { id, card, box_id, iteration, sender: new.sender };
        let keys = Keys { resource: row, ..Keys::default() };
        let plan = Plan { realm: &realm, caller, keys, flat: None, remember };
        self.execute(plan, |loaded, moment| handoff::decide(&loaded.snapshot, project, &command, moment))
            .await
    }

    /// A directory of results, with the first package that told of it.
    async fn iteration(&self, project: &ProjectId, directory: &str) -> Result<Iteration, KernelError> {
        let name: ResourceName = format!("it_{}", Hash256::of(directory.as_bytes())).parse()?;
        let first = match self.resource(project, ResourceKind::Iteration, &name).await {
            Ok((_, card)) => Some(Card::clone(&card)),
            Err(KernelError::Rejected(Rejection::NotFound { .. })) => None,
            Err(error) => return Err(error),
        };
        Ok(Iteration { name, first })
    }

    /// A package.
    pub async fn handoff(&self, project: &ProjectId, id: &ResourceName) -> Result<HandoffView, KernelError> {
        let (resource, card) = self.resource(project, ResourceKind::Handoff, id).await?;
        Ok(HandoffView::new(resource.name, card))
    }

    /// Packages, the oldest first.
    pub async fn list_handoffs(
        &self,
        project: &ProjectId,
        after: Option<&ResourceName>,
        limit: usize,
    ) -> Result<Vec<HandoffView>, KernelError> {
        let page = self.list_resources(project, ResourceKind::Handoff, after, limit).await?;
        Ok(page.into_iter().map(|(resource, card)| HandoffView::new(resource.name, card)).collect())
    }
}

impl HandoffView {
    fn new(id: ResourceName, card: Arc<Card>) -> Self {
        let metadata = card.metadata.to_value();
        let box_id = metadata["box_id"].as_str().unwrap_or_default().to_owned();
        Self { id, card, box_id }
    }
}
