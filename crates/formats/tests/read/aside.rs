//! Large boxes that are laid aside while they come.

use kinora_formats::{Scanned, Scanner};
use kinora_isobmff::{PushError, ReadError};

use crate::{fixture, read};

/// A file whose `moov` is at the end, with 3 MiB of padding in it that nobody reads.
fn padded() -> Vec<u8> {
    let mut bytes = fixture("moov_at_end.mp4");
    let moov = bytes.windows(4).rposition(|window| window == b"moov").unwrap() - 4;
    let padding = [&(3_u32 << 20).to_be_bytes()[..], b"free", &vec![7; (3 << 20) - 8]].concat();
    let size = u32::try_from(bytes.len() - moov + padding.len()).unwrap();
    bytes[moov..moov + 4].copy_from_slice(&size.to_be_bytes());
    bytes.extend(padding);
    bytes
}

/// The same, its `moov` lasting up to the end of the file.
fn padded_to_the_end() -> Vec<u8> {
    let mut bytes = padded();
    let moov = bytes.windows(4).position(|window| window == b"moov").unwrap() - 4;
    bytes[moov..moov + 4].fill(0);
    bytes
}

/// A file whose `moov` is in front, with 3 MiB of padding in it and its places moved along.
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
fn a_body_that_begins_in_the_first_bytes_is_stepped_in_front_of() {
    let bytes = padded_in_front();
    let body = bytes.windows(4).position(|window| window == b"moov").unwrap() as u64 + 4;
    // Shorter than what is looked at to tell what a source is, and longer than the header of its `moov`.
    for first in [body as usize + 1, 1000, 4095, 4096, 5000] {
        let (mut scanner, mut aside) = (Scanner::new(None), Vec::new());
        for piece in [&bytes[..first], &bytes[first..10_000]] {
            assert_eq!(scanner.push_beside(piece, &mut aside).unwrap(), piece.len());
        }
        assert_eq!((scanner.checkpoint_len(), aside.len() as u64), (body, 10_000 - body), "{first}");
        let mut moved = Scanner::from_checkpoint(&scanner.to_checkpoint()).unwrap();
        moved.push(&bytes[body as usize..]).unwrap();
        let mut whole = Scanner::new(None);
        whole.push(&bytes).unwrap();
        assert_eq!(moved.finish().unwrap(), whole.finish().unwrap(), "{first}");
    }
}

/// Scans in pieces, and lays aside what is large. Takes the scanner to another place after `moves_at` pieces.
fn scan_beside(bytes: &[u8], piece: usize, moves_at: usize) -> Result<Scanned, PushError> {
    let (mut scanner, mut aside, mut at, mut pieces) = (Scanner::new(None), Vec::new(), 0, 0);
    while at < bytes.len() {
        let end = bytes.len().min(at + piece);
        at += scanner.push_beside(&bytes[at..end], &mut aside)?;
        if scanner.due().is_some() {
            assert_eq!(scanner.due(), Some(aside.len() as u64));
            scanner.read_due(&std::mem::take(&mut aside))?;
        }
        pieces += 1;
        if pieces == moves_at {
            let checkpoint = scanner.to_checkpoint();
            assert!(
                checkpoint.len() < 100_000,
                "it holds nothing of what is laid aside: {}",
                checkpoint.len()
            );
            assert_eq!(scanner.to_checkpoint(), checkpoint, "the scanner is where it was");
            let moved = Scanner::from_checkpoint(&checkpoint).unwrap();
            assert_eq!(moved.len(), scanner.checkpoint_len());
            (at, scanner) = (usize::try_from(moved.len()).unwrap(), moved);
            aside.clear();
        }
    }
    scanner.end()?;
    if scanner.due().is_some() {
        scanner.read_due(&aside)?;
    }
    Ok(scanner.finish()?)
}

#[test]
fn a_large_box_that_is_laid_aside_gives_the_same_index() {
    for bytes in [padded(), padded_to_the_end()] {
        let whole = read(&bytes).unwrap();
        assert_eq!(whole.tracks, read(&fixture("moov_at_end.mp4")).unwrap().tracks);
        for piece in [1 << 10, 100_003, 8 << 20] {
            for moves_at in [0, 1, 3, 10, 30] {
                let scanned = scan_beside(&bytes, piece, moves_at).unwrap();
                assert_eq!(scanned.into_index().unwrap(), whole, "pieces of {piece}, moved after {moves_at}");
            }
        }
    }
}

#[test]
fn tables_that_were_elsewhere_give_the_same_index() {
    for name in ["faststart.mp4", "moov_at_end.mp4", "fragmented.mp4"] {
        let bytes = fixture(name);
        let mut scanner = Scanner::new(None);
        let mut moves = 0;
        for piece in bytes.chunks(1 + bytes.len() / 20) {
            scanner.push(piece).unwrap();
            assert_eq!(scanner.take_tables(1 << 20), None, "they are small");
            if let Some(tables) = scanner.take_tables(0) {
                assert!(scanner.has_sample_tables());
                assert_eq!(scanner.take_tables(0), None);
                assert!(scanner.put_tables(&tables[..tables.len() - 1]).is_err());
                scanner.put_tables(&tables).unwrap();
                moves += 1;
            }
        }
        assert_eq!(moves > 0, name != "fragmented.mp4", "{name}");
        assert_eq!(scanner.finish().and_then(Scanned::into_index), read(&bytes), "{name}");
    }
}

#[test]
fn a_large_box_that_is_cut_off_says_so() {
    let bytes = padded();
    let error = scan_beside(&bytes[..bytes.len() - 1], 100_003, 0).unwrap_err();
    let PushError::Read(ReadError::Truncated(sentence)) = error else { panic!("{error:?}") };
    assert_eq!(sentence, "its movie header (moov) is cut off");
}

#[test]
fn a_place_that_takes_nothing_ends_the_scan() {
    struct Full;

    impl kinora_isobmff::Aside for Full {
        fn lay(&mut self, _: &[u8]) -> std::io::Result<()> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
    }

    let result = Scanner::new(None).push_beside(&padded(), &mut Full);
    assert!(matches!(result, Err(PushError::Aside(_))), "{result:?}");
}
