//! Every page in every state: empty, at work, ended, deleted, cut, not known (IN-11). `UPDATE_GOLDEN=1` writes the files anew.

mod views;

use cardwire_inspector::{
    Frame, Section, markdown,
    pages::{boxes, call, card, cost, diff, log, replay, run, runs, search, sign_in, turn, why},
};
use std::{fs, path::Path};
use views::{
    BEFORE, NOW, live_turn, piece, some_box, some_call, some_card, some_cost, some_diff, some_log, some_run,
    some_runs, some_turn, some_why, unproven_call,
};

/// Compares a page with the file that tells what it looked like. Each element is a line there, so that a difference is one.
fn holds(name: &str, page: impl Into<String>) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/pages/golden/{name}"));
    let page: String = page.into();
    // What is around all pages is told once.
    let main =
        page.split_once("<main>").and_then(|(_, rest)| rest.split_once("</main>")).map(|(main, _)| main);
    let page = main.unwrap_or(&page).replace("><", ">\n<") + "\n";
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        assert!(fs::write(file, page).is_ok(), "the file of {name} cannot be written");
        return;
    }
    let then = fs::read_to_string(&file).unwrap_or_default();
    let first = then.lines().zip(page.lines()).find(|(then, now)| then != now);
    assert!(
        then == page,
        "{name} is another page (UPDATE_GOLDEN=1 writes it anew); first difference: {first:#?}"
    );
}

fn frame(title: &str) -> Frame {
    Frame {
        project: Some("p1".to_owned()),
        section: Section::Runs,
        crumbs: vec![],
        title: title.to_owned(),
        path: "/inspect/p/p1/here".to_owned(),
        query: String::new(),
        may_write: false,
        is_live: false,
        position: None,
    }
}

fn live(title: &str) -> Frame {
    Frame { is_live: true, may_write: true, ..frame(title) }
}

#[test]
fn in_11_the_list_of_runs() {
    let empty = runs::Runs { runs: vec![], questions: vec![], older: None, trouble: None, now: NOW };
    holds("runs-empty.html", runs::show(&live("Runs"), &empty).into_string());
    holds("runs.html", runs::show(&live("Runs"), &some_runs()).into_string());
    let trouble = runs::Runs { trouble: Some("the disk is full".to_owned()), ..some_runs() };
    holds("runs-trouble.html", runs::show(&frame("Runs"), &trouble).into_string());
}

#[test]
fn in_11_a_run() {
    holds("run.html", run::show(&frame("A run"), &some_run()).into_string());
    let going = run::Run { ended: false, status: "running".to_owned(), delivered: None, ..some_run() };
    holds("run-live.html", run::show(&live("A run"), &going).into_string());
    let scrub = run::Scrub { first: 3, last: 9, at: Some(5) };
    let past = run::Run { scrub, is_cut: true, ..some_run() };
    holds("run-past-cut.html", run::show(&frame("A run"), &past).into_string());
    let graph = run::Run { way: run::Way::Graph, ..some_run() };
    holds("run-graph.html", run::show(&frame("A run"), &graph).into_string());
    holds("run.md", markdown::run(&some_run()));
}

#[test]
fn in_11_a_turn() {
    holds("turn.html", turn::show(&frame("A turn"), &some_turn()).into_string());
    holds("turn-live.html", turn::show(&live("A turn"), &live_turn()).into_string());
}

#[test]
fn in_11_a_call() {
    holds("call.html", call::show(&frame("A call"), &some_call()).into_string());
    for (tab, word, _) in call::Tab::ALL {
        let view = call::Call { tab, ..some_call() };
        holds(&format!("call-{word}.html"), call::show(&live("A call"), &view).into_string());
    }
    holds("call-unproven.html", call::show(&frame("A call"), &unproven_call()).into_string());
    holds("call.md", markdown::call(&some_call()));
}

/// A speaker may go on for thousands of cards, which are one message.
#[test]
fn in_06_a_long_message_is_laid_out_in_parts() {
    let said = (0..1_000).map(|number| piece("checkpoint", &format!("{number}"))).collect();
    let long = call::Message { role: "user".to_owned(), pieces: said };
    let page =
        call::show(&frame("A call"), &call::Call { messages: vec![long], ..some_call() }).into_string();
    let count = |text: &str| page.matches(text).count();
    assert_eq!((count("class=\"chunk\""), count("class=\"said\""), count("<h3>user</h3>")), (10, 1_000, 1));
}

#[test]
fn in_11_two_sides_and_why() {
    holds("diff.html", diff::show(&frame("Two"), &some_diff()).into_string());
    let empty = diff::Diff { rows: vec![], ..some_diff() };
    holds("diff-empty.html", diff::show(&frame("Two"), &empty).into_string());
    holds("diff.md", markdown::diff(&some_diff()));
    holds("why-not.html", why::show(&frame("Why"), &some_why()).into_string());
    let sent = why::Why { is_sent: true, advice: None, ..some_why() };
    holds("why.html", why::show(&frame("Why"), &sent).into_string());
}

#[test]
fn in_11_facts() {
    holds("card.html", card::show(&frame("A card"), &some_card()).into_string());
    let gone = card::Card { text: None, deleted: Some(BEFORE), boxes: vec![], calls: vec![], ..some_card() };
    holds("card-deleted.html", card::show(&frame("A card"), &gone).into_string());
    holds("box.html", boxes::show(&live("A box"), &some_box()).into_string());
    let empty = boxes::BoxPage { cards: vec![], len: 0, lineage: boxes::Lineage::default(), ..some_box() };
    holds("box-empty.html", boxes::show(&frame("A box"), &empty).into_string());
}

#[test]
fn in_11_lists() {
    holds("cost.html", cost::show(&frame("Cost"), &some_cost()).into_string());
    let nothing = cost::Cost { rows: vec![], ..some_cost() };
    holds("cost-empty.html", cost::show(&frame("Cost"), &nothing).into_string());
    holds("log.html", log::show(&live("Log"), &some_log()).into_string());
    let empty = log::Log { rows: vec![], next: None, fact: None, act: None, verdict: None, ..some_log() };
    holds("log-empty.html", log::show(&frame("Log"), &empty).into_string());
    let found = search::Search {
        text: "boat".to_owned(),
        places: vec![("Turn turn_1".to_owned(), "/inspect/p/p1/turns/turn_1".to_owned())],
        cards: vec![piece("query", "Where is the boat?")],
        next: Some("/inspect/p/p1/search?q=boat&before=1".to_owned()),
    };
    holds("search.html", search::show(&frame("Search"), &found).into_string());
    let nothing = search::Search { places: vec![], cards: vec![], next: None, ..found };
    holds("search-empty.html", search::show(&frame("Search"), &nothing).into_string());
}

#[test]
fn in_11_replays_and_signing_in() {
    let replayed = |is_same: bool, differences: Vec<String>| replay::Replay {
        turn: "turn_1".to_owned(),
        agent: "a".to_owned(),
        outcome: Ok(replay::Replayed {
            is_same,
            calls: vec![("call1".to_owned(), is_same)],
            cards: 3,
            differences,
        }),
    };
    holds("replay.html", replay::show(&frame("Replay"), &replayed(true, vec![])).into_string());
    let other = replayed(false, vec!["card 2: it was red, and is blue now".to_owned()]);
    holds("replay-other.html", replay::show(&frame("Replay"), &other).into_string());
    let cannot =
        replay::Replay { outcome: Err("turn turn_1 has not ended".to_owned()), ..replayed(true, vec![]) };
    holds("replay-cannot.html", replay::show(&frame("Replay"), &cannot).into_string());
    let outside = Frame { project: None, section: Section::Elsewhere, ..frame("Sign in") };
    holds("sign-in.html", sign_in::sign_in(&outside, None, "/inspect").into_string());
    let wrong = sign_in::sign_in(&outside, Some("This code was used."), "/inspect/p/p1");
    holds("sign-in-wrong.html", wrong.into_string());
    holds("session.html", sign_in::session(&outside, "project p1", "11 h").into_string());
    let problem = sign_in::problem(&outside, "turn not found", "Look at the address.");
    holds("problem.html", problem.into_string());
}

/// IN-01: what cards say is never markup, whatever page shows it.
#[test]
fn in_01_hostile_text_stays_text_on_every_page() {
    let hostile = "<script>alert(1)</script>\u{202e}\"><img src=x onerror=alert(1)>";
    let mut call = some_call();
    call.messages[0].pieces[0].text = hostile.to_owned();
    call.model = hostile.to_owned();
    let mut run = some_run();
    run.question = Some(hostile.to_owned());
    run.delivered = Some(hostile.to_owned());
    let mut diff = some_diff();
    diff.rows[0].text = hostile.to_owned();
    let card = card::Card { text: Some(hostile.to_owned()), kind: hostile.to_owned(), ..some_card() };
    let pages = [
        call::show(&frame(hostile), &call).into_string(),
        run::show(&frame(hostile), &run).into_string(),
        diff::show(&frame(hostile), &diff).into_string(),
        card::show(&frame(hostile), &card).into_string(),
    ];
    for page in pages {
        assert!(!page.contains("<script>alert") && !page.contains("<img"), "{page}");
        assert!(page.contains("&lt;script&gt;"));
    }
}
