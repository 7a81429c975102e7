//! What was spent as areas: the larger the rectangle, the more of it.

use maud::{Markup, html};

const WIDTH: f64 = 1_000.0;
const HEIGHT: f64 = 150.0;
/// Smaller shares are one rectangle together.
const SHARES: usize = 40;

/// A share of the whole.
#[derive(Debug, Clone)]
pub(super) struct Share<'a> {
    /// Its name on the picture.
    pub(super) name: String,
    /// Where it leads.
    pub(super) href: Option<&'a str>,
    /// The class that colours it.
    pub(super) class: String,
    /// How much it is, and in words.
    pub(super) size: u64,
    pub(super) told: String,
}

/// A rectangle: left, top, width, height.
type Area = (f64, f64, f64, f64);

/// The picture; the table beside it says the same.
pub(super) fn show(shares: &[Share<'_>]) -> Markup {
    let mut shares: Vec<&Share<'_>> = shares.iter().filter(|share| share.size > 0).collect();
    shares.sort_by_key(|share| std::cmp::Reverse(share.size));
    shares.truncate(SHARES);
    let sizes: Vec<f64> = shares.iter().map(|share| share.size as f64).collect();
    html! {
        svg.treemap viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="group" aria-label="Shares of the whole; the table below has the numbers" {
            @for (share, area) in shares.iter().zip(areas(&sizes, (0.0, 0.0, WIDTH, HEIGHT))) { (draw(share, area)) }
        }
    }
}

fn draw(share: &Share<'_>, (x, y, width, height): Area) -> Markup {
    // About so many letters of 12 px fit.
    let letters = (width / 7.5) as usize;
    let body = html! {
        rect class={ "share " (share.class) } x={ (format!("{x:.1}")) } y={ (format!("{y:.1}")) }
            width={ (format!("{:.1}", (width - 2.0).max(0.5))) } height={ (format!("{:.1}", (height - 2.0).max(0.5))) } rx="4" {
            title { (share.name) ": " (share.told) }
        }
        @if letters >= 6 && height >= 18.0 {
            text x={ (format!("{:.1}", x + 6.0)) } y={ (format!("{:.1}", y + 15.0)) } { (share.name.chars().take(letters).collect::<String>()) }
            @if height >= 36.0 { text.line x={ (format!("{:.1}", x + 6.0)) } y={ (format!("{:.1}", y + 31.0)) } { (share.told.chars().take(letters).collect::<String>()) } }
        }
    };
    html! { @match share.href { Some(href) => a href=(href) { (body) }, None => (body) } }
}

/// Rectangles as square as can be whose areas are as the sizes, which come from the largest (Bruls, Huizing and van Wijk).
fn areas(sizes: &[f64], (mut x, mut y, mut width, mut height): Area) -> Vec<Area> {
    let total: f64 = sizes.iter().sum();
    let scale = width * height / total.max(f64::MIN_POSITIVE);
    let sizes: Vec<f64> = sizes.iter().map(|size| size * scale).collect();
    let (mut areas, mut at) = (vec![], 0);
    while at < sizes.len() {
        let side = width.min(height);
        let mut end = at + 1;
        while end < sizes.len() && worst(&sizes[at..=end], side) <= worst(&sizes[at..end], side) {
            end += 1;
        }
        let sum: f64 = sizes[at..end].iter().sum();
        let thick = sum / side.max(f64::MIN_POSITIVE);
        let mut along = 0.0;
        for size in &sizes[at..end] {
            let long = size / thick.max(f64::MIN_POSITIVE);
            areas.push(if width < height {
                (x + along, y, long, thick)
            } else {
                (x, y + along, thick, long)
            });
            along += long;
        }
        if width < height {
            (y, height) = (y + thick, height - thick);
        } else {
            (x, width) = (x + thick, width - thick);
        }
        at = end;
    }
    areas
}

/// How far from a square the worst of a row is.
fn worst(row: &[f64], side: f64) -> f64 {
    let sum: f64 = row.iter().sum();
    let ratio = |size: &f64| (side * side * size / (sum * sum)).max(sum * sum / (side * side * size));
    row.iter().map(ratio).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_are_as_the_sizes_and_fill_the_picture() {
        let sizes = [6.0, 6.0, 4.0, 3.0, 2.0, 2.0, 1.0];
        let found = areas(&sizes, (0.0, 0.0, 6.0, 4.0));
        let each: Vec<f64> = found.iter().map(|(_, _, width, height)| (width * height).round()).collect();
        assert_eq!(each, sizes);
        let square = |(_, _, width, height): &Area| (width / height).max(height / width);
        assert!(found.iter().all(|area| square(area) < 3.0), "{found:?}");
        assert!(areas(&[], (0.0, 0.0, 6.0, 4.0)).is_empty());
    }
}
