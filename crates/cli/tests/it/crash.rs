//! NF-01: the real server is killed with `kill -9` at random moments under concurrent writers, again and again;
//! every acknowledged card and append is there afterwards, byte-equal, and no box is half-written.

use crate::support::{Backend, Home, Server};
use cardwire_testkit::scaled;
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use std::{
    collections::{HashMap, HashSet},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::task::JoinSet;

const WRITERS: u64 = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_facts_survive_kill_9_on_sqlite() {
    torture(Backend::Sqlite, scaled(60)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_facts_survive_kill_9_on_postgres() {
    torture(Backend::Postgres, scaled(20)).await;
}

async fn home(backend: Backend) -> Arc<Home> {
    tokio::task::spawn_blocking(move || Home::new(backend)).await.unwrap()
}

async fn start(home: &Arc<Home>) -> Server {
    let home = Arc::clone(home);
    tokio::task::spawn_blocking(move || home.up(&[])).await.unwrap()
}

fn kill(pid: u32) {
    assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
}

/// What the server said yes to.
#[derive(Default)]
struct Acknowledged {
    /// Content by card id.
    cards: HashMap<String, String>,
    /// Cards by box id.
    appends: HashMap<String, Vec<String>>,
}

impl Acknowledged {
    fn absorb(&mut self, other: Self) {
        self.cards.extend(other.cards);
        for (box_id, cards) in other.appends {
            self.appends.entry(box_id).or_default().extend(cards);
        }
    }
}

async fn torture(backend: Backend, cycles: u64) {
    // A second caller in the same process finds it installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let seed = cardwire_testkit::test_seed();
    println!("CARDWIRE_TEST_SEED={seed}");
    let mut random = cardwire_testkit::Rng::new(seed);
    let home = home(backend).await;
    let (mut all, mut interrupted) = (Acknowledged::default(), 0);
    let mut boxes = vec![];
    for cycle in 0..cycles {
        let server = start(&home).await;
        let api =
            Arc::new(Api { client: Client::new(), url: server.url.clone(), token: server.token.clone() });
        if boxes.is_empty() {
            api.post("/projects", json!({ "project_id": "crash" })).await.unwrap();
            for _ in 0..WRITERS {
                let made = api.post("/projects/crash/l0/boxes", json!({ "card_ids": [] })).await.unwrap();
                boxes.push(made["box_id"].as_str().unwrap().to_owned());
            }
        }
        // The moment is random in what has happened, not in time: after so many answers, while others are under way.
        let enough = random.between(1, 60) as u64;
        let answered = Arc::new(AtomicU64::new(0));
        let pid = server.pid();
        let mut writers = JoinSet::new();
        for box_id in boxes.clone() {
            let (api, answered) = (Arc::clone(&api), Arc::clone(&answered));
            writers.spawn(async move {
                write_until_cut_off(&api, &box_id, &answered, enough, || kill(pid)).await
            });
        }
        while let Some(done) = writers.join_next().await {
            let (acknowledged, cut_off) = done.unwrap();
            all.absorb(acknowledged);
            interrupted += u64::from(cut_off);
        }
        drop(server);
        if cycle % 20 == 19 || cycle + 1 == cycles {
            check(&home, &all).await;
        }
    }
    assert!(
        interrupted > cycles,
        "the kills must have hit writers at work: {interrupted} in {cycles} cycles"
    );
    println!("{cycles} kills, {} cards and {} cut-off requests", all.cards.len(), interrupted);
}

/// Writes cards and appends them until the server is gone; whoever gets the decisive answer kills it.
async fn write_until_cut_off(
    api: &Api,
    box_id: &str,
    answered: &AtomicU64,
    enough: u64,
    kill: impl Fn(),
) -> (Acknowledged, bool) {
    let mut done = Acknowledged::default();
    for n in 0_u64.. {
        let text = format!("{box_id} {n} 中文 {}", "x".repeat((n % 700) as usize));
        let body = json!({ "content": text, "metadata": { "type": "agent.thought", "n": n } });
        let Some(card) = api.post("/projects/crash/l0/cards", body).await else { return (done, true) };
        let id = card["card_id"].as_str().unwrap().to_owned();
        done.cards.insert(id.clone(), text);
        if answered.fetch_add(1, Ordering::SeqCst) + 1 == enough {
            kill();
        }
        let path = format!("/projects/crash/l0/boxes/{box_id}/cards");
        let Some(_) = api.post(&path, json!({ "card_ids": [id] })).await else { return (done, true) };
        done.appends.entry(box_id.to_owned()).or_default().push(id);
        if answered.fetch_add(1, Ordering::SeqCst) + 1 == enough {
            kill();
        }
    }
    (done, false)
}

async fn check(home: &Arc<Home>, all: &Acknowledged) {
    let server = start(home).await;
    let api = Api { client: Client::new(), url: server.url.clone(), token: server.token.clone() };
    let ids: Vec<_> = all.cards.keys().cloned().collect();
    for chunk in ids.chunks(100) {
        let read = api.post("/projects/crash/cards/batch", json!({ "card_ids": chunk })).await.unwrap();
        assert_eq!(read["missing_ids"], json!([]), "an acknowledged card is gone");
        for card in read["cards"].as_array().unwrap() {
            assert_eq!(card["content"], all.cards[card["card_id"].as_str().unwrap()]);
        }
    }
    for (box_id, appended) in &all.appends {
        let read = api.post("/projects/crash/boxes/batch", json!({ "box_ids": [box_id] })).await.unwrap();
        let shown: Vec<String> = serde_json::from_value(read["boxes"][0]["card_ids"].clone()).unwrap();
        let places: HashMap<_, _> = shown.iter().enumerate().map(|(place, id)| (id, place)).collect();
        let found: Vec<_> =
            appended.iter().map(|id| places.get(id).expect("an acknowledged append is gone")).collect();
        assert!(found.is_sorted(), "one writer's appends keep their order");
        // No half-written box: everything it shows, also what nobody was told of, is a whole card.
        for chunk in shown.chunks(100) {
            let read = api.post("/projects/crash/cards/batch", json!({ "card_ids": chunk })).await.unwrap();
            assert_eq!(read["missing_ids"], json!([]), "a box shows a card that is not there");
        }
        assert_eq!(shown.iter().collect::<HashSet<_>>().len(), shown.len());
    }
    let report = api.post("/admin/verify", json!({})).await.unwrap();
    assert_eq!(report["ok"], true, "{report}");
    server.kill();
}

struct Api {
    client: Client,
    url: String,
    token: String,
}

impl Api {
    /// The body of a success; `None` when the server is gone.
    async fn post(&self, path: &str, body: Value) -> Option<Value> {
        let request =
            self.client.post(format!("{}{path}", self.url)).bearer_auth(&self.token).body(body.to_string());
        let response = request.send().await.ok()?;
        let status = response.status();
        let text = response.text().await.ok()?;
        assert!(matches!(status, StatusCode::OK | StatusCode::CREATED), "{path}: {status} {text}");
        serde_json::from_str(&text).ok()
    }
}
