//! Paths and queries from parts that people typed.

use crate::failure::Failure;
use std::fmt::{Display, Write};

/// What to ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route(String);

impl Route {
    /// A path of these segments.
    pub(crate) fn new(segments: &[&str]) -> Result<Self, Failure> {
        let mut path = String::new();
        for segment in segments {
            // Whoever resolves the URL would take these for navigation.
            if matches!(*segment, "" | "." | "..") {
                return Err(Failure::usage(format!("`{segment}` is not a name or an id")));
            }
            path.push('/');
            encode(segment, &mut path);
        }
        Ok(Self(path))
    }

    /// A path inside a project.
    pub(crate) fn in_project(project: &str, segments: &[&str]) -> Result<Self, Failure> {
        Self::new(&[&["projects", project], segments].concat())
    }

    /// The verb after the last segment.
    pub(crate) fn verb(mut self, verb: &str) -> Self {
        self.0.push(':');
        self.0.push_str(verb);
        self
    }

    /// A query parameter, if there is a value.
    pub(crate) fn query(mut self, name: &str, value: Option<impl Display>) -> Self {
        if let Some(value) = value {
            self.0.push(if self.0.contains('?') { '&' } else { '?' });
            self.0.push_str(name);
            self.0.push('=');
            encode(&value.to_string(), &mut self.0);
        }
        self
    }

    /// The page of a list.
    pub(crate) fn page(self, page: &crate::cli::Page) -> Self {
        self.query("limit", page.limit).query("cursor", page.cursor.as_deref())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

fn encode(text: &str, out: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_text_cannot_leave_its_segment() {
        let route = Route::in_project("p1", &["boxes", "a/../b?x:y"]).unwrap().verb("fork");
        let route = route.query("after", None::<u8>).query("cursor", Some("a&b=c d")).query("limit", Some(3));
        assert_eq!(route.as_str(), "/projects/p1/boxes/a%2F..%2Fb%3Fx%3Ay:fork?cursor=a%26b%3Dc%20d&limit=3");
        assert!(Route::in_project("..", &[]).is_err());
    }
}
