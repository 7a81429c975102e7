//! Which process answers (API-17): a given server, else the live server of the data directory, else this process
//! with the embedded store.

use crate::{
    client::{self, Client, EmbedError, Embedded, Http, Place, is_healthy},
    context::Context,
    data_dir::DataDir,
    failure::Failure,
    presence::{self, Found},
    store, workspace,
};
use cardwire_model::TokenSecret;
use cardwire_store_sqlite::OpenError;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Whether a command may start a store where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Init {
    Never,
    Allowed,
}

/// Other commands hold the embedded store only for a moment, and a server that starts is soon reachable.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Finds who answers.
pub(crate) async fn connect(context: &Context, init: Init) -> Result<Client, Failure> {
    open(context, init, false).await
}

/// Finds who answers; or says why the embedded store of this process does not open, to somebody who can do without.
pub(crate) async fn connect_or_tell(context: &Context) -> Result<Result<Client, OpenError>, Failure> {
    try_open(context, Init::Never, false).await
}

/// The same; this process does what a server does in the background if there is none.
pub(crate) async fn connect_working(context: &Context) -> Result<Client, Failure> {
    open(context, Init::Allowed, true).await
}

async fn open(context: &Context, init: Init, works: bool) -> Result<Client, Failure> {
    let opened = try_open(context, init, works).await?;
    opened.map_err(|error| store::cannot_open(&context.dir, error))
}

async fn try_open(context: &Context, init: Init, works: bool) -> Result<Result<Client, OpenError>, Failure> {
    let dir = &context.dir;
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(client) = server(context).await? {
            return Ok(Ok(client));
        }
        prepare(dir, init)?;
        let token = given_token()?;
        let files = workspace::open(context)?;
        let opened = if works {
            Embedded::open_working(dir, token, files).await
        } else {
            Embedded::open(dir, token, files).await
        };
        match opened {
            Ok(embedded) => return Ok(Ok(Client::Embedded(embedded))),
            Err(EmbedError::Open(OpenError::Held(_))) if Instant::now() < deadline => {
                sleep(LOOK_AGAIN).await;
            }
            Err(EmbedError::Open(error)) => return Ok(Err(error)),
            Err(EmbedError::Token(failure)) => return Err(failure),
        }
    }
}

/// The server to talk to, if there is one.
pub(crate) async fn server(context: &Context) -> Result<Option<Client>, Failure> {
    match place(context).await? {
        Some((place, token)) => Http::new(&place, &token).map(|http| Some(Client::Http(http))),
        None => Ok(None),
    }
}

/// Where that is, and the token for it.
pub(crate) async fn place(context: &Context) -> Result<Option<(Place, TokenSecret)>, Failure> {
    let place = match &context.globals.server {
        Some(url) => Place { url: url.clone(), certificate: None },
        None => match live(&context.dir).await {
            Some(place) => place,
            None => return Ok(None),
        },
    };
    let token = match given_token()? {
        Some(token) => Some(token),
        None => context.dir.read_token()?,
    };
    let token = token.ok_or_else(|| {
        Failure::failed(format!("there is no token for {}", place.url))
            .hint("set `CARDWIRE_TOKEN`, or give the `--data-dir` of that server")
    })?;
    Ok(Some((place, token)))
}

/// The server of a data directory, if it lives and answers.
async fn live(dir: &DataDir) -> Option<Place> {
    match presence::find(dir) {
        Found::Live(address) => {
            let place = address.place();
            is_healthy(&place).await.then_some(place)
        }
        Found::Nothing | Found::Stale(_) => None,
    }
}

/// Sees to it that there is an embedded store to open, and that it is the one that is meant.
fn prepare(dir: &DataDir, init: Init) -> Result<(), Failure> {
    let path = dir.path().display();
    if std::env::var("CARDWIRE_STORE").is_ok_and(|store| !matches!(store.as_str(), "" | "sqlite")) {
        return Err(Failure::not_found(format!("no server is running for `{path}`"))
            .hint("`CARDWIRE_STORE` names a store that only a server opens; start one with `cardwire up`"));
    }
    // A token without a database is what a server with its store elsewhere leaves.
    if init == Init::Allowed && !has_store(dir)? && !dir.token_file().exists() {
        return dir.create();
    }
    expect_store(dir)
}

/// Whether there is an embedded store to open.
fn has_store(dir: &DataDir) -> Result<bool, Failure> {
    dir.database().try_exists().map_err(|error| unreadable(dir, &error))
}

/// Refuses a data directory without an embedded store.
pub(crate) fn expect_store(dir: &DataDir) -> Result<(), Failure> {
    if has_store(dir)? {
        return Ok(());
    }
    let path = dir.path().display();
    Err(Failure::not_found(format!("no server is running for `{path}`, and there is no store in it"))
        .hint("start a server with `cardwire up`, make a first project with `cardwire project create`, or give `--server` or `--data-dir`"))
}

/// A directory into which nobody may look is not one without a store.
fn unreadable(dir: &DataDir, error: &std::io::Error) -> Failure {
    let path = dir.path().display();
    let failure = Failure::failed(format!("cannot look into the data directory `{path}`: {error}"));
    if error.kind() == std::io::ErrorKind::PermissionDenied {
        failure.hint(
            "it is for its owner only: run this as the user who started the server, or give `--server URL` and set \
             `CARDWIRE_TOKEN`",
        )
    } else {
        failure.hint("see whether `--data-dir` or `CARDWIRE_DATA_DIR` names the right directory")
    }
}

/// The token that the environment gives.
pub(crate) fn given_token() -> Result<Option<TokenSecret>, Failure> {
    let Some(text) = client::given_token() else { return Ok(None) };
    match TokenSecret::from_text(text.trim()) {
        Ok(token) => Ok(Some(token)),
        // The text is not repeated: it may be a secret of something else.
        Err(_) => Err(Failure::usage("`CARDWIRE_TOKEN` does not hold a Cardwire token")
            .hint("a token is `cw_` and 64 hexadecimal digits; unset the variable to use `admin.token` of the data directory")),
    }
}
