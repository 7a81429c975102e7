//! Batches: what became of a fork, and calling it off.

use super::{ROWS, command, cursor, cut};
use crate::{
    error::Answer,
    http,
    inspect::{
        answer, gather, see,
        visit::{Format, Visit},
    },
};
use cardwire_api::parse;
use cardwire_inspector::{
    Section, markdown,
    pages::{
        batch as page,
        list::{self, Cell},
    },
    text,
};
use cardwire_kernel::store::BatchFilter;
use cardwire_model::{AgentId, Batch, BatchId, Branch, BranchStatus, CardId, CloseReason};

/// The batches of a project, newest first.
pub(in crate::inspect) async fn list(visit: Visit) -> Answer {
    let title = "What was forked, and what came of it";
    if answer::wants_twin(&visit) {
        let (format, query) = (visit.format, cursor(&visit));
        return answer::with_twins(format, title, visit.api(&[], &query), http::batches::list).await;
    }
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let before = visit.request.parsed::<BatchId>("after")?;
    let mut found = kernel.list_batches(project, &BatchFilter::default(), before, ROWS + 1).await?;
    let has_more = cut(&mut found);
    let names = gather::names(kernel, project, found.iter().map(|batch| &batch.parent_agent)).await?;
    let row = |batch: &Batch| {
        let tasks = text::plural(batch.branches.into(), "task");
        vec![
            Cell::Title {
                name: format!("{} of {}", tasks, gather::called(&names, &batch.parent_agent)),
                href: Some(visit.link(&format!("/batches/{}", batch.id))),
                line: joins(batch),
            },
            Cell::State(batch.status.as_str().to_owned()),
            Cell::Number(Some(batch.branches.into())),
            Cell::At(Some(batch.created_at)),
            Cell::At(batch.closed_at),
        ]
    };
    let next =
        found.last().filter(|_| has_more).map(|last| visit.link(&format!("/batches?after={}", last.id)));
    let args = r#"pmo call fork_join --caller AGENT --args '{"tasks": [{"target_strategy": "new", "target_ref": "PROFILE", "instruction": "…"}]}'"#;
    let view = list::List {
        noun: "batch",
        columns: vec!["Fork", "State", "Tasks", "Forked", "Closed"],
        rows: found.iter().map(row).collect(),
        next,
        empty: (
            "Nothing was forked yet. Agents fork by the tool fork_join; an operator does it in an agent's name:",
            command(&visit, args),
        ),
        search: None,
        now: visit.now,
    };
    let mut frame = visit.frame(Section::More, title, vec![("batches".to_owned(), None)]);
    frame.is_live = true;
    Ok(answer::html(list::show(&frame, &view)))
}

/// What the join waits for.
fn joins(batch: &Batch) -> String {
    match batch.enough {
        0 => "all are waited for".to_owned(),
        1 => "one success is enough".to_owned(),
        enough => format!("{enough} successes are enough"),
    }
}

fn why_closed(reason: CloseReason) -> &'static str {
    match reason {
        CloseReason::FailFast => "a task failed, and one failure was enough",
        CloseReason::Deadline => "its time was up",
        CloseReason::Canceled => "it was called off",
        CloseReason::Enough => "enough tasks had succeeded",
    }
}

/// One batch.
pub(in crate::inspect) async fn show(visit: Visit, id: &str) -> Answer {
    let batch_id: BatchId = parse::one("batch", id)?;
    if visit.format == Format::Json {
        return http::batches::get(visit.api(&[("batch_id", id)], &[])).await;
    }
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let found = kernel.batch(project, batch_id).await?;
    let (batch, branches) = (&found.batch, &found.branches);
    let from = visit.request.integer("from")?.and_then(|from| usize::try_from(from).ok()).unwrap_or(0);
    let here: Vec<&Branch> = branches.iter().skip(from).take(ROWS).collect();
    let names = gather::names(
        kernel,
        project,
        here.iter().filter_map(|branch| branch.agent_id.as_ref()).chain([&batch.parent_agent]),
    )
    .await?;
    let ids: Vec<CardId> = here.iter().filter_map(|branch| branch.deliverable).collect();
    let cards = gather::cards(kernel, project, &ids).await?;
    let task = |branch: &&Branch| page::Task {
        index: branch.key.index,
        status: branch.status.as_str().to_owned(),
        agent: branch.agent_id.as_ref().map(|agent: &AgentId| gather::called(&names, agent)),
        turn: branch.turn_id.map(|turn| turn.to_string()),
        epoch: branch.epoch.map(|epoch| epoch.get()),
        delivered: branch.deliverable.map(|card| {
            let said =
                cards.get(&card).filter(|card| card.is_visible(visit.now)).map(|card| gather::said(card));
            (card.to_string(), said.unwrap_or_else(|| "deleted since".to_owned()))
        }),
        error: branch.error_detail.clone(),
        attempts: branch.attempts,
        updated: branch.updated_at,
    };
    let count = |status: &BranchStatus| {
        let count = branches.iter().filter(|branch| branch.status == *status).count() as u64;
        (count > 0).then(|| (status.as_str().to_owned(), count))
    };
    let place = |from: usize| visit.link(&format!("/batches/{id}?from={from}"));
    let view = page::Batch {
        id: id.to_owned(),
        status: batch.status.as_str().to_owned(),
        agent: gather::called(&names, &batch.parent_agent),
        turn: batch.parent_turn.map(|turn| turn.to_string()),
        call: batch.parent_call.clone(),
        joins: joins(batch),
        fail_fast: batch.fail_fast,
        parallel: (batch.parallel > 0).then(|| batch.parallel.into()),
        states: BranchStatus::ALL.iter().filter_map(count).collect(),
        total: branches.len() as u64,
        tasks: here.iter().map(task).collect(),
        pages: (
            (from > 0).then(|| place(from.saturating_sub(ROWS))),
            (from.saturating_add(ROWS) < branches.len()).then(|| place(from + ROWS)),
        ),
        closed_because: batch.closing.map(|reason| why_closed(reason).to_owned()),
        result: batch.result_card.map(|card| card.to_string()),
        deadline: batch.deadline_at,
        at: batch.created_at,
        closed: batch.closed_at,
        now: visit.now,
    };
    if visit.format == Format::Markdown {
        return Ok(answer::markdown(markdown::batch(&view)));
    }
    let title = format!("What came of the {} that {} forked", text::plural(view.total, "task"), view.agent);
    let way = vec![("batches".to_owned(), Some(visit.link("/batches"))), ("batch".to_owned(), None)];
    let mut frame = visit.frame(Section::More, title, way);
    frame.is_live = view.closed.is_none();
    Ok(answer::html(page::show(&frame, &view)))
}

/// Calls a batch off.
pub(in crate::inspect) async fn cancel(visit: Visit, id: &str) -> Answer {
    let place = visit.link(&format!("/batches/{id}"));
    http::batches::cancel(visit.api(&[("batch_id", id)], &[])).await?;
    Ok(see(&place))
}
