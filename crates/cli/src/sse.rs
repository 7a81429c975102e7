//! Reads server-sent events from bytes as they come, however they are cut.

use crate::failure::Failure;

/// Longer lines are not from our server; waiting for their end would fill the memory.
const LINE_BYTES: usize = 16 << 20;

/// One event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// Its place in the log, if it says.
    pub(crate) id: Option<u64>,
    /// Its JSON.
    pub(crate) data: String,
}

/// What has come of the event under way.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    line: Vec<u8>,
    id: Option<u64>,
    data: Option<String>,
}

impl Parser {
    /// The events that these bytes complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Message>, Failure> {
        let mut messages = vec![];
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if self.line.len() > LINE_BYTES {
                return Err(Failure::failed("the event stream holds a line that is too long"));
            }
            if self.line.last() == Some(&b'\n') {
                let line = std::mem::take(&mut self.line);
                let line = String::from_utf8_lossy(&line);
                messages.extend(self.line(line.trim_end_matches(['\n', '\r'])));
            }
        }
        Ok(messages)
    }

    fn line(&mut self, line: &str) -> Option<Message> {
        if line.is_empty() {
            let id = self.id.take();
            return self.data.take().map(|data| Message { id, data });
        }
        // A line that starts with a colon is a heartbeat: its field has no name.
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => self.id = value.parse().ok(),
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

    const STREAM: &str = ": heartbeat\n\nid: 7\nevent: card.written\ndata: {\"a\":\"世\"}\n\nid: 8\r\ndata:x\r\ndata: y\r\n\r\nid: 9\ndata: cut";

    #[test]
    fn events_are_the_same_however_the_bytes_are_cut() {
        let expected = [
            Message { id: Some(7), data: "{\"a\":\"世\"}".to_owned() },
            Message { id: Some(8), data: "x\ny".to_owned() },
        ];
        for size in 1..STREAM.len() {
            let mut parser = Parser::default();
            let mut messages = vec![];
            for part in STREAM.as_bytes().chunks(size) {
                messages.extend(parser.push(part).unwrap());
            }
            assert_eq!(messages, expected, "in parts of {size} bytes");
        }
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let mut parser = Parser::default();
        assert!(parser.push(&vec![b'x'; LINE_BYTES]).is_ok());
        assert!(parser.push(b"x").is_err());
    }
}
