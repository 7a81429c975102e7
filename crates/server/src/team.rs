//! Whether a team can be run, as far as its document says (SEC-08). A team is judged when it is written, when it is run,
//! and by those who have its file, always by this.

use cardwire_model::{Invalid, check_model_settings, credential::check_no_secrets};
use cardwire_team::Team;
use serde_json::{Map, Value};

/// Reads the document of a team and checks the models of everybody in it.
pub fn check_team(document: &Value) -> Result<Team, Invalid> {
    check_no_secrets(document)?;
    let team = Team::parse(document)?;
    check_model_settings(&team.model, "model")?;
    for (index, member) in team.agents.iter().enumerate() {
        let place = |name: &str| format!("agents/{index}/{name}");
        check_model_settings(member.model.as_ref().unwrap_or(&Value::Null), &place("model"))?;
        check_profile_model(&member.profile, &place("profile"))?;
        check_model(&team, &format!("agents/{index}/"), member.model.as_ref(), &member.profile)?;
    }
    for (index, (_, profile)) in team.profiles.iter().enumerate() {
        check_profile_model(profile, &format!("profiles/{index}"))?;
        check_model(&team, &format!("profiles/{index}/"), None, profile)?;
    }
    Ok(team)
}

fn check_profile_model(profile: &Map<String, Value>, place: &str) -> Result<(), Invalid> {
    let settings = profile.get("llm_config").unwrap_or(&Value::Null);
    check_model_settings(settings, &format!("{place}/llm_config"))
}

/// Models that cannot be made are told now, not when their agents are asked. Somebody without one may be given it later.
fn check_model(
    team: &Team,
    place: &str,
    own: Option<&Value>,
    profile: &Map<String, Value>,
) -> Result<(), Invalid> {
    let model = team.model_of(own, profile);
    if model.is_empty() {
        return Ok(());
    }
    let is_own = own.is_some() || profile.contains_key("llm_config");
    let place = if is_own { place } else { "" };
    cardwire_llm::check(&Value::Object(model))
        .map_err(|wrong| Invalid::field(format!("{place}{}", wrong.field), wrong.reason))
}
