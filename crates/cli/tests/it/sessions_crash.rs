//! ST-07, CP-07: the server is killed with `kill -9` in the middle of turns that belong to a session. Whenever that
//! happens, what was asked is remembered once, and the summary of what came before is still there.

use crate::support::{Backend, Home, Server, eventually};
use cardwire_testkit::{Rng, scaled};
use serde_json::{Value, json};
use std::{io::Write, net::TcpStream, sync::Arc, time::Duration};

const SUMMARY: &str = "They sail a red boat. 他们有一艘红船。";

#[test]
fn an_input_is_remembered_once_whenever_the_server_is_killed_on_sqlite() {
    torture(Backend::Sqlite, scaled(16) as usize);
}

#[test]
fn an_input_is_remembered_once_whenever_the_server_is_killed_on_postgres() {
    torture(Backend::Postgres, scaled(8) as usize);
}

/// When the server dies. What is said twice in [`MOMENTS`] comes twice as often.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// The turn is running, and has said nothing yet.
    Started,
    /// The turn has composed its call.
    Composed,
    /// The turn has written a card.
    Written,
    /// The end was sent, and nobody knows whether it arrived.
    FinishSent,
    /// The end was answered.
    Finished,
    /// The turn is running, and its worker dies too: the watchdog takes the turn away, and it is asked again.
    Abandoned,
}

const MOMENTS: [Moment; 8] = [
    Moment::FinishSent,
    Moment::Started,
    Moment::FinishSent,
    Moment::Composed,
    Moment::FinishSent,
    Moment::Written,
    Moment::Finished,
    Moment::Abandoned,
];

fn torture(backend: Backend, kills: usize) {
    let seed = cardwire_testkit::test_seed();
    println!("CARDWIRE_TEST_SEED={seed}");
    let mut random = Rng::new(seed);
    let home = Home::new(backend);
    let mut server = home.up(&[]);
    let before = set_up(&server);
    let (mut asked, mut sent, mut arrived): (Vec<String>, usize, usize) = (vec![], 0, 0);
    for round in 0..kills {
        let moment = MOMENTS[round % MOMENTS.len()];
        let question = format!("Question {round}: 红船在哪里?");
        let turn = Turn::start(&server, &question);
        match moment {
            Moment::Started | Moment::Abandoned => {}
            Moment::Composed => turn.compose(&server),
            Moment::Written => turn.write(&server),
            Moment::FinishSent => turn.send_finish(&server, 1 << random.below(15)),
            Moment::Finished => assert_eq!(turn.finish(&server).0, 200),
        }
        server.kill();
        server = home.up(&[]);
        // Before the turn ends nothing of it is remembered, and what was remembered is all there.
        let state = session(&server);
        assert_eq!(state["compression__context"], SUMMARY, "{moment:?}");
        let known = remembered(&state, &question);
        match moment {
            Moment::Started | Moment::Composed | Moment::Written | Moment::Abandoned => assert_eq!(known, 0),
            Moment::FinishSent => {
                assert!(known <= 1, "{moment:?}: {known}");
                (sent, arrived) = (sent + 1, arrived + known);
            }
            Moment::Finished => assert_eq!(known, 1),
        }
        let last = match moment {
            Moment::Abandoned => ask_again(&server, &turn, &question),
            Moment::Started | Moment::Composed | Moment::Written | Moment::FinishSent | Moment::Finished => {
                turn
            }
        };
        last.finish_for_good(&server);
        asked.push(question);
        check(&server, &before, &asked, moment);
    }
    println!("{kills} kills; {arrived} of {sent} ends arrived before theirs");
    // Once more, from nothing but the store.
    server.kill();
    let server = home.up(&[]);
    check(&server, &before, &asked, Moment::Finished);
    let report = server.post("/admin/verify", json!({})).json();
    assert_eq!(report["ok"], true, "{report}");
}

/// A project with an agent, and a session that was compacted. Answers what its messages say.
fn set_up(server: &Server) -> Vec<Value> {
    let home: &Arc<Home> = &server.home;
    home.ok(&["project", "create", "p1"]);
    let config = r#"{"model": "gpt-4o"}"#;
    let put = ["profile", "put", "Helper", "-p", "p1", "--worker-target", "w1", "--system-prompt", "Help."];
    home.ok(&[&put[..], &["--llm-config", config]].concat());
    home.ok(&["agent", "add", "a1", "-p", "p1", "--profile", "Helper"]);
    let message = |n: usize| {
        let role = if n.is_multiple_of(2) { "human" } else { "ai" };
        json!({ "role": role, "content": format!("said {n}") })
    };
    let messages: Vec<_> = (0..10).map(message).collect();
    let patch = json!({ "messages": { "append": messages } }).to_string();
    home.cardwire_with(&["session", "patch", "-p", "p1", "talk", "--from", "-"], &patch).ok();
    home.ok(&["session", "compact", "-p", "p1", "talk", "--summary", SUMMARY, "--keep", "2"]);
    let state = session(server);
    assert_eq!(state["compression__context"], SUMMARY);
    contents(&state)
}

fn session(server: &Server) -> Value {
    let reply = server.get("/projects/p1/sessions/talk");
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.json()
}

fn contents(state: &Value) -> Vec<Value> {
    state["messages"].as_array().unwrap().iter().map(|message| message["content"].clone()).collect()
}

/// How many people have said this, as far as the session knows.
fn remembered(state: &Value, question: &str) -> usize {
    let said = |message: &&Value| message["role"] == "human" && message["content"] == question;
    state["messages"].as_array().unwrap().iter().filter(said).count()
}

/// Every question once, each before its answer, after what was there before.
fn check(server: &Server, before: &[Value], asked: &[String], moment: Moment) {
    let state = session(server);
    assert_eq!(state["compression__context"], SUMMARY, "{moment:?}");
    let pairs = asked.iter().flat_map(|question| [json!(question), json!(format!("answer to {question}"))]);
    let expected: Vec<_> = before.iter().cloned().chain(pairs).collect();
    assert_eq!(contents(&state), expected, "{moment:?}");
    for question in asked {
        assert_eq!(remembered(&state, question), 1, "{moment:?}");
    }
}

/// A turn with its lease, which outlives the server that gave it.
struct Turn {
    id: String,
    epoch: Value,
    token: String,
    question: String,
}

impl Turn {
    /// Dispatches a turn of the session and starts it.
    fn start(server: &Server, question: &str) -> Self {
        let dispatch =
            ["turn", "dispatch", "-p", "p1", "--agent", "a1", "--session", "talk", "--text", question];
        let id = server.home.ok(&dispatch);
        let lease = eventually("a lease", || {
            let body = json!({ "worker_target": "w1", "worker_id": "test", "wait_ms": 1000, "start": true });
            server.post("/l0/claim", body).json()["leases"].get(0).cloned()
        });
        assert_eq!(lease["agent_turn_id"], json!(id));
        assert_eq!(lease["runtime_config"]["session_id"], "talk");
        let token = lease["turn_token"].as_str().unwrap().to_owned();
        Self { id, epoch: lease["turn_epoch"].clone(), token, question: question.to_owned() }
    }

    fn path(&self, verb: &str) -> String {
        format!("/projects/p1/l0/turns/{}{verb}", self.id)
    }

    fn say(&self, server: &Server, verb: &str, mut body: Value) -> (u16, Value) {
        body["turn_epoch"] = self.epoch.clone();
        let reply = server.request_as(&self.token, "POST", &self.path(verb), &body.to_string());
        (reply.status, reply.json())
    }

    fn compose(&self, server: &Server) {
        let (status, call) = self.say(server, "/calls", json!({}));
        assert_eq!(status, 201, "{call}");
        let request = call["request"].as_str().unwrap();
        assert_eq!(request.matches(&self.question).count(), 1, "the input is sent once: {request}");
        assert!(request.contains(SUMMARY), "{request}");
    }

    fn write(&self, server: &Server) {
        let body = json!({ "content": "Let me see.", "metadata": { "type": "agent.thought" } });
        let (status, answer) = self.say(server, "/cards", body);
        assert_eq!(status, 200, "{answer}");
    }

    fn ending(&self) -> Value {
        json!({ "status": "success", "deliverable": format!("answer to {}", self.question) })
    }

    fn finish(&self, server: &Server) -> (u16, Value) {
        self.say(server, ":finish", self.ending())
    }

    /// Sends the end and reads no answer. The server has this long, in microseconds, to do something about it.
    fn send_finish(&self, server: &Server, micros: usize) {
        let mut body = self.ending();
        body["turn_epoch"] = self.epoch.clone();
        let body = body.to_string();
        let mut stream = TcpStream::connect(server.address()).unwrap();
        let head = format!(
            "POST {} HTTP/1.0\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n\r\n",
            self.path(":finish"),
            server.address(),
            self.token,
            body.len()
        );
        stream.write_all(&[head.as_bytes(), body.as_bytes()].concat()).unwrap();
        // An answer that comes earlier ends the wait; the kill follows either way.
        stream.set_read_timeout(Some(Duration::from_micros(micros as u64 + 1))).unwrap();
        let _ = stream.peek(&mut [0]);
    }

    /// Ends the turn, as often as it takes: a turn that has ended says so.
    fn finish_for_good(&self, server: &Server) {
        for _ in 0..2 {
            let (status, answer) = self.finish(server);
            assert!(matches!(status, 200 | 401 | 409), "{status} {answer}");
        }
        let turn = server.get(&format!("/projects/p1/turns/{}", self.id)).json();
        assert_eq!(turn["status"], "success", "{turn}");
    }
}

/// The watchdog takes the turn away; whoever asked asks again.
fn ask_again(server: &Server, turn: &Turn, question: &str) -> Turn {
    let later = jiff::Timestamp::now() + Duration::from_secs(400);
    let tick = server.post("/admin/watchdog:tick", json!({ "now": later.to_string() }));
    assert_eq!(tick.status, 200, "{tick:?}");
    let ended = server.get(&format!("/projects/p1/turns/{}", turn.id)).json();
    assert_eq!(ended["error"], "timeout_reaped_by_watchdog", "{ended}");
    let (status, late) = turn.finish(server);
    assert!(matches!(status, 401 | 409), "{status} {late}");
    assert_eq!(remembered(&session(server), question), 0, "a turn that did not end well is not remembered");
    Turn::start(server, question)
}
