//! Paths and queries from parts that people typed.

use crate::{
    cli::{Made, Of, Page},
    failure::Failure,
};
use std::fmt::{Display, Write};

/// What to ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route {
    path: String,
    /// The server may be at it for an hour.
    takes_long: bool,
}

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
        Ok(Self { path, takes_long: false })
    }

    /// A path inside a project.
    pub(crate) fn in_project(project: &str, segments: &[&str]) -> Result<Self, Failure> {
        Self::new(&[&["projects", project], segments].concat())
    }

    /// The verb after the last segment.
    pub(crate) fn verb(mut self, verb: &str) -> Self {
        self.path.push(':');
        self.path.push_str(verb);
        self
    }

    /// A query parameter, if there is a value.
    pub(crate) fn query(mut self, name: &str, value: Option<impl Display>) -> Self {
        if let Some(value) = value {
            self.path.push(if self.path.contains('?') { '&' } else { '?' });
            self.path.push_str(name);
            self.path.push('=');
            encode(&value.to_string(), &mut self.path);
        }
        self
    }

    /// Whose entries of a list.
    pub(crate) fn of(self, of: &Of) -> Self {
        self.query("agent_id", of.agent.as_deref())
            .query("agent_turn_id", of.turn.as_deref())
            .query("trace_id", of.trace.as_deref())
    }

    /// When they were made.
    pub(crate) fn made(self, made: &Made) -> Self {
        self.query("since", made.since.as_deref()).query("until", made.until.as_deref())
    }

    /// The page of a list.
    pub(crate) fn page(self, page: &Page) -> Self {
        self.query("limit", page.limit).query("cursor", page.cursor.as_deref())
    }

    /// What looks at all there is, or at every file of a package.
    pub(crate) fn takes_long(self) -> Self {
        Self { takes_long: true, ..self }
    }

    /// Whether the answer may be long in coming.
    pub(crate) const fn is_long(&self) -> bool {
        self.takes_long
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.path
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
