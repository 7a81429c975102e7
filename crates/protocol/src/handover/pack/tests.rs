//! Each rule of packing by its number.

use super::*;
use crate::fixtures::{box_id, card_id, moment, project};
use cardwire_model::{Generation, Timestamp};

fn rules(value: &Value) -> Handover {
    Handover::parse(&CanonicalJson::from_value(value).unwrap()).unwrap()
}

fn handover(packing: &Value) -> Handover {
    rules(
        &json!({ "target_profile_config": { "profile_name": "Analyst" }, "context_packing_config": packing }),
    )
}

fn command(arguments: Value, packing: &Value) -> PackContext {
    let Value::Object(arguments) = arguments else { panic!("{arguments}") };
    PackContext {
        tool_suffix: "delegate_async".to_owned(),
        source_agent: Some("boss".parse().unwrap()),
        arguments,
        handover: handover(packing),
        required: Required::default(),
        reach: Reach::Project,
        origin: Origin::Operator,
    }
}

fn target() -> Target {
    Target { profile_name: "Analyst".parse().unwrap(), profile_box: box_id(77) }
}

fn inherited(n: u128, cards: &[u128], depth: u16) -> Inherited {
    let cards: Vec<_> = cards.iter().copied().map(card_id).collect();
    let len = cards.len() as u32;
    let head = BoxHead { len, entries: len, depth, ..BoxHead::empty(box_id(n), Timestamp::from_micros(0)) };
    Inherited { head, cards, card_types: HashSet::new(), copy: box_id(n + 1_000) }
}

fn shared(inherited: &[Inherited]) -> Vec<Arc<Inherited>> {
    inherited.iter().cloned().map(Arc::new).collect()
}

fn pack(command: &PackContext, inherited: &[Inherited]) -> Result<Assembly, Rejection> {
    assemble(command, &target(), &shared(inherited), &moment())
}

fn ids(assembly: &Assembly) -> Vec<CardId> {
    assembly.packed.cards.iter().map(|card| card.card_id).collect()
}

const INSTRUCTION: &str = r#"{ "pack_arguments": [{ "arg_key": "instruction" }] }"#;

fn instruction() -> Value {
    serde_json::from_str(INSTRUCTION).unwrap()
}

#[test]
fn pk_01_the_answer_is_the_box() {
    let assembly = pack(&command(json!({ "instruction": "go" }), &instruction()), &[]).unwrap();
    assert_eq!(assembly.packed.profile_box, box_id(77));
    assert_eq!(assembly.packed.context_box, assembly.new_box.head.box_id);
    assert_eq!(ids(&assembly), [assembly.cards[0].id]);
    assert_eq!(assembly.new_box.head.handover_hash, Some(handover(&instruction()).hash));
}

#[test]
fn pk_04_absent_and_null_arguments_write_nothing() {
    let packing =
        json!({ "pack_arguments": [{ "arg_key": "absent" }, { "arg_key": "a" }, { "arg_key": "b" }] });
    let assembly = pack(&command(json!({ "a": null, "b": "x" }), &packing), &[]).unwrap();
    assert_eq!(assembly.cards.len(), 1);
    assert_eq!(assembly.packed.cards[0].source, EntrySource::Argument(2));
}

#[test]
fn pk_05_a_card_is_an_instruction_unless_its_rule_says_otherwise() {
    let packing = json!({ "pack_arguments": [
        "x", { "arg_key": "absent" }, { "arg_key": "a" }, { "arg_key": "a", "as_card_type": " " },
        { "arg_key": "a", "as_card_type": "my.kind" },
    ] });
    let assembly = pack(&command(json!({ "a": "x" }), &packing), &[]).unwrap();
    let kinds: Vec<_> = assembly.cards.iter().map(|card| card.kind.as_str()).collect();
    assert_eq!(kinds, ["task.instruction", "task.instruction", "my.kind"]);
}

#[test]
fn pk_06_metadata_is_copied_and_the_role_kept() {
    let packing = json!({ "pack_arguments": [
        { "arg_key": "a", "card_metadata": { "role": "system", "k": 1 } }, { "arg_key": "a", "as_card_type": "my.kind" },
    ] });
    let command = command(json!({ "a": "x" }), &packing);
    let before = command.handover.clone();
    let first = pack(&command, &[]).unwrap();
    let second = pack(&command, &[]).unwrap();
    assert_eq!(command.handover, before);
    let metadata: Vec<_> = first.cards.iter().map(|card| card.metadata.to_value()).collect();
    let kept = json!({ "type": "task.instruction", "role": "system", "k": 1, "author_id": "delegate_async" });
    assert_eq!(metadata[0], kept);
    assert_eq!(metadata[1], json!({ "type": "my.kind", "role": "user", "author_id": "delegate_async" }));
    assert_eq!(second.cards[0].metadata.to_value(), kept);
}

#[test]
fn pk_07_structure_stays_and_the_rest_becomes_text() {
    for (argument, content) in [
        (json!(42), json!("42")),
        (json!(1.5), json!("1.5")),
        (json!(true), json!("true")),
        (json!(""), json!("")),
        (json!("  as is \n"), json!("  as is \n")),
        (json!({ "a": 1 }), json!({ "a": 1 })),
        (json!([1, "x"]), json!([1, "x"])),
    ] {
        let assembly = pack(&command(json!({ "instruction": argument }), &instruction()), &[]).unwrap();
        assert_eq!(assembly.cards[0].content.to_value(), content, "{argument}");
    }
}

#[test]
fn pk_08_result_fields_have_a_shape() {
    let packing = json!({ "pack_arguments": [
        { "arg_key": "instruction" }, { "arg_key": "f", "as_card_type": "task.result_fields" },
    ] });
    let with = |fields: Value| pack(&command(json!({ "instruction": "x", "f": fields }), &packing), &[]);
    let good = json!([{ "name": "a", "description": "", "type": "number", "schema": { "type": "number" } }]);
    let assembly = with(good.clone()).unwrap();
    assert_eq!(assembly.cards[1].content.to_value(), json!({ "fields": good }));
    assert_eq!(assembly.cards[1].role.as_str(), "user");
    for (bad, field) in [
        (json!("x"), "arguments/f"),
        (json!({}), "arguments/f"),
        (json!([1]), "arguments/f/0"),
        (
            json!([{ "name": "a", "description": "b" }, { "name": " ", "description": "b" }]),
            "arguments/f/1/name",
        ),
        (json!([{ "name": "a" }]), "arguments/f/0/description"),
        (json!([{ "name": "a", "description": "", "schema": "number" }]), "arguments/f/0/schema"),
        (json!([{ "name": 1, "description": "b" }]), "arguments/f/0/name"),
    ] {
        match with(bad.clone()) {
            Err(Rejection::Invalid(invalid)) => assert_eq!(invalid.field_name(), field, "{bad}"),
            other => panic!("{bad}: {other:?}"),
        }
    }
}

#[test]
fn pk_09_one_card_per_rule_by_the_tool() {
    let packing = json!({ "pack_arguments": [{ "arg_key": "a" }, { "arg_key": "a" }] });
    let assembly = pack(&command(json!({ "a": "x" }), &packing), &[]).unwrap();
    assert_eq!(assembly.cards.len(), 2);
    assert_ne!(assembly.cards[0].id, assembly.cards[1].id);
    assert!(assembly.cards.iter().all(|card| card.author_id.as_deref() == Some("delegate_async")));
    for bad in [String::new(), "  ".to_owned(), "x".repeat(limits::NAME_CHARS + 1)] {
        let command = PackContext { tool_suffix: bad, ..command(json!({ "a": "x" }), &packing) };
        assert!(matches!(pack(&command, &[]), Err(Rejection::Invalid(_))));
    }
    let longest =
        PackContext { tool_suffix: "x".repeat(limits::NAME_CHARS), ..command(json!({ "a": "x" }), &packing) };
    assert!(pack(&longest, &[]).is_ok());
}

fn inherit(names: Value) -> Value {
    json!({ "inherit_context": { "include_boxes_from_args": names } })
}

#[test]
fn pk_10_an_argument_names_one_box_or_many() {
    let wanted = |arguments: Value| {
        let command = command(arguments, &inherit(json!(["b", 7, "c"])));
        boxes(&command.arguments, &command.handover)
    };
    let [a, b] = [box_id(1), box_id(2)].map(|id| id.to_string());
    assert_eq!(wanted(json!({})).unwrap(), []);
    assert_eq!(wanted(json!({ "b": a, "c": [b, a] })).unwrap(), [box_id(1), box_id(2)]);
    for bad in [
        json!({ "x": 1 }),
        json!(null),
        json!(true),
        json!(""),
        json!(" "),
        json!(1.5),
        json!([a, null]),
        json!([""]),
        json!(["b1", null]),
    ] {
        match wanted(json!({ "b": bad })) {
            Err(Rejection::Invalid(invalid)) => {
                assert!(
                    invalid.to_string().contains("inherit_context.b must be a box_id or list[box_id]"),
                    "{bad}"
                );
            }
            other => panic!("{bad}: {other:?}"),
        }
    }
    for unknown in [json!("b1"), json!(5), json!(["b1"])] {
        let error = wanted(json!({ "b": unknown })).unwrap_err();
        assert!(error.to_string().starts_with("inherit_context: box not found: "), "{error}");
    }
}

#[test]
fn pk_11_every_card_once_where_it_occurs_first() {
    let command = command(json!({}), &inherit(json!(["b"])));
    let boxes = [inherited(1, &[1, 2], 0), inherited(2, &[2, 3], 0)];
    let assembly = pack(&command, &boxes).unwrap();
    assert_eq!(ids(&assembly), [1, 2, 3].map(card_id));
    assert_eq!(assembly.new_box.head.len, 3);
    let from: Vec<_> = assembly.packed.cards.iter().map(|card| card.from.unwrap()).collect();
    assert_eq!(from, [box_id(1), box_id(1), box_id(2)]);
}

/// Which boxes there are is read elsewhere; what is said of one that is not there is decided here.
#[test]
fn pk_12_a_box_that_is_not_there_is_named_whatever_comes_with_it() {
    let gone = no_box(box_id(9));
    assert!(matches!(gone, Rejection::NotFound { .. }), "{gone:?}");
    assert_eq!(gone.to_string(), format!("inherit_context: box not found: {}", box_id(9)));
    let good = box_id(1).to_string();
    for (value, named) in [
        (json!("b1"), "b1"),
        (json!([good, "b1", good]), "b1"),
        (json!([good, 7]), "7"),
        (json!(format!("{good}0")), "000000000000000000000000000000010"),
    ] {
        let arguments = json!({ "instruction": "x", "b": value, "c": good });
        let command = command(arguments, &inherit(json!(["c", "b"])));
        let error = boxes(&command.arguments, &command.handover).unwrap_err();
        assert_eq!(error, no_box(named), "{value}");
    }
}

/// CB-11, PK-13
#[test]
fn pk_13_a_box_is_inherited_as_one_entry_of_the_cards_it_shows_now() {
    for len in [5, 5_000] {
        let cards: Vec<u128> = (1..=len).collect();
        let assembly = pack(&command(json!({}), &inherit(json!(["b"]))), &[inherited(9, &cards, 0)]).unwrap();
        let segment = Segment { box_id: box_id(9), generation: Generation::FIRST, len: len as u32 };
        assert_eq!(
            assembly.new_box.entries,
            [Entry { item: Item::Segment(segment), source: EntrySource::Inherited }]
        );
        assert_eq!((assembly.new_box.head.len, assembly.new_box.head.depth), (len as u32, 1));
    }
    let empty = pack(&command(json!({}), &inherit(json!(["b"]))), &[inherited(9, &[], 0)]).unwrap();
    assert_eq!((empty.new_box.entries, empty.new_box.head.depth), (vec![], 0));
}

#[test]
fn past_the_nesting_limit_cards_are_written_out_once() {
    let command = command(json!({}), &inherit(json!(["b"])));
    let deep = [inherited(1, &[1, 2], limits::SEGMENT_DEPTH), inherited(2, &[3], limits::SEGMENT_DEPTH - 1)];
    let assembly = pack(&command, &deep).unwrap();
    assert_eq!((assembly.new_box.entries.len(), assembly.new_box.head.depth), (2, limits::SEGMENT_DEPTH));
    let assembly = pack(&command, &deep[..1]).unwrap();
    assert_eq!((assembly.new_box.entries.len(), assembly.new_box.head.depth), (1, 1));
    let source = EntrySource::Copied(box_id(1), Generation::FIRST);
    let copy = Segment { box_id: deep[0].copy, generation: Generation::FIRST, len: 2 };
    assert_eq!(assembly.new_box.entries, [Entry { item: Item::Segment(copy), source }]);
    // However many there are in one commit (CB-11).
    let mut commit = Commit::new(project());
    let deep = shared(&deep);
    add_copies(&mut commit, deep.iter().chain(&deep), moment().now);
    let made = |write: &Write| {
        let Write::CreateBox(new) = write else { return None };
        Some((new.head.box_id, new.head.sealed, new.entries.clone()))
    };
    let made: Vec<_> = commit.writes.iter().filter_map(made).collect();
    let entry = |n| Entry { item: Item::Card(card_id(n)), source };
    assert_eq!(made, [(deep[0].copy, true, vec![entry(1), entry(2)])]);
}

#[test]
fn a_packed_box_is_bounded() {
    let full: Vec<u128> = (1..=limits::BOX_CARDS as u128).collect();
    let boxes = [inherited(1, &full, 0)];
    assert!(pack(&command(json!({}), &inherit(json!(["b"]))), &boxes).is_ok());
    let packing = json!({ "pack_arguments": [{ "arg_key": "instruction" }], "inherit_context": { "include_boxes_from_args": ["b"] } });
    let over = pack(&command(json!({ "instruction": "x" }), &packing), &boxes);
    assert!(matches!(over, Err(Rejection::Invalid(Invalid::TooLarge { .. }))));
}

#[test]
fn pk_14_the_pointer_comes_last_and_needs_a_parent() {
    let packing = json!({ "pack_arguments": [{ "arg_key": "instruction" }], "inherit_context": { "include_parent": true } });
    let command = command(json!({ "instruction": "x" }), &packing);
    let assembly = pack(&command, &[]).unwrap();
    let pointer = &assembly.cards[1];
    assert_eq!(pointer.content.to_value(), json!({ "parent_agent_id": "boss" }));
    assert_eq!((pointer.kind.as_str(), pointer.role.as_str()), ("meta.parent_pointer", "system"));
    assert_eq!(pointer.author_id.as_deref(), Some("boss"));
    assert_eq!(assembly.packed.cards[1].source, EntrySource::Parent);
    let orphan = PackContext { source_agent: None, ..command };
    match pack(&orphan, &[]) {
        Err(Rejection::Invalid(invalid)) => assert_eq!(invalid.field_name(), "source_agent_id"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn pk_15_arguments_then_boxes_then_parent_unless_told_otherwise() {
    let order = |order: &str| {
        let packing = json!({
            "pack_arguments": [{ "arg_key": "instruction" }],
            "inherit_context": { "include_boxes_from_args": ["b"], "include_parent": true },
            "order": order,
        });
        let command = command(json!({ "instruction": "x" }), &packing);
        let assembly = pack(&command, &[inherited(1, &[1, 2], 0)]).unwrap();
        let entries: Vec<_> = assembly.new_box.entries.iter().map(|entry| entry.source).collect();
        let shown: Vec<_> = assembly.packed.cards.iter().map(|card| card.source).collect();
        (entries, shown)
    };
    let (argument, inherited, parent) =
        (EntrySource::Argument(0), EntrySource::Inherited, EntrySource::Parent);
    let (entries, shown) = order("args_first");
    assert_eq!(entries, [argument, inherited, parent]);
    assert_eq!(shown, [argument, inherited, inherited, parent]);
    let (entries, shown) = order("inherit_first");
    assert_eq!(entries, [inherited, argument, parent]);
    assert_eq!(shown, [inherited, inherited, argument, parent]);
}

#[test]
fn pk_17_packing_makes_one_box_and_nothing_else() {
    let command = command(json!({ "instruction": "x" }), &instruction());
    let decision = decide(&project(), &command, &target(), &[], &moment()).unwrap();
    let boxes = decision.commit.writes.iter().filter(|write| matches!(write, Write::CreateBox(_))).count();
    assert_eq!((boxes, decision.commit.writes.len()), (1, 2));
}

#[test]
fn pk_19_the_record_names_tool_source_profile_boxes_and_rules() {
    let packing = inherit(json!(["b"]));
    let command = command(json!({}), &packing);
    let decision =
        decide(&project(), &command, &target(), &shared(&[inherited(1, &[1], 0)]), &moment()).unwrap();
    let [audit] = &decision.commit.audit[..] else { panic!("{:?}", decision.commit.audit) };
    assert_eq!(
        (audit.action, &audit.subject),
        (AuditAction::ContextPack, &decision.outcome.context_box.to_string())
    );
    let detail = audit.detail.to_value();
    assert_eq!(detail["tool_suffix"], "delegate_async");
    assert_eq!(detail["source_agent_id"], "boss");
    assert_eq!(detail["profile_name"], "Analyst");
    assert_eq!(detail["inherited"], json!([{ "box_id": box_id(1).to_string(), "generation": 1, "len": 1 }]));
    assert_eq!(detail["handover_hash"], handover(&packing).hash.to_string());
    assert_eq!(detail.get("not_handed_over"), None);
}

/// A rich one: of each kind of card, and with a card that two boxes have.
fn everything() -> (PackContext, [Inherited; 2]) {
    let packing = json!({
        "pack_arguments": [{ "arg_key": "instruction" }, { "arg_key": "more", "as_card_type": "my.kind" }],
        "inherit_context": { "include_boxes_from_args": ["b"], "include_parent": true },
    });
    let command = command(json!({ "instruction": "x", "more": { "a": 1 } }), &packing);
    (command, [inherited(1, &[1, 2], 0), inherited(2, &[2, 3], 3)])
}

/// The box is made by whatever the caller commits, or not at all.
#[test]
fn pk_20_a_pack_joins_the_commit_of_its_caller() {
    let (command, from) = everything();
    let mut commit = Commit::new(project());
    let before = Write::SealBox { box_id: box_id(5) };
    commit.writes.push(before.clone());
    commit.events.push(moment().event(EventKind::BoxSealed, box_id(5), &json!({})));
    let packed = pack(&command, &from).unwrap().add_to(&mut commit);
    let alone = decide(&project(), &command, &target(), &shared(&from), &moment()).unwrap();
    assert_eq!((&commit.writes[0], &commit.writes[1..]), (&before, &alone.commit.writes[..]));
    assert_eq!((&commit.events[1..], &commit.audit), (&alone.commit.events[..], &alone.commit.audit));
    assert_eq!((commit.realm, commit.expect), (alone.commit.realm, alone.commit.expect));
    assert_eq!(packed, alone.outcome);
}

/// The dry run shows an [`Assembly`]; that is what a commit is made of.
#[test]
fn pk_21_what_a_dry_run_shows_is_what_is_committed() {
    let (command, from) = everything();
    let shown = pack(&command, &from).unwrap();
    let done = decide(&project(), &command, &target(), &shared(&from), &moment()).unwrap();
    assert_eq!(done.outcome, shown.packed);
    let Some((Write::CreateBox(made), new)) = done.commit.writes.split_last() else {
        panic!("{:?}", done.commit.writes)
    };
    let put = |card: &Card| Write::PutCard(Box::new(card.clone()));
    assert_eq!(new, shown.cards.iter().map(put).collect::<Vec<_>>());
    assert_eq!((made, made.head.box_id), (&shown.new_box, shown.packed.context_box));
    assert_eq!(made.head.len as usize, shown.packed.cards.len());
    // Each card with where it came from: made here, or out of a box.
    let (new, old): (Vec<_>, Vec<_>) = shown.packed.cards.iter().partition(|card| card.from.is_none());
    assert_eq!(
        new.iter().map(|card| card.card_id).collect::<Vec<_>>(),
        shown.cards.iter().map(|card| card.id).collect::<Vec<_>>()
    );
    assert_eq!(old.iter().map(|card| card.card_id).collect::<Vec<_>>(), [1, 2, 3].map(card_id));
    assert!(old.iter().all(|card| card.source == EntrySource::Inherited));
}

#[test]
fn pk_21_a_dry_run_refuses_what_the_pack_would_and_names_what_is_denied() {
    let (command, from) = everything();
    let both = |command: &PackContext| {
        let tried = pack(command, &from).map(|assembly| assembly.packed);
        let done = decide(&project(), command, &target(), &shared(&from), &moment());
        assert_eq!(tried, done.map(|done| done.outcome));
        tried
    };
    assert!(both(&PackContext { source_agent: None, ..command.clone() }).is_err());
    assert!(both(&PackContext { tool_suffix: String::new(), ..command.clone() }).is_err());
    let required = Required { arguments: vec!["absent".to_owned()], ..Required::default() };
    assert!(both(&PackContext { required, ..command.clone() }).is_err());
    for mode in [InheritMode::Enforce, InheritMode::Audit] {
        for allowed in [&[][..], &[1], &[2], &[1, 2]] {
            let reach = Reach::HandedOver { boxes: allowed.iter().copied().map(box_id).collect(), mode };
            let denied = denied(&reach, &[box_id(1), box_id(2)]);
            let tried = both(&PackContext { reach, ..command.clone() });
            match denied.first() {
                Some(id) => assert_eq!(tried, Err(Rejection::UnauthorizedBox { id: id.to_string() })),
                None => assert!(tried.is_ok()),
            }
            let refused = mode == InheritMode::Enforce && allowed.len() < 2;
            assert_eq!(denied.is_empty(), !refused, "{mode:?} {allowed:?}");
        }
    }
}

#[test]
fn pk_22_what_is_required_must_be_there() {
    let required = |arguments: &[&str], card_types: &[&str]| Required {
        arguments: arguments.iter().map(ToString::to_string).collect(),
        card_types: card_types.iter().map(ToString::to_string).collect(),
        either: vec![],
    };
    let either = |name: &str| Required { either: vec![name.to_owned()], ..Required::default() };
    let with = |required, arguments: Value| {
        let command = PackContext { required, ..command(arguments, &instruction()) };
        let mut from = inherited(1, &[1], 0);
        from.card_types.insert("my.fact".to_owned());
        pack(&command, &[from]).map(drop)
    };
    assert!(
        with(required(&["instruction"], &["task.instruction", "my.fact"]), json!({ "instruction": "x" }))
            .is_ok()
    );
    assert!(with(required(&["instruction"], &[]), json!({ "instruction": null })).is_err());
    // The pointer to the parent is a card like any other.
    let pointer = |include: bool| {
        let required = required(&[], &["meta.parent_pointer"]);
        let packing = json!({ "inherit_context": { "include_parent": include } });
        pack(&PackContext { required, ..command(json!({}), &packing) }, &[]).is_ok()
    };
    assert!(pointer(true) && !pointer(false));
    assert!(with(required(&[], &["task.instruction"]), json!({})).is_err());
    assert!(with(required(&[], &["other"]), json!({ "instruction": "x" })).is_err());
    for name in ["instruction", "task.instruction", "my.fact"] {
        assert!(with(either(name), json!({ "instruction": "x" })).is_ok(), "{name}");
    }
    for missing in ["task.instruction", "other"] {
        let refused = with(either(missing), json!({})).unwrap_err();
        assert!(refused.to_string().contains(&format!("arguments/{missing}")), "{refused}");
    }
}

#[test]
fn x_04_an_agent_hands_on_only_what_it_was_handed() {
    let within = |allowed: &[u128], mode| {
        let boxes = allowed.iter().copied().map(box_id).collect();
        let reach = Reach::HandedOver { boxes, mode };
        let command = PackContext { reach, ..command(json!({}), &inherit(json!(["b"]))) };
        decide(
            &project(),
            &command,
            &target(),
            &shared(&[inherited(1, &[1], 0), inherited(2, &[2], 0)]),
            &moment(),
        )
    };
    assert!(within(&[1, 2], InheritMode::Enforce).is_ok());
    for allowed in [&[][..], &[1], &[2], &[3]] {
        assert!(
            matches!(within(allowed, InheritMode::Enforce), Err(Rejection::UnauthorizedBox { .. })),
            "{allowed:?}"
        );
    }
    let audited = within(&[1], InheritMode::Audit).unwrap();
    assert_eq!(audited.commit.audit[0].detail.to_value()["not_handed_over"], json!([box_id(2).to_string()]));
    assert_eq!(denied(&Reach::Project, &[box_id(1)]), []);
}
