//! NF-01, NF-04, NF-06..NF-08, PM-18: servers, workers, Postgres and NATS are killed with `kill -9` at random moments while
//! turns are dispatched, forked and run. Afterwards every accepted turn has exactly one task event, every batch was joined
//! once, and no reader of the event log has missed or seen moved any of it.

use crate::support::{Backend, Home, Server, send_signal};
use cardwire_testkit::{Rng, scaled};
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio::task::JoinSet;

const AGENTS: usize = 6;
const WORKERS: usize = 2;
/// How long anything may take to come back; far beyond what it does take.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_survive_kill_9_of_server_worker_and_nats_on_sqlite() {
    torture(Backend::Sqlite, 1, scaled(30)).await;
}

/// Two servers at once on one database.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_survive_kill_9_of_servers_workers_nats_and_postgres() {
    torture(Backend::Victim, 2, scaled(15)).await;
}

/// What can be killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Victim {
    Server,
    Worker,
    Nats,
    Postgres,
}

async fn torture(backend: Backend, servers: usize, cycles: u64) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let seed = cardwire_testkit::test_seed();
    println!("CARDWIRE_TEST_SEED={seed}");
    let mut random = Rng::new(seed);
    let mut rig = tokio::task::spawn_blocking(move || Rig::start(backend, servers)).await.unwrap();
    rig.set_up().await;
    let mut reader = Reader::default();
    let mut accepted: HashSet<String> = HashSet::new();
    let mut kills: BTreeMap<Victim, u64> = BTreeMap::new();
    for _ in 0..cycles {
        let victim = rig.choose(&mut random);
        *kills.entry(victim).or_default() += 1;
        let turns = random.between(4, 10);
        let decisive = random.below(turns) as u64;
        let answered = Arc::new(AtomicU64::new(0));
        let mut dispatches = JoinSet::new();
        for _ in 0..turns {
            let agent = random.below(AGENTS);
            let (api, answered) = (rig.api.clone(), Arc::clone(&answered));
            dispatches.spawn(async move { Some(api.dispatch(agent, &answered).await) });
        }
        let (api, agent) = (rig.api.clone(), random.below(AGENTS));
        dispatches.spawn(async move {
            api.fork(agent).await;
            None
        });
        // The moment is random in what has happened, not in time.
        let waited = Instant::now();
        while answered.load(Ordering::SeqCst) < decisive && waited.elapsed() < PATIENCE {
            tokio::task::yield_now().await;
        }
        rig = tokio::task::spawn_blocking(move || {
            rig.kill(victim);
            rig.revive();
            rig
        })
        .await
        .unwrap();
        while let Some(done) = dispatches.join_next().await {
            accepted.extend(done.unwrap());
        }
        reader.read_on(&rig.api).await;
    }
    drain(&rig, &accepted, &mut reader).await;
    let batches = every_batch_is_joined_once(&rig.api).await;
    assert!(batches as u64 >= cycles, "{batches} batches");
    reader.read_on(&rig.api).await;
    reader.compare_with_a_fresh_one(&rig.api).await;
    println!("{} turns, {} answered, over {cycles} kills: {kills:?}", accepted.len(), reader.answered);
    assert!(reader.answered * 2 > accepted.len(), "the workers hardly worked");
    for victim in rig.victims() {
        assert!(kills.contains_key(&victim), "{victim:?} was never killed");
    }
    rig.api.verify().await;
}

/// Lets the workers finish, and the watchdog what they left; then each turn must have had its one end.
async fn drain(rig: &Rig, accepted: &HashSet<String>, reader: &mut Reader) {
    let begun = Instant::now();
    loop {
        reader.read_on(&rig.api).await;
        let open = accepted.iter().filter(|turn| !reader.tasks.contains_key(*turn)).count();
        if open == 0 {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{open} turns never ended");
        tokio::time::sleep(Duration::from_millis(100)).await;
        // The time after which a silent holder loses its turn, without waiting for it.
        rig.api.tick(Duration::from_secs(400)).await;
    }
    for (turn, count) in &reader.tasks {
        assert_eq!(*count, 1, "{turn} has {count} task events");
    }
}

/// NF-06: no batch is left open, and each has one answering edge.
async fn every_batch_is_joined_once(api: &Api) -> usize {
    let begun = Instant::now();
    while !api.items("batches?status=running").await.is_empty() {
        assert!(begun.elapsed() < PATIENCE, "batches were never joined");
        api.tick(Duration::from_secs(400)).await;
    }
    let id = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
    let batches: HashSet<_> = api.items("batches").await.iter().map(|row| id(row, "batch_id")).collect();
    let joins = api.items("state/execution/edges?primitive=join&edge_phase=response").await;
    let joined: HashSet<_> = joins.iter().map(|row| id(row, "correlation_id")).collect();
    assert_eq!((joins.len(), &joined), (batches.len(), &batches));
    batches.len()
}

/// Somebody who follows the event log across every crash.
#[derive(Default)]
struct Reader {
    seen: Vec<String>,
    tasks: HashMap<String, u32>,
    /// Turns that a worker answered, rather than the watchdog.
    answered: usize,
}

impl Reader {
    async fn read_on(&mut self, api: &Api) {
        for event in api.events(self.seen.len() as u64).await {
            assert_eq!(event["position"], self.seen.len() as u64 + 1, "the log has a gap");
            self.seen.push(event["event_id"].as_str().unwrap().to_owned());
            if event["kind"] == "agent.task" {
                *self.tasks.entry(event["agent_turn_id"].as_str().unwrap().to_owned()).or_default() += 1;
                self.answered += usize::from(event["data"]["status"] == "success");
            }
        }
    }

    /// NF-08: what was read bit by bit is what a late reader reads.
    async fn compare_with_a_fresh_one(&self, api: &Api) {
        let mut fresh = Self::default();
        fresh.read_on(api).await;
        assert!(fresh.seen.len() >= self.seen.len());
        assert_eq!(fresh.seen[..self.seen.len()], self.seen[..], "the log was changed after it was read");
    }
}

/// The processes.
struct Rig {
    homes: Vec<Arc<Home>>,
    servers: Vec<Option<Server>>,
    ports: Vec<u16>,
    workers: Vec<Option<Child>>,
    nats: Nats,
    api: Api,
    turn: usize,
    backend: Backend,
}

impl Rig {
    fn start(backend: Backend, count: usize) -> Self {
        let first = Home::new(backend);
        let mut homes = vec![Arc::clone(&first)];
        homes.extend((1..count).map(|_| first.sibling()));
        let nats = Nats::start();
        let bus = nats.url();
        let servers: Vec<_> = homes.iter().map(|home| home.up(&["--bus", &bus])).collect();
        let ports =
            servers.iter().map(|server| server.address().rsplit_once(':').unwrap().1.parse().unwrap());
        let ports: Vec<u16> = ports.collect();
        let api = Api {
            client: Client::builder().timeout(Duration::from_secs(5)).build().unwrap(),
            places: servers.iter().map(|server| (server.url.clone(), server.token.clone())).collect(),
            project: Arc::default(),
        };
        Self {
            homes,
            servers: servers.into_iter().map(Some).collect(),
            ports,
            workers: (0..WORKERS).map(|_| None).collect(),
            nats,
            api,
            turn: 0,
            backend,
        }
    }

    /// A project, agents, and something to say to them.
    async fn set_up(&mut self) {
        let api = &mut self.api;
        api.post("/projects", json!({ "project_id": "crash" })).await.unwrap();
        let profile = json!({ "worker_target": "python", "system_prompt": "echo" });
        let profile = api.send("PUT", "/projects/crash/profiles/echo", profile).await.unwrap();
        for agent in 0..AGENTS {
            let body = json!({ "agent_id": format!("a{agent}"), "profile_name": "echo" });
            api.post("/projects/crash/agents", body).await.unwrap();
        }
        let card = json!({ "content": "echo hello", "metadata": { "type": "task.instruction" } });
        let card = api.post("/projects/crash/l0/cards", card).await.unwrap();
        let context = json!({ "card_ids": [card["card_id"]] });
        let context = api.post("/projects/crash/l0/boxes", context).await.unwrap();
        api.project = Arc::new(Project {
            profile_box: profile["profile_box_id"].as_str().unwrap().to_owned(),
            context_box: context["box_id"].as_str().unwrap().to_owned(),
        });
        self.revive();
    }

    fn victims(&self) -> Vec<Victim> {
        let mut victims = vec![Victim::Server, Victim::Worker, Victim::Nats];
        if self.backend == Backend::Victim {
            victims.push(Victim::Postgres);
        }
        victims
    }

    /// Each kind in its turn first, so that none is left out; then at random.
    fn choose(&mut self, random: &mut Rng) -> Victim {
        let victims = self.victims();
        self.turn += 1;
        let place = if self.turn <= victims.len() { self.turn - 1 } else { random.below(victims.len()) };
        victims[place]
    }

    fn kill(&mut self, victim: Victim) {
        match victim {
            Victim::Server => {
                let place = self.turn % self.servers.len();
                if let Some(server) = self.servers[place].take() {
                    server.kill();
                }
            }
            Victim::Worker => {
                let place = self.turn % self.workers.len();
                if let Some(mut worker) = self.workers[place].take() {
                    worker.kill().unwrap();
                    worker.wait().unwrap();
                }
            }
            Victim::Nats => self.nats.kill(),
            Victim::Postgres => crash_postgres(self.homes[0].postgres().unwrap()),
        }
    }

    /// Starts again whatever does not live.
    fn revive(&mut self) {
        self.nats.revive();
        let bus = self.nats.url();
        for (place, server) in self.servers.iter_mut().enumerate() {
            if server.is_none() {
                let listen = format!("127.0.0.1:{}", self.ports[place]);
                *server = Some(self.homes[place].up(&["--listen", &listen, "--bus", &bus]));
            }
        }
        for (place, worker) in self.workers.iter_mut().enumerate() {
            if worker.is_none() {
                let (url, token) = &self.api.places[place % self.api.places.len()];
                *worker = Some(python_worker(url, token));
            }
        }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        for worker in self.workers.iter_mut().flatten() {
            let _ = worker.kill();
            let _ = worker.wait();
        }
    }
}

fn python_worker(url: &str, token: &str) -> Child {
    let script = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/worker.py"));
    let mut command = Command::new("python3");
    command
        .arg(script)
        .env("CARDWIRE_URL", url)
        .env("CARDWIRE_TOKEN", token)
        .env("CARDWIRE_TARGET", "python");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Kills one of the server's own processes: the whole server then recovers from its log, as after a power cut.
fn crash_postgres(url: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let walwriter: i32 = runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
        let ask = client.query_one("SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'", &[]);
        tokio::select! {
            ended = connection => panic!("the server closed the connection: {ended:?}"),
            row = ask => row.unwrap().get(0),
        }
    });
    send_signal(u32::try_from(walwriter).unwrap(), "KILL");
    let begun = Instant::now();
    loop {
        let back = runtime.block_on(async {
            match tokio_postgres::connect(url, tokio_postgres::NoTls).await {
                Ok((client, connection)) => tokio::select! {
                    _ = connection => false,
                    row = client.query_one("SELECT pg_is_in_recovery()", &[]) => row.is_ok(),
                },
                Err(_) => false,
            }
        });
        if back {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "the database did not come back");
        std::thread::yield_now();
    }
}

/// A NATS server of our own.
struct Nats {
    child: Option<Child>,
    port: u16,
    dir: TempDir,
}

impl Nats {
    fn start() -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut nats = Self { child: None, port, dir: TempDir::new().unwrap() };
        nats.revive();
        nats
    }

    fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    fn revive(&mut self) {
        if self.child.is_none() {
            let program = std::env::var("CARDWIRE_TEST_NATS_SERVER").expect("run `cargo xtask test`");
            let mut command = Command::new(program);
            command.args(["-a", "127.0.0.1", "-p"]).arg(self.port.to_string());
            command.arg("-js").arg("-sd").arg(self.dir.path());
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            self.child = Some(command.spawn().unwrap());
        }
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.kill();
    }
}

#[derive(Default)]
struct Project {
    profile_box: String,
    context_box: String,
}

#[derive(Clone)]
struct Api {
    client: Client,
    places: Vec<(String, String)>,
    project: Arc<Project>,
}

impl Api {
    /// Sends to any server that answers; `None` when none did, or none could.
    async fn send(&self, method: &str, path: &str, body: Value) -> Option<Value> {
        for (url, token) in &self.places {
            let method = method.parse().unwrap();
            let request =
                self.client.request(method, format!("{url}{path}")).bearer_auth(token).body(body.to_string());
            let Ok(response) = request.send().await else { continue };
            let status = response.status();
            let Ok(text) = response.text().await else { continue };
            if matches!(status, StatusCode::OK | StatusCode::CREATED) {
                return serde_json::from_str(&text).ok();
            }
            // Only the store may be away; everything else is an answer.
            assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{path}: {text}");
        }
        None
    }

    async fn post(&self, path: &str, body: Value) -> Option<Value> {
        self.send("POST", path, body).await
    }

    /// Dispatches a turn and goes on asking until somebody says yes: under one id, so that it is one turn.
    async fn dispatch(&self, agent: usize, answered: &AtomicU64) -> String {
        let turn = format!("turn_{:032x}", u128::from(cardwire_testkit::rng::fresh_seed()) << 32 | 7);
        let body = json!({
            "agent_id": format!("a{agent}"), "agent_turn_id": turn,
            "profile_box_id": self.project.profile_box, "context_box_id": self.project.context_box,
        });
        let begun = Instant::now();
        loop {
            if let Some(answer) = self.post("/projects/crash/l0/turns", body.clone()).await {
                assert_eq!(answer["status"], "accepted", "{answer}");
                answered.fetch_add(1, Ordering::SeqCst);
                return turn;
            }
            assert!(begun.elapsed() < PATIENCE, "nobody takes the turn");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Forks two children in an agent's name, until somebody says yes. An answer that is lost makes it two forks.
    async fn fork(&self, agent: usize) {
        let task = json!({ "target_strategy": "new", "target_ref": "echo", "instruction": "echo child" });
        let body = json!({ "caller_agent_id": format!("a{agent}"), "args": { "tasks": [task, task] } });
        let begun = Instant::now();
        while self.post("/projects/crash/pmo/fork_join:call", body.clone()).await.is_none() {
            assert!(begun.elapsed() < PATIENCE, "nobody takes the fork");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The items of a list, all pages.
    async fn items(&self, list: &str) -> Vec<Value> {
        let (mut items, mut cursor) = (vec![], String::new());
        loop {
            let glue = if list.contains('?') { '&' } else { '?' };
            let path = format!("/projects/crash/{list}{glue}limit=500{cursor}");
            let page = self.send("GET", &path, json!({})).await.expect("a server that answers");
            items.extend(page["items"].as_array().unwrap().iter().cloned());
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return items,
            }
        }
    }

    async fn tick(&self, ahead: Duration) {
        let now = jiff::Timestamp::now() + ahead;
        let _ = self.post("/admin/watchdog:tick", json!({ "now": now.to_string() })).await;
    }

    async fn verify(&self) {
        let report = self.post("/admin/verify", json!({})).await.unwrap();
        assert_eq!(report["ok"], true, "{report}");
    }

    /// The log after a position, up to its end.
    async fn events(&self, after: u64) -> Vec<Value> {
        let begun = Instant::now();
        loop {
            for (url, token) in &self.places {
                let path = format!("{url}/projects/crash/events?after={after}&follow=false");
                let Ok(response) = self.client.get(path).bearer_auth(token).send().await else { continue };
                if response.status() != StatusCode::OK {
                    continue;
                }
                let Ok(text) = response.text().await else { continue };
                let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
                return data.map(|line| serde_json::from_str(line.trim()).unwrap()).collect();
            }
            assert!(begun.elapsed() < PATIENCE, "nobody shows the log");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
