//! How a run is seen in a browser: the line that says so, and `--open`, which shows it while it grows.

use super::{
    page::{Page, SignIn},
    questions::Question,
    run::Run,
    run_begin::Begun,
    run_view::View,
};
use crate::{
    browser,
    client::Client,
    failure::Failure,
    hint::Asked,
    output::{self, advise, say},
    signals::Signals,
    text::shell_word,
};

impl Run<'_> {
    /// Watches the run, and shows its page if that is wanted. A page that this command serves is served until Ctrl-C, so that
    /// what came of the run can be read there.
    pub(super) async fn attend_and_show(
        &mut self,
        begun: &Begun,
        signals: &mut Signals,
    ) -> Result<(), Failure> {
        if let Some(base) = self.base().filter(|_| self.args.open) {
            let page = Page::of_run(self.project, &begun.turn)?;
            let SignIn { address, .. } = page.sign_in(base, &self.client).await?;
            say(&format!("{address}   shows the run, and signs one browser in, within a minute"));
            browser::open(&address, self.output);
        }
        let outcome = self.attend(begun, signals).await;
        if self.is_left || self.front.is_none() {
            return outcome;
        }
        let told = outcome.map_err(|failure| {
            output::report(&failure, Asked::here);
            Failure { message: String::new(), ..failure }
        });
        say("its page is served from here until Ctrl-C");
        signals.next().await;
        told
    }

    /// Where pages are served.
    fn base(&self) -> Option<&str> {
        match &self.client {
            Client::Http(http) => Some(http.address()),
            Client::Embedded(_) => self.front.as_deref(),
        }
    }

    /// How to see the run in a browser: its address where a server lives, else the command that starts one.
    pub(super) fn page_line(&self, begun: &Begun) -> String {
        let is_ending = self.is_left && self.front.is_some();
        let page = Page::of_run(self.project, &begun.turn).ok();
        let how = match self.base().filter(|_| !is_ending).zip(page) {
            Some((base, page)) => page.address(base),
            None => {
                let project = shell_word(self.project);
                Asked::here().whole(&format!("cardwire open {} --project {project}", begun.turn))
            }
        };
        format!("{how}   shows the run in a browser")
    }

    /// Says what a person is asked while the page, where it can be answered, is open.
    pub(super) fn tell_asked(&self, question: &Question, view: &View) {
        view.aside(|| {
            question.say(self.project);
            advise(&format!("answer on the page, or {}", question.answers(self.project)));
        });
    }
}
