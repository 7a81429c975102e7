//! W3C Trace Context: which trace something belongs to, and which span caused it.
//!
//! A trace id of ours is a text that callers may choose; only what has W3C's form is passed on as one.
//! Invariant: a [`SpanId`] is never zero.

use std::{fmt, num::NonZeroU64};
use uuid::Uuid;

/// The name of the header.
pub const TRACEPARENT: &str = "traceparent";

/// Names a span within its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanId(NonZeroU64);

impl SpanId {
    /// None for zero, which names no span.
    pub fn new(number: u64) -> Option<Self> {
        NonZeroU64::new(number).map(Self)
    }

    /// The span that stands for a turn, a batch or a request. Whoever knows the id knows the span, in any process.
    pub fn of(id: Uuid) -> Option<Self> {
        // The second half: in the first one ids of the same millisecond are alike.
        Self::new(id.as_u64_pair().1)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// What a `traceparent` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent<'a> {
    /// The trace: 32 hexadecimal digits.
    pub trace_id: &'a str,
    /// The span that caused this.
    pub span_id: SpanId,
}

impl<'a> TraceParent<'a> {
    /// None if the trace is not W3C's: it is not passed off as one.
    pub fn new(trace_id: &'a str, span_id: SpanId) -> Option<Self> {
        is_trace_id(trace_id).then_some(Self { trace_id, span_id })
    }

    /// Reads a header.
    pub fn parse(header: &'a str) -> Option<Self> {
        let mut parts = header.split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let legal = is_hex(version, 2) && version != "ff" && is_hex(span, 16) && is_hex(flags, 2);
        // A later version may say more; this one must not.
        if !legal || (version == "00" && parts.next().is_some()) {
            return None;
        }
        Self::new(trace, SpanId::new(u64::from_str_radix(span, 16).ok()?)?)
    }
}

impl fmt::Display for TraceParent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-01", self.trace_id, self.span_id)
    }
}

/// Whether a trace id has W3C's form.
pub fn is_trace_id(text: &str) -> bool {
    is_hex(text, 32) && text.bytes().any(|byte| byte != b'0')
}

fn is_hex(text: &str, len: usize) -> bool {
    text.len() == len && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    #[test]
    fn a_header_is_read_as_it_is_written() {
        let header = format!("00-{TRACE}-00f067aa0ba902b7-01");
        let parent = TraceParent::parse(&header).unwrap();
        assert_eq!((parent.trace_id, parent.span_id.get()), (TRACE, 0x00f0_67aa_0ba9_02b7));
        assert_eq!(parent.to_string(), header);
        // What a later version adds is not ours to judge.
        assert_eq!(TraceParent::parse(&format!("cc-{TRACE}-00f067aa0ba902b7-01-more")), Some(parent));
    }

    #[test]
    fn what_is_not_well_formed_says_nothing() {
        for bad in [
            "",
            "00",
            "00-x-y-z",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-+0f067aa0ba902b7-01",
        ] {
            assert_eq!(TraceParent::parse(bad), None, "{bad}");
        }
        assert_eq!(TraceParent::new("mine", SpanId::new(1).unwrap()), None);
    }

    #[test]
    fn ids_of_the_same_millisecond_are_different_spans() {
        let (first, second) =
            ("0190b0a0-0000-7000-8000-000000000001", "0190b0a0-0000-7000-8000-000000000002");
        let span = |text: &str| SpanId::of(text.parse().unwrap()).unwrap();
        assert_ne!(span(first), span(second));
        assert_eq!(SpanId::of(Uuid::nil()), None);
    }
}
