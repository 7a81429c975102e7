//! `cardwire token` (SEC-02) and `cardwire project` (API-07).

use crate::support::{Backend, Home, Run, Server};
use serde_json::json;

/// SEC-02
#[test]
fn a_token_is_printed_once_works_within_its_scope_and_ends() {
    let server = Server::start(&[]);
    let home = &server.home;
    home.ok(&["project", "create", "p1"]);
    let made =
        home.cardwire(&["token", "create", "--scope", "read", "--project", "p1", "--expires-in", "60"]);
    assert!(made.stderr.contains("is shown only this once"), "{made:?}");
    let id = made.stderr.split(' ').find(|word| word.starts_with("tok_")).unwrap().to_owned();
    let token = made.ok();
    assert!(
        token.starts_with("cw_") && !token.contains('\n'),
        "the token is all there is on standard output"
    );

    let as_reader = |args: &[&str]| {
        let mut command = home.command(args);
        command.env("CARDWIRE_TOKEN", &token);
        Run::of(command, "")
    };
    as_reader(&["project", "show", "p1"]).ok();
    as_reader(&["project", "delete", "p1"]).failed(1, "");
    let list = home.ok(&["token", "list"]);
    assert!(list.contains(&id) && !list.contains(&token), "{list}");

    assert_eq!(home.ok(&["token", "revoke", &id]), format!("revoked token {id}"));
    as_reader(&["project", "show", "p1"]).failed(1, "token");
    assert!(home.ok(&["token", "list"]).contains("revoked "));
}

/// F-42: a revoked token in `admin.token` is replaced by the next start, which says so.
#[test]
fn a_server_whose_token_was_revoked_makes_a_new_one_and_says_so() {
    let server = Server::start(&[]);
    let (home, old) = (server.home.clone(), server.token.clone());
    let next = home.json(&["token", "create", "--scope", "admin"])["token"].as_str().unwrap().to_owned();
    let list = home.json(&["token", "list"]);
    let ids: Vec<&str> =
        list["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect();
    let run = home.cardwire(&["token", "revoke", ids[0]]);
    run.failed(4, "the server's own admin token");
    assert_eq!(server.terminate().code(), Some(0));
    // While no server runs, the holder of another admin token may revoke the token.
    let mut command = home.command(&["token", "revoke", ids[0]]);
    command.env("CARDWIRE_TOKEN", &next);
    Run::of(command, "").ok();

    let server = home.up(&[]);
    assert_ne!(server.token, old);
    assert_eq!(server.get("/projects").status, 200);
    assert!(server.log().contains("the admin token was revoked; the file holds a new one now"));
    let told = server.request_as(&old, "GET", "/projects", "");
    assert_eq!(told.status, 401);
    assert!(told.json()["error"]["message"].as_str().unwrap().contains("revoked"), "{}", told.json());
}

/// F-42: what somebody put there is not overwritten, and nothing is widened.
#[test]
fn a_server_does_not_start_with_a_token_that_is_no_admin_token() {
    let server = Server::start(&[]);
    let home = server.home.clone();
    let narrow = home.json(&["token", "create", "--scope", "read"])["token"].as_str().unwrap().to_owned();
    assert_eq!(server.terminate().code(), Some(0));
    let file = home.data_dir().join("admin.token");
    std::fs::write(&file, &narrow).unwrap();
    let run = home.cardwire(&["up", "--listen", "127.0.0.1:0"]);
    run.failed(1, "is not an admin token for all projects");
    assert!(run.stderr.contains("hint: remove the file"), "{run:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), narrow);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(home.up(&[]).get("/projects").status, 200);
}

/// SEC-03: a token in the arguments is not repeated in the error.
#[test]
fn a_token_given_for_its_id_is_not_repeated() {
    let server = Server::start(&[]);
    let run = server.home.cardwire(&["token", "revoke", &server.token]);
    run.failed(2, "not the id of one");
    assert!(!run.stderr.contains(&server.token), "{run:?}");
}

/// A token for all projects is never made for one by the surroundings, nor the other way round.
#[test]
fn the_project_of_a_token_does_not_come_from_the_environment() {
    let server = Server::start(&[]);
    let mut command = server.home.command(&["token", "create", "--scope", "read", "--json"]);
    command.env("CARDWIRE_PROJECT", "p1");
    let token: serde_json::Value = serde_json::from_str(&Run::of(command, "").ok()).unwrap();
    assert_eq!(token["project_id"], json!(null));
}

/// API-07
#[test]
fn a_project_is_made_changed_listed_and_deleted() {
    let home = Home::new(Backend::Sqlite);
    home.ok(&["project", "create", "p1", "--title", "One", "--acl-inherit", "audit"]);
    home.ok(&["project", "create", "p2"]);
    assert_eq!(home.json(&["project", "show", "p1"])["settings"]["acl"]["inherit"], "audit");
    let changed = home.json(&["project", "update", "p1", "--no-title", "--acl-inherit", "enforce"]);
    assert_eq!(
        (&changed["title"], &changed["settings"]["acl"]["inherit"]),
        (&json!(null), &json!("enforce"))
    );
    home.cardwire(&["project", "update", "p1"]).failed(2, "nothing to change");

    let page = home.cardwire(&["project", "list", "--limit", "1"]);
    assert!(page.stderr.contains("there is more; go on with `--cursor p1`"), "{page:?}");
    assert!(home.ok(&["project", "list", "--cursor", "p1"]).contains("p2"));

    assert_eq!(home.ok(&["project", "delete", "p2"]), "deleted project p2");
    home.cardwire(&["project", "show", "p2"]).failed(3, "project not found: p2");
}
