//! Patterns, matched by walking their automaton with every state that is alive: the time is at most text times pattern,
//! and every state that is looked at is counted.

use super::{
    bounds::{Room, Steps, Unfinished},
    ecma,
};
use crate::{Invalid, limits};
use regex_automata::{
    nfa::thompson::{NFA, State, WhichCaptures},
    util::primitives::StateID,
};

/// A pattern, ready to be matched.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    pub(super) text: String,
    automaton: NFA,
}

/// Looks at states of an automaton that take as long as one step.
const LOOKS_PER_STEP: usize = 2;

impl Pattern {
    pub(super) fn read(text: &str, field: &str, room: &mut Room) -> Result<Self, Invalid> {
        room.take_pattern(field, text.len())?;
        let refused = |why: String| Invalid::field(field, format!("is no pattern that can be used: {why}"));
        let translated = ecma::translated(text).map_err(refused)?;
        let config =
            NFA::config().nfa_size_limit(Some(room.automata_bytes())).which_captures(WhichCaptures::None);
        let automaton = NFA::compiler().configure(config).build(&translated).map_err(|error| {
            let reason = match error.size_limit() {
                Some(_) => {
                    format!("with the others it takes more than {} bytes", limits::SCHEMA_AUTOMATA_BYTES)
                }
                None => {
                    std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string)
                }
            };
            refused(reason)
        })?;
        room.take_automaton(automaton.memory_usage());
        Ok(Self { text: text.to_owned(), automaton })
    }
}

/// Where a match is in its work. One serves all patterns of a check.
#[derive(Debug, Default)]
pub(super) struct Matcher {
    /// When each state was last reached.
    reached: Vec<u64>,
    now: u64,
    /// States from which a character goes on.
    alive: Vec<StateID>,
    next: Vec<StateID>,
    open: Vec<StateID>,
    looks: usize,
}

impl Matcher {
    /// Whether a pattern matches somewhere in a text.
    pub(super) fn matches(
        &mut self,
        pattern: &Pattern,
        text: &str,
        steps: &mut Steps,
    ) -> Result<bool, Unfinished> {
        let (automaton, text) = (&pattern.automaton, text.as_bytes());
        let states = automaton.states().len();
        if self.reached.len() < states {
            steps.take(states / 64)?;
            self.reached.resize(states, 0);
        }
        self.alive.clear();
        self.now += 1;
        for at in 0..=text.len() {
            if at == 0 || !automaton.is_always_start_anchored() {
                if self.reach(automaton, automaton.start_anchored(), text, at) {
                    return Ok(true);
                }
            } else if self.alive.is_empty() {
                return Ok(false);
            }
            let Some(byte) = text.get(at) else { break };
            if self.step(automaton, *byte, text, at + 1) {
                return Ok(true);
            }
            self.looks += 1;
            if self.looks >= LOOKS_PER_STEP {
                steps.take(self.looks / LOOKS_PER_STEP)?;
                self.looks %= LOOKS_PER_STEP;
            }
        }
        Ok(false)
    }

    /// Goes on with a byte; true when that makes a match.
    fn step(&mut self, automaton: &NFA, byte: u8, text: &[u8], after: usize) -> bool {
        let alive = std::mem::take(&mut self.alive);
        std::mem::swap(&mut self.alive, &mut self.next);
        self.now += 1;
        let mut is_match = false;
        for id in &alive {
            let next = match automaton.state(*id) {
                State::ByteRange { trans } => trans.matches_byte(byte).then_some(trans.next),
                State::Sparse(sparse) => {
                    self.looks += sparse.transitions.len() / 4;
                    sparse.matches_byte(byte)
                }
                State::Dense(dense) => dense.matches_byte(byte),
                State::Look { .. }
                | State::Union { .. }
                | State::BinaryUnion { .. }
                | State::Capture { .. }
                | State::Fail
                | State::Match { .. } => None,
            };
            self.looks += 1;
            if let Some(next) = next
                && self.reach(automaton, next, text, after)
            {
                is_match = true;
                break;
            }
        }
        self.next = alive;
        self.next.clear();
        is_match
    }

    /// Adds every state that is reached from one without a byte; true when the match is one of them.
    fn reach(&mut self, automaton: &NFA, from: StateID, text: &[u8], at: usize) -> bool {
        self.open.push(from);
        while let Some(id) = self.open.pop() {
            self.looks += 1;
            if std::mem::replace(&mut self.reached[id], self.now) == self.now {
                continue;
            }
            match automaton.state(id) {
                State::ByteRange { .. } | State::Sparse(_) | State::Dense(_) => self.alive.push(id),
                State::Look { look, next } => {
                    if automaton.look_matcher().matches(*look, text, at) {
                        self.open.push(*next);
                    }
                }
                State::Union { alternates } => {
                    self.looks += alternates.len() / 4;
                    self.open.extend(alternates.iter().copied());
                }
                State::BinaryUnion { alt1, alt2 } => self.open.extend([*alt1, *alt2]),
                State::Capture { next, .. } => self.open.push(*next),
                State::Fail => {}
                State::Match { .. } => {
                    self.open.clear();
                    return true;
                }
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::read(text, "pattern", &mut Room::default()).unwrap()
    }

    fn matches(text: &str, value: &str) -> bool {
        Matcher::default().matches(&pattern(text), value, &mut Steps::default()).unwrap()
    }

    #[test]
    fn a_pattern_matches_anywhere_unless_it_says_where() {
        for (text, fits, misfits) in [
            ("b", "abc", "ac"),
            ("^b", "bc", "abc"),
            ("b$", "ab", "abc"),
            ("^$", "", "a"),
            ("", "x", ""),
            ("^(a|bc)+$", "abca", "abcb"),
            ("^a{2,3}$", "aaa", "aaaa"),
            (r"^\S+@\S+$", "a@b", "a @b"),
            (r"\bcat\b", "a cat", "concat"),
            ("^[^äö]$", "ü", "ä"),
            (r"^\p{Letter}+$", "卡片", "卡1"),
            ("^.$", "😀", "\n"),
            ("[]", "", "a"),
            ("^[^]$", "\n", ""),
        ] {
            if text != "[]" {
                assert!(matches(text, fits), "{text} {fits}");
            }
            if !text.is_empty() {
                assert!(!matches(text, misfits), "{text} {misfits}");
            }
        }
    }

    #[test]
    fn one_matcher_serves_many_patterns() {
        let (mut matcher, mut steps) = (Matcher::default(), Steps::default());
        let (long, short) = (pattern("^(abc|abd|[a-z]{20})$"), pattern("^a$"));
        for (pattern, text, expected) in [
            (&long, "abd", true),
            (&short, "a", true),
            (&long, "abe", false),
            (&short, "abd", false),
            (&long, "abc", true),
        ] {
            assert_eq!(matcher.matches(pattern, text, &mut steps), Ok(expected), "{text}");
        }
    }

    /// F-41, SEC-07: what makes other engines go back and forth.
    #[test]
    fn the_time_of_a_match_is_text_times_pattern() {
        let text = "a".repeat(10_000);
        let mut steps = Steps::default();
        let nasty = pattern("^(a+)+$");
        assert!(!Matcher::default().matches(&nasty, &format!("{text}!"), &mut steps).unwrap());
        assert!(steps.taken() < 100_000, "{}", steps.taken());
        let many = pattern("(x+x+)+y");
        let mut steps = Steps::default();
        assert!(!Matcher::default().matches(&many, &"x".repeat(10_000), &mut steps).unwrap());
        assert!(steps.taken() < 200_000, "{}", steps.taken());
    }
}
