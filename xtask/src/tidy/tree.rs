//! The files of the tree, as the rules see them.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

/// A file with its path relative to the workspace root, separated by `/`.
pub(super) struct SourceFile {
    pub(super) path: String,
    pub(super) text: String,
}

impl SourceFile {
    #[cfg(test)]
    pub(super) fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    pub(super) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs") && (self.path.starts_with("crates/") || self.path.starts_with("xtask/"))
    }

    pub(super) fn is_sql(&self) -> bool {
        self.path.ends_with(".sql")
    }

    /// Numbered lines, from one.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}

/// Every file that is or could be committed.
pub(super) fn read(root: &Path) -> anyhow::Result<Vec<SourceFile>> {
    let paths = if root.join(".git").exists() { list_with_git(root)? } else { list_by_walking(root)? };
    let mut files = Vec::with_capacity(paths.len());
    for path in paths {
        match fs::read(root.join(&path)) {
            Ok(bytes) => files.push(SourceFile { path, text: String::from_utf8_lossy(&bytes).into_owned() }),
            // Git still lists a file that has just been deleted.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // A link to a directory, or a repository within this one.
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => {}
            Err(error) => return Err(error).with_context(|| format!("cannot read {path}")),
        }
    }
    ensure!(files.iter().any(SourceFile::is_rust), "found no Rust files below {}", root.display());
    Ok(files)
}

fn list_with_git(root: &Path) -> anyhow::Result<Vec<String>> {
    // In a container the tree often belongs to another user; listing its files is harmless.
    let args = ["-c", "safe.directory=*", "ls-files", "-z", "-co", "--exclude-standard"];
    let output = Command::new("git").args(args).current_dir(root).output().context("cannot run git")?;
    let message = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "git ls-files failed: {message}");
    let listing = String::from_utf8_lossy(&output.stdout);
    Ok(listing.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
}

/// An unpacked archive has no repository; then everything but build output counts.
fn list_by_walking(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut pending = vec![String::new()];
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(root.join(&dir)).with_context(|| format!("cannot list {dir}"))? {
            let entry = entry?;
            let path = format!("{dir}{}", entry.file_name().to_string_lossy());
            if !entry.file_type()?.is_dir() {
                found.push(path);
            } else if path != "target" && path != ".cardwire" {
                pending.push(format!("{path}/"));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_without_git_is_walked_without_its_build_output() {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in
            [("crates/a/src/lib.rs", "//! A."), ("target/debug/x.rs", ""), ("README.md", "Hi.")]
        {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let mut paths: Vec<_> = read(dir.path()).unwrap().into_iter().map(|file| file.path).collect();
        paths.sort();
        assert_eq!(paths, ["README.md", "crates/a/src/lib.rs"]);
    }

    #[test]
    fn a_tree_without_rust_files_is_an_error_and_not_tidy() {
        assert!(read(tempfile::tempdir().unwrap().path()).is_err());
    }
}
