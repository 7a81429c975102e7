//! `cardwire open`: the way from a terminal to the pages of the inspector (IN-04).

use crate::support::{Backend, Home};
use serde_json::json;

#[test]
fn open_gives_an_address_that_signs_a_browser_in() {
    let home = Home::new(Backend::Sqlite);
    home.ok(&["project", "create", "p1"]);
    home.cardwire(&["open", "-p", "p1"]).failed(1, "no server runs on this store");
    let server = home.up(&[]);
    let opened = home.json(&["open", "-p", "p1"]);
    let (address, code) = opened["url"].as_str().unwrap().split_once('#').unwrap();
    assert_eq!(address, format!("http://{}/inspect/login?target=/inspect/p/p1", server.address()));
    assert_eq!((code.len(), &opened["expires_in_seconds"]), (64, &json!(60)));
    let page = server.get("/inspect/login?target=/inspect/p/p1");
    assert!(page.header("content-security-policy").is_some(), "{page:?}");
    assert!(home.ok(&["open", "turn_1", "-p", "p1"]).contains("/inspect/p/p1/runs/turn_1#"));
    home.cardwire(&["open", "turn_1"]).failed(2, "no project is given");
}
