//! What people and programs get to see: results on standard output, everything else on standard error.

use crate::{client::Answer, failure::Failure, hint::Asked, pretty, text};
use clap::builder::styling::{AnsiColor, Style};
use comfy_table::{Table, presets};
use serde_json::Value;
use std::{
    env,
    fmt::Display,
    io::{self, IsTerminal, Write},
};

/// Width assumed where none is told.
const WIDTH: usize = 80;
/// Narrower than this, a preview says nothing; and [`text::REDACTED`] is shown whole.
const PREVIEW_MIN: usize = text::REDACTED.len();
/// Blanks between two columns.
const GAP: u16 = 2;

/// How this command writes its results.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    /// For programs.
    pub(crate) json: bool,
    terminal: bool,
    width: usize,
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        let width = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        Self { json, terminal: io::stdout().is_terminal(), width: width.unwrap_or(WIDTH) }
    }

    /// Whether a person reads the results as they come.
    pub(crate) const fn is_for_a_person(self) -> bool {
        self.terminal && !self.json
    }

    /// The server's JSON: as it came for programs, indented on a terminal.
    pub(crate) fn json(self, text: &str) -> Result<(), Failure> {
        if self.terminal { self.line(pretty::indent(text)) } else { self.line(text) }
    }

    /// One line, at once, so that a program that follows us sees it.
    pub(crate) fn line(self, line: impl Display) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|error| Failure::output(&error))
    }

    /// JSON whose bytes matter: as it is, without a line break at its end; indented on a terminal.
    pub(crate) fn exact_json(self, text: &str) -> Result<(), Failure> {
        if self.terminal { self.json(text) } else { self.raw(text.as_bytes()) }
    }

    /// Text that ends its lines itself.
    pub(crate) fn raw(self, bytes: &[u8]) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        out.write_all(bytes).and_then(|()| out.flush()).map_err(|error| Failure::output(&error))
    }

    /// A table with a header. Cells are cleaned of what could steer a terminal; nothing is wrapped.
    pub(crate) fn table(self, header: &[&str], rows: Vec<Vec<String>>) -> Result<(), Failure> {
        let mut table = plain_table();
        table.set_header(header.iter().copied());
        table.add_rows(rows.into_iter().map(|row| row.into_iter().map(|cell| text::clean(&cell))));
        self.print(table)
    }

    /// A table whose last column is cut so that a row fits the terminal.
    pub(crate) fn table_with_preview(
        self,
        header: &[&str],
        mut rows: Vec<Vec<String>>,
    ) -> Result<(), Failure> {
        let last = header.len().saturating_sub(1);
        let column = |index: usize| {
            let cells = rows.iter().filter_map(|row| row.get(index)).map(|cell| text::width(cell));
            cells.chain([header[index].len()]).max().unwrap_or(0) + usize::from(GAP)
        };
        let taken: usize = (0..last).map(column).sum();
        let room = self.width.saturating_sub(taken).max(PREVIEW_MIN);
        for cell in rows.iter_mut().filter_map(|row| row.get_mut(last)) {
            *cell = text::cut(&text::clean(cell), room);
        }
        self.table(header, rows)
    }

    /// Names and values of one thing.
    pub(crate) fn fields(self, fields: &[(&str, String)]) -> Result<(), Failure> {
        let mut table = plain_table();
        table.add_rows(fields.iter().map(|(name, value)| [format!("{name}:"), text::clean(value)]));
        self.print(table)
    }

    fn print(self, mut table: Table) -> Result<(), Failure> {
        for column in table.column_iter_mut() {
            column.set_padding((0, GAP));
        }
        self.line(table.trim_fmt())
    }

    /// Something worth knowing that is no result.
    pub(crate) fn note(self, note: impl Display) {
        say(&format!("note: {note}"));
    }

    /// A page of a list: the server's JSON for programs, else a table with a row for each entry.
    pub(crate) fn page(
        self,
        answer: &Answer,
        header: &[&str],
        row: impl Fn(&Value) -> Vec<String>,
    ) -> Result<(), Failure> {
        if self.json {
            return self.json(&answer.text);
        }
        let list: Value = answer.parse()?;
        let items = list["items"].as_array().map_or(&[][..], Vec::as_slice);
        self.table(header, items.iter().map(row).collect())?;
        self.more(&list["next_cursor"]);
        Ok(())
    }

    /// Says that a list goes on.
    pub(crate) fn more(self, next_cursor: &Value) {
        if let Some(cursor) = next_cursor.as_str() {
            self.note(format_args!("there is more; go on with `--cursor {cursor}`"));
        }
    }
}

fn plain_table() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table
}

/// The one place where a failure is told, with what can be done about it.
pub(crate) fn report(failure: &Failure, asked: impl FnOnce() -> Asked) {
    if failure.message.is_empty() {
        return;
    }
    say(&format!("{} {}", painted("error:", AnsiColor::Red), text::clean(&failure.message)));
    let asked = asked();
    tell(&asked.complete(&asked.hint(failure)));
}

/// What a person can do. Its commands go where this one went.
pub(crate) fn advise(hint: &str) {
    tell(&Asked::here().complete(hint));
}

fn tell(hint: &str) {
    say(&format!("{} {}", painted("hint:", AnsiColor::Cyan), text::clean(hint)));
}

/// One line on standard error; if nobody reads it, nobody misses it.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Whether standard error takes colours. See <https://no-color.org> and <https://bixense.com/clicolors/>.
pub(crate) fn colours() -> bool {
    let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    let forced = env::var_os("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0");
    let dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
    !is_set("NO_COLOR") && (forced || (!dumb && io::stderr().is_terminal()))
}

fn painted(word: &str, colour: AnsiColor) -> String {
    if !colours() {
        return word.to_owned();
    }
    let style = Style::new().bold().fg_color(Some(colour.into()));
    format!("{style}{word}{style:#}")
}
