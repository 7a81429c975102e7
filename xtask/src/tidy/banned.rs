//! Calls that belong to one place, or to none.
//!
//! Time, randomness, the environment and spawning are passed in, never reached for: that is what lets a
//! simulator run the whole system on a manual clock and seeded ids. The needles are put together from
//! pieces where this file would find itself.

use super::{Problems, SourceFile};

/// Where a ban holds.
enum Scope {
    /// The crates' own code. Their tests may do as they like.
    Production,
    /// Tests and xtask as well.
    Everywhere,
}

struct Ban {
    needles: &'static [&'static str],
    /// Files or folders, relative to `crates/`, whose purpose is this very call.
    allowed: &'static [&'static str],
    scope: Scope,
    advice: &'static str,
}

const BANS: [Ban; 12] = [
    Ban {
        needles: &["SystemTime::now", "Instant::now"],
        allowed: &["kernel/src/clock.rs", "cli/", "worker/src/profiles.rs", "worker/src/telemetry.rs"],
        scope: Scope::Production,
        advice: "time is passed in so that tests can set it; take it from the kernel's clock",
    },
    Ban {
        needles: &["Timestamp::now("],
        allowed: &["kernel/src/clock.rs"],
        scope: Scope::Production,
        advice: "time is passed in so that tests can set it; take it from the kernel's clock",
    },
    Ban {
        needles: &["env::var"],
        allowed: &["cli/", "testkit/"],
        scope: Scope::Production,
        advice: "configuration is read once, in cli; take it as a parameter",
    },
    Ban {
        needles: &["getrandom::", "Uuid::now_v7", "Uuid::new_v4"],
        allowed: &["kernel/src/ids.rs", "cli/"],
        scope: Scope::Production,
        advice: "randomness is passed in so that a run can be replayed; take fresh ids from the kernel",
    },
    Ban {
        needles: &["tokio::spawn", "tokio::task::spawn("],
        allowed: &["kernel/src/spawn.rs", "store-postgres/src/pulse.rs"],
        scope: Scope::Production,
        advice: "a task nobody tracks outlives the shutdown and loses its panic; use the kernel's spawn",
    },
    Ban {
        needles: &["JoinSet"],
        allowed: &[
            "kernel/src/spawn.rs",
            "store-postgres/src/commit/lanes.rs",
            "store-postgres/src/pulse.rs",
            "worker/src/pool.rs",
            "worker/src/mcp/program.rs",
            "cli/src/bench.rs",
            "testkit/",
        ],
        scope: Scope::Production,
        advice: "sets of tasks are in few places, each of which ends its own; use the kernel's spawn",
    },
    Ban {
        needles: &["thread::spawn", "thread::Builder"],
        allowed: &["store-sqlite/src/"],
        scope: Scope::Production,
        advice: "only the SQLite backend owns threads; use the kernel's spawn",
    },
    Ban {
        needles: &["Command::new("],
        allowed: &["cli/src/tck/", "cli/src/browser.rs", "worker/src/mcp/program.rs"],
        scope: Scope::Production,
        advice: "a program outlives whoever forgets it; MCP servers are started and ended in one place",
    },
    Ban {
        needles: &["reqwest::Client::", "Client::builder("],
        allowed: &["egress/src/clients.rs", "cli/src/client/", "cli/src/tck/"],
        scope: Scope::Production,
        advice: "calls leave through one door, which knows who asked and where they may go; take a destination from egress",
    },
    Ban {
        needles: &["println!", "print!("],
        allowed: &["cli/"],
        scope: Scope::Production,
        advice: "only cli talks to the terminal; use tracing",
    },
    Ban {
        needles: &[concat!("todo", "!("), concat!("unimplemented", "!(")],
        allowed: &[],
        scope: Scope::Everywhere,
        advice: "what is not there yet is left out, not left to panic; write it or remove the way to it",
    },
    Ban {
        needles: &[concat!("#[", "ignore")],
        allowed: &[],
        scope: Scope::Everywhere,
        advice: "a test nobody runs proves nothing; fix it or delete it",
    },
];

pub(super) fn calls(files: &[SourceFile]) -> Problems {
    let mut problems = Problems::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let bans: Vec<&Ban> = BANS.iter().filter(|ban| !ban.allows(&file.path)).collect();
        let in_production = is_production(&file.path);
        let mut test_module = TestModule::default();
        for (number, line) in file.lines() {
            let in_test = test_module.covers(line);
            if line.trim_start().starts_with("//") {
                continue;
            }
            for ban in &bans {
                let applies = match ban.scope {
                    Scope::Production => in_production && !in_test,
                    Scope::Everywhere => true,
                };
                let needle = ban.needles.iter().find(|&&needle| line.contains(needle));
                if let Some(needle) = needle.filter(|_| applies) {
                    problems.push(format!("{}:{number}: `{needle}`: {}", file.path, ban.advice));
                }
            }
        }
    }
    problems
}

impl Ban {
    fn allows(&self, path: &str) -> bool {
        let Some(path) = path.strip_prefix("crates/") else { return false };
        let covers = |place: &&str| path == *place || (place.ends_with('/') && path.starts_with(*place));
        self.allowed.iter().any(covers)
    }
}

/// `crates/<crate>/src/…`, except for files that hold a crate's unit tests.
fn is_production(path: &str) -> bool {
    let mut parts = path.split('/');
    let in_src = parts.next() == Some("crates") && parts.nth(1) == Some("src");
    in_src && !parts.any(|part| part == "tests" || part == "tests.rs")
}

/// Follows an inline `#[cfg(test)] mod … { … }` by the indentation that rustfmt gives its braces.
#[derive(Default)]
enum TestModule {
    #[default]
    Outside,
    Announced,
    Inside {
        end: String,
    },
}

impl TestModule {
    /// Whether this line, the next of the file, belongs to a test module.
    fn covers(&mut self, line: &str) -> bool {
        match self {
            Self::Inside { end } => {
                if line == end {
                    *self = Self::Outside;
                }
                true
            }
            Self::Announced if line.trim_start().starts_with("mod ") && line.ends_with('{') => {
                let indentation = &line[..line.len() - line.trim_start().len()];
                *self = Self::Inside { end: format!("{indentation}}}") };
                true
            }
            Self::Outside | Self::Announced => {
                *self = if line.trim() == "#[cfg(test)]" { Self::Announced } else { Self::Outside };
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems_in(path: &str, text: &str) -> Problems {
        calls(&[SourceFile::new(path, text)])
    }

    #[test]
    fn every_ban_goes_red_outside_its_allowed_places_and_not_within() {
        for ban in &BANS {
            for needle in ban.needles {
                let text = format!("fn f() {{\n    {needle}();\n}}\n");
                let problems = problems_in("crates/server/src/http.rs", &text);
                assert_eq!(problems.len(), 1, "{needle}: {problems:?}");
                assert!(problems[0].starts_with("crates/server/src/http.rs:2: "), "{problems:?}");
                assert!(problems[0].ends_with(ban.advice), "{problems:?}");
                for place in ban.allowed {
                    let path =
                        format!("crates/{place}{}", if place.ends_with('/') { "src/x.rs" } else { "" });
                    assert_eq!(problems_in(&path, &text), Problems::new(), "{needle} in {path}");
                }
            }
        }
    }

    #[test]
    fn comments_do_not_count() {
        let text = "/// Never calls `Instant::now`.\n    // SystemTime::now neither\n";
        assert_eq!(problems_in("crates/model/src/time.rs", text), Problems::new());
    }

    #[test]
    fn tests_may_read_the_clock_but_the_code_after_them_may_not() {
        let text = "#[cfg(test)]\nmod tests {\n    fn f() {\n        Instant::now();\n    }\n}\n\nconst X: T = Instant::now();\n";
        let problems = problems_in("crates/model/src/time.rs", text);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with("crates/model/src/time.rs:8:"), "{problems:?}");
        assert_eq!(problems_in("crates/model/tests/it/main.rs", "Instant::now();"), Problems::new());
        assert_eq!(problems_in("crates/model/src/time/tests.rs", "Instant::now();"), Problems::new());
    }

    #[test]
    fn a_test_only_item_does_not_open_a_test_module() {
        let text = "#[cfg(test)]\nuse std::fmt;\nfn f() {\n    Instant::now();\n}\n";
        assert_eq!(problems_in("crates/model/src/time.rs", text).len(), 1);
    }

    #[test]
    fn ignored_and_unwritten_code_is_a_problem_in_tests_too() {
        let text = concat!("#[test]\n#[", "ignore]\nfn f() {\n    todo", "!()\n}\n");
        assert_eq!(problems_in("crates/model/tests/it/main.rs", text).len(), 2);
        assert_eq!(problems_in("xtask/src/main.rs", text).len(), 2);
    }
}
