//! Fork a box: a new box that shows a prefix of another, by reference (CB-11, CB-17).

use super::plain_box;
use crate::{Decision, Moment, Rejection};
use cardwire_model::{
    AuditAction, BoxHead, BoxId, CardId, Commit, Entry, EntrySource, EventKind, Generation, Invalid, Item,
    NewBox, ProjectId, Segment, Snapshot, Timestamp, Write, limits,
};
use serde_json::json;

/// A prefix to fork.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkBox {
    /// Where.
    pub project: ProjectId,
    /// A fresh id for the new box.
    pub box_id: BoxId,
    /// Whose cards.
    pub source: BoxId,
    /// How many of them; all when absent.
    pub upto: Option<u32>,
    /// The cards the source shows. Needed only when its segments nest as deep as they may.
    pub flat: Option<Vec<CardId>>,
}

/// Whether forking this box needs its flattened cards, because one more level of segments would be too deep.
pub fn needs_flat(source: &BoxHead) -> bool {
    source.depth >= limits::SEGMENT_DEPTH
}

/// Makes a box with one segment, whatever the length of the source. Past the nesting limit the cards are written
/// out instead, so that a chain of forks never gets stuck.
pub fn decide(
    snapshot: &Snapshot,
    command: &ForkBox,
    moment: &Moment,
) -> Result<Decision<BoxHead>, Rejection> {
    let source =
        snapshot.boxes.get(&command.source).ok_or_else(|| Rejection::not_found("box", command.source))?;
    let upto = command.upto.unwrap_or(source.len);
    if upto > source.len {
        let reason = format!("must be at most {}, the length of the box", source.len);
        return Err(Invalid::field("upto", reason).into());
    }
    let new = match (needs_flat(source), &command.flat) {
        (true, Some(flat)) => {
            let prefix = flat.get(..upto as usize).unwrap_or(flat);
            let new = plain_box(command.box_id, Generation::FIRST, prefix, moment.now);
            copied_from(source, new)
        }
        (true, None) => return Err(Rejection::Conflict("the box changed while it was forked".to_owned())),
        (false, _) if upto == 0 => plain_box(command.box_id, Generation::FIRST, &[], moment.now),
        (false, _) => segment_box(command.box_id, source, upto, moment.now),
    };
    let mut commit = Commit::new(command.project.clone());
    let facts =
        json!({ "from": command.source.to_string(), "generation": source.generation.get(), "len": upto });
    commit.events.push(moment.event(EventKind::BoxCreated, command.box_id, &facts));
    commit.audit.push(moment.audit(AuditAction::BoxFork, command.box_id, &facts));
    let outcome = new.head.clone();
    commit.writes.push(Write::CreateBox(new));
    Ok(Decision { commit, outcome })
}

/// Says of every card where it was copied from (PK-19).
pub(crate) fn copied_from(source: &BoxHead, mut copy: NewBox) -> NewBox {
    for entry in &mut copy.entries {
        entry.source = EntrySource::Copied(source.box_id, source.generation);
    }
    copy
}

fn segment_box(box_id: BoxId, source: &BoxHead, len: u32, now: Timestamp) -> NewBox {
    let segment = Segment { box_id: source.box_id, generation: source.generation, len };
    NewBox {
        head: BoxHead { len, entries: 1, depth: source.depth + 1, ..BoxHead::empty(box_id, now) },
        entries: vec![Entry { item: Item::Segment(segment), source: EntrySource::Inherited }],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{self, moment, project, with_box};

    fn fork(snapshot: &Snapshot, upto: Option<u32>, flat: Option<Vec<CardId>>) -> Result<NewBox, Rejection> {
        let command = ForkBox {
            project: project(),
            box_id: fixtures::box_id(2),
            source: fixtures::box_id(1),
            upto,
            flat,
        };
        decide(snapshot, &command, &moment()).map(|decision| match &decision.commit.writes[..] {
            [Write::CreateBox(new)] => new.clone(),
            other => panic!("{other:?}"),
        })
    }

    /// CB-11: inheriting costs one row, whatever the length.
    #[test]
    fn a_fork_is_one_segment_whatever_the_length() {
        for len in [1, 100, 100_000] {
            let new = fork(&with_box(1, len), None, None).unwrap();
            assert_eq!((new.entries.len(), new.head.len, new.head.depth), (1, len, 1));
        }
        assert_eq!(fork(&with_box(1, 5), Some(0), None).unwrap().entries, []);
        assert_eq!(fork(&with_box(1, 5), Some(5), None).unwrap().head.len, 5);
        assert!(fork(&with_box(1, 5), Some(6), None).is_err());
        assert!(fork(&Snapshot::default(), None, None).is_err());
    }

    #[test]
    fn past_the_nesting_limit_the_cards_are_written_out() {
        let mut snapshot = with_box(1, 2);
        let cards = vec![fixtures::card_id(1), fixtures::card_id(2)];
        let depth = |snapshot: &mut Snapshot, depth| {
            snapshot.boxes.get_mut(&fixtures::box_id(1)).unwrap().depth = depth
        };
        depth(&mut snapshot, limits::SEGMENT_DEPTH - 1);
        assert_eq!(fork(&snapshot, None, None).unwrap().head.depth, limits::SEGMENT_DEPTH);
        depth(&mut snapshot, limits::SEGMENT_DEPTH);
        let new = fork(&snapshot, Some(1), Some(cards)).unwrap();
        assert_eq!((new.head.depth, new.entries.len()), (0, 1));
        let source = EntrySource::Copied(fixtures::box_id(1), Generation::FIRST);
        assert_eq!(new.entries[0].source, source);
    }
}
