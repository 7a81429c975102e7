//! One turn, and what can be done about it.

use super::{Form, answer, field, gather, nouns, runs::question, see, visit::Visit};
use crate::{
    error::{Answer, ApiError},
    http,
};
use cardwire_api::{
    ErrorCode,
    forks::{SwapIn, TurnForkIn},
    parse,
};
use cardwire_inspector::{
    Section,
    pages::{replay, turn},
    text,
};
use cardwire_kernel::{
    Kernel, KernelError, OutlinedTurn,
    protocol::turn::{dispatch::Dispatched, question::Asks, without},
    store::RowFilter,
};
use cardwire_model::{
    AuditVerdict, CardId, InboxItem, Invalid, Layer, ProjectId, Realm, Timestamp, TurnId, TurnPayload, limits,
};

/// One turn.
pub(super) async fn turn(visit: Visit, id: &str) -> Answer {
    let turn_id: TurnId = parse::one("turn", id)?;
    if answer::wants_twin(&visit) {
        let (format, title) = (visit.format, format!("Turn {id}"));
        return answer::with_twins(
            format,
            &title,
            visit.api(&[("agent_turn_id", id)], &[]),
            http::turns::get,
        )
        .await;
    }
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let seen = kernel.turn_view(project, turn_id, None).await?;
    let this = &kernel.outlined(project, turn_id).await?;
    let item = &this.turn.item;
    let payload = TurnPayload::from_stored(&item.payload).ok();
    let settings = payload.as_ref().map(|payload| payload.runtime_config.to_value()).unwrap_or_default();
    let output: std::collections::HashSet<CardId> =
        kernel.view_box(project, seen.output_box, None).await?.card_ids().collect();
    let (written, given): (Vec<_>, Vec<_>) = seen.cards.iter().partition(|card| output.contains(&card.id));
    let pieces = |cards: Vec<&std::sync::Arc<cardwire_model::Card>>| {
        cards
            .into_iter()
            .map(|card| gather::piece(card, gather::layer_of(card), visit.now, card.tokens))
            .collect()
    };
    let mut boxes = vec![("given", seen.context_box.to_string()), ("written", seen.output_box.to_string())];
    let belongs = nouns::belongs(item, payload.as_ref());
    boxes.extend(payload.map(|payload| ("profile", payload.profile_box.to_string())));
    let run_root = root_of(kernel, project, turn_id).await?;
    let parent = match item.parent_turn {
        Some(parent) => Some((
            parent.to_string(),
            gather::name(kernel, project, &kernel.turn(project, parent).await?.item.agent_id).await?,
        )),
        None => None,
    };
    let view = turn::Turn {
        id: id.to_owned(),
        agent: gather::name(kernel, project, &item.agent_id).await?,
        status: gather::status(this, false),
        epoch: item.epoch.map(|epoch| epoch.get()),
        error: item.ended.as_ref().and_then(|ended| ended.error.clone()),
        parent,
        run: run_root.to_string(),
        worker: item.worker_id.clone(),
        boxes,
        given: pieces(given),
        written: pieces(written),
        steps: this.steps.iter().map(step).collect(),
        questions: kernel.questions(project, turn_id).await?.into_iter().map(question).collect(),
        spent: gather::spent(this.spent),
        belongs,
        forked_from: settings["forked_from"].as_str().map(str::to_owned),
        forkable: this.calls().filter(|(_, step)| step.phase != "summary").count(),
        layers: Layer::ALL
            .iter()
            .filter(|layer| without::may_go(**layer))
            .map(|layer| layer.as_str())
            .collect(),
        leased: this.turn.head.as_ref().and_then(|head| head.live.as_ref()).map(|live| live.dispatched_at),
        refusals: refusals(kernel, project, item).await?,
        began: item.created_at,
        ended: item.ended.as_ref().map(|ended| ended.at),
        now: visit.now,
    };
    let agent = text::agent(&view.agent);
    let way = vec![("run".to_owned(), Some(visit.link(&format!("/runs/{run_root}")))), (agent.clone(), None)];
    let mut frame = visit.frame(Section::Runs, format!("What {agent} was given, did and delivered"), way);
    frame.is_live = view.ended.is_none();
    Ok(answer::html(turn::show(&frame, &view)))
}

/// Writes that were refused because the turn was given to somebody else, as the newest rows of the audit tell.
async fn refusals(
    kernel: &Kernel,
    project: &ProjectId,
    item: &InboxItem,
) -> Result<Vec<(Timestamp, String)>, KernelError> {
    const SHOWN: usize = 20;
    let filter = RowFilter {
        verdict: Some(AuditVerdict::Denied),
        from: Some(item.created_at),
        ..RowFilter::default()
    };
    let realm = Realm::from(project.clone());
    let rows = kernel.list_audit(&realm, &filter, None, limits::PAGE_MAX).await?;
    let turn = item.turn_id.to_string();
    let told = rows.iter().filter_map(|row| {
        let text = row.audit.detail.to_value()["reason"].as_str()?.to_owned();
        (text.contains(&turn) || row.audit.actor.contains(&turn)).then_some((row.audit.at, text))
    });
    Ok(told.take(SHOWN).collect())
}

fn step(step: &cardwire_model::Step) -> turn::Step {
    turn::Step {
        phase: step.phase.clone(),
        status: step.status.clone(),
        call: step.call_id.clone().filter(|call| call.parse::<CardId>().is_ok()),
        epoch: step.epoch.get(),
        spent: OutlinedTurn::spent_by(step).map(gather::spent),
        took: step.updated_at.micros() - step.created_at.micros(),
        at: step.created_at,
    }
}

/// The turn that nobody sent, above a turn.
async fn root_of(kernel: &Kernel, project: &ProjectId, turn: TurnId) -> Result<TurnId, KernelError> {
    let mut at = turn;
    for _ in 0..limits::RECURSION_DEPTH_MAX {
        match kernel.turn(project, at).await?.item.parent_turn {
            Some(parent) => at = parent,
            None => break,
        }
    }
    Ok(at)
}

/// Stops a turn and everything below it.
pub(super) async fn stop(visit: Visit, id: &str) -> Answer {
    let place = visit.link(&format!("/turns/{id}"));
    let mut request = visit.api(&[("agent_turn_id", id)], &[]);
    request.body = serde_json::json!({ "reason": "stopped in the inspector" }).to_string().into();
    http::turns::stop(request).await?;
    Ok(see(&place))
}

/// Answers a question of a turn.
pub(super) async fn reply(visit: Visit, id: &str, form: &Form) -> Answer {
    let turn: TurnId = parse::one("turn", id)?;
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let call = field(form, "call").unwrap_or_default();
    let asked = kernel.questions(project, turn).await?.into_iter().find(|asked| asked.tool_call_id == call);
    let gone =
        || ApiError::new(ErrorCode::NotFound, "this question was answered already, or its turn has ended");
    let asked = asked.ok_or_else(gone)?;
    let said = field(form, "answer").unwrap_or_default();
    let result = match asked.asks {
        Asks::Words(_) => serde_json::json!({ "reply": said }),
        Asks::Approval { .. } => {
            let agrees = ["yes", "y", "ok", "allow"].contains(&said.trim().to_lowercase().as_str());
            serde_json::json!({ "approved": agrees, "reply": said })
        }
    };
    let body = serde_json::json!({
        "agent_id": asked.agent_id.as_str(), "agent_turn_id": asked.turn_id.to_string(), "turn_epoch": asked.epoch.get(),
        "tool_call_id": asked.tool_call_id, "status": "success", "result": result,
    });
    let place = visit.link(&format!("/turns/{id}"));
    let mut request = visit.api(&[], &[]);
    request.body = body.to_string().into();
    http::worker::report(request).await?;
    Ok(see(&place))
}

/// Runs a turn again, and says whether it comes to the same.
pub(super) async fn replay(visit: Visit, id: &str) -> Answer {
    let turn: TurnId = parse::one("turn", id)?;
    let title = "Does this turn come to the same when it is run again?";
    if answer::wants_twin(&visit) {
        let format = visit.format;
        return answer::with_twins(
            format,
            title,
            visit.api(&[("agent_turn_id", id)], &[]),
            http::forks::replay,
        )
        .await;
    }
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let item = kernel.turn(project, turn).await?.item;
    let replayed = http::forks::run_again(&visit.request, turn).await;
    let outcome = match replayed {
        Ok(replayed) => Ok(replay::Replayed {
            is_same: replayed.same,
            calls: replayed.calls.into_iter().map(|call| (call.call_id, call.hash_ok)).collect(),
            cards: replayed.cards as u64,
            differences: replayed.differences,
        }),
        // It is no error of the page that a turn cannot be run again: the page says why.
        Err(error) if error.code == ErrorCode::Conflict => Err(error.message),
        Err(error) => return Err(error),
    };
    let agent = gather::name(kernel, project, &item.agent_id).await?;
    let way = vec![(agent.clone(), Some(visit.link(&format!("/turns/{id}")))), ("replay".to_owned(), None)];
    let frame = visit.frame(Section::Runs, title, way);
    Ok(answer::html(replay::show(&frame, &replay::Replay { turn: id.to_owned(), agent, outcome })))
}

/// Goes on from one of a turn's calls with something changed, and shows the new turn.
pub(super) async fn fork(visit: Visit, id: &str, form: &Form) -> Answer {
    let turn: TurnId = parse::one("turn", id)?;
    let given =
        |name: &str| field(form, name).map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
    let layers = form.iter().filter(|(name, _)| name == "without").map(|(_, layer)| layer.clone());
    let swaps = match (given("old"), given("new")) {
        (Some(old), Some(new)) => vec![SwapIn { old, new }],
        (None, None) => vec![],
        (Some(_), None) => {
            return Err(Invalid::field("new", "must say which card takes the place of the other").into());
        }
        (None, Some(_)) => {
            return Err(Invalid::field("old", "must say which card the other takes the place of").into());
        }
    };
    let wanted = TurnForkIn {
        at: given("at"),
        without_layers: layers.collect(),
        swaps,
        model: given("model"),
        instruction: given("instruction"),
    };
    let request = &visit.request;
    let (project, kernel) = (request.project()?, &request.state.kernel);
    let plan = kernel.plan_fork(project, &wanted.into_request(turn)?).await?;
    let forked = kernel.fork_turn(project, &request.caller()?, &plan, &request.trace.id, None).await?;
    let made = match forked.fresh() {
        Some(Dispatched::Accepted(receipt)) => receipt.turn_id,
        Some(Dispatched::Repeated(turn)) => turn,
        None => turn,
    };
    Ok(see(&visit.link(&format!("/runs/{made}"))))
}
