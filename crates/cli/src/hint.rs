//! What a person can do (API-15): every error has a hint, its own or the one of its kind.
//!
//! Whoever fails need not think of one. What is told here is read off the command line itself, so that a new command has its
//! hints with its help. Invariant: a command in a hint goes where this one went: it has the project, the data directory and
//! the server that this one was given.

use crate::{
    cli::Cli,
    failure::{Code, Failure},
    text::shell_word,
};
use clap::CommandFactory;
use std::{env, ffi::OsString};

/// Options that say where a command works. A variable that says so is there for the next command as well.
const WHERE: [&str; 5] = ["project", "namespace", "data-dir", "server", "workspace-root"];

/// The commands there are, and the one that was asked for.
pub(crate) struct Asked {
    all: clap::Command,
    /// The names of the command and of those above it, as far as the arguments name any.
    names: Vec<String>,
    /// The options of [`WHERE`] that it was given, with their values.
    given: Vec<(&'static str, String)>,
}

impl Asked {
    /// What this process was asked.
    pub(crate) fn here() -> Self {
        Self::of(env::args_os())
    }

    /// Reads the names of commands off the arguments of the process, where options and their values stand between them.
    pub(crate) fn of(arguments: impl Iterator<Item = OsString>) -> Self {
        let mut all = Cli::command();
        // Global options are known to every command only after this.
        all.build();
        let (mut names, mut given): (Vec<String>, _) = (vec![], vec![]);
        let (mut command, mut is_whole) = (&all, false);
        let mut arguments = arguments.skip(1);
        while let Some(argument) = arguments.next() {
            let Some(word) = argument.to_str() else { break };
            if word == "--" {
                break;
            }
            if word.len() > 1 && word.starts_with('-') {
                let Some((option, attached)) = option_of(command, word) else { continue };
                let value = attached.or_else(|| arguments.next().and_then(|value| value.into_string().ok()));
                let place = WHERE.into_iter().find(|long| option.get_long() == Some(*long));
                // Projects have a setting of this name.
                let is_setting = names.first().is_some_and(|noun| noun == "project");
                let place = place.filter(|long| !is_setting || *long != "workspace-root");
                if let Some((long, value)) = place.zip(value) {
                    given.retain(|(other, _)| *other != long);
                    given.push((long, value));
                }
                continue;
            }
            match command.find_subcommand(word).filter(|next| !is_whole && next.get_name() != "help") {
                Some(next) => {
                    names.push(next.get_name().to_owned());
                    command = next;
                }
                None => is_whole = true,
            }
        }
        given.sort_by_key(|(long, _)| WHERE.iter().position(|other| other == long));
        Self { all, names, given }
    }

    /// A text in which every command between backticks goes where this one went.
    pub(crate) fn complete(&self, text: &str) -> String {
        let piece = |(place, piece): (usize, &str)| match place % 2 == 1 && piece.starts_with("cardwire ") {
            true => self.whole(piece),
            false => piece.to_owned(),
        };
        text.split('`').enumerate().map(piece).collect::<Vec<_>>().join("`")
    }

    /// A command with the options of this one that say where it works, as far as it takes them.
    pub(crate) fn whole(&self, command: &str) -> String {
        let words: Vec<_> = command.split(' ').collect();
        let mut found = &self.all;
        for word in &words[1..] {
            match found.find_subcommand(word) {
                Some(next) => found = next,
                None => break,
            }
        }
        let mut whole = command.to_owned();
        if words.contains(&"--help") {
            return whole;
        }
        for (long, value) in &self.given {
            let takes = found.get_arguments().any(|arg| arg.get_long() == Some(*long));
            let has = words.iter().any(|word| word.strip_prefix("--") == Some(*long));
            // Who starts a server does not ask one.
            let starts = found.get_name() == "up" && *long == "server";
            if takes && !has && !starts {
                whole += &format!(" --{long} {}", shell_word(value));
            }
        }
        whole
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

/// The option of this word, if it takes a value, and the value if that is a part of the word.
fn option_of<'a>(command: &'a clap::Command, word: &str) -> Option<(&'a clap::Arg, Option<String>)> {
    let (name, attached) = match word.strip_prefix("--") {
        Some(long) => match long.split_once('=') {
            Some((long, value)) => (long.to_owned(), Some(value.to_owned())),
            None => (long.to_owned(), None),
        },
        None => {
            let (short, value) = word[1..].split_at(word[1..].chars().next().map_or(0, char::len_utf8));
            let value = value.strip_prefix('=').unwrap_or(value);
            (short.to_owned(), (!value.is_empty()).then(|| value.to_owned()))
        }
    };
    let is_it = |arg: &&clap::Arg| match word.starts_with("--") {
        true => arg.get_long() == Some(name.as_str()),
        false => arg.get_short().is_some_and(|short| name == short.to_string()),
    };
    let option = command.get_arguments().find(is_it)?;
    option.get_action().takes_values().then_some((option, attached))
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

    /// F-15: what is hinted at works when it is pasted.
    #[test]
    fn a_command_in_a_hint_goes_where_the_command_went() {
        let hint =
            "`cardwire batch list` shows them; `cardwire up` starts one, `cardwire card get --help` tells";
        for (line, list, up) in [
            ("cardwire turn get x", "", ""),
            ("cardwire turn get x -p p1", " --project p1", ""),
            ("cardwire turn -pp1 get x", " --project p1", ""),
            ("cardwire turn get x --project=p1 --data-dir d", " --project p1 --data-dir d", " --data-dir d"),
            ("cardwire --server http://h:1 turn get x", " --server http://h:1", ""),
            ("cardwire card put --text --project -p a$b", " --project 'a$b'", ""),
            ("cardwire box list -- --project p1", "", ""),
        ] {
            let expected = format!(
                "`cardwire batch list{list}` shows them; `cardwire up{up}` starts one, `cardwire card get --help` tells"
            );
            assert_eq!(asked(line).complete(hint), expected, "{line}");
        }
        let whole = asked("cardwire turn get x -p p1").whole("cardwire run team.yaml --project p2 --resume");
        assert_eq!(whole, "cardwire run team.yaml --project p2 --resume");
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
