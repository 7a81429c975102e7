//! What a delegation writes and what it leaves, each rule by its number.

use super::*;
use crate::{RefusalCode, fixtures::agent::TestAgent, pmo::budget::Tree, resource::RESERVED};
use cardwire_model::{CardId, Event, EventKind, InboxItem, NewEvent, Realm};

fn profile() -> Profile {
    Profile {
        name: "Helper".parse().unwrap(),
        worker_target: "fast".parse().unwrap(),
        profile_box: box_id(50),
        card_id: card_id(50),
        tags: vec!["cheap".to_owned()],
        revision: Revision::FIRST,
        created_at: Timestamp::from_micros(0),
        updated_at: Timestamp::from_micros(0),
        deleted_at: None,
    }
}

/// One of each kind.
fn targets() -> [Target; 3] {
    [
        Target::New(profile()),
        Target::Reuse(agent("helper"), None),
        Target::Clone(agent("source"), Some(head("source", None, Some(61)))),
    ]
}

fn source(n: u128, cards: &[u128]) -> Arc<Inherited> {
    let cards: Vec<_> = cards.iter().copied().map(card_id).collect();
    let head = BoxHead { len: cards.len() as u32, ..box_head(n) };
    Arc::new(Inherited { head, cards, card_types: HashSet::new(), copy: box_id(999) })
}

fn run(call: &Call, command: &Delegate, given: &Given) -> Result<Decision<Delegated>, Rejection> {
    decide(&project(), call, "call_1", command, given, &moment())
}

/// What the tool does when it is called with these arguments.
fn called(tool: &str, args: &Value, given: &Given) -> Decision<Delegated> {
    let call = Call { tool: tool.to_owned(), ..call(None) };
    run(&call, &parse(tool, args).unwrap().unwrap(), given).unwrap()
}

fn agents(commit: &Commit) -> Vec<&Agent> {
    let made = commit.writes.iter().filter_map(|write| {
        if let Write::PutAgent { agent, .. } = write { Some(agent.as_ref()) } else { None }
    });
    made.collect()
}

fn enqueued(commit: &Commit) -> &InboxItem {
    let mut found = commit
        .writes
        .iter()
        .filter_map(|write| if let Write::Enqueue(item) = write { Some(item.as_ref()) } else { None });
    found.next().unwrap()
}

fn card_ids(done: &Delegated) -> Vec<CardId> {
    done.packed.cards.iter().map(|card| card.card_id).collect()
}

fn is_refused<T: std::fmt::Debug>(result: Result<T, Rejection>, code: RefusalCode) {
    let refused = result.unwrap_err();
    assert!(matches!(&refused, Rejection::Refused(refusal) if refusal.code == code), "{refused:?}");
}

#[test]
fn pm_06_a_new_agent_is_what_its_profile_says_and_belongs_to_the_caller() {
    let call = Call { channel: "team".parse().unwrap(), ..call(None) };
    let done = run(&call, &command(Strategy::New), &given(Target::New(profile()), &[])).unwrap();
    let [agent] = agents(&done.commit)[..] else { panic!("{:?}", done.commit.writes) };
    let (of_profile, own) = agent.id.as_str().split_once('_').unwrap();
    assert_eq!(of_profile, box_id(50).to_string());
    assert!(own.len() == 32 && own.bytes().all(|byte| byte.is_ascii_hexdigit()), "{own}");
    assert_eq!((agent.profile_name.as_str(), agent.profile_box), ("Helper", box_id(50)));
    assert_eq!((agent.worker_target.as_str(), &agent.tags[..]), ("fast", &["cheap".to_owned()][..]));
    assert_eq!(agent.owner, Some("boss".parse().unwrap()));
    assert_eq!(agent.metadata.to_value(), json!({ "spawned_by": "boss" }));
    assert_eq!(result(&done.outcome.receipt)["agent_id"], agent.id.as_str());
    let item = enqueued(&done.commit);
    assert_eq!((&item.agent_id, item.channel.as_ref()), (&agent.id, Some(&call.channel)));
    let edges: Vec<_> = done
        .commit
        .writes
        .iter()
        .filter_map(|write| if let Write::AddIdentityEdge(edge) = write { Some(edge) } else { None })
        .collect();
    assert_eq!(edges.len(), 1);
    assert_eq!((&edges[0].target_agent, &edges[0].channel), (&agent.id, &call.channel));
    assert_eq!(edges[0].source_agent, Some("boss".parse().unwrap()));
    // PM-02, DP-10: both say in which step of the caller this was.
    let step = Some("step_9".parse().unwrap());
    assert_eq!((&edges[0].parent_step, &item.parent_step), (&step, &step));
}

/// PM-06, API-09
#[test]
fn pm_06_a_call_of_a_turn_is_on_its_channel_unless_it_names_another() {
    let mut live = head("boss", Some(52), None).live.unwrap();
    live.channel = "team".parse().unwrap();
    let channel = |by_turn, names_channel| {
        let call = Call { names_channel, ..call(by_turn) };
        call.placed(Some(&live)).channel.to_string()
    };
    assert_eq!(channel(Some(9), false), "team");
    assert_eq!(channel(Some(9), true), "public");
    assert_eq!(channel(None, false), "public");
    assert_eq!(call(Some(9)).placed(None).channel, Channel::public());
}

#[test]
fn pm_07_an_agent_that_is_there_is_not_made_again() {
    let done = hand_over(None, &given(Target::Reuse(agent("helper"), None), &[])).unwrap();
    assert_eq!(agents(&done.commit), Vec::<&Agent>::new());
    assert_eq!(done.outcome.receipt.agent_id.as_str(), "helper");
}

#[test]
fn pm_08_a_copy_belongs_to_its_source_and_is_given_what_that_has_written() {
    let source_agent = Agent { tags: vec!["t".to_owned()], ..agent("source") };
    let mut given = given(Target::Clone(source_agent.clone(), Some(head("source", None, Some(61)))), &[]);
    given.inherited = vec![source(61, &[1, 2])];
    let done = run(&call(None), &command(Strategy::Clone), &given).unwrap();
    let [copy] = agents(&done.commit)[..] else { panic!("{:?}", done.commit.writes) };
    assert_eq!((&copy.profile_name, &copy.tags), (&source_agent.profile_name, &source_agent.tags));
    assert_eq!(copy.owner.as_ref(), Some(&source_agent.id));
    assert_eq!(copy.metadata.to_value(), json!({ "derived_from": "source", "spawned_by": "boss" }));
    assert_ne!(copy.id, source_agent.id);
    let new = &done.outcome.new_cards;
    assert_eq!(card_ids(&done.outcome), [new[0].id, card_id(1), card_id(2), new[1].id]);
    assert_ne!(done.outcome.receipt.output_box, box_id(61), "a copy writes a box of its own");
}

#[test]
fn pm_10_the_pointer_names_the_caller_and_comes_last() {
    for (target, strategy) in targets().into_iter().zip([Strategy::New, Strategy::Reuse, Strategy::Clone]) {
        for by_turn in [None, Some(9)] {
            let done = run(&call(by_turn), &command(strategy), &given(target.clone(), &[])).unwrap().outcome;
            let pointer = done.new_cards.last().unwrap();
            assert_eq!(pointer.kind.as_str(), "meta.parent_pointer");
            assert_eq!(pointer.content.to_value(), json!({ "parent_agent_id": "boss" }));
            assert_eq!(card_ids(&done).last(), Some(&pointer.id));
        }
    }
}

#[test]
fn pm_11_the_caller_is_told_where_the_work_is() {
    let idle = given(Target::Reuse(agent("helper"), Some(head("helper", None, None))), &[]);
    let busy = given(Target::Reuse(agent("helper"), Some(head("helper", Some(60), None))), &[]);
    for (given, epoch) in [(idle, json!(5)), (busy, Value::Null)] {
        let done = hand_over(None, &given).unwrap();
        let item = enqueued(&done.commit);
        let told = json!({
            "status": "accepted",
            "agent_id": "helper",
            "agent_turn_id": item.turn_id.to_string(),
            "turn_epoch": epoch,
            "context_box_id": done.outcome.packed.context_box.to_string(),
            "output_box_id": item.output_box.unwrap().to_string(),
        });
        assert_eq!(result(&done.outcome.receipt), told);
        let states = done.commit.events.iter().filter(|event| event.kind == EventKind::AgentState).count();
        assert_eq!(states, usize::from(!epoch.is_null()), "what waits is told of when it is leased");
    }
    let call = Call { max_depth: 4, ..call(None) };
    for target in targets() {
        // No decision, so neither an agent nor a box.
        let refused = run(&call, &command(Strategy::New), &given(target, &[])).unwrap_err();
        let told = calls::refusal(&refused, Some(&"helper".parse().unwrap()), "recursion_depth_exceeded");
        assert_eq!(
            (&told["status"], &told["error_code"], &told["agent_id"]),
            (&json!("rejected"), &json!("recursion_depth_exceeded"), &json!("helper"))
        );
    }
}

#[test]
fn pm_12_the_author_is_the_tool_that_was_called() {
    let args = json!({ "profile_name": "Helper", "instruction": "Go." });
    let done = called("launch_principal", &args, &given(Target::New(profile()), &[])).outcome;
    let kinds: Vec<_> = done.new_cards.iter().map(|card| card.kind.as_str()).collect();
    assert_eq!(kinds, ["task.instruction", "meta.parent_pointer"]);
    assert_eq!(
        (done.new_cards[0].author_id.as_deref(), done.packed.cards.len()),
        (Some("launch_principal"), 2)
    );
    for missing in ["profile_name", "instruction"] {
        let mut args = args.clone();
        args[missing] = Value::Null;
        assert!(parse("launch_principal", &args).is_err());
    }
}

#[test]
fn pm_13_an_expert_is_given_the_history_if_that_is_wanted() {
    let ask =
        |history: bool| json!({ "expert_profile": "E", "question": "Why?", "include_history": history });
    let mut given = given(Target::New(profile()), &[]);
    let boxes = |history, given: &Given| {
        boxes(&call(None), &parse("ask_expert", &ask(history)).unwrap().unwrap(), &given.parties)
    };
    assert_eq!(boxes(false, &given).unwrap(), []);
    assert_eq!(boxes(true, &given).unwrap(), [box_id(52)]);
    given.inherited = vec![source(52, &[1, 2])];
    let done = called("ask_expert", &ask(true), &given).outcome;
    let new = &done.new_cards;
    assert_eq!(new[0].content.to_value(), json!("Why?"));
    assert_eq!(card_ids(&done), [new[0].id, card_id(1), card_id(2), new[1].id]);
    given.parties.caller_head = Some(head("boss", None, None));
    let error = boxes(true, &given).unwrap_err();
    assert!(matches!(error, Rejection::Invalid(_)) && error.to_string().contains("output_box missing"));
}

#[test]
fn pm_14_a_project_may_insist_on_a_policy() {
    let strict = Call { require_policy: true, ..call(None) };
    for target in targets() {
        let mut given = given(target, &[]);
        let refused = |call: &Call, given: &Given| {
            let mut commit = Commit::new(project());
            let prepared = prepare(&mut commit, call, &command(Strategy::New), given, &moment());
            assert!(prepared.is_ok() || commit.is_empty());
            let decided = run(call, &command(Strategy::New), given).map(drop);
            assert_eq!(decided, prepared.map(drop));
            match decided {
                Ok(()) => false,
                Err(Rejection::Forbidden(_)) => true,
                Err(other) => panic!("{other:?}"),
            }
        };
        assert!(refused(&strict, &given) && !refused(&call(None), &given));
        given.parties.policy = Some(Value::Null);
        assert!(refused(&strict, &given) && !refused(&call(None), &given));
        given.parties.policy = Some(json!({ "target_profiles": ["Helper"] }));
        assert!(!refused(&strict, &given));
        // One that is there counts, wanted or not.
        given.parties.policy = Some(json!({ "target_profiles": ["Foo"] }));
        assert!(refused(&strict, &given) && refused(&call(None), &given));
    }
}

#[test]
fn pm_16_a_failure_is_a_card_that_says_why() {
    let wrong = Rejection::Forbidden("not you".to_owned());
    let told = calls::refusal(&wrong, None, "forbidden");
    let nothing = Commit::new(project());
    let answered =
        calls::answer(&call(None), "call_1".to_owned(), None, nothing, Err((wrong, told)), None, &moment())
            .unwrap();
    let [Write::PutCard(called), Write::PutCard(card)] = &answered.commit.writes[..] else {
        panic!("{:?}", answered.commit.writes)
    };
    assert_eq!(called.kind.as_str(), "tool.call");
    assert_eq!((card.kind.as_str(), card.role.as_str()), ("tool.result", "tool"));
    assert_eq!((card.author_id.as_deref(), card.tool_call_id.as_deref()), (Some("sys.pmo"), Some("call_1")));
    assert_eq!(card.metadata.to_value()["function_name"], "delegate_async");
    let error = json!({ "code": "forbidden", "message": "not you", "source": "sys.pmo" });
    let content = card.content.to_value();
    assert_eq!((&content["status"], &content["error"]), (&json!("failed"), &error));
    assert_eq!((answered.outcome.is_success, answered.outcome.result_card), (false, Some(card.id)));
}

/// Nothing is kept between two calls: what one decides follows from what it is given.
#[test]
fn pm_18_calls_of_two_projects_do_not_mix() {
    let refused = given(Target::New(profile()), &[70]);
    let granted = Given { granted: [box_id(70)].into(), ..refused.clone() };
    let decide = |project: &str, given: &Given| {
        let (project, call) = (project.parse().unwrap(), call(Some(9)));
        decide(&project, &call, "call_1", &command(Strategy::New), given, &moment()).map(|done| done.commit)
    };
    let first = decide("p1", &granted).unwrap();
    assert!(decide("p1", &refused).is_err());
    let other = decide("p2", &granted).unwrap();
    assert_eq!(decide("p1", &granted).unwrap(), first);
    let realm = |project: &str| Realm::Project(project.parse().unwrap());
    assert_eq!((&first.realm, &other.realm), (&realm("p1"), &realm("p2")));
    assert_eq!((first.writes, first.events), (other.writes, other.events));
}

#[test]
fn pm_19_an_event_has_the_subject_of_its_agent_and_channel() {
    let subject = |event: &NewEvent| Event { position: 1, event: event.clone() }.subject("p1");
    let call = Call { channel: "team".parse().unwrap(), ..call(None) };
    let done = run(&call, &command(Strategy::New), &given(Target::New(profile()), &[])).unwrap();
    let state = done.commit.events.iter().find(|event| event.kind == EventKind::AgentState).unwrap();
    let agent = &done.outcome.receipt.agent_id;
    assert_eq!(subject(state), format!("cg.v1.p1.team.evt.agent.{agent}.state"));
    // What batches wait for.
    let (child, fence) = TestAgent::running();
    let ended = child.decide(&TestAgent::finish(&fence)).unwrap().commit;
    let task = ended.events.iter().find(|event| event.kind == EventKind::AgentTask).unwrap();
    assert_eq!(subject(task), "cg.v1.p1.public.evt.agent.a.task");
}

#[test]
fn pm_20_a_tool_has_a_handler_or_is_unknown() {
    for tool in RESERVED {
        let delegates = ["delegate_async", "launch_principal", "ask_expert"].contains(&tool);
        // What delegates says what it lacks; the others are handled elsewhere.
        assert_eq!(parse(tool, &json!({})).ok(), if delegates { None } else { Some(None) }, "{tool}");
    }
    for unknown in ["nope", "", "Delegate_Async", "internal.delegate_async"] {
        assert_eq!(parse(unknown, &json!({})).unwrap(), None, "{unknown}");
    }
}

#[test]
fn x_04_what_was_granted_may_be_handed_on() {
    let mut given = given(Target::Reuse(agent("helper"), None), &[99, 98]);
    for granted in [&[][..], &[98], &[99], &[97]] {
        given.granted = granted.iter().copied().map(box_id).collect();
        let first = [99, 98].into_iter().find(|id| !granted.contains(id)).unwrap();
        let refused = hand_over(Some(9), &given).unwrap_err();
        assert_eq!(refused, Rejection::UnauthorizedBox { id: box_id(first).to_string() });
    }
    given.granted = [98, 99].map(box_id).into();
    assert!(hand_over(Some(9), &given).is_ok());
}

#[test]
fn x_04_what_the_target_writes_is_granted_to_the_caller() {
    for target in targets() {
        let done = run(&call(Some(9)), &command(Strategy::New), &given(target, &[])).unwrap();
        let granted: Vec<_> = done
            .commit
            .writes
            .iter()
            .filter_map(|write| if let Write::AddGrant(grant) = write { Some(grant.as_ref()) } else { None })
            .collect();
        let output = enqueued(&done.commit).output_box.unwrap();
        assert_eq!(granted, [&Grant { agent_id: "boss".parse().unwrap(), box_id: output, at: moment().now }]);
    }
}

#[test]
fn a_delegation_takes_one_turn_from_the_budget_of_its_root() {
    let mut given = given(Target::New(profile()), &[]);
    let root = uuid::<TurnId>(TurnId::PREFIX, 1);
    given.budget.tree = Some(Tree { root, spent: 9, limit: 10 });
    let done = hand_over(None, &given).unwrap();
    assert_eq!(done.commit.writes[0], Write::Spend { root, turns: 1, limit: 10 });
    let spent = done.commit.writes.iter().filter(|write| matches!(write, Write::Spend { .. })).count();
    assert_eq!(spent, 1);
    given.budget.tree = Some(Tree { root, spent: 10, limit: 10 });
    is_refused(hand_over(None, &given), RefusalCode::TreeBudgetExceeded);
    given.budget = Budget { tree: None, open: Some((4, 5)) };
    assert!(hand_over(None, &given).is_ok());
    given.budget.open = Some((5, 5));
    is_refused(hand_over(None, &given), RefusalCode::ProjectBudgetExceeded);
}

#[test]
fn pk_20_what_is_refused_late_leaves_the_commit_as_it_was() {
    let call = Call { max_depth: 4, ..call(None) };
    for target in targets() {
        let given = given(target, &[70]);
        is_refused(run(&call, &command(Strategy::New), &given), RefusalCode::RecursionDepthExceeded);
        let mut commit = Commit::new(project());
        commit.writes.push(Write::SealBox { box_id: box_id(1) });
        let prepared = prepare(&mut commit, &call, &command(Strategy::New), &given, &moment()).unwrap();
        assert_eq!(commit.writes[0], Write::SealBox { box_id: box_id(1) }, "what the caller does is kept");
        let before = commit.clone();
        let refused = dispatch_to(&mut commit, &call, "call_1", &given, &prepared, None, &moment());
        is_refused(refused, RefusalCode::RecursionDepthExceeded);
        assert_eq!(commit, before);
        // And what is refused while packing: here, because nobody granted the box.
        let by_turn = Call { by_turn: Some(uuid::<TurnId>(TurnId::PREFIX, 9)), ..call.clone() };
        assert!(matches!(
            run(&by_turn, &command(Strategy::New), &given),
            Err(Rejection::UnauthorizedBox { .. })
        ));
    }
}

#[test]
fn pk_21_what_a_dry_run_of_a_delegation_shows_is_what_it_commits() {
    for target in targets() {
        let mut given = given(target, &[]);
        given.inherited = vec![source(70, &[1, 2]), source(71, &[2, 3])];
        let Decision { commit, outcome } = run(&call(None), &command(Strategy::New), &given).unwrap();
        let written: Vec<_> = commit
            .writes
            .iter()
            .filter_map(|write| if let Write::PutCard(card) = write { Some(card.as_ref()) } else { None })
            .collect();
        assert_eq!(written, outcome.new_cards.iter().collect::<Vec<_>>());
        let mut made = commit
            .writes
            .iter()
            .filter_map(|write| if let Write::CreateBox(new) = write { Some(&new.head) } else { None });
        let context = made.find(|head| head.box_id == outcome.packed.context_box).unwrap();
        assert_eq!((context.len as usize, context.sealed), (outcome.packed.cards.len(), true));
        let [instruction, pointer] = &outcome.new_cards[..] else { panic!("{:?}", outcome.new_cards) };
        let expected = [instruction.id, card_id(1), card_id(2), card_id(3), pointer.id];
        assert_eq!(card_ids(&outcome), expected);
        assert_eq!(outcome.receipt.context_box, outcome.packed.context_box);
    }
}
