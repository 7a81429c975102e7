//! The rules of sessions, each by its number, on a session that applies its own commits.

mod calls;
mod delete;
mod exchange;
mod fields;
mod finish;

use super::{
    Held, Holdings, State,
    compact::{self, Compact},
    experience,
    finish::FinishAgent,
    patch::{self, MessagesOp, Patch, Patched, ResultsOp},
    restore::{self, Restore},
};
use crate::{
    Rejection,
    fixtures::{moment, project},
};
use cardwire_model::Origin;
use cardwire_model::{
    BoxId, CanonicalJson, Card, CardId, Checkpoint, Commit, Generation, Invalid, InvalidCode, Message,
    Segment, SessionKey, Speaker, Write, limits,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};

/// A session with all its cards, as a store would keep them.
struct World {
    state: State,
    cards: HashMap<CardId, Card>,
    boxes: HashMap<(BoxId, Generation), Vec<CardId>>,
    clock: i64,
    next: u128,
}

fn key(session: &str) -> SessionKey {
    SessionKey { namespace: "default".parse().unwrap(), session: session.parse().unwrap() }
}

impl World {
    fn new() -> Self {
        let state = State {
            project: project(),
            key: key("s"),
            row: None,
            checkpoint: Checkpoint::default(),
            fields: serde_json::Map::new(),
            summary: None,
            experience: None,
            known: HashMap::new(),
            heads: HashMap::new(),
            memory: None,
            results: None,
            timeline: None,
        };
        Self { state, cards: HashMap::new(), boxes: HashMap::new(), clock: 0, next: 1 }
    }

    fn moment(&mut self) -> crate::Moment {
        self.clock += 1;
        self.next += 1;
        let first = std::sync::atomic::AtomicU64::new(1);
        let base = self.next << 70;
        let fresh = move || {
            let n = first.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            ::uuid::Uuid::from_u128(base | u128::from(n))
        };
        crate::Moment { fresh: crate::Fresh::new(fresh), ..moment() }
    }

    fn held(&self, reach: Option<Segment>) -> Vec<Held> {
        let cards = reach
            .map_or(&[][..], |reach| &self.boxes[&(reach.box_id, reach.generation)][..reach.len as usize]);
        cards.iter().map(|id| Held::from(&self.cards[id])).collect()
    }

    #[allow(clippy::wildcard_enum_match_arm, reason = "no other write is one of a session")]
    fn apply(&mut self, commit: Commit) {
        for write in commit.writes {
            match write {
                Write::PutCard(card) => {
                    let id = card.id;
                    assert!(self.cards.insert(id, *card).is_none(), "a card is written once");
                }
                Write::CreateBox(new) | Write::RewriteBox(new) => {
                    let ids = new.entries.iter().map(|entry| match entry.item {
                        cardwire_model::Item::Card(id) => id,
                        cardwire_model::Item::Segment(_) => unreachable!("sessions write cards"),
                    });
                    self.boxes.insert((new.head.box_id, new.head.generation), ids.collect());
                }
                Write::AppendCards { box_id, generation, cards } => {
                    self.boxes.get_mut(&(box_id, generation)).unwrap().extend(cards);
                }
                Write::PutSession { was, session } => {
                    assert_eq!(was, self.state.row.as_ref().map(|row| row.version));
                    self.state.row = Some(*session);
                }
                Write::DeleteCard { card_id, at } => {
                    let card = self.cards.get_mut(&card_id).unwrap();
                    assert!(card.deleted_at.replace(at).is_none(), "a card is deleted once");
                }
                Write::PutPassage(_) | Write::DropPassages { .. } => {}
                other => unreachable!("no session does {other:?}"),
            }
        }
        let row = self.state.row.as_ref().unwrap();
        if row.deleted_at.is_some() {
            self.state.checkpoint = Checkpoint::default();
            self.state.fields.clear();
            self.state.summary = None;
            return;
        }
        let content = &self.cards[&row.checkpoint].content;
        self.state.checkpoint = Checkpoint::from_json(content, &self.state.key).unwrap();
        self.state.summary = self.summary();
        let fields = self.state.checkpoint.fields.map(|id| self.cards[&id].content.to_value());
        self.state.fields = fields.and_then(|value| value.as_object().cloned()).unwrap_or_default();
    }

    /// Loads what a patch needs, as the kernel does.
    fn prepare(&mut self, patch: &Patch) {
        let known = patch.candidates(&self.state);
        self.state.known =
            known.into_iter().filter_map(|id| Some((id, self.cards.get(&id)?.into()))).collect();
        let lists = patch.needs_lists(&self.state);
        self.state.memory = lists.then(|| self.held(self.state.checkpoint.memory));
        self.state.results = lists.then(|| self.held(self.state.checkpoint.results));
        self.state.timeline = lists.then(|| self.held(self.state.checkpoint.timeline));
    }

    fn try_patch(&mut self, patch: &Patch) -> Result<Patched, Rejection> {
        self.prepare(patch);
        let moment = self.moment();
        let decision = patch::decide(&self.state, patch, &moment)?;
        if !decision.commit.is_empty() {
            self.apply(decision.commit);
        }
        Ok(decision.outcome)
    }

    fn patch(&mut self, patch: &Patch) -> Patched {
        self.try_patch(patch).unwrap()
    }

    fn texts(&self) -> Vec<String> {
        let cards = self.held(self.state.checkpoint.memory);
        let messages = cards.iter().filter(|held| held.is_message);
        messages.map(|held| self.cards[&held.card_id].content.to_text().unwrap()).collect()
    }

    fn results(&self) -> Vec<Value> {
        let held = self.held(self.state.checkpoint.results);
        held.iter().map(|held| self.cards[&held.card_id].content.to_value()).collect()
    }

    fn summary(&self) -> Option<String> {
        let card = &self.cards[&self.state.checkpoint.summary?];
        card.content.to_value()["summary"].as_str().map(str::to_owned)
    }
}

fn message(id: Option<&str>, speaker: Speaker, text: &str) -> Message {
    Message {
        id: id.map(str::to_owned),
        speaker,
        content: CanonicalJson::string(text).unwrap(),
        tool_calls: None,
        tool_call_id: None,
        name: None,
        internal: false,
    }
}

fn human(id: &str, text: &str) -> Message {
    message(Some(id), Speaker::Human, text)
}

fn append(messages: Vec<Message>) -> Patch {
    Patch { messages: Some(MessagesOp::Append(messages)), ..Patch::default() }
}

fn set(values: Value) -> Patch {
    let set: BTreeMap<_, _> = values.as_object().unwrap().clone().into_iter().collect();
    Patch { set, ..Patch::default() }
}

fn code(outcome: Result<Patched, Rejection>) -> InvalidCode {
    match outcome {
        Err(Rejection::Invalid(Invalid::Coded { code, .. })) => code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn st_02_lists_are_not_set_and_the_last_write_of_a_field_wins() {
    let mut world = World::new();
    for (field, value) in
        [("messages", json!([])), ("mapreduce_results", json!([1])), ("timeline", json!([]))]
    {
        assert_eq!(code(world.try_patch(&set(json!({ field: value })))), InvalidCode::ReducerField);
    }
    assert!(world.state.row.is_none(), "nothing is written");
    world.patch(&set(json!({ "goal": "a" })));
    world.patch(&set(json!({ "goal": "b" })));
    assert_eq!(world.state.fields["goal"], "b");
    world.patch(&set(json!({ "goal": null })));
    assert!(!world.state.fields.contains_key("goal"));
}

#[test]
fn st_03_the_same_messages_again_change_nothing_and_another_text_takes_the_place() {
    let mut world = World::new();
    let first = append(vec![human("a", "one"), human("b", "two")]);
    assert!(world.patch(&first).changed);
    let version = world.state.version();
    assert!(!world.patch(&first).changed);
    assert_eq!((world.state.version(), world.texts()), (version, vec!["one".to_owned(), "two".into()]));
    world.patch(&append(vec![human("a", "ONE"), human("c", "three")]));
    assert_eq!(world.texts(), ["ONE", "two", "three"]);
    world.patch(&append(vec![human("a", "ONE"), human("a", "one again")]));
    assert_eq!(world.texts(), ["one again", "two", "three"]);
    let replace = Patch {
        messages: Some(MessagesOp::Replace(vec![human("c", "three"), human("z", "zed")])),
        ..Patch::default()
    };
    let before = world.state.checkpoint.memory.unwrap();
    world.patch(&replace);
    assert_eq!(world.texts(), ["three", "zed"]);
    assert_eq!(world.held(Some(before)).len(), 3, "the old generation can still be read");
}

#[test]
fn st_03_a_message_without_an_id_is_called_by_its_card_and_found_by_that() {
    let mut world = World::new();
    let plain = append(vec![message(None, Speaker::Human, "hi")]);
    world.patch(&plain);
    world.patch(&plain);
    assert_eq!(world.texts(), ["hi", "hi"], "no diffing");
    let name = world.held(world.state.checkpoint.memory)[0].name.clone().unwrap();
    assert!(!world.patch(&append(vec![human(&name, "hi")])).changed);
    world.patch(&append(vec![human(&name, "ho")]));
    assert_eq!(world.texts(), ["ho", "hi"]);
}

#[test]
fn st_04_a_task_has_one_result_within_a_plan() {
    let mut world = World::new();
    let results = |items: Value| Patch {
        results: Some(ResultsOp::Append(items.as_array().unwrap().clone())),
        ..Patch::default()
    };
    world.patch(&results(json!([{ "task_id": "t1", "output": 1 }, { "task_id": "t2", "output": 2 }])));
    world.patch(&results(json!([{ "task_id": "t1", "output": 1 }])));
    assert_eq!(world.results().len(), 2);
    world.patch(&results(json!([{ "task_id": "t1", "output": 7 }])));
    assert_eq!(world.results()[0]["output"], 7);
    world.patch(&Patch { results: Some(ResultsOp::Reset), ..Patch::default() });
    assert_eq!(world.results(), Vec::<Value>::new());
    world.patch(&results(json!([{ "task_id": "t1", "output": 9 }])));
    assert_eq!(world.results(), [json!({ "task_id": "t1", "output": 9 })]);
    world.patch(&set(json!({ "mapreduce_results": [] })));
    assert_eq!(world.results().len(), 0);
    for bad in [json!([1]), json!([{ "output": 1 }]), json!([{ "task_id": " " }])] {
        assert!(world.try_patch(&results(bad)).is_err());
    }
}

#[test]
fn st_05_a_transcript_with_known_ids_adds_only_what_is_new() {
    let mut world = World::new();
    let mut transcript = vec![];
    for turn in 0..5 {
        transcript.push(human(&format!("h{turn}"), "same question"));
        transcript.push(message(Some(&format!("a{turn}")), Speaker::Ai, "answer"));
        world.patch(&append(transcript.clone()));
    }
    assert_eq!(world.texts().iter().filter(|text| *text == "same question").count(), 5);
    assert_eq!(world.texts().len(), 10);
}

#[test]
fn st_06_memory_takes_no_system_messages_nothing_internal_and_only_paired_tools() {
    let mut world = World::new();
    let system = append(vec![human("a", "x"), message(None, Speaker::System, "obey")]);
    assert_eq!(code(world.try_patch(&system)), InvalidCode::SystemInCheckpoint);
    assert!(world.state.row.is_none());
    let internal = Message { internal: true, ..human("i", "secret") };
    world.patch(&append(vec![human("a", "x"), internal]));
    assert_eq!(world.texts(), ["x"]);
    let tool = |call: Option<&str>| Message {
        tool_call_id: call.map(str::to_owned),
        ..message(None, Speaker::Tool, "42")
    };
    assert!(world.try_patch(&append(vec![tool(None)])).is_err());
    assert!(world.try_patch(&append(vec![tool(Some("c1"))])).is_err());
    let caller = Message {
        tool_calls: Some(CanonicalJson::parse(r#"[{"id":"c1","name":"f","arguments":{}}]"#, "x").unwrap()),
        ..message(Some("m"), Speaker::Ai, "")
    };
    world.patch(&append(vec![caller]));
    world.patch(&append(vec![tool(Some("c1"))]));
    assert_eq!(world.texts(), ["x", "", "42"]);
}

#[test]
fn st_08_only_the_summary_and_what_the_project_names_is_persisted() {
    let mut world = World::new();
    for block in ["framework__context", "todo__context", "knowledge__context", "x__context"] {
        let refused = world.try_patch(&set(json!({ block: "text" })));
        assert_eq!(code(refused), InvalidCode::ContextNotPersistable);
    }
    let allowed =
        Patch { reproducible: vec!["todo__context".to_owned()], ..set(json!({ "todo__context": "t" })) };
    world.patch(&allowed);
    assert_eq!(world.state.fields["todo__context"], "t");
    world.patch(&set(json!({ "compression__context": "so far" })));
    assert_eq!(world.summary().as_deref(), Some("so far"));
    world.patch(&set(json!({ "goal": "g" })));
    assert_eq!(world.summary().as_deref(), Some("so far"), "other patches leave it alone");
    world.patch(&set(json!({ "compression__context": null })));
    assert_eq!(world.summary(), None);
}

#[test]
fn st_09_a_checkpoint_can_be_restored() {
    let mut world = World::new();
    world.patch(&append(vec![human("a", "one")]));
    let then = world.state.checkpoint.clone();
    world.patch(&Patch { set: set(json!({ "goal": "g" })).set, ..append(vec![human("b", "two")]) });
    let moment = world.moment();
    let memory = world.held(then.memory).iter().map(|held| held.card_id).collect();
    let command = Restore { to: then, memory, results: vec![], timeline: vec![] };
    let restored = restore::decide(&world.state, &command, &moment).unwrap();
    world.apply(restored.commit);
    assert_eq!(
        (world.texts(), world.state.fields.len(), world.state.version()),
        (vec!["one".to_owned()], 0, 3)
    );
    // What was cut off stays cut off when the session goes on.
    world.patch(&append(vec![human("c", "three")]));
    assert_eq!(world.texts(), ["one", "three"]);
}

#[test]
fn st_10_sessions_of_other_names_do_not_meet() {
    let mut world = World::new();
    world.patch(&append(vec![human("a", "one")]));
    let ids = append(vec![human("a", "one")]).candidates(&world.state);
    for other in [key("t"), SessionKey { namespace: "other".parse().unwrap(), session: "s".parse().unwrap() }]
    {
        let state = State { key: other, ..world.state.clone() };
        let theirs = append(vec![human("a", "one")]).candidates(&state);
        assert!(theirs.iter().all(|id| !ids.contains(id)));
    }
}

#[test]
fn st_11_a_patch_leaves_alone_what_it_does_not_name() {
    let mut world = World::new();
    let todo = json!({ "plan": { "op": "add", "items": ["a"] } });
    world.patch(&Patch {
        todo: Some(todo),
        ..set(json!({ "deliverable_keys": ["x", "x", "y"], "compression__context": "c" }))
    });
    world.patch(&append(vec![human("a", "one")]));
    assert_eq!(world.state.fields["deliverable_keys"], json!(["x", "y"]));
    assert_eq!(world.state.fields["todo"]["items"][0]["description"], "a");
    assert_eq!(world.summary().as_deref(), Some("c"));
}

#[test]
fn st_16_additions_go_together_and_other_changes_want_the_version_they_saw() {
    let mut world = World::new();
    let at = |expected, patch: Patch| Patch { expected_version: Some(expected), ..patch };
    world.patch(&at(0, append(vec![human("a", "one")])));
    world.patch(&at(1, set(json!({ "goal": "g" }))));
    assert!(matches!(world.try_patch(&at(1, set(json!({ "goal": "h" })))), Err(Rejection::Conflict(_))));
    assert!(matches!(world.try_patch(&at(9, append(vec![human("b", "two")]))), Err(Rejection::Conflict(_))));
    world.patch(&at(1, append(vec![human("b", "two")])));
    let results = vec![json!({ "task_id": "t1" })];
    world.patch(&at(1, Patch { results: Some(ResultsOp::Append(results)), ..Patch::default() }));
    assert_eq!((world.texts().len(), world.results().len()), (2, 1));
}

#[test]
fn cp_04_05_08_a_summary_takes_the_place_of_what_it_covers_in_one_commit() {
    let mut world = World::new();
    let messages: Vec<_> = (0..6).map(|n| human(&format!("m{n}"), &format!("text {n}"))).collect();
    world.patch(&append(messages));
    let old = world.state.checkpoint.memory.unwrap();
    let compact = |world: &mut World, summary: &str, keep: Vec<usize>, covers: Vec<(u32, u32)>| {
        world.state.memory = Some(world.held(world.state.checkpoint.memory));
        let command = Compact {
            summary: summary.to_owned(),
            follows: world.state.checkpoint.summary,
            keep,
            covers,
            version: world.state.version(),
            by: Origin::Agent,
        };
        let moment = world.moment();
        compact::decide(&world.state, &command, &moment).map(|decision| world.apply(decision.commit))
    };
    compact(&mut world, "first", vec![0, 4, 5], vec![(1, 4)]).unwrap();
    assert_eq!(world.texts(), ["text 0", "text 4", "text 5"]);
    assert_eq!(world.summary().as_deref(), Some("first"));
    let first = world.cards[&world.state.checkpoint.summary.unwrap()].content.to_value();
    assert_eq!((&first["covers"], &first["box"]["len"]), (&json!([[1, 4]]), &json!(6)));
    assert_eq!(world.held(Some(old)).len(), 6, "the old box stays as it was");
    compact(&mut world, "second", vec![3], vec![(1, 3)]).unwrap();
    assert_eq!((world.texts(), world.summary().as_deref()), (vec!["text 5".to_owned()], Some("second")));
    let second = world.cards[&world.state.checkpoint.summary.unwrap()].content.to_value();
    assert!(second["previous"].is_string());
    // A plan made for another version does nothing.
    let mut command = by_hand("x", 1);
    let moment = world.moment();
    assert!(matches!(compact::decide(&world.state, &command, &moment), Err(Rejection::Conflict(_))));
    // W-15: what was not made of the summary there is leaves it where it is.
    for follows in [None, Some(CardId::from_uuid(::uuid::Uuid::from_u128(1)))] {
        (command.version, command.follows) = (world.state.version(), follows);
        let decision = compact::decide(&world.state, &command, &moment).unwrap();
        assert_eq!(decision.outcome.summary, "second\n\nx");
    }
    let decision = compact::decide(&world.state, &command, &moment).unwrap();
    world.apply(decision.commit);
    assert_eq!((world.summary().as_deref(), world.texts().len()), (Some("second\n\nx"), 0));
    world.patch(&append(vec![human("m9", "text 9")]));
    assert_eq!(world.texts(), ["text 9"]);
}

fn by_hand(summary: &str, version: u64) -> Compact {
    let (summary, by) = (summary.to_owned(), Origin::Operator);
    Compact { summary, follows: None, keep: vec![], covers: vec![], version, by }
}

#[test]
fn nf_12_what_a_patch_writes_does_not_grow_with_the_session() {
    let size = |commit: &Commit| {
        let one = |write: &Write| {
            if let Write::PutCard(card) = write { card.size() } else { format!("{write:?}").len() }
        };
        commit.writes.iter().map(one).sum::<usize>()
    };
    let mut world = World::new();
    let mut sizes = vec![];
    for n in 0..300 {
        let patch = append(vec![human(&format!("h{n:05}"), "question")]);
        world.prepare(&patch);
        let moment = world.moment();
        let decision = patch::decide(&world.state, &patch, &moment).unwrap();
        sizes.push((size(&decision.commit), decision.commit.writes.len()));
        world.apply(decision.commit);
    }
    let (early, late) = (sizes[2], sizes[299]);
    assert!(late.1 == early.1 && late.0 <= early.0 + 16, "{early:?} {late:?}");
}

#[test]
fn one_patch_has_a_bound() {
    let mut world = World::new();
    let many = |n: usize| append((0..n).map(|n| human(&n.to_string(), "x")).collect());
    assert!(world.try_patch(&many(limits::PATCH_ITEMS + 1)).is_err());
    world.patch(&many(limits::PATCH_ITEMS));
    assert_eq!(world.texts().len(), limits::PATCH_ITEMS);
}

#[test]
fn a_box_that_somebody_else_wrote_to_does_not_wedge_the_session() {
    let mut world = World::new();
    world.patch(&append(vec![human("a", "one")]));
    let reach = world.state.checkpoint.memory.unwrap();
    let mut head = crate::fixtures::agent::box_head(reach.box_id);
    head.len = 3;
    world.state.heads.insert(reach.box_id, head);
    let patch = append(vec![human("b", "two")]);
    world.prepare(&patch);
    let moment = world.moment();
    let commit = patch::decide(&world.state, &patch, &moment).unwrap().commit;
    let expected = commit
        .expect
        .iter()
        .any(|expect| matches!(expect, cardwire_model::Expect::OpenBox { min_len: 3, max_len: 3, .. }));
    assert!(expected, "{:?}", commit.expect);
}

#[test]
fn a_box_that_was_sealed_or_rewritten_is_left_behind_with_everything_in_it_kept() {
    for sealed in [true, false] {
        let mut world = World::new();
        let event = Patch { timeline: vec![json!({ "at": 1 })], ..Patch::default() };
        world.patch(&Patch { timeline: event.timeline.clone(), ..append(vec![human("a", "one")]) });
        for reach in [world.state.checkpoint.memory, world.state.checkpoint.timeline].into_iter().flatten() {
            let mut head = crate::fixtures::agent::box_head(reach.box_id);
            (head.len, head.sealed) = (reach.len, sealed);
            if !sealed {
                head.generation = reach.generation.next();
            }
            world.state.heads.insert(reach.box_id, head);
        }
        let old = world.state.checkpoint.memory.unwrap().box_id;
        world.patch(&append(vec![human("b", "two")]));
        world.patch(&event);
        assert_eq!(world.texts(), ["one", "two"]);
        assert_ne!(world.state.checkpoint.memory.unwrap().box_id, old);
        assert_eq!(world.held(world.state.checkpoint.timeline).len(), 2);
        world.patch(&append(vec![human("a", "ONE")]));
        assert_eq!(world.texts(), ["ONE", "two"]);
    }
}

#[test]
fn st_06_calls_that_no_request_could_be_made_of_are_refused_at_the_door() {
    let mut world = World::new();
    let calls = |calls: &str| Message {
        tool_calls: Some(CanonicalJson::parse(calls, "x").unwrap()),
        ..message(Some("m"), Speaker::Ai, "")
    };
    for bad in ["[7]", r#"[{"id":1,"name":"f"}]"#, r#"[{"id":"c1"}]"#, r#"[{"name":"f"}]"#] {
        assert!(world.try_patch(&append(vec![calls(bad)])).is_err(), "{bad}");
    }
    let answer =
        |id: &str| Message { tool_call_id: Some("c1".to_owned()), ..message(Some(id), Speaker::Tool, "42") };
    let asked = append(vec![calls(r#"[{"id":"c1","function":{"name":"f"}}]"#), answer("t1")]);
    world.patch(&asked);
    assert!(!world.patch(&asked).changed, "the same answer again is the same answer");
    assert!(world.try_patch(&append(vec![answer("t2")])).is_err(), "a second answer of one call");
}

#[test]
fn sec_10_what_a_model_said_is_trusted_as_what_a_model_said() {
    let mut world = World::new();
    world.patch(&append(vec![human("h", "ask"), message(Some("a"), Speaker::Ai, "answer")]));
    let held = world.held(world.state.checkpoint.memory);
    let origins: Vec<_> = held.iter().map(|held| world.cards[&held.card_id].origin).collect();
    assert_eq!(origins, [Origin::Operator, Origin::Agent]);
}

#[test]
fn ex_01_an_experience_is_found_only_once_it_is_saved() {
    let mut world = World::new();
    let record = json!({ "goal": "g" });
    let moment = world.moment();
    let mut save = experience::Save {
        seen: None,
        record: record.clone(),
        text: "g".into(),
        terms: "g".into(),
        embedding: None,
    };
    assert!(experience::save(&world.state, &save, &moment).is_err(), "there is no such session");
    let kept = experience::keep(&world.state, Some(&record), &moment).unwrap();
    assert!(!kept.commit.writes.iter().any(|write| matches!(write, Write::PutPassage(_))));
    world.apply(kept.commit);
    let moment = world.moment();
    let same = experience::keep(&world.state, None, &moment).unwrap();
    assert!(same.commit.is_empty() && same.outcome.version.get() == world.state.version());
    assert!(matches!(experience::save(&world.state, &save, &moment), Err(Rejection::Conflict(_))));
    save.seen = world.state.checkpoint.experience;
    let saved = experience::save(&world.state, &save, &moment).unwrap();
    assert!(saved.commit.writes.iter().any(|write| matches!(write, Write::PutPassage(_))));
}
