//! Write a profile: a `sys.profile` card in the profile's box. A changed profile is a new card in a new box, so that
//! turns that were given the old one can still be reproduced (CB-13).

use super::check_tags;
use crate::{Decision, Moment, Rejection, pmo::policy, turn::take_back::MAX_ATTEMPTS};
use cardwire_model::{
    AuditAction, BoxHead, BoxId, Card, Commit, Entry, Invalid, NewBox, Profile, ProfileName, ProjectId,
    Revision, Snapshot, WorkerTarget, Write, builtin_tools::check_builtin_tools, check_model_settings,
    check_tool_entries, check_web_address, credential::check_no_secrets, limits,
};
use serde_json::{Value, json};

/// A profile to write.
#[derive(Debug, Clone)]
pub struct PutProfile {
    /// Its name.
    pub name: ProfileName,
    /// Which workers serve its agents.
    pub worker_target: WorkerTarget,
    /// For choosing agents.
    pub tags: Vec<String>,
    /// The whole of it, as a `sys.profile` card with a fresh id.
    pub card: Card,
    /// The card the profile has now.
    pub current: Option<Card>,
}

/// The profile as it is now, and whether anything changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Put {
    /// The row.
    pub profile: Profile,
    /// The profile is new.
    pub created: bool,
}

/// Writes the profile; the same text again changes nothing.
pub fn decide(
    snapshot: &Snapshot,
    project: &ProjectId,
    command: &PutProfile,
    moment: &Moment,
) -> Result<Decision<Put>, Rejection> {
    check_tags(&command.tags)?;
    let content = command.card.content.to_value();
    check_no_secrets(&content)?;
    check_builtin_tools(&content)?;
    check_tool_entries(&content)?;
    check_model_settings(&content["llm_config"], "llm_config")?;
    policy::check_shape(content.get("delegation_policy"))?;
    check_sizes(&content["llm_config"])?;
    check_address(&content["llm_config"])?;
    check_attempts(&content[MAX_ATTEMPTS])?;
    let existing = snapshot.profile.as_ref();
    if let (Some(profile), Some(card)) = (existing, &command.current)
        && profile.deleted_at.is_none()
        && profile.card_id == card.id
        && card.fact_hash == command.card.fact_hash
    {
        let put = Put { profile: profile.clone(), created: false };
        return Ok(Decision::nothing(project.clone(), put));
    }
    let box_id = BoxId::from_uuid(moment.fresh.uuid());
    let profile = Profile {
        name: command.name.clone(),
        worker_target: command.worker_target.clone(),
        profile_box: box_id,
        card_id: command.card.id,
        tags: command.tags.clone(),
        revision: existing.map_or(Revision::FIRST, |profile| profile.revision.next()),
        created_at: existing.map_or(moment.now, |profile| profile.created_at),
        updated_at: moment.now,
        deleted_at: None,
    };
    let head = BoxHead { len: 1, entries: 1, sealed: true, ..BoxHead::empty(box_id, moment.now) };
    let mut commit = Commit::new(project.clone());
    commit.writes.push(Write::PutCard(Box::new(command.card.clone())));
    commit.writes.push(Write::CreateBox(NewBox { head, entries: vec![Entry::direct(command.card.id)] }));
    commit.writes.push(Write::PutProfile {
        was: existing.map(|profile| profile.revision),
        profile: Box::new(profile.clone()),
    });
    let detail = json!({ "profile_box_id": box_id.to_string() });
    commit.audit.push(moment.audit(AuditAction::ProfileWrite, &command.name, &detail));
    let created = existing.is_none_or(|profile| profile.deleted_at.is_some());
    Ok(Decision { commit, outcome: Put { profile, created } })
}

/// What is read of the model's settings here, and not by the provider: a window that is no number would be no window
/// (OB-03).
fn check_sizes(config: &Value) -> Result<(), Invalid> {
    for name in ["context_window", "reserve"] {
        let size = &config[name];
        if !size.is_null() && size.as_u64().is_none_or(|size| size > u32::MAX.into()) {
            let reason = format!("must be a whole number, at most {}", u32::MAX);
            return Err(Invalid::field(format!("llm_config/{name}"), reason));
        }
    }
    Ok(())
}

/// How often a turn is given to a worker (WD-04).
fn check_attempts(most: &Value) -> Result<(), Invalid> {
    let range = 1..=u64::from(limits::TURN_ATTEMPTS_MAX);
    if most.is_null() || most.as_u64().is_some_and(|most| range.contains(&most)) {
        return Ok(());
    }
    let reason = format!("is {most} and must be a whole number from 1 to {}", limits::TURN_ATTEMPTS_MAX);
    Err(Invalid::field(MAX_ATTEMPTS, reason))
}

/// Where a model is said to be, with nothing in it that must not be kept (SEC-09).
fn check_address(config: &Value) -> Result<(), Invalid> {
    match &config["base_url"] {
        Value::Null => Ok(()),
        Value::String(url) => {
            check_web_address(url).map_err(|reason| Invalid::field("llm_config/base_url", reason))
        }
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Err(Invalid::field("llm_config/base_url", "must be a text"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F-39, SEC-08
    #[test]
    fn a_model_is_at_an_address_without_credentials() {
        let check = |url: Value| check_address(&json!({ "base_url": url }));
        assert_eq!((check(Value::Null), check(json!("http://127.0.0.1:1/v1"))), (Ok(()), Ok(())));
        for wrong in [json!("file:///etc"), json!("http://me:hunter2@x"), json!(7)] {
            assert_eq!(check(wrong.clone()).unwrap_err().field_name(), "llm_config/base_url", "{wrong}");
        }
        assert_eq!(check_address(&Value::Null), Ok(()));
    }

    /// WD-04, SEC-07
    #[test]
    fn a_profile_allows_1_to_100_attempts() {
        for legal in [json!(null), json!(1), json!(3), json!(limits::TURN_ATTEMPTS_MAX)] {
            assert_eq!(check_attempts(&legal), Ok(()));
        }
        let large = limits::TURN_ATTEMPTS_MAX + 1;
        for wrong in [json!(0), json!(-1), json!(large), json!(1.5), json!("3"), json!(true), json!([1])] {
            assert_eq!(check_attempts(&wrong).unwrap_err().field_name(), "max_attempts", "{wrong}");
        }
    }

    /// OB-03, API-06
    #[test]
    fn sizes_that_the_kernel_reads_are_whole_numbers() {
        for name in ["context_window", "reserve"] {
            let check = |size: Value| check_sizes(&json!({ name: size, "temperature": "any" }));
            for legal in [json!(null), json!(0), json!(8000), json!(u32::MAX)] {
                assert_eq!(check(legal), Ok(()));
            }
            let large = u64::from(u32::MAX) + 1;
            for wrong in
                [json!("8000"), json!(-5), json!(8000.5), json!(true), json!({ "a": 1 }), json!(large)]
            {
                let refused = check(wrong.clone()).unwrap_err();
                assert_eq!(refused.field_name(), format!("llm_config/{name}"), "{wrong}");
            }
        }
        assert_eq!(check_sizes(&Value::Null), Ok(()));
    }
}
