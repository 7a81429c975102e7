//! What reading schemas and checking values may cost.

use crate::{CancelFlag, Invalid, limits};
use thiserror::Error;

/// What schemas that are read together may still take.
#[derive(Debug, Clone)]
pub struct Room {
    bytes: usize,
    subschemas: usize,
    pattern_bytes: usize,
    automata_bytes: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            bytes: limits::SCHEMA_BYTES,
            subschemas: limits::SUBSCHEMAS,
            pattern_bytes: limits::SCHEMA_PATTERN_BYTES,
            automata_bytes: limits::SCHEMA_AUTOMATA_BYTES,
        }
    }
}

impl Room {
    pub(super) fn take_bytes(&mut self, field: &str, bytes: usize) -> Result<(), Invalid> {
        take(&mut self.bytes, bytes, (field, limits::SCHEMA_BYTES, "bytes"))
    }

    pub(super) fn take_subschema(&mut self, field: &str) -> Result<(), Invalid> {
        take(&mut self.subschemas, 1, (field, limits::SUBSCHEMAS, "subschemas"))
    }

    pub(super) fn take_pattern(&mut self, field: &str, bytes: usize) -> Result<(), Invalid> {
        take(&mut self.pattern_bytes, bytes, (field, limits::SCHEMA_PATTERN_BYTES, "bytes of patterns"))
    }

    /// What compiled patterns may still take.
    pub(super) const fn automata_bytes(&self) -> usize {
        self.automata_bytes
    }

    pub(super) fn take_automaton(&mut self, bytes: usize) {
        self.automata_bytes = self.automata_bytes.saturating_sub(bytes);
    }
}

fn take(
    left: &mut usize,
    wanted: usize,
    (field, limit, unit): (&str, usize, &'static str),
) -> Result<(), Invalid> {
    let taken = limit - *left;
    Invalid::check_size(field, taken.saturating_add(wanted), limit, unit)?;
    *left -= wanted;
    Ok(())
}

/// Why a check did not come to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Unfinished {
    /// It took too long.
    #[error(
        "checking the value against its schema takes more than {} steps; make the value smaller or the schema simpler",
        limits::SCHEMA_STEPS
    )]
    OutOfSteps,
    /// Subschemas apply within one another too often.
    #[error(
        "checking the value applies more than {} subschemas within one another; make the schema simpler",
        limits::SCHEMA_NESTING
    )]
    TooDeep,
    /// Nobody waits for it any more.
    #[error("nobody waits for the check any more")]
    Cancelled,
}

/// What checks that belong together may still take. A step is a subschema or keyword that is looked at, or so much work
/// on a long text as takes the same time.
#[derive(Debug)]
pub struct Steps {
    left: u64,
    /// Steps until the flag is looked at again.
    until_look: u64,
    cancel: CancelFlag,
}

/// How many steps go by between two looks at the flag.
const LOOK_EVERY: u64 = 4_096;

impl Default for Steps {
    fn default() -> Self {
        Self::until(CancelFlag::default())
    }
}

impl Steps {
    /// As many as there are, until the flag is set.
    pub fn until(cancel: CancelFlag) -> Self {
        Self { left: limits::SCHEMA_STEPS, until_look: LOOK_EVERY, cancel }
    }

    /// How many were taken.
    pub const fn taken(&self) -> u64 {
        limits::SCHEMA_STEPS - self.left
    }

    pub(super) fn take(&mut self, steps: usize) -> Result<(), Unfinished> {
        let steps = steps as u64;
        self.left = match self.left.checked_sub(steps) {
            Some(left) => left,
            None => {
                self.left = 0;
                return Err(Unfinished::OutOfSteps);
            }
        };
        match self.until_look.checked_sub(steps) {
            Some(until) => self.until_look = until,
            None => {
                self.until_look = LOOK_EVERY;
                if self.cancel.is_set() {
                    return Err(Unfinished::Cancelled);
                }
            }
        }
        Ok(())
    }
}
