//! Projects and their audit log (API-07, API-08).

use super::{place, remembered, state::row_filter};
use crate::{
    error::{Answer, ApiError},
    request::Request,
    respond,
};
use axum::http::StatusCode;
use cardwire_api::{
    ErrorCode, parse,
    projects::{AuditList, AuditOut, ProjectIn, ProjectList, ProjectOut, ProjectPatch},
};
use cardwire_kernel::{
    Done,
    protocol::project::{create::CreateProject, update::UpdateProject},
    store::RowFilter,
};
use cardwire_model::{AuditAction, AuditVerdict, Invalid, Project, Realm, limits};

pub(crate) async fn list(request: Request) -> Answer {
    let kernel = &request.state.kernel;
    // A token of one project sees that one.
    if let Realm::Project(own) = &request.by()?.token.realm {
        let project = kernel.live_project(own).await?;
        return respond::ok(&ProjectList { items: vec![(&project).into()], next_cursor: None });
    }
    let limit = request.page_limit()?;
    let after = request.text("cursor").map(|cursor| parse::one("cursor", cursor)).transpose()?;
    let page = kernel.list_projects(after, limit).await?;
    let next_cursor = (page.len() == limit).then(|| page.last().map(|last| last.id.to_string())).flatten();
    respond::ok(&ProjectList { items: page.iter().map(ProjectOut::from).collect(), next_cursor })
}

pub(crate) async fn create(request: Request) -> Answer {
    let body: ProjectIn = request.body().await?;
    let command = CreateProject {
        id: parse::one("project_id", &body.project_id)?,
        title: body.title,
        settings: body.settings.unwrap_or_default(),
    };
    let remember =
        request.remember(|project: &Project| remembered(StatusCode::CREATED, &ProjectOut::from(project)))?;
    match request.state.kernel.create_project(&request.caller()?, &command, remember.as_ref()).await? {
        Done::Replayed(answer) => respond::replayed(answer),
        Done::Fresh(project) => respond::created(&ProjectOut::from(&project)),
    }
}

pub(crate) async fn get(request: Request) -> Answer {
    let project = request.state.kernel.stored_project(request.project()?).await?;
    respond::ok(&ProjectOut::from(&project))
}

pub(crate) async fn update(request: Request) -> Answer {
    let body: ProjectPatch = request.body().await?;
    let settings = match &body.settings {
        None => None,
        Some(raw) => Some(parse::canonical("settings", raw)?.to_value()),
    };
    // Whose files a project has is for those to say who see all projects.
    let moves = settings.as_ref().is_some_and(|settings| settings.get("workspace_root").is_some());
    if moves && request.by()?.token.realm.project().is_some() {
        let message = "settings/workspace_root: this needs a token that is not bound to one project";
        return Err(ApiError::new(ErrorCode::Forbidden, message));
    }
    let command = UpdateProject { id: request.project()?.clone(), title: body.title, settings };
    let project = request.state.kernel.update_project(&request.caller()?, &command).await?;
    respond::ok(&ProjectOut::from(&project))
}

pub(crate) async fn delete(request: Request) -> Answer {
    request.state.kernel.delete_project(&request.caller()?, request.project()?).await?;
    respond::no_content()
}

/// What audit rows are about may have a longer name than others: that of a document.
fn subject(request: &Request) -> Result<Option<String>, Invalid> {
    let text = request.text("subject");
    let check = |text| Invalid::check_printable_within("subject", text, limits::TITLE_CHARS);
    text.map(check).transpose()?;
    Ok(text.map(str::to_owned))
}

pub(crate) async fn audit(request: Request) -> Answer {
    let limit = request.page_limit()?;
    let before = place(&request)?;
    let realm = Realm::from(request.project()?.clone());
    let mut filter = RowFilter {
        actor: request.printable("actor")?,
        subject: subject(&request)?,
        ..row_filter(&request)?
    };
    if let Some(name) = request.text("action") {
        let words = AuditAction::ALL.iter().map(|action| action.as_str());
        filter.action = Some(parse::word("action", name, AuditAction::from_name, words)?);
    }
    if let Some(name) = request.text("verdict") {
        let words = [AuditVerdict::Allowed, AuditVerdict::Denied].map(AuditVerdict::as_str);
        filter.verdict = Some(parse::word("verdict", name, AuditVerdict::from_name, words)?);
    }
    let page = request.state.kernel.list_audit(&realm, &filter, before, limit).await?;
    let next_cursor = (page.len() == limit).then(|| page.last().map(|last| last.seq.to_string())).flatten();
    respond::ok(&AuditList { items: page.iter().map(AuditOut::from).collect(), next_cursor })
}
