//! Fuzzes the reader of MP4 and QuickTime files, and what is made of them, guided by coverage.
//!
//! `scripts/fuzz.sh` builds and runs it. [`exercise`] is what is promised of any input, [`boxes`] changes inputs box by box, so
//! that most of them get past the headers. An input that breaks a promise is written to a file and ends the run.

#![no_main]

mod boxes;
mod exercise;
mod memory;

use libfuzzer_sys::{fuzz_mutator, fuzz_target};

#[global_allocator]
static ALLOCATOR: memory::Peak = memory::Peak;

fuzz_target!(|data: &[u8]| {
    memory::within_bound(data.len(), || exercise::exercise(data));
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    boxes::mutate(data, size, max_size, seed)
});
