//! Where a fork goes on (RP-06): what the original had written is in its output box before it is leased, and still is what
//! the turn itself has said.

use cardwire_model::{CanonicalJson, Card, Invalid, Timestamp};

/// The setting that tells how many cards the output box held before the original wrote to it.
pub const WATERMARK: &str = "forked_watermark";

/// How many cards of its output box a turn takes for older than itself (WK-03): those that were there when it was leased, or,
/// in a fork, those of them that were older than the original.
pub fn watermark(runtime_config: &CanonicalJson, leased: u32) -> u32 {
    check(runtime_config).ok().flatten().map_or(leased, |named| named.min(leased))
}

/// What the settings of a run say of it. Only a fork has anything to say: whoever else is given a box finds in it what others
/// have written.
pub fn check(runtime_config: &CanonicalJson) -> Result<Option<u32>, Invalid> {
    let member = |wanted: &str| {
        let found = runtime_config.members().and_then(|mut all| all.find(|(name, _)| name == wanted));
        found.map(|(_, value)| value)
    };
    let field = || format!("runtime_config/{WATERMARK}");
    let Some(given) = member(WATERMARK) else { return Ok(None) };
    let named: Option<u32> =
        serde_json::from_str(given).map_err(|_| Invalid::field(field(), "must be a number of cards"))?;
    let is_fork = member("forked_from").is_some_and(|turn| turn.starts_with('"'));
    if named.is_some() && !is_fork {
        return Err(Invalid::field(field(), "needs a forked_from"));
    }
    Ok(named)
}

/// Which call of a turn, from 1, one is that was made at a moment, by when the turn has said what came of each: a call that was
/// made again, because its worker went down or it was too long, is the same one.
pub fn number_of(made: Timestamp, said: impl IntoIterator<Item = Timestamp>) -> usize {
    said.into_iter().filter(|said| *said < made).count() + 1
}

/// What of a turn a fork takes over: the cards that were in its output box before the call that is made anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    /// The number of that call, from 1.
    pub at: usize,
    /// How many cards of the box are taken over.
    pub len: usize,
    /// When the turn had said the last of them, if it had said anything.
    pub after: Option<Timestamp>,
    /// When it said what came of the call, or ended; none while it has done neither.
    pub until: Option<Timestamp>,
}

/// The prefix of a turn before one of its calls. `own` are the cards that the turn itself wrote, each with its place in the box,
/// `len` all cards of the box.
pub fn prefix(
    own: &[(usize, &Card)],
    len: usize,
    ended: Option<Timestamp>,
    at: usize,
) -> Result<Prefix, Invalid> {
    let of_kind = |kind: &'static str| own.iter().filter(move |(_, card)| card.kind.as_str() == kind);
    let thoughts: Vec<_> = of_kind("agent.thought").collect();
    // What came of the call: what the model said with its tool calls, or the last of all, the deliverable.
    let outcome = match at.checked_sub(1) {
        Some(index) if index < thoughts.len() => thoughts.get(index).copied(),
        Some(index) if index == thoughts.len() => of_kind("task.deliverable").next(),
        Some(_) | None => {
            let most = thoughts.len() + 1;
            return Err(Invalid::field("at", format!("must be 1 to {most}: the turn made so many calls")));
        }
    };
    let before = at.checked_sub(2).and_then(|index| thoughts.get(index));
    Ok(Prefix {
        at,
        len: outcome.map_or(len, |(place, _)| *place),
        after: before.map(|(_, card)| card.created_at),
        until: outcome.map_or(ended, |(_, card)| Some(card.created_at)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::agent::json;

    /// RP-06
    #[test]
    fn rp_06_what_the_original_wrote_is_the_forks_own() {
        let fork = json(r#"{"forked_from":"turn_1","forked_watermark":2}"#);
        assert_eq!((watermark(&fork, 5), watermark(&fork, 2)), (2, 2));
        assert_eq!(watermark(&fork, 1), 1, "no more than there is");
        for others in ["{}", r#"{"forked_from":"turn_1"}"#, r#"{"forked_watermark":null}"#] {
            assert_eq!(watermark(&json(others), 5), 5, "{others}");
        }
    }

    /// RP-06
    #[test]
    fn rp_06_only_a_fork_says_where_another_turn_began() {
        for bad in [
            r#"{"forked_watermark":2}"#,
            r#"{"forked_from":null,"forked_watermark":2}"#,
            r#"{"forked_from":7,"forked_watermark":2}"#,
            r#"{"forked_from":"turn_1","forked_watermark":"2"}"#,
            r#"{"forked_from":"turn_1","forked_watermark":-1}"#,
            r#"{"forked_from":"turn_1","forked_watermark":1.5}"#,
        ] {
            assert_eq!(
                check(&json(bad)).unwrap_err().field_name(),
                "runtime_config/forked_watermark",
                "{bad}"
            );
            assert_eq!(watermark(&json(bad), 5), 5, "{bad}");
        }
    }

    /// RP-06: a turn that says something at 3 and 6, with calls at 1, 4, 5 (the one at 4 came to nothing) and 8.
    #[test]
    fn rp_06_a_call_is_known_by_what_was_said_before_it() {
        let said = || [3, 6].map(Timestamp::from_micros);
        let numbers = [1, 4, 5, 8].map(|made| number_of(Timestamp::from_micros(made), said()));
        assert_eq!(numbers, [1, 2, 2, 3]);
    }
}
