//! Profiles that were read a moment ago, so that turns of one profile do not all read it.

use crate::{desk::Desk, profile::Profile, trouble::Trouble};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// How long a profile is good for. Its box is sealed when the kernel made it, but a turn may name any box, and cards can be
/// deleted.
const TRUSTED: Duration = Duration::from_millis(500);
/// How many are remembered. Beyond that all are read anew.
const REMEMBERED: usize = 256;

/// Profiles by box.
#[derive(Debug, Default)]
pub(crate) struct Profiles {
    read: Mutex<HashMap<String, (Instant, Arc<Profile>)>>,
}

impl Profiles {
    /// The profile of a turn.
    pub(crate) async fn of(&self, desk: &Desk) -> Result<Arc<Profile>, Trouble> {
        let box_id = &desk.lease.profile_box_id;
        let (name, now) = (desk.path(box_id), Instant::now());
        if let Some(profile) = self.known(&name, now) {
            return Ok(profile);
        }
        let profile = Arc::new(Profile::of(&desk.box_cards(box_id).await?));
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.len() >= REMEMBERED {
            read.clear();
        }
        // It is as old as the question.
        read.insert(name, (now, Arc::clone(&profile)));
        Ok(profile)
    }

    fn known(&self, name: &str, now: Instant) -> Option<Arc<Profile>> {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, profile) = read.get(name)?;
        (now.duration_since(*at) < TRUSTED).then(|| Arc::clone(profile))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_trusted_for_a_moment_only() {
        let (profiles, now) = (Profiles::default(), Instant::now());
        let profile = Arc::new(Profile::default());
        profiles.read.lock().unwrap().insert("a".to_owned(), (now, profile));
        assert!(profiles.known("a", now).is_some() && profiles.known("b", now).is_none());
        assert!(profiles.known("a", now + TRUSTED - Duration::from_millis(1)).is_some());
        assert!(profiles.known("a", now + TRUSTED).is_none());
    }
}
