//! Deleting a session takes everything that it ever showed (ST-09).

use super::*;
use crate::session::{
    delete::{self, Deleted, Gathered},
    turn,
};
use cardwire_model::{CardFact, Snapshot, Timestamp};

impl World {
    /// Walks the checkpoints, as the kernel does.
    fn gather(&self, checkpoint: CardId) -> Gathered {
        let mut holdings = Holdings::default();
        let mut next = Some(checkpoint);
        while let Some(id) = next {
            let found = Checkpoint::from_json(&self.cards[&id].content, &self.state.key).unwrap();
            holdings.add(id, &found);
            let behind = |former: &CardId| self.cards[former].deleted_at.is_none();
            let former = found.former.map(|former| former.checkpoint);
            next = found.previous.or(former.filter(behind));
        }
        for reach in holdings.reaches() {
            holdings.add_cards(self.held(Some(reach)).iter().map(|held| held.card_id));
        }
        for fields in holdings.fields() {
            holdings.add_deliverables(self.cards[&fields].content.to_value().as_object().unwrap());
        }
        Gathered { checkpoint, cards: holdings.into_cards() }
    }

    fn facts(&self) -> HashMap<CardId, CardFact> {
        self.cards.iter().map(|(id, card)| (*id, card.into())).collect()
    }

    fn delete(&mut self, gathered: Option<&Gathered>) -> Deleted {
        self.state.known = self.facts();
        let moment = self.moment();
        let deleted = delete::decide(&self.state, gathered, &moment).unwrap();
        self.apply(deleted.commit);
        deleted.outcome
    }

    fn sweep(&mut self, cards: &[CardId]) {
        let snapshot = Snapshot { cards: self.facts(), ..Snapshot::default() };
        let moment = self.moment();
        let swept = delete::sweep(&snapshot, &project(), &key("s"), cards, &moment);
        assert_eq!(swept.commit.audit.is_empty(), swept.commit.writes.is_empty());
        self.apply(swept.commit);
    }

    fn head(&self) -> CardId {
        self.state.row.as_ref().unwrap().checkpoint
    }

    fn left(&self) -> usize {
        self.cards.values().filter(|card| card.deleted_at.is_none()).count()
    }
}

/// A session of which most is not shown any more: replaced, compacted, delivered anew, planned anew.
fn grown() -> World {
    let mut world = World::new();
    world.patch(&append(vec![human("a", "one"), human("b", "two"), human("c", "three")]));
    world.patch(&append(vec![human("a", "ONE")]));
    for (summary, keep) in [("first", vec![2]), ("second", vec![])] {
        world.state.memory = Some(world.held(world.state.checkpoint.memory));
        let version = world.state.version();
        let covers = vec![(0, 2)];
        let by = Origin::Operator;
        let command = Compact { summary: summary.to_owned(), follows: None, keep, covers, version, by };
        let moment = world.moment();
        let compacted = compact::decide(&world.state, &command, &moment).unwrap();
        world.apply(compacted.commit);
    }
    let replace = MessagesOp::Replace(vec![human("z", "zed")]);
    world.patch(&Patch { messages: Some(replace), ..Patch::default() });
    let result = ResultsOp::Append(vec![json!({ "task_id": "t", "output": 1 })]);
    world.patch(&Patch { results: Some(result), timeline: vec![json!("began")], ..Patch::default() });
    world.patch(&Patch { results: Some(ResultsOp::Reset), ..set(json!({ "goal": "g" })) });
    for text in ["draft", "final"] {
        let deliverable = Some(json!(text));
        let finish = FinishAgent { deliverable, ..FinishAgent::new("w".parse().unwrap(), "completed") };
        world.patch(&Patch { finish_agent: Some(finish), ..Patch::default() });
    }
    let moment = world.moment();
    let kept = experience::keep(&world.state, Some(&json!({ "goal": "g" })), &moment).unwrap();
    world.apply(kept.commit);
    world
}

#[test]
fn st_09_deleting_takes_what_earlier_versions_showed() {
    let mut world = grown();
    let gathered = world.gather(world.head());
    assert_eq!(gathered.cards.len(), world.cards.len(), "every card that the session ever made");
    assert_eq!(gathered.cards.last(), Some(&world.head()), "the way to the others is the last to go");
    assert_eq!(world.delete(Some(&gathered)), Deleted::Whole);
    assert_eq!(world.left(), 0);
    assert_eq!((world.state.version(), world.texts().len()), (0, 0));
    let moment = world.moment();
    assert!(delete::decide(&world.state, None, &moment).is_err(), "it is gone");
    let version = world.state.row.as_ref().unwrap().version.get();
    world.patch(&append(vec![human("a", "one")]));
    assert_eq!(world.texts(), ["one"]);
    assert!(world.state.version() > version, "versions go on, so that an old one never fits again");
}

#[test]
fn st_09_what_came_meanwhile_goes_with_what_is_swept() {
    let mut world = grown();
    let gathered = world.gather(world.head());
    world.patch(&append(vec![human("n", "meanwhile")]));
    let head = world.head();
    let before = world.left();
    assert_eq!(world.delete(Some(&gathered)), Deleted::Row(head));
    assert_eq!((world.left(), world.state.exists()), (before, false), "the row first, the cards later");
    let rest = world.gather(head).cards;
    let (some, others) = rest.split_at(rest.len() / 2);
    world.sweep(some);
    // Whoever comes again does all of it, and what is gone already is left alone.
    world.sweep(&rest);
    world.sweep(others);
    assert_eq!(world.left(), 0);
}

#[test]
fn st_09_what_a_deletion_left_behind_goes_with_the_next_session_of_the_name() {
    let mut world = grown();
    world.delete(None);
    let left = world.left();
    world.patch(&append(vec![human("a", "anew")]));
    let first = world.state.checkpoint.clone();
    assert_eq!((first.previous, first.former.is_some()), (None, true));
    world.patch(&append(vec![human("b", "more")]));
    assert_eq!(world.state.checkpoint.former, first.former, "all of its versions know");
    let gathered = world.gather(world.head());
    assert!(gathered.cards.len() > left);
    world.delete(Some(&gathered));
    assert_eq!(world.left(), 0);
    // Of what is gone as a whole nothing is looked up again.
    world.patch(&append(vec![human("a", "once more")]));
    assert_eq!(world.gather(world.head()).cards.len(), 2);
}

#[test]
fn st_09_a_card_of_somebody_else_in_a_box_of_the_session_stays() {
    let mut world = grown();
    let foreign = crate::fixtures::card(77, "mine");
    let reach = world.state.checkpoint.memory.unwrap();
    world.boxes.get_mut(&(reach.box_id, reach.generation)).unwrap().push(foreign.id);
    world.cards.insert(foreign.id, foreign.clone());
    let mut gathered = world.gather(world.head());
    gathered.cards.insert(0, foreign.id);
    world.delete(Some(&gathered));
    assert_eq!((world.left(), world.cards[&foreign.id].deleted_at), (1, None));
}

/// NF-12: a box that grew with every version is read once.
#[test]
fn st_09_of_all_reaches_into_a_box_the_longest_is_read() {
    let mut world = World::new();
    for n in 0..50 {
        world.patch(&append(vec![human(&n.to_string(), "text")]));
    }
    let mut holdings = Holdings::default();
    let mut next = Some(world.head());
    while let Some(id) = next {
        let found = Checkpoint::from_json(&world.cards[&id].content, &world.state.key).unwrap();
        holdings.add(id, &found);
        next = found.previous;
    }
    let reaches = holdings.reaches();
    assert_eq!((reaches.len(), reaches[0].len), (1, 50));
    assert_eq!(holdings.at_least(), 100);
}

/// A turn that begins at a moment, and ends well.
fn ends(world: &mut World, began: i64) -> bool {
    let answer = CanonicalJson::string("done").unwrap();
    let pair = turn::exchange(&super::exchange::ended(9, "{}"), None, &[], answer);
    world.prepare(&pair);
    let moment = world.moment();
    let commit = turn::remember(&world.state, Timestamp::from_micros(began), &pair, &moment).unwrap();
    let remembered = commit.is_some();
    if let Some(commit) = commit {
        world.apply(commit);
    }
    remembered
}

#[test]
fn st_09_a_turn_that_goes_on_does_not_bring_a_deleted_session_back() {
    let mut world = grown();
    world.delete(None);
    let deleted = world.state.row.as_ref().unwrap().deleted_at.unwrap().micros();
    assert!(!ends(&mut world, deleted - 1) && !world.state.exists());
    // Nor does it tell the next session of the name, whatever version that is at.
    world.patch(&append(vec![human("a", "anew")]));
    world.patch(&append(vec![human("b", "more")]));
    assert!(!ends(&mut world, deleted - 1));
    assert_eq!(world.texts(), ["anew", "more"]);
    assert!(ends(&mut world, deleted), "what began since belongs to the new one");
    assert_eq!(world.texts(), ["anew", "more", "done"]);
    // A turn that begins after the deletion makes a session as any other does.
    world.delete(None);
    assert!(ends(&mut world, i64::MAX) && world.state.exists());
    // And a session that was never deleted may be younger than its turns.
    assert!(ends(&mut World::new(), 0));
}

#[test]
fn st_09_what_is_noted_of_a_deleted_session_comes_too_late() {
    let mut world = World::new();
    let note = |world: &mut World| {
        let moment = world.moment();
        experience::keep(&world.state, Some(&json!({ "goal": "g" })), &moment)
    };
    let made = note(&mut world).unwrap();
    world.apply(made.commit);
    world.delete(None);
    assert!(matches!(note(&mut world), Err(Rejection::NotFound { .. })));
    world.patch(&append(vec![human("a", "anew")]));
    assert!(note(&mut world).is_ok());
}
