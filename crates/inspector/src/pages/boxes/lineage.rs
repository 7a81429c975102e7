//! Where the cards of a box come from and where they go, drawn: boxes on the left are inherited from, boxes on the right inherit.

use super::BoxPage;
use crate::{Frame, text};
use maud::{Markup, html};

/// A box beside another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kin {
    /// Its id.
    pub id: String,
    /// Its generation.
    pub generation: u32,
    /// How many cards are shared, where that is known.
    pub cards: Option<u64>,
}

/// The relations of a box.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lineage {
    /// Boxes whose cards it shows.
    pub sources: Vec<Kin>,
    /// Boxes that show its cards.
    pub heirs: Vec<Kin>,
    /// There are more heirs than were looked at.
    pub is_cut: bool,
}

const WIDE: i64 = 150;
const HIGH: i64 = 40;
const GAP: (i64, i64) = (70, 10);
/// More boxes than these on one side are told, not drawn.
const SHOWN: usize = 12;

/// The picture.
pub(super) fn show(frame: &Frame, view: &BoxPage) -> Markup {
    let lineage = &view.lineage;
    if lineage.sources.is_empty() && lineage.heirs.is_empty() {
        return html! { p.soft { "It inherits from no box, and no box inherits from it." } };
    }
    let (left, right) = (shown(&lineage.sources), shown(&lineage.heirs));
    let tallest = left.len().max(right.len()).max(1) as i64;
    let height = tallest * (HIGH + GAP.1);
    let middle = (height - HIGH) / 2;
    let columns = [0, WIDE + GAP.0, 2 * (WIDE + GAP.0)];
    let top = |count: usize, place: usize| {
        (height - count as i64 * (HIGH + GAP.1)) / 2 + place as i64 * (HIGH + GAP.1) + GAP.1 / 2
    };
    let line = |x1: i64, y1: i64, x2: i64, y2: i64| {
        let middle = i64::midpoint(x1, x2);
        html! { path.edge d={ "M" (x1) " " (y1) "C" (middle) " " (y1) " " (middle) " " (y2) " " (x2) " " (y2) } {} }
    };
    html! {
        div.scrollable tabindex="0" role="group" aria-label="Lineage" {
            svg.graph width=(columns[2] + WIDE) height=(height) viewBox={ "0 0 " (columns[2] + WIDE) " " (height) } role="group" aria-label="Boxes it inherits from, and boxes that inherit from it" {
                @for place in 0..left.len() { (line(WIDE, top(left.len(), place) + HIGH / 2, columns[1], middle + HIGH / 2)) }
                @for place in 0..right.len() { (line(columns[1] + WIDE, middle + HIGH / 2, columns[2], top(right.len(), place) + HIGH / 2)) }
                @for (place, kin) in left.iter().enumerate() { (node(frame, kin, columns[0], top(left.len(), place))) }
                rect.node.chosen x=(columns[1]) y=(middle) width=(WIDE) height=(HIGH) rx="7" {}
                text.name x=(columns[1] + 10) y=(middle + 17) { "this box" }
                text.line x=(columns[1] + 10) y=(middle + 32) { (text::plural(view.len, "card")) ", generation " (view.generation) }
                @for (place, kin) in right.iter().enumerate() { (node(frame, kin, columns[2], top(right.len(), place))) }
            }
        }
        (more("inherited from", lineage.sources.len(), false))
        (more("inheriting", lineage.heirs.len(), lineage.is_cut))
    }
}

fn shown(kin: &[Kin]) -> &[Kin] {
    kin.get(..SHOWN).unwrap_or(kin)
}

fn more(what: &str, count: usize, is_cut: bool) -> Markup {
    html! {
        @if count > SHOWN || is_cut {
            p.soft { "Drawn: " (count.min(SHOWN)) " of " (count) @if is_cut { " or more" } " boxes " (what) "." }
        }
    }
}

fn node(frame: &Frame, kin: &Kin, x: i64, y: i64) -> Markup {
    html! {
        a href=(frame.link(&format!("/boxes/{}@{}", kin.id, kin.generation))) {
            rect.node x=(x) y=(y) width=(WIDE) height=(HIGH) rx="7" {}
            text.name x=(x + 10) y=(y + 17) { (text::short(&kin.id)) "@" (kin.generation) }
            @if let Some(cards) = kin.cards { text.line x=(x + 10) y=(y + 32) { (text::plural(cards, "card")) } }
        }
    }
}
