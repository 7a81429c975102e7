//! The worker protocol (API-10): claiming turns, and what the holder of one says. Every word is fenced by the
//! decision it leads to (DP-17).

use super::remembered;
use crate::{
    error::{Answer, ApiError},
    request::Request,
    respond,
};
use axum::http::StatusCode;
use cardwire_api::{
    ErrorCode,
    chunks::ChunkIn,
    claim::{ClaimIn, ClaimOut, LeaseOut},
    finish::{EndedOut, FinishIn, ReleaseIn, ReleasedOut},
    parse,
    reports::{ReportIn, ReportOut},
    verbs::{
        AppendedOut, EpochIn, StateOut, StepIn, StepOut, SuspendIn, SuspendedOut, TurnCards, TurnCardsIn,
    },
};
use cardwire_kernel::{
    Done, Kernel, KernelError, NewTurnCard,
    protocol::{
        Rejection,
        access::Needed,
        turn::{
            Command, Fence, Outcome, Proof,
            append::{Append, NewCard},
            claim::Lease,
        },
    },
};
use cardwire_model::{Hash256, ProjectId, Realm, Scope, TurnEpoch};
use serde::Serialize;
use std::{collections::HashMap, time::Duration};

/// How long leases wait for what their turns are given.
const HYDRATE_WITHIN: Duration = Duration::from_secs(1);
/// How often it is asked whether a token that waits is still good.
const ASK_AGAIN: Duration = Duration::from_millis(500);

pub(crate) async fn claim(request: Request) -> Answer {
    let body: ClaimIn = request.body().await?;
    let (kernel, hydrate) = (&request.state.kernel, body.hydrate);
    let mut claim = body.into_request()?;
    claim.projects = within_reach(&request, claim.projects).await?;
    let (caller, secret) = (request.caller()?, request.by()?.secret.expose());
    let leases = tokio::select! {
        leases = kernel.claim(&caller, &claim) => leases?,
        refused = refusal(kernel, secret), if !claim.wait.is_zero() => return Err(refused),
    };
    let held = kernel.hold(leases);
    // The turns run already: their worker must not wait long for what it can read itself.
    let given = match hydrate {
        true => tokio::time::timeout(HYDRATE_WITHIN, kernel.hydrate(held.leases())).await.unwrap_or_default(),
        false => HashMap::new(),
    };
    let held_tokens = held.leases().iter().filter_map(|lease| lease.turn.as_ref());
    for turn in held_tokens {
        request.state.lookups.accept(Hash256::of(&turn.secret));
    }
    let lease = |lease: &Lease| LeaseOut::new(lease, given.get(&(lease.project.clone(), lease.turn_id)));
    respond::ok(&ClaimOut { leases: held.pass_on().iter().map(lease).collect() })
}

/// Completes when a token is good no longer: whoever waits with it is not given what comes after that (SEC-02).
async fn refusal(kernel: &Kernel, secret: &str) -> ApiError {
    loop {
        tokio::time::sleep(ASK_AGAIN).await;
        if let Err(error) = kernel.authenticate(secret).await {
            return error.into();
        }
    }
}

/// The projects to claim from: those named, or the token's own; all of them otherwise.
async fn within_reach(
    request: &Request,
    named: Option<Vec<ProjectId>>,
) -> Result<Option<Vec<ProjectId>>, ApiError> {
    let (kernel, token) = (&request.state.kernel, &request.by()?.token);
    let projects = named.or_else(|| token.realm.project().map(|own| vec![own.clone()]));
    for project in projects.iter().flatten() {
        let needed = Needed { scope: Scope::Work, global: false };
        kernel.permit(token, &Realm::from(project.clone()), needed)?;
    }
    for project in projects.iter().flatten() {
        kernel.live_project(project).await?;
    }
    Ok(projects)
}

pub(crate) async fn start(request: Request) -> Answer {
    let fence = fence(&request, request.body::<EpochIn>().await?.turn_epoch)?;
    let (turn, epoch) = (fence.turn_id, fence.epoch);
    let answer = move |outcome: &Outcome| StateOut::new(turn, epoch, outcome);
    run(&request, Command::Start(fence), StatusCode::OK, answer).await
}

pub(crate) async fn heartbeat(request: Request) -> Answer {
    let fence = fence(&request, request.body::<EpochIn>().await?.turn_epoch)?;
    let (turn, epoch) = (fence.turn_id, fence.epoch);
    let answer = move |outcome: &Outcome| StateOut::new(turn, epoch, outcome);
    run(&request, Command::Heartbeat(fence), StatusCode::OK, answer).await
}

pub(crate) async fn append(request: Request) -> Answer {
    let mut body: TurnCardsIn = request.body().await?;
    let fence = fence(&request, body.turn_epoch)?;
    let step = body.take_step()?;
    let cards = match body.into_cards()? {
        TurnCards::One(card) => request.state.kernel.turn_cards(vec![card])?,
        TurnCards::Many(cards) => make(&request, cards)?,
    };
    let command = Command::Append(Append { fence, cards, calls: vec![], step });
    run(&request, command, StatusCode::OK, AppendedOut::new).await
}

pub(crate) async fn chunk(request: Request) -> Answer {
    let body: ChunkIn = request.body().await?;
    let fence = fence(&request, body.turn_epoch)?;
    request.state.kernel.send_chunk(request.project()?, &fence, body.index, body.text).await?;
    respond::no_content()
}

pub(crate) async fn step(request: Request) -> Answer {
    let body: StepIn = request.body().await?;
    let fence = fence(&request, body.turn_epoch)?;
    run(&request, body.into_command(fence)?, StatusCode::CREATED, StepOut::new).await
}

pub(crate) async fn suspend(request: Request) -> Answer {
    let body: SuspendIn = request.body().await?;
    let fence = fence(&request, body.turn_epoch)?;
    run(&request, body.into_command(fence), StatusCode::OK, SuspendedOut::new).await
}

pub(crate) async fn finish(request: Request) -> Answer {
    let mut body: FinishIn = request.body().await?;
    let fence = fence(&request, body.turn_epoch)?;
    let cards = make(&request, body.take_cards()?)?;
    run(&request, body.into_command(fence, cards)?, StatusCode::OK, EndedOut::new).await
}

pub(crate) async fn release(request: Request) -> Answer {
    let body: ReleaseIn = request.body().await?;
    let fence = fence(&request, body.turn_epoch)?;
    run(&request, body.into_command(fence), StatusCode::OK, ReleasedOut::new).await
}

pub(crate) async fn report(request: Request) -> Answer {
    let body: ReportIn = request.body().await?;
    let agent_id = body.agent_id.clone();
    let command = body.into_command(request.proof()?)?;
    let answer = run(&request, command, StatusCode::OK, ReportOut::new).await;
    answer.map_err(|error| error.for_agent(Some(agent_id)))
}

/// What the caller presents for the turn in the path.
pub(super) fn fence(request: &Request, epoch: u64) -> Result<Fence, ApiError> {
    Ok(Fence {
        turn_id: request.param("agent_turn_id")?,
        epoch: TurnEpoch::new(epoch),
        proof: request.proof()?,
    })
}

/// The cards of a list, each refused under its own place in it.
fn make(request: &Request, cards: Vec<NewTurnCard>) -> Result<Vec<NewCard>, ApiError> {
    let mut made = Vec::with_capacity(cards.len());
    for (index, card) in cards.into_iter().enumerate() {
        let one = request.state.kernel.turn_cards(vec![card]).map_err(|error| match error {
            KernelError::Rejected(Rejection::Invalid(invalid)) => {
                ApiError::from(parse::within(&format!("cards/{index}"), invalid))
            }
            KernelError::Rejected(_)
            | KernelError::Unauthenticated
            | KernelError::TokenEnded(_)
            | KernelError::Contended
            | KernelError::Retriever(_)
            | KernelError::QueueFull(_)
            | KernelError::Crowded(_)
            | KernelError::Store(_) => error.into(),
        })?;
        made.extend(one);
    }
    Ok(made)
}

/// Runs a command on a turn and answers.
pub(super) async fn run<T: Serialize>(
    request: &Request,
    command: Command,
    status: StatusCode,
    answer: impl Fn(&Outcome) -> Option<T> + Copy + Send + Sync + 'static,
) -> Answer {
    let remember = request
        .remember(move |outcome: &Outcome| answer(outcome).and_then(|body| remembered(status, &body)))?;
    let kernel = &request.state.kernel;
    let turn = command.turn_id();
    let done = kernel.turn_command(request.project()?, &request.caller()?, command, remember.as_ref()).await;
    if let Err(KernelError::Rejected(Rejection::Unauthenticated)) = &done
        && let Proof::Lease(secret) = request.proof()?
        && let Some(lost) = kernel.lost_lease(request.project()?, turn, secret).await?
    {
        // The token opened the turn a moment ago, and another worker has it since.
        return Err(Rejection::StaleTurn(turn, lost.epoch.get()).into());
    }
    match done? {
        Done::Replayed(answer) => respond::replayed(answer),
        Done::Fresh(outcome) => match answer(&outcome) {
            Some(body) => Ok(respond::json(status, &body)),
            None => {
                tracing::error!("a command on a turn had an outcome that is not its own");
                Err(ApiError::new(ErrorCode::Internal, "internal error; the server's log has the details"))
            }
        },
    }
}
