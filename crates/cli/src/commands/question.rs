//! `cardwire question`: what people are asked by the turns of a project, and their answers (PR-10).

use super::questions::{Question, open_questions};
use crate::{cli::InProject, client::Client, failure::Failure, output::Output};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

#[derive(Debug, Args)]
pub(crate) struct QuestionArgs {
    #[command(flatten)]
    project: InProject,
    #[command(subcommand)]
    command: QuestionCommand,
}

#[derive(Debug, Subcommand)]
enum QuestionCommand {
    /// List what waits for a person, oldest first.
    List {
        /// Only of this turn.
        #[arg(long, value_name = "TURN")]
        turn: Option<String>,
    },
    /// Show what is asked, with everything that a tool would be called with.
    #[command(visible_alias = "get")]
    Show {
        #[command(flatten)]
        which: Which,
        /// Every line, however many there are.
        #[arg(long)]
        all: bool,
    },
    /// Answer: agree to a call or not, or say something.
    Answer {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        verdict: Verdict,
    },
}

/// A question.
#[derive(Debug, Args)]
struct Which {
    /// Its id, from `cardwire question list`.
    #[arg(value_name = "QUESTION")]
    id: String,
    /// Whose question, where several turns have one of this id.
    #[arg(long, value_name = "TURN")]
    turn: Option<String>,
}

/// What a person says.
#[derive(Debug, Args)]
pub(super) struct Verdict {
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

pub(crate) async fn run(args: QuestionArgs, output: Output, client: &Client) -> Result<(), Failure> {
    let project = args.project.name()?;
    match args.command {
        QuestionCommand::List { turn } => {
            let mut asked = open_questions(client, project).await?;
            asked.retain(|question| turn.as_ref().is_none_or(|turn| *turn == question.turn()));
            list(&asked, project, output)
        }
        QuestionCommand::Show { which, all } => {
            let question = which.find(client, project).await?;
            if output.json {
                return output.json(&question.json().to_string());
            }
            question.shown(project, all).into_iter().try_for_each(|line| output.line(line))
        }
        QuestionCommand::Answer { which, verdict } => {
            let question = which.find(client, project).await?;
            verdict.give(&question, project, output, client).await
        }
    }
}

fn list(asked: &[Question], project: &str, output: Output) -> Result<(), Failure> {
    if output.json {
        let items: Vec<&Value> = asked.iter().map(Question::json).collect();
        return output.json(&json!({ "items": items }).to_string());
    }
    if asked.is_empty() {
        output.note(format_args!("nothing in project `{project}` waits for a person"));
    }
    let header = ["QUESTION", "KIND", "AGENT", "TURN", "SINCE", "ASKS"];
    output.table_with_preview(&header, asked.iter().map(Question::row).collect())
}

impl Which {
    async fn find(&self, client: &Client, project: &str) -> Result<Question, Failure> {
        let mut asked = open_questions(client, project).await?;
        let is_wanted = |question: &Question| {
            question.call() == self.id && self.turn.as_ref().is_none_or(|turn| *turn == question.turn())
        };
        asked.retain(is_wanted);
        let mut asked = asked.into_iter();
        match (asked.next(), asked.next()) {
            (Some(question), None) => Ok(question),
            (Some(one), Some(other)) => Err(Failure::usage(format!(
                "several turns ask a question `{}`",
                self.id
            ))
            .hint(format!("add `--turn {}` or `--turn {}`", one.turn(), other.turn()))),
            (None, _) => Err(Failure::not_found(format!("no question `{}` waits for an answer", self.id))
                .hint("`cardwire question list` shows those that do")),
        }
    }
}

impl Verdict {
    /// Answers the question; or shows it, where something is missing that the answer needs.
    pub(super) async fn give(
        &self,
        question: &Question,
        project: &str,
        output: Output,
        client: &Client,
    ) -> Result<(), Failure> {
        let missing = match question.is_approval() {
            true => (!self.approve && !self.deny).then_some("--approve` or `--deny"),
            false => self.reply.is_none().then_some("--reply TEXT"),
        };
        if let Some(missing) = missing {
            question.say(project);
            return Err(Failure::usage(question.words()).hint(format!("add `{missing}`")));
        }
        question.answer(client, project, !self.deny, self.reply.as_deref()).await?;
        if output.json {
            let told = json!({ "agent_turn_id": question.turn(), "tool_call_id": question.call() });
            return output.json(&told.to_string());
        }
        output.line(format_args!("answered {}", question.call()))
    }
}
