//! Fuzzes the readers of MP4, QuickTime and Matroska files and of subtitles, with the sniffing in front of
//! them and the checkpoints between two of their bytes, and what is made of what they read, guided by
//! coverage.
//!
//! `scripts/fuzz.sh` builds and runs it. [`exercise`] is what is promised of any input, [`boxes`] changes
//! inputs box by box, so that most of them get past the headers. An input that breaks a promise is written to
//! a file and ends the run.

#![no_main]

mod boxes;
mod exercise;
mod memory;

use std::time::{Duration, Instant};

use libfuzzer_sys::{Corpus, fuzz_mutator, fuzz_target};

/// Inputs that take longer are not built upon.
const KEPT_MAX: Duration = Duration::from_millis(10);

#[global_allocator]
static ALLOCATOR: memory::Peak = memory::Peak;

fuzz_target!(|data: &[u8]| -> Corpus {
    #[expect(clippy::disallowed_methods, reason = "no test: how long it took only decides what is kept")]
    let begun = Instant::now();
    memory::within(memory::SOURCE, data.len(), || exercise::exercise(data));
    // A few bytes may claim millions of samples. With many such inputs in the corpus, little else would be
    // tried.
    if begun.elapsed() < KEPT_MAX { Corpus::Keep } else { Corpus::Reject }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    boxes::mutate(data, size, max_size, seed)
});
