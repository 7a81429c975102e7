//! Documents that people write in files, as JSON or as YAML.

use super::card_put::read_file;
use crate::{client::Payload, failure::Failure};
use cardwire_api::yaml;
use serde_json::{Value, value::RawValue};
use std::path::Path;

/// What a file holds, or standard input for `-`.
pub(super) struct Written {
    text: String,
    is_yaml: bool,
}

impl Written {
    /// By the end of the name: `.json`, `.yaml` or `.yml`. Anything else is JSON if it can be read as JSON.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let text = read_file(path)?;
        let is_yaml = match path.extension().and_then(|extension| extension.to_str()) {
            Some("json") => false,
            Some("yaml" | "yml") => true,
            Some(_) | None => serde_json::from_str::<serde::de::IgnoredAny>(&text).is_err(),
        };
        Ok(Self { text, is_yaml })
    }

    /// The document as JSON text, for requests that take nothing else.
    pub(super) fn into_json(self) -> Result<Box<RawValue>, Failure> {
        let json = if self.is_yaml { yaml::to_json(&self.text)? } else { self.text };
        RawValue::from_string(json).map_err(|error| no_json(&error))
    }

    /// The name that was given on the command line, else the one in the document.
    pub(super) fn name(&self, given: Option<&str>) -> Result<String, Failure> {
        if let Some(name) = given {
            return Ok(name.to_owned());
        }
        let json = if self.is_yaml { &yaml::to_json(&self.text)? } else { &self.text };
        let document: Value = serde_json::from_str(json).map_err(|error| no_json(&error))?;
        document["name"].as_str().map(str::to_owned).ok_or_else(|| {
            Failure::usage("the document does not say its name")
                .hint("write `name: …` into the file, or name it on the command line")
        })
    }

    /// As it is: whatever is wrong with it is for the server to say.
    pub(super) fn into_payload(self) -> Payload {
        let content_type = if self.is_yaml { yaml::CONTENT_TYPES[0] } else { Payload::JSON };
        Payload { content_type, text: self.text }
    }
}

fn no_json(error: &serde_json::Error) -> Failure {
    Failure::usage(format!("the file does not hold JSON: {error}"))
}
