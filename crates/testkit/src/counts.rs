//! How far tests count. Every run of the tests goes far enough to meet each rule; a long run goes a multiple of that.

/// What counts are multiplied by; `cargo xtask test --long` sets it.
pub const FACTOR: &str = "CARDWIRE_TEST_FACTOR";

/// This count in an ordinary run, a multiple of it in a long one.
pub fn scaled(usual: u64) -> u64 {
    let factor = std::env::var(FACTOR).map_or(1, |text| text.parse().expect("a whole number"));
    usual * factor
}
