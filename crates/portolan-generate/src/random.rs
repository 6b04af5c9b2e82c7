//! A small seeded generator of numbers (splitmix64): the same seed gives the same fleet on every machine.

/// A stream of draws. Each object has its own, so that a new draw in one does not change any other.
#[derive(Clone, Debug)]
pub(crate) struct Draws(u64);

impl Draws {
    /// The stream of the object `index` of its kind.
    pub(crate) fn of(seed: u64, kind: &str, index: usize) -> Draws {
        let mut draws = Draws(seed);
        for byte in kind.bytes() {
            draws.0 = draws.0.wrapping_add(u64::from(byte));
            draws.next();
        }
        draws.0 = draws.next() ^ (index as u64).wrapping_mul(0xd6e8_feb8_6659_fd93);
        draws
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 when there is none.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        // The bias of a remainder is far below anything a fleet could show.
        (self.next() % bound.max(1) as u64) as usize
    }

    /// Whether something happens that happens `percent` times in a hundred.
    pub(crate) fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words.get(self.below(words.len())).copied().unwrap_or_default()
    }

    /// Sixteen hexadecimal digits.
    pub(crate) fn hex(&mut self) -> String {
        format!("{:016x}", self.next())
    }
}

#[cfg(test)]
mod tests {
    use super::Draws;

    #[test]
    fn streams_repeat_and_differ_by_seed_kind_and_index() {
        let first = |seed, kind, index| Draws::of(seed, kind, index).next();
        assert_eq!(first(1, "a", 0), first(1, "a", 0));
        let others = [first(2, "a", 0), first(1, "b", 0), first(1, "a", 1)];
        assert!(!others.contains(&first(1, "a", 0)));
    }
}
