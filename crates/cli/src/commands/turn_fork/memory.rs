//! What of its session the turn that is forked had seen when it made the call that is made anew (RP-06). The record of the
//! call tells it; a turn that had none made by the composer saw the session as it was at the time.

use super::{Fork, Prefix};
use crate::{
    failure::{Code, Failure},
    route::Route,
};
use cardwire_kernel::protocol::session::turn as memory;
use cardwire_model::{CardId, Seen, Timestamp, limits};
use serde_json::Value;

impl Fork<'_> {
    /// What the fork is to see of the session; none for a turn that belongs to none. What was deleted since is refused: a
    /// fork that saw nothing of it would be compared with a turn that did.
    pub(super) async fn seen(&self, original: &Value, prefix: &Prefix) -> Result<Option<Seen>, Failure> {
        let settings = &original["runtime_config"];
        let Some(session) = settings["session_id"].as_str() else { return Ok(None) };
        let namespace = settings["namespace"].as_str();
        let route = |more: &[&str]| {
            let route = self.route(&[&["sessions", session], more].concat())?;
            Ok::<_, Failure>(route.query("namespace", namespace))
        };
        let call = self.call_made_anew(prefix).await?;
        let recorded = match call {
            Some(call) => self.recorded(call).await?,
            None => None,
        };
        let seen = match recorded {
            Some(seen) => seen,
            None => match self.checkpoint_at(route(&["checkpoints"])?, prefix.until).await {
                Ok(checkpoint) => checkpoint.map_or(Seen::Nothing, Seen::Checkpoint),
                // Nothing that a turn without calls was shown can be missing.
                Err(Failure { code: Code::NotFound, .. }) if call.is_none() => Seen::Nothing,
                Err(failure) => return Err(self.gone(session, failure)),
            },
        };
        if let Seen::Checkpoint(checkpoint) = seen {
            let route = route(&[])?.query("checkpoint", Some(checkpoint)).query("limit", Some(1));
            self.client.get(&route).await.map_err(|failure| self.gone(session, failure))?;
        }
        Ok(Some(seen))
    }

    fn gone(&self, session: &str, failure: Failure) -> Failure {
        if failure.code != Code::NotFound {
            return failure;
        }
        Failure::not_found(format!(
            "session {session} has been deleted since: what turn {} saw of it is gone",
            self.turn
        ))
    }

    pub(super) async fn call_made_anew(&self, prefix: &Prefix) -> Result<Option<CardId>, Failure> {
        let mut next = None::<String>;
        loop {
            let route = self.route(&["state", "steps"])?.query("agent_turn_id", Some(&self.turn));
            let page = self.page(route, next.as_deref()).await?;
            let made = memory::made_anew(dated(&page, "call_id"), prefix.after, prefix.until);
            next = page["next_cursor"].as_str().map(str::to_owned);
            if made.is_some() || next.is_none() {
                return Ok(made);
            }
        }
    }

    /// What the record of a call says; those of earlier builds say nothing.
    async fn recorded(&self, call: CardId) -> Result<Option<Seen>, Failure> {
        let shown = self.get(&["calls", &call.to_string(), "context"]).await?;
        Ok(shown["manifest"]["session_checkpoint"].as_str().and_then(|seen| seen.parse().ok()))
    }

    async fn checkpoint_at(
        &self,
        route: Route,
        moment: Option<Timestamp>,
    ) -> Result<Option<CardId>, Failure> {
        let mut next = None::<String>;
        for _ in 0..limits::EXPLAINED_VERSIONS / limits::PAGE_MAX {
            let page = self.page(route.clone(), next.as_deref()).await?;
            let found = memory::checkpoint_at(dated(&page, "checkpoint_id"), moment);
            next = page["next_cursor"].as_str().map(str::to_owned);
            if found.is_some() || next.is_none() {
                return Ok(found);
            }
        }
        let most = limits::EXPLAINED_VERSIONS;
        Err(Failure::failed(format!(
            "the session has changed more than {most} times since turn {}",
            self.turn
        )))
    }

    pub(super) async fn page(&self, route: Route, cursor: Option<&str>) -> Result<Value, Failure> {
        let route = route.query("limit", Some(limits::PAGE_MAX)).query("cursor", cursor);
        self.client.get(&route).await?.parse()
    }
}

/// The cards that the items of a page name, with when those were made.
fn dated(page: &Value, name: &str) -> Vec<(CardId, Timestamp)> {
    let one = |item: &Value| Some((item[name].as_str()?.parse().ok()?, super::moment(&item["created_at"])?));
    page["items"].as_array().into_iter().flatten().filter_map(one).collect()
}
