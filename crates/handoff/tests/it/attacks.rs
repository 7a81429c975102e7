//! Whoever tries to have files read that are none of the package's (HO-10, SEC-06). Behind each door lies a secret that
//! would be in the answer if the door stood open.

use crate::fixtures::{DIR, SECRET, World, case_files, execution, options, package};
use cardwire_handoff::{
    CheckOptions, FileError, Files, Gate, Load, LoadRequest, LocalFiles, Mode, Package, RefusalKind,
    SafePath, check_files, load, package_from_directory,
};
use rustix::fs::{CWD, FileType, Mode as Permissions, mknodat};
use serde_json::json;
use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

fn path(text: &str) -> SafePath {
    SafePath::parse(text).unwrap()
}

fn full(world: &World, package: &Package) -> Load {
    let request = LoadRequest { mode: Mode::Full, ..LoadRequest::default() };
    load(package, &world.files, &request).unwrap()
}

/// The gate refuses the package, shallow and deep, and the loader leaves the part out: nowhere is the secret.
fn sees_nothing(world: &World) {
    let package = package(execution());
    for deep in [false, true] {
        let refusal = check_files(&package, &world.files, &options(deep)).unwrap_err();
        assert_eq!((refusal.kind, refusal.code), (RefusalKind::Invalid, "unsafe_path"), "{refusal}");
        assert!(!format!("{refusal:?}").contains(SECRET));
    }
    let load = full(world, &package);
    let answer = serde_json::to_string(&load).unwrap();
    assert!(!answer.contains(SECRET), "{answer}");
    assert!(!load.invalid.is_empty() && load.invalid.iter().all(|part| part.error.is_some()), "{answer}");
}

/// Puts something else in place of the trace of a failed sample.
fn instead_of_a_trace(world: &World, put: impl FnOnce(&Path)) {
    let [_, trace, ..] = case_files("BS_MT_001");
    world.remove(&trace);
    put(&world.at(&trace));
}

/// SEC-06
#[test]
fn a_link_to_a_file_outside_is_not_followed() {
    let world = World::seed();
    instead_of_a_trace(&world, |at| symlink(world.secret(), at).unwrap());
    sees_nothing(&world);
}

/// SEC-06
#[test]
fn a_link_to_a_file_inside_is_not_followed_either() {
    let world = World::seed();
    world.write("private/other.json", format!("{{\"x\":\"{SECRET}\"}}").as_bytes());
    instead_of_a_trace(&world, |at| symlink(world.root().join("private/other.json"), at).unwrap());
    sees_nothing(&world);
    instead_of_a_trace(&world, |at| symlink("../../../../../private/other.json", at).unwrap());
    sees_nothing(&world);
}

/// SEC-06
#[test]
fn a_link_to_a_directory_is_not_walked_through() {
    let world = World::seed();
    let outside = world.secret().parent().unwrap().join("outside");
    fs::rename(world.at("execution_traces"), &outside).unwrap();
    fs::write(outside.join("BS_MT_001_trace.json"), format!("{{\"x\":\"{SECRET}\"}}")).unwrap();
    symlink(&outside, world.at("execution_traces")).unwrap();
    sees_nothing(&world);
}

/// SEC-06
#[test]
fn a_linked_iteration_and_a_linked_samples_directory_are_refused() {
    let world = World::seed();
    let elsewhere = world.secret().parent().unwrap().join("elsewhere");
    fs::rename(world.at("samples"), &elsewhere).unwrap();
    symlink(&elsewhere, world.at("samples")).unwrap();
    sees_nothing(&world);

    let world = World::seed();
    let real = world.root().join("real");
    fs::rename(world.root().join(DIR), &real).unwrap();
    symlink(&real, world.root().join(DIR)).unwrap();
    let package = package(execution());
    assert_eq!(world.check(&package).unwrap_err().code, "unsafe_path");
    let refusal = load(&package, &world.files, &LoadRequest::default()).unwrap_err();
    assert_eq!((refusal.kind, refusal.code), (RefusalKind::Invalid, "unsafe_path"));
}

/// SEC-06
#[test]
fn links_that_lead_nowhere_or_in_a_circle_are_links() {
    for target in ["BS_MT_001_trace.json", "nowhere.json"] {
        let world = World::seed();
        instead_of_a_trace(&world, |at| symlink(target, at).unwrap());
        sees_nothing(&world);
    }
}

/// SEC-06
#[test]
fn a_hard_link_to_somebody_elses_file_is_not_read() {
    let world = World::seed();
    instead_of_a_trace(&world, |at| fs::hard_link(world.secret(), at).unwrap());
    sees_nothing(&world);
}

/// SEC-06
#[test]
fn pipes_sockets_devices_and_directories_are_no_files() {
    let world = World::seed();
    // Without O_NONBLOCK this would wait for ever, for somebody to write.
    instead_of_a_trace(&world, |at| {
        mknodat(CWD, at, FileType::Fifo, Permissions::from_raw_mode(0o600), 0).unwrap();
    });
    sees_nothing(&world);

    let world = World::seed();
    // The path of a socket is short, hence it is made elsewhere and moved.
    let socket = world.root().join("s");
    let _listener = UnixListener::bind(&socket).unwrap();
    instead_of_a_trace(&world, |at| fs::rename(&socket, at).unwrap());
    sees_nothing(&world);

    let world = World::seed();
    instead_of_a_trace(&world, |at| fs::create_dir(at).unwrap());
    sees_nothing(&world);

    // A device outside of the root, opened as the root's own: not even zero bytes of it are read.
    let devices = LocalFiles::open(Path::new("/dev")).unwrap();
    for name in ["zero", "null"] {
        assert!(matches!(devices.read(&path(name), 16), Err(FileError::Unsafe { .. })), "{name}");
        assert!(matches!(devices.stat(&path(name)), Err(FileError::Unsafe { .. })), "{name}");
    }
}

/// SEC-06
#[test]
fn a_linked_report_and_a_linked_summary_are_refused() {
    for file in ["layer1_problems_report.json", "failure_summary.json"] {
        let world = World::seed();
        world.remove(file);
        symlink(world.secret(), world.at(file)).unwrap();
        let mut sent = execution();
        sent["metadata"] = json!({ "index_truncated": true });
        let package = package(sent);
        let refusal = world.check(&package).unwrap_err();
        assert_eq!((refusal.kind, refusal.code), (RefusalKind::Invalid, "unsafe_path"), "{file}");
        let request = LoadRequest { mode: Mode::Full, ..LoadRequest::default() };
        match load(&package, &world.files, &request) {
            Ok(load) => {
                assert_eq!(load.invalid[0].path, "failure_summary.json");
                assert!(!serde_json::to_string(&load).unwrap().contains(SECRET));
            }
            Err(refusal) => {
                assert_eq!(
                    (refusal.kind, refusal.code, file),
                    (RefusalKind::Invalid, "unsafe_path", "layer1_problems_report.json")
                );
                assert!(!format!("{refusal:?}").contains(SECRET));
            }
        }
        assert_eq!(package_from_directory(&world.files, DIR, json!({})).unwrap_err().code, "unsafe_path");
    }
}

/// SEC-06
#[test]
fn what_is_swapped_between_check_and_read_is_judged_again() {
    let world = World::seed();
    let package = package(execution());
    assert!(world.check(&package).is_ok());
    instead_of_a_trace(&world, |at| symlink(world.secret(), at).unwrap());
    let load = full(&world, &package);
    assert!(!serde_json::to_string(&load).unwrap().contains(SECRET));
    assert_eq!((load.invalid.len(), load.loaded.len()), (1, 1 + 7));
}

/// Reads a file again and again while somebody keeps putting something else in its place, and back.
fn read_while_swapped(swap: impl Fn(&Path) + Sync) {
    let world = World::empty();
    world.write("dir/file.json", b"mine");
    let at = world.root().join("dir/file.json");
    let done = AtomicBool::new(false);
    let (mut mine, mut refused) = (0, 0);
    let mut wrong = None;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                // Each by a rename, so that the name is never free.
                let other = world.root().join("dir/other");
                swap(&other);
                fs::rename(&other, &at).unwrap();
                fs::write(&other, b"mine").unwrap();
                fs::rename(&other, &at).unwrap();
            }
        });
        // Until both were seen often, but not for ever. Nothing may panic before the other thread is told to stop.
        for _ in 0..200_000 {
            match world.files.read(&path("dir/file.json"), 1_000) {
                Ok(bytes) if bytes == b"mine" => mine += 1,
                Err(FileError::Unsafe { .. }) => refused += 1,
                other => wrong = Some(other),
            }
            if wrong.is_some() || (mine > 10_000 && refused > 10_000) {
                break;
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(wrong.is_none(), "{wrong:?}");
    assert!(mine > 0 && refused > 0, "{mine} read, {refused} refused");
}

/// SEC-06
#[test]
fn a_file_that_is_swapped_for_a_link_while_it_is_read_is_never_the_link() {
    let secret = tempfile::NamedTempFile::new().unwrap();
    fs::write(secret.path(), SECRET).unwrap();
    read_while_swapped(|at| symlink(secret.path(), at).unwrap());
}

/// SEC-06
#[test]
fn a_file_that_is_swapped_for_a_pipe_while_it_is_read_is_never_the_pipe() {
    read_while_swapped(|at| mknodat(CWD, at, FileType::Fifo, Permissions::from_raw_mode(0o600), 0).unwrap());
}

/// SEC-06
#[test]
fn a_file_that_is_replaced_while_it_is_read_is_the_old_one_or_the_new_one() {
    let world = World::empty();
    let at = path("dir/file.json");
    let text = |n: u8| vec![b'0' + n % 10; 5_000];
    world.files.create(&at, &text(0)).unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| (0..100).try_for_each(|n| world.files.replace(&at, &text(n))));
        while !writer.is_finished() {
            let bytes = world.files.read(&at, 5_000).unwrap();
            assert!(bytes.len() == 5_000 && bytes.iter().all(|byte| *byte == bytes[0]));
        }
        writer.join().unwrap().unwrap();
    });
}

/// SEC-06
#[test]
fn an_opened_root_stays_the_directory_it_was() {
    let world = World::seed();
    let at = path(&format!("{DIR}/samples/BS_MT_001.json"));
    let moved = world.secret().parent().unwrap().join("moved");
    fs::rename(world.root(), &moved).unwrap();
    let decoy = world.root().join(DIR).join("samples");
    fs::create_dir_all(&decoy).unwrap();
    fs::write(decoy.join("BS_MT_001.json"), SECRET).unwrap();
    assert_eq!(world.files.read(&at, 1_000).unwrap(), b"{\"sample_id\":\"BS_MT_001\"}");
}

/// SEC-06: directories that are kept for one piece of work stay what they were; a link in the place of one leads nowhere.
#[test]
fn a_kept_directory_stays_the_directory_it_was() {
    let world = World::seed();
    let elsewhere = world.secret().parent().unwrap().join("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    fs::write(elsewhere.join("BS_MT_001.json"), SECRET).unwrap();
    let (first, second) =
        (path(&format!("{DIR}/samples/BS_MT_001.json")), path(&format!("{DIR}/samples/BS_MT_003.json")));
    let kept = world.files.kept();
    kept.read(&first, 1_000).unwrap();
    fs::rename(world.at("samples"), world.at("moved")).unwrap();
    symlink(&elsewhere, world.at("samples")).unwrap();
    assert_eq!(kept.read(&first, 1_000).unwrap(), b"{\"sample_id\":\"BS_MT_001\"}");
    assert_eq!(kept.stat(&second).unwrap().bytes, 25);
    // Whoever walks there now finds the link.
    assert!(matches!(world.files.kept().read(&first, 1_000), Err(FileError::Unsafe { .. })));
    assert!(matches!(world.files.kept().stat(&first), Err(FileError::Unsafe { .. })));
}

/// More directories than are kept are walked to again.
#[test]
fn files_of_many_directories_are_all_found() {
    let world = World::empty();
    let at = |n: usize| path(&format!("d{n}/f"));
    for n in 0..40 {
        world.write(at(n).as_str(), &vec![b'x'; n]);
    }
    let kept = world.files.kept();
    for n in (0..40).chain((0..40).rev()) {
        assert_eq!(kept.stat(&at(n)).unwrap().bytes, n as u64);
    }
}

/// SEC-06
#[test]
fn a_root_is_no_prefix_of_letters() {
    let world = World::empty();
    fs::create_dir(world.root().with_file_name("root_evil")).unwrap();
    fs::write(world.root().with_file_name("root_evil").join("x.json"), SECRET).unwrap();
    world.write("iteration_1/a.json", b"1");
    world.write("iteration_12/a.json", b"12");
    let read = |at: &str| world.files.read(&path(at), 10);
    assert_eq!(read("iteration_1/a.json").unwrap(), b"1");
    assert!(matches!(read("iteration_1/A.json"), Err(FileError::Missing)));
    assert!(matches!(read("ITERATION_1/a.json"), Err(FileError::Missing)));
    assert!(matches!(read("_evil/x.json"), Err(FileError::Missing)));
    assert!(matches!(read("iteration_1/a.json/b"), Err(FileError::Missing)));
    for bad in ["../root_evil/x.json", "iteration_1/../../root_evil/x.json"] {
        assert!(SafePath::parse(bad).is_err());
    }
}

/// SEC-06
#[test]
fn what_is_written_does_not_go_through_links_either() {
    let world = World::empty();
    let outside = world.secret().parent().unwrap().join("outside");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, world.root().join("linked")).unwrap();
    symlink(world.secret(), world.root().join("file.json")).unwrap();
    symlink(outside.join("new.json"), world.root().join("dangling.json")).unwrap();
    let before = fs::read(world.secret()).unwrap();
    for at in ["linked/x.json", "file.json", "dangling.json"] {
        assert!(matches!(world.files.create(&path(at), b"x"), Err(FileError::Unsafe { .. })), "{at}");
        assert!(matches!(world.files.replace(&path(at), b"x"), Err(FileError::Unsafe { .. })), "{at}");
    }
    assert_eq!(fs::read(world.secret()).unwrap(), before);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

/// SEC-06
#[test]
fn design_files_are_behind_the_same_doors() {
    let world = World::empty();
    let mut sent = crate::fixtures::design();
    sent["design_artifacts"] = json!({ "mine": "design.md" });
    symlink(world.secret(), world.root().join("design.md")).unwrap();
    for gate in [Gate::Off, Gate::Strict] {
        let options = CheckOptions { gate: Some(gate), ..options(false) };
        let refusal = check_files(&package(sent.clone()), &world.files, &options).unwrap_err();
        assert_eq!((refusal.kind, refusal.code), (RefusalKind::Invalid, "unsafe_path"));
        assert_eq!(refusal.field.as_deref(), Some("design_artifacts/mine"));
    }
}

/// SEC-06
#[test]
fn a_typical_case_cannot_be_a_path() {
    let world = World::seed();
    let mut report: serde_json::Value = serde_json::from_str(crate::fixtures::SEED_REPORT).unwrap();
    report["layer1_problems"][0]["typical_case_id"] = json!("../../../../../../secret");
    world.put("layer1_problems_report.json", &report.to_string());
    let request = LoadRequest { mode: Mode::Typical, ..LoadRequest::default() };
    let load = load(&package(execution()), &world.files, &request).unwrap();
    assert!(!serde_json::to_string(&load).unwrap().contains(SECRET));
    assert_eq!(load.invalid.len(), 1);
}

/// SEC-06
#[test]
fn a_name_that_is_not_utf_8_is_refused() {
    use std::os::unix::ffi::OsStrExt;
    let world = World::seed();
    let name = std::ffi::OsStr::from_bytes(b"\xff.json");
    fs::write(world.at("samples").join(name), "{}").unwrap();
    assert_eq!(world.check(&package(execution())).unwrap_err().code, "unsafe_path");
    let world = World::seed();
    fs::write(world.at("samples").join("a\nb.json"), "{}").unwrap();
    assert_eq!(world.check(&package(execution())).unwrap_err().code, "unsafe_path");
}

/// SEC-06, SEC-07
#[test]
fn no_more_bytes_are_read_than_were_asked_for() {
    let world = World::empty();
    world.write("a", b"12345");
    assert_eq!(world.files.read(&path("a"), 5).unwrap(), b"12345");
    assert!(matches!(world.files.read(&path("a"), 4), Err(FileError::TooLarge { limit: 4 })));
    // A file that says it is empty and is not, as one that grows while it is read.
    let processes = LocalFiles::open(Path::new("/proc")).unwrap();
    assert!(matches!(processes.read(&path("version"), 4), Err(FileError::TooLarge { limit: 4 })));
}

/// SEC-06
#[test]
fn a_root_that_is_no_directory_cannot_be_opened() {
    let world = World::empty();
    assert!(matches!(LocalFiles::open(&world.root().join("nowhere")), Err(FileError::Missing)));
    assert!(LocalFiles::open(&world.secret()).is_err());
}
