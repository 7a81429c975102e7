//! Profiles and agents (API-07).

use super::{CURSOR, Endpoint, LIMIT, Op, delete, get, json, post, yaml};
use crate::{
    Access,
    roster::{AgentIn, AgentList, AgentOut, ProfileIn, ProfileList, ProfileOut},
};
use cardwire_model::Scope::{Operate, Read};

const PROFILES: &str = "/projects/{project_id}/profiles";
const PROFILE: &str = "/projects/{project_id}/profiles/{profile_name}";
const AGENTS: &str = "/projects/{project_id}/agents";

pub(super) const ENDPOINTS: &[Endpoint] = &[
    get(Op::ListProfiles, PROFILES, Access::Project(Read), "Profiles by name.", json::<ProfileList>())
        .query(&[CURSOR, LIMIT]),
    get(Op::GetProfile, PROFILE, Access::Project(Read), "A profile.", json::<ProfileOut>()),
    post(
        Op::PutProfile,
        PROFILE,
        Access::Project(Operate),
        "Write a profile. 200 when it was there.",
        yaml::<ProfileIn>(),
        (201, json::<ProfileOut>()),
    )
    .method("PUT"),
    delete(
        Op::DeleteProfile,
        PROFILE,
        Access::Project(Operate),
        "Delete a profile. Its agents keep the box they were made with.",
    ),
    get(Op::ListAgents, AGENTS, Access::Project(Read), "Agents by name.", json::<AgentList>())
        .query(&[CURSOR, LIMIT]),
    post(
        Op::AddAgent,
        AGENTS,
        Access::Project(Operate),
        "Add an agent to the roster. 200 when it was there.",
        json::<AgentIn>(),
        (201, json::<AgentOut>()),
    )
    .repeatable(),
    get(
        Op::GetAgent,
        "/projects/{project_id}/agents/{agent_id}",
        Access::Project(Read),
        "An agent.",
        json::<AgentOut>(),
    ),
];
