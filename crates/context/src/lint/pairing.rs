//! Which result belongs to which call, and which pieces make one message of the model.
//!
//! A result answers the latest open call of its id before it. The budget uses the same pairing as the linter, so that
//! neither can part what the other keeps together.

use super::{Arguments, LintError, Rule, calls, calls::RawCall, names};
use crate::piece::Piece;
use cardwire_model::{Provider, Speaker};
use std::{borrow::Cow, collections::HashMap};

/// A call of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call<'a> {
    /// Its id on the wire.
    pub id: Cow<'a, str>,
    /// The tool's name on the wire.
    pub name: Cow<'a, str>,
    /// Its arguments.
    pub arguments: Arguments<'a>,
    /// The id as it was recorded.
    pub recorded_id: Cow<'a, str>,
    /// The piece that makes it; for one that was added, the result that wants it.
    pub(crate) piece: usize,
    /// The piece that answers it.
    pub(crate) answer: Option<usize>,
    /// Which message of the model makes it.
    message: usize,
    /// It stands in a list, not on a card of its own.
    listed: bool,
    /// The open call of the same id before it.
    earlier: Option<usize>,
}

/// What becomes of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Somebody other than the model says something.
    Says,
    /// The model says something or makes calls.
    Replies {
        /// It only makes calls, directly after something else of the model: one message.
        joins: bool,
    },
    /// It answers this call, and goes directly after it.
    Answers(usize),
    /// It answers a call that nobody made; this one was added.
    Orphan(usize),
    /// The card of a call that a list has already.
    Repeats,
    /// Nothing in it.
    Empty,
}

/// All calls, and what becomes of each piece.
pub(crate) struct Pairing<'a> {
    pub(crate) calls: Vec<Call<'a>>,
    pub(crate) fates: Vec<Fate>,
    /// Pieces that name a call of another piece again, with that call.
    pub(crate) repeats: Vec<(usize, usize)>,
    /// The first thing that cannot be repaired.
    pub(crate) fault: Option<LintError>,
}

/// Pairs the calls and results of arranged pieces.
pub(crate) fn pair<'a>(provider: Provider, pieces: &[Piece<'a>]) -> Pairing<'a> {
    let pairing =
        Pairing { calls: vec![], fates: Vec::with_capacity(pieces.len()), repeats: vec![], fault: None };
    let mut walk = Walk { provider, pairing, seen: HashMap::new(), message: 0, in_reply: false };
    for (index, piece) in pieces.iter().enumerate() {
        let fate = match piece.speaker() {
            Speaker::System | Speaker::Human if piece.is_blank() => Fate::Empty,
            Speaker::System | Speaker::Human => Fate::Says,
            Speaker::Ai => walk.reply(index, piece),
            Speaker::Tool => walk.result(index, piece),
        };
        match fate {
            Fate::Says | Fate::Answers(_) | Fate::Orphan(_) => walk.in_reply = false,
            Fate::Replies { .. } => walk.in_reply = true,
            // As if it were not there, so that the request is the same without it.
            Fate::Repeats | Fate::Empty => {}
        }
        walk.pairing.fates.push(fate);
    }
    walk.pairing
}

struct Walk<'a> {
    provider: Provider,
    pairing: Pairing<'a>,
    /// By recorded id.
    seen: HashMap<Cow<'a, str>, Seen>,
    /// The current message of the model.
    message: usize,
    /// The last piece that counts was the model's.
    in_reply: bool,
}

/// The calls of one id.
struct Seen {
    /// How many.
    count: u32,
    /// The latest that has no result; others follow by [`Call::earlier`].
    open: Option<usize>,
    /// The latest.
    last: usize,
}

impl<'a> Walk<'a> {
    fn reply(&mut self, index: usize, piece: &Piece<'a>) -> Fate {
        let calls = match calls::read(piece) {
            Ok(calls) => calls,
            Err(text) => {
                self.fail(Rule::MalformedCall, piece, &text);
                vec![]
            }
        };
        let says = !piece.is_blank();
        if calls.is_empty() && !says {
            return Fate::Empty;
        }
        let joins = self.in_reply && !says;
        let message = if joins { self.message } else { self.message + 1 };
        let before = self.pairing.calls.len();
        for (place, call) in calls.into_iter().enumerate() {
            let id = call.id.clone().unwrap_or_else(|| made_up_id(piece, index, place));
            match self.known(&id, message, call.listed) {
                Some(known) => self.pairing.repeats.push((index, known)),
                None => self.open(index, id, call, message),
            }
        }
        if !says && self.pairing.calls.len() == before {
            return Fate::Repeats;
        }
        self.message = message;
        Fate::Replies { joins }
    }

    /// The call that this one is: an id stands once in a message, and the card of a call that a list has made already,
    /// and that is still open, is the record of that call.
    fn known(&self, id: &str, message: usize, listed: bool) -> Option<usize> {
        let seen = self.seen.get(id)?;
        let last = &self.pairing.calls[seen.last];
        if last.message == message && last.answer.is_none() {
            return Some(seen.last);
        }
        seen.open.filter(|open| self.pairing.calls[*open].listed && !listed)
    }

    fn open(&mut self, piece: usize, id: Cow<'a, str>, call: RawCall<'a>, message: usize) {
        let index = self.pairing.calls.len();
        let seen = self.seen.entry(id.clone()).or_insert(Seen { count: 0, open: None, last: index });
        self.pairing.calls.push(Call {
            id: names::call_id(self.provider, &id, seen.count),
            name: names::tool_name(call.name),
            arguments: call.arguments,
            recorded_id: id,
            piece,
            answer: None,
            message,
            listed: call.listed,
            earlier: seen.open,
        });
        *seen = Seen { count: seen.count + 1, open: Some(index), last: index };
    }

    fn result(&mut self, index: usize, piece: &Piece<'a>) -> Fate {
        let id = piece.tool_call_id().map_or_else(|| made_up_id(piece, index, 0), Cow::Borrowed);
        if let Some(seen) = self.seen.get_mut(&id) {
            let Some(open) = seen.open else {
                let last = seen.last;
                self.fail(Rule::DuplicateResult, piece, &format!("the call {id} has a result already"));
                return Fate::Answers(last);
            };
            let call = &mut self.pairing.calls[open];
            call.answer = Some(index);
            seen.open = call.earlier;
            return Fate::Answers(open);
        }
        let name = calls::tool_of_result(piece);
        let call = RawCall { id: None, name, arguments: Arguments::None, listed: false };
        // A message of its own, which no call can join.
        self.message += 1;
        self.open(index, id.clone(), call, self.message);
        let added = self.pairing.calls.len() - 1;
        self.pairing.calls[added].answer = Some(index);
        if let Some(seen) = self.seen.get_mut(&id) {
            seen.open = None;
        }
        Fate::Orphan(added)
    }

    fn fail(&mut self, rule: Rule, piece: &Piece<'_>, text: &str) {
        if self.pairing.fault.is_some() {
            return;
        }
        let (card_id, message_id) = (piece.card_id(), piece.message_id().map(str::to_owned));
        let what = match (card_id, &message_id) {
            (Some(card), _) => format!("card {card}"),
            (None, Some(message)) => format!("message {message}"),
            (None, None) => "a message".to_owned(),
        };
        let text = format!("{what}: {text}");
        self.pairing.fault = Some(LintError { rule, card_id, message_id, text });
    }
}

/// An id for a call or result that has none: of the card where there is one, so that it does not change when other
/// pieces come and go.
fn made_up_id<'a>(piece: &Piece<'_>, index: usize, place: usize) -> Cow<'a, str> {
    match (piece.card_id(), place) {
        (Some(card), 0) => format!("cw_{card}").into(),
        (Some(card), place) => format!("cw_{card}_{place}").into(),
        (None, place) => format!("cw_{index}_{place}").into(),
    }
}
