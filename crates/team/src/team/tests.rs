//! What a team's document may say, and how it is refused.

use super::*;
use crate::{Role, fixtures::document};
use serde_json::json;

fn refused(document: &Value) -> String {
    Team::parse(document).unwrap_err().to_string()
}

/// The document with one value changed.
fn with(path: &str, value: Value) -> Value {
    let mut given = document("dynamic", &["a", "b"]);
    let (parent, name) = path.rsplit_once('/').unwrap();
    let parent = given.pointer_mut(parent).unwrap();
    match name.parse::<usize>() {
        Ok(index) => parent[index] = value,
        Err(_) => parent[name] = value,
    }
    given
}

/// PR-04, PR-11
#[test]
fn what_a_team_does_not_say_has_a_default() {
    let team = Team::parse(&document("sequential", &["a", "b"])).unwrap();
    assert_eq!((team.share, &team.model, team.agents.len()), (true, &json!({}), 2));
    let limits = Limits {
        max_steps: 25,
        agent_timeout_seconds: 300,
        tool_timeout_seconds: 30,
        retries: 0,
        max_rounds: 100,
    };
    assert_eq!(team.limits, limits);
    assert_eq!(team.member("b").unwrap().profile_name, "crew_b");
    assert_eq!(
        team.member("b").unwrap().profile,
        *json!({ "system_prompt": "You are b." }).as_object().unwrap()
    );
    assert_eq!(team.member("c"), None);
    assert_eq!(team.controller_id(), "team_crew");
}

#[test]
fn what_a_team_says_is_kept() {
    let given = json!({
        "name": "crew", "process": "dynamic", "description": "Sails.", "entry": "b", "enable_share_context": false,
        "model": { "provider": "scripted" },
        "limits": { "max_steps": 1, "retries": 2, "max_rounds": 7 },
        "tools": [{ "name": "publish", "approval": "required" }],
        "profiles": [{ "name": "Searcher", "system_prompt": "Search.", "tags": ["x"] }],
        "agents": [
            { "id": "a", "profile": { "name": "Cook", "system_prompt": "Cook.", "allowed_tools": ["publish"] } },
            { "id": "b", "profile": { "system_prompt": "Eat." }, "can_delegate_to": [], "model": { "model": "m" } },
            { "id": "c", "profile": { "system_prompt": "Wash." }, "can_delegate_to": ["b"], "description": "Washes." },
        ],
    });
    let team = Team::parse(&given).unwrap();
    assert_eq!(
        (team.share, team.entry.as_deref(), team.description.as_deref()),
        (false, Some("b"), Some("Sails."))
    );
    assert_eq!((team.limits.max_steps, team.limits.retries), (1, 2));
    assert_eq!(team.tools, [given["tools"][0].clone()]);
    let searcher = json!({ "system_prompt": "Search.", "tags": ["x"] });
    assert_eq!(team.profiles, [("Searcher".to_owned(), searcher.as_object().unwrap().clone())]);
    let [a, b, c] = &team.agents[..] else { panic!("{:?}", team.agents) };
    assert_eq!((a.profile_name.as_str(), a.profile.get("name")), ("Cook", None));
    assert_eq!(a.profile["allowed_tools"], json!(["publish"]));
    // Who says nothing may hand over to all others, who names nobody to nobody.
    assert_eq!(
        (&a.can_delegate_to[..], &b.can_delegate_to[..]),
        (&["b".to_owned(), "c".to_owned()][..], &[][..])
    );
    assert_eq!(c.can_delegate_to, ["b"]);
    assert_eq!((b.model.as_ref(), c.model.as_ref()), (Some(&json!({ "model": "m" })), None));
}

/// PR-09
#[test]
fn a_process_has_its_names_and_no_other() {
    for (name, process) in [
        ("sequential", Process::Sequential),
        ("dynamic", Process::Dynamic),
        ("hierarchical", Process::Hierarchical),
        ("react", Process::React),
        ("map_reduce", Process::MapReduce),
        ("mapreduce", Process::MapReduce),
    ] {
        assert_eq!(Team::parse(&document(name, &["a", "b"])).unwrap().process, process);
    }
    let expected = "process: must be one of sequential, dynamic, hierarchical, react, map_reduce";
    assert_eq!(refused(&document("chaotic", &["a"])), expected);
}

/// PR-08
#[test]
fn map_reduce_needs_somebody_who_works_and_somebody_who_reduces() {
    let expected = "agents: must be at least two for map_reduce; the last one reduces";
    assert_eq!(refused(&document("mapreduce", &["a"])), expected);
    assert!(Team::parse(&document("map_reduce", &["a", "b"])).is_ok());
}

/// PR-11
#[test]
fn every_limit_has_a_bound() {
    for (name, low, high) in [
        ("max_steps", 1, 1_000),
        ("agent_timeout_seconds", 1, 604_800),
        ("tool_timeout_seconds", 1, 604_800),
        ("retries", 0, 10),
        ("max_rounds", 1, 1_000),
    ] {
        let set = |value: Value| Team::parse(&with("/limits", json!({ name: value })));
        for good in [low, high] {
            assert!(set(json!(good)).is_ok(), "{name} {good}");
        }
        for bad in [json!(low - 1), json!(high + 1), json!("1"), json!(1.5), json!(u64::MAX)] {
            let expected = format!("limits/{name}: must be a whole number from {low} to {high}");
            assert_eq!(set(bad).unwrap_err().to_string(), expected);
        }
        assert!(set(Value::Null).is_ok());
    }
    assert_eq!(refused(&with("/limits", json!({ "steps": 3 }))), "limits/steps: is not known");
}

/// PR-01, PR-11
#[test]
fn a_long_line_of_agents_has_a_round_for_each() {
    for (agents, rounds) in [(100, 100), (101, 101)] {
        let names: Vec<String> = (0..agents).map(|number| format!("a{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(Team::parse(&document("sequential", &names)).unwrap().limits.max_rounds, rounds);
    }
}

/// PR-11
#[test]
fn a_team_that_cannot_end_within_its_limit_is_refused() {
    for (process, least) in [("sequential", 4), ("map_reduce", 3), ("react", 3), ("dynamic", 1)] {
        let mut given = document(process, &["a", "b", "c", "d"]);
        given["limits"] = json!({ "max_rounds": least });
        assert!(Team::parse(&given).is_ok(), "{process}");
        if least > 1 {
            given["limits"] = json!({ "max_rounds": least - 1 });
            let expected = format!("limits/max_rounds: must be at least {least}, ");
            assert!(refused(&given).starts_with(&expected), "{}", refused(&given));
        }
    }
}

#[test]
fn what_is_no_team_is_refused_by_its_path() {
    for (given, field) in [
        (json!([]), "body"),
        (json!({}), "name"),
        (with("/name", json!("a b")), "name"),
        (with("/nam", json!("x")), "nam"),
        (with("/process", Value::Null), "process"),
        (with("/process", json!(1)), "process"),
        (with("/entry", json!("x")), "entry"),
        (with("/enable_share_context", json!("yes")), "enable_share_context"),
        (with("/model", json!("gpt")), "model"),
        (with("/limits", json!([])), "limits"),
        (with("/description", json!(1)), "description"),
        (with("/agents", Value::Null), "agents"),
        (with("/agents", json!([])), "agents"),
        (with("/agents", json!({})), "agents"),
        (with("/agents", json!(vec![json!({}); 1_001])), "agents"),
        (with("/agents/1", json!("b")), "agents/1"),
        (with("/agents/1/id", json!("a")), "agents/1/id"),
        (with("/agents/1/id", json!("team_crew")), "agents/1/id"),
        (with("/agents/1/id", json!("b.c")), "agents/1/id"),
        (with("/agents/1/id", json!("b".repeat(129))), "agents/1/id"),
        (with("/name", json!("b".repeat(129))), "name"),
        (with("/agents/1/profile/name", json!("team_crew")), "agents/1/profile/name"),
        (with("/agents/1/role", json!("x")), "agents/1/role"),
        (with("/agents/0/profile", Value::Null), "agents/0/profile"),
        (with("/agents/0/profile", json!("x")), "agents/0/profile"),
        (with("/agents/0/profile/system_prompt", Value::Null), "agents/0/profile/system_prompt"),
        (with("/agents/0/profile/system_prompt", json!(" ")), "agents/0/profile/system_prompt"),
        (with("/agents/0/profile/system_prompt", json!(["x"])), "agents/0/profile/system_prompt"),
        (with("/agents/0/profile/name", json!("x.y")), "agents/0/profile/name"),
        (with("/agents/0/profile/name", json!("crew_b")), "agents/1/profile/name"),
        (with("/agents/0/model", json!("gpt")), "agents/0/model"),
        (with("/agents/0/description", json!({})), "agents/0/description"),
        (with("/agents/0/can_delegate_to", json!("b")), "agents/0/can_delegate_to"),
        (with("/agents/0/can_delegate_to", json!([1])), "agents/0/can_delegate_to/0"),
        (with("/agents/0/can_delegate_to", json!(["b", "x"])), "agents/0/can_delegate_to/1"),
        (with("/agents/0/can_delegate_to", json!(["b", "b"])), "agents/0/can_delegate_to/1"),
        (with("/agents/0/can_delegate_to", json!(["a"])), "agents/0/can_delegate_to/0"),
        (with("/tools", json!({})), "tools"),
        (with("/tools", json!(["x"])), "tools/0"),
        (with("/tools", json!([{}])), "tools/0/name"),
        (with("/tools", json!([{ "name": "a b" }])), "tools/0/name"),
        (with("/tools", json!([{ "name": "x" }, { "name": "x" }])), "tools/1/name"),
        (with("/profiles", json!([{ "system_prompt": "x" }])), "profiles/0/name"),
        (with("/profiles", json!([{ "name": "x" }])), "profiles/0/system_prompt"),
        (with("/profiles", json!([{ "name": "crew_a", "system_prompt": "x" }])), "profiles/0/name"),
        (with("/profiles", json!([{ "name": "x y", "system_prompt": "x" }])), "profiles/0/name"),
    ] {
        assert_eq!(Team::parse(&given).unwrap_err().field_name(), field, "{given}");
    }
}

#[test]
fn an_entry_is_for_dynamic_only() {
    let mut given = document("hierarchical", &["a", "b"]);
    given["entry"] = json!("a");
    assert_eq!(refused(&given), "entry: is for the process dynamic only");
}

/// A long name of a team and a long id make a name that would be too long: it is cut, and stays one of its own.
#[test]
fn a_name_made_of_two_stays_legal() {
    let ids = [format!("{}b", "b".repeat(127)), format!("{}c", "b".repeat(127))];
    let mut given = document("react", &[&ids[0], &ids[1]]);
    given["name"] = json!("a".repeat(128));
    let team = Team::parse(&given).unwrap();
    let mut names: Vec<_> = team.roster().into_iter().map(|member| member.profile_name).collect();
    names.push(team.controller_id());
    assert_eq!(names.iter().collect::<HashSet<_>>().len(), 5, "{names:?}");
    assert!(names.iter().all(|name| name.len() == 128), "{names:?}");
    let helper = team.agent_id(&team.planner_id());
    assert_eq!(helper.len(), 128);
    given["name"] = json!("a".repeat(120));
    assert_eq!(Team::parse(&given).unwrap().controller_id(), format!("team_{}", "a".repeat(120)));
}

/// Whoever has the id of a helper's agent could not be made.
#[test]
fn nobody_has_the_id_of_an_agent_that_comes_with_the_team() {
    for id in ["planner", "reflector", "crew_planner", "crew_reflector", "team_crew"] {
        assert!(refused(&document("react", &[id, "b"])).starts_with("agents/0/id"), "{id}");
        let plain = Team::parse(&document("sequential", &[id, "b"]));
        assert_eq!(plain.is_ok(), id != "team_crew", "{id}");
    }
}

/// PR-05, PR-07
#[test]
fn the_roster_has_the_helpers_of_the_process() {
    let roster = |process: &str| -> Vec<String> {
        Team::parse(&document(process, &["a", "b"]))
            .unwrap()
            .roster()
            .into_iter()
            .map(|member| member.id)
            .collect()
    };
    for process in ["sequential", "dynamic", "hierarchical"] {
        assert_eq!(roster(process), ["a", "b"]);
    }
    assert_eq!(roster("react"), ["a", "b", "planner", "reflector"]);
    assert_eq!(roster("map_reduce"), ["a", "b", "planner"]);
    for (process, id, legal) in [
        ("react", "planner", false),
        ("react", "reflector", false),
        ("map_reduce", "planner", false),
        ("map_reduce", "reflector", true),
        ("dynamic", "planner", true),
    ] {
        assert_eq!(Team::parse(&document(process, &[id, "b"])).is_ok(), legal, "{process} {id}");
    }
}

/// PR-05, PR-07
#[test]
fn a_helper_is_told_to_answer_with_json_and_has_no_tools() {
    for (process, ids) in [("react", &["planner", "reflector"][..]), ("map_reduce", &["planner"])] {
        let roster = Team::parse(&document(process, &["a", "b"])).unwrap().roster();
        for id in ids {
            let helper = roster.iter().find(|member| member.id == *id).unwrap();
            assert_eq!(helper.profile_name, format!("crew_{id}"));
            assert!(helper.profile["system_prompt"].as_str().unwrap().contains("Answer with JSON only:\n{"));
            assert_eq!(helper.profile["allowed_tools"], json!([]));
        }
    }
}

/// PR-04..PR-07
#[test]
fn a_role_knows_its_context() {
    for (role, name, process, context, takes) in [
        (Role::Agent, "agent", Process::Sequential, "sequential", true),
        (Role::Agent, "agent", Process::Dynamic, "dynamic", true),
        (Role::Agent, "agent", Process::Hierarchical, "hierarchical", true),
        (Role::Agent, "agent", Process::React, "react", true),
        (Role::Manager, "manager", Process::Hierarchical, "hierarchical", true),
        (Role::Planner, "planner", Process::React, "react", false),
        (Role::Reflector, "reflector", Process::React, "react", false),
        (Role::MapWorker, "worker", Process::MapReduce, "map_reduce_worker", true),
        (Role::MapPlanner, "planner", Process::MapReduce, "map_reduce_planner", true),
        (Role::Reducer, "reducer", Process::MapReduce, "map_reduce_reducer", true),
    ] {
        assert_eq!(
            (role.as_str(), role.context_process(process), role.takes_context()),
            (name, context, takes)
        );
    }
}

/// API-17
#[test]
fn a_model_is_the_teams_unless_somebody_says_otherwise() {
    let mut given = document("dynamic", &["a", "b"]);
    given["model"] = json!({ "provider": "scripted", "model": "m", "params": { "seed": 1 } });
    given["agents"][0]["model"] = json!({ "model": "own" });
    given["agents"][0]["profile"]["llm_config"] = json!({ "params": { "seed": 2 } });
    let team = Team::parse(&given).unwrap();
    let model = |id: &str| {
        let member = team.member(id).unwrap();
        Value::Object(team.model_of(member.model.as_ref(), &member.profile))
    };
    assert_eq!(model("b"), given["model"]);
    assert_eq!(model("a"), json!({ "provider": "scripted", "model": "own", "params": { "seed": 2 } }));
    let silent = Team::parse(&document("dynamic", &["a"])).unwrap();
    assert!(silent.model_of(None, &Map::new()).is_empty());
}
