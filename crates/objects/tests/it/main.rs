//! Object stores behind the same trait as directories: one contract for all, on a directory, in memory and over S3.

// A failed expectation is what a test is for, also in the functions that tests share.
#![allow(clippy::unwrap_used)]

use async_trait::async_trait;
use cardwire_handoff::{
    Below, CheckOptions, FileError, Files, LoadRequest, LocalFiles, Mode, Package, SafePath, Types, Written,
    check_files, load,
};
use cardwire_objects::{ObjectFiles, S3};
use futures_util::stream::BoxStream;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, memory::InMemory, path::Path,
};
use serde_json::json;
use std::{
    fmt,
    io::{Read, Write},
    net::TcpStream,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::runtime::Runtime;

const DIR: &str = "scenarios/leave_application/execution_outputs/iteration_12";
/// The report of the document that describes packages.
const REPORT: &str = include_str!("../../../handoff/tests/fixtures/layer1_problems_report.json");
const PACKAGE: &str = include_str!("../../../handoff/tests/fixtures/execute_to_init.json");

fn runtime() -> Runtime {
    // Whoever runs us may have done it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

fn path(text: &str) -> SafePath {
    SafePath::parse(text).unwrap()
}

fn list(files: &dyn Files, dir: &str) -> Option<Vec<String>> {
    let mut names = vec![];
    let listed = files.list(&path(dir), &mut |name| {
        names.push(name.to_owned());
        Ok(())
    });
    match listed {
        Ok(()) => {
            names.sort();
            Some(names)
        }
        Err(FileError::Missing) => None,
        Err(error) => panic!("{error}"),
    }
}

/// A bucket of the test server that nobody else has.
fn bucket(name: &str, runtime: &Runtime) -> ObjectFiles {
    let url = std::env::var("CARDWIRE_TEST_S3").expect("CARDWIRE_TEST_S3: run `cargo xtask services`");
    let bucket = format!("{name}-{}", std::process::id());
    let address = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "PUT /{bucket} HTTP/1.1\r\nhost: {address}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let keys = Some("test".to_owned());
    let bucket = S3 {
        bucket,
        endpoint: Some(url),
        access_key_id: keys.clone(),
        secret_access_key: keys,
        ..S3::default()
    };
    ObjectFiles::s3(bucket, runtime.handle().clone()).unwrap()
}

/// What every kind of files does.
fn contract(files: &dyn Files) {
    let (a, b) = (path("d/a.json"), path("d/e/样本 b.json"));
    assert!(matches!(files.stat(&a), Err(FileError::Missing)));
    assert!(matches!(files.read(&a, 10), Err(FileError::Missing)));
    assert_eq!(list(files, "d"), None);
    // HO-11: what is there stays as it is.
    assert_eq!(files.create(&a, b"12345").unwrap(), Written::New);
    assert_eq!(files.create(&a, b"12345").unwrap(), Written::Same);
    assert!(matches!(files.create(&a, b"12346"), Err(FileError::Exists)));
    assert!(matches!(files.create(&a, b"1234"), Err(FileError::Exists)));
    assert_eq!(files.create(&b, b"").unwrap(), Written::New);
    assert_eq!((files.stat(&a).unwrap().bytes, files.stat(&b).unwrap().bytes), (5, 0));
    assert_eq!(files.read(&a, 5).unwrap(), b"12345");
    assert!(matches!(files.read(&a, 4), Err(FileError::TooLarge { limit: 4 })));
    assert_eq!(files.read(&b, 0).unwrap(), b"");
    // A directory is no file, and a name that only begins like another is another.
    assert!(files.stat(&path("d")).is_err() && files.stat(&path("d/a")).is_err());
    let listed: Vec<String> = list(files, "d").unwrap().into_iter().filter(|name| name != "e").collect();
    assert_eq!(listed, ["a.json"]);
    assert_eq!(list(files, "d/e").unwrap(), ["样本 b.json"]);
    assert_eq!(list(files, "d/e/x"), None);
    files.replace(&a, b"another").unwrap();
    files.replace(&path("new"), b"new").unwrap();
    assert_eq!(files.read(&a, 10).unwrap(), b"another");
    assert_eq!(files.read(&path("new"), 10).unwrap(), b"new");
    // An error of whoever is told the names ends the list.
    let stopped = files.list(&path("d"), &mut |_| Err(FileError::Exists));
    assert!(matches!(stopped, Err(FileError::Exists)));
}

#[test]
fn directories_memory_and_s3_keep_one_contract() {
    let runtime = runtime();
    let memory = || ObjectFiles::new(Arc::new(InMemory::new()), runtime.handle().clone());
    let dir = || tempfile::tempdir().unwrap();
    let local = |dir: &tempfile::TempDir| LocalFiles::open(dir.path()).unwrap();
    let (one, other) = (dir(), dir());
    let s3 = bucket("contract", &runtime);
    contract(&local(&one));
    contract(&memory());
    contract(&s3);
    // The same for one piece of work, and below a directory.
    contract(&*local(&other).kept());
    contract(&*memory().kept());
    contract(&Below::new(&memory(), path("x/y")));
    contract(&*Below::new(&s3, path("x/y")).kept());
    assert_eq!(list(&s3, "x/y").unwrap(), ["new"]);
}

fn options(deep: bool) -> CheckOptions<'static> {
    CheckOptions { gate: None, deep, progress: &|_| {} }
}

/// The document's package.
fn package() -> Package {
    let value = serde_json::from_str(PACKAGE).unwrap();
    Package::parse(value, None, &Types::built_in()).unwrap().0
}

fn case_files(id: &str) -> [String; 4] {
    [
        format!("samples/{id}.json"),
        format!("execution_traces/{id}_trace.json"),
        format!("evaluation_results/{id}_eval.json"),
        format!("attribution_analysis/{id}_attribution.json"),
    ]
}

/// An iteration in an object store.
fn iteration(files: &dyn Files, ids: &[&str]) {
    let put = |below: &str, text: &str| {
        files.create(&path(&format!("{DIR}/{below}")), text.as_bytes()).unwrap();
    };
    for id in ids {
        for file in case_files(id) {
            put(&file, &json!({ "sample_id": id }).to_string());
        }
    }
    put("failure_summary.json", "{\"failed\":2}");
    put("layer1_problems_report.json", REPORT);
}

/// HO-08, LD-01: gate and loader work with whatever gives files.
#[test]
fn an_iteration_in_a_bucket_is_checked_and_loaded() {
    let runtime = runtime();
    let files = bucket("iteration", &runtime);
    iteration(&files, &["BS_MT_001", "BS_MT_003", "BS_MT_010"]);
    let package = package();
    for deep in [false, true] {
        check_files(&package, &files, &options(deep)).unwrap();
    }
    let request = LoadRequest { mode: Mode::Full, ..LoadRequest::default() };
    let loaded = load(&package, &files, &request).unwrap();
    assert_eq!(loaded.loaded.len(), 9);

    let dir = tempfile::tempdir().unwrap();
    let one = LocalFiles::open(dir.path()).unwrap();
    iteration(&one, &["BS_MT_001", "BS_MT_003", "BS_MT_010"]);
    assert_eq!(load(&package, &one, &request).unwrap(), loaded);

    // What is missing is named.
    let other = bucket("incomplete", &runtime);
    iteration(&other, &["BS_MT_001", "BS_MT_010"]);
    let refusal = check_files(&package, &other, &options(false)).unwrap_err();
    let mut named: Vec<&str> =
        refusal.problems.iter().filter_map(|problem| problem.file.as_deref()).collect();
    named.sort_unstable();
    let mut missing = case_files("BS_MT_003");
    missing.sort_unstable();
    assert_eq!(named, missing);
}

/// An S3 server that is not there is an error, not a missing file: nobody may take it for an empty directory.
#[test]
fn a_store_that_does_not_answer_is_no_missing_file() {
    let runtime = runtime();
    let nowhere = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", nowhere.local_addr().unwrap());
    drop(nowhere);
    let keys = Some("test".to_owned());
    let gone = S3 {
        bucket: "gone".to_owned(),
        endpoint: Some(endpoint),
        access_key_id: keys.clone(),
        secret_access_key: keys,
        ..S3::default()
    };
    let files = ObjectFiles::s3(gone, runtime.handle().clone()).unwrap();
    assert!(matches!(files.stat(&path("a")), Err(FileError::Io(_))));
    assert!(matches!(files.list(&path("a"), &mut |_| Ok(())), Err(FileError::Io(_))));
    // It is asked once for one piece of work, and what it says names no place.
    let kept = files.kept();
    for _ in 0..1_000 {
        let error = kept.stat(&path("d/a")).unwrap_err();
        assert_eq!(error.to_string(), "cannot be read or written: the object store failed");
    }
    let refusal = check_files(&package(), &files, &options(false)).unwrap_err();
    assert!(refusal.problems.iter().all(|problem| problem.code == "file_unreadable"), "{refusal:?}");
}

/// A look at every file of a directory costs a request for a thousand of them, and answers like a look at each.
#[test]
fn many_looks_into_a_directory_are_few_requests() {
    let runtime = runtime();
    let store = Arc::new(Counted { inner: InMemory::new(), requests: AtomicUsize::new(0) });
    let files = ObjectFiles::new(Arc::clone(&store) as _, runtime.handle().clone());
    let name = |n: usize| path(&format!("d/{n:05}.json"));
    // Every third is missing.
    let there: Vec<usize> = (0..3_600).filter(|n| n % 3 != 1).collect();
    for &n in &there {
        files.replace(&name(n), &vec![b'x'; n % 7]).unwrap();
    }
    files.replace(&path("d/00010.json/below"), b"x").unwrap();
    files.replace(&path("d2/00001.json"), b"x").unwrap();
    let seen = |files: &dyn Files, order: &[usize]| -> Vec<Option<u64>> {
        let look = |n: &usize| match files.stat(&name(*n)) {
            Ok(stat) => Some(stat.bytes),
            Err(FileError::Missing) => None,
            Err(error) => panic!("{error}"),
        };
        order.iter().map(look).collect()
    };
    let forward: Vec<usize> = (0..3_700).collect();
    let expected = seen(&files, &forward);
    assert_eq!(expected.iter().flatten().count(), there.len());
    store.requests.store(0, Ordering::Relaxed);
    assert_eq!(seen(&*files.kept(), &forward), expected);
    let requests = store.requests.load(Ordering::Relaxed);
    assert!(requests <= 10, "{requests} requests");
    // In any other order the answers are the same.
    let backward: Vec<usize> = forward.iter().rev().step_by(97).copied().collect();
    let expected: Vec<Option<u64>> = backward.iter().map(|n| expected[*n]).collect();
    assert_eq!(seen(&*files.kept(), &backward), expected);
}

/// Whatever names files have, and in whatever order they are looked at.
#[test]
fn looks_at_odd_names_in_any_order_are_answered_right() {
    let runtime = runtime();
    let store = Arc::new(Counted { inner: InMemory::new(), requests: AtomicUsize::new(0) });
    let files = ObjectFiles::new(Arc::clone(&store) as _, runtime.handle().clone());
    let mut names = vec![];
    for odd in ["case#", "a%1", "样本 ", "q\"", "x~", "y[", "z{"] {
        names.extend((0..40).map(|n| format!("{odd}{n:02}.json")));
    }
    let at = |name: &String| path(&format!("d/{name}"));
    for name in &names {
        files.replace(&at(name), name.as_bytes()).unwrap();
    }
    store.requests.store(0, Ordering::Relaxed);
    let mut sorted = names.clone();
    sorted.sort();
    let mut shuffled = names.clone();
    shuffled.sort_by_key(|name| (name.len() * 7919 + usize::from(name.as_bytes()[name.len() - 6]) * 31) % 97);
    for (order, most) in [(sorted, 4), (shuffled, 10 + names.len())] {
        let kept = files.kept();
        store.requests.store(0, Ordering::Relaxed);
        for name in &order {
            assert_eq!(kept.stat(&at(name)).unwrap().bytes, name.len() as u64, "{name}");
        }
        assert!(matches!(kept.stat(&path("d/case#99.json")), Err(FileError::Missing)));
        let requests = store.requests.load(Ordering::Relaxed);
        assert!(requests <= most, "{requests} requests");
    }
}

/// A store in memory that counts what it is asked.
#[derive(Debug)]
struct Counted {
    inner: InMemory,
    requests: AtomicUsize,
}

impl Counted {
    fn count(&self) -> &InMemory {
        self.requests.fetch_add(1, Ordering::Relaxed);
        &self.inner
    }
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("counted")
    }
}

#[async_trait]
impl ObjectStore for Counted {
    async fn put_opts(&self, key: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.count().put_opts(key, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        key: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.count().put_multipart_opts(key, options).await
    }

    async fn get_opts(&self, key: &Path, options: GetOptions) -> Result<GetResult> {
        self.count().get_opts(key, options).await
    }

    fn delete_stream(&self, keys: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.count().delete_stream(keys)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.count().list(prefix)
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        self.count().list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.count().list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.count().copy_opts(from, to, options).await
    }
}
