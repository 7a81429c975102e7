//! Whose the directories below the workspace root are (F-40).

use crate::desk::{Desk, caller};
use cardwire_model::{ProjectId, ProjectSettings, limits::WORKSPACE_OWNERS};
use cardwire_protocol::project::create::CreateProject;

async fn make(desk: &Desk, name: &str, root: Option<&str>) {
    let settings = ProjectSettings { workspace_root: root.map(str::to_owned), ..ProjectSettings::default() };
    let command = CreateProject { id: name.parse().unwrap(), title: None, settings };
    desk.kernel.create_project(&caller(), &command, None).await.unwrap();
}

/// F-40, SEC-07
#[tokio::test]
async fn a_directory_belongs_to_a_project_by_its_name_or_setting_and_to_nobody_among_too_many() {
    let desk = Desk::new(&[]).await;
    let another =
        async |name: &str| desk.kernel.lead_to_another(&[name].into(), &desk.project).await.unwrap();
    make(&desk, "named", None).await;
    make(&desk, "set", Some("./teams/one/")).await;
    for (name, belongs) in [("named", true), ("teams", true), ("p", false), ("set", false), ("team", false)] {
        assert_eq!(another(name).await, belongs, "{name}");
    }
    let deleted: ProjectId = "named".parse().unwrap();
    desk.kernel.delete_project(&caller(), &deleted).await.unwrap();
    assert!(another("named").await, "its files are still there");

    for n in 3..WORKSPACE_OWNERS {
        make(&desk, &format!("p{n}"), None).await;
    }
    assert!(!another("free").await);
    make(&desk, "last", None).await;
    assert!(another("free").await);
}
