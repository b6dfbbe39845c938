//! Large boxes that are spilled while they arrive.

use kinora_formats::{Scanned, Scanner};
use kinora_isobmff::{PushError, ReadError};

use crate::{fixture, read};

/// A file whose `moov` is at the end, with 3 MiB of padding in it that no parser reads.
fn padded() -> Vec<u8> {
    let mut bytes = fixture("moov_at_end.mp4");
    let moov = bytes.windows(4).rposition(|window| window == b"moov").unwrap() - 4;
    let padding = [&(3_u32 << 20).to_be_bytes()[..], b"free", &vec![7; (3 << 20) - 8]].concat();
    let size = u32::try_from(bytes.len() - moov + padding.len()).unwrap();
    bytes[moov..moov + 4].copy_from_slice(&size.to_be_bytes());
    bytes.extend(padding);
    bytes
}

/// The same, with a `moov` that lasts to the end of the file.
fn padded_to_the_end() -> Vec<u8> {
    let mut bytes = padded();
    let moov = bytes.windows(4).position(|window| window == b"moov").unwrap() - 4;
    bytes[moov..moov + 4].fill(0);
    bytes
}

/// A file whose `moov` comes first, with 3 MiB of padding in it and its offsets corrected.
fn padded_in_front() -> Vec<u8> {
    let bytes = fixture("fragmented.mp4");
    let moov = bytes.windows(4).position(|window| window == b"moov").unwrap() - 4;
    let len = u32::from_be_bytes(bytes[moov..moov + 4].try_into().unwrap());
    let end = moov + len as usize;
    let padding = [&(3_u32 << 20).to_be_bytes()[..], b"free", &vec![7; (3 << 20) - 8]].concat();
    let size = len + padding.len() as u32;
    [&bytes[..moov], &size.to_be_bytes()[..], &bytes[moov + 4..end], &padding, &bytes[end..]].concat()
}

#[test]
fn checkpoint_rewinds_before_spilled_box() {
    let bytes = padded_in_front();
    let body = bytes.windows(4).position(|window| window == b"moov").unwrap() as u64 + 4;
    // Shorter than the head for format detection, and longer than the header of its `moov`.
    for first in [body as usize + 1, 1000, 4095, 4096, 5000] {
        let (mut scanner, mut aside) = (Scanner::new(None), Vec::new());
        for piece in [&bytes[..first], &bytes[first..10_000]] {
            assert_eq!(scanner.push_spilled(piece, &mut aside).unwrap(), piece.len());
        }
        assert_eq!((scanner.checkpoint_len(), aside.len() as u64), (body, 10_000 - body), "{first}");
        let mut moved = Scanner::from_checkpoint(&scanner.to_checkpoint()).unwrap();
        moved.push(&bytes[body as usize..]).unwrap();
        let mut unmoved = Scanner::new(None);
        unmoved.push(&bytes).unwrap();
        assert_eq!(moved.finish().unwrap(), unmoved.finish().unwrap(), "{first}");
    }
}

/// Scans in pieces, and spools large boxes. Replaces the scanner by one from its checkpoint after `moves_at`
/// pieces.
fn scan_beside(bytes: &[u8], piece_len: usize, moves_at: usize) -> Result<Scanned, PushError> {
    let (mut scanner, mut aside, mut at, mut pieces) = (Scanner::new(None), Vec::new(), 0, 0);
    while at < bytes.len() {
        let end = bytes.len().min(at + piece_len);
        at += scanner.push_spilled(&bytes[at..end], &mut aside)?;
        if scanner.spilled_len().is_some() {
            assert_eq!(scanner.spilled_len(), Some(aside.len() as u64));
            scanner.read_spilled(&std::mem::take(&mut aside))?;
        }
        pieces += 1;
        if pieces == moves_at {
            let checkpoint = scanner.to_checkpoint();
            assert!(checkpoint.len() < 100_000, "it holds no byte of a spilled box: {}", checkpoint.len());
            assert_eq!(scanner.to_checkpoint(), checkpoint, "the scanner is where it was");
            let moved = Scanner::from_checkpoint(&checkpoint).unwrap();
            assert_eq!(moved.len(), scanner.checkpoint_len());
            (at, scanner) = (usize::try_from(moved.len()).unwrap(), moved);
            aside.clear();
        }
    }
    scanner.end()?;
    if scanner.spilled_len().is_some() {
        scanner.read_spilled(&aside)?;
    }
    Ok(scanner.finish()?)
}

#[test]
fn spooled_box_gives_the_same_index() {
    for bytes in [padded(), padded_to_the_end()] {
        let expected = read(&bytes).unwrap();
        assert_eq!(expected.tracks, read(&fixture("moov_at_end.mp4")).unwrap().tracks);
        for piece_len in [1 << 10, 100_003, 8 << 20] {
            for moves_at in [0, 1, 3, 10, 30] {
                let scanned = scan_beside(&bytes, piece_len, moves_at).unwrap();
                assert_eq!(
                    scanned.into_index().unwrap(),
                    expected,
                    "pieces of {piece_len}, moved after {moves_at}"
                );
            }
        }
    }
}

#[test]
fn offloaded_tables_give_the_same_index() {
    for name in ["faststart.mp4", "moov_at_end.mp4", "fragmented.mp4"] {
        let bytes = fixture(name);
        let mut scanner = Scanner::new(None);
        let mut moves = 0;
        for piece in bytes.chunks(1 + bytes.len() / 20) {
            scanner.push(piece).unwrap();
            assert_eq!(scanner.offload_tables(1 << 20), None, "they are small");
            if let Some(tables) = scanner.offload_tables(0) {
                assert!(scanner.has_sample_tables());
                assert_eq!(scanner.offload_tables(0), None);
                assert!(scanner.restore_tables(&tables[..tables.len() - 1]).is_err());
                scanner.restore_tables(&tables).unwrap();
                moves += 1;
            }
        }
        assert_eq!(moves > 0, name != "fragmented.mp4", "{name}");
        assert_eq!(scanner.finish().and_then(Scanned::into_index), read(&bytes), "{name}");
    }
}

#[test]
fn truncated_spooled_box_is_truncated() {
    let bytes = padded();
    let error = scan_beside(&bytes[..bytes.len() - 1], 100_003, 0).unwrap_err();
    let PushError::Read(ReadError::Truncated(sentence)) = error else { panic!("{error:?}") };
    assert_eq!(sentence, "its movie header (moov) is cut off");
}

#[test]
fn spool_error_ends_the_scan() {
    struct Full;

    impl kinora_isobmff::BoxSpill for Full {
        fn append(&mut self, _: &[u8]) -> std::io::Result<()> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
    }

    let result = Scanner::new(None).push_spilled(&padded(), &mut Full);
    assert!(matches!(result, Err(PushError::Spill(_))), "{result:?}");
}
