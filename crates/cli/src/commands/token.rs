//! `cardwire token`.

use crate::{cli::Page, client::Client, failure::Failure, output::Output, route::Route, text::cell};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

#[derive(Debug, Args)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    command: TokenCommand,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
    /// List tokens, without their secrets.
    List {
        #[command(flatten)]
        page: Page,
    },
    /// Make a token and print it once.
    Create {
        /// The project it is for; all of them when absent.
        // Not from CARDWIRE_PROJECT: what a token reaches is worth saying.
        #[arg(long, short = 'p', value_name = "PROJECT")]
        project: Option<String>,
        /// What it may do; each scope includes the weaker ones. May be given more than once.
        #[arg(long = "scope", required = true, value_name = "SCOPE", value_delimiter = ',')]
        scopes: Vec<ScopeName>,
        /// How long it lives; for ever when absent.
        #[arg(long, value_name = "SECONDS")]
        expires_in: Option<u64>,
    },
    /// End a token.
    Revoke {
        /// Its id, `tok_…`; not the token itself.
        id: String,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ScopeName {
    /// See facts and state.
    Read,
    /// Claim and run turns.
    Work,
    /// Write facts, dispatch turns, call tools.
    Operate,
    /// Manage projects and tokens.
    Admin,
}

impl ScopeName {
    fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Work => "work",
            Self::Operate => "operate",
            Self::Admin => "admin",
        }
    }
}

pub(crate) async fn run(args: TokenArgs, output: Output, client: &Client) -> Result<(), Failure> {
    match args.command {
        TokenCommand::List { page } => list(&page, output, client).await,
        TokenCommand::Create { project, scopes, expires_in } => {
            let mut body = json!({ "scopes": scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>() });
            if let Some(project) = project {
                body["project_id"] = project.into();
            }
            if let Some(seconds) = expires_in {
                body["expires_in_seconds"] = seconds.into();
            }
            let answer = client.post(&Route::new(&["tokens"])?, &body).await?;
            let token: Value = answer.parse()?;
            // On standard output there is the token and nothing else: `TOKEN=$(cardwire token create …)`.
            if output.json {
                output.json(&answer.text)?
            } else {
                output.line(cell(&token["token"]))?
            }
            output.note(format_args!("token {} is shown only this once", cell(&token["id"])));
            Ok(())
        }
        TokenCommand::Revoke { id } => {
            if id.starts_with("cw_") {
                // It is not repeated, but it was in the arguments and may be in the shell's history.
                return Err(Failure::usage("this is a token, not the id of one")
                    .hint("`cardwire token list` shows ids; they start with `tok_`"));
            }
            client.delete(&Route::new(&["tokens", &id])?).await?;
            if output.json { Ok(()) } else { output.line(format_args!("revoked token {id}")) }
        }
    }
}

async fn list(page: &Page, output: Output, client: &Client) -> Result<(), Failure> {
    let answer = client.get(&Route::new(&["tokens"])?.page(page)).await?;
    if output.json {
        return output.json(&answer.text);
    }
    let list: Value = answer.parse()?;
    let items = list["items"].as_array().map_or(&[][..], Vec::as_slice);
    let row = |token: &Value| {
        let scopes = token["scopes"].as_array().map_or(&[][..], Vec::as_slice);
        let scopes = scopes.iter().map(cell).collect::<Vec<_>>().join(" ");
        let project = token["project_id"].as_str().unwrap_or("(all)").to_owned();
        let end = if token["revoked_at"].is_null() {
            cell(&token["expires_at"])
        } else {
            format!("revoked {}", cell(&token["revoked_at"]))
        };
        vec![cell(&token["id"]), project, scopes, cell(&token["created_at"]), end]
    };
    output.table(&["TOKEN", "PROJECT", "SCOPES", "CREATED", "ENDS"], items.iter().map(row).collect())?;
    output.more(&list["next_cursor"]);
    Ok(())
}
