//! Handoff packages: accepted, found again (HO-14). Files are not looked at here, neither when a package comes in nor when
//! it is read (LD-09).

use crate::{
    Caller, Done, Kernel, KernelError, Remember,
    execute::{Loaded, Plan},
};
use cardwire_model::{
    AgentId, BoxId, CanonicalJson, Card, CardDraft, Hash256, Keys, Origin, ProjectId, Realm, ResourceKind,
    ResourceName, limits,
};
use cardwire_protocol::{
    Moment, Rejection,
    handoff::{self, Accept, Accepted, Iteration},
};
use serde_json::json;
use std::sync::Arc;

/// A package that was found sound.
#[derive(Debug, Clone)]
pub struct NewHandoff {
    /// The package.
    pub package: CanonicalJson,
    /// The directory it tells of.
    pub results: Option<Results>,
    /// The agent that sends it; nobody of the project when absent.
    pub sender: Option<AgentId>,
    /// Where it came from.
    pub origin: Origin,
}

/// A directory of results, as it was found.
#[derive(Debug, Clone)]
pub struct Results {
    /// Its path.
    pub directory: String,
    /// The hash of its report.
    pub report: Option<Hash256>,
    /// The lengths of the files of each sample.
    pub file_bytes: serde_json::Map<String, serde_json::Value>,
}

/// Lengths of more files than fit into a card's metadata with everything else are not kept.
const FILE_BYTES_CHARS: usize = 8_000;

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
        let (id, box_id, card) = self.package_card(&new)?;
        for _ in 0..limits::DECIDE_ATTEMPTS {
            let iteration = match &new.results {
                Some(results) => Some(self.iteration(project, &results.directory).await?),
                None => None,
            };
            let is_first = iteration.as_ref().is_some_and(|iteration| iteration.first.is_none());
            let row = iteration.as_ref().map(|iteration| (ResourceKind::Iteration, iteration.name.clone()));
            let sender = new.sender.clone();
            let command = Accept { id: id.clone(), card: card.clone(), box_id, iteration, sender };
            let keys = Keys { resource: row, ..Keys::default() };
            let plan = Plan { realm: &realm, caller, keys, flat: None, remember };
            let decide = |loaded: &Loaded, moment: &Moment| {
                handoff::decide(&loaded.snapshot, project, &command, moment)
            };
            match self.execute(plan, decide).await {
                // Another first package came in between: compare with that one.
                Err(KernelError::Rejected(Rejection::Outdated)) if is_first => {}
                done => return done,
            }
        }
        Err(KernelError::Contended)
    }

    /// Whether a package could be accepted as far as earlier ones are concerned (HO-11). Nothing is written.
    pub async fn check_handoff(&self, project: &ProjectId, new: &NewHandoff) -> Result<(), KernelError> {
        let Some(results) = &new.results else { return Ok(()) };
        match self.iteration(project, &results.directory).await?.first {
            Some(first) => Ok(handoff::unchanged(&first, &self.package_card(new)?.2)?),
            None => Ok(()),
        }
    }

    /// The card of a package, with the name and the box it will have.
    fn package_card(&self, new: &NewHandoff) -> Result<(ResourceName, BoxId, Card), KernelError> {
        let box_id = BoxId::from_uuid(self.ids().uuid());
        let id: ResourceName = format!("ho_{}", self.ids().uuid().simple()).parse()?;
        let mut metadata = json!({
            "type": "handoff.package", "role": "user", "handoff_id": id.as_str(), "box_id": box_id.to_string(),
        });
        if let Some(results) = &new.results {
            if let Some(report) = results.report {
                metadata["report_sha256"] = report.to_string().into();
            }
            let sizes = serde_json::Value::Object(results.file_bytes.clone());
            if sizes.to_string().len() <= FILE_BYTES_CHARS {
                metadata["file_bytes"] = sizes;
            }
        }
        if let Some(sender) = &new.sender {
            metadata["author_id"] = sender.as_str().into();
        }
        let draft = CardDraft {
            content: new.package.clone(),
            metadata: CanonicalJson::from_value(&metadata)?,
            tool_calls: None,
            tool_call_id: None,
            ttl_seconds: None,
        };
        let card = draft.into_card(self.card_id(), new.origin, self.now())?;
        Ok((id, box_id, card))
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
