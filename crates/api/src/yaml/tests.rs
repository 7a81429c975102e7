//! What YAML means, and what it may cost.

use super::*;
use serde_json::{Value, json};
use std::fmt::Write;

#[track_caller]
fn check(yaml: &str, expected: &Value) {
    let json = to_json(yaml).unwrap_or_else(|invalid| panic!("{invalid}: {yaml}"));
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), *expected, "{yaml}");
}

#[track_caller]
fn refused(yaml: &str, message: &str) {
    assert_eq!(to_json(yaml).map_err(|invalid| invalid.to_string()), Err(message.to_owned()), "{yaml}");
}

#[test]
fn yaml_says_what_json_says() {
    check(
        "# a recipe\nname: review\nhandover:\n  rules:\n    - {arg_key: task, n: 1}\n    - [a, 'b', \"c\\n\"]\nempty: {}\n",
        &json!({ "name": "review", "handover": { "rules": [{ "arg_key": "task", "n": 1 }, ["a", "b", "c\n"]] }, "empty": {} }),
    );
    check(
        "text: |\n  one\n  two\nfolded: >-\n  one\n  two\n",
        &json!({ "text": "one\ntwo\n", "folded": "one two" }),
    );
    check(
        r#"{"json": [1, null, true, {"is": "YAML"}]}"#,
        &json!({ "json": [1, null, true, { "is": "YAML" }] }),
    );
    for empty in ["", "\n", "# nothing\n"] {
        check(empty, &json!({}));
    }
}

#[test]
fn plain_words_are_read_by_the_core_schema() {
    check(
        "[null, ~, Null, true, FALSE, '~', \"true\"]",
        &json!([null, null, null, true, false, "~", "true"]),
    );
    check("a:\nb: ", &json!({ "a": null, "b": null }));
    check(
        "[yes, no, on, off, n, NO, 2026-01-01, 1:30, 1_000, 0b1, 1.2.3, -x, +, e5, 0x, .]",
        &json!([
            "yes",
            "no",
            "on",
            "off",
            "n",
            "NO",
            "2026-01-01",
            "1:30",
            "1_000",
            "0b1",
            "1.2.3",
            "-x",
            "+",
            "e5",
            "0x",
            ".",
        ]),
    );
    check(
        "[1, -2, +3, 0, 0x1F, 0o17, 1.5, .5, 5., 1e3, -1.5E-2, 9223372036854775807]",
        &json!([1, -2, 3, 0, 31, 15, 1.5, 0.5, 5, 1e3, -1.5e-2, i64::MAX,]),
    );
    check("1: one\ntrue: two\n", &json!({ "1": "one", "true": "two" }));
    // Numbers are handed on as they are: whether they can be kept is for JSON to say.
    assert_eq!(
        to_json("[123456789012345678901234567890, 1.10]").unwrap(),
        "[123456789012345678901234567890,1.10]"
    );
}

#[test]
fn an_alias_is_what_it_refers_to() {
    check(
        "a: &x {k: [1, 2]}\nb: *x\nc: [*x, &y s, *y]\n",
        &json!({
            "a": { "k": [1, 2] }, "b": { "k": [1, 2] }, "c": [{ "k": [1, 2] }, "s", "s"],
        }),
    );
    check("&k key: 1\nother: *k\n", &json!({ "key": 1, "other": "key" }));
}

/// API-06
#[test]
fn what_cannot_be_json_is_refused_with_its_place() {
    refused("a:\n  k: 1\n  b: 2\n  k: 3\n", "a/k: line 4: duplicate key");
    refused("a: [1, {k: 1, \"k\": 2}]", "a/1/k: line 1: duplicate key");
    refused("a: !!str 1", "a: line 1: tags (`!…`) are not supported; quote what is a text");
    refused("a: !Secret {b: 1}", "a: line 1: tags (`!…`) are not supported; quote what is a text");
    refused("base: &b {x: 1}\nmore:\n  <<: *b\n", "more: line 3: merge keys (`<<`) are not supported");
    refused("? [a]\n: 1\n", "body: line 1: a key must be a text");
    refused("~: 1\n", "body: line 1: a key must be a text");
    refused("a: &x 1\n*x : 2\n", "body: line 2: a key must be a text");
    refused("a: 1\n---\nb: 2\n", "body: line 2: one document only, please");
    refused("a: &x [1, *x]\n", "a/1: line 1: refers to itself");
    refused("a: .inf\n", "a: line 1: JSON has no such number");
    refused("a: 007\n", "a: line 1: a number with leading zeros; quote it if it is a text");
    refused("a: 0xfffffffffffffffff\n", "a: line 1: a number past 64 bits");
    for broken in
        ["a: [1", "a: 'x", "a:\n\tb: 1", "a: *nothing", "a: b: c", "{---", "a: \"\\q\"", "- a\nb: 1", "@"]
    {
        let message = to_json(broken).unwrap_err().to_string();
        let place = message.split(": line ").next().unwrap();
        assert!(["body", "a", "a/0", "1"].contains(&place), "{broken}: {message}");
    }
}

/// SEC-07
#[test]
fn nesting_stops_where_it_does_in_json() {
    let flow = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    assert!(to_json(&flow(limits::JSON_DEPTH)).is_ok());
    assert!(to_json(&flow(limits::JSON_DEPTH + 1)).unwrap_err().to_string().contains("64"));
    assert!(to_json(&"[".repeat(1_000_000)).is_err());
    assert!(to_json(&"- ".repeat(1_000_000)).is_err());
    // An alias is as deep as what it refers to.
    let half = flow(limits::JSON_DEPTH / 2);
    let nested = |n: usize| format!("[&a {half}, {}*a{}]", "[".repeat(n), "]".repeat(n));
    assert!(to_json(&nested(limits::JSON_DEPTH / 2 - 1)).is_ok());
    assert!(to_json(&nested(limits::JSON_DEPTH / 2)).is_err());
}

/// SEC-07
#[test]
fn aliases_of_aliases_stop_at_the_size_of_a_card() {
    let mut bomb = "a0: &a0 lol\n".to_owned();
    for n in 1..40 {
        let list = format!("*a{}, ", n - 1).repeat(9);
        writeln!(bomb, "a{n}: &a{n} [{list}]").unwrap();
    }
    assert!(matches!(to_json(&bomb), Err(Invalid::TooLarge { limit: limits::CARD_BYTES, .. })));
    let list = |n: usize| format!("[{}]", vec!["abcdefg"; n].join(", "));
    let fits = (limits::CARD_BYTES - 1) / 10;
    assert!(to_json(&list(fits)).is_ok());
    assert!(matches!(to_json(&list(fits + 1)), Err(Invalid::TooLarge { .. })));
}

/// SEC-08: whatever comes, an answer comes back, and what is accepted is JSON.
#[test]
fn any_text_is_either_json_or_refused() {
    let parts = [
        "a",
        "-",
        " ",
        "\n",
        "- ",
        ": ",
        ":",
        "?",
        "? ",
        "{",
        "}",
        "[",
        "]",
        ",",
        "#",
        " #",
        "&a ",
        "*a ",
        "!",
        "|\n",
        ">",
        "\"",
        "'",
        "\\",
        "\t",
        "---\n",
        "...\n",
        "%YAML 1.2\n",
        "\u{feff}",
        "é",
        "\r",
        "\u{85}",
        "~",
        "<<: ",
        "1",
        ".5",
        "\0",
        "e",
    ];
    let mut seed = 88_172_645_463_325_252_u64;
    let mut next = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % below as u64).unwrap()
    };
    let mut accepted = 0;
    for _ in 0..20_000 {
        let text: String = (0..next(24)).map(|_| parts[next(parts.len())]).collect();
        if let Ok(json) = to_json(&text) {
            accepted += 1;
            assert!(serde_json::from_str::<Value>(&json).is_ok(), "{text:?} became {json:?}");
        }
    }
    assert!(accepted > 1_000, "{accepted}");
}

#[test]
fn content_types_are_read_without_their_parameters() {
    for yaml in [
        "application/yaml",
        "application/x-yaml",
        "text/yaml; charset=utf-8",
        "Application/YAML ",
        "text/x-yaml",
        "application/vnd.cardwire.team+yaml",
        "Application/OpenAPI+YAML; version=3",
    ] {
        assert!(is_yaml(yaml), "{yaml}");
    }
    for other in
        ["application/json", "text/plain", "", "application/yaml+x", "application/+yaml", "text/x+yaml"]
    {
        assert!(!is_yaml(other), "{other}");
    }
}
