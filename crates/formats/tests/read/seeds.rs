//! Replays the fuzzer's seeds: whole, truncated and with changed bytes.
//!
//! `scripts/fuzz.sh` tries new inputs with the same assertions. Here the inputs are the same in each run.

use std::{panic::catch_unwind, path::Path};

/// The assertions of the fuzzer.
#[path = "../../../../fuzz/src/exercise.rs"]
mod exercise;

/// The fuzzer's allocator counts memory. Here it is not counted: the tests of this binary share one
/// allocator.
mod memory {
    pub(super) const CHECKPOINT: () = ();

    pub(super) fn within<R>(_bound: (), _len: usize, read: impl FnOnce() -> R) -> R {
        read()
    }
}

/// Bytes from one cut or change to the next. It is odd, so that each byte of a number is changed.
const STEP: usize = 7;
/// Values that a byte is changed to: the bounds of signed and unsigned numbers, and small lengths.
const VALUES: [u8; 6] = [0, 1, 8, 0x7f, 0x80, 0xff];

#[test]
fn whole_seeds_violate_no_assertion() {
    for (name, bytes) in inputs() {
        check(&name, &bytes);
    }
}

#[test]
fn truncated_seeds_violate_no_assertion() {
    for (name, bytes) in inputs() {
        for len in (0..bytes.len()).step_by(STEP) {
            check(&format!("{name}, its first {len} bytes"), &bytes[..len]);
        }
    }
}

#[test]
fn seeds_with_a_changed_byte_violate_no_assertion() {
    for (name, bytes) in inputs() {
        for at in (0..bytes.len()).step_by(STEP) {
            let mut changed = bytes.clone();
            changed[at] = VALUES[at % VALUES.len()];
            check(&format!("{name}, byte {at} is {}", changed[at]), &changed);
        }
    }
}

/// Each seed, and the stored index and the checkpoint in its middle if it is a source.
fn inputs() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let mut names: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    let mut inputs = Vec::new();
    let mut sources = 0;
    for name in names {
        let bytes = std::fs::read(folder.join(&name)).unwrap();
        let name = name.to_string_lossy().into_owned();
        if let Ok(index) = exercise::read(&bytes) {
            sources += 1;
            inputs.push((format!("the index of {name}"), index.to_bytes()));
            inputs.push((format!("the checkpoint of {name}"), exercise::checkpoint(&bytes, 2)));
        }
        inputs.push((name, bytes));
    }
    assert!(sources > 0, "no seed is a source");
    inputs
}

/// Panics with the name of an input that violates an assertion. The panic before it names the assertion.
fn check(name: &str, bytes: &[u8]) {
    assert!(catch_unwind(|| exercise::exercise(bytes)).is_ok(), "assertion violated: {name}");
}
