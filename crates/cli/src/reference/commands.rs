//! Every command with its arguments and options, from the command line's own definition.

use super::{MADE, compare, head, row};
use crate::cli::Cli;
use clap::{Arg, ArgAction, Command, CommandFactory};

const ABOUT: &str = "\
# Commands

`cardwire COMMAND --help` says the same. Exit codes: 0 done, 1 failed, 2 wrong usage or a malformed request, 3 not found,
4 conflict. Errors go to standard error, with a `hint:` line where there is something to do.
";

/// F-16, API-15
#[test]
fn the_reference_of_commands_is_made_from_the_command_line() {
    let mut command = Cli::command();
    command.build();
    let mut page = format!("{MADE}{ABOUT}\n## Options of every command\n\n");
    page += &options(&command, |arg| arg.is_global_set());
    let everywhere: Vec<_> =
        command.get_arguments().filter(|arg| arg.is_global_set()).map(Arg::get_id).collect();
    for inner in shown(&command) {
        // What all commands of a group take is told with the group.
        let own = options(inner, |arg| !everywhere.contains(&arg.get_id()));
        describe(&mut page, inner, "cardwire", 2, &own);
    }
    compare("cli.md", &page);
}

/// The commands below this one that people are told of.
fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help")
}

fn describe(page: &mut String, command: &Command, above: &str, level: usize, own: &str) {
    let name = format!("{above} {}", command.get_name());
    let about = command.get_long_about().or_else(|| command.get_about()).map(ToString::to_string);
    *page += &format!("\n{} `{name}`\n\n{}\n", "#".repeat(level), about.unwrap_or_default());
    if !own.is_empty() {
        *page += &format!("\n{own}");
    }
    for inner in shown(command) {
        let own = options(inner, |arg| !arg.is_global_set());
        describe(page, inner, &name, level + 1, &own);
    }
}

/// A table of arguments and options.
pub(super) fn options(command: &Command, wanted: impl Fn(&Arg) -> bool) -> String {
    let given = |arg: &&Arg| !arg.is_hide_set() && !matches!(arg.get_id().as_str(), "help" | "version");
    let mut rows = String::new();
    for arg in command.get_arguments().filter(given).filter(|arg| wanted(arg)) {
        rows += &row([&spelling(arg), &meaning(arg)]);
    }
    if rows.is_empty() { rows } else { head(["option", "what it says"]) + &rows }
}

/// `--limit N`, `-p, --project PROJECT`, `FILE`.
fn spelling(arg: &Arg) -> String {
    let takes = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    let names = arg.get_value_names().unwrap_or_default().iter().map(|name| name.to_string());
    let names: Vec<_> = names.collect();
    let value = if takes { names.join(" ") } else { String::new() };
    let short = arg.get_short().map(|short| format!("-{short}"));
    let long = arg.get_long().map(|long| format!("--{long}"));
    let names: Vec<_> = short.into_iter().chain(long).collect();
    let text = [names.join(", "), value].join(" ");
    format!("`{}`", text.trim())
}

/// What it is for, what it may be, and what it is when absent.
fn meaning(arg: &Arg) -> String {
    let help = arg.get_long_help().or_else(|| arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut text = if help.is_empty() || help.ends_with('.') { help } else { help + "." };
    let is_flag = !matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    let choices: Vec<_> =
        arg.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect();
    if !choices.is_empty() && !is_flag {
        text += &format!(" One of {}.", choices.join(", "));
    }
    let defaults: Vec<_> =
        arg.get_default_values().iter().map(|value| format!("`{}`", value.to_string_lossy())).collect();
    if !defaults.is_empty() && !is_flag {
        text += &format!(" When absent: {}.", defaults.join(", "));
    }
    if let Some(variable) = arg.get_env() {
        text += &format!(" Variable: `{}`.", variable.to_string_lossy());
    }
    if arg.is_required_set() {
        text += " Required.";
    }
    text
}
