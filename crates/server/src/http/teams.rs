//! Running a team (API-17): everybody in it is made ready, then its controller is given the query. Making ready changes
//! nothing that is as it should be, so that a run that could not be dispatched leaves nothing amiss.

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
    Caller, Done, Kernel, NewCard, NewProfile,
    protocol::{
        facts::{create_box::Created, put_card::Put},
        roster::add_agent::AddAgent,
        turn::dispatch::{Dispatch, Dispatched, Receipt},
    },
};
use cardwire_model::{
    BoxId, CanonicalJson, CardDraft, CardId, Channel, Invalid, Origin, ProjectId, ResourceKind, ResourceName,
    Status, TurnId,
};
use cardwire_team::Team;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Pauses between two looks at a run that somebody waits for, in milliseconds.
const PAUSES: [u64; 4] = [10, 20, 50, 100];

/// A team that could not be run is not kept (SEC-08).
pub(crate) async fn put(request: Request) -> Answer {
    let name: ResourceName = request.param("team_name")?;
    let draft = documents::draft(ResourceKind::Team, &name, &request.json()?)?;
    Parts::of(&check_team(&draft.content.to_value())?)?;
    super::documents::put(request, ResourceKind::Team).await
}

pub(crate) async fn run(request: Request) -> Answer {
    let (project, kernel) = (request.project()?.clone(), &request.state.kernel);
    let body: RunTeamIn = request.body()?;
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
    let ready = Ready { kernel, project: &project, caller: &caller };
    let controller_profile = ready.make(&team).await?;
    let context = ready.context(&body.query).await?;
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
    let command = Dispatch {
        agent_id: Some(parse::one("name", &team.controller_id())?),
        profile_box: Some(controller_profile),
        context_box: Some(context),
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
    let first = about.clone();
    let remember = request.remember(move |dispatched: &Dispatched| match dispatched {
        Dispatched::Accepted(receipt) => remembered(StatusCode::OK, &started(&first, receipt)),
        Dispatched::Repeated(_) => None,
    })?;
    let receipt = match kernel.dispatch(&project, &caller, &command, remember.as_ref()).await? {
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

/// Everybody whom a run needs.
struct Ready<'a> {
    kernel: &'a Kernel,
    project: &'a ProjectId,
    caller: &'a Caller,
}

impl Ready<'_> {
    /// Tools, profiles and agents of a team: all are read before the first is written. Gives the box of the controller's
    /// profile.
    async fn make(&self, team: &Team) -> Result<BoxId, ApiError> {
        let controller = team.controller_id();
        let Parts { tools, profiles, own } = Parts::of(team)?;
        for (name, draft) in tools {
            self.kernel.put_resource(self.project, self.caller, ResourceKind::Tool, name, draft).await?;
        }
        for profile in profiles {
            self.kernel.put_profile(self.project, self.caller, profile).await?;
        }
        for member in team.roster() {
            self.agent(&team.agent_id(&member.id), &member.profile_name).await?;
        }
        let own = self.kernel.put_profile(self.project, self.caller, own).await?.profile.profile_box;
        self.agent(&controller, &controller).await?;
        Ok(own)
    }

    async fn agent(&self, id: &str, profile: &str) -> Result<(), ApiError> {
        let command = AddAgent {
            id: parse::one("agents/id", id)?,
            profile_name: parse::one("profile/name", profile)?,
            display_name: None,
            tags: None,
            metadata: CanonicalJson::empty_object(),
            refresh: true,
        };
        self.kernel.add_agent(self.project, self.caller, &command, None).await?;
        Ok(())
    }

    /// What the controller is given.
    async fn context(&self, query: &str) -> Result<BoxId, ApiError> {
        let draft = CardDraft {
            content: CanonicalJson::string(query)?,
            metadata: CanonicalJson::from_value(&json!({ "type": "task.instruction", "role": "user" }))?,
            tool_calls: None,
            tool_call_id: None,
            ttl_seconds: None,
        };
        let new = NewCard { id: None, draft, origin: Origin::Operator };
        let card = match self.kernel.put_card(self.project, self.caller, new, None).await? {
            Done::Fresh(Put::Created(card)) => card.id,
            Done::Fresh(Put::Existing(id)) => id,
            Done::Replayed(_) => return Err(Invalid::field("query", "was asked before").into()),
        };
        match self.kernel.create_box(self.project, self.caller, None, &[card], None).await? {
            Done::Fresh(Created::New(head)) => Ok(head.box_id),
            Done::Fresh(Created::Existing(id)) => Ok(id),
            Done::Replayed(_) => Err(Invalid::field("query", "was asked before").into()),
        }
    }
}

/// What a team brings along.
struct Parts {
    tools: Vec<(ResourceName, CardDraft)>,
    profiles: Vec<NewProfile>,
    /// The controller's profile.
    own: NewProfile,
}

impl Parts {
    fn of(team: &Team) -> Result<Self, Invalid> {
        let tools = team.tools.iter().map(tool).collect::<Result<_, _>>()?;
        let mut profiles = vec![];
        for (name, fields) in &team.profiles {
            profiles.push(profile(name, profile_of(team, name, fields, None))?);
        }
        for member in team.roster() {
            let fields = profile_of(team, &member.id, &member.profile, member.model.as_ref());
            profiles.push(profile(&member.profile_name, fields)?);
        }
        let own = json!({
            "worker_target": cardwire_team::WORKER_TARGET,
            "system_prompt": "Runs the team; asks no model.",
        });
        let own = profile(&team.controller_id(), own.as_object().cloned().unwrap_or_default())?;
        Ok(Self { tools, profiles, own })
    }
}

fn tool(document: &Value) -> Result<(ResourceName, CardDraft), Invalid> {
    let name: ResourceName = parse::one("tools/name", document["name"].as_str().unwrap_or_default())?;
    let draft = documents::draft(ResourceKind::Tool, &name, document.to_string().as_bytes())?;
    Ok((name, draft))
}

fn profile(name: &str, fields: Map<String, Value>) -> Result<NewProfile, Invalid> {
    let body = Value::Object(fields).to_string();
    let new = parse::body::<ProfileIn>(body.as_bytes())?;
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
