//! Writes the messages: every call is followed by its results at once, wherever they stood.

use super::{
    Call, Fate, LintError, Linted, NO_RESULT, NewRepair, OPENING, Origin, Out, Part, Rule, Said, names,
    pairing::Pairing,
};
use crate::piece::{Piece, Text};
use cardwire_model::{CanonicalJson, Cause, Provider, Role, Speaker};
use serde_json::json;
use std::ops::Range;

pub(super) fn emit<'a>(
    provider: Provider,
    pieces: &[Piece<'a>],
    pairing: Pairing<'a>,
    no_result: &'static str,
) -> Result<Linted<'a>, LintError> {
    let Pairing { calls, fates, repeats: _, fault: _ } = pairing;
    let linted = Linted {
        provider,
        system: vec![],
        messages: Vec::with_capacity(pieces.len()),
        repairs: vec![],
        omitted: vec![],
        parts: Vec::with_capacity(pieces.len() + calls.len()),
        calls,
    };
    let mut writer = Writer { linted, pieces, pending: 0..0, no_result };
    for (index, (piece, fate)) in pieces.iter().zip(fates).enumerate() {
        match fate {
            Fate::Says => writer.say(index, piece),
            Fate::Replies { joins } => writer.reply(index, piece, joins),
            Fate::Answers(_) => writer.answer_pending(),
            Fate::Orphan(call) => writer.orphan(call, piece),
            Fate::Repeats => writer.linted.omitted.push((index, Cause::NotAMessage)),
            Fate::Empty => writer.linted.omitted.push((index, Cause::Empty)),
        }
    }
    writer.finish()
}

struct Writer<'a, 'p> {
    linted: Linted<'a>,
    pieces: &'p [Piece<'a>],
    /// Calls of the last message whose results are still to be written.
    pending: Range<usize>,
    /// What the model is told of a call without a result.
    no_result: &'static str,
}

impl<'a> Writer<'a, '_> {
    fn say(&mut self, index: usize, piece: &Piece<'a>) {
        self.answer_pending();
        let is_system = piece.speaker() == Speaker::System;
        let part = Part { said: Said::Text(piece.text()), origin: Origin::Piece(index) };
        match self.linted.provider {
            Provider::OpenAiChat => {
                let role = if is_system { Role::System } else { Role::User };
                self.push(role, piece.name(), part);
            }
            // Anthropic has one place for the system, before all messages. What comes later is told to the model.
            Provider::AnthropicMessages if is_system && self.linted.messages.is_empty() => {
                self.linted.system.push((piece.text(), part.origin));
            }
            Provider::AnthropicMessages => self.push(Role::User, None, part),
        }
    }

    fn reply(&mut self, index: usize, piece: &Piece<'a>, joins: bool) {
        if !joins {
            self.answer_pending();
        }
        let mut is_new = !joins;
        let origin = Origin::Piece(index);
        if !piece.is_blank() {
            let text = Part { said: Said::Text(piece.text()), origin };
            if piece.is_retold() && self.is_within_what_was_said() {
                self.extend(text);
            } else {
                self.push(Role::Assistant, piece.name(), text);
            }
            is_new = false;
        }
        while self.linted.calls.get(self.pending.end).is_some_and(|call| call.piece == index) {
            let part = Part { said: Said::Call(self.pending.end), origin };
            if is_new {
                self.push(Role::Assistant, piece.name(), part);
                is_new = false;
            } else {
                self.extend(part);
            }
            self.pending.end += 1;
        }
    }

    /// Whether the last message is what agents have said: what they came to is one message, however many they are.
    fn is_within_what_was_said(&self) -> bool {
        self.linted.messages.last().is_some_and(|last| {
            let is_text = |part: &Part<'_>| matches!(part.said, Said::Text(_));
            last.role == Role::Assistant && self.linted.parts(last).iter().all(is_text)
        })
    }

    /// A result whose call is unknown, with a call of our own before it.
    fn orphan(&mut self, call: usize, piece: &Piece<'a>) {
        self.answer_pending();
        let origin = self.next_repair();
        self.push(Role::Assistant, None, Part { said: Said::Call(call), origin });
        let name = self.linted.calls[call].name.as_ref();
        let content = json!({ "tool_name": name, "arguments": {} });
        // The name is made of plain letters, so it can always be kept.
        let content = CanonicalJson::from_value(&content).unwrap_or_else(|_| CanonicalJson::empty_object());
        self.repair(Rule::ResultWithoutCall, Some(piece), Speaker::Ai, Some(call), content);
        self.pending = call..call + 1;
        self.answer_pending();
    }

    /// Writes the results of the last message's calls, in the order of the calls.
    fn answer_pending(&mut self) {
        let Range { start, end } = self.pending;
        self.pending = end..end;
        for call in start..end {
            let Call { piece, answer, .. } = self.linted.calls[call];
            let (text, origin) = match answer {
                Some(answer) => (self.pieces[answer].text(), Origin::Piece(answer)),
                None => {
                    let origin = self.next_repair();
                    let content = CanonicalJson::from_stored(NO_RESULT);
                    let piece = self.pieces[piece];
                    self.repair(Rule::CallWithoutResult, Some(&piece), Speaker::Tool, Some(call), content);
                    (Text::Plain(self.no_result), origin)
                }
            };
            let role = match self.linted.provider {
                Provider::OpenAiChat => Role::Tool,
                Provider::AnthropicMessages => Role::User,
            };
            self.push(role, None, Part { said: Said::Result { call, text }, origin });
        }
    }

    fn finish(mut self) -> Result<Linted<'a>, LintError> {
        self.answer_pending();
        if !self.linted.messages.is_empty() {
            return Ok(self.linted);
        }
        match self.linted.provider {
            Provider::AnthropicMessages if !self.linted.system.is_empty() => {
                self.open_conversation();
                Ok(self.linted)
            }
            Provider::AnthropicMessages | Provider::OpenAiChat => Err(LintError {
                rule: Rule::NothingToSend,
                card_id: None,
                message_id: None,
                text: "there is nothing to send".to_owned(),
            }),
        }
    }

    /// Begins a message, or for Anthropic goes on with one of the same role: its roles take turns.
    fn push(&mut self, role: Role, name: Option<&'a str>, part: Part<'a>) {
        let goes_on = match self.linted.provider {
            Provider::OpenAiChat => false,
            Provider::AnthropicMessages => self.linted.messages.last().is_some_and(|last| last.role == role),
        };
        if goes_on {
            return self.extend(part);
        }
        let begins = self.linted.messages.is_empty() && self.linted.provider == Provider::AnthropicMessages;
        if begins && role != Role::User {
            self.open_conversation();
        }
        self.begin(role, name, part);
    }

    fn begin(&mut self, role: Role, name: Option<&'a str>, part: Part<'a>) {
        let from = self.linted.parts.len();
        self.linted.parts.push(part);
        let name = names::speaker_name(self.linted.provider, name);
        self.linted.messages.push(Out { role, name, parts: from..from + 1 });
    }

    fn extend(&mut self, part: Part<'a>) {
        self.linted.parts.push(part);
        if let Some(last) = self.linted.messages.last_mut() {
            last.parts.end = self.linted.parts.len();
        }
    }

    fn open_conversation(&mut self) {
        let opening = Part { said: Said::Text(Text::Plain(OPENING)), origin: self.next_repair() };
        self.begin(Role::User, None, opening);
        let content = CanonicalJson::string(OPENING).unwrap_or_else(|_| CanonicalJson::empty_object());
        self.repair(Rule::FirstNotUser, None, Speaker::Human, None, content);
    }

    /// The origin of what the next repair adds.
    fn next_repair(&self) -> Origin {
        Origin::Repair(self.linted.repairs.len())
    }

    fn repair(
        &mut self,
        rule: Rule,
        piece: Option<&Piece<'_>>,
        speaker: Speaker,
        call: Option<usize>,
        content: CanonicalJson,
    ) {
        let tool_call_id = call.map(|call| self.linted.calls[call].recorded_id.clone().into_owned());
        self.linted.repairs.push(NewRepair {
            rule,
            card_id: piece.and_then(Piece::card_id),
            message_id: piece.and_then(Piece::message_id).map(str::to_owned),
            speaker,
            tool_call_id,
            content,
        });
    }
}
