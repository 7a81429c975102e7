//! Accept a handoff package: a card that says it, a box to hand it over by, and a name to find it under, in one commit
//! (HO-14, W-19).
//!
//! What is in a package was judged before (crate `handoff`). Decided here is what the record of earlier packages forbids:
//! an iteration that was told of once never changes (HO-11).

use crate::{Decision, Moment, Rejection, facts::plain_box};
use cardwire_model::{
    AgentId, AuditAction, BoxId, Card, CardId, Commit, EventKind, Generation, Grant, Project, ProjectId,
    Realm, Resource, ResourceKind, ResourceName, Revision, Snapshot, Token, TokenId, Write,
};
use serde_json::{Value, json};
use std::collections::HashMap;

/// A package to accept.
#[derive(Debug, Clone)]
pub struct Accept {
    /// The name it is found under: fresh.
    pub id: ResourceName,
    /// The package and what its files were. The cards have fresh ids.
    pub told: Told,
    /// A fresh id.
    pub box_id: BoxId,
    /// The directory that it tells of.
    pub iteration: Option<Iteration>,
    /// The agent that sends it, and may therefore hand it on (X-04).
    pub sender: Option<AgentId>,
}

/// A package as it is kept.
#[derive(Debug, Clone)]
pub struct Told {
    /// What it says. Its metadata has `report_sha256` where a report was read.
    pub card: Card,
    /// What its files were when it came: `{samples: {id: [file, …]}}`, where a file is digits of a hash, or a length and a
    /// time, or null.
    pub files: Vec<Card>,
}

/// A directory of results.
#[derive(Debug, Clone)]
pub struct Iteration {
    /// A hash of its path.
    pub name: ResourceName,
    /// The first package that told of it, when it was looked up.
    pub first: Option<Told>,
}

/// A package that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// The name it is found under.
    pub resource: Resource,
    /// The box that holds its card and nothing else.
    pub box_id: BoxId,
}

/// Writes the package. `snapshot.resource` is the row of its iteration.
pub fn decide(
    snapshot: &Snapshot,
    project: &ProjectId,
    command: &Accept,
    moment: &Moment,
) -> Result<Decision<Accepted>, Rejection> {
    let card = &command.told.card;
    let card_id = card.id;
    let mut commit = Commit::new(project.clone());
    let cards = std::iter::once(card).chain(&command.told.files);
    commit.writes.extend(cards.map(|card| Write::PutCard(Box::new(card.clone()))));
    let mut new_box = plain_box(command.box_id, Generation::FIRST, &[card_id], moment.now);
    // Whoever is handed the box gets the package and nothing that came later.
    new_box.head.sealed = true;
    commit.writes.push(Write::CreateBox(new_box));
    if let Some(iteration) = &command.iteration {
        match (&snapshot.resource, &iteration.first) {
            (None, _) => commit.writes.push(row(ResourceKind::Iteration, &iteration.name, card_id, moment).1),
            (Some(row), Some(first)) if row.card_id == first.card.id => unchanged(first, &command.told)?,
            (Some(_), _) => return Err(Rejection::Outdated),
        }
    }
    if let Some(agent_id) = command.sender.clone() {
        let grant = Grant { agent_id, box_id: command.box_id, at: moment.now };
        commit.writes.push(Write::AddGrant(Box::new(grant)));
    }
    let (resource, write) = row(ResourceKind::Handoff, &command.id, card_id, moment);
    commit.writes.push(write);
    let detail = json!({
        "card_id": card_id.to_string(), "box_id": command.box_id.to_string(),
        "handoff_type": card.content.to_value()["handoff_type"],
        "sender": command.sender.as_ref().map(ToString::to_string),
    });
    commit.events.push(moment.event(EventKind::HandoffAccepted, &command.id, &detail));
    commit.audit.push(moment.audit(AuditAction::HandoffAccept, &command.id, &detail));
    Ok(Decision { commit, outcome: Accepted { resource, box_id: command.box_id } })
}

fn row(kind: ResourceKind, name: &ResourceName, card_id: CardId, moment: &Moment) -> (Resource, Write) {
    let resource = Resource {
        kind,
        name: name.clone(),
        card_id,
        revision: Revision::FIRST,
        created_at: moment.now,
        updated_at: moment.now,
        deleted_at: None,
    };
    (resource.clone(), Write::PutResource { was: None, resource: Box::new(resource) })
}

/// HO-11: what was told of an iteration stays so. Compared are the report, and the lengths and hashes of files that both
/// packages know.
pub fn unchanged(first: &Told, next: &Told) -> Result<(), Rejection> {
    if let Some(what) = rewritten(&first.files, &next.files) {
        return Err(Rejection::IterationChanged(what));
    }
    let (first, next) = (&first.card, &next.card);
    let (was, is) = (first.metadata.to_value(), next.metadata.to_value());
    let report = |metadata: &Value| metadata["report_sha256"].as_str().map(str::to_owned);
    if let (Some(was), Some(is)) = (report(&was), report(&is))
        && was != is
    {
        return Err(Rejection::IterationChanged("the report".to_owned()));
    }
    if let (Some(was), Some(is)) = (was["file_bytes"].as_object(), is["file_bytes"].as_object())
        && let Some((sample, _)) =
            is.iter().find(|(sample, sizes)| was.get(*sample).is_some_and(|was| was != *sizes))
    {
        return Err(Rejection::IterationChanged(format!("a file of {sample}")));
    }
    let (was, is) = (first.content.to_value(), next.content.to_value());
    let known: HashMap<&str, &Value> = hashes(&was).collect();
    let changed = |(sample, parts): &(&str, &Value)| {
        let was = known.get(sample)?.as_object()?;
        let mut parts = parts.as_object()?.iter();
        let part = parts.find(|(part, hash)| was.get(*part).is_some_and(|was| !same(was, hash)))?.0;
        Some(format!("{part} of {sample}"))
    };
    match hashes(&is).find_map(|entry| changed(&entry)) {
        Some(what) => Err(Rejection::IterationChanged(what)),
        None => Ok(()),
    }
}

/// The first sample with a file that was another one when the next package came.
fn rewritten(first: &[Card], next: &[Card]) -> Option<String> {
    let documents =
        |cards: &[Card]| -> Vec<Value> { cards.iter().map(|card| card.content.to_value()).collect() };
    let (was, is) = (documents(first), documents(next));
    let known: HashMap<&str, &Value> = samples(&was).collect();
    let is_other = |was: &Value, is: &Value| match (was, is) {
        (Value::String(was), Value::String(is)) => was != is,
        // Of a file that was not hashed the length has to do: times change when files are copied.
        (Value::Array(was), Value::Array(is)) => was.first() != is.first(),
        _ => false,
    };
    let differs = |sample: &str, files: &Value| {
        let (was, is) = (known.get(sample)?.as_array()?, files.as_array()?);
        was.iter().zip(is).any(|(was, is)| is_other(was, is)).then(|| format!("a file of {sample}"))
    };
    samples(&is).find_map(|(sample, files)| differs(sample, files))
}

fn samples(documents: &[Value]) -> impl Iterator<Item = (&str, &Value)> {
    let maps = documents.iter().filter_map(|document| document["samples"].as_object());
    maps.flatten().map(|(sample, files)| (sample.as_str(), files))
}

/// Samples of a package's index with the hashes of their files.
fn hashes(package: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let entries = package["failure_samples_index"].as_array().into_iter().flatten();
    entries.filter_map(|entry| Some((entry["sample_id"].as_str()?, entry.get("sha256")?)))
}

/// Digests may be cut short; what both have must be equal.
fn same(a: &Value, b: &Value) -> bool {
    match (a.as_str(), b.as_str()) {
        (Some(a), Some(b)) => {
            let (a, b) = (a.to_ascii_lowercase(), b.to_ascii_lowercase());
            a.starts_with(&b) || b.starts_with(&a)
        }
        _ => a == b,
    }
}

/// Whether files that lie in the root of all projects may be in a package that is sent (F-40, SEC-06): only for holders of a
/// token for all projects, who send it themselves, to a project that was given no directory. A worker inside a server, like a
/// request that names an agent, asks for an agent.
pub fn reaches_shared_root(project: &Project, token: &Token, names_agent: bool) -> bool {
    let is_for_agent = names_agent || token.id == TokenId::WORKERS;
    !is_for_agent && token.realm == Realm::System && project.settings.workspace_root.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{box_id, moment, project, project_row, token};
    use cardwire_model::{CanonicalJson, CardDraft, Origin, Scope};

    /// F-40, SEC-06
    #[test]
    fn the_shared_root_is_for_those_who_have_a_token_for_all_projects_and_send_by_themselves() {
        let all = token(Realm::System, &[Scope::Admin]);
        assert!(reaches_shared_root(&project_row(), &all, false));
        assert!(!reaches_shared_root(&project_row(), &all, true), "an agent");
        let bound = token(project().into(), &[Scope::Admin]);
        assert!(!reaches_shared_root(&project_row(), &bound, false), "a token of the project");
        let worker = Token { id: TokenId::WORKERS, ..all.clone() };
        assert!(!reaches_shared_root(&project_row(), &worker, false), "a worker inside the server");
        let mut placed = project_row();
        placed.settings.workspace_root = Some("elsewhere".to_owned());
        assert!(!reaches_shared_root(&placed, &all, false), "a project with a directory by name");
    }

    fn package(n: u128, report: &str, hash: &str) -> Card {
        let content = json!({
            "handoff_type": "execute_to_init",
            "failure_samples_index": [{ "sample_id": "S1", "sha256": { "trace": hash } }, { "sample_id": "S2" }],
        });
        let metadata = json!({ "type": "handoff.package", "report_sha256": report });
        let draft = CardDraft {
            content: CanonicalJson::from_value(&content).unwrap(),
            metadata: CanonicalJson::from_value(&metadata).unwrap(),
            tool_calls: None,
            tool_call_id: None,
            ttl_seconds: None,
        };
        draft.into_card(crate::fixtures::card_id(n), Origin::Operator, moment().now).unwrap()
    }

    fn told(card: Card) -> Told {
        Told { card, files: vec![] }
    }

    fn accept(first: Option<&Card>, row: Option<&Card>, next: Card) -> Result<Decision<Accepted>, Rejection> {
        accept_told(first.cloned().map(told), row, told(next))
    }

    fn accept_told(
        first: Option<Told>,
        row: Option<&Card>,
        next: Told,
    ) -> Result<Decision<Accepted>, Rejection> {
        let name: ResourceName = "it_1".parse().unwrap();
        let resource = row.map(|card| super::row(ResourceKind::Iteration, &name, card.id, &moment()).0);
        let snapshot = Snapshot { resource, ..Snapshot::default() };
        let iteration = Some(Iteration { name, first });
        let command = Accept {
            id: "ho_1".parse().unwrap(),
            told: next,
            box_id: box_id(4),
            iteration,
            sender: Some("a".parse().unwrap()),
        };
        decide(&snapshot, &project(), &command, &moment())
    }

    /// HO-14
    #[test]
    fn a_package_is_a_card_in_a_sealed_box_under_a_name() {
        let decision = accept(None, None, package(1, "r", "aa")).unwrap();
        let boxes: Vec<_> = decision
            .commit
            .writes
            .iter()
            .filter_map(|write| if let Write::CreateBox(new) = write { Some(new) } else { None })
            .collect();
        assert_eq!(boxes.len(), 1);
        assert!(boxes[0].head.sealed && boxes[0].head.len == 1);
        assert_eq!((decision.commit.events.len(), decision.commit.audit.len()), (1, 1));
        assert_eq!(decision.outcome.resource.kind, ResourceKind::Handoff);
        let granted = |write: &Write| matches!(write, Write::AddGrant(grant) if grant.box_id == box_id(4));
        assert!(decision.commit.writes.iter().any(granted), "who sends it may hand it on");
    }

    /// HO-11
    #[test]
    fn what_was_told_of_an_iteration_stays_so() {
        let first = package(1, "r", "aabb");
        let tried = |report: &str, hash: &str| accept(Some(&first), Some(&first), package(2, report, hash));
        assert!(tried("r", "aabb").is_ok());
        assert!(tried("r", "aab").is_ok());
        assert_eq!(tried("x", "aabb").unwrap_err(), Rejection::IterationChanged("the report".to_owned()));
        let changed = Rejection::IterationChanged("trace of S1".to_owned());
        assert_eq!(tried("r", "aaff").unwrap_err(), changed);
    }

    /// F-20, HO-11: the files themselves count, whatever hashes a package carries.
    #[test]
    fn a_file_that_was_rewritten_between_two_packages_refuses_the_second() {
        let with = |n: u128, files: Value| {
            let content = CanonicalJson::from_value(&json!({ "samples": { "S1": files } })).unwrap();
            let card = package(n, "r", "aa");
            let files = Card { id: crate::fixtures::card_id(n + 1), content, ..card.clone() };
            Told { card, files: vec![files] }
        };
        let first = with(1, json!(["aa", [7, 1], null, "dd"]));
        let tried = |files: Value| accept_told(Some(first.clone()), Some(&first.card), with(3, files));
        for same in [json!(["aa", [7, 2], "cc", "dd"]), json!([[7, 1], "bb", null, "dd"]), json!([])] {
            let cards = tried(same).unwrap().commit.writes;
            assert_eq!(cards.iter().filter(|write| matches!(write, Write::PutCard(_))).count(), 2);
        }
        let changed = Rejection::IterationChanged("a file of S1".to_owned());
        for other in [json!(["ab", [7, 1], null, "dd"]), json!(["aa", [8, 1], null, "dd"])] {
            assert_eq!(tried(other).unwrap_err(), changed);
        }
    }

    #[test]
    fn two_first_packages_at_once_do_not_both_count() {
        let (one, two) = (package(1, "r", "aa"), package(2, "r", "bb"));
        assert_eq!(accept(None, Some(&one), two).unwrap_err(), Rejection::Outdated);
    }
}
