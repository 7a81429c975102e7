//! Files of a project's workspace on the wire: written once and never changed (HO-08, HO-11), so that agents elsewhere can
//! put their results where packages refer to them.

use cardwire_model::{Invalid, limits};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// Files to write.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FilesIn {
    /// Each with its path and content.
    #[schema(min_items = 1, max_items = 100)]
    pub files: Vec<FileIn>,
}

/// A file to write.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FileIn {
    /// Relative to the workspace.
    pub path: String,
    /// A string is written as it is, anything else as JSON.
    #[schema(value_type = Value)]
    pub content: Value,
}

impl FilesIn {
    /// Paths and what is to be in them.
    pub fn into_files(self) -> Result<Vec<(String, Vec<u8>)>, Invalid> {
        if self.files.is_empty() {
            return Err(Invalid::field("files", "is empty"));
        }
        Invalid::check_size("files", self.files.len(), limits::WORKSPACE_FILES, "files")?;
        let bytes = |content: Value| match content.as_str() {
            Some(text) => Ok(text.as_bytes().to_vec()),
            None => serde_json::to_vec_pretty(&content),
        };
        let file = |(n, file): (usize, FileIn)| {
            let written = bytes(file.content);
            let written = written.map_err(|_| Invalid::field(format!("files/{n}/content"), "is no JSON"))?;
            Ok((file.path, written))
        };
        self.files.into_iter().enumerate().map(file).collect()
    }
}

/// Files that are there now.
#[derive(Debug, Serialize, ToSchema)]
pub struct FilesOut {
    /// In the order of the request.
    pub files: Vec<FileOut>,
}

/// A file that is there now.
#[derive(Debug, Serialize, ToSchema)]
pub struct FileOut {
    /// Relative to the workspace.
    pub path: String,
    /// How long it is.
    pub bytes: u64,
    /// The hash of its bytes.
    pub sha256: String,
    /// Whether it was written now; otherwise it was there with the same bytes.
    pub created: bool,
}

/// What a package is to say of a directory: `{execution_output_dir, trigger_reason, modification_suggestions_summary,
/// timestamp, iteration_summary?, metadata?, …}`; the index is made from the files.
#[derive(Debug, ToSchema)]
#[schema(value_type = Object)]
pub struct AboutIn(pub Map<String, Value>);

/// A package that was made from a directory. It is not stored.
#[derive(Debug, Serialize, ToSchema)]
pub struct PackageOut {
    /// The package, to be sent as it is.
    #[schema(value_type = Object)]
    pub package: Value,
}
