//! `cardwire box` (CB-11..CB-13).

use crate::support::{Backend, Home};
use serde_json::json;

/// CB-11, CB-12
#[test]
fn appending_keeps_the_first_place_and_minds_the_expected_length() {
    let home = Home::new(Backend::Sqlite);
    home.ok(&["project", "create", "p1"]);
    let [a, b, c] = ["a", "b", "c"].map(|text| home.put_card(text));
    let card_box = home.ok(&["box", "create", "-p", "p1", &a, &b]);
    let said = home.ok(&["box", "append", "-p", "p1", &card_box, &b, &c, "--expected-len", "2"]);
    assert_eq!(said, format!("added 1 card to box {card_box}, which has 3 now"));
    home.cardwire(&["box", "append", "-p", "p1", &card_box, &a, "--expected-len", "2"]).failed(4, "");
    assert_eq!(home.json(&["box", "show", "-p", "p1", &card_box])["card_ids"], json!([a, b, c]));
}

/// CB-13, CB-17
#[test]
fn rewriting_and_forking_leave_what_was_readable() {
    let home = Home::new(Backend::Sqlite);
    home.ok(&["project", "create", "p1"]);
    let [a, b, c] = ["a", "b", "c"].map(|text| home.put_card(text));
    let card_box = home.ok(&["box", "create", "-p", "p1", &a, &b]);
    let fork = home.ok(&["box", "fork", "-p", "p1", &card_box, "--upto", "1"]);
    home.ok(&["box", "rewrite", "-p", "p1", &card_box, &c]);
    let show = |args: &[&str]| home.json(&[&["box", "show", "-p", "p1"], args].concat())["card_ids"].clone();
    assert_eq!(show(&[&card_box]), json!([c]));
    assert_eq!(show(&[&card_box, "--generation", "1"]), json!([a, b]));
    assert_eq!(show(&[&fork]), json!([a]));
    let provenance = home.json(&["box", "provenance", "-p", "p1", &fork]);
    assert_eq!(provenance["cards"][0]["box_id"], json!(card_box));
    assert!(home.ok(&["box", "show", "-p", "p1", &fork]).ends_with(&a));
}

/// API-03
#[test]
fn the_cards_of_a_box_are_its_last_ones() {
    let home = Home::new(Backend::Sqlite);
    home.ok(&["project", "create", "p1"]);
    let [a, b, c] = ["a", "b", "c"].map(|text| home.put_card(text));
    let card_box = home.ok(&["box", "create", "-p", "p1", &a, &b, &c]);
    let cards = home.json(&["box", "show", "-p", "p1", &card_box, "--cards", "--limit", "2"]);
    let contents: Vec<_> = cards.as_array().unwrap().iter().map(|card| &card["content"]).collect();
    assert_eq!(contents, ["b", "c"]);
}
