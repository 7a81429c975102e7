//! `cardwire open`: an address of the inspector that signs a browser in (IN-04).

use crate::{cli::InProject, client::Client, failure::Failure, output::Output, route::Route};
use clap::Args;
use serde_json::{Value, json};

#[derive(Debug, Args)]
pub(crate) struct OpenArgs {
    #[command(flatten)]
    project: InProject,
    /// The run to look at, by its turn; the runs of the project when absent.
    #[arg(value_name = "RUN")]
    run: Option<String>,
}

pub(crate) async fn run(args: &OpenArgs, output: Output, client: &Client) -> Result<(), Failure> {
    let Client::Http(server) = client else {
        return Err(Failure::failed("no server runs on this store, so that nobody serves its pages")
            .hint("start one with `cardwire up`, and ask again"));
    };
    let place = match (&args.project.project, &args.run) {
        (Some(project), Some(run)) => format!("/inspect/p/{project}/runs/{run}"),
        (Some(project), None) => format!("/inspect/p/{project}"),
        (None, Some(_)) => return Err(Failure::usage("no project is given").hint("add `--project PROJECT`")),
        (None, None) => "/inspect".to_owned(),
    };
    let made: Value = client.post(&Route::new(&["inspector", "codes"])?, &json!({})).await?.parse()?;
    let path = made["path"].as_str().unwrap_or_default();
    let code = path.split_once('#').map_or("", |(_, code)| code);
    let address = format!("{}/inspect/login?target={place}#{code}", server.address());
    if output.json {
        return output
            .json(&json!({ "url": address, "expires_in_seconds": made["expires_in_seconds"] }).to_string());
    }
    output.line(format_args!("{address}"))?;
    output.line(format_args!("this address signs one browser in, within a minute"))
}
