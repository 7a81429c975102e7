//! What a fork costs a store (CB-11): nothing that depends on the length of what is inherited.

use super::rules::Forking;
use crate::{
    fixtures::{agent::box_head, box_id, card_id},
    handover::pack::Inherited,
};
use cardwire_model::{BoxHead, Write, limits};
use serde_json::json;
use std::{collections::HashSet, sync::Arc};

/// Rows that one commit makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cost {
    writes: usize,
    entries: usize,
    events: usize,
    audit: usize,
}

/// Of a fork with so many children that all inherit one box of so many cards.
fn cost(children: usize, cards: u32) -> Cost {
    cost_at(children, cards, 0)
}

/// The same of a box that nests so deep.
fn cost_at(children: usize, cards: u32, depth: u16) -> Cost {
    let mut forking = Forking::of(children, &json!({}));
    let from = Arc::new(Inherited {
        head: BoxHead { len: cards, entries: cards, depth, ..box_head(box_id(70)) },
        cards: (1..=u128::from(cards)).map(card_id).collect(),
        card_types: HashSet::new(),
        copy: box_id(71),
    });
    for task in &mut forking.given.tasks {
        task.inherited = vec![Arc::clone(&from)];
    }
    let commit = forking.decide().unwrap().commit;
    let mut entries = 0;
    for write in &commit.writes {
        if let Write::CreateBox(new) | Write::RewriteBox(new) = write {
            entries += new.entries.len();
        } else if let Write::AppendCards { cards, .. } = write {
            entries += cards.len();
        }
    }
    Cost { writes: commit.writes.len(), entries, events: commit.events.len(), audit: commit.audit.len() }
}

#[test]
fn cb_11_a_child_costs_the_same_whatever_the_length_of_what_it_inherits() {
    for children in [1, 2, 10, 100] {
        assert_eq!(cost(children, 5), cost(children, 5_000), "{children}");
    }
}

#[test]
fn cb_11_every_child_costs_as_much_as_the_one_before() {
    let (one, two, many) = (cost(1, 5_000), cost(2, 5_000), cost(101, 5_000));
    let child = Cost {
        writes: two.writes - one.writes,
        entries: two.entries - one.entries,
        events: two.events - one.events,
        audit: two.audit - one.audit,
    };
    // The instruction, the box as one entry, and the pointer.
    assert_eq!(child.entries, 3);
    // Where it nests too deep to be referred to, all children refer to one copy of it.
    let deep = cost_at(101, 5_000, limits::SEGMENT_DEPTH);
    assert_eq!((deep.writes, deep.entries), (many.writes + 1, many.entries + 5_000));
    let expected = Cost {
        writes: one.writes + 100 * child.writes,
        entries: one.entries + 100 * child.entries,
        events: one.events + 100 * child.events,
        audit: one.audit + 100 * child.audit,
    };
    assert_eq!(many, expected);
}
