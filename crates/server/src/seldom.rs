//! Warnings that anybody can cause in any number: at most one in ten seconds is told, so that a flood does not fill the log.

use cardwire_model::Timestamp;

const EVERY_MICROS: i64 = 10_000_000;

/// When something was told last.
#[derive(Default)]
pub(crate) struct Seldom(Option<Timestamp>);

impl Seldom {
    /// Tells it, if nothing was told for a while.
    pub(crate) fn tell(&mut self, now: Timestamp, warning: impl FnOnce()) {
        if self.0.is_none_or(|last| now.micros() - last.micros() >= EVERY_MICROS) {
            self.0 = Some(now);
            warning();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_told_once_in_ten_seconds() {
        let (mut seldom, mut told) = (Seldom::default(), vec![]);
        for micros in [0, 1, EVERY_MICROS - 1, EVERY_MICROS, EVERY_MICROS + 1, 3 * EVERY_MICROS] {
            seldom.tell(Timestamp::from_micros(micros), || told.push(micros));
        }
        assert_eq!(told, [0, EVERY_MICROS, 3 * EVERY_MICROS]);
    }
}
