//! Files that attack a reader.

use kinora_formats::Scanner;
use kinora_index::Index;
use proptest::prelude::*;

use crate::{
    fixture,
    patch_boxes::{boxed, changed, table, words},
    read,
};

/// Reads, packs and unpacks: every result must be consistent.
fn exercise(bytes: &[u8]) {
    if let Ok(index) = read(bytes) {
        for track in &index.tracks {
            assert!(
                track
                    .samples
                    .iter()
                    .all(|sample| sample.offset + u64::from(sample.size) <= bytes.len() as u64)
            );
            for span in track.edit_spans() {
                let times: Vec<_> = track.samples.range(span.samples).map(|sample| sample.dts).collect();
                assert!(times.is_sorted_by(|a, b| a < b));
            }
        }
        assert_eq!(Index::from_bytes(&index.to_bytes()).unwrap(), index);
        index.facts();
    }
}

/// Files whose `moov` is at the end, and fragmented files.
const NAMES: [&str; 15] = [
    "video_only.mp4",
    "audio_only.m4a",
    "timecode.mov",
    "late_audio.mp4",
    "several_audio.mp4",
    "several_fragmented.mp4",
    "variable_rate.mp4",
    "dash.mp4",
    "every_frame.mp4",
    "hybrid.mp4",
    "smooth.mp4",
    "hevc_open_gop.mp4",
    "hev1_hdr10.mp4",
    "av1_hlg.mp4",
    "opus.mp4",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn bytes_changed_in_the_moov_never_panic(
        name in prop::sample::select(NAMES.to_vec()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = fixture(name);
        let moov = bytes.windows(4).position(|window| window == b"moov").unwrap() - 4;
        for (at, value) in changes {
            let at = moov + at.index(bytes.len() - moov);
            bytes[at] = value;
        }
        exercise(&bytes);
    }

    #[test]
    fn words_changed_in_the_moov_never_panic(
        name in prop::sample::select(NAMES.to_vec()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(vec![0, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX])), 1..4),
    ) {
        let mut bytes = fixture(name);
        let moov = bytes.windows(4).position(|window| window == b"moov").unwrap() - 4;
        for (at, value) in changes {
            let at = moov + at.index(bytes.len() - moov - 4);
            bytes[at..at + 4].copy_from_slice(&u32::to_be_bytes(value));
        }
        exercise(&bytes);
    }

    #[test]
    fn random_bytes_after_header_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in prop::sample::select(vec!["moov", "mdat", "free"])) {
        exercise(&[boxed("ftyp", b"isom\0\0\x02\0"), boxed(kind, &bytes), bytes].concat());
    }

    #[test]
    fn damaged_index_is_rejected(at: prop::sample::Index, value in 1..=255u8) {
        let mut bytes = read(&fixture("faststart.mp4")).unwrap().to_bytes();
        let at = at.index(bytes.len());
        bytes[at] ^= value;
        prop_assert!(Index::from_bytes(&bytes).is_err());
        prop_assert!(Index::from_bytes(&bytes[..at]).is_err());
    }
}

#[test]
fn moov_with_billions_of_samples_is_rejected_early() {
    let file = fixture("video_only.mp4");
    let many = 4_000_000_000;
    let damaged =
        |kind: &str| format!("the file is damaged: its {kind} table has fewer entries than it says");
    let cases = [
        (
            "stsz",
            words(&[0, 0, many]),
            "the file is damaged: its table of sample sizes is shorter than it says".into(),
        ),
        (
            "stsz",
            words(&[0, 1, many]),
            "a track has 4000000000 samples; at most 5184000 are supported".into(),
        ),
        ("stts", words(&[0, many, 1, 1]), damaged("stts")),
        ("stss", words(&[0, many, 1]), damaged("stss")),
        ("ctts", words(&[0, many, 1, 1]), damaged("ctts")),
        ("stsc", words(&[0, many, 1, 1, 1]), damaged("stsc")),
        ("stco", words(&[0, many, 48]), damaged("stco")),
    ];
    for (kind, body, sentence) in cases {
        let error = read(&changed(&file, &table(kind), &|_| body.clone())).unwrap_err();
        assert_eq!(error.to_string(), sentence, "{kind}");
    }
    // One entry for four billion samples is only a long run: the sizes determine how many there are.
    let long_run = changed(&file, &table("stts"), &|_| words(&[0, 1, many, 1024]));
    assert_eq!(read(&long_run).unwrap().tracks, read(&file).unwrap().tracks);
}

#[test]
fn oversized_moov_is_rejected_by_its_header() {
    let start = boxed("ftyp", &[b"isom\0\0\x02\0", &[0; 4096][..]].concat());
    for size in [1u64 << 29, u64::MAX] {
        let moov = [&b"\0\0\0\x01moov"[..], &size.to_be_bytes()].concat();
        let mut scanner = Scanner::new(None);
        let error = scanner.push(&[&start[..], &moov].concat()).unwrap_err();
        assert_eq!(error.to_string(), "its movie header (moov) is longer than 256 MiB", "{size}");
    }
    let error = read(&[&start[..], b"\x7f\xff\xff\xffmoov"].concat()).unwrap_err();
    assert_eq!(error.to_string(), "its movie header (moov) is longer than 256 MiB");
}

#[test]
fn index_of_another_layout_is_rejected() {
    let mut bytes = read(&fixture("video_only.mp4")).unwrap().to_bytes();
    assert_eq!(Index::from_bytes(b"KINORAI").unwrap_err().to_string(), "the bytes are not a sample index");
    bytes[8] = 9;
    assert_eq!(
        Index::from_bytes(&bytes).unwrap_err().to_string(),
        "the sample index has layout 9; 4 to 8 are read"
    );
}
