//! What tests share: a workspace with a complete iteration, the examples of the document, and files that are watched.

use cardwire_handoff::{
    CheckOptions, FileError, Files, LocalFiles, Package, Problem, Refusal, SafePath, Stat, Types, Written,
    check_files,
};
use serde_json::{Value, json};
use std::{fs, path::PathBuf, sync::Mutex};
use tempfile::TempDir;

pub(crate) const DIR: &str = "scenarios/leave_application/execution_outputs/iteration_12";

/// A file outside of every root, which no answer may ever hold.
pub(crate) const SECRET: &str = "the-secret-of-another-tenant";

/// A workspace root in a directory of its own, beside which the secret lies.
pub(crate) struct World {
    outer: TempDir,
    pub(crate) files: LocalFiles,
}

impl World {
    pub(crate) fn empty() -> Self {
        let outer = TempDir::new().unwrap();
        let root = outer.path().join("root");
        fs::create_dir(&root).unwrap();
        fs::write(outer.path().join("secret.json"), format!("{{\"x\":\"{SECRET}\"}}")).unwrap();
        let files = LocalFiles::open(&root).unwrap();
        Self { outer, files }
    }

    /// The iteration that the document's example tells of: two samples that failed, and one that passed.
    pub(crate) fn seed() -> Self {
        let world = Self::empty();
        for id in ["BS_MT_001", "BS_MT_003", "BS_MT_010"] {
            world.case(id, &json!({ "sample_id": id }));
        }
        world.put("failure_summary.json", "{\"failed\":2}");
        world.put("layer1_problems_report.json", SEED_REPORT);
        world
    }

    /// All four parts of a sample, with the same content.
    pub(crate) fn case(&self, id: &str, content: &Value) {
        for file in case_files(id) {
            self.put(&file, &content.to_string());
        }
    }

    /// A file of the iteration.
    pub(crate) fn put(&self, below: &str, text: &str) {
        self.write(&format!("{DIR}/{below}"), text.as_bytes());
    }

    /// A file below the root.
    pub(crate) fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn remove(&self, below: &str) {
        fs::remove_file(self.at(below)).unwrap();
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.outer.path().join("root")
    }

    /// Where a file of the iteration is.
    pub(crate) fn at(&self, below: &str) -> PathBuf {
        self.root().join(DIR).join(below)
    }

    pub(crate) fn secret(&self) -> PathBuf {
        self.outer.path().join("secret.json")
    }

    pub(crate) fn check(&self, package: &Package) -> Result<Vec<Problem>, Refusal> {
        check_files(package, &self.files, &options(false))
    }

    pub(crate) fn check_deep(&self, package: &Package) -> Result<Vec<Problem>, Refusal> {
        check_files(package, &self.files, &options(true))
    }
}

pub(crate) fn options(deep: bool) -> CheckOptions<'static> {
    CheckOptions { gate: None, deep, progress: &|_| {} }
}

pub(crate) fn case_files(id: &str) -> [String; 4] {
    [
        format!("samples/{id}.json"),
        format!("execution_traces/{id}_trace.json"),
        format!("evaluation_results/{id}_eval.json"),
        format!("attribution_analysis/{id}_attribution.json"),
    ]
}

pub(crate) const SEED_DESIGN: &str = include_str!("../fixtures/init_to_execute.json");
pub(crate) const SEED_EXECUTION: &str = include_str!("../fixtures/execute_to_init.json");
pub(crate) const SEED_REPORT: &str = include_str!("../fixtures/layer1_problems_report.json");

pub(crate) fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

pub(crate) fn design() -> Value {
    value(SEED_DESIGN)
}

pub(crate) fn execution() -> Value {
    value(SEED_EXECUTION)
}

/// The execution example with these samples for its index.
pub(crate) fn execution_of(ids: &[&str]) -> Value {
    let mut package = execution();
    package["failure_samples_index"] = ids.iter().map(|id| entry(id)).collect();
    package
}

pub(crate) fn entry(id: &str) -> Value {
    let [sample, trace, evaluation, attribution] = case_files(id);
    json!({
        "sample_id": id,
        "sample_path": sample,
        "trace_path": trace,
        "evaluation_path": evaluation,
        "attribution_path": attribution,
    })
}

pub(crate) fn parse(value: Value) -> Result<(Package, Vec<Problem>), Refusal> {
    Package::parse(value, None, &Types::built_in())
}

pub(crate) fn package(value: Value) -> Package {
    parse(value).unwrap().0
}

/// The package with one member replaced, by its path; a member that is `None` is removed.
pub(crate) fn with(mut value: Value, pointer: &str, new: Option<Value>) -> Value {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = value.pointer_mut(parent).unwrap();
    match (parent, new) {
        (Value::Object(map), Some(new)) => drop(map.insert(key.to_owned(), new)),
        (Value::Object(map), None) => drop(map.remove(key)),
        (Value::Array(list), Some(new)) => list[key.parse::<usize>().unwrap()] = new,
        (other, _) => panic!("{other} has no members"),
    }
    value
}

pub(crate) fn codes(problems: &[Problem]) -> Vec<&str> {
    problems.iter().map(|problem| problem.code).collect()
}

/// The files that problems are about.
pub(crate) fn names(problems: &[Problem]) -> Vec<&str> {
    problems.iter().filter_map(|problem| problem.file.as_deref()).collect()
}

/// Files that note what is done with them, and stop writing when they are told to.
pub(crate) struct Watched<'a> {
    files: &'a LocalFiles,
    pub(crate) reads: Mutex<Vec<String>>,
    pub(crate) stats: Mutex<Vec<String>>,
    /// How many more files may be written.
    pub(crate) writes_left: Mutex<usize>,
}

impl<'a> Watched<'a> {
    pub(crate) fn new(files: &'a LocalFiles) -> Self {
        Self { files, reads: Mutex::default(), stats: Mutex::default(), writes_left: Mutex::new(usize::MAX) }
    }

    pub(crate) fn reads(&self) -> Vec<String> {
        self.reads.lock().unwrap().clone()
    }

    fn write(&self) -> Result<(), FileError> {
        let mut left = self.writes_left.lock().unwrap();
        let Some(less) = left.checked_sub(1) else {
            return Err(FileError::Io(std::io::Error::other("no space left")));
        };
        *left = less;
        Ok(())
    }
}

impl Files for Watched<'_> {
    fn stat(&self, path: &SafePath) -> Result<Stat, FileError> {
        self.stats.lock().unwrap().push(path.to_string());
        self.files.stat(path)
    }

    fn read(&self, path: &SafePath, max_bytes: u64) -> Result<Vec<u8>, FileError> {
        self.reads.lock().unwrap().push(path.to_string());
        self.files.read(path, max_bytes)
    }

    fn list(
        &self,
        dir: &SafePath,
        each: &mut dyn FnMut(&str) -> Result<(), FileError>,
    ) -> Result<(), FileError> {
        self.files.list(dir, each)
    }

    fn create(&self, path: &SafePath, bytes: &[u8]) -> Result<Written, FileError> {
        self.write()?;
        self.files.create(path, bytes)
    }

    fn replace(&self, path: &SafePath, bytes: &[u8]) -> Result<(), FileError> {
        self.write()?;
        self.files.replace(path, bytes)
    }

    fn kept(&self) -> Box<dyn Files + '_> {
        Box::new(self)
    }
}
