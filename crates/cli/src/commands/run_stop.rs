//! When a run cannot be watched any longer: the person who watches wants to leave, or the server is gone.

use super::{run_begin::Begun, run_view::View, unfinished::RunCommands};
use crate::{
    client::Client, context::Context, failure::Failure, locate, output::say, route::Route, signals::Signals,
};
use axum::http::Method;
use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

/// How long a server that is gone is waited for: it may be starting again.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// What is to become of a run that a server carries on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// It ends.
    Stop,
    /// It goes on, and nobody watches.
    Leave,
    /// It goes on, and is watched.
    Watch,
}

/// Asks the person at the terminal. Without one nobody is asked, and the run is left running; a second Ctrl-C means the same.
pub(super) async fn ask(server: &str, signals: &mut Signals) -> Choice {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Choice::Leave;
    }
    say("");
    say(&format!("The run goes on at {server} whether it is watched or not."));
    loop {
        let mut terminal = io::stderr().lock();
        let _ = write!(terminal, "[s]top it, [l]eave it running, or [w]atch on? ")
            .and_then(|()| terminal.flush());
        drop(terminal);
        let answer = tokio::select! {
            answer = tokio::task::spawn_blocking(read_line) => answer.unwrap_or_default(),
            () = signals.next() => {
                say("");
                return Choice::Leave;
            }
        };
        match answer.as_deref().map(str::trim) {
            Some("s" | "stop") => return Choice::Stop,
            Some("w" | "watch") => return Choice::Watch,
            Some("l" | "leave") | None => return Choice::Leave,
            Some(_) => {}
        }
    }
}

/// A line that a person typed; none at the end of the input.
fn read_line() -> Option<String> {
    let mut line = String::new();
    match io::stdin().read_line(&mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line),
    }
}

/// Finds the server again, which may have another address by now; or says what can be done when it stays away.
pub(super) async fn find_again(
    context: &Context,
    begun: &Begun,
    project: &str,
    lost: &Failure,
    commands: &RunCommands,
    view: &View,
    signals: &mut Signals,
) -> Result<Client, Failure> {
    let trouble = format!("{}; trying again for {} s", lost.message, PATIENCE.as_secs());
    view.say(&Failure::failed(trouble));
    let start = match context.globals.server {
        Some(_) => "have it started again",
        None => "start it again with `cardwire up`",
    };
    let gone = || {
        Failure::failed(format!("the server is gone in the middle of run {}: {}", begun.turn, lost.message))
            .hint(format!("what is done is kept: {start}, then `{}` goes on with the run", commands.resume))
    };
    let route = Route::in_project(project, &["turns", &begun.turn])?;
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        tokio::select! {
            () = tokio::time::sleep(LOOK_AGAIN) => {}
            () = signals.next() => return Err(gone()),
        }
        if let Ok(Some(client)) = locate::server(context).await
            && client.ask(Method::GET, &route, None).await.is_ok_and(|answer| answer.status < 500)
        {
            return Ok(client);
        }
    }
    Err(gone())
}
