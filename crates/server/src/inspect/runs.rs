//! Runs and turns, and what can be done about them.

use super::{
    Form, answer,
    calls::withheld,
    field,
    gather::{self, Names},
    nouns, see,
    visit::{Format, Visit},
};
use crate::{
    error::{Answer, ApiError},
    http,
};
use cardwire_api::{ErrorCode, parse, turns::TurnStatus};
use cardwire_inspector::{
    Section, markdown,
    pages::{run, runs, turn},
    text,
};
use cardwire_kernel::{
    Kernel, KernelError, Outline, OutlinedTurn, RunView,
    protocol::turn::question::{Asks, Question},
};
use cardwire_model::{CardId, InboxId, ProjectId, Timestamp, TurnId, TurnPayload, limits};

/// The runs of a project.
pub(super) async fn list(visit: Visit) -> Answer {
    let title = "What your agents did";
    if answer::wants_twin(&visit) {
        let (format, query) = (visit.format, before(&visit));
        return answer::with_twins(format, title, visit.api(&[], &query), http::survey::runs).await;
    }
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let before: Option<InboxId> = visit.request.parsed("before")?;
    let found = kernel.list_runs(project, before, limits::PAGE_DEFAULT).await?;
    let last = found.last().map(|run| run.root.item.id).filter(|_| found.len() == limits::PAGE_DEFAULT);
    let mut questions = vec![];
    for run in found.iter().filter(|run| run.root.item.ended.is_none()).take(ASKED_RUNS) {
        questions.extend(kernel.questions(project, run.root.item.turn_id).await?.into_iter().map(question));
    }
    let view = runs::Runs {
        runs: found.into_iter().map(shown).collect(),
        questions,
        older: last.map(|id| visit.link(&format!("?before={id}"))),
        trouble: kernel.takes_writes().await.err().map(|error| error.to_string()),
        now: visit.now,
    };
    let mut frame = visit.frame(Section::Runs, title, vec![]);
    frame.is_live = true;
    Ok(answer::html(runs::show(&frame, &view)))
}

/// Runs whose questions stand beside the list.
const ASKED_RUNS: usize = 10;

fn before(visit: &Visit) -> Vec<(&'static str, String)> {
    visit.request.text("before").map(|id| ("cursor", id.to_owned())).into_iter().collect()
}

fn shown(run: RunView) -> runs::Run {
    let item = &run.root.item;
    runs::Run {
        turn: item.turn_id.to_string(),
        question: run.question,
        agent: item.agent_id.to_string(),
        status: TurnStatus::of(&run.root).as_str().to_owned(),
        agents: run.agents as u64,
        turns: run.turns as u64,
        spent: gather::spent(run.spent),
        began: item.created_at,
        seen: item.ended.as_ref().map_or(run.seen_at, |ended| ended.at),
        is_cut: run.is_cut,
    }
}

fn question(asked: Question) -> runs::Question {
    let text = match asked.asks {
        Asks::Words(words) => words,
        Asks::Approval { tool, arguments, .. } => {
            let arguments = serde_json::to_string_pretty(&arguments).unwrap_or_default();
            format!("May it call {tool}?\n{arguments}")
        }
    };
    runs::Question {
        turn: asked.turn_id.to_string(),
        agent: asked.agent_id.to_string(),
        call: asked.tool_call_id,
        text,
    }
}

/// One run.
pub(super) async fn run(visit: Visit, id: &str) -> Answer {
    let turn: TurnId = parse::one("run", id)?;
    if visit.format == Format::Json {
        return http::survey::outline(visit.api(&[("agent_turn_id", id)], &[])).await;
    }
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let outline = kernel.outline(project, turn).await?;
    let view = view_of(&visit, kernel, project, &outline).await?;
    if visit.format == Format::Markdown {
        return Ok(answer::markdown(markdown::run(&view)));
    }
    let title =
        view.question.as_deref().map_or_else(|| "A run".to_owned(), |text| text::first_line(text, 140));
    let mut frame = visit.frame(Section::Runs, title, vec![(text::short(id), None)]);
    frame.is_live = outline.turns.first().is_some_and(|root| root.turn.item.ended.is_none());
    Ok(answer::html(run::show(&frame, &view)))
}

async fn view_of(
    visit: &Visit,
    kernel: &Kernel,
    project: &ProjectId,
    outline: &Outline,
) -> Result<run::Run, ApiError> {
    let missing = || ApiError::new(ErrorCode::NotFound, "the run is gone");
    let root = outline.turns.first().ok_or_else(missing)?;
    let began = root.turn.item.created_at;
    let is_over = root.turn.item.ended.is_some();
    let seen = outline.turns.iter().map(OutlinedTurn::seen_at).max().unwrap_or(began);
    let until = if is_over { seen } else { visit.now };
    let chosen = visit.request.text("sel");
    let selected =
        outline.turns.iter().find(|turn| Some(turn.turn.item.turn_id.to_string().as_str()) == chosen);
    let selected = selected.or(outline.turns.get(1)).unwrap_or(root);
    let agents: std::collections::HashSet<_> =
        outline.turns.iter().map(|turn| &turn.turn.item.agent_id).collect();
    let names = gather::names(kernel, project, agents.iter().copied()).await?;
    Ok(run::Run {
        question: instruction(kernel, project, root).await?,
        status: gather::status(root),
        rows: rows(outline, &names, began, until),
        began,
        took: until.micros() - began.micros(),
        agents: agents.len() as u64,
        turns: outline.turns.len() as u64,
        spent: gather::spent(outline.spent()),
        is_cut: outline.is_cut,
        selected: Some(peek(visit, kernel, project, outline, selected, &names).await?),
        delivered: delivered(kernel, project, root).await?,
        notes: notes(visit, outline, &names),
        position: kernel.last_position(project).await?,
        now: visit.now,
    })
}

/// What a turn is asked.
async fn instruction(
    kernel: &Kernel,
    project: &ProjectId,
    turn: &OutlinedTurn,
) -> Result<Option<String>, KernelError> {
    kernel.asked_of(project, &turn.turn.item).await
}

/// What a turn delivered.
async fn delivered(
    kernel: &Kernel,
    project: &ProjectId,
    turn: &OutlinedTurn,
) -> Result<Option<String>, KernelError> {
    let Some(ended) = &turn.turn.item.ended else { return Ok(None) };
    let cards = kernel.read_cards(project, &[ended.deliverable], false).await?.cards;
    Ok(cards.first().map(|card| gather::said(card)))
}

/// Turns in the order of the tree, each with its calls below it where it has several or children.
fn rows(outline: &Outline, names: &Names, began: Timestamp, until: Timestamp) -> Vec<run::Row> {
    let mut children: Vec<Vec<usize>> = vec![vec![]; outline.turns.len()];
    for (place, turn) in outline.turns.iter().enumerate() {
        if let Some(parent) = turn.parent {
            children[parent].push(place);
        }
    }
    let since = |at: Timestamp| at.micros() - began.micros();
    let (mut rows, mut next) = (vec![], vec![(0, Below::Turn(0, 0))]);
    while let Some((_, below)) = next.pop() {
        let (place, depth) = match below {
            Below::Turn(place, depth) => (place, depth),
            Below::Call(row) => {
                rows.push(row);
                continue;
            }
        };
        let turn = &outline.turns[place];
        rows.push(turn_row(outline, turn, names, depth, (began, until), !children[place].is_empty()));
        let calls: Vec<_> = turn.calls().collect();
        let mut inside: Vec<(Timestamp, Below)> = vec![];
        if calls.len() > 1 || !children[place].is_empty() {
            for (number, (call, step)) in calls.iter().enumerate() {
                let spent = OutlinedTurn::spent_by(step).map(gather::spent).unwrap_or_default();
                let (from, to) = (since(step.created_at), since(step.updated_at));
                let bars = vec![run::Bar { from, to, kind: run::BarKind::Call }];
                let what = run::What::Call { id: call.to_string(), number: number + 1 };
                inside.push((step.created_at, Below::Call(run::Row { depth: depth + 1, what, spent, bars })));
            }
        }
        let child =
            |child: &usize| (outline.turns[*child].turn.item.created_at, Below::Turn(*child, depth + 1));
        inside.extend(children[place].iter().map(child));
        inside.sort_by_key(|(at, _)| *at);
        next.extend(inside.into_iter().rev().map(|(at, below)| (at.micros(), below)));
    }
    rows
}

/// What stands below a turn, in the order of time.
enum Below {
    /// A turn, by its place in the outline and its depth.
    Turn(usize, usize),
    /// A call of the turn itself.
    Call(run::Row),
}

fn turn_row(
    outline: &Outline,
    turn: &OutlinedTurn,
    names: &Names,
    depth: usize,
    (began, until): (Timestamp, Timestamp),
    is_parent: bool,
) -> run::Row {
    let item = &turn.turn.item;
    let since = |at: Timestamp| at.micros() - began.micros();
    let queued = since(item.created_at);
    let started = turn.started_at().map(since);
    let end = item.ended.as_ref().map_or(until.micros() - began.micros(), |ended| since(ended.at));
    let bars = bars(turn, (queued, started, end), !is_parent, since);
    let branch = item.branch.map(|branch| {
        let of = outline
            .turns
            .iter()
            .filter(|other| other.turn.item.branch.is_some_and(|one| one.batch_id == branch.batch_id));
        format!("{} of {}", branch.index + 1, of.count())
    });
    let what = run::What::Turn {
        id: item.turn_id.to_string(),
        agent: gather::called(names, &item.agent_id),
        status: gather::status(turn),
        branch,
    };
    run::Row { depth, what, spent: gather::spent(turn.spent), bars }
}

/// What a turn did when: it is at work while its steps last, and waits for others in between. One without steps that has children
/// is the controller of a team, which works through its members alone.
fn bars(
    turn: &OutlinedTurn,
    (queued, started, end): (i64, Option<i64>, i64),
    works_alone: bool,
    since: impl Fn(Timestamp) -> i64,
) -> Vec<run::Bar> {
    let bar = |from: i64, to: i64, kind: run::BarKind| run::Bar { from, to, kind };
    if turn.steps.is_empty() && !works_alone {
        return vec![bar(queued, end, run::BarKind::Waiting)];
    }
    let Some(started) = started else { return vec![bar(queued, end, run::BarKind::Queued)] };
    let mut bars = vec![bar(queued, started, run::BarKind::Queued), bar(started, end, run::BarKind::Waiting)];
    let mut spans: Vec<(i64, i64)> =
        turn.steps.iter().map(|step| (since(step.created_at), since(step.updated_at))).collect();
    spans.sort_unstable();
    bars.extend(spans.iter().map(|(from, to)| bar(*from, *to, run::BarKind::Running)));
    let last = spans.last().map_or((started, end), |(from, to)| (*from, *to.max(from)));
    if turn.turn.item.ended.is_none() {
        bars.push(bar(last.0, last.1, run::BarKind::Live));
    } else if spans.is_empty() {
        bars.push(bar(started, end, run::BarKind::Running));
    }
    bars
}

async fn peek(
    visit: &Visit,
    kernel: &Kernel,
    project: &ProjectId,
    outline: &Outline,
    turn: &OutlinedTurn,
    names: &Names,
) -> Result<run::Peek, ApiError> {
    let item = &turn.turn.item;
    let call = turn.calls().last().map(|(call, _)| call);
    let given = match call {
        Some(call) => gather::layers(&kernel.call(project, call).await?.entries),
        None => vec![],
    };
    let parent = turn.parent.and_then(|parent| outline.turns.get(parent));
    let withheld = match (parent.and_then(|parent| parent.calls().next()), call) {
        (Some((sender, _)), Some(receiver)) => withheld(visit, project, sender, receiver).await?,
        _ => vec![],
    };
    let took = item.ended.as_ref().map_or(visit.now, |ended| ended.at).micros() - item.created_at.micros();
    let line = format!(
        "{}, {}, {}{}",
        text::plural(turn.spent.calls, "call"),
        text::duration(took),
        item.epoch.map_or("not leased yet".to_owned(), |epoch| format!("epoch {}", epoch.get())),
        parent
            .map(|parent| format!(", asked by {}", gather::called(names, &parent.turn.item.agent_id)))
            .unwrap_or_default(),
    );
    Ok(run::Peek {
        turn: item.turn_id.to_string(),
        agent: gather::called(names, &item.agent_id),
        line,
        given,
        withheld,
        delivered: delivered(kernel, project, turn).await?,
        call: call.map(|call: CardId| call.to_string()),
        parent: parent.map(|parent| parent.turn.item.turn_id.to_string()),
    })
}

/// What stands out: turns that failed, that waited long for a worker, that were retried at a later epoch.
fn notes(visit: &Visit, outline: &Outline, names: &Names) -> Vec<run::Note> {
    const LONG_WAIT: i64 = 500_000;
    const NOTES: usize = 8;
    let mut notes = vec![];
    for turn in &outline.turns {
        let item = &turn.turn.item;
        let (agent, href) =
            (gather::called(names, &item.agent_id), visit.link(&format!("/turns/{}", item.turn_id)));
        if let Some(code) = item.ended.as_ref().and_then(|ended| ended.error_code.as_ref()) {
            notes.push(run::Note { text: format!("{agent} ended with {code}."), href: href.clone() });
        }
        let waited = turn.started_at().map_or(0, |at| at.micros() - item.created_at.micros());
        // The controller of a team has no steps: it is at work only while its members are.
        if waited > LONG_WAIT && !turn.steps.is_empty() {
            let text = format!("{agent} waited {} for a worker.", text::duration(waited));
            notes.push(run::Note { text, href });
        }
    }
    notes.truncate(NOTES);
    notes
}

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
    let outline = kernel.outline(project, turn_id).await?;
    let missing = || ApiError::new(ErrorCode::NotFound, "the turn is gone");
    let this = outline.turns.first().ok_or_else(missing)?;
    let item = &this.turn.item;
    let payload = TurnPayload::from_stored(&item.payload).ok();
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
        status: gather::status(this),
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
        began: item.created_at,
        ended: item.ended.as_ref().map(|ended| ended.at),
        now: visit.now,
    };
    let agent = text::agent(&view.agent);
    let way = vec![("run".to_owned(), Some(visit.link(&format!("/runs/{run_root}")))), (agent.clone(), None)];
    let frame = visit.frame(Section::Runs, format!("What {agent} was given, did and delivered"), way);
    Ok(answer::html(turn::show(&frame, &view)))
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
