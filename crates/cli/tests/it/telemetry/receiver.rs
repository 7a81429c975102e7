//! A collector that takes nothing for granted: what is malformed is refused and remembered.

use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{KeyValue, any_value},
    trace::v1::{Span, span::SpanKind, status::StatusCode},
};
use prost::Message;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

/// How it treats those who send to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// Takes what is right.
    Takes,
    /// Says 500 to everything.
    Refuses,
    /// Never answers.
    Hangs,
}

/// A span as it came.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) trace: String,
    pub(super) id: String,
    /// Empty for a root.
    pub(super) parent: String,
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) is_error: bool,
    pub(super) attributes: BTreeMap<String, Value>,
    /// `service.instance.id` of who sent it.
    pub(super) instance: String,
}

impl Seen {
    /// An attribute that must be there, as text.
    #[track_caller]
    pub(super) fn text(&self, name: &str) -> &str {
        let value = self.attributes.get(name).and_then(Value::as_str);
        value.unwrap_or_else(|| panic!("no `{name}` in {self:#?}"))
    }
}

#[derive(Default)]
struct Book {
    spans: Vec<Seen>,
    ids: HashSet<(String, String)>,
    problems: Vec<String>,
    bytes: Vec<u8>,
    requests: usize,
}

/// The receiver, on a port of its own.
pub(super) struct Receiver {
    pub(super) url: String,
    book: Arc<Mutex<Book>>,
}

impl Receiver {
    pub(super) fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let book: Arc<Mutex<Book>> = Arc::default();
        let writing = Arc::clone(&book);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let book = Arc::clone(&writing);
                std::thread::spawn(move || serve(&stream, manner, &book));
            }
        });
        Self { url, book }
    }

    /// How often somebody sent something.
    pub(super) fn requests(&self) -> usize {
        self.book.lock().unwrap().requests
    }

    /// Everything that was sent, as bytes.
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.book.lock().unwrap().bytes.clone()
    }

    /// All spans, after everybody has sent theirs. `outside` are parents that live elsewhere.
    #[track_caller]
    pub(super) fn spans(&self, outside: &[&str]) -> Forest {
        let book = self.book.lock().unwrap();
        assert_eq!(book.problems, Vec::<String>::new());
        let known = |span: &&Seen| {
            span.parent.is_empty()
                || outside.contains(&span.parent.as_str())
                || book.ids.contains(&(span.trace.clone(), span.parent.clone()))
        };
        let orphans: Vec<_> = book.spans.iter().filter(|span| !known(span)).collect();
        assert!(orphans.is_empty(), "spans below spans that nobody sent: {orphans:#?}");
        Forest(book.spans.clone())
    }
}

/// Spans that belong together.
pub(super) struct Forest(pub(super) Vec<Seen>);

impl Forest {
    /// The spans of one trace.
    pub(super) fn of(&self, trace: &str) -> Vec<&Seen> {
        self.0.iter().filter(|span| span.trace == trace).collect()
    }

    /// From the span above this one to the root.
    pub(super) fn above<'a>(&'a self, span: &Seen) -> Vec<&'a Seen> {
        let by_id: HashMap<_, _> =
            self.of(&span.trace).into_iter().map(|span| (span.id.clone(), span)).collect();
        let mut above = vec![];
        let mut parent = span.parent.clone();
        while let Some(span) = by_id.get(&parent) {
            assert!(above.len() < by_id.len(), "a circle above {span:?}");
            above.push(*span);
            parent.clone_from(&span.parent);
        }
        above
    }
}

fn serve(stream: &TcpStream, manner: Manner, book: &Mutex<Book>) {
    let mut reader = BufReader::new(stream);
    let mut head = vec![];
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
            break;
        }
        head.push(line.trim_end().to_owned());
    }
    let header = |name: &str| {
        let named = |line: &&String| line.to_lowercase().starts_with(&format!("{name}:"));
        head.iter().find(named).and_then(|line| line.split_once(':')).map(|(_, value)| value.trim())
    };
    let length = header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    if head.is_empty() || reader.read_exact(&mut body).is_err() {
        return;
    }
    let mut book = book.lock().unwrap();
    book.requests += 1;
    let status = match manner {
        Manner::Hangs => {
            drop(book);
            // Until the other side has had enough.
            let _ = reader.read(&mut [0]);
            return;
        }
        Manner::Refuses => "500 Internal Server Error",
        Manner::Takes => {
            let before = book.problems.len();
            if head[0] != "POST /v1/traces HTTP/1.1" {
                book.problems.push(format!("a request for {}", head[0]));
            }
            if header("content-type") != Some("application/x-protobuf") {
                book.problems.push(format!("a body of {:?}", header("content-type")));
            }
            book.bytes.extend_from_slice(&body);
            match ExportTraceServiceRequest::decode(&body[..]) {
                Ok(request) => book.take(request),
                Err(error) => book.problems.push(error.to_string()),
            }
            if book.problems.len() == before { "200 OK" } else { "400 Bad Request" }
        }
    };
    let mut stream = stream;
    let _ = write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
}

impl Book {
    fn take(&mut self, request: ExportTraceServiceRequest) {
        if request.resource_spans.is_empty() {
            self.problems.push("a request without anything".to_owned());
        }
        for of_resource in request.resource_spans {
            let resource = of_resource.resource.unwrap_or_default();
            let resource = self.attributes("the resource", &resource.attributes);
            let names: BTreeSet<_> = resource.keys().map(String::as_str).collect();
            if names != BTreeSet::from(["service.instance.id", "service.name", "service.version"])
                || resource["service.name"] != "cardwire"
                || resource["service.version"] != env!("CARGO_PKG_VERSION")
            {
                self.problems.push(format!("a resource like {resource:?}"));
            }
            let instance = resource.get("service.instance.id").and_then(Value::as_str).unwrap_or_default();
            for span in of_resource.scope_spans.into_iter().flat_map(|scope| scope.spans) {
                self.take_span(span, instance);
            }
        }
    }

    fn take_span(&mut self, span: Span, instance: &str) {
        let what = format!("span {:?}", span.name);
        let mut wrong = |is_wrong: bool, why: &str| {
            if is_wrong {
                self.problems.push(format!("{what}: {why}"));
            }
        };
        let is_id = |id: &[u8], len| id.len() == len && id.iter().any(|byte| *byte != 0);
        wrong(span.name.is_empty(), "no name");
        wrong(!is_id(&span.trace_id, 16), "a trace id that is none");
        wrong(!is_id(&span.span_id, 8), "a span id that is none");
        wrong(!span.parent_span_id.is_empty() && !is_id(&span.parent_span_id, 8), "a parent id that is none");
        wrong(span.parent_span_id == span.span_id, "it is its own parent");
        wrong(span.start_time_unix_nano == 0, "no start");
        wrong(span.end_time_unix_nano < span.start_time_unix_nano, "it ends before it starts");
        wrong(span.dropped_attributes_count > 0 || !span.events.is_empty(), "more than was meant");
        for link in &span.links {
            wrong(!is_id(&link.trace_id, 16) || !is_id(&link.span_id, 8), "a link to nothing");
        }
        let hex = |id: &[u8]| id.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let kind = match span.kind() {
            SpanKind::Unspecified => "unspecified",
            SpanKind::Internal => "internal",
            SpanKind::Server => "server",
            SpanKind::Client => "client",
            SpanKind::Producer => "producer",
            SpanKind::Consumer => "consumer",
        };
        wrong(kind == "unspecified", "no kind");
        let status = span.status.as_ref().map_or(StatusCode::Unset, |status| status.code());
        let attributes = self.attributes(&what, &span.attributes);
        let seen = Seen {
            trace: hex(&span.trace_id),
            id: hex(&span.span_id),
            parent: hex(&span.parent_span_id),
            name: span.name,
            kind,
            is_error: status == StatusCode::Error,
            attributes,
            instance: instance.to_owned(),
        };
        if !self.ids.insert((seen.trace.clone(), seen.id.clone())) {
            self.problems.push(format!("{what}: its id was used before"));
        }
        self.spans.push(seen);
    }

    fn attributes(&mut self, what: &str, given: &[KeyValue]) -> BTreeMap<String, Value> {
        let mut attributes = BTreeMap::new();
        for pair in given {
            let value = pair.value.as_ref().and_then(|value| value.value.as_ref()).and_then(plain);
            let Some(value) = value else {
                self.problems.push(format!("{what}: no value for {}", pair.key));
                continue;
            };
            if attributes.insert(pair.key.clone(), value).is_some() {
                self.problems.push(format!("{what}: {} twice", pair.key));
            }
        }
        attributes
    }
}

fn plain(value: &any_value::Value) -> Option<Value> {
    Some(match value {
        any_value::Value::StringValue(text) => json!(text),
        any_value::Value::BoolValue(is) => json!(is),
        any_value::Value::IntValue(number) => json!(number),
        any_value::Value::DoubleValue(number) => json!(number),
        any_value::Value::ArrayValue(array) => {
            array.values.iter().map(|one| one.value.as_ref().and_then(plain)).collect::<Option<Value>>()?
        }
        any_value::Value::KvlistValue(_)
        | any_value::Value::BytesValue(_)
        | any_value::Value::StringValueStrindex(_) => return None,
    })
}
