//! Whom a handover is for (PK-02): the profile its arguments or its rules name.

use super::Handover;
use crate::Rejection;
use cardwire_model::{Invalid, Profile};
use serde_json::{Map, Value};

/// The name, from the arguments first. Blank counts as absent; none at all is no target.
pub fn wanted<'a>(arguments: &'a Map<String, Value>, handover: &'a Handover) -> Result<&'a str, Invalid> {
    let given = match arguments.get("profile_name") {
        None | Some(Value::Null) => None,
        Some(Value::String(name)) => Some(name.trim()).filter(|name| !name.is_empty()),
        Some(_) => return Err(Invalid::field("arguments/profile_name", "must be a string")),
    };
    given.or(handover.target_profile.as_deref()).ok_or_else(|| {
        Invalid::field("profile_name", "is required, in arguments or in handover/target_profile_config")
    })
}

/// The profile of that name: the very name, else the only one that differs in case alone (W-11).
pub fn resolve<'a>(name: &str, profiles: &'a [Profile]) -> Result<&'a Profile, Rejection> {
    let mut live = profiles.iter().filter(|profile| profile.deleted_at.is_none());
    if let Some(exact) = live.clone().find(|profile| profile.name.as_str() == name) {
        return Ok(exact);
    }
    let mut similar = live.by_ref().filter(|profile| profile.name.as_str().eq_ignore_ascii_case(name));
    match (similar.next(), similar.next()) {
        (Some(only), None) => Ok(only),
        (Some(one), Some(other)) => {
            let message = format!("profile {name} could be {} or {}", one.name, other.name);
            Err(Rejection::Conflict(message))
        }
        (None, _) => Err(Rejection::not_found("profile", name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{box_id, card_id};
    use cardwire_model::{CanonicalJson, Revision, Timestamp};
    use serde_json::json;

    fn profile(name: &str, deleted: bool) -> Profile {
        Profile {
            name: name.parse().unwrap(),
            worker_target: "generic".parse().unwrap(),
            profile_box: box_id(1),
            card_id: card_id(1),
            tags: vec![],
            revision: Revision::FIRST,
            created_at: Timestamp::from_micros(0),
            updated_at: Timestamp::from_micros(0),
            deleted_at: deleted.then_some(Timestamp::from_micros(0)),
        }
    }

    #[test]
    fn pk_02_the_arguments_win_and_blank_is_absent() {
        let rules = |value: Value| Handover::parse(&CanonicalJson::from_value(&value).unwrap()).unwrap();
        let named = rules(json!({ "target_profile_config": { "profile_name": " Analyst " } }));
        let unnamed = rules(json!({ "target_profile_config": { "profile_name": "  " } }));
        let wanted = |arguments: Value, rules: &Handover| {
            let arguments = arguments.as_object().unwrap().clone();
            wanted(&arguments, rules).map(str::to_owned)
        };
        assert_eq!(wanted(json!({ "profile_name": " Writer " }), &named).unwrap(), "Writer");
        assert_eq!(wanted(json!({ "profile_name": "  " }), &named).unwrap(), "Analyst");
        assert_eq!(wanted(json!({ "profile_name": null }), &named).unwrap(), "Analyst");
        assert_eq!(wanted(json!({}), &unnamed).unwrap_err().field_name(), "profile_name");
        assert!(wanted(json!({ "profile_name": 1 }), &named).is_err());
    }

    #[test]
    fn pk_02_exact_first_then_the_only_one_that_differs_in_case() {
        let all = [profile("Analyst", false), profile("analyst", false), profile("Writer", false)];
        let name = |name| resolve(name, &all).map(|profile| profile.name.to_string());
        assert_eq!(name("analyst").unwrap(), "analyst");
        assert_eq!(name("Analyst").unwrap(), "Analyst");
        assert_eq!(name("WRITER").unwrap(), "Writer");
        assert!(matches!(name("ANALYST"), Err(Rejection::Conflict(_))));
        assert!(matches!(name("Nope"), Err(Rejection::NotFound { .. })));
        let gone = [profile("Analyst", true), profile("analyst", false)];
        assert_eq!(resolve("Analyst", &gone).unwrap().name.as_str(), "analyst");
    }
}
