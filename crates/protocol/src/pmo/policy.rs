//! To whom an agent may delegate (PM-14): what its profile's `delegation_policy` says.

use crate::Rejection;
use cardwire_model::Invalid;
use serde_json::Value;

/// Checks the policy of the caller's profile against the target. No policy allows everything, unless the project
/// requires one.
pub fn check(
    policy: Option<&Value>,
    required: bool,
    profile_name: &str,
    tags: &[String],
) -> Result<(), Rejection> {
    let Some(policy) = policy.filter(|policy| !policy.is_null()) else {
        let message = "the caller's profile has no delegation_policy, and this project requires one";
        return if required { Err(Rejection::Forbidden(message.to_owned())) } else { Ok(()) };
    };
    let refuse = |why: &str| Err(Rejection::Forbidden(format!("the caller's delegation_policy {why}")));
    match policy.get("target_profiles") {
        None | Some(Value::Null) => {}
        Some(list) => {
            if !texts(list).any(|allowed| allowed == profile_name) {
                return refuse(&format!("does not allow profile {profile_name}"));
            }
        }
    }
    let Some(wanted) = policy.get("target_tags").filter(|wanted| texts(wanted).next().is_some()) else {
        return Ok(());
    };
    if texts(wanted).any(|tag| tags.iter().any(|has| has == tag)) {
        return Ok(());
    }
    refuse("asks for a tag that the target does not have")
}

/// Whether a profile's policy is one that can be followed: one with a word that nobody knows would allow what it was to forbid.
pub fn check_shape(policy: Option<&Value>) -> Result<(), Invalid> {
    const FIELD: &str = "delegation_policy";
    const KNOWN: [&str; 2] = ["target_profiles", "target_tags"];
    let members = match policy {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Object(members)) => members,
        Some(_) => return Err(Invalid::field(FIELD, "must be an object")),
    };
    for (name, value) in members {
        let refuse = |reason: &str| Err(Invalid::field(format!("{FIELD}/{name}"), reason));
        if !KNOWN.contains(&name.as_str()) {
            return Err(Invalid::unknown(format!("{FIELD}/{name}"), name, &KNOWN));
        }
        let is_list = value.as_array().is_some_and(|list| list.iter().all(Value::is_string));
        if !is_list && !value.is_null() {
            return refuse("must be a list of names, or null");
        }
    }
    Ok(())
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pm_14_a_policy_that_cannot_be_followed_is_refused() {
        for right in [
            json!(null),
            json!({}),
            json!({ "target_profiles": null, "target_tags": ["a"] }),
            json!({ "target_profiles": [] }),
        ] {
            assert_eq!(check_shape(Some(&right)), Ok(()), "{right}");
        }
        assert_eq!(check_shape(None), Ok(()));
        for wrong in [
            json!([]),
            json!("x"),
            json!({ "target_profile": ["Foo"] }),
            json!({ "target_profiles": "Foo" }),
            json!({ "target_tags": [1] }),
        ] {
            assert!(check_shape(Some(&wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn pm_14_null_allows_all_and_an_empty_list_none() {
        let tags = ["fast".to_owned(), "cheap".to_owned()];
        let check = |policy: Value| check(Some(&policy), false, "Foo", &tags).is_ok();
        assert!(super::check(None, false, "Foo", &[]).is_ok());
        // A project may insist on a policy.
        assert!(super::check(None, true, "Foo", &[]).is_err());
        for allowed in [
            json!(null),
            json!({}),
            json!({ "target_profiles": null }),
            json!({ "target_profiles": ["Bar", "Foo"] }),
            json!({ "target_tags": [] }),
            json!({ "target_tags": ["slow", "cheap"] }),
            json!({ "target_profiles": ["Foo"], "target_tags": ["fast"] }),
        ] {
            assert!(check(allowed.clone()), "{allowed}");
        }
        for refused in [
            json!({ "target_profiles": [] }),
            json!({ "target_profiles": ["Bar"] }),
            json!({ "target_tags": ["slow"] }),
            json!({ "target_profiles": ["Foo"], "target_tags": ["slow"] }),
            json!({ "target_profiles": "Foo" }),
        ] {
            assert!(!check(refused.clone()), "{refused}");
        }
    }
}
