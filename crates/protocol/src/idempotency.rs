//! API-16: the same key with the same request gets the first answer; with another request it is refused.

use crate::Rejection;
use cardwire_model::{Answer, AnswerKey, Commit, Realm, Snapshot, Timestamp, Write};

/// The status of an answer that is not kept, because doing the request again gives it by itself.
const REPEATABLE: u16 = 0;

/// What is known of the request at hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    /// Nothing: do it, and remember.
    New,
    /// The key stands for this very request: do it again.
    Repeatable,
    /// It was answered.
    Answered(Answer),
}

/// What a remembered answer means for the request at hand, or a refusal.
pub fn known(snapshot: &Snapshot, key: &AnswerKey) -> Result<Known, Rejection> {
    match &snapshot.answer {
        None => Ok(Known::New),
        Some(answer) if answer.key.request_hash != key.request_hash => {
            Err(Rejection::Conflict("Idempotency-Key was used for another request".to_owned()))
        }
        Some(answer) if answer.status == REPEATABLE => Ok(Known::Repeatable),
        Some(answer) => Ok(Known::Answered(answer.clone())),
    }
}

/// The write that remembers an answer; `None` when the request can simply be done again.
pub fn remember(key: &AnswerKey, answer: Option<(u16, String)>, now: Timestamp) -> Write {
    let (status, body) = answer.unwrap_or((REPEATABLE, String::new()));
    Write::RememberAnswer(Answer { key: key.clone(), status, body, created_at: now })
}

/// Binds a key to its request in the system's realm, for requests that name their realm themselves: the same key
/// with another body would otherwise be looked up in another place.
pub fn claim(key: &AnswerKey, now: Timestamp) -> Commit {
    let mut commit = Commit::new(Realm::System);
    commit.writes.push(remember(key, None, now));
    commit
}

#[cfg(test)]
mod tests {
    use super::*;
    use cardwire_model::Hash256;

    /// API-16
    #[test]
    fn a_key_stands_for_one_request() {
        let key = |body: &[u8]| AnswerKey::new("me".to_owned(), "k", Hash256::of(body)).unwrap();
        let now = Timestamp::from_micros(1);
        let stored = |answer: Option<(u16, String)>| {
            let Write::RememberAnswer(answer) = remember(&key(b"x"), answer, now) else {
                panic!("another write")
            };
            Snapshot { answer: Some(answer), ..Snapshot::default() }
        };
        assert_eq!(known(&Snapshot::default(), &key(b"x")), Ok(Known::New));
        assert_eq!(known(&stored(None), &key(b"x")), Ok(Known::Repeatable));
        let answered = stored(Some((201, "{}".to_owned())));
        assert!(matches!(known(&answered, &key(b"x")), Ok(Known::Answered(answer)) if answer.status == 201));
        for snapshot in [stored(None), answered] {
            assert!(matches!(known(&snapshot, &key(b"y")), Err(Rejection::Conflict(_))));
        }
    }
}
