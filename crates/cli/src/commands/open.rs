//! `cardwire open`: a page of the inspector in a browser, from the live server or from one that this command starts (IN-04).

use super::{
    page::{SignIn, Wanted},
    up::{self, UpArgs},
};
use crate::{
    browser,
    cli::InProject,
    client::Client,
    context::Context,
    failure::{Code, Failure},
    locate,
    output::Output,
    store::{StoreArgs, StoreChoice},
};
use clap::Args;
use serde_json::json;

#[derive(Debug, Args)]
pub(crate) struct OpenArgs {
    #[command(flatten)]
    project: InProject,
    /// The run to look at, by its turn; the runs of the project when absent. It is looked for when no project is given.
    #[arg(value_name = "RUN")]
    run: Option<String>,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) async fn run(args: OpenArgs, context: &Context) -> Result<(), Failure> {
    let wanted = Wanted { project: args.project.project, run: args.run };
    if let Some(client) = locate::server(context).await?
        && let Client::Http(server) = &client
    {
        let page = wanted.page(&client).await?;
        return show(&page.sign_in(server.address(), &client).await?, context.output);
    }
    if matches!(args.store.store, StoreChoice::Sqlite) {
        // Nobody wants to look at a store that this command makes.
        locate::expect_store(&context.dir)?;
    }
    up::start(UpArgs::to_look(args.store)?, context, Some(&wanted)).await.map_err(|failure| {
        if failure.code == Code::Conflict {
            failure.hint("`cardwire run` without a server has the store to itself until it ends; with `--open` it shows its run while it grows")
        } else {
            failure
        }
    })
}

/// Prints the address, and opens it where there is a desktop.
pub(super) fn show(sign_in: &SignIn, output: Output) -> Result<(), Failure> {
    let SignIn { address, expires_in_seconds } = sign_in;
    if output.json {
        let told = json!({ "url": address, "expires_in_seconds": expires_in_seconds });
        return output.json(&told.to_string());
    }
    output.line(address)?;
    output.line("this address signs one browser in, within a minute")?;
    browser::open(address, output);
    Ok(())
}
