//! Types of packages: the two of the handoff between design and execution, and further ones with a schema of their own.

use crate::{
    Refusal, RefusalKind,
    fields::Fields,
    problem::{Findings, Place, code},
};
use cardwire_model::{
    CancelFlag, Invalid,
    limits::{HANDOFF_PATH_FIELDS, HANDOFF_TYPES, NAME_CHARS},
    schema::{Room, Schema, Steps},
};
use serde_json::Value;
use std::{collections::BTreeMap, fmt, sync::Arc};

/// From design to execution.
pub(crate) const INIT_TO_EXECUTE: &str = "init_to_execute";
/// From execution back to design.
pub(crate) const EXECUTE_TO_INIT: &str = "execute_to_init";

/// Longest message about a schema: it may quote it.
const MESSAGE_CHARS: usize = 300;

/// The types that packages may have.
#[derive(Clone, Default)]
pub struct Types {
    registered: BTreeMap<String, Registered>,
    cancel: CancelFlag,
}

/// A type besides the built-in ones.
#[derive(Clone)]
pub(crate) struct Registered {
    schema: Arc<Schema>,
    /// JSON pointers of fields that hold paths below the root.
    pub(crate) path_fields: Vec<String>,
}

/// A type, found by its name.
pub(crate) enum Known<'a> {
    InitToExecute,
    ExecuteToInit,
    /// With what ends a check by it.
    Registered(&'a Registered, &'a CancelFlag),
}

impl Types {
    /// `init_to_execute` and `execute_to_init`.
    pub fn built_in() -> Self {
        Self::default()
    }

    /// Adds a type. Its packages have the fields of every package besides those that the schema asks for.
    /// `path_fields` are JSON pointers of fields that hold paths below the workspace root: a path, or a list or map of
    /// paths.
    pub fn register(&mut self, name: &str, schema: Value, path_fields: Vec<String>) -> Result<(), Refusal> {
        check_name(name)?;
        if self.find(name).is_some() {
            let message = format!("there is a type {name} already");
            return Err(Refusal::new(RefusalKind::Conflict, "type_exists", Some("name"), message));
        }
        if self.registered.len() >= HANDOFF_TYPES {
            return Err(too_large("name", format!("there are {HANDOFF_TYPES} types already")));
        }
        check_pointers(&path_fields)?;
        let schema = Arc::new(compile(&schema)?);
        self.registered.insert(name.to_owned(), Registered { schema, path_fields });
        Ok(())
    }

    /// Checks by these types end when the flag is set: nobody waits for what they find.
    #[must_use]
    pub fn until(self, cancel: CancelFlag) -> Self {
        Self { cancel, ..self }
    }

    pub(crate) fn find(&self, name: &str) -> Option<Known<'_>> {
        match name {
            INIT_TO_EXECUTE => Some(Known::InitToExecute),
            EXECUTE_TO_INIT => Some(Known::ExecuteToInit),
            name => self.registered.get(name).map(|registered| Known::Registered(registered, &self.cancel)),
        }
    }

    /// All names, for messages.
    pub(crate) fn names(&self) -> String {
        let built_in = [INIT_TO_EXECUTE, EXECUTE_TO_INIT].into_iter();
        built_in.chain(self.registered.keys().map(String::as_str)).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Debug for Types {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Types({})", self.names())
    }
}

impl Registered {
    /// Notes whatever the schema does not allow, or that this cannot be found out.
    pub(crate) fn check(
        &self,
        value: &Value,
        steps: &mut Steps,
        fields: &Fields<'_>,
        findings: &mut Findings,
    ) {
        match self.schema.misfits(value, steps) {
            Ok(misfits) => {
                for misfit in misfits {
                    let place = misfit.place.strip_prefix('/').map_or(Place::default(), Place::field);
                    findings.error(fields.code, place, misfit.message);
                }
            }
            Err(why) => findings.error(fields.code, Place::default(), why.to_string()),
        }
    }
}

fn check_name(name: &str) -> Result<(), Refusal> {
    let letter =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_' || byte == b'-';
    if name.is_empty() || name.len() > NAME_CHARS || !name.bytes().all(letter) {
        let message =
            format!("the name of a type has 1 to {NAME_CHARS} lowercase letters, digits, `_` and `-`");
        return Err(Refusal::request("name", message));
    }
    Ok(())
}

fn check_pointers(pointers: &[String]) -> Result<(), Refusal> {
    if pointers.len() > HANDOFF_PATH_FIELDS {
        return Err(too_large(
            "path_fields",
            format!("there are at most {HANDOFF_PATH_FIELDS} fields of paths"),
        ));
    }
    for (index, pointer) in pointers.iter().enumerate() {
        if !pointer.starts_with('/') {
            let field = format!("path_fields/{index}");
            return Err(Refusal::request(&field, "must be a JSON pointer, e.g. `/design/path`"));
        }
    }
    Ok(())
}

fn compile(schema: &Value) -> Result<Schema, Refusal> {
    Schema::read(schema, "schema", &mut Room::default()).map_err(|invalid| match invalid {
        Invalid::TooLarge { .. } => too_large("schema", invalid.to_string()),
        Invalid::Field { .. } | Invalid::Coded { .. } => {
            let message: String =
                format!("not a JSON schema: {invalid}").chars().take(MESSAGE_CHARS).collect();
            Refusal::request("schema", message)
        }
    })
}

fn too_large(field: &str, message: String) -> Refusal {
    Refusal::new(RefusalKind::TooLarge, code::INVALID_REQUEST, Some(field), message)
}
