//! Projects and their revisions.

use super::case::{Case, commit};
use crate::fixtures::{ProjectBuilder, at, project_id};
use cardwire_model::{
    Conflict, Expect, OutputSettings, Project, ProjectSettings, Revision, SingleWriter, Timestamp, Write,
    project::{AclSettings, ContextSettings, DelegationSettings, InheritMode, PmoSettings},
};
use cardwire_store::Store;
use std::sync::Arc;

/// API-07: a project is what it was created as.
pub async fn a_project_comes_back_with_every_field(store: Arc<dyn Store>) {
    let case = Case::new(store).await;
    let full = Project {
        id: project_id("Full_project-1"),
        title: Some("标题 😀 ' \" \\".to_owned()),
        settings: ProjectSettings {
            acl: AclSettings { inherit: InheritMode::Audit },
            workspace_root: Some("仓库/src".to_owned()),
            max_recursion_depth: Some(7),
            pmo: PmoSettings {
                fork_join_max_tasks: Some(i64::MAX),
                fork_join_deadline_seconds: Some(-1),
                max_tree_turns: Some(0),
                max_open_turns: Some(9),
            },
            delegation: DelegationSettings { require_policy: true },
            output: OutputSettings { single_writer: SingleWriter::Strict },
            context: ContextSettings {
                reproducible_contexts: vec!["plan__context".to_owned()],
                compact_threshold: Some(u32::MAX),
                ..ContextSettings::default()
            },
        },
        revision: Revision::new(41),
        deletions: 0,
        created_at: Timestamp::from_micros(1_767_268_800_123_457),
        updated_at: Timestamp::from_micros(-1),
        deleted_at: Some(at(3)),
    };
    case.apply(commit(&full.id, [Write::CreateProject(full.clone())])).await;
    assert_eq!(case.store.project(&full.id).await.unwrap(), Some(full));
    let plain = ProjectBuilder::new(case.project.clone()).build();
    assert_eq!(case.store.project(&case.project).await.unwrap(), Some(plain));
    assert_eq!(case.store.project(&project_id("absent")).await.unwrap(), None);
    // Names differ by case.
    assert_eq!(case.store.project(&project_id("P1")).await.unwrap(), None);
}

/// API-07: a name is taken for ever; there is nothing to update where nothing is.
pub async fn a_taken_name_conflicts_and_an_absent_project_cannot_be_updated(store: Arc<dyn Store>) {
    let case = Case::new(store).await;
    let thief = ProjectBuilder::new(case.project.clone()).title("thief").build();
    case.refuse_write(Write::CreateProject(thief.clone()), Conflict::Project).await;
    case.write([Write::UpdateProject(Project { deleted_at: Some(at(1)), ..thief.clone() })]).await;
    case.refuse_write(Write::CreateProject(thief), Conflict::Project).await;
    let absent = ProjectBuilder::new(project_id("absent")).build();
    let update = commit(&absent.id, [Write::UpdateProject(absent.clone())]);
    case.refuse(update, Conflict::Project).await;
    let mut expecting = commit(&absent.id, []);
    expecting.expect.push(Expect::ProjectAt(Revision::FIRST));
    case.refuse(expecting, Conflict::Project).await;
}

/// The contract of `UpdateProject`: the count of deletions belongs to `DeleteCard`.
pub async fn an_update_leaves_deletions_and_birth_alone(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let card_id = case.put(&["x"]).await[0];
    case.write([Write::DeleteCard { card_id, at: at(1) }]).await;
    let new = Project {
        title: Some("new".to_owned()),
        settings: ProjectSettings { workspace_root: Some("w".to_owned()), ..ProjectSettings::default() },
        revision: Revision::new(2),
        deletions: 99,
        created_at: at(99),
        updated_at: at(7),
        deleted_at: Some(at(8)),
        ..ProjectBuilder::new(case.project.clone()).build()
    };
    case.write([Write::UpdateProject(new.clone())]).await;
    let expected = Project { deletions: 1, created_at: at(0), ..new.clone() };
    assert_eq!(case.store.project(&case.project).await.unwrap(), Some(expected));
    // And back to nothing.
    let bare = Project { title: None, deleted_at: None, revision: Revision::new(3), ..new };
    case.write([Write::UpdateProject(bare.clone())]).await;
    let expected = Project { deletions: 1, created_at: at(0), ..bare };
    assert_eq!(case.store.project(&case.project).await.unwrap(), Some(expected));
}

/// API-07: who changes a project says what it read.
pub async fn an_update_relies_on_the_revision(store: Arc<dyn Store>) {
    let case = Case::new(store).await;
    let update = |from: Revision, title: &str| {
        let new = ProjectBuilder::new(case.project.clone()).revision(from.next()).title(title).build();
        let mut commit = case.commit([Write::UpdateProject(new)]);
        commit.expect.push(Expect::ProjectAt(from));
        commit
    };
    case.apply(update(Revision::FIRST, "one")).await;
    case.refuse(update(Revision::FIRST, "late"), Conflict::Project).await;
    case.refuse(update(Revision::new(3), "early"), Conflict::Project).await;
    case.apply(update(Revision::new(2), "two")).await;
    let found = case.store.project(&case.project).await.unwrap().unwrap();
    assert_eq!((found.revision, found.title.as_deref()), (Revision::new(3), Some("two")));
}

/// API-07: every project once, by name, whatever the page.
pub async fn projects_page_by_name(store: Arc<dyn Store>) {
    let case = Case::new(store).await;
    // Byte order, not the order of some language: capitals, digits and signs tell.
    for name in ["b", "B", "a-1", "a_1", "a1", "Z", "0"] {
        case.create_project(name).await;
    }
    for page in [1, 3, 8, 50] {
        let (mut seen, mut after) = (vec![], None);
        loop {
            let found = case.store.projects(after.as_ref(), page).await.unwrap();
            assert!(found.len() <= page);
            let Some(last) = found.last() else { break };
            after = Some(last.id.clone());
            seen.extend(found.iter().map(|project| project.id.to_string()));
            assert!(seen.len() <= 8, "a scan that stands still");
        }
        assert_eq!(seen, ["0", "B", "Z", "a-1", "a1", "a_1", "b", "p1"], "pages of {page}");
    }
}
