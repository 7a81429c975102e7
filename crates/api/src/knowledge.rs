//! Documents that agents are given passages of, on the wire (KN-01..KN-04).

use crate::{list::list, parse};
use cardwire_kernel::{
    Document, FoundSection, SourceView, composer::search::rank::Method, protocol::knowledge::TakenIn,
};
use cardwire_model::{Invalid, Namespace};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A document to take in.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentIn {
    /// For whom; `default` when absent.
    #[serde(default)]
    #[schema(pattern = "^[A-Za-z0-9_-]{1,128}$")]
    pub namespace: Option<String>,
    /// What it is called, e.g. its path.
    #[schema(min_length = 1, max_length = 512)]
    pub source_id: String,
    /// Its title.
    #[serde(default)]
    #[schema(max_length = 512)]
    pub title: Option<String>,
    /// Its text, Markdown or plain.
    pub text: String,
}

impl DocumentIn {
    /// The document.
    pub fn into_document(self) -> Result<Document, Invalid> {
        parse::plain("text", Some(&self.text))?;
        if let Some(title) = &self.title {
            cardwire_model::project::check_title(title)?;
        }
        Ok(Document {
            namespace: namespace(self.namespace.as_deref())?,
            source_id: self.source_id,
            title: self.title,
            text: self.text,
        })
    }
}

/// The namespace of that name.
pub fn namespace(name: Option<&str>) -> Result<Namespace, Invalid> {
    Ok(parse::given("namespace", name)?.unwrap_or_default())
}

/// How to search.
pub fn method(name: Option<&str>) -> Result<Option<Method>, Invalid> {
    name.map(Method::parse).transpose()
}

/// The least score that is good enough.
pub fn score_threshold(text: Option<&str>) -> Result<Option<f64>, Invalid> {
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    let wrong = || Invalid::field("score_threshold", "must be a number");
    text.map(|text| number(text).ok_or_else(wrong)).transpose()
}

/// A document that was taken in.
#[derive(Debug, Serialize, ToSchema)]
pub struct TakenInOut {
    /// What it is called.
    pub source_id: String,
    /// For whom.
    pub namespace: String,
    /// Sections: what is shown.
    pub sections: usize,
    /// Parts of sections: what is searched.
    pub parts: usize,
}

impl TakenInOut {
    /// How much was taken in.
    pub fn new(namespace: &Namespace, source_id: String, taken: &TakenIn) -> Self {
        Self { source_id, namespace: namespace.to_string(), sections: taken.sections, parts: taken.parts }
    }
}

/// A document that is known.
#[derive(Debug, Serialize, ToSchema)]
pub struct SourceOut {
    /// What it is called.
    pub source_id: String,
    /// How many parts it has.
    pub parts: u32,
}

list! {
    /// Documents by name.
    SourceList of SourceOut
}

impl From<&SourceView> for SourceOut {
    fn from(source: &SourceView) -> Self {
        Self { source_id: source.source_id.clone(), parts: source.parts }
    }
}

/// A section that was found.
#[derive(Debug, Serialize, ToSchema)]
pub struct FoundOut {
    /// Of which document.
    pub source_id: String,
    /// Its heading.
    #[schema(required)]
    pub title: Option<String>,
    /// Its text.
    pub content: String,
    /// The card that keeps it.
    pub card_id: String,
    /// How well it fits; only the order means anything.
    pub score: f64,
    /// Who brought it: `external` for documents (SEC-10).
    pub origin: &'static str,
    /// Something in it looks like a credential (SEC-09); absent when nothing does.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub suspected_credential: bool,
}

/// Sections, best first.
#[derive(Debug, Serialize, ToSchema)]
pub struct FoundList {
    /// The sections.
    pub items: Vec<FoundOut>,
    /// The namespace has more passages than are compared by meaning (100,000), so that better ones may be missing; absent when
    /// it has not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

impl From<&FoundSection> for FoundOut {
    fn from(found: &FoundSection) -> Self {
        let content = found.card.content.to_value();
        let text = |name: &str| content.get(name).and_then(Value::as_str).map(str::to_owned);
        Self {
            source_id: found.source_id.clone(),
            title: text("title"),
            content: text("text").unwrap_or_default(),
            card_id: found.card.id.to_string(),
            origin: found.card.origin.as_str(),
            suspected_credential: found.card.credential,
            score: found.score,
        }
    }
}
