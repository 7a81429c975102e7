//! Commands on projects, and the gate every project-scoped request passes.

use crate::{Caller, Done, Kernel, KernelError, Remember, execute::Plan};
use cardwire_model::{AuditRow, Keys, Project, ProjectId, Realm, SafePath, limits};
use cardwire_protocol::{
    Rejection,
    project::{
        create::{self, CreateProject},
        delete,
        update::{self, UpdateProject},
    },
};
use cardwire_store::RowFilter;
use std::collections::BTreeSet;

impl Kernel {
    /// Makes a project.
    pub async fn create_project(
        &self,
        caller: &Caller,
        command: &CreateProject,
        remember: Option<&Remember<Project>>,
    ) -> Result<Done<Project>, KernelError> {
        if let Some(remember) = remember {
            self.claim_key(&remember.key).await?;
        }
        let realm = Realm::from(command.id.clone());
        let plan = Plan { realm: &realm, caller, keys: project_keys(), flat: None, remember };
        self.execute(plan, |loaded, moment| create::decide(&loaded.snapshot, command.clone(), moment)).await
    }

    /// Changes a project's title or settings.
    pub async fn update_project(
        &self,
        caller: &Caller,
        command: &UpdateProject,
    ) -> Result<Project, KernelError> {
        let realm = Realm::from(command.id.clone());
        let plan = Plan { realm: &realm, caller, keys: project_keys(), flat: None, remember: None };
        let project = self
            .execute_once(plan, |loaded, moment| update::decide(&loaded.snapshot, command.clone(), moment))
            .await?;
        self.projects.clear();
        Ok(project)
    }

    /// Deletes a project.
    pub async fn delete_project(&self, caller: &Caller, id: &ProjectId) -> Result<(), KernelError> {
        let realm = Realm::from(id.clone());
        let plan = Plan { realm: &realm, caller, keys: project_keys(), flat: None, remember: None };
        self.execute_once(plan, |loaded, moment| delete::decide(&loaded.snapshot, id, moment)).await?;
        self.projects.clear();
        Ok(())
    }

    /// The project, if it is there and not deleted. Remembered for half a second.
    pub async fn live_project(&self, id: &ProjectId) -> Result<Project, KernelError> {
        match self.projects.get(id, self.now()) {
            Some(project) => Ok(project),
            None => self.stored_project(id).await,
        }
    }

    /// The same as the store has it now, for whoever asks to see the project itself.
    pub async fn stored_project(&self, id: &ProjectId) -> Result<Project, KernelError> {
        let now = self.now();
        let found = self.store.project(id).await?;
        let live =
            found.filter(|project| project.deleted_at.is_none()).ok_or_else(|| Rejection::no_project(id))?;
        self.projects.put(id.clone(), live.clone(), now);
        Ok(live)
    }

    /// Live projects by name, after `after`.
    pub async fn list_projects(
        &self,
        after: Option<ProjectId>,
        limit: usize,
    ) -> Result<Vec<Project>, KernelError> {
        let (mut after, mut live) = (after, vec![]);
        // Deleted projects are passed over, so a page may take more than one read.
        loop {
            let page = self.store.projects(after.as_ref(), limit).await?;
            let ended = page.len() < limit;
            after = page.last().map(|project| project.id.clone());
            live.extend(page.into_iter().filter(|project| project.deleted_at.is_none()));
            if ended || live.len() >= limit {
                live.truncate(limit);
                return Ok(live);
            }
        }
    }

    /// Whether one of these names below the workspace root leads to files of another project. One that was deleted has left
    /// its files there; among more than [`limits::WORKSPACE_OWNERS`] projects nobody can tell in time, and the answer is yes.
    pub async fn lead_to_another(
        &self,
        names: &BTreeSet<&str>,
        project: &ProjectId,
    ) -> Result<bool, KernelError> {
        let (mut after, mut seen) = (None, 0);
        loop {
            let page = self.store.projects(after.as_ref(), limits::PAGE_MAX).await?;
            let is_there = |other: &Project| {
                let directory = SafePath::parse(other.directory());
                directory.is_ok_and(|directory| directory.names().take(1).any(|name| names.contains(name)))
            };
            seen += page.len();
            if seen > limits::WORKSPACE_OWNERS
                || page.iter().any(|other| other.id != *project && is_there(other))
            {
                return Ok(true);
            }
            if page.len() < limits::PAGE_MAX {
                return Ok(false);
            }
            after = page.last().map(|last| last.id.clone());
        }
    }

    /// Audit rows of a realm, newest first, before a row.
    pub async fn list_audit(
        &self,
        realm: &Realm,
        filter: &RowFilter,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<AuditRow>, KernelError> {
        Ok(self.store.audit(realm, filter, before, limit).await?)
    }
}

fn project_keys() -> Keys {
    Keys { project: true, ..Keys::default() }
}
