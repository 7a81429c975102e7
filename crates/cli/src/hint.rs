//! What a person can do (API-15): every error has a hint, its own or the one of its kind.
//!
//! Whoever fails need not think of one. What is told here is read off the command line itself, so that a new command has its
//! hints with its help.

use crate::{
    cli::Cli,
    failure::{Code, Failure},
};
use clap::CommandFactory;
use std::ffi::OsString;

/// The commands there are, and the one that was asked for.
pub(crate) struct Asked {
    all: clap::Command,
    /// The names of the command and of those above it, as far as the arguments name any.
    names: Vec<String>,
}

impl Asked {
    /// Reads the names of commands off the arguments of the process, where options and their values stand between them.
    pub(crate) fn of(arguments: impl Iterator<Item = OsString>) -> Self {
        let mut all = Cli::command();
        // Global options are known to every command only after this.
        all.build();
        let mut names = vec![];
        let mut command = &all;
        let mut arguments = arguments.skip(1);
        while let Some(argument) = arguments.next() {
            let Some(word) = argument.to_str() else { break };
            if word.starts_with('-') {
                if takes_next(command, word) {
                    arguments.next();
                }
                continue;
            }
            let Some(next) = command.find_subcommand(word).filter(|next| next.get_name() != "help") else {
                break;
            };
            names.push(next.get_name().to_owned());
            command = next;
        }
        Self { all, names }
    }

    /// For somebody who did not know how to ask.
    pub(crate) fn usage(&self) -> String {
        format!("`{} --help` shows what it takes", self.spoken())
    }

    /// The same, after the help itself was shown.
    pub(crate) fn usage_below(&self) -> String {
        format!("`{} COMMAND --help` shows what a command takes", self.spoken())
    }

    /// The hint of a failure: its own, else the one of its kind.
    pub(crate) fn hint(&self, failure: &Failure) -> String {
        match (&failure.hint, failure.code) {
            (Some(hint), _) => hint.clone(),
            (None, Code::Usage | Code::Done) => self.usage(),
            (None, Code::NotFound) => self.absent(&failure.message),
            (None, Code::Conflict) => self.otherwise(),
            (None, Code::Failed) => DOCTOR.to_owned(),
        }
    }

    /// What is not there is named by whoever did not find it: `batch not found: …`.
    fn absent(&self, message: &str) -> String {
        let noun = message.split_once(" not found").and_then(|(noun, _)| self.all.find_subcommand(noun));
        match noun.filter(|noun| noun.find_subcommand("list").is_some()) {
            Some(noun) => format!("`cardwire {} list` shows what there is", noun.get_name()),
            None => "see whether the name or id is right, and of this project".to_owned(),
        }
    }

    /// What is not as it was taken to be can be looked at.
    fn otherwise(&self) -> String {
        let noun = self.names.first().and_then(|noun| self.all.find_subcommand(noun));
        let look = noun.and_then(|noun| {
            let verb = ["get", "show"].into_iter().find_map(|verb| noun.find_subcommand(verb))?;
            Some(format!("`cardwire {} {}` shows what is there now", noun.get_name(), verb.get_name()))
        });
        look.unwrap_or_else(|| "look at what is there now before you try it again".to_owned())
    }

    fn spoken(&self) -> String {
        ["cardwire"].into_iter().chain(self.names.iter().map(String::as_str)).collect::<Vec<_>>().join(" ")
    }
}

const DOCTOR: &str = "`cardwire doctor` checks the data directory, the token, the server and the store";

/// Whether the word after this option is its value. One that is written with `=` has it already.
fn takes_next(command: &clap::Command, option: &str) -> bool {
    let is_it = |arg: &&clap::Arg| match option.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => arg.get_short().is_some_and(|short| option.strip_prefix('-') == Some(&short.to_string())),
    };
    command.get_arguments().find(is_it).is_some_and(|arg| arg.get_action().takes_values())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str) -> Asked {
        Asked::of(line.split(' ').map(OsString::from))
    }

    #[test]
    fn the_command_is_found_between_its_options() {
        for (line, usage) in [
            ("cardwire", "cardwire"),
            ("cardwire frobnicate", "cardwire"),
            ("cardwire help card", "cardwire"),
            ("cardwire card get zz", "cardwire card get"),
            ("cardwire --data-dir turn --json card -p box get --project stop turn", "cardwire card get"),
            ("cardwire --data-dir=x turn show", "cardwire turn get"),
        ] {
            assert_eq!(asked(line).usage(), format!("`{usage} --help` shows what it takes"), "{line}");
        }
    }

    /// API-15
    #[test]
    fn every_kind_of_failure_has_a_hint() {
        let hint = |line: &str, failure: Failure| asked(line).hint(&failure);
        let absent = |message: &str| hint("cardwire turn dispatch", Failure::not_found(message));
        assert_eq!(absent("batch not found: x"), "`cardwire batch list` shows what there is");
        assert!(absent("box not found: x").contains("of this project"), "boxes have no list");
        assert!(absent("none of these").contains("of this project"));
        let conflict = |line: &str| hint(line, Failure::conflict("it is there"));
        assert_eq!(conflict("cardwire turn stop x"), "`cardwire turn get` shows what is there now");
        assert_eq!(conflict("cardwire project create x"), "`cardwire project show` shows what is there now");
        assert!(conflict("cardwire verify").starts_with("look at what is there now"));
        assert!(hint("cardwire verify", Failure::failed("no")).contains("cardwire doctor"));
        assert!(hint("cardwire verify", Failure::usage("no")).contains("cardwire verify --help"));
        assert_eq!(hint("cardwire verify", Failure::usage("no").hint("do this")), "do this");
    }
}
