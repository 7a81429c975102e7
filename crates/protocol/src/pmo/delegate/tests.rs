//! Each rule of delegation by its number.

mod rules;

use super::{
    super::calls::{self, ReusedOutput, RunOptions},
    *,
};
use crate::fixtures::{box_id, card_id, moment, project, uuid};
use crate::turn::Proof;
use cardwire_model::{
    CanonicalJson, Channel, InboxId, InboxItem, InheritMode, Live, LiveState, PmoSettings, SingleWriter,
    Timestamp, TurnEpoch,
};

fn parse(tool: &str, args: &Value) -> Result<Option<Delegate>, Invalid> {
    Delegate::parse(tool, args.as_object().unwrap())
}

#[test]
fn pm_05_strategy_target_and_instruction_are_required() {
    let args = json!({ "target_strategy": " NEW ", "target_ref": " Helper ", "instruction": " Go. " });
    let read = parse("delegate_async", &args).unwrap().unwrap();
    assert_eq!((read.strategy, &*read.target_ref, &*read.instruction), (Strategy::New, "Helper", "Go."));
    for name in ["target_strategy", "target_ref", "instruction"] {
        for absent in [Value::Null, json!(""), json!("  ")] {
            let mut args = args.clone();
            args[name] = absent;
            let error = parse("delegate_async", &args).unwrap_err();
            assert!(
                error.to_string().contains(&format!("delegate_async: args.{name} is required")),
                "{error}"
            );
        }
    }
    let wrong = json!({ "target_strategy": "fork", "target_ref": "Helper", "instruction": "Go." });
    let error = parse("delegate_async", &wrong).unwrap_err();
    assert!(error.to_string().contains("args.target_strategy must be one of new|reuse|clone"), "{error}");
}

#[test]
fn pm_12_and_pm_13_are_new_agents() {
    let launch =
        parse("launch_principal", &json!({ "profile_name": "P", "instruction": "i" })).unwrap().unwrap();
    assert_eq!((launch.strategy, launch.include_history), (Strategy::New, false));
    let ask = json!({ "expert_profile": "E", "question": "q", "include_history": true });
    let ask = parse("ask_expert", &ask).unwrap().unwrap();
    assert_eq!((&*ask.target_ref, &*ask.instruction, ask.include_history), ("E", "q", true));
    for wrong in [json!("true"), json!(1), json!([])] {
        let args = json!({ "expert_profile": "E", "question": "q", "include_history": wrong });
        assert!(parse("ask_expert", &args).is_err());
    }
}

fn agent(id: &str) -> Agent {
    Agent {
        id: id.parse().unwrap(),
        profile_name: "Helper".parse().unwrap(),
        profile_box: box_id(50),
        worker_target: "generic".parse().unwrap(),
        display_name: None,
        tags: vec![],
        owner: None,
        metadata: CanonicalJson::empty_object(),
        revision: Revision::FIRST,
        created_at: Timestamp::from_micros(0),
        updated_at: Timestamp::from_micros(0),
    }
}

/// A head that is idle, or has a live turn.
fn head(id: &str, live: Option<u128>, last: Option<u128>) -> Head {
    let live = live.map(|output| Live {
        turn_id: uuid::<TurnId>(TurnId::PREFIX, 9),
        inbox_id: uuid::<InboxId>(InboxId::PREFIX, 9),
        state: LiveState::Running,
        channel: Channel::public(),
        worker_target: "generic".parse().unwrap(),
        profile_box: box_id(50),
        context_box: box_id(51),
        output_box: box_id(output),
        watermark: 0,
        depth: 3,
        trace_id: "t".to_owned(),
        parent_step: None,
        dispatched_at: Timestamp::from_micros(0),
        rung_at: None,
        deliverable: None,
        open_calls: 0,
        marks: 0,
    });
    Head {
        agent_id: id.parse().unwrap(),
        epoch: TurnEpoch::new(4),
        live: live.map(Box::new),
        last_output_box: last.map(box_id),
        queued: 0,
        updated_at: Timestamp::from_micros(0),
    }
}

fn box_head(n: u128) -> BoxHead {
    BoxHead { len: 1, entries: 1, ..BoxHead::empty(box_id(n), Timestamp::from_micros(0)) }
}

fn given(target: Target, inherited: &[u128]) -> Given {
    let from = |n: &u128| {
        Arc::new(Inherited {
            head: box_head(*n),
            cards: vec![card_id(*n)],
            card_types: HashSet::new(),
            copy: box_id(999),
        })
    };
    let known = [50, 60].map(|n| (box_id(n), box_head(n)));
    Given {
        parties: Parties {
            caller: agent("boss"),
            caller_head: Some(head("boss", Some(52), Some(53))),
            caller_step: Some("step_9".parse().unwrap()),
            policy: None,
            target,
        },
        inherited: inherited.iter().map(from).collect(),
        granted: HashSet::new(),
        budget: Budget::default(),
        known: Boxes { heads: known.into(), writers: vec![] },
    }
}

fn call(by_turn: Option<u128>) -> Call {
    Call {
        tool: "delegate_async".to_owned(),
        caller: "boss".parse().unwrap(),
        by_turn: by_turn.map(|n| uuid::<TurnId>(TurnId::PREFIX, n)),
        at_turn: None,
        epoch: None,
        proof: Proof::Operator,
        channel: Channel::public(),
        trace_id: "t".to_owned(),
        is_traced: true,
        names_channel: true,
        args: Map::new(),
        max_depth: 20,
        acl: InheritMode::Enforce,
        pmo: PmoSettings::default(),
        require_policy: false,
        carries_out: None,
        run: Default::default(),
    }
}

#[test]
fn a_turn_calls_tools_of_its_profile_and_an_operator_any() {
    let (with, without) =
        (json!({ "allowed_tools": ["delegate_async"] }), json!({ "allowed_tools": ["other"] }));
    let may = |by_turn, profile| calls::check_tool(&call(by_turn), profile).is_ok();
    assert!(may(Some(1), Some(&with)) && may(None, Some(&without)) && may(None, None));
    assert!(!may(Some(1), Some(&without)) && !may(Some(1), None));
}

fn command(strategy: Strategy) -> Delegate {
    Delegate {
        strategy,
        target_ref: "x".to_owned(),
        instruction: "Go.".to_owned(),
        context_box: None,
        include_history: false,
        recipe: None,
    }
}

fn hand_over(by_turn: Option<u128>, given: &Given) -> Result<Decision<Delegated>, Rejection> {
    decide(&project(), &call(by_turn), "call_1", &command(Strategy::Reuse), given, &moment())
}

#[test]
fn pm_07_the_output_box_of_the_target_is_used_again() {
    for (head, expected) in [
        (Some(head("helper", Some(60), Some(61))), Some(box_id(60))),
        (Some(head("helper", None, Some(60))), Some(box_id(60))),
        (Some(head("helper", None, None)), None),
        (None, None),
    ] {
        let given = given(Target::Reuse(agent("helper"), head), &[]);
        assert_eq!(given.parties.output_box(), expected);
        let receipt = hand_over(None, &given).unwrap().outcome.receipt;
        assert!(expected.is_none_or(|output| output == receipt.output_box));
    }
}

#[test]
fn pm_07_in_a_strict_project_a_live_turn_keeps_its_box_for_itself() {
    let strict = Call {
        run: RunOptions { output: ReusedOutput::from(SingleWriter::Strict), ..RunOptions::default() },
        ..call(None)
    };
    assert!(!strict.run.is_of_a_run(), "it is the project's, not the call's");
    for (head, is_kept) in
        [(head("helper", Some(60), Some(61)), false), (head("helper", None, Some(60)), true)]
    {
        let given = given(Target::Reuse(agent("helper"), Some(head)), &[]);
        let decision = decide(&project(), &strict, "call_1", &command(Strategy::Reuse), &given, &moment());
        assert_eq!(decision.unwrap().outcome.receipt.output_box == box_id(60), is_kept);
    }
}

#[test]
fn pm_08_a_copy_needs_something_to_copy() {
    let boxes = |head: Option<Head>| {
        let given = given(Target::Clone(agent("source"), head), &[]);
        boxes(&call(None), &command(Strategy::Clone), &given.parties)
    };
    assert_eq!(boxes(Some(head("source", Some(60), Some(61)))).unwrap(), [box_id(60)]);
    assert_eq!(boxes(Some(head("source", None, Some(61)))).unwrap(), [box_id(61)]);
    for nothing in [None, Some(head("source", None, None))] {
        let error = boxes(nothing).unwrap_err();
        assert!(error.to_string().contains("source output_box missing"), "{error}");
    }
}

#[test]
fn pm_09_the_given_box_comes_before_what_the_source_has_written() {
    let given = given(Target::Clone(agent("source"), Some(head("source", None, Some(61)))), &[]);
    let wanted = |context: &str| {
        let command = Delegate { context_box: Some(context.to_owned()), ..command(Strategy::Clone) };
        boxes(&call(None), &command, &given.parties)
    };
    assert_eq!(wanted(&box_id(70).to_string()).unwrap(), [box_id(70), box_id(61)]);
    assert_eq!(wanted(&box_id(61).to_string()).unwrap(), [box_id(61)]);
    assert!(matches!(wanted("b1"), Err(Rejection::NotFound { .. })));
}

#[test]
fn x_04_a_turn_hands_on_what_it_was_handed_and_an_operator_anything() {
    let target = || Target::Reuse(agent("helper"), None);
    for allowed in [50, 51, 52, 53] {
        assert!(hand_over(Some(9), &given(target(), &[allowed])).is_ok(), "{allowed}");
    }
    let other = given(target(), &[99]);
    assert!(matches!(hand_over(Some(9), &other), Err(Rejection::UnauthorizedBox { .. })));
    assert!(hand_over(None, &other).is_ok());
    let copy = given(Target::Clone(agent("source"), Some(head("source", None, Some(99)))), &[99]);
    assert!(hand_over(Some(9), &copy).is_ok());
}

/// DP-17
#[test]
fn a_turn_that_is_not_live_calls_nothing() {
    let fence = |by_turn, head: Option<Head>| calls::fence(&call(by_turn), head.as_ref(), None, &moment());
    let live = || Some(head("boss", Some(52), None));
    let is_fence =
        |write: &Write| matches!(write, Write::NudgeHead { guard, .. } if guard.agent_id.as_str() == "boss");
    assert!(fence(Some(9), live()).unwrap().is_some_and(|write| is_fence(&write)));
    assert_eq!(fence(None, None).unwrap(), None, "an operator needs no turn");
    assert!(matches!(fence(Some(8), live()), Err(Rejection::StaleTurn(..))));
    assert!(matches!(fence(Some(9), Some(head("boss", None, None))), Err(Rejection::StaleTurn(..))));
    assert!(matches!(fence(Some(9), None), Err(Rejection::StaleTurn(..))));
    for by_turn in [Some(9), None] {
        let at = |epoch| Call { epoch: Some(TurnEpoch::new(epoch)), ..call(by_turn) };
        let fence = |epoch| calls::fence(&at(epoch), live().as_ref(), None, &moment());
        let current = live().unwrap().epoch.get();
        assert!(fence(current).is_ok());
        assert!(matches!(fence(current + 1), Err(Rejection::StaleTurn(..))), "{by_turn:?}");
    }
    // A turn that was given back waits for somebody else.
    let mut given_back = head("boss", Some(52), None);
    given_back.live.as_mut().unwrap().state = LiveState::Dispatched;
    assert!(matches!(fence(Some(9), Some(given_back)), Err(Rejection::StaleTurn(..))));
    // What an operator starts in the name of an agent at work is guarded by its turn.
    assert!(fence(None, live()).unwrap().is_some_and(|write| is_fence(&write)));
}

/// SEC-02
#[test]
fn a_turn_calls_only_by_whoever_holds_it() {
    let mut held = crate::fixtures::agent::TestAgent::running().0;
    let row = InboxItem { agent_id: "boss".parse().unwrap(), ..held.inbox.remove(0) };
    let by = |hash| Call { proof: Proof::Lease(hash), ..call(Some(9)) };
    let fence = |hash, row| calls::fence(&by(hash), Some(&head("boss", Some(52), None)), row, &moment());
    let hash = row.token_hash.unwrap();
    assert!(fence(hash, Some(&row)).is_ok());
    assert_eq!(fence(cardwire_model::Hash256::ZERO, Some(&row)), Err(Rejection::Unauthenticated));
    assert_eq!(fence(hash, None), Err(Rejection::Unauthenticated));
    // Its token speaks for its own agent.
    let other = InboxItem { agent_id: "other".parse().unwrap(), ..row.clone() };
    assert!(matches!(fence(hash, Some(&other)), Err(Rejection::Forbidden(_))));
    assert_eq!(fence(cardwire_model::Hash256::ZERO, Some(&other)), Err(Rejection::Unauthenticated));
}

#[test]
fn pm_15_a_call_is_its_fence_the_call_what_was_done_and_the_answer() {
    let fence = calls::fence(&call(Some(9)), Some(&head("boss", Some(52), None)), None, &moment()).unwrap();
    let answer = |result| {
        let mut done = Commit::new(project());
        done.writes.push(Write::SealBox { box_id: box_id(1) });
        calls::answer(&call(Some(9)), "call_1".to_owned(), fence.clone(), done, result, None, &moment())
            .unwrap()
    };
    let good = answer(Ok(json!({ "status": "accepted" })));
    let [Write::NudgeHead { .. }, Write::PutCard(called), Write::SealBox { .. }, Write::PutCard(answered)] =
        &good.commit.writes[..]
    else {
        panic!("{:?}", good.commit.writes)
    };
    assert_eq!((called.kind.as_str(), answered.kind.as_str()), ("tool.call", "tool.result"));
    assert_eq!(answered.author_id.as_deref(), Some("sys.pmo"));
    assert_eq!((good.outcome.is_success, good.outcome.refused), (true, None));
    let refused = Rejection::refused(crate::RefusalCode::AgentBusy, "busy");
    let told = calls::refusal(&refused, None, "agent_busy");
    assert_eq!(answer(Err((refused, told))).outcome.refused, None, "the target's answer");
    let wrong = Rejection::Forbidden("no".to_owned());
    let told = calls::refusal(&wrong, None, "forbidden");
    assert_eq!(answer(Err((wrong.clone(), told))).outcome.refused, Some(wrong));
}

/// DP-04
#[test]
fn depth_is_that_of_the_callers_turn_and_one_more() {
    let given = given(Target::Reuse(agent("helper"), None), &[]);
    let decision = hand_over(None, &given).unwrap();
    let depth = decision
        .commit
        .writes
        .iter()
        .find_map(|write| if let Write::Enqueue(item) = write { item.depth } else { None });
    assert_eq!(depth, Some(4));
    let call = Call { max_depth: 4, ..call(None) };
    let refused = decide(&project(), &call, "call_1", &command(Strategy::Reuse), &given, &moment());
    assert!(matches!(refused, Err(Rejection::Refused(_))));
}

/// PK-18, PK-22
#[test]
fn a_recipe_packs_by_its_own_rules() {
    let recipe = json!({
        "handover": {
            "target_profile_config": { "profile_name": "Helper" },
            "context_packing_config": { "pack_arguments": [{ "arg_key": "a" }, { "arg_key": "b" }] },
        },
        "required": ["a"],
    });
    let recipe = Recipe::parse(&CanonicalJson::from_value(&recipe).unwrap()).unwrap();
    let hand_over = |args: Value| {
        let Value::Object(args) = args else { panic!("{args}") };
        let command = Delegate::by_recipe(recipe.clone(), &args).unwrap();
        let call = Call { args, tool: "my_recipe".to_owned(), ..call(None) };
        let given = given(Target::Reuse(agent("helper"), None), &[]);
        decide(&project(), &call, "call_1", &command, &given, &moment())
    };
    let done = hand_over(json!({ "a": "x", "b": { "y": 1 } })).unwrap().outcome;
    assert_eq!(done.new_cards.len(), 2);
    assert_eq!(done.new_cards[0].author_id.as_deref(), Some("my_recipe"));
    assert!(hand_over(json!({ "b": 1 })).is_err());
}
