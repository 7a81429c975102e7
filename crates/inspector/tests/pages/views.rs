//! What the pages of the tests show.

use cardwire_inspector::{
    pages::{
        boxes::{BoxPage, Kin, Lineage},
        call::{CacheEnd, Call, Message, Omission, Piece, Repair, Span, Story, Tab},
        card::{Card, Sent},
        cost::Cost,
        diff::{Diff, Row as DiffRow, Shown, Side},
        log::{Line, Log},
        run::{Bar, BarKind, NotGiven, Note, Peek, Row, Run, Scrub, Way, What, Withheld},
        runs::{Question, Run as Listed, Runs},
        turn::{Step, Turn},
        why::Why,
    },
    parts::{LayerTokens, Spent},
};
use cardwire_model::Timestamp;

pub(crate) const NOW: Timestamp = Timestamp::from_micros(1_795_000_000_000_000);
pub(crate) const BEFORE: Timestamp = Timestamp::from_micros(1_794_999_940_000_000);
const CARD: &str = "0192f0c123457abc8def0123456789ab";
const OTHER: &str = "0192f0c123457abc8def0123456789cd";
const CALL: &str = "0192f0c123457abc8def0123456789ef";
const TURN: &str = "turn_0192f0c123457abc8def012345678901";
const CHILD: &str = "turn_0192f0c123457abc8def012345678902";

fn spent() -> Spent {
    Spent { calls: 2, input: 1_234, cached: 600, output: 56, micros: Some(4_321) }
}

pub(crate) fn piece(layer: &str, text: &str) -> Piece {
    Piece {
        layer: layer.to_owned(),
        card: Some(CARD.to_owned()),
        text: text.to_owned(),
        tokens: Some(9),
        is_deleted: false,
    }
}

fn question() -> Question {
    Question {
        turn: TURN.to_owned(),
        agent: "a".to_owned(),
        call: "c1".to_owned(),
        text: "Red or blue?".to_owned(),
    }
}

pub(crate) fn some_runs() -> Runs {
    let run = |status: &str, micros: Option<u64>| Listed {
        turn: TURN.to_owned(),
        question: (status != "queued").then(|| "Where is the boat?".to_owned()),
        agent: "a".to_owned(),
        status: status.to_owned(),
        agents: 2,
        turns: 3,
        spent: Spent { micros, ..spent() },
        began: BEFORE,
        seen: NOW,
        is_cut: status == "failed",
    };
    Runs {
        runs: vec![
            run("success", Some(4_321)),
            run("running", None),
            run("queued", None),
            run("failed", Some(0)),
        ],
        questions: vec![question()],
        older: Some("/inspect/p/p1?before=1".to_owned()),
        trouble: None,
        now: NOW,
    }
}

fn peek() -> Peek {
    Peek {
        turn: CHILD.to_owned(),
        agent: "helper".to_owned(),
        line: "1 call, 2.0 s, epoch 1, asked by a".to_owned(),
        given: vec![
            LayerTokens { layer: "system_prompt".to_owned(), tokens: 20 },
            LayerTokens { layer: "query".to_owned(), tokens: 10 },
        ],
        withheld: NotGiven {
            cards: vec![Withheld {
                text: "We may spend 200 euros.".to_owned(),
                because: "No box that holds it was handed to the agent.".to_owned(),
                href: Some(format!("/inspect/p/p1/why?call={CALL}&card={CARD}")),
            }],
            total: 7,
        },
        delivered: None,
        call: Some(CALL.to_owned()),
        compared: Some("/inspect/p/p1/diff?l=1&r=2".to_owned()),
    }
}

pub(crate) fn some_run() -> Run {
    let bar = |from: i64, to: i64, kind: BarKind| Bar { from: from * 1_000_000, to: to * 1_000_000, kind };
    let turn = |id: &str, agent: &str, status: &str, branch: Option<&str>| What::Turn {
        id: id.to_owned(),
        agent: agent.to_owned(),
        status: status.to_owned(),
        branch: branch.map(str::to_owned),
    };
    let row = |depth: usize, what: What, spent: Spent, bars: Vec<Bar>| Row { depth, what, spent, bars };
    let fork = What::Fork { batch: "batch_1".to_owned(), line: "1 of 2 delivered, 1 failed".to_owned() };
    Run {
        question: Some("Where is the boat?".to_owned()),
        status: "success".to_owned(),
        rows: vec![
            row(
                0,
                turn(TURN, "a", "success", None),
                spent(),
                vec![bar(0, 1, BarKind::Queued), bar(1, 60, BarKind::Waiting), bar(1, 3, BarKind::Running)],
            ),
            row(1, What::Call { id: CALL.to_owned(), number: 1 }, spent(), vec![bar(1, 3, BarKind::Call)]),
            row(1, fork, Spent::default(), vec![]),
            row(
                2,
                turn(CHILD, "helper", "success", Some("1 of 2")),
                Spent { micros: None, ..spent() },
                vec![bar(40, 44, BarKind::Running)],
            ),
            row(2, turn(TURN, "helper", "failed", Some("2 of 2")), Spent::default(), vec![]),
        ],
        began: BEFORE,
        took: 60_000_000,
        agents: 2,
        turns: 3,
        spent: spent(),
        is_cut: false,
        peeks: vec![peek()],
        is_chosen: true,
        ended: true,
        selected: Some(peek()),
        delivered: Some("It is red.".to_owned()),
        notes: vec![Note {
            text: "helper ended with agent_failed.".to_owned(),
            href: "/inspect/p/p1/turns/1".to_owned(),
        }],
        root: TURN.to_owned(),
        way: Way::Tree,
        scrub: Scrub { first: 3, last: 9, at: None },
        forked_from: None,
        now: NOW,
    }
}

pub(crate) fn some_turn() -> Turn {
    Turn {
        id: TURN.to_owned(),
        agent: "a".to_owned(),
        status: "success".to_owned(),
        epoch: Some(2),
        error: None,
        parent: Some((CHILD.to_owned(), "boss".to_owned())),
        run: CHILD.to_owned(),
        worker: Some("w1".to_owned()),
        boxes: vec![("given", CARD.to_owned()), ("written", OTHER.to_owned())],
        given: vec![piece("query", "Where is the boat?")],
        written: vec![Piece { is_deleted: true, text: String::new(), ..piece("turn", "") }],
        steps: vec![Step {
            phase: "call".to_owned(),
            status: Some("done".to_owned()),
            call: Some(CALL.to_owned()),
            epoch: 2,
            spent: Some(spent()),
            took: 2_000_000,
            at: BEFORE,
        }],
        questions: vec![],
        spent: spent(),
        belongs: vec![("session talk".to_owned(), "/sessions/talk".to_owned())],
        forked_from: Some(CHILD.to_owned()),
        forkable: 2,
        layers: vec!["system_prompt", "knowledge"],
        leased: None,
        refusals: vec![(BEFORE, "turn 1 at epoch 1 is not live any more".to_owned())],
        began: BEFORE,
        ended: Some(NOW),
        now: NOW,
    }
}

pub(crate) fn live_turn() -> Turn {
    Turn {
        status: "suspended".to_owned(),
        questions: vec![question()],
        written: vec![],
        steps: vec![],
        ended: None,
        leased: Some(BEFORE),
        refusals: vec![],
        forked_from: None,
        ..some_turn()
    }
}

pub(crate) fn some_call() -> Call {
    let span = |layer: &str, card: Option<&str>, text: &str| Span {
        layer: layer.to_owned(),
        card: card.map(str::to_owned),
        text: text.to_owned(),
    };
    Call {
        id: CALL.to_owned(),
        agent: "a".to_owned(),
        turn: TURN.to_owned(),
        number: Some((2, 3)),
        model: "m-1".to_owned(),
        layers: vec![
            LayerTokens { layer: "system_prompt".to_owned(), tokens: 20 },
            LayerTokens { layer: "query".to_owned(), tokens: 10 },
        ],
        messages: vec![
            Message { role: "system".to_owned(), pieces: vec![piece("system_prompt", "You answer.")] },
            Message {
                role: "user".to_owned(),
                pieces: vec![Piece { card: Some(OTHER.to_owned()), ..piece("query", "Where is the boat?") }],
            },
        ],
        spans: vec![
            span("frame", None, "{\"messages\":["),
            span("query", Some(OTHER), "\"Where is the boat?\""),
            span("frame", None, "]}"),
        ],
        sha256: "ab".repeat(32),
        proof: Ok(()),
        total: 30,
        shared: 20,
        cache_end: Some(CacheEnd {
            card: OTHER.to_owned(),
            layer: "query".to_owned(),
            was: Some(CARD.to_owned()),
            anew: 10,
            is_block: false,
            texts: Some(("Where is the car?".to_owned(), "Where is the boat?".to_owned())),
            before: CARD.to_owned(),
        }),
        step: Some("step_1".to_owned()),
        previous: Some(CARD.to_owned()),
        next: Some(OTHER.to_owned()),
        spent: Some(spent()),
        not_given: peek().withheld,
        omissions: vec![Omission {
            layer: "knowledge".to_owned(),
            card: Some(CARD.to_owned()),
            cards: 3,
            tokens: 400,
            because: "The model's window is too small for it.".to_owned(),
        }],
        repairs: vec![Repair {
            rule: "open_call".to_owned(),
            card: Some(CARD.to_owned()),
            added: OTHER.to_owned(),
        }],
        selected: Some(Story {
            card: CARD.to_owned(),
            kind: "session.summary".to_owned(),
            tokens: 9,
            steps: vec![("a wrote it".to_owned(), "1 minute ago".to_owned())],
            leavable: Some("system_prompt".to_owned()),
            stands_for: Some("12 cards of 900 tokens, in 9 tokens.".to_owned()),
            sent_in: vec![(CALL.to_owned(), "9 tokens".to_owned())],
        }),
        tab: Tab::Messages,
        manifest: "{\n  \"model\": \"m-1\"\n}".to_owned(),
        answer: vec![piece("turn", "It is red.")],
        at: BEFORE,
        now: NOW,
    }
}

pub(crate) fn unproven_call() -> Call {
    Call {
        proof: Err("card 1 is missing".to_owned()),
        messages: vec![],
        spans: vec![],
        cache_end: None,
        spent: None,
        previous: None,
        next: None,
        not_given: NotGiven::default(),
        omissions: vec![],
        repairs: vec![],
        selected: None,
        answer: vec![],
        number: None,
        ..some_call()
    }
}

pub(crate) fn some_diff() -> Diff {
    let row = |card: &str, layer: &str, text: &str, shown: Shown| DiffRow {
        card: card.to_owned(),
        layer: layer.to_owned(),
        text: text.to_owned(),
        tokens: 9,
        shown,
        why: (shown == Shown::Left).then(|| "/inspect/p/p1/why?call=1&card=2".to_owned()),
        because: (shown == Shown::Left).then(|| "No box that holds it was handed to the agent.".to_owned()),
        now: (shown == Shown::Changed).then(|| {
            Box::new(DiffRow {
                card: OTHER.to_owned(),
                layer: layer.to_owned(),
                text: "You find facts about files.".to_owned(),
                tokens: 8,
                shown: Shown::Right,
                why: None,
                because: None,
                now: None,
            })
        }),
    };
    let side = |name: &str, micros: Option<u64>| Side {
        name: name.to_owned(),
        href: format!("/inspect/p/p1/calls/{name}"),
        tokens: 30,
        micros,
    };
    Diff {
        left: side("boss", Some(1_000)),
        right: side("helper", Some(400)),
        rows: vec![
            row(CARD, "query", "Where is the boat?", Shown::Both),
            row(OTHER, "query", "We may spend 200 euros.", Shown::Left),
            row(CARD, "system_prompt", "You find facts about tables.", Shown::Changed),
            row(OTHER, "turn", "It is red.", Shown::Right),
        ],
        swapped: "/inspect/p/p1/diff?l=2&r=1".to_owned(),
    }
}

pub(crate) fn some_why() -> Why {
    Why {
        call: CALL.to_owned(),
        agent: "helper".to_owned(),
        card: CARD.to_owned(),
        says: "We may spend 200 euros.".to_owned(),
        is_sent: false,
        sentence: "No box that holds it was handed to the agent.".to_owned(),
        rule: "not_granted".to_owned(),
        tokens: 9,
        advice: Some("Pass a box that holds the card.".to_owned()),
    }
}

pub(crate) fn some_card() -> Card {
    Card {
        id: CARD.to_owned(),
        kind: "task.instruction".to_owned(),
        role: "user".to_owned(),
        author: Some("boss".to_owned()),
        origin: "agent".to_owned(),
        text: Some("Where is the boat?".to_owned()),
        tool_calls: None,
        metadata: "{}".to_owned(),
        hash: "cd".repeat(32),
        tokens: 9,
        at: BEFORE,
        deleted: None,
        is_suspect: true,
        replaced: None,
        boxes: vec![(OTHER.to_owned(), 1, Some(CALL.to_owned()))],
        boxes_cut: true,
        calls: vec![Sent {
            call: CALL.to_owned(),
            agent: "a".to_owned(),
            layer: "query".to_owned(),
            micros: Some(12),
            at: BEFORE,
            spent: Some(spent()),
        }],
        calls_cut: true,
        now: NOW,
    }
}

pub(crate) fn some_box() -> BoxPage {
    let kin = |id: &str, cards: Option<u64>| Kin { id: id.to_owned(), generation: 1, cards };
    BoxPage {
        id: CARD.to_owned(),
        generation: 1,
        newest: 2,
        len: 2,
        is_sealed: true,
        cards: vec![(piece("query", "Where is the boat?"), "direct".to_owned())],
        lineage: Lineage { sources: vec![kin(OTHER, Some(2))], heirs: vec![kin(CALL, None)], is_cut: true },
        at: BEFORE,
        now: NOW,
    }
}

pub(crate) fn some_cost() -> Cost {
    let row = |name: &str, micros: Option<u64>| (name.to_owned(), None, Spent { micros, ..spent() });
    Cost {
        by: "layer".to_owned(),
        subtree: None,
        total: spent(),
        rows: vec![row("query", Some(4_000)), row("tools", None)],
    }
}

pub(crate) fn some_log() -> Log {
    let line = |position: Option<u64>| Line {
        position,
        at: BEFORE,
        kind: "card.created".to_owned(),
        subject: (CARD.to_owned(), Some("/inspect/p/p1/cards/1".to_owned())),
        details: "a".to_owned(),
    };
    Log {
        noun: "row",
        rows: vec![line(Some(7)), line(None)],
        next: Some("/inspect/p/p1/audit?before=7".to_owned()),
        fact: Some("sealed into the chain up to row 7".to_owned()),
        act: Some(("Verify the chain", "/inspect/p/p1/audit?verify=yes".to_owned())),
        verdict: Some((true, "Every hash holds, verified to row 7.".to_owned())),
        now: NOW,
    }
}
