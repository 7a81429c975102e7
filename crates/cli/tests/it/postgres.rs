//! The same binary on Postgres.

use crate::support::{Backend, Run, Server};
use serde_json::json;

/// CB-18
#[test]
fn a_server_on_postgres_works_and_keeps_its_cards() {
    let server = Server::on(Backend::Postgres, &[]);
    let home = server.home.clone();
    assert_eq!(server.get("/ready").json()["store"], "postgres");
    home.ok(&["project", "create", "p1"]);
    let card = home.put_card("kept");
    assert_eq!(home.json(&["verify"])["ok"], json!(true));
    assert_eq!(server.terminate().code(), Some(0));
    home.cardwire(&["project", "create", "p2"]).failed(3, "no server is running");
    let mut forgetful = home.command(&["project", "create", "p2"]);
    forgetful.env_remove("CARDWIRE_STORE");
    Run::of(forgetful, "").failed(3, "no server is running");
    assert!(!home.database().exists(), "nothing is kept in SQLite");

    let again = home.up(&[]);
    let reply = again.get(&format!("/projects/p1/cards/{card}"));
    assert_eq!(reply.json()["content"], "kept");
    assert_eq!(again.terminate().code(), Some(0));
}
