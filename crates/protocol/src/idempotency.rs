//! API-16: the same key with the same request gets the first answer; with another request it is refused.

use crate::Rejection;
use cardwire_model::{Answer, AnswerKey, Snapshot};

/// What a remembered answer means for the request at hand: `None` to go ahead, the answer to give again, or a
/// refusal.
pub fn replay(snapshot: &Snapshot, key: &AnswerKey) -> Result<Option<Answer>, Rejection> {
    match &snapshot.answer {
        None => Ok(None),
        Some(answer) if answer.key.request_hash == key.request_hash => Ok(Some(answer.clone())),
        Some(_) => Err(Rejection::Conflict("Idempotency-Key was used for another request".to_owned())),
    }
}
