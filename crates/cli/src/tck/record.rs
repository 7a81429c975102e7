//! What a worker was given and what it said, and what was wrong with it. Nothing here changes a request.

use serde_json::Value;
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Everything that went through the proxy.
#[derive(Default)]
pub(crate) struct Record(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    claims: u64,
    /// Requests that got no answer.
    lost: u64,
    leases: Vec<Lease>,
    words: u64,
    faults: Vec<String>,
    /// How often words about a turn were refused since it was last leased.
    refusals: HashMap<String, u32>,
}

struct Lease {
    turn: String,
    epoch: u64,
    token: String,
}

/// A request of the worker.
pub(crate) struct Sent<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    /// What came as `Authorization: Bearer …`.
    pub(crate) bearer: Option<&'a str>,
    pub(crate) body: &'a [u8],
}

const CLAIM: &str = "/l0/claim";

impl Record {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The worker sends a request; called before it is passed on.
    pub(crate) fn sent(&self, sent: &Sent<'_>) {
        let mut seen = self.seen();
        if sent.path == CLAIM {
            seen.claims += 1;
        } else if let Some((turn, word)) = about(sent.path) {
            seen.words += 1;
            let fault = seen.fault(turn, word, sent);
            seen.faults.extend(fault);
        }
    }

    /// The server answers; called before the worker hears of it.
    pub(crate) fn answered(&self, path: &str, status: u16, body: &[u8]) {
        let mut seen = self.seen();
        if path == CLAIM {
            let answer: Value = serde_json::from_slice(body).unwrap_or_default();
            for lease in answer["leases"].as_array().into_iter().flatten().filter_map(read_lease) {
                seen.refusals.remove(&lease.turn);
                seen.leases.push(lease);
            }
        } else if let Some((turn, _)) = about(path)
            && (400..500).contains(&status)
            && status != 429
        {
            *seen.refusals.entry(turn.to_owned()).or_default() += 1;
        }
    }

    /// The server is not there to answer.
    pub(crate) fn unanswered(&self) {
        self.seen().lost += 1;
    }

    /// How many requests got no answer.
    pub(crate) fn lost(&self) -> u64 {
        self.seen().lost
    }

    /// How many claims were sent.
    pub(crate) fn claims(&self) -> u64 {
        self.seen().claims
    }

    /// How many words about turns were sent.
    pub(crate) fn words(&self) -> u64 {
        self.seen().words
    }

    /// How often a turn was given to the worker.
    pub(crate) fn leases(&self, turn: &str) -> usize {
        self.seen().leases.iter().filter(|lease| lease.turn == turn).count()
    }

    /// How often words about a turn were refused since it was last leased.
    pub(crate) fn refusals(&self, turn: &str) -> u32 {
        self.seen().refusals.get(turn).copied().unwrap_or(0)
    }

    /// What the worker said that it had no reason to say.
    pub(crate) fn faults(&self) -> Vec<String> {
        self.seen().faults.clone()
    }
}

impl Seen {
    /// WK-01, SEC-02: a word about a turn carries what one lease of it says.
    fn fault(&self, turn: &str, word: &str, sent: &Sent<'_>) -> Option<String> {
        let leases: Vec<&Lease> = self.leases.iter().filter(|lease| lease.turn == turn).collect();
        let Some(last) = leases.last() else {
            return Some(format!("`{word}` of {turn}, which it was never given"));
        };
        if !leases.iter().any(|lease| sent.bearer == Some(lease.token.as_str())) {
            return Some(format!("`{word}` of {turn} without the token of its lease"));
        }
        if sent.method == "GET" {
            return None;
        }
        let body: Value = serde_json::from_slice(sent.body).unwrap_or_default();
        match body["turn_epoch"].as_u64() {
            None => Some(format!("`{word}` of {turn} without a turn_epoch")),
            Some(epoch) if leases.iter().any(|lease| lease.epoch == epoch) => None,
            Some(epoch) => {
                Some(format!("`{word}` of {turn} at epoch {epoch}, and its lease says {}", last.epoch))
            }
        }
    }
}

/// A lease on a live turn; one that says stop opens nothing.
fn read_lease(lease: &Value) -> Option<Lease> {
    Some(Lease {
        turn: lease["agent_turn_id"].as_str()?.to_owned(),
        epoch: lease["turn_epoch"].as_u64()?,
        token: lease["turn_token"].as_str()?.to_owned(),
    })
}

/// The turn that a path is about, and the word: `:finish`, `/cards`.
fn about(path: &str) -> Option<(&str, &str)> {
    let (_, rest) = path.strip_prefix("/projects/")?.split_once('/')?;
    let rest = rest.strip_prefix("l0/turns/")?;
    rest.find([':', '/']).map(|end| rest.split_at(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLAIMED: &[u8] =
        br#"{"leases":[{"agent_turn_id":"turn_a","turn_epoch":2,"turn_token":"t","kind":"turn"}]}"#;

    fn say(record: &Record, path: &str, bearer: &str, body: &str) {
        record.sent(&Sent { method: "POST", path, bearer: Some(bearer), body: body.as_bytes() });
    }

    /// WK-01
    #[test]
    fn only_what_a_lease_says_is_no_fault() {
        let record = Record::default();
        record.answered(CLAIM, 200, CLAIMED);
        for word in [":start", "/cards", ":finish"] {
            say(&record, &format!("/projects/p/l0/turns/turn_a{word}"), "t", r#"{"turn_epoch":2}"#);
        }
        assert_eq!((record.faults(), record.words()), (vec![], 3));
        say(&record, "/projects/p/l0/turns/turn_a:finish", "t", r#"{"turn_epoch":1}"#);
        say(&record, "/projects/p/l0/turns/turn_a:finish", "t", "{}");
        say(&record, "/projects/p/l0/turns/turn_a:finish", "other", r#"{"turn_epoch":2}"#);
        say(&record, "/projects/p/l0/turns/turn_b:finish", "t", r#"{"turn_epoch":2}"#);
        let expected = [
            "`:finish` of turn_a at epoch 1, and its lease says 2",
            "`:finish` of turn_a without a turn_epoch",
            "`:finish` of turn_a without the token of its lease",
            "`:finish` of turn_b, which it was never given",
        ];
        assert_eq!(record.faults(), expected);
    }

    #[test]
    fn refusals_are_counted_from_the_last_lease_on() {
        let record = Record::default();
        let refuse = |status| record.answered("/projects/p/l0/turns/turn_a:heartbeat", status, b"");
        [409, 401, 413, 200, 429, 503].into_iter().for_each(refuse);
        assert_eq!(record.refusals("turn_a"), 3);
        record.answered(CLAIM, 200, CLAIMED);
        assert_eq!((record.refusals("turn_a"), record.leases("turn_a")), (0, 1));
    }
}
