//! Commands on turns: load what they touch, decide, commit, ring.

mod asked;
mod chunk;
mod claim;
mod dispatch;
mod forsaken;
mod hydrate;
mod line;
mod live;
mod questions;
mod reads;
mod recall;
mod recover;
mod report;
mod roster;
mod run;
mod silent;
mod subtree;
mod team;
mod watchdog;

pub(crate) use asked::AskedTargets;
pub use chunk::Chunk;
pub(crate) use chunk::WAITING as WAITING_CHUNKS;
pub use claim::{ClaimRequest, Recover};
pub use forsaken::Held;
pub use hydrate::Hydrated;
pub(crate) use line::Line;
pub use line::Place;
pub use live::{LiveTurn, LiveTurns};
pub use reads::{TurnView, ViewedTurn};
pub(crate) use recall::Recall;
pub use roster::NewProfile;
pub use run::NewTurnCard;
pub(crate) use run::Running;
pub(crate) use silent::{Listening, SilentTurns};
pub use team::RunTeam;
pub use watchdog::{TickAction, TickReport};

use cardwire_model::ProjectId;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash};
use tokio::sync::{Mutex, MutexGuard};

/// Lets commands on one agent, or one session, wait for each other here instead of conflicting in the store. Only a help: what keeps
/// them apart is the guard of every commit.
pub(crate) struct Turnstile {
    stripes: Vec<Mutex<()>>,
    /// Without a random seed, so that a simulated run can be repeated.
    hasher: BuildHasherDefault<DefaultHasher>,
}

const STRIPES: usize = 1_024;

impl Default for Turnstile {
    fn default() -> Self {
        Self {
            stripes: (0..STRIPES).map(|_| Mutex::new(())).collect(),
            hasher: BuildHasherDefault::default(),
        }
    }
}

impl Turnstile {
    pub(crate) async fn pass(&self, project: &ProjectId, what: &impl Hash) -> MutexGuard<'_, ()> {
        let place = self.hasher.hash_one((project, what)) as usize % STRIPES;
        self.stripes[place].lock().await
    }
}
