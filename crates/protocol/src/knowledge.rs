//! Documents that agents can be given passages of (KN-01..KN-04). A document is taken in whole, in one commit, and takes
//! the place of what was known by its name.

use crate::{Decision, Moment, Rejection};
use cardwire_model::{
    AuditAction, CanonicalJson, CardDraft, CardId, Commit, Embedding, Hash256, Invalid, Namespace, Origin,
    Passage, PassageKind, ProjectId, Shelf, Write, limits,
};
use serde_json::json;

/// The kind of a section's card.
pub const KIND: &str = "knowledge.section";

/// A document, cut into sections and parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakeIn {
    /// For whom.
    pub namespace: Namespace,
    /// What it is called, e.g. its path.
    pub source_id: String,
    /// Its sections, in order.
    pub sections: Vec<Section>,
}

/// A section: what is shown when one of its parts is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Its heading.
    pub title: Option<String>,
    /// Its text.
    pub text: String,
    /// Its parts.
    pub parts: Vec<Part>,
}

/// A part of a section: what is searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Tells equal parts.
    pub hash: Hash256,
    /// What it is found by.
    pub terms: String,
    /// Its place among meanings.
    pub embedding: Option<Embedding>,
}

/// How much was taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TakenIn {
    /// Sections.
    pub sections: usize,
    /// Parts.
    pub parts: usize,
}

/// Takes a document in.
pub fn take_in(
    project: &ProjectId,
    command: &TakeIn,
    moment: &Moment,
) -> Result<Decision<TakenIn>, Rejection> {
    check(&command.source_id, command.sections.len())?;
    let shelf = shelf(&command.namespace);
    let mut commit = Commit::new(project.clone());
    commit.writes.push(Write::DropPassages { shelf: shelf.clone(), source: command.source_id.clone() });
    let mut number = 0;
    for section in &command.sections {
        let content = json!({
            "source_id": command.source_id, "title": section.title, "text": section.text,
        });
        let draft = CardDraft {
            content: CanonicalJson::from_value(&content)?,
            metadata: CanonicalJson::from_value(&json!({ "type": KIND, "role": "system" }))?,
            tool_calls: None,
            tool_call_id: None,
            ttl_seconds: None,
        };
        let card = draft.into_card(CardId::from_uuid(moment.fresh.uuid()), Origin::External, moment.now)?;
        for part in &section.parts {
            commit.writes.push(Write::PutPassage(Box::new(Passage {
                shelf: shelf.clone(),
                source: command.source_id.clone(),
                part: number,
                card_id: card.id,
                content_hash: part.hash,
                terms: part.terms.clone(),
                embedding: part.embedding.clone(),
                created_at: moment.now,
            })));
            number += 1;
        }
        commit.writes.push(Write::PutCard(Box::new(card)));
    }
    let taken = TakenIn { sections: command.sections.len(), parts: number as usize };
    let detail = json!({ "namespace": command.namespace.as_str(), "parts": taken.parts });
    commit.audit.push(moment.audit(AuditAction::KnowledgeWrite, &command.source_id, &detail));
    Ok(Decision { commit, outcome: taken })
}

/// Drops what is known by a name: it is found no more. The cards stay, because requests that showed them can be replayed.
pub fn drop_source(
    project: &ProjectId,
    namespace: &Namespace,
    source_id: &str,
    moment: &Moment,
) -> Result<Decision<()>, Rejection> {
    check_source(source_id)?;
    let mut commit = Commit::new(project.clone());
    commit.writes.push(Write::DropPassages { shelf: shelf(namespace), source: source_id.to_owned() });
    let detail = json!({ "namespace": namespace.as_str(), "dropped": true });
    commit.audit.push(moment.audit(AuditAction::KnowledgeWrite, source_id, &detail));
    Ok(Decision { commit, outcome: () })
}

/// What can be checked before a document is cut up and embedded.
pub fn check(source_id: &str, sections: usize) -> Result<(), Invalid> {
    check_source(source_id)?;
    Invalid::check_size("text", sections, limits::DOCUMENT_SECTIONS, "sections")
}

/// Where documents of a namespace stand.
pub fn shelf(namespace: &Namespace) -> Shelf {
    Shelf { kind: PassageKind::Knowledge, namespace: namespace.clone() }
}

/// Checks the name of a document.
pub fn check_source(source_id: &str) -> Result<(), Invalid> {
    let chars = source_id.chars().count();
    if source_id.trim().is_empty() || chars > limits::TITLE_CHARS || source_id.chars().any(char::is_control) {
        let reason = format!("must be 1 to {} printable characters, not blank", limits::TITLE_CHARS);
        return Err(Invalid::field("source_id", reason));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{moment, project};

    fn document(source_id: &str, sections: usize) -> TakeIn {
        let part = || Part { hash: Hash256::ZERO, terms: "a b".to_owned(), embedding: None };
        let section =
            |n: usize| Section { title: None, text: format!("text {n}"), parts: vec![part(), part()] };
        TakeIn {
            namespace: Namespace::default(),
            source_id: source_id.to_owned(),
            sections: (0..sections).map(section).collect(),
        }
    }

    #[test]
    fn kn_02_every_part_points_to_its_section_and_what_was_known_by_the_name_goes() {
        let decision = take_in(&project(), &document("a.md", 2), &moment()).unwrap();
        assert_eq!(decision.outcome, TakenIn { sections: 2, parts: 4 });
        let writes = &decision.commit.writes;
        assert!(matches!(&writes[0], Write::DropPassages { source, .. } if source == "a.md"));
        let cards: Vec<_> = writes
            .iter()
            .filter_map(|write| if let Write::PutCard(card) = write { Some(card.id) } else { None })
            .collect();
        let passages: Vec<_> = writes
            .iter()
            .filter_map(|write| {
                if let Write::PutPassage(passage) = write {
                    Some((passage.part, passage.card_id))
                } else {
                    None
                }
            })
            .collect();
        assert_eq!(passages, [(0, cards[0]), (1, cards[0]), (2, cards[1]), (3, cards[1])]);
    }

    #[test]
    fn a_document_has_a_name_and_a_bound() {
        for bad in ["", "  ", "a\nb", &"x".repeat(limits::TITLE_CHARS + 1)] {
            assert!(take_in(&project(), &document(bad, 1), &moment()).is_err());
            assert!(drop_source(&project(), &Namespace::default(), bad, &moment()).is_err());
        }
        assert!(take_in(&project(), &document("a", limits::DOCUMENT_SECTIONS + 1), &moment()).is_err());
        assert!(take_in(&project(), &document("a", limits::DOCUMENT_SECTIONS), &moment()).is_ok());
    }
}
