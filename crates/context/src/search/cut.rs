//! Cuts a text into pieces of bounded length, where a reader would: between paragraphs, else sentences, else lines,
//! else words, and only where there is none of these within a word.

/// Where a text may be cut, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Cut {
    Paragraph,
    Sentence,
    Line,
    Word,
}

const CUTS: usize = 4;

/// Pieces of at most `limit` characters, in order, without whitespace around them. `limit` is at least 1.
pub(super) fn pieces(text: &str, limit: usize) -> impl Iterator<Item = &str> {
    let mut rest = text.trim();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = rest.split_at(first_piece(rest, limit.max(1)));
        rest = after.trim_start();
        Some(piece.trim_end())
    })
}

/// How many bytes the first piece takes. `text` starts with a character that is no whitespace.
fn first_piece(text: &str, limit: usize) -> usize {
    // A piece should be worth finding: a good place right at the beginning is worse than another one later.
    let least = limit / 4;
    let mut best = [None; CUTS];
    let mut last_word = None;
    let mut before = Before::default();
    for (characters, (offset, character)) in text.char_indices().enumerate() {
        if character.is_whitespace() {
            before.blank(character);
            continue;
        }
        if let Some(cut) = before.cut(character) {
            if before.end >= least {
                best[cut as usize] = Some(offset);
            }
            last_word = Some(offset);
        }
        if characters >= limit {
            let best = best.into_iter().flatten().next();
            return best.or(last_word).unwrap_or(offset);
        }
        before.character(character, characters + 1);
    }
    text.len()
}

/// What stands right before a place.
#[derive(Default)]
struct Before {
    /// How many characters there are up to and with the last that is no whitespace.
    end: usize,
    /// Whether that one ends a sentence, perhaps with quotes or brackets closed after it.
    stop: Option<Stop>,
    blanks: usize,
    line_breaks: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// Ends a sentence if a blank follows: there are also `3.14` and `example.com`.
    WithBlank,
    /// Ends a sentence in any case.
    Always,
}

impl Before {
    fn blank(&mut self, character: char) {
        self.blanks += 1;
        self.line_breaks += usize::from(character == '\n');
    }

    fn character(&mut self, character: char, end: usize) {
        self.stop = match character {
            '.' | '!' | '?' | '…' => Some(Stop::WithBlank),
            character if stops(character) => Some(Stop::Always),
            character if closes(character) && self.blanks == 0 => self.stop,
            _ => None,
        };
        self.end = end;
        self.blanks = 0;
        self.line_breaks = 0;
    }

    /// How well the text may be cut before this character.
    fn cut(&self, next: char) -> Option<Cut> {
        let ends = match self.stop {
            Some(Stop::WithBlank) => self.blanks > 0,
            Some(Stop::Always) => self.blanks > 0 || !(closes(next) || stops(next)),
            None => false,
        };
        match self.line_breaks {
            2.. => Some(Cut::Paragraph),
            _ if ends => Some(Cut::Sentence),
            1 => Some(Cut::Line),
            _ if self.blanks > 0 => Some(Cut::Word),
            _ => None,
        }
    }
}

/// Ends a sentence in any case.
fn stops(character: char) -> bool {
    matches!(character, '。' | '！' | '？' | '；')
}

fn closes(character: char) -> bool {
    matches!(character, '"' | '\'' | ')' | ']' | '”' | '’' | '」' | '』' | '）' | '】' | '》')
}
