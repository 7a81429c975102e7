//! `cardwire knowledge` and the embedding provider of `cardwire up` (KN-02, KN-04, CC-07, SEC-09).

use crate::support::{Backend, Home, everywhere};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

const KEY: &str = "sk-hunter2";

/// A small library, in two languages.
fn library(home: &Home) {
    home.file("docs/boats.md", "# Boats\n\nA red boat crosses the lake.\n\n## Oars\n\nTwo oars of ash.\n");
    home.file("docs/deep/notes.txt", "The harbour master keeps the keys.\n");
    home.file("docs/中文/船.md", "# 红船\n\n红色的船停在码头旁边,船长每天早上出海捕鱼。\n");
    home.file("docs/picture.png", [0x89, b'P', 0xff, 0x00]);
    home.file("docs/.hidden.md", "# Secret\n");
}

fn sources(answer: &Value) -> Vec<&str> {
    answer["items"].as_array().unwrap().iter().map(|item| item["source_id"].as_str().unwrap()).collect()
}

/// KN-02, KN-04
#[test]
fn documents_are_taken_in_listed_found_and_removed() {
    everywhere(|home| {
        library(home);
        let add = home.cardwire(&["knowledge", "add", "-p", "p1", "docs", "./docs/boats.md"]);
        assert!(add.stderr.contains("note: skipped docs/.hidden.md: it is hidden"), "{add:?}");
        assert!(add.stderr.contains("note: skipped docs/picture.png: it is not UTF-8 text"), "{add:?}");
        assert!(
            !add.stderr.contains('\u{1b}') && !add.stderr.contains("3/4"),
            "this is no terminal: {add:?}"
        );
        let table = add.ok();
        assert_eq!(table.lines().count(), 4, "{table}");
        assert!(table.contains("SECTIONS") && table.contains("docs/中文/船.md"), "{table}");

        let list = ["knowledge", "list", "-p", "p1"];
        assert_eq!(sources(&home.json(&list)), ["docs/boats.md", "docs/deep/notes.txt", "docs/中文/船.md"]);
        assert!(home.ok(&list).contains("docs/deep/notes.txt"));
        let page = home.json(&[&list[..], &["--limit", "1"]].concat());
        assert_eq!((sources(&page), page["next_cursor"].is_string()), (vec!["docs/boats.md"], true));

        let search = |query: &str| home.json(&["knowledge", "search", "-p", "p1", query]);
        let found = search("红色的船停在哪里");
        assert_eq!(sources(&found)[0], "docs/中文/船.md", "{found}");
        assert!(found["items"][0]["content"].as_str().unwrap().contains("码头"), "{found}");
        assert_eq!(sources(&search("船长"))[0], "docs/中文/船.md");
        let found = search("oars");
        assert_eq!((&found["items"][0]["title"], sources(&found)), (&json!("Oars"), vec!["docs/boats.md"]));
        let table = home.ok(&[
            "knowledge",
            "search",
            "-p",
            "p1",
            "harbour keys",
            "--limit",
            "1",
            "--method",
            "full_text",
        ]);
        assert!(table.contains("SCORE") && table.contains("The harbour master"), "{table}");
        assert_eq!(search("  ")["items"], json!([]));
        let other = ["knowledge", "search", "-p", "p1", "oars", "--namespace", "other"];
        assert_eq!(home.json(&other)["items"], json!([]), "KN-04");

        // The same source again takes the place of what was there.
        home.file("docs/boats.md", "# Boats\n\nA blue boat crosses the lake.\n");
        let again = home.json(&["knowledge", "add", "-p", "p1", "docs/boats.md"]);
        assert_eq!((&again[0]["source_id"], &again[0]["sections"]), (&json!("docs/boats.md"), &json!(1)));
        assert_eq!(sources(&search("oars")), [""; 0]);
        assert_eq!(sources(&search("blue boat"))[0], "docs/boats.md");
        assert_eq!(home.ok(&["knowledge", "remove", "-p", "p1", "docs/boats.md"]), "removed docs/boats.md");
        assert_eq!(sources(&home.json(&list)), ["docs/deep/notes.txt", "docs/中文/船.md"]);

        // KN-03: what is found is shown to the session that asks.
        let block = home.ok(&[
            "context",
            "collect",
            "-p",
            "p1",
            "s1",
            "--query",
            "who keeps the keys of the harbour",
        ]);
        assert!(block.contains("knowledge__context:\n# Knowledge Context"), "{block}");
        assert!(block.contains("docs/deep/notes.txt"), "{block}");
    });
}

/// API-15
#[test]
fn what_cannot_be_taken_in_or_asked_is_said() {
    everywhere(|home| {
        library(home);
        let add = |paths: &[&str]| home.cardwire(&[&["knowledge", "add", "-p", "p1"], paths].concat());
        add(&["docs", "absent"]).failed(3, "absent");
        assert_eq!(home.json(&["knowledge", "list", "-p", "p1"])["items"], json!([]), "nothing was sent");
        add(&["docs/picture.png"]).failed(2, "nothing to take in");
        let far = format!("long/{0}/{0}/{0}/a.md", "x".repeat(200));
        home.file(&far, "a");
        home.file("long/ok.md", "fine");
        add(&[&far]).failed(2, "source_id");
        let mixed = add(&["long"]);
        mixed.failed(1, "1 document was taken in, 1 was not");
        assert!(
            mixed.stdout.contains("long/ok.md") && mixed.stderr.contains("note: skipped long/xxx"),
            "{mixed:?}"
        );
        let search =
            |args: &[&str]| home.cardwire(&[&["knowledge", "search", "-p", "p1", "x"], args].concat());
        search(&["--method", "odd"]).failed(2, "method");
        search(&["--method", "semantic"]).failed(2, "needs an embedding provider");
        home.cardwire(&["knowledge", "list", "-p", "p9"]).failed(3, "project not found");
        assert_eq!(home.cardwire(&["knowledge", "add", "-p", "p1"]).code, 2);
    });
}

/// What the provider knows about words: those of a line mean the same.
const MEANINGS: [&[&str]; 3] = [&["boat", "ship", "vessel"], &["cat", "feline"], &["money", "coin"]];

/// An embedding provider of a few lines.
struct Provider {
    url: String,
    asked: Arc<AtomicUsize>,
    broken: Arc<AtomicBool>,
}

impl Provider {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (asked, broken) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let provider = Self { url, asked: Arc::clone(&asked), broken: Arc::clone(&broken) };
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                asked.fetch_add(1, Ordering::SeqCst);
                let _ = answer(stream, broken.load(Ordering::SeqCst));
            }
        });
        provider
    }
}

fn answer(mut stream: TcpStream, broken: bool) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head += &line;
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body: Value = serde_json::from_slice(&body)?;
    let well = head.starts_with("POST /v1/embeddings HTTP/1.1\r\n")
        && head.contains(&format!("Bearer {KEY}"))
        && body["model"] == "tiny";
    let (status, body) = match (well, broken) {
        (true, false) => {
            let texts = body["input"].as_array().unwrap().iter().map(|text| text.as_str().unwrap());
            let one = |(index, text)| json!({ "index": index, "embedding": embed(text) });
            let mut data: Vec<_> = texts.enumerate().map(one).collect();
            // In another order than the texts: the index says which is which.
            data.reverse();
            ("200 OK", json!({ "data": data }))
        }
        (true, true) => {
            ("500 Internal Server Error", json!({ "error": { "message": format!("no luck with {KEY}") } }))
        }
        (false, _) => ("401 Unauthorized", json!({ "error": { "message": "who are you?" } })),
    };
    let body = body.to_string();
    write!(stream, "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

fn embed(text: &str) -> Vec<f32> {
    let text = text.to_lowercase();
    let means = |words: &&[&str]| words.iter().any(|word| text.contains(word));
    MEANINGS.iter().map(|words| f32::from(u8::from(means(words)))).chain([0.1]).collect()
}

fn searches_by_meaning(backend: Backend) {
    let provider = Provider::start();
    let home = Home::new(backend);
    let flags = ["--embeddings-url", &provider.url, "--embeddings-model", "tiny"];
    let server = home.up_with(&flags, &[("CARDWIRE_EMBEDDINGS_KEY", KEY)]);
    home.ok(&["project", "create", "p1"]);
    home.file("a.md", "A red boat crosses the lake.");
    home.file("b.md", "The cat sleeps on the sofa.");
    home.file("c.md", "Coins are counted in the evening.");
    home.ok(&["knowledge", "add", "-p", "p1", "a.md", "b.md", "c.md"]);
    assert!(provider.asked.load(Ordering::SeqCst) >= 3);
    let search = |query: &str, method: &[&str]| {
        home.cardwire(&[&["knowledge", "search", "-p", "p1", query, "--json"], method].concat())
    };
    let found = |query: &str, method: &[&str]| -> Vec<String> {
        let answer: Value = serde_json::from_str(&search(query, method).ok()).unwrap();
        sources(&answer).into_iter().map(str::to_owned).collect()
    };
    assert_eq!(found("vessel", &["--method", "full_text"]), [""; 0], "no document has the word");
    assert_eq!(found("vessel", &["--method", "semantic"])[0], "a.md");
    assert_eq!(found("vessel", &["--method", "hybrid"])[0], "a.md");
    assert_eq!(found("feline", &[])[0], "b.md", "hybrid is what is used when it can be");
    assert_eq!(found("evening", &[])[0], "c.md", "words count too");

    // CC-07: a provider that fails costs the block, not the call; whoever searches is told.
    provider.broken.store(true, Ordering::SeqCst);
    let failed = search("vessel", &[]);
    failed.failed(1, "the embedding provider answered 500");
    assert!(failed.stderr.contains("hint: the server asks the provider"), "{failed:?}");
    let collected = home.cardwire(&["context", "collect", "-p", "p1", "s1", "--query", "vessel"]);
    assert!(collected.stderr.contains("knowledge__context is left out"), "{collected:?}");
    assert!(!collected.ok().contains("knowledge__context"));
    assert_eq!(found("boat", &["--method", "full_text"]), ["a.md"], "words need nobody");
    // SEC-09
    let log = server.log();
    assert!(!failed.stderr.contains(KEY) && !log.contains(KEY), "{log}");
}

/// KN-02
#[test]
fn documents_are_found_by_meaning_on_sqlite() {
    searches_by_meaning(Backend::Sqlite);
}

#[test]
fn documents_are_found_by_meaning_on_postgres() {
    searches_by_meaning(Backend::Postgres);
}

/// SEC-03, API-15
#[test]
fn a_provider_that_cannot_be_is_refused_before_anything_starts() {
    let home = Home::new(Backend::Sqlite);
    let up = |args: &[&str]| home.cardwire(&[&["up"], args].concat());
    let model = ["--embeddings-model", "m"];
    let named = up(&[&["--embeddings-url", "http://me:hunter2@127.0.0.1/v1"], &model[..]].concat());
    named.failed(2, "takes no user and no password");
    assert!(named.stderr.contains("hint: put the key into `CARDWIRE_EMBEDDINGS_KEY`"), "{named:?}");
    assert!(!named.stderr.contains("hunter2"), "{named:?}");
    up(&[&["--embeddings-url", "openai"], &model[..]].concat()).failed(2, "is not an address");
    assert_eq!(up(&["--embeddings-url", "http://127.0.0.1/"]).code, 2);
    assert_eq!(up(&model).code, 2);
    assert!(!home.data_dir().exists());
}
