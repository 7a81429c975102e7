//! A package: what one agent hands to another, by reference (HO-01 to HO-07, HO-10).
//!
//! Reading it must not touch a file (LD-09). Invariant: the value is the one that was sent with its defaults filled in,
//! and every path in it that we know of is safe by its letters.

mod base;
mod design;
mod entry;
mod execution;
mod registered;

use crate::{
    Problem, Refusal, RefusalKind, SafePath, Types,
    fields::Fields,
    problem::{Findings, Place, code},
    types::Known,
};
use cardwire_model::{CancelFlag, CanonicalJson, schema::Steps, token_count};
use serde_json::{Map, Value};

pub(crate) use entry::read_list;
pub use entry::{Entry, Priority};
pub(crate) use execution::{INDEX, SUGGESTIONS};

/// A valid package.
#[derive(Debug, Clone, PartialEq)]
pub struct Package {
    value: Value,
    body: Body,
    token_estimate: u32,
}

/// What we know of a package by its type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Body {
    /// `init_to_execute`: fields that hold paths below the root.
    Design(Vec<PathField>),
    /// `execute_to_init`.
    Execution(Execution),
    /// A registered type.
    Registered(Vec<PathField>),
}

/// A path below the root and the field that holds it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PathField {
    pub(crate) field: String,
    pub(crate) path: SafePath,
}

/// Where an iteration is, and which of its samples failed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Execution {
    /// Below the root.
    pub(crate) dir: SafePath,
    /// Below `dir`.
    pub(crate) report: SafePath,
    pub(crate) index: Vec<Entry>,
}

impl Package {
    /// Reads a package. `typed` is the type that an endpoint or a subcommand already fixes. Fills in `version`,
    /// `metadata`, and `handoff_type` when it is fixed. The second value are warnings.
    pub fn parse(value: Value, typed: Option<&str>, types: &Types) -> Result<(Self, Vec<Problem>), Refusal> {
        let Value::Object(mut map) = value else {
            let message = "a package is a JSON object";
            return Err(Refusal::new(RefusalKind::Invalid, code::INVALID_PACKAGE, None, message));
        };
        let mut findings = Findings::default();
        base::version(&mut map, &mut findings)?;
        base::metadata(&mut map, &mut findings);
        base::timestamp(&map, &mut findings);
        let known = base::handoff_type(&mut map, typed, types, &mut findings);
        let value = Value::Object(map);
        let body = known.and_then(|known| body(&known, &value, &mut findings));
        let text = canonical(&value, &mut findings);
        let warnings = findings.finish()?;
        match (body, text) {
            (Some(body), Some(text)) => {
                let token_estimate = token_count::estimate(text.as_str());
                Ok((Self { value, body, token_estimate }, warnings))
            }
            // Whatever is absent left an error behind.
            _ => Err(Refusal::new(RefusalKind::Invalid, code::INVALID_PACKAGE, None, "not a package")),
        }
    }

    /// Its type.
    pub fn handoff_type(&self) -> &str {
        self.text("handoff_type")
    }

    /// The package as JSON, with every field that was sent.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// See [`Self::value`].
    pub fn into_value(self) -> Value {
        self.value
    }

    /// The directory of the iteration it tells of, below the root.
    pub fn output_dir(&self) -> Option<&str> {
        self.execution().map(|execution| execution.dir.as_str())
    }

    /// The paths below the root that it names: the directory of its iteration, or its files.
    pub fn roots(&self) -> Vec<SafePath> {
        match &self.body {
            Body::Execution(execution) => vec![execution.dir.clone()],
            Body::Design(paths) | Body::Registered(paths) => paths.iter().map(|at| at.path.clone()).collect(),
        }
    }

    /// When it was made, as its sender wrote it.
    pub fn timestamp(&self) -> &str {
        self.text("timestamp")
    }

    /// The failed samples it names.
    pub fn index(&self) -> &[Entry] {
        self.execution().map_or(&[], |execution| &execution.index)
    }

    /// Estimated tokens of its canonical JSON text (LD-06).
    pub fn token_estimate(&self) -> u32 {
        self.token_estimate
    }

    /// Whether entries were left out of its index (HO-06).
    pub(crate) fn is_truncated(&self) -> bool {
        self.value["metadata"]["index_truncated"] == Value::Bool(true)
    }

    pub(crate) fn body(&self) -> &Body {
        &self.body
    }

    pub(crate) fn execution(&self) -> Option<&Execution> {
        match &self.body {
            Body::Execution(execution) => Some(execution),
            Body::Design(_) | Body::Registered(_) => None,
        }
    }

    /// The same package with other JSON and the entries that are left.
    pub(crate) fn with_index(self, value: Value, index: Vec<Entry>, token_estimate: u32) -> Self {
        let body = match self.body {
            Body::Execution(execution) => Body::Execution(Execution { index, ..execution }),
            body @ (Body::Design(_) | Body::Registered(_)) => body,
        };
        Self { value, body, token_estimate }
    }

    fn text(&self, key: &str) -> &str {
        self.value[key].as_str().unwrap_or_default()
    }
}

fn body(known: &Known<'_>, value: &Value, findings: &mut Findings) -> Option<Body> {
    let map = value.as_object()?;
    let fields = fields(map);
    match known {
        Known::InitToExecute => design::read(&fields, findings).map(Body::Design),
        Known::ExecuteToInit => execution::read(&fields, findings).map(Body::Execution),
        Known::Registered(registered, cancel) => {
            let mut steps = Steps::until(CancelFlag::clone(cancel));
            registered::read(registered, value, &mut steps, &fields, findings).map(Body::Registered)
        }
    }
}

fn fields(map: &Map<String, Value>) -> Fields<'_> {
    Fields { map, at: "", file: None, code: code::INVALID_PACKAGE }
}

/// The text that the package is kept as. What no card can hold, such as NUL, is an error (W-20).
fn canonical(value: &Value, findings: &mut Findings) -> Option<CanonicalJson> {
    match CanonicalJson::from_value(value) {
        Ok(text) => Some(text),
        Err(invalid) => {
            let field = invalid.field_name();
            let field = field.strip_prefix("value/").unwrap_or(field);
            let message = invalid.to_string();
            let message = message.split_once(": ").map_or(message.as_str(), |(_, reason)| reason);
            findings.error(code::INVALID_PACKAGE, Place::field(field), message);
            None
        }
    }
}

/// Notes a path that is not safe.
pub(crate) fn safe_path(text: &str, field: &str, findings: &mut Findings) -> Option<SafePath> {
    match SafePath::parse(text) {
        Ok(path) => Some(path),
        Err(error) => {
            findings.error(code::UNSAFE_PATH, Place::field(field), error.to_string());
            None
        }
    }
}
