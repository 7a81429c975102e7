//! Paths below a root, checked by their letters alone (HO-10). Whether the file system plays along is for whoever opens
//! them to see.
//!
//! Invariant: a safe path names something below the directory it is joined to, for every file system that takes `/` for
//! its separator and has no links.

use crate::limits::{HANDOFF_NAME_BYTES, HANDOFF_PATH_BYTES, HANDOFF_PATH_NAMES};
use serde::Serialize;
use std::fmt;
use thiserror::Error;

/// A relative path with forward slashes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct SafePath(String);

/// Why a path is not taken. It does not repeat the path, which may hold anything.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct UnsafePath(pub String);

impl SafePath {
    /// Checks a path.
    pub fn parse(text: &str) -> Result<Self, UnsafePath> {
        let refuse = |why: &str| Err(UnsafePath(why.to_owned()));
        // What people and shells write without meaning anything by it.
        let text = text.strip_prefix("./").unwrap_or(text);
        let text = text.strip_suffix('/').unwrap_or(text);
        if text.is_empty() {
            return refuse("a path cannot be empty");
        }
        check_length(text)?;
        if text.starts_with('/') {
            return refuse("the path must be relative");
        }
        // A backslash separates names elsewhere, and control characters lie to whoever reads the path.
        if text.chars().any(|character| character == '\\' || character.is_control()) {
            return refuse("backslashes and control characters are not allowed in a path");
        }
        let mut names = 0;
        for name in text.split('/') {
            match name {
                "" => return refuse("a path has no empty names, neither two at its end"),
                "." | ".." => return refuse("`.` and `..` are not allowed in a path"),
                _ if name.len() > HANDOFF_NAME_BYTES => {
                    return Err(UnsafePath(format!(
                        "a name in a path has at most {HANDOFF_NAME_BYTES} bytes"
                    )));
                }
                _ => names += 1,
            }
        }
        check_names(names)?;
        Ok(Self(text.to_owned()))
    }

    /// The path, without a `./` before and a `/` after it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A path below this one.
    pub fn join(&self, below: &str) -> Result<Self, UnsafePath> {
        // Checked by itself: joined, an absolute path would look like a relative one.
        self.join_path(&Self::parse(below)?)
    }

    /// The same for a path that is checked.
    pub fn join_path(&self, below: &Self) -> Result<Self, UnsafePath> {
        let mut joined = String::with_capacity(self.0.len() + 1 + below.0.len());
        joined.push_str(&self.0);
        joined.push('/');
        joined.push_str(&below.0);
        check_length(&joined)?;
        check_names(self.names().count() + below.names().count())?;
        Ok(Self(joined))
    }

    /// Its names, outermost first. There is at least one.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }

    /// The directory it is in, unless that is the root, and its last name.
    pub fn split(&self) -> (Option<&str>, &str) {
        match self.0.rsplit_once('/') {
            Some((dir, name)) => (Some(dir), name),
            None => (None, &self.0),
        }
    }

    /// The last name.
    pub fn file_name(&self) -> &str {
        self.split().1
    }
}

fn check_length(path: &str) -> Result<(), UnsafePath> {
    if path.len() > HANDOFF_PATH_BYTES {
        return Err(UnsafePath(format!("a path has at most {HANDOFF_PATH_BYTES} bytes")));
    }
    Ok(())
}

fn check_names(names: usize) -> Result<(), UnsafePath> {
    if names > HANDOFF_PATH_NAMES {
        return Err(UnsafePath(format!("a path has at most {HANDOFF_PATH_NAMES} names")));
    }
    Ok(())
}

impl fmt::Display for SafePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// HO-10
    #[test]
    fn what_leaves_the_root_or_pretends_to_be_something_else_is_refused() {
        let paths = [
            "",
            "/",
            "/etc/passwd",
            "//etc/passwd",
            "..",
            "../x",
            "a/../b",
            "a/..",
            ".",
            "./",
            ".//a",
            "././a",
            "a/./b",
            "a//b",
            "a//",
            "a\0b",
            "a\nb",
            "a\u{7f}",
            "a\u{85}b",
            "a\\b",
            "..\\x",
            "C:\\x",
        ];
        for path in paths {
            assert!(SafePath::parse(path).is_err(), "{path:?}");
        }
        assert_eq!(SafePath::parse("/etc").unwrap_err().to_string(), "the path must be relative");
    }

    /// HO-10
    #[test]
    fn names_that_only_look_dangerous_are_names() {
        for path in ["a", "...", "..a", "a..", "a/b..c/.hidden", "场景/样本.json", "a b", "~", "C:x"] {
            assert_eq!(SafePath::parse(path).map(|safe| safe.to_string()), Ok(path.to_owned()));
        }
    }

    #[test]
    fn what_shells_add_to_a_path_is_nothing() {
        for path in ["a/b", "./a/b", "a/b/", "./a/b/"] {
            assert_eq!(SafePath::parse(path).map(|safe| safe.to_string()), Ok("a/b".to_owned()), "{path}");
        }
    }

    /// HO-10
    #[test]
    fn a_path_is_joined_only_if_it_is_safe_by_itself() {
        let root = SafePath::parse("a/b").unwrap();
        assert_eq!(root.join("c/d").unwrap().as_str(), "a/b/c/d");
        for below in ["/etc", "../c", "", "."] {
            assert!(root.join(below).is_err(), "{below}");
        }
        assert_eq!(root.file_name(), "b");
    }

    /// SEC-07
    #[test]
    fn length_names_and_depth_are_bounded() {
        let name = |bytes: usize| "a".repeat(bytes);
        assert!(SafePath::parse(&name(HANDOFF_NAME_BYTES)).is_ok());
        assert!(SafePath::parse(&name(HANDOFF_NAME_BYTES + 1)).is_err());
        let deep = |names: usize| vec!["a"; names].join("/");
        assert!(SafePath::parse(&deep(HANDOFF_PATH_NAMES)).is_ok());
        assert!(SafePath::parse(&deep(HANDOFF_PATH_NAMES + 1)).is_err());
        let long = [name(255), name(255), name(255), name(253), "ab".to_owned()].join("/");
        assert_eq!(long.len(), HANDOFF_PATH_BYTES);
        assert!(SafePath::parse(&long).is_ok());
        assert!(SafePath::parse(&format!("{long}c")).is_err());
    }
}
