//! The router, built from the table of endpoints.

use crate::{
    chunks,
    error::{Answer, ApiError},
    gate::{self, Holder, Params},
    http, inspect,
    state::{ServerConfig, State},
    trace::{self, Trace},
    unread,
};
use axum::{
    Router,
    extract::{RawPathParams, Request, State as Shared, rejection::RawPathParamsRejection},
    http::{HeaderValue, Method, header},
    response::{IntoResponse, Response},
    routing::any,
};
use cardwire_api::{ENDPOINTS, Endpoint, ErrorCode, Op, pmo::RequestTrace};
use cardwire_kernel::{Kernel, protocol::facts};
use cardwire_model::{Invalid, ResourceKind, limits};
use futures_util::future::BoxFuture;
use std::{
    collections::{BTreeMap, HashMap},
    panic::AssertUnwindSafe,
    sync::Arc,
    time::Duration,
};
use tracing::Instrument;

/// Longest time a request may take; the event stream has no end.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// Verification and the watchdog look at everything there is, checks of packages at many files, and the deletion of a session
/// at all that it ever showed.
const ADMIN_TIMEOUT: Duration = Duration::from_secs(3600);

// A claim that waits as long as it may is answered, not given up.
const _: () = assert!(REQUEST_TIMEOUT.as_millis() > limits::CLAIM_WAIT_MS as u128);

/// Makes the router of a kernel.
pub fn router(kernel: Arc<Kernel>, config: ServerConfig) -> Router {
    let state = Arc::new(State::new(kernel, config));
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
        let handler = move |Shared(state): Shared<Arc<State>>, params: RawParams, request: Request| {
            let route = match params {
                Ok(params) => Route::find(&group, request.method(), owned(&params)),
                Err(rejection) => Route::unreadable(&group, request.method(), &rejection),
            };
            answer(state, route, request)
        };
        router = router.route(path, any(handler));
    }
    let router =
        router.route("/inspect", any(inspect::answer)).route("/inspect/{*rest}", any(inspect::answer));
    router.fallback(unknown).with_state(state)
}

async fn unknown(Shared(state): Shared<Arc<State>>, request: Request) -> Response {
    let missing = Route::Refused(ApiError::new(ErrorCode::NotFound, "no such route"), None);
    answer(state, missing, request).await
}

/// What axum makes of the parameters of a path. Its own refusal is plain text, which nobody gets from us (API-06).
type RawParams = Result<RawPathParams, RawPathParamsRejection>;

fn owned(params: &RawPathParams) -> HashMap<String, String> {
    params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Where a request goes.
enum Route {
    /// With the parameters of its path, or which of them cannot be read: that is told only to those who may ask.
    To(&'static Endpoint, Params),
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
        match same.iter().find(|endpoint| endpoint.method == asked(method)) {
            Some(endpoint) => Self::To(endpoint, Ok(params)),
            None if same.is_empty() => {
                Self::Refused(ApiError::new(ErrorCode::NotFound, "no such route"), None)
            }
            None => Self::wrong_method(method, same.into_iter()),
        }
    }

    /// A parameter is not UTF-8, so its verb is not known either: endpoints that share a path and a method differ in
    /// nothing that matters before it is refused.
    fn unreadable(group: &[&'static Endpoint], method: &Method, rejection: &RawPathParamsRejection) -> Self {
        let Some(endpoint) = group.iter().find(|endpoint| endpoint.method == asked(method)) else {
            return Self::wrong_method(method, group.iter());
        };
        // Axum tells the name in its text only.
        let text = rejection.body_text();
        let name = text.split('`').nth(1).unwrap_or("path");
        Self::To(endpoint, Err(Invalid::field(name, "must be UTF-8")))
    }

    fn wrong_method<'a>(method: &Method, offered: impl Iterator<Item = &'a &'static Endpoint>) -> Self {
        let methods: Vec<_> = offered.map(|endpoint| endpoint.method).collect();
        let allowed = facts::distinct(&methods).join(", ");
        let message = format!("{method} is not offered here, only {allowed}");
        Self::Refused(ApiError::new(ErrorCode::MethodNotAllowed, message), Some(allowed))
    }
}

/// `HEAD` asks for what `GET` does, without the body, which the server leaves out by itself.
fn asked(method: &Method) -> &str {
    if method == Method::HEAD { "GET" } else { method.as_str() }
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
            guarded(&state, endpoint, params, request, trace.of_request()).instrument(span.clone()).await
        }
        Route::Refused(error, allowed) => {
            let (parts, body) = request.into_parts();
            let closes = !unread::take(&parts.headers, body).await;
            let mut response = ApiError { closes, ..error }.into_response();
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
    // Anybody can cause these in any number.
    if let Some(ErrorCode::Unauthenticated | ErrorCode::RateLimited) = error {
        tracing::debug!(method, route = name, status, micros, trace = ?traceparent, "request");
    } else {
        tracing::info!(method, route = name, status, micros, trace = ?traceparent, "request");
    }
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
    params: Params,
    request: Request,
    trace: RequestTrace,
) -> Answer {
    let (parts, body) = request.into_parts();
    let mut holder = None;
    let work = AssertUnwindSafe(async {
        let request = gate::admit(state, endpoint, params, parts, body, trace, &mut holder).await?;
        dispatch(endpoint.op, request).await
    });
    let looks_at_all = matches!(
        endpoint.op,
        Op::Verify
            | Op::Tick
            | Op::DeleteSession
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
        // Perhaps its body has not come either.
        Err(_) => {
            Err(ApiError { closes: true, ..ApiError::new(ErrorCode::Timeout, "the request took too long") })
        }
    };
    if let Err(error) = &answer
        && is_told(error.code)
    {
        record_denial(state, endpoint, holder, &error.message).await;
    }
    answer
}

/// Refusals that the audit tells of: of tokens, and of those whose turn was given to somebody else meanwhile.
const fn is_told(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::Forbidden | ErrorCode::BoxNotWritable | ErrorCode::Unauthenticated | ErrorCode::StaleTurn
    )
}

/// Every refusal of a token that somebody holds is an audit row (SEC-05), whatever part of us refused. That a turn token
/// does not open another turn is one, too.
async fn record_denial(state: &State, endpoint: &Endpoint, holder: Option<Holder>, reason: &str) {
    if let Some(Holder { caller, realm }) = holder {
        let route = format!("{} {}", endpoint.method, endpoint.path);
        state.kernel.record_denial(&caller, &realm, &route, reason).await;
    }
}

/// The handler of an operation, on the heap: one future with room for all handlers would not fit on a thread's stack without
/// optimisation.
fn dispatch(op: Op, request: crate::request::Request) -> BoxFuture<'static, Answer> {
    match op {
        Op::Health => Box::pin(async { http::system::health() }),
        Op::Ready => Box::pin(http::system::ready(request)),
        Op::Metrics => Box::pin(async move { http::system::metrics(&request).await }),
        Op::OpenApi => Box::pin(async move { http::system::openapi(&request) }),
        Op::Verify => Box::pin(http::system::verify(request)),
        Op::Tick => Box::pin(http::system::tick(request)),
        Op::ListProjects => Box::pin(http::projects::list(request)),
        Op::CreateProject => Box::pin(http::projects::create(request)),
        Op::GetProject => Box::pin(http::projects::get(request)),
        Op::UpdateProject => Box::pin(http::projects::update(request)),
        Op::DeleteProject => Box::pin(http::projects::delete(request)),
        Op::ListAudit => Box::pin(http::projects::audit(request)),
        Op::ReadEvents => Box::pin(crate::sse::read(request)),
        Op::ListTokens => Box::pin(http::tokens::list(request)),
        Op::CreateToken => Box::pin(http::tokens::create(request)),
        Op::RevokeToken => Box::pin(http::tokens::revoke(request)),
        Op::GetBox => Box::pin(http::boxes::get(request)),
        Op::GetBoxCards => Box::pin(http::boxes::cards(request)),
        Op::GetProvenance => Box::pin(http::boxes::provenance(request)),
        Op::ReadBoxes => Box::pin(http::boxes::batch(request)),
        Op::CreateBox => Box::pin(http::boxes::create(request)),
        Op::AppendToBox => Box::pin(http::boxes::append(request)),
        Op::RewriteBox => Box::pin(http::boxes::rewrite(request)),
        Op::ForkBox => Box::pin(http::boxes::fork(request)),
        Op::GetCard => Box::pin(http::cards::get(request)),
        Op::ReadCards => Box::pin(http::cards::batch(request)),
        Op::PutCard => Box::pin(http::cards::put(request)),
        Op::DeleteCard => Box::pin(http::cards::delete(request)),
        Op::ListProfiles => Box::pin(http::profiles::list(request)),
        Op::GetProfile => Box::pin(http::profiles::get(request)),
        Op::PutProfile => Box::pin(http::profiles::put(request)),
        Op::DeleteProfile => Box::pin(http::profiles::delete(request)),
        Op::ListAgents => Box::pin(http::agents::list(request)),
        Op::AddAgent => Box::pin(http::agents::add(request)),
        Op::GetAgent => Box::pin(http::agents::get(request)),
        Op::ListTools => Box::pin(http::documents::list(request, ResourceKind::Tool)),
        Op::GetTool => Box::pin(http::documents::get(request, ResourceKind::Tool)),
        Op::PutTool => Box::pin(http::documents::put(request, ResourceKind::Tool)),
        Op::DeleteTool => Box::pin(http::documents::delete(request, ResourceKind::Tool)),
        Op::ListRecipes => Box::pin(http::documents::list(request, ResourceKind::Recipe)),
        Op::GetRecipe => Box::pin(http::documents::get(request, ResourceKind::Recipe)),
        Op::PutRecipe => Box::pin(http::documents::put(request, ResourceKind::Recipe)),
        Op::DeleteRecipe => Box::pin(http::documents::delete(request, ResourceKind::Recipe)),
        Op::ListTeams => Box::pin(http::documents::list(request, ResourceKind::Team)),
        Op::GetTeam => Box::pin(http::documents::get(request, ResourceKind::Team)),
        Op::PutTeam => Box::pin(http::teams::put(request)),
        Op::RunTeam => Box::pin(http::teams::run(request)),
        Op::DeleteTeam => Box::pin(http::documents::delete(request, ResourceKind::Team)),
        Op::GetPlan => Box::pin(http::documents::get(request, ResourceKind::Plan)),
        Op::PutPlan => Box::pin(http::documents::put(request, ResourceKind::Plan)),
        Op::DeletePlan => Box::pin(http::documents::delete(request, ResourceKind::Plan)),
        Op::CreateHandoff => Box::pin(http::handoffs::create(request)),
        Op::ListHandoffs => Box::pin(http::handoffs::list(request)),
        Op::GetHandoff => Box::pin(http::handoffs::get(request)),
        Op::LoadHandoff => Box::pin(http::handoffs::load(request)),
        Op::ValidateHandoff | Op::ValidateProjectHandoff => Box::pin(http::handoffs::validate(request)),
        Op::PackHandoff => Box::pin(http::handoffs::pack(request)),
        Op::ListOutlines => Box::pin(http::survey::runs(request)),
        Op::GetHandover => Box::pin(http::survey::handed(request)),
        Op::GetOutline => Box::pin(http::survey::outline(request)),
        Op::ListBoxes => Box::pin(http::survey::boxes(request)),
        Op::ListCards => Box::pin(http::survey::cards(request)),
        Op::ListCardBoxes => Box::pin(http::survey::card_boxes(request)),
        Op::ListCardCalls => Box::pin(http::survey::card_calls(request)),
        Op::CreateInspectorCode => Box::pin(async move { http::survey::inspector_code(&request) }),
        Op::WriteFiles => Box::pin(http::workspace::write(request)),
        Op::ListHandoffTypes => Box::pin(http::documents::list(request, ResourceKind::HandoffType)),
        Op::GetHandoffType => Box::pin(http::documents::get(request, ResourceKind::HandoffType)),
        Op::PutHandoffType => Box::pin(http::handoffs::put_type(request)),
        Op::DeleteHandoffType => Box::pin(http::documents::delete(request, ResourceKind::HandoffType)),
        Op::PackContext => Box::pin(http::pmo::pack(request)),
        Op::CallTool => Box::pin(http::pmo::call(request)),
        Op::DispatchTurn => Box::pin(http::turns::dispatch(request)),
        Op::ListTurns => Box::pin(http::turns::list(request)),
        Op::GetTurn => Box::pin(http::turns::get(request)),
        Op::ListQuestions => Box::pin(http::turns::questions(request)),
        Op::ListOpenQuestions => Box::pin(http::turns::open_questions(request)),
        Op::ListUnfinishedRuns => Box::pin(http::turns::unfinished_runs(request)),
        Op::ViewTurn | Op::GetTurnView => Box::pin(http::turns::view(request)),
        Op::StopTurn => Box::pin(http::turns::stop(request)),
        Op::ForkTurn => Box::pin(http::forks::fork(request)),
        Op::ReplayTurn => Box::pin(http::forks::replay(request)),
        Op::ClaimTurns => Box::pin(http::worker::claim(request)),
        Op::StartTurn => Box::pin(http::worker::start(request)),
        Op::BeatTurn => Box::pin(http::worker::heartbeat(request)),
        Op::AppendTurnCards => Box::pin(http::worker::append(request)),
        Op::SendChunk => Box::pin(http::worker::chunk(request)),
        Op::ReadChunks => Box::pin(chunks::read(request)),
        Op::TakeStep => Box::pin(http::worker::step(request)),
        Op::SuspendTurn => Box::pin(http::worker::suspend(request)),
        Op::FinishTurn => Box::pin(http::worker::finish(request)),
        Op::ReleaseTurn => Box::pin(http::worker::release(request)),
        Op::ReportTool => Box::pin(http::worker::report(request)),
        Op::ListHeads => Box::pin(http::state::heads(request)),
        Op::GetHead => Box::pin(http::state::head(request)),
        Op::RebuildHead => Box::pin(http::state::rebuild(request)),
        Op::ListInbox => Box::pin(http::state::inbox(request)),
        Op::ListSteps => Box::pin(http::state::steps(request)),
        Op::SumCost => Box::pin(http::state::cost(request)),
        Op::ListEdges => Box::pin(http::state::edges(request)),
        Op::ListIdentityEdges => Box::pin(http::state::identity_edges(request)),
        Op::ListBatches => Box::pin(http::batches::list(request)),
        Op::GetBatch => Box::pin(http::batches::get(request)),
        Op::CancelBatch => Box::pin(http::batches::cancel(request)),
        Op::ListSessions => Box::pin(http::sessions::list(request)),
        Op::GetSession => Box::pin(http::sessions::get(request)),
        Op::DeleteSession => Box::pin(http::sessions::delete(request)),
        Op::PatchSession => Box::pin(http::sessions::patch(request)),
        Op::GetCompaction => Box::pin(http::sessions::compaction(request)),
        Op::CompactSession => Box::pin(http::sessions::compact(request)),
        Op::ListCheckpoints => Box::pin(http::sessions::checkpoints(request)),
        Op::RestoreSession => Box::pin(http::sessions::restore(request)),
        Op::CollectContext => Box::pin(http::context::collect(request)),
        Op::GetExperience => Box::pin(http::experience::get(request)),
        Op::NoteExperience => Box::pin(http::experience::note(request)),
        Op::SaveExperience => Box::pin(http::experience::save(request)),
        Op::TakeInKnowledge => Box::pin(http::knowledge::take_in(request)),
        Op::ListKnowledge => Box::pin(http::knowledge::list(request)),
        Op::SearchKnowledge => Box::pin(http::knowledge::search(request)),
        Op::DropKnowledge => Box::pin(http::knowledge::remove(request)),
        Op::ComposeContext => Box::pin(http::context::compose(request)),
        Op::ComposeCall => Box::pin(http::calls::compose(request)),
        Op::GetCallContext => Box::pin(http::calls::show(request)),
        Op::DiffContext => Box::pin(http::context::diff(request)),
        Op::WhyContext => Box::pin(http::context::why(request)),
        Op::ExpandContext => Box::pin(http::context::expand(request)),
    }
}
