//! Projects, and the runs of one.

use super::{answer, gather, visit::Visit};
use crate::{error::Answer, http};
use cardwire_api::turns::TurnStatus;
use cardwire_inspector::{Section, pages::runs};
use cardwire_kernel::{
    RunView,
    protocol::turn::question::{Asks, Question},
};
use cardwire_model::{InboxId, limits};

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

/// What a person is asked.
pub(super) fn question(asked: Question) -> runs::Question {
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
