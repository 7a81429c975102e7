//! Handoff packages: accepted, found again (HO-14). Files are not looked at here, neither when a package comes in nor when
//! it is read (LD-09).

use crate::{
    Caller, Done, Kernel, KernelError, Remember,
    execute::{Loaded, Plan},
};
use cardwire_model::{
    AgentId, BoxId, CanonicalJson, Card, CardDraft, CardId, Hash256, Keys, Origin, ProjectId, Realm,
    ResourceKind, ResourceName, limits,
};
use cardwire_protocol::{
    Moment, Rejection,
    handoff::{self, Accept, Accepted, Iteration, Told},
};
use serde_json::{Value, json};
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
    /// Its paths are below the root of the whole workspace, not below the directory of the project.
    pub in_shared_root: bool,
}

/// A directory of results, as it was found.
#[derive(Debug, Clone)]
pub struct Results {
    /// Its path.
    pub directory: String,
    /// The hash of its report.
    pub report: Option<Hash256>,
    /// The lengths of the files of each sample.
    pub file_bytes: serde_json::Map<String, Value>,
    /// What the files of each sample were, in documents that each fit into a card.
    pub files: Vec<CanonicalJson>,
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
    /// Whether its paths are below the root of the whole workspace. Nobody said so of packages of before projects had
    /// directories of their own.
    pub in_shared_root: Option<bool>,
    /// The hash of its report, as it was.
    pub report_sha256: Option<String>,
    /// The lengths of the files of samples, as they were.
    pub file_bytes: Value,
    files: Vec<CardId>,
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
        let (id, box_id, told) = self.package_cards(&new)?;
        for _ in 0..limits::DECIDE_ATTEMPTS {
            let iteration = match &new.results {
                Some(results) => Some(self.iteration(project, &results.directory).await?),
                None => None,
            };
            let is_first = iteration.as_ref().is_some_and(|iteration| iteration.first.is_none());
            let row = iteration.as_ref().map(|iteration| (ResourceKind::Iteration, iteration.name.clone()));
            let sender = new.sender.clone();
            let command = Accept { id: id.clone(), told: told.clone(), box_id, iteration, sender };
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
            Some(first) => Ok(handoff::unchanged(&first, &self.package_cards(new)?.2)?),
            None => Ok(()),
        }
    }

    /// The cards of a package, with the name and the box it will have.
    fn package_cards(&self, new: &NewHandoff) -> Result<(ResourceName, BoxId, Told), KernelError> {
        let box_id = BoxId::from_uuid(self.ids().uuid());
        let id: ResourceName = format!("ho_{}", self.ids().uuid().simple()).parse()?;
        let mut metadata = json!({
            "type": "handoff.package", "role": "user", "handoff_id": id.as_str(), "box_id": box_id.to_string(),
            "in_shared_root": new.in_shared_root,
        });
        let mut files = vec![];
        for document in new.results.iter().flat_map(|results| &results.files) {
            let metadata = json!({ "type": "handoff.files", "role": "user", "of": id.as_str() });
            files.push(self.kept_card(document.clone(), &metadata, new.origin)?);
        }
        if !files.is_empty() {
            metadata["file_cards"] = files.iter().map(|card| card.id.to_string()).collect();
        }
        if let Some(results) = &new.results {
            if let Some(report) = results.report {
                metadata["report_sha256"] = report.to_string().into();
            }
            let sizes = Value::Object(results.file_bytes.clone());
            if sizes.to_string().len() <= FILE_BYTES_CHARS {
                metadata["file_bytes"] = sizes;
            }
        }
        if let Some(sender) = &new.sender {
            metadata["author_id"] = sender.as_str().into();
        }
        let card = self.kept_card(new.package.clone(), &metadata, new.origin)?;
        Ok((id, box_id, Told { card, files }))
    }

    fn kept_card(
        &self,
        content: CanonicalJson,
        metadata: &Value,
        origin: Origin,
    ) -> Result<Card, KernelError> {
        let metadata = CanonicalJson::from_value(metadata)?;
        let draft = CardDraft { content, metadata, tool_calls: None, tool_call_id: None, ttl_seconds: None };
        Ok(draft.into_card(self.card_id(), origin, self.now())?)
    }

    /// A directory of results, with the first package that told of it.
    async fn iteration(&self, project: &ProjectId, directory: &str) -> Result<Iteration, KernelError> {
        let name: ResourceName = format!("it_{}", Hash256::of(directory.as_bytes())).parse()?;
        let first = match self.resource(project, ResourceKind::Iteration, &name).await {
            Ok((_, card)) => {
                let files = self.file_cards(project, &file_cards(&card.metadata.to_value())).await?;
                let files = files.iter().map(|card| Card::clone(card)).collect();
                Some(Told { card: Card::clone(&card), files })
            }
            Err(KernelError::Rejected(Rejection::NotFound { .. })) => None,
            Err(error) => return Err(error),
        };
        Ok(Iteration { name, first })
    }

    /// What the files of a package were when it was accepted, in documents.
    pub async fn handoff_files(
        &self,
        project: &ProjectId,
        view: &HandoffView,
    ) -> Result<Vec<Value>, KernelError> {
        let cards = self.file_cards(project, &view.files).await?;
        Ok(cards.iter().map(|card| card.content.to_value()).collect())
    }

    /// All of these cards, also those that were deleted: what a package's files were does not change by that.
    async fn file_cards(&self, project: &ProjectId, ids: &[CardId]) -> Result<Vec<Arc<Card>>, KernelError> {
        let cards = self.get_cards(project, ids, true).await?;
        match ids.iter().find(|id| cards.iter().all(|card| card.id != **id)) {
            Some(id) => Err(Rejection::NotFound { what: "card", id: id.to_string() }.into()),
            None => Ok(cards),
        }
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
        let text = |name: &str| metadata[name].as_str().map(str::to_owned);
        Self {
            id,
            card,
            box_id: text("box_id").unwrap_or_default(),
            in_shared_root: metadata["in_shared_root"].as_bool(),
            report_sha256: text("report_sha256"),
            files: file_cards(&metadata),
            file_bytes: metadata["file_bytes"].clone(),
        }
    }
}

/// The cards that tell what the files of a package were.
fn file_cards(metadata: &Value) -> Vec<CardId> {
    let ids = metadata["file_cards"].as_array().into_iter().flatten();
    ids.filter_map(|id| id.as_str()?.parse().ok()).collect()
}
