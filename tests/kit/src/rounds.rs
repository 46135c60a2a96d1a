//! How often a test of chance repeats itself, and its chance.

use std::io::Write as _;

/// Rounds of a test that would run `full` of them before a release: `TW_ROUNDS` says the number, else it is a tenth.
pub fn rounds(full: u32) -> u32 {
    let asked = std::env::var("TW_ROUNDS")
        .ok()
        .and_then(|text| text.parse().ok());
    asked.unwrap_or_else(|| (full / 10).max(1))
}

/// Notes in `target/skipped` (the test's name, then why) that this machine lacks what a test needs; the test then returns.
pub fn skipped(test: &str, why: &str) {
    let path = crate::binaries::target().join("skipped");
    let file = std::fs::File::options()
        .create(true)
        .append(true)
        .open(path);
    let _ = file.and_then(|mut file| file.write_all(format!("{test} {why}\n").as_bytes()));
    eprintln!("{test} skipped: {why}");
}

/// A small generator of pseudo-random numbers (splitmix64), so that a failing round can be repeated by its seed.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Seeded by `TW_SEED`, else by the clock; the seed is printed, and so shown with a failure.
    pub fn from_environment() -> Self {
        let asked = std::env::var("TW_SEED")
            .ok()
            .and_then(|text| text.parse().ok());
        let seed = asked.unwrap_or_else(|| u64::try_from(crate::boottime()).unwrap_or(1));
        eprintln!("TW_SEED={seed}");
        Self(seed)
    }

    /// Seeded as told.
    pub const fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound.max(1)
    }

    /// One of several.
    ///
    /// # Panics
    /// There are none.
    pub fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        let index = self.below(among.len() as u64);
        &among[usize::try_from(index).expect("an index")]
    }
}
