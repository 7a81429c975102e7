//! The workspace root: where projects have the files that handoff packages refer to.

use crate::{context::Context, failure::Failure, private};
use cardwire_handoff::{Below, FileError, Files, LocalFiles, SafePath};
use cardwire_objects::{ObjectFiles, S3};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::runtime::Handle;

/// What a root in an object store begins with.
const BUCKET: &str = "s3://";

/// The root that is given, else `workspace` in the data directory.
fn root(context: &Context) -> PathBuf {
    match &context.globals.workspace_root {
        Some(root) => root.clone(),
        None => context.dir.path().join("workspace"),
    }
}

/// Opens the root. The one in the data directory is made; one that is given must be there.
pub(crate) fn open(context: &Context) -> Result<Arc<dyn Files>, Failure> {
    let root = root(context);
    if context.globals.workspace_root.is_none() {
        private::create_dir(&root).map_err(|error| Failure::file("make", &root, &error))?;
    }
    open_root(&root)
}

/// For commands that look at files without a server or a store: what is given, else the one in the data directory if there
/// is one, else the current directory. Of a project those in the directory of its name, if there are any.
pub(crate) fn open_here(context: &Context, project: Option<&str>) -> Result<Arc<dyn Files>, Failure> {
    let own = root(context);
    let is_own = context.globals.workspace_root.is_some() || own.is_dir();
    let files = open_root(if is_own { &own } else { Path::new(".") })?;
    let Some(Ok(dir)) = project.filter(|_| is_own).map(SafePath::parse) else { return Ok(files) };
    // Files are waited for; the first name is enough, and ends the list. Why there is none is told to who looks at one.
    let listed = tokio::task::block_in_place(|| files.list(&dir, &mut |_| Err(FileError::Exists)));
    let is_there = matches!(listed, Ok(()) | Err(FileError::Exists));
    Ok(if is_there { Arc::new(Below::new(files, dir)) } else { files })
}

fn open_root(root: &Path) -> Result<Arc<dyn Files>, Failure> {
    let opened = match root.to_str().and_then(|root| root.strip_prefix(BUCKET)) {
        Some(bucket) => open_bucket(bucket),
        None => LocalFiles::open(root).map(|files| Arc::new(files) as _).map_err(|error| error.to_string()),
    };
    opened.map_err(|why| {
        Failure::usage(format!("cannot use the workspace root `{}`: {why}", root.display()))
            .hint("give a directory or s3://BUCKET/PREFIX with `--workspace-root`")
    })
}

/// A bucket, or what is below a prefix in it. Whoever may open it is said by the variables that other programs take too.
fn open_bucket(text: &str) -> Result<Arc<dyn Files>, String> {
    let (bucket, prefix) = text.split_once('/').unwrap_or((text, ""));
    if bucket.is_empty() {
        return Err("there is no name of a bucket".to_owned());
    }
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let bucket = S3 {
        bucket: bucket.to_owned(),
        endpoint: variable("AWS_ENDPOINT_URL_S3").or_else(|| variable("AWS_ENDPOINT_URL")),
        region: variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION")),
        access_key_id: variable("AWS_ACCESS_KEY_ID"),
        secret_access_key: variable("AWS_SECRET_ACCESS_KEY"),
        session_token: variable("AWS_SESSION_TOKEN"),
    };
    let prefix = if prefix.is_empty() { None } else { Some(SafePath::parse(prefix)) };
    let prefix = prefix.transpose().map_err(|why| why.to_string())?;
    let files = ObjectFiles::s3(bucket, Handle::current()).map_err(|error| error.to_string())?;
    Ok(match prefix {
        Some(prefix) => Arc::new(Below::new(files, prefix)),
        None => Arc::new(files),
    })
}
