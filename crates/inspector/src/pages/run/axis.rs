//! The time axis of a run: where a moment is drawn. Stretches in which nobody did anything are folded, so that a run that waited
//! a night for an answer still shows what was done.

use super::{BarKind, Row};
use crate::{parts, text};
use maud::{Markup, html};

/// The axis in units of the drawing.
pub(super) const WIDTH: i64 = 1_000;
/// How wide a folded stretch is drawn.
const FOLDED: i64 = 16;
/// Shorter stretches are never folded.
const SHORTEST: i64 = 5_000_000;
/// A stretch is folded when it is longer than this part of the run.
const PART: i64 = 10;

/// A stretch of time, microseconds after the start, and where it is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stretch {
    from: i64,
    to: i64,
    left: i64,
    width: i64,
    is_folded: bool,
}

/// Where moments are drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Axis {
    stretches: Vec<Stretch>,
}

impl Axis {
    /// The axis of a run that took so long.
    pub(super) fn new(rows: &[Row], took: i64) -> Self {
        let took = took.max(1);
        let mut stretches: Vec<(i64, i64, bool)> = vec![];
        let mut at = 0;
        for (from, to) in idle(rows, took) {
            if from > at {
                stretches.push((at, from, false));
            }
            stretches.push((from, to, true));
            at = to;
        }
        if at < took {
            stretches.push((at, took, false));
        }
        let folded = stretches.iter().filter(|(.., is_folded)| *is_folded).count() as i64;
        let busy: i64 =
            stretches.iter().filter(|(.., is_folded)| !is_folded).map(|(from, to, _)| to - from).sum();
        let room = (WIDTH - folded * FOLDED).max(1);
        let (mut before, mut folds) = (0, 0);
        let place = |(from, to, is_folded): (i64, i64, bool)| {
            let left = before * room / busy.max(1) + folds * FOLDED;
            if is_folded {
                folds += 1;
                return Stretch { from, to, left, width: FOLDED, is_folded };
            }
            before += to - from;
            let right = before * room / busy.max(1) + folds * FOLDED;
            Stretch { from, to, left, width: right - left, is_folded }
        };
        Self { stretches: stretches.into_iter().map(place).collect() }
    }

    /// Where a moment is drawn.
    pub(super) fn place(&self, micros: i64) -> i64 {
        let found = self.stretches.iter().find(|stretch| micros <= stretch.to).or(self.stretches.last());
        found.map_or(0, |stretch| {
            let inside = (micros.clamp(stretch.from, stretch.to)) - stretch.from;
            stretch.left + inside * stretch.width / (stretch.to - stretch.from).max(1)
        })
    }

    /// Which moment is drawn at a place.
    fn moment(&self, place: i64) -> i64 {
        let found = self.stretches.iter().find(|stretch| place <= stretch.left + stretch.width);
        found.or(self.stretches.last()).map_or(0, |stretch| {
            stretch.from + (place - stretch.left) * (stretch.to - stretch.from) / stretch.width.max(1)
        })
    }

    /// Five times on the axis, and how long it was idle.
    pub(super) fn head(&self) -> Markup {
        let idle: i64 = self.folded().map(|stretch| stretch.to - stretch.from).sum();
        html! {
            span.hidden { "Time from the start of the run" }
            span.axis aria-hidden="true" {
                @for part in 0..=4 { span { (text::duration(self.moment(WIDTH * part / 4))) } }
            }
            @if idle > 0 { span.folded { "‖ " (text::duration(idle)) " idle, folded" } }
        }
    }

    fn folded(&self) -> impl Iterator<Item = &Stretch> {
        self.stretches.iter().filter(|stretch| stretch.is_folded)
    }

    /// The folds, for the drawing of a row.
    pub(super) fn folds(&self) -> Markup {
        html! { @for fold in self.folded() { rect.fold x=(parts::percent(fold.left.max(0) as u64, WIDTH as u64)) width=(parts::percent(fold.width.max(0) as u64, WIDTH as u64)) {} } }
    }
}

/// Long stretches in which nobody was at work: those who wait for others, or for a person, do nothing.
fn idle(rows: &[Row], took: i64) -> Vec<(i64, i64)> {
    let is_busy = |kind: BarKind| match kind {
        BarKind::Queued | BarKind::Waiting => false,
        BarKind::Running | BarKind::Live | BarKind::Call => true,
    };
    let bars = rows.iter().flat_map(|row| &row.bars).filter(|bar| is_busy(bar.kind));
    let mut busy: Vec<(i64, i64)> = bars.map(|bar| (bar.from, bar.to)).collect();
    busy.sort_unstable();
    let long = SHORTEST.max(took / PART);
    let (mut idle, mut at) = (vec![], 0);
    for (from, to) in busy.into_iter().chain([(took, took)]) {
        if from - at > long {
            idle.push((at, from));
        }
        at = at.max(to);
    }
    idle
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        pages::run::{Bar, What},
        parts::Spent,
    };

    fn row(from: i64, to: i64, kind: BarKind) -> Row {
        let what = What::Call { id: String::new(), number: 1 };
        Row { depth: 0, what, spent: Spent::default(), bars: vec![Bar { from, to, kind }] }
    }

    const SECOND: i64 = 1_000_000;

    /// IN-05, the run page: idle gaps are folded.
    #[test]
    fn a_night_without_work_takes_no_room() {
        let night = 8 * 3_600 * SECOND;
        let rows = [
            row(0, 4 * SECOND, BarKind::Call),
            row(4 * SECOND, night, BarKind::Waiting),
            row(night, night + 4 * SECOND, BarKind::Running),
        ];
        let axis = Axis::new(&rows, night + 4 * SECOND);
        assert_eq!((axis.place(0), axis.place(night + 4 * SECOND)), (0, WIDTH));
        assert_eq!(axis.place(night) - axis.place(4 * SECOND), FOLDED);
        assert_eq!(axis.place(2 * SECOND), (WIDTH - FOLDED) / 4);
        assert_eq!(axis.folded().count(), 1);
    }

    #[test]
    fn short_pauses_are_drawn_as_long_as_they_are() {
        let rows = [row(0, SECOND, BarKind::Call), row(3 * SECOND, 4 * SECOND, BarKind::Call)];
        let axis = Axis::new(&rows, 4 * SECOND);
        assert_eq!([0, 1, 2, 4].map(|at| axis.place(at * SECOND)), [0, 250, 500, 1_000]);
        assert_eq!(Axis::new(&[], 0).place(5), WIDTH, "a run of no time has an axis too");
    }
}
