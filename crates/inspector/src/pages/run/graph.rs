//! The graph of a run: each turn a node, an arrow from the one that sent it, time from left to right by generations.

use super::{Row, Run, What};
use crate::{Frame, parts, text};
use maud::{Markup, html};

/// More nodes than these make no picture.
const NODES: usize = 400;
const WIDE: i64 = 190;
const HIGH: i64 = 44;
const GAP: (i64, i64) = (60, 12);

/// A node, and where it is drawn.
struct Node<'a> {
    row: &'a Row,
    parent: Option<usize>,
    column: i64,
    y: i64,
}

/// The picture, with a table of the same for those who do not see it elsewhere on the page.
pub(super) fn show(frame: &Frame, view: &Run) -> Markup {
    let nodes = layout(&view.rows);
    let columns = nodes.iter().map(|node| node.column).max().unwrap_or(0) + 1;
    let (width, height) =
        (columns * (WIDE + GAP.0), nodes.iter().map(|node| node.y).max().unwrap_or(0) + HIGH + 8);
    html! {
        @if nodes.len() < view.rows.iter().filter(|row| matches!(row.what, What::Turn { .. })).count() {
            p.banner { "The first " (nodes.len()) " of " (text::grouped(view.turns)) " turns are drawn; the tree has all of them." }
        }
        div.scrollable.padded tabindex="0" {
            svg.graph width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) } role="group" aria-label="Turns, and who sent them" {
                @for node in &nodes {
                    @if let Some(parent) = node.parent.and_then(|parent| nodes.get(parent)) { (arrow(parent, node)) }
                }
                @for node in &nodes { (draw(frame, view, node)) }
            }
        }
    }
}

/// Leaves stand below one another; who sent several stands beside the middle of them.
fn layout(rows: &[Row]) -> Vec<Node<'_>> {
    let mut nodes: Vec<Node<'_>> = vec![];
    // The nodes above the one that is placed, with their depths.
    let mut above: Vec<(usize, usize)> = vec![];
    for row in rows.iter().filter(|row| matches!(row.what, What::Turn { .. })).take(NODES) {
        while above.last().is_some_and(|(_, depth)| *depth >= row.depth) {
            above.pop();
        }
        let parent = above.last().map(|(place, _)| *place);
        above.push((nodes.len(), row.depth));
        nodes.push(Node { row, parent, column: above.len() as i64 - 1, y: 0 });
    }
    let mut reach: Vec<Option<(i64, i64)>> = vec![None; nodes.len()];
    let mut next = 4;
    for place in (0..nodes.len()).rev() {
        if reach[place].is_none() {
            reach[place] = Some((next, next));
            next += HIGH + GAP.1;
        }
        let Some((top, bottom)) = reach[place] else { continue };
        nodes[place].y = (top + bottom) / 2;
        if let Some(parent) = nodes[place].parent {
            let y = nodes[place].y;
            reach[parent] = Some(reach[parent].map_or((y, y), |(top, bottom)| (top.min(y), bottom.max(y))));
        }
    }
    // They were placed from the last to the first.
    let lowest = nodes.iter().map(|node| node.y).max().unwrap_or(0);
    nodes.iter_mut().for_each(|node| node.y = lowest - node.y + 4);
    nodes
}

fn arrow(from: &Node<'_>, to: &Node<'_>) -> Markup {
    let (x1, y1) = (from.column * (WIDE + GAP.0) + WIDE, from.y + HIGH / 2);
    let (x2, y2) = (to.column * (WIDE + GAP.0), to.y + HIGH / 2);
    let middle = i64::midpoint(x1, x2);
    html! { path.edge d={ "M" (x1) " " (y1) "C" (middle) " " (y1) " " (middle) " " (y2) " " (x2) " " (y2) } {} }
}

fn draw(frame: &Frame, view: &Run, node: &Node<'_>) -> Markup {
    let What::Turn { id, agent, status, .. } = &node.row.what else { return html! {} };
    let (x, y) = (node.column * (WIDE + GAP.0), node.y);
    let is_chosen = view.selected.as_ref().is_some_and(|peek| peek.turn == *id);
    let line = format!("{} · {} tokens", parts::state_word(status).0, text::count(node.row.spent.input));
    html! {
        a href=(frame.link(&format!("/turns/{id}"))) {
            rect class={ "node " (parts::state_word(status).1) @if is_chosen { " chosen" } } x=(x) y=(y) width=(WIDE) height=(HIGH) rx="7" {}
            text.name x=(x + 12) y=(y + 18) { (text::first_line(&text::agent(agent), 24)) }
            text.line x=(x + 12) y=(y + 35) { (line) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::Spent;

    #[test]
    fn each_generation_is_a_column_and_parents_stand_in_the_middle() {
        let row = |depth: usize| {
            let what =
                What::Turn { id: String::new(), agent: String::new(), status: String::new(), branch: None };
            Row { depth, what, spent: Spent::default(), bars: vec![] }
        };
        let rows = [row(0), row(1), row(2), row(1), row(1)];
        let nodes = layout(&rows);
        assert_eq!(nodes.iter().map(|node| node.column).collect::<Vec<_>>(), [0, 1, 2, 1, 1]);
        let y: Vec<_> = nodes.iter().map(|node| node.y).collect();
        assert_eq!((y[1], y[0]), (y[2], y[3]), "one child: beside it; three: beside the middle one");
        assert!(y[1] < y[3] && y[3] < y[4], "{y:?}");
    }
}
