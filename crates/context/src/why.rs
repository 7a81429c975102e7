//! Why a card is in a request, or why not (RP-04): one decision over facts that the caller looked up.

use cardwire_model::{Cause, Layer};

/// What is known of a card and a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Facts {
    /// The manifest has it.
    pub in_entries: Option<(Layer, Cause)>,
    /// The manifest says that it was left out.
    pub omitted: Option<(Layer, Cause)>,
    /// It was added by the linter for this call.
    pub repaired: bool,
    /// There is such a card in the project.
    pub card_exists: bool,
    /// It was neither deleted nor expired when the call was made.
    pub visible: bool,
    /// It is of a kind that is sent as a message (WK-04).
    pub is_message_kind: bool,
    /// The turn's context box has it.
    pub in_context_box: bool,
    /// The turn's output box has it, before or after this call.
    pub in_output_box: Option<Written>,
    /// The session's memory had it when the call was made.
    pub in_memory: bool,
    /// A summary stands for it.
    pub covered_by_summary: bool,
    /// A box that holds it was handed to the agent.
    pub granted_box: bool,
    /// What it costs, or would have cost.
    pub tokens: u32,
}

/// When a card of the output box was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// Before the call: its place is below the length of the box at the call's step.
    Before,
    /// After it.
    After,
}

/// The answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Why {
    /// Whether it was sent.
    pub included: bool,
    /// In which layer it is or would have been, if that is known.
    pub layer: Option<Layer>,
    /// The reason.
    pub cause: Cause,
    /// The reason as a sentence.
    pub rule: &'static str,
    /// What it costs, or would have cost.
    pub tokens: u32,
}

/// Decides. What the manifest says comes first; the rest explains what the manifest does not mention. Nothing is said of a card
/// that is not there: whether it is anywhere else is nobody's business (CB-08).
pub fn why(facts: &Facts) -> Option<Why> {
    let is_known =
        facts.card_exists || facts.in_entries.is_some() || facts.omitted.is_some() || facts.repaired;
    is_known.then(|| reason(facts))
}

fn reason(facts: &Facts) -> Why {
    let out = |cause, rule| Why { included: false, layer: None, cause, rule, tokens: facts.tokens };
    if let Some((layer, cause)) = facts.in_entries {
        return Why {
            included: true,
            layer: Some(layer),
            cause,
            rule: included(cause),
            tokens: facts.tokens,
        };
    }
    if facts.repaired {
        return Why { included: true, ..out(Cause::Repair, included(Cause::Repair)) };
    }
    if let Some((layer, cause)) = facts.omitted {
        return Why { layer: Some(layer), ..out(cause, left_out(cause)) };
    }
    let after = facts.in_output_box == Some(Written::After);
    let given = facts.in_context_box || facts.in_memory || facts.in_output_box == Some(Written::Before);
    if after && !given {
        return out(Cause::NotVisible, "The turn wrote it, or was told it, after this call.");
    }
    if facts.covered_by_summary {
        return out(Cause::Compacted, left_out(Cause::Compacted));
    }
    if given && !facts.visible {
        return out(Cause::Expired, left_out(Cause::Expired));
    }
    if given && !facts.is_message_kind {
        return out(Cause::NotAMessage, left_out(Cause::NotAMessage));
    }
    if given {
        return out(Cause::NotVisible, "A box of the turn has it, but the call was made without it.");
    }
    if facts.granted_box {
        let rule =
            "A box that holds it was handed to the agent, but it was not packed into this turn's context.";
        return out(Cause::NotVisible, rule);
    }
    out(Cause::NotGranted, left_out(Cause::NotGranted))
}

/// Why something is there. Causes that only leave things out are never recorded for an entry.
const fn included(cause: Cause) -> &'static str {
    match cause {
        Cause::Profile => "The agent's profile says it.",
        Cause::Collected => "A collector made this block for the call.",
        Cause::Memory => "It is in the session's memory.",
        Cause::History => "It was in the output box before this turn.",
        Cause::Context => "It was packed or inherited into the turn's context box.",
        Cause::Instruction => "It is the instruction of this turn.",
        Cause::Own => "This turn wrote it or was told it.",
        Cause::Repair => "It was added so that the request obeys the provider's rules.",
        Cause::Budget
        | Cause::Compacted
        | Cause::Empty
        | Cause::Expired
        | Cause::NotAMessage
        | Cause::NotShared
        | Cause::NotVisible
        | Cause::NotGranted => "The manifest has it.",
    }
}

/// Why something is not there.
pub const fn left_out(cause: Cause) -> &'static str {
    match cause {
        Cause::Budget => "The model's window is too small for it.",
        Cause::Compacted => "A summary stands for it.",
        Cause::Empty => "There is nothing in it.",
        Cause::Expired => "It had expired or was deleted.",
        Cause::NotAMessage => "It is said in another way, not as a message of its own.",
        Cause::NotShared => "The team's switch or the process does not share this layer.",
        Cause::NotVisible => "The turn was never given it.",
        Cause::NotGranted => "No box that holds it was handed to the agent.",
        Cause::Profile
        | Cause::Collected
        | Cause::Memory
        | Cause::History
        | Cause::Context
        | Cause::Instruction
        | Cause::Own
        | Cause::Repair => "The manifest lists it as left out.",
    }
}

/// What changes that something is left out, where somebody can change it.
pub const fn advice(cause: Cause) -> Option<&'static str> {
    match cause {
        Cause::Budget => Some("Raise the window of the profile, or let the session be compacted."),
        Cause::Compacted => {
            Some("Open the summary to read what it stands for. A larger compact_threshold keeps more.")
        }
        Cause::Expired => Some("Write the card without a time to live, or with a longer one."),
        Cause::NotShared => Some("Set enable_share_context, or choose a process that shares this layer."),
        Cause::NotVisible | Cause::NotGranted => Some(
            "Pass a box that holds the card: `context_box_id` of the call that delegates, or `inherit_context` of its recipe.",
        ),
        Cause::Empty
        | Cause::NotAMessage
        | Cause::Profile
        | Cause::Collected
        | Cause::Memory
        | Cause::History
        | Cause::Context
        | Cause::Instruction
        | Cause::Own
        | Cause::Repair => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        Facts { card_exists: true, visible: true, is_message_kind: true, tokens: 9, ..Facts::default() }
    }

    /// RP-04
    #[test]
    fn every_cause_that_leaves_a_card_out_is_told_with_what_it_would_have_cost() {
        let context = Facts { in_context_box: true, ..facts() };
        let table = [
            (Facts { omitted: Some((Layer::Checkpoint, Cause::Budget)), ..context }, Cause::Budget),
            (Facts { covered_by_summary: true, ..facts() }, Cause::Compacted),
            (Facts { visible: false, ..context }, Cause::Expired),
            (Facts { is_message_kind: false, ..context }, Cause::NotAMessage),
            (Facts { in_output_box: Some(Written::After), ..facts() }, Cause::NotVisible),
            (Facts { granted_box: true, ..facts() }, Cause::NotVisible),
            (Facts { visible: false, ..facts() }, Cause::NotGranted),
            (facts(), Cause::NotGranted),
        ];
        for (facts, cause) in table {
            let why = why(&facts).unwrap();
            assert_eq!((why.included, why.cause, why.tokens), (false, cause, 9), "{facts:?}");
        }
    }

    /// RP-04
    #[test]
    fn what_the_manifest_says_comes_first() {
        let kept = Facts { in_entries: Some((Layer::Turn, Cause::Own)), visible: false, ..facts() };
        let kept = why(&kept).unwrap();
        assert_eq!((kept.included, kept.layer, kept.cause), (true, Some(Layer::Turn), Cause::Own));
        assert_eq!(kept.rule, "This turn wrote it or was told it.");
        let added = why(&Facts { repaired: true, ..facts() }).unwrap();
        assert_eq!((added.included, added.layer, added.cause), (true, None, Cause::Repair));
    }

    /// RP-04, CB-08
    #[test]
    fn rp_04_nothing_is_said_of_a_card_that_is_not_there() {
        let nowhere = Facts { card_exists: false, ..facts() };
        assert_eq!(why(&nowhere), None);
        // What the manifest tells of it stays true, whatever became of the card.
        for told in [
            Facts { in_entries: Some((Layer::Turn, Cause::Own)), ..nowhere },
            Facts { omitted: Some((Layer::Checkpoint, Cause::Budget)), ..nowhere },
            Facts { repaired: true, ..nowhere },
        ] {
            assert!(why(&told).is_some(), "{told:?}");
        }
    }

    /// RP-04
    #[test]
    fn every_cause_has_a_sentence() {
        for cause in Cause::ALL.iter().copied() {
            for sentence in [included(cause), left_out(cause)] {
                assert!(sentence.ends_with('.'), "{cause:?}");
            }
        }
    }
}
