//! The roster: profiles, and the agents that have them (PM-02).

pub mod add_agent;
pub mod delete_profile;
pub mod put_profile;
pub mod run_team;

use cardwire_model::{Invalid, limits};

/// Most tags of a profile or an agent.
const TAGS: usize = 64;

pub(crate) fn check_tags(tags: &[String]) -> Result<(), Invalid> {
    Invalid::check_size("tags", tags.len(), TAGS, "tags")?;
    tags.iter().enumerate().try_for_each(|(index, tag)| check_name(&format!("tags/{index}"), tag))
}

pub(crate) fn check_name(field: &str, name: &str) -> Result<(), Invalid> {
    let legal = !name.trim().is_empty()
        && name.chars().count() <= limits::NAME_CHARS
        && !name.chars().any(char::is_control);
    let reason = || format!("must be 1 to {} printable characters, not blank", limits::NAME_CHARS);
    if legal { Ok(()) } else { Err(Invalid::field(field, reason())) }
}

#[cfg(test)]
mod tests;
