//! Inputs that are like those of a corpus: parts of several, with bytes changed, left out or repeated.

/// The longest input that is made.
const LONGEST: usize = 4096;
/// What often matters to a reader of text.
const PIECES: &[&[u8]] = &[
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b",",
    b":",
    b"null",
    b"true",
    b"-1",
    b"0",
    b"18446744073709551616",
    b"1e400",
    b"\n",
    b"\\",
    b"%",
    b"&",
    b"=",
    b"\0",
    b"\xff",
    b"{}",
    b"[]",
    b"\"\"",
    b"\xc3\xa4",
];

/// A source of inputs that depends on the corpus and the seed alone.
pub(crate) struct Mutation<'c> {
    corpus: &'c [Vec<u8>],
    state: u64,
}

impl<'c> Mutation<'c> {
    pub(crate) fn new(corpus: &'c [Vec<u8>], seed: u64) -> Self {
        Mutation { corpus, state: seed }
    }

    /// A number below `limit`, or 0: splitmix64, so that the inputs are the same everywhere.
    fn below(&mut self, limit: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        usize::try_from(mixed % (limit.max(1) as u64)).unwrap_or_default()
    }

    fn any(&mut self) -> &'c [u8] {
        &self.corpus[self.below(self.corpus.len())]
    }

    pub(crate) fn next(&mut self) -> Vec<u8> {
        let mut input = self.any().to_vec();
        for _ in 0..=self.below(4) {
            self.change(&mut input);
        }
        input.truncate(LONGEST);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let at = self.below(input.len() + 1);
        let end = at + self.below((input.len() - at).min(24) + 1);
        match self.below(6) {
            0 => drop(input.drain(at..end)),
            1 => {
                let part = input[at..end].to_vec();
                input.splice(at..at, part);
            }
            2 => {
                let piece = PIECES[self.below(PIECES.len())];
                input.splice(at..at, piece.iter().copied());
            }
            3 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << self.below(8);
                }
            }
            4 => {
                let other = self.any();
                let from = self.below(other.len() + 1);
                let to = from + self.below((other.len() - from).min(64) + 1);
                input.splice(at..end, other[from..to].iter().copied());
            }
            _ => {
                let other = self.any();
                input.truncate(at);
                input.extend_from_slice(&other[at.min(other.len())..]);
            }
        }
    }
}
