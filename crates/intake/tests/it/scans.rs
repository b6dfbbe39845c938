//! Scan results do not depend on which parts are stored in files in the meantime.

use bytes::Bytes;
use kinora_formats::{Scanned, Scanner};
use kinora_intake::{Scan, ScanLimits};
use kinora_testkit::fixture;

/// Number of pieces of a source.
const PIECES: usize = 12;

/// A file whose `moov` is at the end and has 3 MiB of padding in it.
fn with_large_moov() -> Bytes {
    let mut bytes = fixture::moov_at_end().to_vec();
    let moov = bytes.windows(4).rposition(|window| window == b"moov").unwrap() - 4;
    let padding = [&(3_u32 << 20).to_be_bytes()[..], b"free", &vec![7; (3 << 20) - 8]].concat();
    let size = u32::try_from(bytes.len() - moov + padding.len()).unwrap();
    bytes[moov..moov + 4].copy_from_slice(&size.to_be_bytes());
    bytes.extend(padding);
    bytes.into()
}

/// A movie in fragments whose second `moof` has 100 KiB of padding in it.
fn with_large_moof() -> Bytes {
    const PADDING: u32 = 100 << 10;
    let bytes = fixture::fragmented();
    let offsets = |kind: &'static [u8; 4], bytes: &[u8]| {
        let matches = bytes.windows(4).enumerate().filter(move |(_, window)| window == kind);
        matches.map(|(at, _)| at).collect::<Vec<_>>()
    };
    let number = |at: &[u8]| u32::from_be_bytes(*at.first_chunk().unwrap());
    let start = offsets(b"moof", &bytes)[1] - 4;
    let size = number(&bytes[start..]);
    let (mut moof, behind) = (bytes[start..start + size as usize].to_vec(), &bytes[start + size as usize..]);
    moof[..4].copy_from_slice(&(size + PADDING).to_be_bytes());
    // Offsets count from the first byte of the `moof`; each follows kind, flags and count of a `trun`.
    for at in offsets(b"trun", &moof) {
        let offset = number(&moof[at + 12..]) + PADDING;
        moof[at + 12..at + 16].copy_from_slice(&offset.to_be_bytes());
    }
    let padding = [&PADDING.to_be_bytes()[..], b"free", &vec![7; PADDING as usize - 8]].concat();
    [&bytes[..start], &moof, &padding, behind].concat().into()
}

#[test]
fn moof_padding_does_not_change_the_index() {
    let tracks = |bytes: &[u8]| in_memory(bytes).into_index().unwrap().tracks.len();
    assert_eq!(tracks(&with_large_moof()), tracks(&fixture::fragmented()));
    assert!(with_large_moof().len() > fixture::fragmented().len());
}

fn in_memory(bytes: &[u8]) -> Scanned {
    let mut scanner = Scanner::new(None);
    scanner.push(bytes).unwrap();
    scanner.finish().unwrap()
}

#[tokio::test]
async fn spilled_scan_gives_the_same_result() {
    let folder = tempfile::tempdir().unwrap();
    let scan_limits =
        [ScanLimits::new(folder.path().into()), ScanLimits::with_limits(folder.path().into(), 100, 0)];
    let sources = [
        fixture::two_seconds(),
        fixture::fragmented(),
        fixture::vp9_webm(),
        fixture::containers::transport_stream(),
        with_large_moov(),
        with_large_moof(),
    ];
    for (limits, source) in
        scan_limits.iter().flat_map(|turns| sources.iter().map(move |source| (turns, source)))
    {
        let scan = Scan::begin(limits, None);
        let mut pushed = 0;
        for piece in source.chunks(source.len().div_ceil(PIECES)) {
            scan.push(source.slice_ref(piece)).await.unwrap();
            pushed += piece.len() as u64;
            scan.spill().await;
            scan.spill().await; // changes nothing
            let checkpoint = scan.checkpoint().await.unwrap();
            let (at, state_len) = (checkpoint.at(), checkpoint.state_len());
            let (state, permit) = checkpoint.load_limited(limits, None).await.unwrap();
            assert!(at <= pushed);
            assert_eq!(Scanner::from_checkpoint(&state).unwrap().len(), at);
            assert_eq!(state.len() as u64, state_len);
            drop(permit);
        }
        scan.spill().await;
        assert_eq!(scan.finish().await.unwrap().scanned, in_memory(source));
    }
    assert_eq!(folder.path().read_dir().unwrap().count(), 0, "spilled boxes have no file name");
}
