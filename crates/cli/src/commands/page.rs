//! A page of the inspector: its address, and the address that signs a browser in (IN-04).

use crate::{client::Client, failure::Failure, route::Route};
use axum::http::Method;
use serde_json::{Value, json};

/// In how many projects a run is looked for.
const PROJECTS: usize = 500;

/// What a person wants to see.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) project: Option<String>,
    pub(super) run: Option<String>,
}

impl Wanted {
    /// Its page. A run of which no project was told is looked for in all that the token opens.
    pub(super) async fn page(&self, client: &Client) -> Result<Page, Failure> {
        match (&self.project, &self.run) {
            (Some(project), Some(run)) => Page::of_run(project, run),
            (Some(project), None) => Page::at(&["p", project]),
            (None, Some(run)) => Page::of_run(&project_of(run, client).await?, run),
            (None, None) => Page::at(&[]),
        }
    }
}

/// The project that has this turn.
async fn project_of(run: &str, client: &Client) -> Result<String, Failure> {
    let list = client.get(&Route::new(&["projects"])?.query("limit", Some(PROJECTS))).await?;
    let list: Value = list.parse()?;
    let items = list["items"].as_array().map_or(&[][..], Vec::as_slice);
    for project in items.iter().filter_map(|item| item["project_id"].as_str()) {
        let turn = Route::in_project(project, &["turns", run])?;
        if client.ask(Method::GET, &turn, None).await?.status == 200 {
            return Ok(project.to_owned());
        }
    }
    let places = match (items.len(), list["next_cursor"].is_null()) {
        (1, true) => "the only project".to_owned(),
        (count, true) => format!("any of {count} projects"),
        (count, false) => format!("the first {count} projects"),
    };
    Err(Failure::not_found(format!("the run `{run}` is not in {places}"))
        .hint("see whether the id is right; `cardwire turn list --project PROJECT` shows what there is"))
}

/// A page.
#[derive(Debug, Clone)]
pub(super) struct Page {
    path: String,
}

/// An address that signs one browser in.
pub(super) struct SignIn {
    pub(super) address: String,
    pub(super) expires_in_seconds: Value,
}

impl Page {
    /// The page of a run.
    pub(super) fn of_run(project: &str, run: &str) -> Result<Self, Failure> {
        Self::at(&["p", project, "runs", run])
    }

    fn at(segments: &[&str]) -> Result<Self, Failure> {
        Ok(Self { path: Route::new(&[&["inspect"], segments].concat())?.as_str().to_owned() })
    }

    /// Its address, for a browser that is signed in.
    pub(super) fn address(&self, base: &str) -> String {
        format!("{base}{}", self.path)
    }

    /// Its address for any browser, once and within a minute.
    pub(super) async fn sign_in(&self, base: &str, client: &Client) -> Result<SignIn, Failure> {
        let made = client.post(&Route::new(&["inspector", "codes"])?, &json!({})).await?;
        let mut made: Value = made.parse()?;
        let path = made["path"].as_str().unwrap_or_default();
        let code = path.split_once('#').map_or("", |(_, code)| code);
        Ok(SignIn {
            address: format!("{base}/inspect/login?target={}#{code}", self.path),
            expires_in_seconds: made["expires_in_seconds"].take(),
        })
    }
}
