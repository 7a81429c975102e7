//! YAML as another way to write the same JSON (API-07): a body is turned into JSON text first, so that whatever is asked
//! of JSON is asked of YAML too. Plain words mean what the core schema of YAML 1.2 says: `yes` and `on` are texts.
//!
//! What JSON cannot say, or what two readers take for different things, is refused with its place: tags, merge keys,
//! several documents, keys that are no texts, numbers with leading zeros.
//! Invariant: the work is bounded by the size of the body and of a card, whatever aliases refer to.

use cardwire_model::{Invalid, json, limits};
use granit_parser::{Event, Marker, Parser, ScalarStyle};
use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

/// The content types that say YAML; the first is the one we name.
pub const CONTENT_TYPES: [&str; 4] = ["application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"];
/// How the type of a document ends that has a name of its own and is written in YAML, as RFC 9512 has it.
const SUFFIX: &str = "+yaml";

/// Whether a `Content-Type` says YAML.
pub fn is_yaml(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or("").trim();
    let essence = essence.to_ascii_lowercase();
    let named = essence.strip_prefix("application/").and_then(|rest| rest.strip_suffix(SUFFIX));
    CONTENT_TYPES.contains(&essence.as_str()) || named.is_some_and(|name| !name.is_empty())
}

/// The same document as JSON text. A text without a document is `{}`, as an empty JSON body is.
pub fn to_json(text: &str) -> Result<String, Invalid> {
    let nesting = limits::JSON_DEPTH + 1;
    let options = granit_parser::options! { flow_nesting_limit: nesting, block_nesting_limit: nesting };
    let mut writer = Writer::default();
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| writer.error(error.marker(), &error.info()))?;
        writer.take(event, &span.start)?;
    }
    Ok(if writer.out.is_empty() { "{}".to_owned() } else { writer.out })
}

/// JSON text on its way.
#[derive(Default)]
struct Writer {
    out: String,
    /// Lists and objects that have not ended.
    open: Vec<Open>,
    /// What aliases may refer to.
    anchors: HashMap<usize, Anchored>,
}

/// A list or an object that has not ended.
struct Open {
    place: Place,
    anchor: usize,
    /// Where its text starts.
    start: usize,
    /// How deep its children go.
    below: usize,
}

enum Place {
    /// In a list, at this index.
    List(usize),
    /// In an object with these keys, at the last of them if its value is still to come.
    Object { keys: HashSet<String>, at: Option<String> },
}

/// A value that was written before.
struct Anchored {
    text: Range<usize>,
    depth: usize,
}

impl Writer {
    fn take(&mut self, event: Event<'_>, mark: &Marker) -> Result<(), Invalid> {
        if event.tag().is_some() {
            return Err(self.error(mark, "tags (`!…`) are not supported; quote what is a text"));
        }
        match event {
            Event::StreamStart | Event::StreamEnd | Event::DocumentEnd | Event::Anchor(..) => Ok(()),
            Event::DocumentStart(..) if self.out.is_empty() => Ok(()),
            Event::DocumentStart(..) => Err(self.error(mark, "one document only, please")),
            Event::Scalar(text, style, anchor, _) => self.scalar(&text, style, anchor, mark),
            Event::SequenceStart(_, anchor, _) => self.enter("[", Place::List(0), anchor, mark),
            Event::MappingStart(_, anchor, _) => {
                self.enter("{", Place::Object { keys: HashSet::new(), at: None }, anchor, mark)
            }
            Event::SequenceEnd => self.leave("]"),
            Event::MappingEnd => self.leave("}"),
            Event::Alias(anchor) => self.alias(anchor, mark),
            Event::UnresolvedAlias(_) => Err(self.error(mark, "refers to nothing")),
            _ => Err(self.error(mark, "is not supported")),
        }
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        anchor: usize,
        mark: &Marker,
    ) -> Result<(), Invalid> {
        let is_plain = style == ScalarStyle::Plain;
        if self.is_key() {
            return self.key(text, is_plain, anchor, mark);
        }
        let json =
            if is_plain { plain(text).map_err(|reason| self.error(mark, reason))? } else { quoted(text) };
        self.before_value(mark)?;
        let start = self.out.len();
        self.push(&json)?;
        self.remember(anchor, start, 0);
        self.after_value(0);
        Ok(())
    }

    fn key(&mut self, text: &str, is_plain: bool, anchor: usize, mark: &Marker) -> Result<(), Invalid> {
        if is_plain && text == "<<" {
            return Err(self.error(mark, "merge keys (`<<`) are not supported"));
        }
        if is_plain && matches!(text, "" | "~") {
            return Err(self.error(mark, "a key must be a text"));
        }
        let Some(Open { place: Place::Object { keys, at }, .. }) = self.open.last_mut() else {
            return Ok(());
        };
        let (is_first, is_new) = (keys.is_empty(), keys.insert(text.to_owned()));
        *at = Some(text.to_owned());
        if !is_new {
            return Err(self.error(mark, "duplicate key"));
        }
        if !is_first {
            self.push(",")?;
        }
        let start = self.out.len();
        self.push(&quoted(text))?;
        self.remember(anchor, start, 0);
        self.push(":")
    }

    fn enter(&mut self, bracket: &str, place: Place, anchor: usize, mark: &Marker) -> Result<(), Invalid> {
        self.before_value(mark)?;
        self.check_depth(1, mark)?;
        let start = self.out.len();
        self.push(bracket)?;
        self.open.push(Open { place, anchor, start, below: 0 });
        Ok(())
    }

    fn leave(&mut self, bracket: &str) -> Result<(), Invalid> {
        self.push(bracket)?;
        if let Some(ended) = self.open.pop() {
            self.remember(ended.anchor, ended.start, ended.below + 1);
            self.after_value(ended.below + 1);
        }
        Ok(())
    }

    /// Writes what was written before once more.
    fn alias(&mut self, anchor: usize, mark: &Marker) -> Result<(), Invalid> {
        self.before_value(mark)?;
        let Some(Anchored { text, depth }) = self.anchors.get(&anchor) else {
            return Err(self.error(mark, "refers to itself"));
        };
        let (text, depth) = (text.clone(), *depth);
        self.check_depth(depth, mark)?;
        self.check_room(text.len())?;
        self.out.extend_from_within(text);
        self.after_value(depth);
        Ok(())
    }

    /// Whether the next value is the key of a member.
    fn is_key(&self) -> bool {
        matches!(self.open.last(), Some(Open { place: Place::Object { at: None, .. }, .. }))
    }

    fn before_value(&mut self, mark: &Marker) -> Result<(), Invalid> {
        if self.is_key() {
            return Err(self.error(mark, "a key must be a text"));
        }
        match self.open.last() {
            Some(Open { place: Place::List(index), .. }) if *index > 0 => self.push(","),
            Some(_) | None => Ok(()),
        }
    }

    fn after_value(&mut self, depth: usize) {
        if let Some(open) = self.open.last_mut() {
            open.below = open.below.max(depth);
            match &mut open.place {
                Place::List(index) => *index += 1,
                Place::Object { at, .. } => *at = None,
            }
        }
    }

    fn remember(&mut self, anchor: usize, start: usize, depth: usize) {
        if anchor > 0 {
            self.anchors.insert(anchor, Anchored { text: start..self.out.len(), depth });
        }
    }

    fn check_depth(&self, more: usize, mark: &Marker) -> Result<(), Invalid> {
        if self.open.len() + more <= limits::JSON_DEPTH {
            return Ok(());
        }
        Err(self.error(mark, &format!("nested deeper than {} levels", limits::JSON_DEPTH)))
    }

    /// What does not fit a card will be refused; there is no need to write it out before.
    fn check_room(&self, more: usize) -> Result<(), Invalid> {
        Invalid::check_size("body", self.out.len() + more, limits::CARD_BYTES, "bytes")
    }

    fn push(&mut self, text: &str) -> Result<(), Invalid> {
        self.check_room(text.len())?;
        self.out.push_str(text);
        Ok(())
    }

    /// A refusal with its place: members from the root, and the line for people.
    fn error(&self, mark: &Marker, reason: &str) -> Invalid {
        let steps = self.open.iter().filter_map(|open| match &open.place {
            Place::List(index) => Some(index.to_string()),
            Place::Object { at, .. } => at.clone(),
        });
        Invalid::field(json::place(json::BODY, steps), format!("line {}: {reason}", mark.line()))
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A scalar without quotes as JSON, by the core schema.
fn plain(text: &str) -> Result<String, &'static str> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => "null".to_owned(),
        "true" | "True" | "TRUE" => "true".to_owned(),
        "false" | "False" | "FALSE" => "false".to_owned(),
        _ => match number(text)? {
            Some(number) => number,
            None => quoted(text),
        },
    })
}

/// A number as JSON writes it, as far as possible as it was given: what it may be is judged where JSON is read.
fn number(text: &str) -> Result<Option<String>, &'static str> {
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = text.strip_prefix(prefix)
            && !digits.is_empty()
            && digits.chars().all(|c| c.is_digit(radix))
        {
            let number = u64::from_str_radix(digits, radix).map_err(|_| "a number past 64 bits")?;
            return Ok(Some(number.to_string()));
        }
    }
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Err("JSON has no such number");
    }
    let (whole, rest) = digits(unsigned);
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => digits(rest),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Ok(None);
    }
    let mut exponent = String::new();
    if let Some(power) = rest.strip_prefix(['e', 'E']) {
        let (power_sign, power) = match power.strip_prefix(['-', '+']) {
            Some(digits) => (&power[..1], digits),
            None => ("", power),
        };
        if power.is_empty() || !power.bytes().all(|c| c.is_ascii_digit()) {
            return Ok(None);
        }
        exponent = format!("e{power_sign}{power}");
    } else if !rest.is_empty() {
        return Ok(None);
    }
    if whole.len() > 1 && whole.starts_with('0') {
        return Err("a number with leading zeros; quote it if it is a text");
    }
    let whole = if whole.is_empty() { "0" } else { whole };
    let fraction = if fraction.is_empty() { String::new() } else { format!(".{fraction}") };
    Ok(Some(format!("{sign}{whole}{fraction}{exponent}")))
}

/// The digits a text starts with, and the rest.
fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().position(|c| !c.is_ascii_digit()).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests;
