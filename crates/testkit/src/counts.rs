//! How many commits, turns and kills a test tries. An ordinary run tries enough to meet each rule; a long run multiplies
//! the counts.

/// The variable that holds the factor; `cargo xtask test --long` sets it.
pub const FACTOR: &str = "CARDWIRE_TEST_FACTOR";

/// Multiplies a count by the factor of this run; an ordinary run has the factor 1.
pub fn scaled(usual: u64) -> u64 {
    let factor = std::env::var(FACTOR).map_or(1, |text| text.parse().expect("a whole number"));
    usual * factor
}
