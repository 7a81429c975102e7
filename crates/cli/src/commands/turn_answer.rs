//! `cardwire turn answer`: a person's word to a turn that waits for one.

use super::{question::Verdict, questions::questions_of};
use crate::{client::Client, failure::Failure, output::Output};
use clap::Args;

#[derive(Debug, Args)]
pub(super) struct AnswerArgs {
    /// The turn that asks, or one above it, `turn_…`.
    id: String,
    /// Which of its questions, where it has several.
    #[arg(long, value_name = "CALL")]
    call: Option<String>,
    #[command(flatten)]
    verdict: Verdict,
}

pub(super) async fn run(
    args: &AnswerArgs,
    project: &str,
    output: Output,
    client: &Client,
) -> Result<(), Failure> {
    let questions = questions_of(client, project, &args.id).await?;
    let mut asked = questions.iter().filter(|one| args.call.as_deref().is_none_or(|call| call == one.call()));
    let Some(question) = asked.next() else {
        return Err(Failure::not_found(format!("turn {} asks nobody anything", args.id))
            .hint("`cardwire question list` shows what waits for a person"));
    };
    if let Some(other) = asked.next() {
        return Err(Failure::usage(format!("turn {} has several questions", args.id)).hint(format!(
            "add `--call {}` or `--call {}`; `cardwire question list` shows them",
            question.call(),
            other.call()
        )));
    }
    args.verdict.give(question, project, output, client).await
}
