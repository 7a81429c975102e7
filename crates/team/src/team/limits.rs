//! How far a run may go (PR-11).

use super::read::Fields;
use cardwire_model::{Invalid, limits};

/// The limits of a run. Each has a bound of its own, so that none can be as good as absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Most model calls of one turn.
    pub max_steps: u32,
    /// How long one turn of a member may take.
    pub agent_timeout_seconds: u32,
    /// How long one tool may take.
    pub tool_timeout_seconds: u32,
    /// How often a failed task is given again before its failure counts.
    pub retries: u32,
    /// Most rounds of a run.
    pub max_rounds: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_steps: 25,
            agent_timeout_seconds: 300,
            tool_timeout_seconds: 30,
            retries: 0,
            max_rounds: 100,
        }
    }
}

const NAMES: [&str; 5] =
    ["max_steps", "agent_timeout_seconds", "tool_timeout_seconds", "retries", "max_rounds"];

const MAX_STEPS: u32 = 1_000;
const MAX_RETRIES: u32 = 10;
const MAX_ROUNDS: u32 = 1_000;
const MAX_SECONDS: u32 = limits::RESUME_SECONDS_MAX;

impl Limits {
    /// Reads the limits of a team of so many. Where nothing is said, there is a round for each of them.
    pub(super) fn parse(team: &Fields<'_>, members: usize) -> Result<Self, Invalid> {
        let plain = Self::default();
        let each = u32::try_from(members).unwrap_or(u32::MAX);
        let plain = Self { max_rounds: plain.max_rounds.max(each), ..plain };
        let Some(given) = team.fields("limits")? else { return Ok(plain) };
        given.only(&NAMES)?;
        let seconds = |name: &str, default: u32| given.number(name, default, 1..=MAX_SECONDS);
        Ok(Self {
            max_steps: given.number("max_steps", plain.max_steps, 1..=MAX_STEPS)?,
            agent_timeout_seconds: seconds("agent_timeout_seconds", plain.agent_timeout_seconds)?,
            tool_timeout_seconds: seconds("tool_timeout_seconds", plain.tool_timeout_seconds)?,
            retries: given.number("retries", plain.retries, 0..=MAX_RETRIES)?,
            max_rounds: given.number("max_rounds", plain.max_rounds, 1..=MAX_ROUNDS)?,
        })
    }
}
