//! Numbers out of a seed, a purpose and two counters: no state, so that any second can be asked for.

/// A number that depends on all of the arguments and looks like none of them (the finalizer of splitmix64, chained).
pub(super) fn draw(seed: u64, purpose: &str, index: usize, step: i64) -> u64 {
    let start = purpose
        .bytes()
        .fold(seed, |mixed, byte| mix(mixed ^ u64::from(byte)));
    mix(mix(start ^ index as u64) ^ step as u64)
}

/// A number below `bound`.
pub(super) fn below(seed: u64, purpose: &str, index: usize, step: i64, bound: i64) -> i64 {
    // The bias of a remainder is far below anything a fleet could show.
    (draw(seed, purpose, index, step) % bound.max(1) as u64) as i64
}

fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::draw;

    #[test]
    fn draws_repeat_and_depend_on_every_argument() {
        let one = draw(1, "health", 2, 3);
        assert_eq!(one, draw(1, "health", 2, 3));
        let others = [
            draw(2, "health", 2, 3),
            draw(1, "score", 2, 3),
            draw(1, "health", 3, 3),
            draw(1, "health", 2, 4),
        ];
        assert!(!others.contains(&one));
    }
}
