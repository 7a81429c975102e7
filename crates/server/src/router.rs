//! The router, built from the table of endpoints.

use crate::{
    chunks,
    error::{Answer, ApiError},
    gate, http,
    limit::RateLimit,
    state::{ServerConfig, State},
    trace::{self, Trace},
    workspace::Workspace,
};
use axum::{
    Router,
    extract::{RawPathParams, Request, State as Shared},
    http::{HeaderValue, Method, header},
    response::{IntoResponse, Response},
    routing::any,
};
use cardwire_api::{ENDPOINTS, Endpoint, ErrorCode, Op, openapi};
use cardwire_kernel::Kernel;
use cardwire_model::{ResourceKind, limits};
use std::{
    collections::{BTreeMap, HashMap},
    panic::AssertUnwindSafe,
    sync::Arc,
    time::Duration,
};
use tracing::Instrument;

/// Longest time a request may take; the event stream has no end.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// Verification and the watchdog look at everything there is, and so do checks of packages with many files.
const ADMIN_TIMEOUT: Duration = Duration::from_secs(3600);

// A claim that waits as long as it may is answered, not given up.
const _: () = assert!(REQUEST_TIMEOUT.as_millis() > limits::CLAIM_WAIT_MS as u128);

/// Makes the router of a kernel.
pub fn router(kernel: Arc<Kernel>, mut config: ServerConfig) -> Router {
    let document = openapi::document(config.version).to_string();
    let rate = RateLimit::new(config.requests_per_second);
    let workspace = Workspace::new(config.workspace.take());
    let state = Arc::new(State { kernel, config, rate, workspace, document });
    let mut groups: BTreeMap<&str, Vec<&'static Endpoint>> = BTreeMap::new();
    for endpoint in ENDPOINTS {
        // Axum cannot match `{box_id}:verb`; the verb comes with the parameter and is split off here.
        let path =
            endpoint.path.rsplit_once("}:").map_or(endpoint.path, |(path, _)| &endpoint.path[..=path.len()]);
        groups.entry(path).or_default().push(endpoint);
    }
    let mut router = Router::new();
    for (path, group) in groups {
        let group: Arc<[&'static Endpoint]> = group.into();
        let handler = move |Shared(state): Shared<Arc<State>>, params: RawPathParams, request: Request| {
            let params = params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            answer(state, Route::find(&group, request.method(), params), request)
        };
        router = router.route(path, any(handler));
    }
    router.fallback(unknown).with_state(state)
}

async fn unknown(Shared(state): Shared<Arc<State>>, request: Request) -> Response {
    let missing = Route::Refused(ApiError::new(ErrorCode::NotFound, "no such route"), None);
    answer(state, missing, request).await
}

/// Where a request goes.
enum Route {
    To(&'static Endpoint, HashMap<String, String>),
    /// Nowhere; with the methods that would have been right.
    Refused(ApiError, Option<String>),
}

impl Route {
    fn find(group: &[&'static Endpoint], method: &Method, mut params: HashMap<String, String>) -> Self {
        let last = group.first().and_then(|endpoint| endpoint.parameters().last());
        let verb = last.and_then(|name| params.get_mut(name)).and_then(|value| {
            let (id, verb) = value.rsplit_once(':')?;
            let verb = verb.to_owned();
            *value = id.to_owned();
            Some(verb)
        });
        let same: Vec<_> = group.iter().filter(|endpoint| endpoint.verb() == verb.as_deref()).collect();
        match same.iter().find(|endpoint| endpoint.method == method.as_str()) {
            Some(endpoint) => Self::To(endpoint, params),
            None if same.is_empty() => {
                Self::Refused(ApiError::new(ErrorCode::NotFound, "no such route"), None)
            }
            None => {
                let allowed = same.iter().map(|endpoint| endpoint.method).collect::<Vec<_>>().join(", ");
                let message = format!("{method} is not offered here, only {allowed}");
                Self::Refused(ApiError::new(ErrorCode::MethodNotAllowed, message), Some(allowed))
            }
        }
    }
}

async fn answer(state: Arc<State>, route: Route, request: Request) -> Response {
    let started = state.kernel.now();
    let trace = Trace::of(request.headers(), state.kernel.ids());
    let traceparent = trace.answer();
    let (name, method) = match &route {
        Route::To(endpoint, _) => (endpoint.path, endpoint.method),
        Route::Refused(..) => ("none", "none"),
    };
    let span = trace.span(method, name);
    let outcome = match route {
        Route::To(endpoint, params) => {
            guarded(&state, endpoint, params, request, trace.trace_id).instrument(span.clone()).await
        }
        Route::Refused(error, allowed) => {
            let mut response = error.into_response();
            if let Some(allowed) = allowed.and_then(|text| HeaderValue::try_from(text).ok()) {
                response.headers_mut().insert(header::ALLOW, allowed);
            }
            Ok(response)
        }
    };
    let error = outcome.as_ref().err().map(|error| error.code);
    let mut response = outcome.unwrap_or_else(IntoResponse::into_response);
    let micros = state.kernel.now().micros() - started.micros();
    let status = response.status().as_u16();
    trace::ended(&span, status, error);
    tracing::info!(method, route = name, status, micros, trace = ?traceparent, "request");
    metrics::counter!("cardwire_http_requests_total", "route" => name, "method" => method, "status" => status.to_string())
        .increment(1);
    metrics::histogram!("cardwire_http_request_seconds", "route" => name).record(micros as f64 / 1e6);
    response.headers_mut().insert(trace::TRACEPARENT, traceparent);
    response
}

/// Runs a handler within a time limit; a panic in it is an internal error of this one request.
async fn guarded(
    state: &Arc<State>,
    endpoint: &'static Endpoint,
    params: HashMap<String, String>,
    request: Request,
    trace_id: String,
) -> Answer {
    let (parts, body) = request.into_parts();
    let bearer = parts.headers.get(header::AUTHORIZATION).cloned();
    let work = AssertUnwindSafe(async {
        let request = gate::admit(state, endpoint, params, parts, body, trace_id).await?;
        dispatch(endpoint.op, request).await
    });
    let looks_at_all = matches!(
        endpoint.op,
        Op::Verify
            | Op::Tick
            | Op::CreateHandoff
            | Op::ValidateHandoff
            | Op::ValidateProjectHandoff
            | Op::PackHandoff
    );
    let limit = if looks_at_all { ADMIN_TIMEOUT } else { REQUEST_TIMEOUT };
    let outcome = tokio::time::timeout(limit, futures_util::FutureExt::catch_unwind(work)).await;
    let answer = match outcome {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => {
            Err(ApiError::new(ErrorCode::Internal, "internal error; the server's log has the details"))
        }
        Err(_) => Err(ApiError::new(ErrorCode::Timeout, "the request took too long")),
    };
    if let Err(error) = &answer
        && error.code == ErrorCode::Forbidden
    {
        record_denial(state, endpoint, bearer.as_ref(), &error.message).await;
    }
    answer
}

/// Every refusal of a known token is an audit row (SEC-05), whatever part of us refused.
async fn record_denial(state: &State, endpoint: &Endpoint, bearer: Option<&HeaderValue>, reason: &str) {
    let secret = bearer.and_then(|value| value.to_str().ok()).and_then(|value| value.split_once(' '));
    if let Some((_, secret)) = secret
        && let Ok(token) = state.kernel.authenticate(secret.trim()).await
    {
        let route = format!("{} {}", endpoint.method, endpoint.path);
        state.kernel.record_denial(&token, &route, reason).await;
    }
}

async fn dispatch(op: Op, request: crate::request::Request) -> Answer {
    match op {
        Op::Health => http::system::health(),
        Op::Ready => http::system::ready(request).await,
        Op::Metrics => http::system::metrics(&request).await,
        Op::OpenApi => http::system::openapi(&request),
        Op::Verify => http::system::verify(request).await,
        Op::Tick => http::system::tick(request).await,
        Op::ListProjects => http::projects::list(request).await,
        Op::CreateProject => http::projects::create(request).await,
        Op::GetProject => http::projects::get(request).await,
        Op::UpdateProject => http::projects::update(request).await,
        Op::DeleteProject => http::projects::delete(request).await,
        Op::ListAudit => http::projects::audit(request).await,
        Op::ReadEvents => crate::sse::read(request).await,
        Op::ListTokens => http::tokens::list(request).await,
        Op::CreateToken => http::tokens::create(request).await,
        Op::RevokeToken => http::tokens::revoke(request).await,
        Op::GetBox => http::boxes::get(request).await,
        Op::GetBoxCards => http::boxes::cards(request).await,
        Op::GetProvenance => http::boxes::provenance(request).await,
        Op::ReadBoxes => http::boxes::batch(request).await,
        Op::CreateBox => http::boxes::create(request).await,
        Op::AppendToBox => http::boxes::append(request).await,
        Op::RewriteBox => http::boxes::rewrite(request).await,
        Op::ForkBox => http::boxes::fork(request).await,
        Op::GetCard => http::cards::get(request).await,
        Op::ReadCards => http::cards::batch(request).await,
        Op::PutCard => http::cards::put(request).await,
        Op::DeleteCard => http::cards::delete(request).await,
        Op::ListProfiles => http::profiles::list(request).await,
        Op::GetProfile => http::profiles::get(request).await,
        Op::PutProfile => http::profiles::put(request).await,
        Op::DeleteProfile => http::profiles::delete(request).await,
        Op::ListAgents => http::agents::list(request).await,
        Op::AddAgent => http::agents::add(request).await,
        Op::GetAgent => http::agents::get(request).await,
        Op::ListTools => http::documents::list(request, ResourceKind::Tool).await,
        Op::GetTool => http::documents::get(request, ResourceKind::Tool).await,
        Op::PutTool => http::documents::put(request, ResourceKind::Tool).await,
        Op::DeleteTool => http::documents::delete(request, ResourceKind::Tool).await,
        Op::ListRecipes => http::documents::list(request, ResourceKind::Recipe).await,
        Op::GetRecipe => http::documents::get(request, ResourceKind::Recipe).await,
        Op::PutRecipe => http::documents::put(request, ResourceKind::Recipe).await,
        Op::DeleteRecipe => http::documents::delete(request, ResourceKind::Recipe).await,
        Op::ListTeams => http::documents::list(request, ResourceKind::Team).await,
        Op::GetTeam => http::documents::get(request, ResourceKind::Team).await,
        Op::PutTeam => http::documents::put(request, ResourceKind::Team).await,
        Op::RunTeam => http::teams::run(request).await,
        Op::DeleteTeam => http::documents::delete(request, ResourceKind::Team).await,
        Op::GetPlan => http::documents::get(request, ResourceKind::Plan).await,
        Op::PutPlan => http::documents::put(request, ResourceKind::Plan).await,
        Op::DeletePlan => http::documents::delete(request, ResourceKind::Plan).await,
        Op::CreateHandoff => http::handoffs::create(request).await,
        Op::ListHandoffs => http::handoffs::list(request).await,
        Op::GetHandoff => http::handoffs::get(request).await,
        Op::LoadHandoff => http::handoffs::load(request).await,
        Op::ValidateHandoff | Op::ValidateProjectHandoff => http::handoffs::validate(request).await,
        Op::PackHandoff => http::handoffs::pack(request).await,
        Op::WriteFiles => http::workspace::write(request).await,
        Op::ListHandoffTypes => http::documents::list(request, ResourceKind::HandoffType).await,
        Op::GetHandoffType => http::documents::get(request, ResourceKind::HandoffType).await,
        Op::PutHandoffType => http::handoffs::put_type(request).await,
        Op::DeleteHandoffType => http::documents::delete(request, ResourceKind::HandoffType).await,
        Op::PackContext => http::pmo::pack(request).await,
        Op::CallTool => http::pmo::call(request).await,
        Op::DispatchTurn => http::turns::dispatch(request).await,
        Op::ListTurns => http::turns::list(request).await,
        Op::GetTurn => http::turns::get(request).await,
        Op::ViewTurn | Op::GetTurnView => http::turns::view(request).await,
        Op::StopTurn => http::turns::stop(request).await,
        Op::ClaimTurns => http::worker::claim(request).await,
        Op::StartTurn => http::worker::start(request).await,
        Op::BeatTurn => http::worker::heartbeat(request).await,
        Op::AppendTurnCards => http::worker::append(request).await,
        Op::SendChunk => http::worker::chunk(request).await,
        Op::ReadChunks => chunks::read(request).await,
        Op::TakeStep => http::worker::step(request).await,
        Op::SuspendTurn => http::worker::suspend(request).await,
        Op::FinishTurn => http::worker::finish(request).await,
        Op::ReleaseTurn => http::worker::release(request).await,
        Op::ReportTool => http::worker::report(request).await,
        Op::ListHeads => http::state::heads(request).await,
        Op::GetHead => http::state::head(request).await,
        Op::RebuildHead => http::state::rebuild(request).await,
        Op::ListInbox => http::state::inbox(request).await,
        Op::ListSteps => http::state::steps(request).await,
        Op::SumCost => http::state::cost(request).await,
        Op::ListEdges => http::state::edges(request).await,
        Op::ListIdentityEdges => http::state::identity_edges(request).await,
        Op::ListBatches => http::batches::list(request).await,
        Op::GetBatch => http::batches::get(request).await,
        Op::CancelBatch => http::batches::cancel(request).await,
        Op::ListSessions => http::sessions::list(request).await,
        Op::GetSession => http::sessions::get(request).await,
        Op::DeleteSession => http::sessions::delete(request).await,
        Op::PatchSession => http::sessions::patch(request).await,
        Op::GetCompaction => http::sessions::compaction(request).await,
        Op::CompactSession => http::sessions::compact(request).await,
        Op::ListCheckpoints => http::sessions::checkpoints(request).await,
        Op::RestoreSession => http::sessions::restore(request).await,
        Op::CollectContext => http::context::collect(request).await,
        Op::GetExperience => http::experience::get(request).await,
        Op::NoteExperience => http::experience::note(request).await,
        Op::SaveExperience => http::experience::save(request).await,
        Op::TakeInKnowledge => http::knowledge::take_in(request).await,
        Op::ListKnowledge => http::knowledge::list(request).await,
        Op::SearchKnowledge => http::knowledge::search(request).await,
        Op::DropKnowledge => http::knowledge::remove(request).await,
        Op::ComposeContext => http::context::compose(&request),
        Op::ComposeCall => http::calls::compose(request).await,
        Op::GetCallContext => http::calls::show(request).await,
        Op::DiffContext => http::context::diff(request).await,
        Op::WhyContext => http::context::why(request).await,
        Op::ExpandContext => http::context::expand(request).await,
    }
}
