//! Running a team (API-17): everybody in it is made ready and its controller is given the query, together. Making ready
//! changes nothing that is as it should be.

use super::remembered;
use crate::{
    error::{Answer, ApiError},
    request::Request,
    respond,
    team::check_team,
};
use axum::http::StatusCode;
use cardwire_api::{
    ErrorCode, documents, parse,
    questions::QuestionOut,
    roster::ProfileIn,
    teams::{RunTeamIn, RunTeamOut},
    turns::{TurnOut, TurnStatus},
};
use cardwire_kernel::{
    Done, Kernel, NewProfile, RunTeam,
    protocol::{
        roster::add_agent::AddAgent,
        turn::dispatch::{Dispatch, Dispatched, Receipt},
    },
};
use cardwire_model::{
    BUILTIN_TOOLS, CancelFlag, CanonicalJson, CardDraft, CardId, Channel, Invalid, ProjectId, ResourceKind,
    ResourceName, Status, TurnId,
};
use cardwire_team::Team;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Pauses between two looks at a run that somebody waits for, in milliseconds.
const PAUSES: [u64; 4] = [10, 20, 50, 100];

/// A team that could not be run is not kept (SEC-08).
pub(crate) async fn put(request: Request) -> Answer {
    let name: ResourceName = request.param("team_name")?;
    let draft = super::documents::draft(&request, ResourceKind::Team, name).await?;
    let checked = move |_: &CancelFlag| Ok(Parts::of(&check_team(&draft.content.to_value())?).map(drop)?);
    request.compute(request.body.len(), checked).await?;
    super::documents::put(request, ResourceKind::Team).await
}

pub(crate) async fn run(request: Request) -> Answer {
    let (project, kernel) = (request.project()?.clone(), &request.state.kernel);
    let body: RunTeamIn = request.body().await?;
    body.check()?;
    let wait = parse::wait(body.wait_ms);
    // Whoever asks again with the same key is told which run it is, or waits for that one; nothing is made ready for it.
    if let Some(remember) = request.remember::<Dispatched>(|_| None)?
        && let Some(answer) = kernel.answered(&project, &remember.key).await?
    {
        return again(kernel, &project, answer, wait).await;
    }
    let name: ResourceName = request.param("team_name")?;
    let (_, document) = kernel.resource(&project, ResourceKind::Team, &name).await?;
    let team = check_team(&document.content.to_value())?;
    let caller = request.caller()?;
    let Parts { tools, profiles, mut agents } = Parts::of(&team)?;
    for agent in &mut agents {
        agent.trace_id = Some(request.trace.id.clone());
    }
    let turn_id = TurnId::from_uuid(kernel.ids().uuid());
    let about = About {
        team: team.name.clone(),
        session: body.session_id.clone().unwrap_or_else(|| format!("run_{}", turn_id.uuid().simple())),
        namespace: body.namespace.clone().unwrap_or_else(|| "default".to_owned()),
    };
    let settings = json!({
        "team": team.name, "team_card_id": document.id.to_string(), "session_id": about.session,
        "namespace": about.namespace, "limits": { "agent_timeout_seconds": team.limits.agent_timeout_seconds },
    });
    let dispatch = Dispatch {
        agent_id: Some(parse::one("name", &team.controller_id())?),
        profile_box: None,
        context_box: None,
        output_box: None,
        turn_id: Some(turn_id),
        correlation_id: None,
        channel: Channel::public(),
        trace_id: request.trace.id.clone(),
        parent_turn: None,
        parent_call: None,
        parent_step: None,
        branch: None,
        source_agent: None,
        display_name: Some(team.name.clone()),
        runtime_config: CanonicalJson::from_value(&settings)?,
        queue_if_busy: true,
        emit_state_event: true,
        max_depth: kernel.live_project(&project).await?.settings.recursion_depth(),
    };
    let command = RunTeam { tools, profiles, agents, query: query(&body.query)?, dispatch };
    let first = about.clone();
    let remember = request.remember(move |dispatched: &Dispatched| match dispatched {
        Dispatched::Accepted(receipt) => remembered(StatusCode::OK, &started(&first, receipt)),
        Dispatched::Repeated(_) => None,
    })?;
    let receipt = match kernel.run_team(&project, &caller, &command, remember.as_ref()).await? {
        // Asked for twice at the same moment.
        Done::Replayed(answer) => return again(kernel, &project, answer, wait).await,
        Done::Fresh(Dispatched::Accepted(receipt)) => *receipt,
        Done::Fresh(Dispatched::Repeated(turn)) => kernel.receipt(&project, turn).await?,
    };
    if wait.is_zero() {
        return respond::ok(&started(&about, &receipt));
    }
    ended(kernel, &project, &about, receipt.turn_id, wait).await
}

/// What a run is told by.
#[derive(Clone)]
struct About {
    team: String,
    session: String,
    namespace: String,
}

/// Answers whoever asks for a run that was begun before.
async fn again(
    kernel: &Kernel,
    project: &ProjectId,
    answer: cardwire_model::Answer,
    wait: Duration,
) -> Answer {
    if wait.is_zero() {
        return respond::replayed(answer);
    }
    let damaged = || ApiError::new(ErrorCode::Internal, "a remembered answer is damaged");
    let (about, turn) = remembered_run(&answer.body).ok_or_else(damaged)?;
    ended(kernel, project, &about, turn, wait).await
}

/// Waits for a run, and tells how it ended or stands.
async fn ended(kernel: &Kernel, project: &ProjectId, about: &About, turn: TurnId, wait: Duration) -> Answer {
    let (turn, questions) = await_rest(kernel, project, turn, wait).await?;
    let deliverable = match &turn.deliverable_card_id {
        Some(id) => {
            let cards = kernel.get_cards(project, &[parse::one::<CardId>("card_id", id)?], false).await?;
            cards.first().map(|card| card.content.to_value())
        }
        None => None,
    };
    let About { team, session, namespace } = about;
    respond::ok(&RunTeamOut::new(team, (session, namespace), turn, deliverable, questions))
}

/// A run, by the answer that was given when it began.
fn remembered_run(answer: &str) -> Option<(About, TurnId)> {
    let answer: Value = serde_json::from_str(answer).ok()?;
    let text = |name: &str| answer[name].as_str().map(str::to_owned);
    let about = About { team: text("team")?, session: text("session_id")?, namespace: text("namespace")? };
    Some((about, text("agent_turn_id")?.parse().ok()?))
}

/// A run that has just been dispatched.
fn started(about: &About, receipt: &Receipt) -> RunTeamOut {
    let About { team, session, namespace } = about;
    RunTeamOut {
        team: team.clone(),
        agent_id: receipt.agent_id.to_string(),
        agent_turn_id: receipt.turn_id.to_string(),
        output_box_id: Some(receipt.output_box.to_string()),
        session_id: session.clone(),
        namespace: namespace.clone(),
        status: if receipt.epoch.is_some() { "dispatched" } else { "queued" },
        deliverable: None,
        deliverable_card_id: None,
        error: None,
        error_code: None,
        questions: vec![],
    }
}

/// The turn once it has ended or nothing goes on without a person's answer, or as it stands when the time is over; and what
/// people are asked (PR-10).
async fn await_rest(
    kernel: &Kernel,
    project: &ProjectId,
    turn: TurnId,
    wait: Duration,
) -> Result<(TurnOut, Vec<QuestionOut>), ApiError> {
    let rest = async {
        let mut pauses = PAUSES.into_iter();
        let mut pause = PAUSES[0];
        loop {
            let seen = kernel.turn(project, turn).await?;
            let status = TurnStatus::of(&seen);
            if let TurnStatus::Ended(_) = status {
                return Ok::<_, ApiError>((seen, vec![]));
            }
            if status == TurnStatus::Live(Status::Suspended)
                && let Some(questions) = kernel.pause(project, turn).await?
            {
                return Ok((seen, questions));
            }
            pause = pauses.next().unwrap_or(pause);
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
    };
    let (seen, questions) = match tokio::time::timeout(wait, rest).await {
        Ok(rest) => rest?,
        Err(_) => (kernel.turn(project, turn).await?, kernel.questions(project, turn).await?),
    };
    Ok((TurnOut::from(&seen), questions.into_iter().map(Into::into).collect()))
}

/// What a team brings along.
struct Parts {
    tools: Vec<(ResourceName, CardDraft)>,
    profiles: Vec<NewProfile>,
    agents: Vec<AddAgent>,
}

impl Parts {
    fn of(team: &Team) -> Result<Self, Invalid> {
        let tools = team.tools.iter().map(tool).collect::<Result<_, _>>()?;
        let (mut profiles, mut agents) = (vec![], vec![]);
        for (name, fields) in &team.profiles {
            profiles.push(profile(name, profile_of(team, name, fields, None))?);
        }
        for member in team.roster() {
            let mut fields = profile_of(team, &member.id, &member.profile, member.model.as_ref());
            if let Some(set) = team.builtin_tools_beside(&member.profile) {
                fields.insert(BUILTIN_TOOLS.to_owned(), set.as_str().into());
            }
            profiles.push(profile(&member.profile_name, fields)?);
            agents.push(agent(&team.agent_id(&member.id), &member.profile_name)?);
        }
        let controller = team.controller_id();
        let own = json!({
            "worker_target": cardwire_team::WORKER_TARGET,
            "system_prompt": "Runs the team; asks no model.",
        });
        profiles.push(profile(&controller, own.as_object().cloned().unwrap_or_default())?);
        agents.push(agent(&controller, &controller)?);
        Ok(Self { tools, profiles, agents })
    }
}

fn agent(id: &str, profile: &str) -> Result<AddAgent, Invalid> {
    Ok(AddAgent {
        id: parse::one("agents/id", id)?,
        profile_name: parse::one("profile/name", profile)?,
        display_name: None,
        tags: None,
        metadata: CanonicalJson::empty_object(),
        refresh: true,
        trace_id: None,
    })
}

/// What the controller is given.
fn query(query: &str) -> Result<CardDraft, Invalid> {
    Ok(CardDraft {
        content: CanonicalJson::string(query)?,
        metadata: CanonicalJson::from_value(&json!({ "type": "task.instruction", "role": "user" }))?,
        tool_calls: None,
        tool_call_id: None,
        ttl_seconds: None,
    })
}

fn tool(document: &Value) -> Result<(ResourceName, CardDraft), Invalid> {
    let name: ResourceName = parse::one("tools/name", document["name"].as_str().unwrap_or_default())?;
    let draft = documents::draft(ResourceKind::Tool, &name, document.to_string().as_bytes())?;
    Ok((name, draft))
}

fn profile(name: &str, fields: Map<String, Value>) -> Result<NewProfile, Invalid> {
    let body = Value::Object(fields).to_string();
    let new = ProfileIn::read(body.as_bytes())?;
    let (new, _) = new.into_profile(parse::one("profile/name", name)?, body.as_bytes())?;
    Ok(new)
}

/// A profile as it is written: its own fields, the team's worker and model, and the name by which the model knows it.
fn profile_of(
    team: &Team,
    name: &str,
    fields: &Map<String, Value>,
    model: Option<&Value>,
) -> Map<String, Value> {
    let mut fields = fields.clone();
    fields.entry("worker_target").or_insert_with(|| cardwire_team::WORKER_TARGET.into());
    let mut config = team.model_of(model, &fields);
    if !config.is_empty() {
        config.entry("agent").or_insert_with(|| name.into());
        fields.insert("llm_config".to_owned(), config.into());
    }
    fields
}
