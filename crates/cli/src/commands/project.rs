//! `cardwire project`.

use crate::{
    cli::Page,
    client::{Answer, Client},
    failure::Failure,
    output::Output,
    route::Route,
    text::cell,
};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Map, Value, json};

#[derive(Debug, Args)]
pub(crate) struct ProjectArgs {
    #[command(subcommand)]
    command: ProjectCommand,
}

#[derive(Debug, Subcommand)]
enum ProjectCommand {
    /// List projects by name.
    List {
        #[command(flatten)]
        page: Page,
    },
    /// Make a project. Without a server this also starts the store in --data-dir.
    Create {
        /// Its name: 1 to 128 characters of A-Z, a-z, 0-9, _ and -.
        id: String,
        /// A title for people.
        #[arg(long)]
        title: Option<String>,
        #[command(flatten)]
        settings: Settings,
    },
    /// Show a project.
    #[command(visible_alias = "get")]
    Show {
        /// Its name.
        id: String,
    },
    /// Change a project's title or settings.
    Update {
        /// Its name.
        id: String,
        /// A new title.
        #[arg(long)]
        title: Option<String>,
        /// Take the title away.
        #[arg(long, conflicts_with = "title")]
        no_title: bool,
        #[command(flatten)]
        settings: Settings,
    },
    /// Delete a project. Its name stays taken.
    Delete {
        /// Its name.
        id: String,
    },
}

#[derive(Debug, Args)]
struct Settings {
    /// What happens when an agent inherits a box it was not given: refuse, or only record.
    #[arg(long, value_name = "MODE")]
    acl_inherit: Option<AclInherit>,
    /// Where the project's files are, below the server's workspace root.
    #[arg(long, value_name = "PATH")]
    workspace_root: Option<String>,
    /// How deep turns may delegate: 1 to 100.
    #[arg(long, value_name = "N")]
    max_recursion_depth: Option<u32>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum AclInherit {
    /// Refuse.
    Enforce,
    /// Only record.
    Audit,
}

impl Settings {
    fn json(&self) -> Option<Value> {
        let mut settings = Map::new();
        if let Some(inherit) = self.acl_inherit {
            let inherit = match inherit {
                AclInherit::Enforce => "enforce",
                AclInherit::Audit => "audit",
            };
            settings.insert("acl".to_owned(), json!({ "inherit": inherit }));
        }
        if let Some(root) = &self.workspace_root {
            settings.insert("workspace_root".to_owned(), json!(root));
        }
        if let Some(depth) = self.max_recursion_depth {
            settings.insert("max_recursion_depth".to_owned(), json!(depth));
        }
        (!settings.is_empty()).then_some(Value::Object(settings))
    }
}

impl ProjectArgs {
    pub(crate) fn creates(&self) -> bool {
        matches!(self.command, ProjectCommand::Create { .. })
    }
}

pub(crate) async fn run(args: ProjectArgs, output: Output, client: &Client) -> Result<(), Failure> {
    match args.command {
        ProjectCommand::List { page } => list(&page, output, client).await,
        ProjectCommand::Create { id, title, settings } => {
            let mut body = json!({ "project_id": id });
            put(&mut body, "title", title.map(Value::from));
            put(&mut body, "settings", settings.json());
            show(client.post(&Route::new(&["projects"])?, &body).await?, output)
        }
        ProjectCommand::Show { id } => show(client.get(&Route::new(&["projects", &id])?).await?, output),
        ProjectCommand::Update { id, title, no_title, settings } => {
            let mut body = json!({});
            put(&mut body, "title", if no_title { Some(Value::Null) } else { title.map(Value::from) });
            put(&mut body, "settings", settings.json());
            if body == json!({}) {
                return Err(Failure::usage("nothing to change is given")
                    .hint("`cardwire project update --help` shows what can be changed"));
            }
            show(client.patch(&Route::new(&["projects", &id])?, &body).await?, output)
        }
        ProjectCommand::Delete { id } => {
            client.delete(&Route::new(&["projects", &id])?).await?;
            if output.json { Ok(()) } else { output.line(format_args!("deleted project {id}")) }
        }
    }
}

fn put(body: &mut Value, name: &str, value: Option<Value>) {
    if let Some(value) = value {
        body[name] = value;
    }
}

async fn list(page: &Page, output: Output, client: &Client) -> Result<(), Failure> {
    let answer = client.get(&Route::new(&["projects"])?.page(page)).await?;
    if output.json {
        return output.json(&answer.text);
    }
    let list: Value = answer.parse()?;
    let items = list["items"].as_array().map_or(&[][..], Vec::as_slice);
    let row = |project: &Value| {
        let inherit = &project["settings"]["acl"]["inherit"];
        [&project["project_id"], &project["title"], inherit, &project["updated_at"]].map(cell).to_vec()
    };
    output.table(&["PROJECT", "TITLE", "INHERIT", "UPDATED"], items.iter().map(row).collect())?;
    output.more(&list["next_cursor"]);
    Ok(())
}

fn show(answer: Answer, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.json(&answer.text);
    }
    let project: Value = answer.parse()?;
    let fields = ["project_id", "title", "settings", "revision", "created_at", "updated_at"];
    output.fields(&fields.map(|name| (name, cell(&project[name]))))
}
