//! Parses server-sent events. The parser takes bytes in chunks of any size.
//!
//! The model clients parse streamed answers with it, and the CLI parses the server's event log. The parser knows the
//! framing only; the caller interprets the data of an event.

use thiserror::Error;

/// The longest event that is read. A longer one would fill the memory before it ended.
pub const EVENT_BYTES: usize = 32 << 20;

/// The stream holds an event of more than [`EVENT_BYTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the stream holds an event that is too long")]
pub struct EventTooLong;

/// One event.
#[derive(Debug, PartialEq, Eq)]
pub struct Event {
    /// The `id:` field.
    pub id: Option<String>,
    /// The `event:` field.
    pub kind: Option<String>,
    /// The `data:` lines, joined by line breaks.
    pub data: String,
}

/// Collects bytes until they complete an event.
#[derive(Debug, Default)]
pub struct Parser {
    line: Vec<u8>,
    /// The last byte was a carriage return; a line feed that follows it belongs to the same line end.
    after_return: bool,
    id: Option<String>,
    kind: Option<String>,
    data: Option<String>,
}

impl Parser {
    /// The events that these bytes complete.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<Event>, EventTooLong> {
        let mut events = vec![];
        while let Some(first) = bytes.first() {
            if std::mem::take(&mut self.after_return) && *first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            self.line.extend_from_slice(part);
            if self.line.len() + self.data.as_ref().map_or(0, String::len) > EVENT_BYTES {
                return Err(EventTooLong);
            }
            bytes = rest;
            if let Some((last, rest)) = rest.split_first() {
                self.after_return = *last == b'\r';
                bytes = rest;
                let line = std::mem::take(&mut self.line);
                events.extend(self.line(&String::from_utf8_lossy(&line)));
            }
        }
        Ok(events)
    }

    fn line(&mut self, line: &str) -> Option<Event> {
        let line = line.strip_prefix('\u{feff}').unwrap_or(line);
        if line.is_empty() {
            let (id, kind) = (self.id.take(), self.kind.take());
            return self.data.take().map(|data| Event { id, kind, data });
        }
        // A line that starts with a colon is a comment: its field has no name.
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => self.id = Some(value.to_owned()),
            "event" => self.kind = Some(value.to_owned()),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "\u{feff}: hello\n\nevent: ping\ndata: {\"a\":\"世\"}\n\ndata:x\r\ndata: y\r\n\r\nevent: none\nid: 6\n\nid: 7\ndata\r\rretry: 5\ndata:  [DONE]\n\ndata: cut";

    fn event(id: Option<&str>, kind: Option<&str>, data: &str) -> Event {
        Event { id: id.map(str::to_owned), kind: kind.map(str::to_owned), data: data.to_owned() }
    }

    #[test]
    fn events_are_the_same_however_the_bytes_are_cut() {
        let expected = [
            event(None, Some("ping"), "{\"a\":\"世\"}"),
            event(None, None, "x\ny"),
            event(Some("7"), None, ""),
            event(None, None, " [DONE]"),
        ];
        for size in 1..=STREAM.len() {
            let mut parser = Parser::default();
            let mut events = vec![];
            for part in STREAM.as_bytes().chunks(size) {
                events.extend(parser.push(part).unwrap());
            }
            assert_eq!(events, expected, "in parts of {size} bytes");
        }
    }

    #[test]
    fn an_event_without_end_is_refused() {
        let mut parser = Parser::default();
        assert!(parser.push(&vec![b'x'; EVENT_BYTES]).is_ok());
        assert_eq!(parser.push(b"x"), Err(EventTooLong));

        let mut parser = Parser::default();
        let line = [b"data: ".as_slice(), &vec![b'x'; EVENT_BYTES / 4], b"\n"].concat();
        let refused = (0..5).find_map(|_| parser.push(&line).err());
        assert_eq!(refused, Some(EventTooLong));
    }
}
