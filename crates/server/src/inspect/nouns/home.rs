//! The first page, and what else a project keeps.

use super::{ROWS, cursor, cut, system::may_see};
use crate::{
    error::{Answer, ApiError},
    http,
    inspect::{answer, visit::Visit},
};
use cardwire_api::turns::TurnStatus;
use cardwire_inspector::{Section, pages::home as page, text};
use cardwire_kernel::store::BatchFilter;
use cardwire_model::{Namespace, Project, ProjectId, Realm, ResourceKind};

/// Projects of which the first page says what is going on in them.
const LOOKED_AT: usize = 20;

/// The projects that the session reaches.
pub(in crate::inspect) async fn projects(visit: Visit) -> Answer {
    if answer::wants_twin(&visit) {
        let (format, query) = (visit.format, cursor(&visit));
        return answer::with_twins(format, "Projects", visit.api(&[], &query), http::projects::list).await;
    }
    let (state, kernel) = (&visit.request.state, &visit.request.state.kernel);
    let mut found = match &visit.request.by()?.token.realm {
        Realm::Project(id) => vec![kernel.live_project(id).await?],
        Realm::System => kernel.list_projects(visit.request.parsed("after")?, ROWS + 1).await?,
    };
    let has_more = cut(&mut found);
    let mut projects = vec![];
    for (place, project) in found.iter().enumerate() {
        let live = if place < LOOKED_AT { Some(live(&visit, &project.id).await?) } else { None };
        projects.push(shown(project, live));
    }
    let last = found.last().filter(|_| has_more);
    let view = page::Home {
        projects,
        more: last.map(|last| format!("/inspect?after={}", last.id)),
        version: state.config.version.to_owned(),
        trouble: kernel.takes_writes().await.err().map(|error| error.to_string()),
        may_see_system: may_see(state, visit.request.by()?).is_ok(),
        now: visit.now,
    };
    let frame = visit.frame(Section::Elsewhere, "Whose agents do you want to see?", vec![]);
    Ok(answer::html(page::show(&frame, &view)))
}

fn shown(project: &Project, live: Option<page::Live>) -> page::Project {
    page::Project { id: project.id.to_string(), title: project.title.clone(), live, at: project.created_at }
}

/// What is going on in a project.
async fn live(visit: &Visit, project: &ProjectId) -> Result<page::Live, ApiError> {
    let kernel = &visit.request.state.kernel;
    let turns = kernel.live_turns(Some(project), None, ROWS, |_, _| true).await?;
    let (questions, _) = kernel.open_questions(project, None, ROWS).await?;
    let last = kernel.list_runs(project, None, 1).await?.pop().map(|run| {
        let asked = run.question.unwrap_or_else(|| text::agent(run.root.item.agent_id.as_str()));
        (asked, TurnStatus::of(&run.root).as_str().to_owned(), run.root.item.created_at)
    });
    Ok(page::Live {
        turns: turns.turns.len() as u64,
        is_cut: turns.next.is_some(),
        questions: questions.len() as u64,
        last,
    })
}

/// What else a project keeps.
pub(in crate::inspect) async fn more(visit: Visit) -> Answer {
    let title = "What else this project keeps";
    if answer::wants_twin(&visit) {
        let (format, id) = (visit.format, visit.request.project()?.to_string());
        let request = visit.api(&[("project_id", &id)], &[]);
        return answer::with_twins(format, title, request, http::projects::get).await;
    }
    let (project, kernel) = (visit.request.project()?, &visit.request.state.kernel);
    let resources =
        async |kind| kernel.list_resources(project, kind, None, ROWS + 1).await.map(|found| found.len());
    let namespace = Namespace::default();
    let counts = [
        (
            "Sessions",
            "session",
            "/sessions",
            kernel.list_sessions(project, &namespace, None, ROWS + 1).await?.len(),
        ),
        (
            "Batches",
            "batch",
            "/batches",
            kernel.list_batches(project, &BatchFilter::default(), None, ROWS + 1).await?.len(),
        ),
        ("Packages", "package", "/handoffs", resources(ResourceKind::Handoff).await?),
        ("Teams", "team", "/teams", resources(ResourceKind::Team).await?),
        ("Recipes", "recipe", "/recipes", resources(ResourceKind::Recipe).await?),
        (
            "Knowledge",
            "knowledge",
            "/knowledge",
            kernel.list_sources(project, &namespace, None, ROWS + 1).await?.len(),
        ),
    ];
    let kept = counts.map(|(name, word, path, count)| page::Kept {
        name,
        word,
        path,
        count: count.min(ROWS) as u64,
        is_cut: count > ROWS,
    });
    let frame = visit.frame(Section::More, title, vec![("more".to_owned(), None)]);
    Ok(answer::html(page::more(&frame, &kept)))
}
