//! Random bytes that are the same in every run.

use std::sync::atomic::{AtomicU64, Ordering};

use kinora_domain::Random;

/// A deterministic generator with a seed. Calls from several threads share one sequence, in the order of the
/// calls.
#[derive(Debug)]
pub struct SeededRandom {
    state: AtomicU64,
}

/// The step of SplitMix64: 2^64 divided by the golden ratio, made odd.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl SeededRandom {
    /// A generator; each seed has its own sequence.
    pub fn new(seed: u64) -> Self {
        Self { state: AtomicU64::new(seed) }
    }

    /// SplitMix64: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014.
    fn next(&self) -> u64 {
        let mut z = self.state.fetch_add(STEP, Ordering::SeqCst).wrapping_add(STEP);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

impl Default for SeededRandom {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Random for SeededRandom {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_gives_reproducible_bytes() {
        let mut bytes = [0; 11];
        SeededRandom::new(0).fill(&mut bytes);
        // The first value of SplitMix64 from seed 0 is e220a8397b1dcdaf, the second 6e789e6aa1b965f4.
        assert_eq!(bytes, [0xaf, 0xcd, 0x1d, 0x7b, 0x39, 0xa8, 0x20, 0xe2, 0xf4, 0x65, 0xb9]);
        let mut others = [0; 11];
        SeededRandom::new(1).fill(&mut others);
        assert_ne!(bytes, others);
    }
}
