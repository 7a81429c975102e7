//! The same pages as Markdown, for another agent to read (IN-05).

mod nouns;

pub use nouns::{batch, handover, session};

use crate::{
    pages::{
        call::Call,
        diff::{Diff, Shown},
        run::{Row, Run, What, Withheld},
    },
    parts, text,
};
use std::fmt::Write;

/// A run: its turns and calls, what was withheld from the selected one, and what came out.
pub fn run(view: &Run) -> String {
    let mut out = String::new();
    let title = view.question.as_deref().unwrap_or("A run");
    let _ = writeln!(out, "# {}\n", text::first_line(title, 200));
    let _ = writeln!(
        out,
        "{}, {} turns, {} agents, {} tokens in, {} out, {}, {}.\n",
        view.status,
        view.turns,
        view.agents,
        view.spent.input,
        view.spent.output,
        text::money(view.spent.micros),
        text::duration(view.took)
    );
    if view.is_cut {
        let _ = writeln!(out, "The run has more turns than are listed here.\n");
    }
    let _ = writeln!(out, "## Turns and calls\n");
    view.rows.iter().for_each(|row| line(&mut out, row));
    for peek in &view.peeks {
        let _ = writeln!(out, "\n## {} ({})\n\n{}\n", peek.agent, peek.turn, peek.line);
        for layer in &peek.given {
            let _ = writeln!(out, "- given: {} tokens of layer {}", layer.tokens, layer.layer);
        }
        for card in &peek.withheld.cards {
            not_given(&mut out, card);
        }
        if peek.withheld.total > peek.withheld.cards.len() as u64 {
            let _ = writeln!(out, "- not given: {} cards in all", peek.withheld.total);
        }
    }
    for note in &view.notes {
        let _ = writeln!(out, "- worth a look: {} ({})", note.text, note.href);
    }
    if let Some(delivered) = &view.delivered {
        let _ = writeln!(out, "\n## Delivered\n\n{delivered}");
    }
    out
}

fn not_given(out: &mut String, card: &Withheld) {
    let text = text::first_line(&card.text, 200);
    let _ = writeln!(out, "- not given: \"{text}\", because: {}", card.because);
}

fn line(out: &mut String, row: &Row) {
    let indent = "  ".repeat(row.depth);
    let cost =
        format!("{} tokens in, {} out, {}", row.spent.input, row.spent.output, text::money(row.spent.micros));
    let _ = match &row.what {
        What::Turn { id, agent, status, .. } => {
            writeln!(out, "{indent}- {agent}: {status}, {cost} (turn {id})")
        }
        What::Fork { batch, line } => writeln!(out, "{indent}- fork: {line} (batch {batch})"),
        What::Call { id, number } => writeln!(out, "{indent}- call {number}: {cost} (call {id})"),
    };
}

/// A call: its layers, what was sent card by card, and what was left out.
pub fn call(view: &Call) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "# What {} was sent (call {})\n", view.agent, view.id);
    let _ = writeln!(
        out,
        "Model {}, {} tokens, sha256 {}, turn {}.",
        view.model, view.total, view.sha256, view.turn
    );
    let _ = match &view.proof {
        Ok(()) => writeln!(out, "Rendered again: equal, byte for byte.\n"),
        Err(why) => writeln!(out, "It cannot be proven: {why}.\n"),
    };
    let _ = writeln!(out, "## Layers\n");
    for layer in &view.layers {
        let _ = writeln!(out, "- {}: {} tokens", parts::layer_name(&layer.layer), layer.tokens);
    }
    let _ = writeln!(out, "\n## Sent\n");
    for message in &view.messages {
        for piece in &message.pieces {
            let card = piece.card.as_deref().unwrap_or("no card");
            let _ = writeln!(out, "### {} · {} · {card}\n\n{}\n", message.role, piece.layer, piece.text);
        }
    }
    let _ = writeln!(out, "## Left out\n");
    if view.omissions.is_empty() {
        let _ = writeln!(out, "Nothing.");
    }
    for omission in &view.omissions {
        let card = omission.card.as_deref().unwrap_or("several cards");
        let _ = writeln!(
            out,
            "- {}: {} tokens of layer {}, {}",
            card, omission.tokens, omission.layer, omission.because
        );
    }
    if !view.not_given.cards.is_empty() {
        let _ = writeln!(out, "\n## Not given: what its sender was shown, and it was not\n");
        view.not_given.cards.iter().for_each(|card| not_given(&mut out, card));
    }
    if let Some(end) = &view.cache_end {
        let _ = writeln!(
            out,
            "\nThe cache ends at card {} of layer {}; {} tokens from there on are read anew.",
            end.card, end.layer, end.anew
        );
    }
    out
}

/// Two sides: what only one of them was shown comes first.
pub fn diff(view: &Diff) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "# {} and {}\n", view.left.name, view.right.name);
    let _ = writeln!(out, "{} and {} tokens.\n", view.left.tokens, view.right.tokens);
    let headings = [
        (Shown::Left, format!("Only {}", view.left.name)),
        (Shown::Right, format!("Only {}", view.right.name)),
        (Shown::Changed, "Both, in other words".to_owned()),
        (Shown::Both, "Both".to_owned()),
    ];
    for (shown, heading) in headings {
        let _ = writeln!(out, "## {heading}\n");
        for row in view.rows.iter().filter(|row| row.shown == shown) {
            let _ = writeln!(
                out,
                "- {} ({}, {} tokens): {}",
                row.card,
                row.layer,
                row.tokens,
                text::first_line(&row.text, 400)
            );
            if let Some(now) = &row.now {
                let _ = writeln!(out, "  - on the right: {}", text::first_line(&now.text, 400));
            }
            if let Some(because) = &row.because {
                let _ = writeln!(out, "  - why the other side has not got it: {because}");
            }
        }
        let _ = writeln!(out);
    }
    out
}
