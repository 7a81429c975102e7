//! Handovers, batches and sessions as Markdown.

use crate::{
    pages::{
        batch::Batch,
        handover::{Again, Card, Handover, Packed},
        session::{Message, Session},
    },
    text,
};
use std::fmt::Write;

fn card(out: &mut String, card: &Card, line: &str) {
    let Card { id, kind, tokens, .. } = card;
    let _ = writeln!(out, "- {kind} {id}, {tokens} tokens, {line}: {}", text::first_line(&card.text, 400));
}

/// A handover: the rules, what was given, what was withheld, and the dry run.
pub fn handover(view: &Handover) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "# What {} was handed (turn {})\n", view.agent, view.turn);
    match &view.packed {
        None => {
            let _ = writeln!(
                out,
                "It was sent without a handover; {} cards in box {}.\n",
                view.given_total, view.context
            );
        }
        Some(packed) => head(&mut out, view, packed),
    }
    let _ = writeln!(out, "## Given\n");
    for given in &view.given {
        let now = if given.again == Some(false) { ", not packed now" } else { "" };
        match &given.card {
            Some(one) => card(&mut out, one, &format!("{}{now}", given.from.words())),
            None => {
                let _ = writeln!(out, "- deleted since, {}{now}", given.from.words());
            }
        }
    }
    if let Some(packed) = &view.packed {
        tail(&mut out, view, packed);
    }
    out
}

fn head(out: &mut String, view: &Handover, packed: &Packed) {
    let sender = packed.sender.as_deref().unwrap_or(text::UNKNOWN);
    let _ = writeln!(
        out,
        "{sender} handed over by {} for profile {}: {} cards given, {} withheld of {} known.\n",
        packed.tool,
        packed.profile,
        view.given_total,
        packed.withheld_total,
        packed.known.map_or(text::UNKNOWN.to_owned(), text::grouped)
    );
    let _ = writeln!(out, "## Rules\n");
    if packed.rules.is_empty() {
        let _ = writeln!(out, "Not known any more; only their hash is kept.");
    }
    for rule in &packed.rules {
        let _ = writeln!(out, "- {rule}");
    }
    let _ = match packed.rules_hold {
        Some(true) => writeln!(out, "\nThey are those of then.\n"),
        Some(false) => writeln!(out, "\nThe recipe was rewritten since; these are its rules now.\n"),
        None => writeln!(out),
    };
}

fn tail(out: &mut String, view: &Handover, packed: &Packed) {
    let _ = writeln!(out, "\n## Withheld\n");
    if packed.withheld_total > 0 {
        let _ = writeln!(out, "{}\n", packed.because);
    }
    for one in &packed.withheld {
        card(out, &one.card, one.why.as_deref().unwrap_or("no call yet"));
    }
    let _ = writeln!(out, "\n## A dry run now\n");
    match &packed.again {
        Again::Would { cards, tokens, only_now, only_now_total, missing, .. } => {
            let _ = writeln!(
                out,
                "It would pack {cards} cards, {tokens} tokens; {} of then not, {only_now_total} besides.",
                view.not_now()
            );
            only_now.iter().for_each(|one| card(out, one, "only now"));
            for id in missing {
                let _ = writeln!(out, "- box {id} is not there any more");
            }
        }
        Again::Refused(why) => {
            let _ = writeln!(out, "It would be refused: {why}");
        }
        Again::Unknown(why) => {
            let _ = writeln!(out, "Not known. {why}");
        }
    }
}

/// A batch: its tasks, with what each delivered.
pub fn batch(view: &Batch) -> String {
    let mut out = String::new();
    let _ =
        writeln!(out, "# What came of the {} that {} forked\n", text::plural(view.total, "task"), view.agent);
    let _ = writeln!(out, "{}: {}; {}. Batch {}.\n", view.status, view.sum(), view.joins, view.id);
    if let Some(because) = &view.closed_because {
        let _ = writeln!(out, "It was closed before all tasks had ended: {because}.\n");
    }
    for task in &view.tasks {
        let said = task.delivered.as_ref().map(|(_, said)| said.as_str()).or(task.error.as_deref());
        let _ = writeln!(
            out,
            "- {}. {}, {} (turn {}): {}",
            task.index,
            task.agent.as_deref().unwrap_or(text::UNKNOWN),
            task.status,
            task.turn.as_deref().unwrap_or(text::UNKNOWN),
            text::first_line(said.unwrap_or(text::UNKNOWN), 400)
        );
    }
    if view.total > view.tasks.len() as u64 {
        let _ = writeln!(out, "\n{} tasks in all, {} listed here.", view.total, view.tasks.len());
    }
    out
}

/// A session: its summary, its messages and its checkpoints.
pub fn session(view: &Session) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "# What the session {} remembers\n", view.name);
    let _ =
        writeln!(out, "Namespace {}, version {}, {} messages.\n", view.namespace, view.version, view.total);
    if let Some(summary) = &view.summary {
        let (cards, tokens) = (summary.replaced_total, summary.replaced_tokens);
        let _ = writeln!(out, "## Summary of {cards} messages, {tokens} tokens in {}\n", summary.tokens);
        let _ = writeln!(out, "{}\n", summary.text);
    }
    let _ = writeln!(out, "## Messages\n");
    view.messages.iter().for_each(|message| said(&mut out, message));
    let _ = writeln!(out, "\n## Checkpoints\n");
    for checkpoint in &view.checkpoints {
        let compacted = if checkpoint.compacted { ", compacted" } else { "" };
        let (id, version, messages) = (&checkpoint.id, checkpoint.version, checkpoint.messages);
        let _ = writeln!(out, "- version {version}, {messages} messages{compacted} ({id})");
    }
    out
}

fn said(out: &mut String, message: &Message) {
    let _ = writeln!(
        out,
        "- {} ({} tokens): {}",
        message.role,
        message.tokens,
        text::first_line(&message.text, 400)
    );
}
