//! The result does not depend on how the bytes are cut.

use kinora_formats::{Scanned, Scanner};
use proptest::prelude::*;

use crate::{fixture, read};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn chunk_boundaries_do_not_change_the_index(
        name in prop::sample::select(vec!["faststart.mp4", "moov_at_end.mp4", "quicktime.mov", "opus.mp4", "fragmented.mp4", "hybrid.mp4", "smooth.mp4"]),
        lens in prop::collection::vec(0..2000usize, 1..50),
        hint: Option<u64>,
    ) {
        let bytes = fixture(name);
        let mut scanner = Scanner::new(hint);
        let mut result = Ok(());
        let mut rest = &bytes[..];
        for len in lens.into_iter().chain([1]).cycle() {
            let (chunk, behind) = rest.split_at(len.min(rest.len()));
            result = scanner.push(chunk);
            rest = behind;
            if rest.is_empty() || result.is_err() {
                break;
            }
        }
        prop_assert_eq!(result.and_then(|()| scanner.finish().and_then(Scanned::into_index)), read(&bytes));
    }
}

#[test]
fn single_bytes_give_the_same_index() {
    for name in ["faststart.mp4", "fragmented.mp4"] {
        let bytes = fixture(name);
        let mut scanner = Scanner::new(None);
        for byte in bytes.chunks(1) {
            scanner.push(byte).unwrap();
        }
        assert_eq!(scanner.len(), bytes.len() as u64);
        assert_eq!(scanner.finish().and_then(Scanned::into_index), read(&bytes));
    }
}

#[test]
fn faststart_sample_tables_precede_samples() {
    let bytes = fixture("faststart.mp4");
    let mdat = bytes.windows(4).position(|window| window == b"mdat").unwrap();
    let mut scanner = Scanner::new(None);
    scanner.push(&bytes[..mdat.max(4096)]).unwrap();
    assert!(scanner.has_sample_tables());

    let bytes = fixture("moov_at_end.mp4");
    let mut scanner = Scanner::new(None);
    scanner.push(&bytes[..bytes.len() - 1]).unwrap();
    assert!(!scanner.has_sample_tables());
    scanner.push(&bytes[bytes.len() - 1..]).unwrap();
    assert!(scanner.has_sample_tables());
}
