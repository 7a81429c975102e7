//! One run: who did what when, now or at an earlier position of the log.

use super::{
    answer,
    calls::withheld,
    gather::{self, Names},
    visit::{Format, Visit},
};
use crate::{
    error::{Answer, ApiError},
    http,
};
use cardwire_api::{ErrorCode, parse};
use cardwire_inspector::{Section, markdown, pages::run, text};
use cardwire_kernel::{Kernel, KernelError, Outline, OutlinedTurn};
use cardwire_model::{BatchId, CardId, Invalid, ProjectId, Timestamp, TurnId, TurnPayload};
use std::collections::HashMap;

/// One run.
pub(super) async fn run(visit: Visit, id: &str) -> Answer {
    let turn: TurnId = parse::one("run", id)?;
    if visit.format == Format::Json {
        return http::survey::outline(visit.api(&[("agent_turn_id", id)], &[])).await;
    }
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let outline = kernel.outline(project, turn).await?;
    let is_live = outline.turns.first().is_some_and(|root| root.turn.item.ended.is_none());
    let view = view_of(&visit, kernel, project, outline).await?;
    if visit.format == Format::Markdown {
        return Ok(answer::markdown(markdown::run(&view)));
    }
    let title =
        view.question.as_deref().map_or_else(|| "A run".to_owned(), |text| text::first_line(text, 140));
    let mut frame = visit.frame(Section::Runs, title, vec![(text::short(id), None)]);
    frame.is_live = is_live && view.scrub.at.is_none();
    Ok(answer::html(run::show(&frame, &view)))
}

async fn view_of(
    visit: &Visit,
    kernel: &Kernel,
    project: &ProjectId,
    outline: Outline,
) -> Result<run::Run, ApiError> {
    let missing = || ApiError::new(ErrorCode::NotFound, "the run is gone");
    let root = outline.turns.first().ok_or_else(missing)?;
    let began = root.turn.item.created_at;
    let (scrub, moment) = scrub(visit, kernel, project, &outline).await?;
    let outline = match moment {
        Some(moment) => outline.until(moment),
        None => outline,
    };
    let root = outline.turns.first().ok_or_else(missing)?;
    let ended = root.turn.item.ended.is_some();
    let seen = outline.turns.iter().map(OutlinedTurn::seen_at).max().unwrap_or(began);
    let until = moment.unwrap_or(if ended { seen } else { visit.now });
    let chosen = visit.request.text("sel");
    let selected =
        outline.turns.iter().find(|turn| Some(turn.turn.item.turn_id.to_string().as_str()) == chosen);
    let is_chosen = selected.is_some();
    let selected = selected.or(outline.turns.get(1)).unwrap_or(root);
    let agents: std::collections::HashSet<_> =
        outline.turns.iter().map(|turn| &turn.turn.item.agent_id).collect();
    let names = gather::names(kernel, project, agents.iter().copied()).await?;
    let way = visit.request.text("view").and_then(run::Way::from_name).unwrap_or(run::Way::Tree);
    let is_past = moment.is_some();
    let ground = Ground { names: &names, forks: forks(&outline, is_past), began, until, is_past };
    let mut rows = rows(&outline, &ground);
    if way == run::Way::Time {
        rows.retain(|row| matches!(row.what, run::What::Turn { .. }));
        rows.sort_by_key(|row| row.bars.first().map(|bar| bar.from));
        rows.iter_mut().for_each(|row| row.depth = 0);
    }
    let settings =
        TurnPayload::from_stored(&root.turn.item.payload).ok().map(|payload| payload.runtime_config);
    let mut peeks = vec![];
    if visit.format == Format::Markdown {
        for turn in outline.turns.iter().take(PEEKS) {
            peeks.push(peek(visit, kernel, project, &outline, turn, &names).await?);
        }
    }
    Ok(run::Run {
        peeks,
        question: instruction(kernel, project, root).await?,
        status: gather::status(root, is_past),
        rows,
        began,
        took: until.micros() - began.micros(),
        agents: agents.len() as u64,
        turns: outline.turns.len() as u64,
        spent: gather::spent(outline.spent()),
        is_cut: outline.is_cut,
        is_chosen,
        ended,
        selected: Some(peek(visit, kernel, project, &outline, selected, &names).await?),
        delivered: delivered(kernel, project, root).await?,
        notes: notes(visit, &outline, &names),
        root: root.turn.item.turn_id.to_string(),
        way,
        scrub,
        forked_from: settings
            .and_then(|settings| settings.to_value()["forked_from"].as_str().map(str::to_owned)),
        now: visit.now,
    })
}

/// Turns of which the twin in Markdown tells what they were given.
const PEEKS: usize = 30;

/// Where in the log one is, and which moment that was if it is an earlier one.
async fn scrub(
    visit: &Visit,
    kernel: &Kernel,
    project: &ProjectId,
    outline: &Outline,
) -> Result<(run::Scrub, Option<Timestamp>), ApiError> {
    let Some(root) = outline.turns.first() else { return Ok((run::Scrub::default(), None)) };
    let seen = outline.turns.iter().map(OutlinedTurn::seen_at).max();
    let first = kernel.position_at(project, root.turn.item.created_at).await?;
    let last = match (&root.turn.item.ended, seen) {
        (Some(_), Some(seen)) => kernel.position_at(project, seen).await?,
        _ => kernel.last_position(project).await?,
    };
    let asked = visit.request.integer("at")?;
    let asked = asked
        .map(|at| u64::try_from(at).map_err(|_| Invalid::field("at", "must be 0 or more")))
        .transpose()?;
    let at = asked.filter(|at| *at < last).map(|at| at.max(first));
    let moment = match at {
        Some(at) => kernel.moment_of(project, at).await?,
        None => None,
    };
    Ok((run::Scrub { first, last, at: at.filter(|_| moment.is_some()) }, moment))
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

/// What every row needs.
struct Ground<'a> {
    names: &'a Names,
    forks: Forks,
    /// When the run began, and until when it is drawn.
    began: Timestamp,
    until: Timestamp,
    is_past: bool,
}

impl Ground<'_> {
    /// Microseconds after the run began.
    fn since(&self, at: Timestamp) -> i64 {
        at.micros() - self.began.micros()
    }
}

/// Turns in the order of the tree, each with its calls below it where it has several or children.
fn rows(outline: &Outline, ground: &Ground<'_>) -> Vec<run::Row> {
    let mut children: Vec<Vec<usize>> = vec![vec![]; outline.turns.len()];
    for (place, turn) in outline.turns.iter().enumerate() {
        if let Some(parent) = turn.parent {
            children[parent].push(place);
        }
    }
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
        rows.push(turn_row(ground, turn, depth, !children[place].is_empty()));
        let calls: Vec<_> = turn.calls().collect();
        let mut inside: Vec<(Timestamp, Below)> = vec![];
        if calls.len() > 1 || !children[place].is_empty() {
            for (number, (call, step)) in calls.iter().enumerate() {
                let spent = OutlinedTurn::spent_by(step).map(gather::spent).unwrap_or_default();
                let (from, to) = (ground.since(step.created_at), ground.since(step.updated_at));
                let bars = vec![run::Bar { from, to, kind: run::BarKind::Call }];
                let what = run::What::Call { id: call.to_string(), number: number + 1 };
                inside.push((step.created_at, Below::Call(run::Row { depth: depth + 1, what, spent, bars })));
            }
        }
        let mut told: Vec<BatchId> = vec![];
        for child in &children[place] {
            let item = &outline.turns[*child].turn.item;
            let deeper = match item.branch.filter(|branch| ground.forks.contains_key(&branch.batch_id)) {
                Some(branch) => {
                    if !told.contains(&branch.batch_id) {
                        told.push(branch.batch_id);
                        inside.push((
                            item.created_at,
                            Below::Call(fork_row(&ground.forks, branch.batch_id, depth + 1)),
                        ));
                    }
                    depth + 2
                }
                None => depth + 1,
            };
            inside.push((item.created_at, Below::Turn(*child, deeper)));
        }
        inside.sort_by_key(|(at, _)| *at);
        next.extend(inside.into_iter().rev().map(|(at, below)| (at.micros(), below)));
    }
    rows
}

/// The forks of a run: how many branches each has in which state.
type Forks = HashMap<BatchId, Vec<String>>;

fn forks(outline: &Outline, is_past: bool) -> Forks {
    let mut forks = Forks::new();
    for turn in &outline.turns {
        if let Some(branch) = turn.turn.item.branch {
            forks.entry(branch.batch_id).or_default().push(gather::status(turn, is_past));
        }
    }
    // One branch alone is no fork to look at.
    forks.retain(|_, states| states.len() > 1);
    forks
}

/// The bracket around the branches of a fork: "7 of 10 delivered, 2 canceled".
fn fork_row(forks: &Forks, batch: BatchId, depth: usize) -> run::Row {
    let states = forks.get(&batch).map(Vec::as_slice).unwrap_or_default();
    let count = |wanted: &str| states.iter().filter(|state| *state == wanted).count();
    let mut line = format!("{} of {} delivered", count("success"), states.len());
    for state in ["partial", "failed", "timeout", "canceled", "suspended", "running", "dispatched", "queued"]
    {
        if count(state) > 0 {
            line.push_str(&format!(", {} {state}", count(state)));
        }
    }
    let what = run::What::Fork { batch: batch.to_string(), line };
    run::Row { depth, what, spent: Default::default(), bars: vec![] }
}

/// What stands below a turn, in the order of time.
enum Below {
    /// A turn, by its place in the outline and its depth.
    Turn(usize, usize),
    /// A call of the turn itself.
    Call(run::Row),
}

fn turn_row(ground: &Ground<'_>, turn: &OutlinedTurn, depth: usize, is_parent: bool) -> run::Row {
    let item = &turn.turn.item;
    let end = item.ended.as_ref().map_or(ground.until, |ended| ended.at);
    let times =
        (ground.since(item.created_at), turn.started_at().map(|at| ground.since(at)), ground.since(end));
    let bars = bars(turn, times, !is_parent, |at| ground.since(at));
    let branch = item.branch.and_then(|branch| {
        Some(format!("{} of {}", branch.index + 1, ground.forks.get(&branch.batch_id)?.len()))
    });
    let what = run::What::Turn {
        id: item.turn_id.to_string(),
        agent: gather::called(ground.names, &item.agent_id),
        status: gather::status(turn, ground.is_past),
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
    // What the sender was shown when it sent the turn, beside what the turn was shown first.
    let sender = parent.and_then(|parent| {
        parent.calls().filter(|(_, step)| step.created_at <= item.created_at).last().map(|(call, _)| call)
    });
    let receiver = turn.calls().next().map(|(call, _)| call);
    let (withheld, compared) = match (sender, receiver) {
        (Some(sender), Some(receiver)) => (
            withheld(visit, project, sender, receiver).await?,
            Some(visit.link(&format!("/diff?l={sender}&r={receiver}"))),
        ),
        _ => (run::NotGiven::default(), None),
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
        compared,
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
