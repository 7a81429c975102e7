//! The bus against a real NATS server. `cargo xtask test` starts one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]

mod lossy;

use async_nats::{RequestErrorKind, jetstream};
use cardwire_bus::{Bus, STREAM, ToolCall, ToolUnreached};
use cardwire_kernel::{
    Caller, ClaimRequest, Done, Kernel, KernelConfig, NewProfile, Recover,
    protocol::{
        Actor,
        facts::create_box::Created,
        project::create::CreateProject,
        roster::add_agent::AddAgent,
        turn::{
            Fence, Proof,
            dispatch::{Dispatch, Dispatched, Receipt},
        },
    },
    store::EventFilter,
};
use cardwire_model::{CanonicalJson, CardDraft, Channel, ProjectId, ProjectSettings, TurnId, limits};
use cardwire_testkit::ReferenceStore;
use futures_util::StreamExt;
use std::{sync::Arc, time::Duration};

const TRACE: &str = "0123456789abcdef0123456789abcdef";
/// Long enough for any machine; nothing waits so long unless something is broken.
const PATIENCE: Duration = Duration::from_secs(20);

fn nats() -> String {
    std::env::var("CARDWIRE_TEST_NATS").expect("CARDWIRE_TEST_NATS; run `cargo xtask test`")
}

/// Waits until the server has taken what this client sent so far, its subscriptions among it. A flush only waits for
/// the socket: what another client sends right after it may still come first.
async fn taken(client: &async_nats::Client) {
    let answer = client.request("nobody.listens.here", "".into()).await;
    assert_eq!(answer.unwrap_err().kind(), RequestErrorKind::NoResponders);
}

fn caller() -> Caller {
    Caller { actor: Actor::system("test") }
}

fn json(text: &str) -> CanonicalJson {
    CanonicalJson::parse(text, "json").unwrap()
}

/// A kernel on a store, with a bus.
async fn kernel(store: &Arc<ReferenceStore>, url: &str) -> (Arc<Kernel>, Arc<Bus>) {
    let bus = Bus::open(url).await.unwrap();
    let config =
        KernelConfig { doorbell: Arc::clone(&bus) as _, ..KernelConfig::new(Arc::clone(store) as _) };
    let kernel = Kernel::start(config);
    bus.serve(&kernel);
    (kernel, bus)
}

/// A project of its own with one agent; its name is nobody else's, because all tests share the server.
async fn set_up(kernel: &Kernel) -> (ProjectId, Dispatch) {
    let project: ProjectId = format!("bus-{}", kernel.ids().uuid().simple()).parse().unwrap();
    let command = CreateProject { id: project.clone(), title: None, settings: ProjectSettings::default() };
    kernel.create_project(&caller(), &command, None).await.unwrap();
    let draft = CardDraft {
        content: json(r#"{"system_prompt":"x"}"#),
        metadata: json(r#"{"type":"sys.profile"}"#),
        tool_calls: None,
        tool_call_id: None,
        ttl_seconds: None,
    };
    let profile = NewProfile {
        name: "p".parse().unwrap(),
        worker_target: project.as_str().parse().unwrap(),
        tags: vec![],
        draft,
    };
    let put = kernel.put_profile(&project, &caller(), profile).await.unwrap();
    let agent = AddAgent {
        id: "a".parse().unwrap(),
        profile_name: "p".parse().unwrap(),
        display_name: None,
        tags: None,
        metadata: json("{}"),
        refresh: false,
        trace_id: None,
    };
    kernel.add_agent(&project, &caller(), &agent, None).await.unwrap();
    let created = kernel.create_box(&project, &caller(), None, &[], None).await.unwrap();
    let Done::Fresh(Created::New(context)) = created else { panic!("no box") };
    let dispatch = Dispatch {
        agent_id: Some("a".parse().unwrap()),
        profile_box: Some(put.profile.profile_box),
        context_box: Some(context.box_id),
        output_box: None,
        turn_id: None,
        correlation_id: None,
        channel: Channel::public(),
        trace_id: TRACE.to_owned(),
        parent_turn: None,
        parent_call: None,
        parent_step: None,
        branch: None,
        source_agent: None,
        display_name: None,
        runtime_config: json("{}"),
        queue_if_busy: true,
        emit_state_event: true,
        max_depth: limits::RECURSION_DEPTH,
    };
    (project, dispatch)
}

async fn send(kernel: &Kernel, project: &ProjectId, dispatch: &Dispatch) -> Receipt {
    match kernel.dispatch(project, &caller(), dispatch, None).await.unwrap() {
        Done::Fresh(Dispatched::Accepted(receipt)) => *receipt,
        other => panic!("{other:?}"),
    }
}

fn claim(project: &ProjectId) -> ClaimRequest {
    ClaimRequest {
        worker_target: project.as_str().parse().unwrap(),
        worker_id: "w".to_owned(),
        max_turns: 1,
        wait: PATIENCE,
        projects: None,
        start: true,
        recover: Recover::Nothing,
        holding: vec![],
    }
}

/// DP-11: the subject names project, channel and workers; the message holds ids, and the trace in its header.
#[tokio::test]
async fn a_doorbell_is_ids_and_a_trace() {
    let store = Arc::new(ReferenceStore::new());
    let (kernel, bus) = kernel(&store, &nats()).await;
    let (project, dispatch) = set_up(&kernel).await;
    // Before it, a ring may be lost.
    assert!(bus.connected(PATIENCE).await);
    let client = async_nats::connect(nats()).await.unwrap();
    let mut bells = client.subscribe(format!("cg.v1.{project}.*.cmd.agent.*.wakeup")).await.unwrap();
    taken(&client).await;
    let receipt = send(&kernel, &project, &dispatch).await;
    let message = tokio::time::timeout(PATIENCE, bells.next()).await.unwrap().unwrap();
    assert_eq!(message.subject.as_str(), format!("cg.v1.{project}.public.cmd.agent.{project}.wakeup"));
    let body: serde_json::Value = serde_json::from_slice(&message.payload).unwrap();
    assert_eq!(body, serde_json::json!({ "inbox_id": receipt.inbox_id.to_string(), "reason": "enqueued" }));
    let trace = message.headers.unwrap().get("traceparent").unwrap().to_string();
    assert_eq!(trace, of_turn(receipt.turn_id));
    kernel.shutdown().await;
}

/// The trace, and the span of the turn: the last digits of its id.
fn of_turn(turn: TurnId) -> String {
    let id = turn.uuid().simple().to_string();
    format!("00-{TRACE}-{}-01", &id[16..])
}

/// A worker that waits at one process hears of work that came in at another.
#[tokio::test]
async fn a_ring_in_one_process_wakes_a_worker_at_another() {
    let store = Arc::new(ReferenceStore::new());
    let (here, _bus) = kernel(&store, &nats()).await;
    let (there, _other) = kernel(&store, &nats()).await;
    let (project, dispatch) = set_up(&here).await;
    let request = claim(&project);
    let by = caller();
    let waiting = there.claim(&by, &request);
    let sending = async {
        tokio::task::yield_now().await;
        send(&here, &project, &dispatch).await
    };
    let (leases, receipt) = tokio::join!(waiting, sending);
    assert_eq!(leases.unwrap()[0].turn_id, receipt.turn_id);
    here.shutdown().await;
    there.shutdown().await;
}

/// NF-07: no bus, or one that says what is not so, changes nothing.
#[tokio::test]
async fn everything_works_with_the_bus_down_and_with_one_that_lies() {
    let store = Arc::new(ReferenceStore::new());
    // Nobody listens on this port.
    let (kernel, _bus) = kernel(&store, "nats://127.0.0.1:9").await;
    let (project, dispatch) = set_up(&kernel).await;
    let receipt = send(&kernel, &project, &dispatch).await;
    let leases = kernel.claim(&caller(), &claim(&project)).await.unwrap();
    assert_eq!(leases[0].turn_id, receipt.turn_id);
    kernel.shutdown().await;

    let store = Arc::new(ReferenceStore::new());
    let (kernel, _bus) = self::kernel(&store, &nats()).await;
    let (project, dispatch) = set_up(&kernel).await;
    let client = async_nats::connect(nats()).await.unwrap();
    for (subject, body) in [
        (format!("cg.v1.{project}.public.cmd.agent.{project}.wakeup"), "no JSON at all"),
        (format!("cg.v1.{project}.public.cmd.agent.{project}.wakeup"), r#"{"inbox_id":"inbox_0"}"#),
        ("cg.v1.nobody.public.cmd.agent.nobody.wakeup".to_owned(), ""),
    ] {
        client.publish(subject, body.into()).await.unwrap();
    }
    taken(&client).await;
    let nothing = ClaimRequest { wait: Duration::ZERO, ..claim(&project) };
    assert!(kernel.claim(&caller(), &nothing).await.unwrap().is_empty());
    let receipt = send(&kernel, &project, &dispatch).await;
    let leases = kernel.claim(&caller(), &claim(&project)).await.unwrap();
    assert_eq!((leases.len(), leases[0].turn_id), (1, receipt.turn_id));
    kernel.shutdown().await;
}

/// Every event of the log is in the stream, once, in order, under its id; also after a relay that starts again.
#[tokio::test]
async fn the_log_is_relayed_once_and_in_order() {
    let store = Arc::new(ReferenceStore::new());
    let (first, _bus) = kernel(&store, &nats()).await;
    let (project, dispatch) = set_up(&first).await;
    send(&first, &project, &dispatch).await;
    relayed(&first, &project).await;
    // A second relay finds in the stream where to begin, and both relay what comes from now on.
    let (second, _other) = kernel(&store, &nats()).await;
    for name in ["b", "c", "d"] {
        let agent = AddAgent {
            id: name.parse().unwrap(),
            profile_name: "p".parse().unwrap(),
            display_name: None,
            tags: None,
            metadata: json("{}"),
            refresh: false,
            trace_id: None,
        };
        second.add_agent(&project, &caller(), &agent, None).await.unwrap();
        let dispatch = Dispatch { agent_id: Some(agent.id), ..dispatch.clone() };
        send(&second, &project, &dispatch).await;
    }
    relayed(&second, &project).await;
    first.shutdown().await;
    second.shutdown().await;
}

async fn relayed(kernel: &Kernel, project: &ProjectId) {
    let logged = kernel.events(project, 0, &EventFilter::default()).await.unwrap();
    assert!(logged.len() >= 5);
    let context = jetstream::new(async_nats::connect(nats()).await.unwrap());
    // The relay makes it when it first runs.
    let made = async {
        loop {
            if let Ok(stream) = context.get_stream(STREAM).await {
                break stream;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let stream = tokio::time::timeout(PATIENCE, made).await.expect("the relay makes its stream");
    let consumer = stream
        .create_consumer(jetstream::consumer::pull::OrderedConfig {
            filter_subject: format!("cg.v1.{project}.>"),
            ..Default::default()
        })
        .await
        .unwrap();
    let mut messages = consumer.messages().await.unwrap();
    let mut traced = 0;
    for event in &logged {
        let message = tokio::time::timeout(PATIENCE, messages.next()).await.unwrap().unwrap().unwrap();
        let body: serde_json::Value = serde_json::from_slice(&message.payload).unwrap();
        assert_eq!(body["position"], event.position);
        assert_eq!(message.subject.as_str(), event.subject(project.as_str()));
        let id = message.headers.as_ref().unwrap().get("Nats-Msg-Id").unwrap().to_string();
        assert_eq!(id, event.event.id.to_string());
        // OB-06
        let trace = message.headers.as_ref().unwrap().get("traceparent").map(ToString::to_string);
        let expected = event.event.turn_id.map(of_turn);
        assert_eq!(trace, expected.filter(|_| event.event.trace_id.is_some()));
        traced += usize::from(trace.is_some());
    }
    assert!(traced > 0, "no event belongs to a trace");
}

/// What is lost on the way is sent again before anything later is.
#[tokio::test]
async fn an_event_that_is_lost_on_the_way_leaves_no_gap() {
    let (store, project, url, lost) = logged_and_lossy().await;
    let (kernel, _bus) = kernel(&store, &url).await;
    tokio::time::timeout(PATIENCE, lost).await.unwrap().unwrap();
    relayed(&kernel, &project).await;
    kernel.shutdown().await;
}

/// Nor does a relay that ends at that moment: the next one finds in the stream where to begin.
#[tokio::test]
async fn a_relay_that_ends_while_an_event_is_on_its_way_leaves_no_gap() {
    let (store, project, url, lost) = logged_and_lossy().await;
    let (first, _bus) = kernel(&store, &url).await;
    tokio::time::timeout(PATIENCE, lost).await.unwrap().unwrap();
    // The store stays open.
    first.tasks().shutdown().await;
    let (second, _other) = kernel(&store, &nats()).await;
    relayed(&second, &project).await;
    second.shutdown().await;
}

/// A log that nobody has relayed yet, and a way to the server on which its second event is lost once.
async fn logged_and_lossy() -> (Arc<ReferenceStore>, ProjectId, String, tokio::sync::oneshot::Receiver<()>) {
    let store = Arc::new(ReferenceStore::new());
    let kernel = Kernel::start(KernelConfig::new(Arc::clone(&store) as _));
    let (project, dispatch) = set_up(&kernel).await;
    send(&kernel, &project, &dispatch).await;
    kernel.tasks().shutdown().await;
    let (url, lost) = lossy::losing(&nats(), format!("cg.v1.{project}."), 2).await;
    (store, project, url, lost)
}

/// A turn that runs: it may send chunks.
async fn running(kernel: &Kernel) -> (ProjectId, Fence) {
    let (project, dispatch) = set_up(kernel).await;
    send(kernel, &project, &dispatch).await;
    let leases = kernel.claim(&caller(), &claim(&project)).await.unwrap();
    let fence = Fence { turn_id: leases[0].turn_id, epoch: leases[0].epoch, proof: Proof::Operator };
    (project, fence)
}

/// Chunks of an answer go to whoever listens.
#[tokio::test]
async fn chunks_are_sent_and_forgotten() {
    let (kernel, _bus) = kernel(&Arc::new(ReferenceStore::new()), &nats()).await;
    let (project, held) = running(&kernel).await;
    let client = async_nats::connect(nats()).await.unwrap();
    let mut heard = client.subscribe(format!("cg.v1.{project}.*.str.>")).await.unwrap();
    taken(&client).await;
    kernel.send_chunk(&project, &held, 7, "你好".to_owned()).await.unwrap();
    let message = tokio::time::timeout(PATIENCE, heard.next()).await.unwrap().unwrap();
    assert_eq!(message.subject.as_str(), format!("cg.v1.{project}.public.str.agent.a.chunk"));
    let body: serde_json::Value = serde_json::from_slice(&message.payload).unwrap();
    let expected = serde_json::json!({
        "agent_turn_id": held.turn_id.to_string(), "turn_epoch": held.epoch.get(), "index": 7, "text": "你好",
    });
    assert_eq!(body, expected);
    let too_large = "x".repeat(limits::CHUNK_BYTES + 1);
    kernel.send_chunk(&project, &held, 8, too_large).await.unwrap_err();
    kernel.shutdown().await;
}

/// NF-07: more chunks than the client keeps for a bus that is away hold nothing up.
#[tokio::test]
async fn a_kernel_ends_while_the_bus_is_away_and_chunks_wait() {
    // Nobody listens on this port.
    let (kernel, _bus) = kernel(&Arc::new(ReferenceStore::new()), "nats://127.0.0.1:9").await;
    let (project, held) = running(&kernel).await;
    for index in 0..3_000 {
        kernel.send_chunk(&project, &held, index, "x".to_owned()).await.unwrap();
        // Whoever sends them takes it now.
        tokio::task::yield_now().await;
    }
    tokio::time::timeout(PATIENCE, kernel.shutdown()).await.expect("it ends");
}

/// A call waits for a connection that is being made, and is refused when none comes: nothing is sent later instead.
#[tokio::test]
async fn a_call_of_a_tool_waits_a_moment_for_the_bus() {
    let project: ProjectId = format!("tool-{}", std::process::id()).parse().unwrap();
    let call = ToolCall {
        project: project.clone(),
        channel: Channel::public(),
        target: "search".parse().unwrap(),
        card_id: "0123456789abcdef0123456789abcdef".parse().unwrap(),
        tool_call_id: "c1".to_owned(),
        agent_id: "a".to_owned(),
        turn_id: "turn_0123456789abcdef0123456789abcdef".to_owned(),
        epoch: 3,
        traceparent: None,
    };
    let client = async_nats::connect(nats()).await.unwrap();
    let mut heard = client.subscribe(format!("cg.v1.{project}.>")).await.unwrap();
    taken(&client).await;
    // A way to the server that nobody has opened yet.
    let door = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let late = Bus::open(&format!("nats://{}", door.local_addr().unwrap())).await.unwrap();
    let server = nats().trim_start_matches("nats://").to_owned();
    let open = async {
        let (mut here, _) = door.accept().await.unwrap();
        let mut there = tokio::net::TcpStream::connect(server).await.unwrap();
        tokio::spawn(async move { tokio::io::copy_bidirectional(&mut here, &mut there).await });
    };
    // The call is made first.
    let (told, ()) = tokio::join!(biased; late.tell_tool(&call), open);
    assert_eq!(told, Ok(()));
    let message = tokio::time::timeout(PATIENCE, heard.next()).await.unwrap().unwrap();
    let body: serde_json::Value = serde_json::from_slice(&message.payload).unwrap();
    assert_eq!(body["tool_call_id"], "c1");

    let nobody = Bus::open("nats://127.0.0.1:9").await.unwrap();
    assert_eq!(nobody.tell_tool(&call).await, Err(ToolUnreached::Away));
}
