//! The treatment of the sample entries of HEVC, AV1 and Opus.

use kinora_hls::{MultivariantPlaylist, MultivariantUris};
use kinora_index::{AudioTrack, NotCopied, NotCopiedReason, VideoTrack};
use kinora_isobmff::ReadFailureCode;

use crate::{
    fixture,
    patch_boxes::{boxed, changed, replaced},
    read,
};

/// The path of the sample entries of the first track.
const ENTRIES: [&str; 6] = ["moov", "trak", "mdia", "minf", "stbl", "stsd"];
/// Length of a visual sample entry before its child boxes, with the box header.
const VISUAL_LEN: usize = 86;

fn video(file: &[u8]) -> VideoTrack {
    read(file).unwrap().video().unwrap().1.clone()
}

fn audio(file: &[u8]) -> AudioTrack {
    read(file).unwrap().audio().unwrap().1.clone()
}

#[track_caller]
fn check_refused(file: &[u8], code: ReadFailureCode, sentence: &str) {
    match read(file) {
        Err(error) => assert_eq!((error.code(), error.to_string().as_str()), (code, sentence)),
        // Another track can be played.
        Ok(index) => assert_eq!(index.left_out.first().map(|track| &*track.detail), Some(sentence)),
    }
}

#[track_caller]
fn check_not_copied(file: &[u8], reason: NotCopiedReason, detail: &str) {
    let index = read(file).unwrap();
    assert_eq!(index.tracks[0].media.not_copied(), Some(&NotCopied::new(reason, detail)));
}

/// The file with the body of a box of the first sample entry changed.
fn with_config(
    file: &[u8],
    entry: &'static str,
    config: &'static str,
    change: &dyn Fn(&[u8]) -> Vec<u8>,
) -> Vec<u8> {
    changed(file, &[&ENTRIES[..], &[entry, config]].concat(), change)
}

/// The file with boxes added after those of the first sample entry.
fn with_boxes(file: &[u8], entry: &'static str, boxes: &[u8]) -> Vec<u8> {
    // The first box of the entry is matched, and all that follow.
    changed(file, &ENTRIES, &|stsd| {
        let size = u32::from_be_bytes(stsd[8..12].try_into().unwrap()) as usize;
        let body = [&stsd[16..8 + size], boxes, &stsd[8 + size..]].concat();
        assert_eq!(&stsd[12..16], entry.as_bytes());
        [&stsd[..8], &boxed(entry, &body)].concat()
    })
}

/// Kinds of the boxes inside a visual sample entry.
fn kinds(entry: &[u8]) -> Vec<String> {
    let mut rest = &entry[VISUAL_LEN..];
    let mut kinds = Vec::new();
    while let Some(size) = rest.first_chunk::<4>() {
        kinds.push(String::from_utf8_lossy(&rest[4..8]).into_owned());
        rest = &rest[u32::from_be_bytes(*size) as usize..];
    }
    kinds
}

#[test]
fn hev1_becomes_hvc1_where_the_entry_has_all_parameter_sets() {
    let file = fixture("hev1_hdr10.mp4");
    let hev1 = video(&file);
    assert_eq!(&hev1.sample_entry.iso().unwrap()[4..8], b"hvc1");
    assert_eq!(hev1.codec, "hvc1.2.4.L30.90");
    let hvc1 = video(&replaced(&file, b"hev1\0\0\0\0\0\0\0\x01", b"hvc1\0\0\0\0\0\0\0\x01"));
    assert_eq!(hvc1, hev1, "all else is the same");

    let between = "HEVC with parameter sets between the frames only (hev1)";
    for (kind, name) in [(32u8, "video"), (33, "sequence"), (34, "picture")] {
        // The array of this kind gets an unknown kind.
        let lacking = with_config(&file, "hev1", "hvcC", &|hvcc| {
            let mut hvcc = hvcc.to_vec();
            let at = (23..hvcc.len())
                .find(|&at| hvcc[at] & 0x3f == kind && hvcc[at + 1..at + 3] == [0, 1])
                .unwrap();
            hvcc[at] = 0x3f;
            hvcc
        });
        check_not_copied(&lacking, NotCopiedReason::Codec, between);
        assert_eq!(
            &video(&lacking).sample_entry.iso().unwrap()[4..8],
            b"hev1",
            "without {name} parameter sets"
        );
    }
    let empty = with_config(&file, "hev1", "hvcC", &|hvcc| [&hvcc[..22], &[0]].concat());
    check_not_copied(&empty, NotCopiedReason::Codec, between);
    assert_eq!((video(&empty).width, video(&empty).height), (96, 54), "as the entry says");
}

#[test]
fn hdr_metadata_is_preserved_and_dolby_vision_removed() {
    let file = fixture("hevc.mp4");
    let before = kinds(video(&file).sample_entry.iso().unwrap());
    let dolby = |compatibility: u8| boxed("dvvC", &[1, 0, 0x10, 0x15, compatibility << 4, 0, 0, 0]);
    let colr = boxed("colr", b"nclx\0\x09\0\x12\0\x09\0");
    let boxes =
        [boxed("mdcv", &[0; 24]), boxed("clli", &[0; 4]), dolby(4), boxed("hvcE", &[0; 23]), colr].concat();
    let richer = video(&with_boxes(&file, "hvc1", &boxes));
    assert_eq!(
        kinds(richer.sample_entry.iso().unwrap()),
        [&before[..], &["mdcv", "clli", "colr"].map(String::from)].concat()
    );
    assert_eq!(richer.transfer, Some(18));
    let alone = "Dolby Vision without a base layer for other players";
    check_not_copied(&with_boxes(&file, "hvc1", &dolby(0)), NotCopiedReason::Codec, alone);
}

#[test]
fn container_colour_overrides_bitstream_unless_unspecified() {
    let hlg = fixture("av1_hlg.mp4");
    assert_eq!(video(&hlg).transfer, Some(18));
    let open = replaced(&hlg, b"nclx\0\x09\0\x12\0\x09", b"nclx\0\x02\0\x02\0\x02");
    assert_eq!(video(&open).transfer, Some(18), "left open: the sequence header tells");
    let pq = replaced(&hlg, b"nclx\0\x09\0\x12\0\x09", b"nclx\0\x09\0\x10\0\x09");
    assert_eq!(video(&pq).transfer, Some(16));
    assert_eq!(video(&fixture("hev1_hdr10.mp4")).transfer, Some(16));
    assert_eq!(video(&fixture("hevc.mp4")).transfer, None);
}

#[test]
fn broken_video_configuration_is_damaged() {
    let check = |name: &str, entry: &'static str, config: &'static str, sentence: &str| {
        let file = fixture(name);
        for len in 0..22 {
            let cut = with_config(&file, entry, config, &|body| body[..len.min(body.len() - 1)].to_vec());
            // The record of AV1 is valid without its sequence header.
            if config == "av1C" && len == 4 {
                assert_eq!(video(&cut).codec, "av01.0.00M.10.0.110.09.18.09.0");
                assert_eq!((video(&cut).width, video(&cut).height), (96, 54));
                continue;
            }
            check_refused(&cut, ReadFailureCode::NotMedia, sentence);
        }
        let missing = replaced(&file, config.as_bytes(), b"free");
        check_refused(&missing, ReadFailureCode::NotMedia, sentence);
    };
    check("hevc.mp4", "hvc1", "hvcC", "the file is damaged: its HEVC configuration cannot be read");
    check("av1_hlg.mp4", "av01", "av1C", "the file is damaged: its AV1 configuration cannot be read");
    let short =
        changed(&fixture("hevc.mp4"), &ENTRIES, &|stsd| [&stsd[..8], &boxed("hvc1", &[0; 77])].concat());
    let sentence = "the file is damaged: its video sample entry is cut short";
    check_refused(&short, ReadFailureCode::NotMedia, sentence);
}

#[test]
fn other_profiles_are_not_copied() {
    let hevc = |at: usize, value: u8| {
        with_config(&fixture("hevc.mp4"), "hvc1", "hvcC", &|hvcc| {
            let mut hvcc = hvcc.to_vec();
            hvcc[1..6].copy_from_slice(&[4, 0x08, 0, 0, 0]);
            hvcc[at] = value;
            hvcc
        })
    };
    check_not_copied(&hevc(1, 4), NotCopiedReason::Codec, "HEVC of profile 4");
    check_not_copied(&hevc(6, 0x40), NotCopiedReason::Interlaced, "interlaced HEVC");
    assert!(video(&hevc(6, 0x40)).is_interlaced);
    assert_eq!(video(&hevc(2, 0x28)).codec, "hvc1.4.14.L30.90", "compatible with Main 10 by its own account");

    let high =
        with_config(&fixture("av1_hlg.mp4"), "av01", "av1C", &|av1c| [&[0x81, 0x20], &av1c[2..]].concat());
    check_not_copied(&high, NotCopiedReason::PixelFormat, "AV1 High profile");
}

#[test]
fn opus_keeps_dops_and_shortest_packet() {
    let opus = audio(&fixture("opus.mp4"));
    assert_eq!((opus.codec.as_str(), opus.channels, opus.sample_rate), ("Opus", 1, 48_000));
    assert_eq!(opus.packet_samples, 960);
    assert_eq!(audio(&fixture("hevc_open_gop.mp4")).packet_samples, 240);
    // 312 samples of priming, by the edit list.
    assert_eq!(read(&fixture("opus.mp4")).unwrap().audio().unwrap().0.shift, -312);
}

#[test]
fn broken_opus_configuration_is_rejected() {
    let file = fixture("opus.mp4");
    let with = |config: &[u8]| with_config(&file, "Opus", "dOps", &|_| config.to_vec());
    for len in 0..11 {
        let cut = with(&[0, 1, 0x01, 0x38, 0, 0, 0xbb, 0x80, 0, 0, 0][..len]);
        check_refused(
            &cut,
            ReadFailureCode::NotMedia,
            "the file is damaged: its Opus configuration cannot be read",
        );
    }
    let surround = |channels: u8, family: u8, streams: u8, coupled: u8| {
        let mapping: Vec<u8> = (0..channels).collect();
        with(
            &[&[0, channels, 0x01, 0x38, 0, 0, 0xbb, 0x80, 0, 0, family, streams, coupled][..], &mapping]
                .concat(),
        )
    };
    assert_eq!(audio(&surround(6, 1, 4, 2)).channels, 6);
    let unknown = "Opus of an unknown channel layout";
    check_not_copied(&surround(4, 2, 4, 0), NotCopiedReason::Codec, unknown);
    check_not_copied(&surround(4, 255, 4, 0), NotCopiedReason::Codec, unknown);
    check_not_copied(&surround(2, 1, 2, 0), NotCopiedReason::Codec, unknown);
    check_not_copied(
        &surround(9, 1, 9, 0),
        NotCopiedReason::Codec,
        "Opus of 9 channels; the first two are played",
    );
}

#[test]
fn leading_samples_belong_to_their_keyframe_segment() {
    let index = read(&fixture("hevc_open_gop.mp4")).unwrap();
    let (track, _) = index.video().unwrap();
    let mut is_led = Vec::new();
    for segment in &index.plan.video {
        let shown: Vec<i64> =
            track.samples.range(segment.samples.clone()).map(|sample| sample.pts + track.shift).collect();
        assert!(track.samples.get(segment.samples.start).unwrap().is_sync);
        assert_eq!(shown.iter().min(), Some(&segment.start));
        assert!(shown.iter().all(|&at| at < segment.end));
        is_led.push(segment.start < shown[0]);
    }
    assert_eq!(is_led, [false, true]);
    // A segment that depends on the previous one is not marked as independent; others are.
    let audio = ["a.m3u8".to_owned()];
    let uris = MultivariantUris { video: "v.m3u8", audio: &audio };
    let is_declared = |index| MultivariantPlaylist::of(index, uris).render().contains("INDEPENDENT-SEGMENTS");
    assert!(!is_declared(&index));
    assert!(is_declared(&read(&fixture("hevc.mp4")).unwrap()));
}
