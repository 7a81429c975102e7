//! Whether a team can be run, as far as its document says (SEC-08). A team is judged when it is written, when it is run,
//! and by those who have its file, always by this.

use cardwire_model::Invalid;
use cardwire_team::Team;
use serde_json::{Map, Value};

/// Reads the document of a team and checks the models of everybody in it.
pub fn check_team(document: &Value) -> Result<Team, Invalid> {
    let team = Team::parse(document)?;
    for (index, member) in team.agents.iter().enumerate() {
        check_model(&team, &format!("agents/{index}/"), member.model.as_ref(), &member.profile)?;
    }
    for (index, (_, profile)) in team.profiles.iter().enumerate() {
        check_model(&team, &format!("profiles/{index}/"), None, profile)?;
    }
    Ok(team)
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
