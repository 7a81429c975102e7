//! `cardwire turn answer`: a person's word to a turn that waits for one.

use super::questions::questions_of;
use crate::{client::Client, failure::Failure, output::Output};
use clap::Args;
use serde_json::json;

#[derive(Debug, Args)]
pub(super) struct AnswerArgs {
    /// The turn that asks, or one above it, `turn_…`.
    id: String,
    /// Which of its questions, where it has several.
    #[arg(long, value_name = "CALL")]
    call: Option<String>,
    /// Agree.
    #[arg(long, conflicts_with = "deny")]
    approve: bool,
    /// Do not agree.
    #[arg(long)]
    deny: bool,
    /// What to say.
    #[arg(long, value_name = "TEXT")]
    reply: Option<String>,
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
            .hint("`cardwire turn list --status suspended` shows the turns that wait"));
    };
    if let Some(other) = asked.next() {
        return Err(Failure::usage(format!("turn {} has several questions", args.id)).hint(format!(
            "add `--call {}` or `--call {}`",
            question.call(),
            other.call()
        )));
    }
    if question.is_approval() && !args.approve && !args.deny {
        return Err(Failure::usage(question.words()).hint("add `--approve` or `--deny`"));
    }
    if !question.is_approval() && args.reply.is_none() {
        return Err(Failure::usage(question.words()).hint("add `--reply TEXT`"));
    }
    question.answer(client, project, !args.deny, args.reply.as_deref()).await?;
    if output.json {
        return output
            .json(&json!({ "agent_turn_id": args.id, "tool_call_id": question.call() }).to_string());
    }
    output.line(format_args!("answered {}", question.call()))
}
