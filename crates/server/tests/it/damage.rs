//! Cards that are not what was written are named and never served (NF-01, F-36).

use crate::support::{Api, on_both};
use cardwire_model::{CanonicalJson, Card, CardDraft, CardId, Commit, Origin, ProjectId, Write, limits};
use serde_json::{Value, json};

on_both! {
    a_damaged_card_is_named_and_hides_no_other;
    as_many_damaged_cards_are_named_as_the_limit_says;
    what_is_made_of_a_damaged_card_is_refused;
}

/// The card with this number, as it would be written.
fn card(api: &Api, number: u128) -> Card {
    let id: CardId = format!("{number:032x}").parse().unwrap();
    let draft = CardDraft {
        content: CanonicalJson::string("true").unwrap(),
        metadata: CanonicalJson::parse(r#"{"type":"x"}"#, "x").unwrap(),
        tool_calls: None,
        tool_call_id: None,
        ttl_seconds: None,
    };
    draft.into_card(id, Origin::Operator, api.kernel.now()).unwrap()
}

/// Writes cards as they are, whether or not they are intact.
async fn write(api: &Api, cards: Vec<Card>) -> Vec<String> {
    let ids = cards.iter().map(|card| card.id.to_string()).collect();
    let mut commit = Commit::new("p1".parse::<ProjectId>().unwrap());
    commit.writes.extend(cards.into_iter().map(|card| Write::PutCard(Box::new(card))));
    api.store.commit(commit).await.unwrap();
    ids
}

fn damaged(mut card: Card) -> Card {
    card.content = CanonicalJson::string("false").unwrap();
    card
}

/// F-36, NF-01, API-04, API-05
async fn a_damaged_card_is_named_and_hides_no_other(api: Api) {
    let ids = write(&api, vec![card(&api, 1), damaged(card(&api, 2)), card(&api, 3)]).await;
    let reply = api.get(&format!("/projects/p1/cards/{}", ids[1])).await;
    let body = reply.expect(500);
    assert_eq!(
        (&body["error"]["code"], &body["error"]["detail"]["card_ids"]),
        (&json!("internal"), &json!([ids[1]]))
    );
    assert!(body["error"]["message"].as_str().unwrap().contains(&ids[1]), "{body}");
    api.get(&format!("/projects/p1/cards/{}", ids[0])).await.expect(200);

    let asked = [ids.clone(), vec![format!("{:032x}", 9)]].concat();
    let batch = api.post("/projects/p1/cards/batch", json!({ "card_ids": asked })).await.expect(200);
    let found: Vec<&Value> = batch["cards"].as_array().unwrap().iter().map(|card| &card["card_id"]).collect();
    assert_eq!(found, [&json!(ids[0]), &json!(ids[2])]);
    assert_eq!((&batch["damaged_ids"], &batch["missing_ids"]), (&json!([ids[1]]), &json!([asked[3]])));
    let whole = api.post("/projects/p1/cards/batch", json!({ "card_ids": [ids[0]] })).await.expect(200);
    assert_eq!(whole.get("damaged_ids"), None);

    let made = api.post("/projects/p1/l0/boxes", json!({ "card_ids": ids })).await.expect(201);
    let box_id = made["box_id"].as_str().unwrap();
    let read = json!({ "box_ids": [box_id], "hydrate": true });
    let boxes = api.post("/projects/p1/boxes/batch", read).await.expect(200);
    assert_eq!(boxes["boxes"][0]["hydrated_cards"].as_array().unwrap().len(), 2);
    assert_eq!((&boxes["damaged_card_ids"], &boxes["missing_card_ids"]), (&json!([ids[1]]), &json!([])));
    let list = api.get(&format!("/projects/p1/boxes/{box_id}/cards")).await.expect(500);
    assert_eq!(list["error"]["detail"]["card_ids"], json!([ids[1]]));
}

/// F-36
async fn as_many_damaged_cards_are_named_as_the_limit_says(api: Api) {
    let limit = limits::DAMAGED_NAMED;
    let cards = (1..=limit as u128).map(|number| damaged(card(&api, number))).collect();
    let mut ids = write(&api, cards).await;
    let verified = async || {
        let report = api.post("/admin/verify", json!({})).await.expect(200);
        assert_eq!((&report["ok"], &report["recorded"]), (&json!(false), &json!(true)));
        report["realms"].as_array().unwrap().iter().find(|realm| realm["project_id"] == "p1").unwrap().clone()
    };
    let report = verified().await;
    assert_eq!((&report["bad_cards"], &report["bad_card_ids"]), (&json!(limit), &json!(ids)));
    let over = write(&api, vec![damaged(card(&api, 100)), card(&api, 101)]).await;
    let report = verified().await;
    assert_eq!((&report["cards"], &report["bad_cards"]), (&json!(limit + 2), &json!(limit + 1)));
    assert_eq!(report["bad_card_ids"], json!(ids));

    let box_of = async |ids: &[String]| {
        let made = api.post("/projects/p1/l0/boxes", json!({ "card_ids": ids })).await.expect(201);
        let path = format!("/projects/p1/boxes/{}/cards", made["box_id"].as_str().unwrap());
        let refused = api.get(&path).await.expect(500);
        refused["error"]["detail"]["card_ids"].as_array().unwrap().len()
    };
    assert_eq!(box_of(&ids).await, limit);
    ids.extend(over);
    assert_eq!(box_of(&ids).await, limit);
}

/// NF-01: what a model is sent is all of what was written, or nothing.
async fn what_is_made_of_a_damaged_card_is_refused(api: Api) {
    let ids = write(&api, vec![card(&api, 1), damaged(card(&api, 2))]).await;
    let made = api.post("/projects/p1/l0/boxes", json!({ "card_ids": ids })).await.expect(201);
    let box_id = made["box_id"].as_str().unwrap().parse().unwrap();
    let refused = api.kernel.box_cards(&"p1".parse().unwrap(), box_id).await.unwrap_err().to_string();
    assert_eq!(refused, format!("damaged cards: {}", ids[1]));
}
