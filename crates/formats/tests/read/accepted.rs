//! Files that are accepted: whole summaries against golden files.

use std::fmt::Write;

use kinora_index::{Index, SampleEntry, Segment, Track, TrackMedia};

use crate::{
    fixture,
    patch_boxes::{changed, table, words},
    read,
};

#[test]
fn index_matches_golden() {
    for name in [
        "audio_only.m4a",
        "av1_hlg.mp4",
        "begins_inside.mp4",
        "faststart.mp4",
        "hev1_hdr10.mp4",
        "hevc.mp4",
        "hevc_open_gop.mp4",
        "late_audio.mp4",
        "moov_at_end.mp4",
        "opus.mp4",
        "quicktime.mov",
        "rotated.mp4",
        "several_audio.mp4",
        "surround.m4a",
        "timecode.mov",
        "variable_rate.mp4",
        "video_only.mp4",
    ] {
        check_golden(name);
    }
}

/// Compares the summary of a file with its golden one.
pub(crate) fn check_golden(name: &str) {
    let index = read(&fixture(name)).unwrap();
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../golden");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(format!("read_{}", name.replace('.', "_")), summary(&index)));
}

#[test]
fn index_round_trips_through_bytes() {
    for name in [
        "faststart.mp4",
        "quicktime.mov",
        "variable_rate.mp4",
        "surround.m4a",
        "hevc_open_gop.mp4",
        "av1_hlg.mp4",
        "several_audio.mp4",
    ] {
        let index = read(&fixture(name)).unwrap();
        let bytes = index.to_bytes();
        assert_eq!(Index::from_bytes(&bytes).unwrap(), index, "{name}");
        assert_eq!(index.to_bytes(), bytes, "{name}");
        assert_eq!(index.id().to_string().len(), 16, "{name}");
    }
}

#[test]
fn unreleased_index_layout_is_rejected_by_its_header() {
    for layout in 1..=3 {
        let bytes = fixture(&format!("unreleased.index{layout}"));
        let error = Index::from_bytes(&bytes).unwrap_err();
        let expected = format!("the sample index has layout {layout}; 4 to 8 are read");
        assert_eq!(error.to_string(), expected);
        assert!(Index::has_unreleased_layout(&bytes[..12]));
    }
    let bytes = read(&fixture("faststart.mp4")).unwrap().to_bytes();
    assert!(!Index::has_unreleased_layout(&bytes));
    assert!(!Index::has_unreleased_layout(&bytes[..11]));
    assert!(!Index::has_unreleased_layout(b"KINORAI"));
}

#[test]
fn moov_position_and_offset_width_do_not_matter() {
    let file = fixture("moov_at_end.mp4");
    let expected = read(&file).unwrap();

    let wide_offsets = changed(&file, &table("stco")[..5], &|stbl| {
        let at = stbl.windows(4).position(|window| window == b"stco").unwrap();
        let count = u32::from_be_bytes(stbl[at + 8..at + 12].try_into().unwrap());
        let (narrow, rest) = stbl[at + 12..].split_at(count as usize * 4);
        let wide = narrow.chunks(4).flat_map(|offset| [&[0; 4], offset].concat());
        let wide: Vec<u8> = words(&[0, count]).into_iter().chain(wide).collect();
        [&stbl[..at - 4], &crate::patch_boxes::boxed("co64", &wide), rest].concat()
    });
    assert_eq!(read(&wide_offsets).unwrap().tracks, expected.tracks);

    // ffmpeg leaves eight bytes before `mdat` for a 64-bit size.
    let at = file.windows(8).position(|window| window == b"\0\0\0\x08free").unwrap();
    let size = u32::from_be_bytes(file[at + 8..at + 12].try_into().unwrap());
    let mut wide_size = file.clone();
    wide_size[at..at + 16]
        .copy_from_slice(&[&b"\0\0\0\x01mdat"[..], &u64::from(size + 8).to_be_bytes()].concat());
    assert_eq!(read(&wide_size).unwrap().tracks, expected.tracks);

    let fast = read(&fixture("faststart.mp4")).unwrap();
    for (fast, slow) in fast.tracks.iter().zip(&expected.tracks) {
        let times = |track: &Track| {
            track.samples.iter().map(|sample| (sample.dts, sample.pts, sample.size)).collect::<Vec<_>>()
        };
        assert_eq!(times(fast), times(slow));
    }
}

#[test]
fn junk_after_last_box_is_ignored() {
    let file = fixture("moov_at_end.mp4");
    let expected = read(&file).unwrap().tracks;
    for junk in [&[0; 7][..], &[0, 0, 0, 3, 1, 2, 3, 4, 5], b"\0\0\0\0mdat rest", b"\0\0\x10\0mdat cut"] {
        assert_eq!(read(&[&file, junk].concat()).unwrap().tracks, expected, "{junk:?}");
    }
}

#[test]
fn empty_samples_are_dropped_and_equal_times_separated() {
    let file = fixture("moov_at_end.mp4");
    let before: Vec<_> = read(&file).unwrap().tracks[0].samples.iter().collect();

    let emptied = changed(&file, &table("stsz"), &|stsz| {
        let mut stsz = stsz.to_vec();
        stsz[12 + 4 * 5..12 + 4 * 6].fill(0);
        stsz
    });
    let after: Vec<_> = read(&emptied).unwrap().tracks[0].samples.iter().collect();
    assert_eq!(after.len(), before.len() - 1);
    assert_eq!((after[4].duration, after[5].dts), (before[4].duration * 2, before[6].dts));

    // All deltas 0: no sample has a duration, but decode times still rise.
    let stopped = changed(&file, &table("stts"), &|_| words(&[0, 1, 45, 0]));
    let stopped = changed(&stopped, &table("ctts"), &|_| words(&[0, 0]));
    let stopped = changed(&stopped, &["moov", "trak", "edts", "elst"], &|_| words(&[0, 0]));
    let times: Vec<_> =
        read(&stopped).unwrap().tracks[0].samples.iter().map(|sample| (sample.dts, sample.pts)).collect();
    assert_eq!(times, (0..45).map(|n| (n, n)).collect::<Vec<_>>());
}

#[test]
fn version_1_boxes_give_the_same_index() {
    let file = fixture("moov_at_end.mp4");
    let expected = read(&file).unwrap();
    let widened = changed(&file, &["moov", "trak", "mdia", "mdhd"], &|mdhd| {
        [&[1, 0, 0, 0, 0, 0, 0, 0], &mdhd[4..8], &[0; 4], &mdhd[8..12], &mdhd[12..16], &[0; 4], &mdhd[16..]]
            .concat()
    });
    let widened = changed(&widened, &["moov", "trak", "tkhd"], &|tkhd| {
        [&[1, 0, 0, 3, 0, 0, 0, 0], &tkhd[4..8], &[0; 4], &tkhd[8..20], &[0; 4], &tkhd[20..]].concat()
    });
    assert_eq!(read(&widened).unwrap().tracks, expected.tracks);
}

fn summary(index: &Index) -> String {
    let mut text = String::new();
    let hash: String = index.source_sha256.iter().map(|byte| format!("{byte:02x}")).collect();
    writeln!(text, "{:?}, {} bytes, SHA-256 {hash}", index.container, index.source_len).unwrap();
    writeln!(text, "{:#?}", index.facts()).unwrap();
    for track in &index.tracks {
        write_track(track, &mut text);
    }
    for track in &index.tracks {
        let name = if matches!(track.media, TrackMedia::Video(_)) { "video" } else { "audio" };
        for Segment { samples, start, end } in index.segments(track) {
            writeln!(text, "{name} segment: samples {samples:?}, {start}..{end}").unwrap();
        }
    }
    text
}

fn write_track(track: &Track, text: &mut String) {
    writeln!(text, "track {}, {} ticks/s, {}", track.source_track, track.timescale, track.language).unwrap();
    if track.label.title.is_some() || track.label.describes_video {
        writeln!(text, "{:?}", track.label).unwrap();
    }
    match &track.media {
        TrackMedia::Video(video) => {
            let mut video = video.clone();
            write_entry(&video.sample_entry, text);
            video.sample_entry = SampleEntry::Iso(Vec::new());
            writeln!(text, "{video:?}").unwrap();
        }
        TrackMedia::Audio(audio) => {
            let mut audio = audio.clone();
            write_entry(&audio.sample_entry, text);
            audio.sample_entry = SampleEntry::Iso(Vec::new());
            writeln!(text, "{audio:?}").unwrap();
        }
    }
    writeln!(
        text,
        "shift {}, end {}, bits a second {} to {}",
        track.shift, track.end, track.bitrate_average, track.bitrate_peak
    )
    .unwrap();
    for (number, sample) in track.samples.iter().enumerate() {
        let mark = if sample.is_sync { '*' } else { ' ' };
        writeln!(
            text,
            "{number:3}{mark} dts {} pts {} for {}: {} at {}",
            sample.dts, sample.pts, sample.duration, sample.size, sample.offset
        )
        .unwrap();
    }
}

fn write_entry(entry: &SampleEntry, text: &mut String) {
    match entry {
        SampleEntry::Iso(bytes) => writeln!(text, "entry {}", hex(bytes)).unwrap(),
        SampleEntry::Matroska(bytes) => writeln!(text, "entry of Matroska {}", hex(bytes)).unwrap(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
