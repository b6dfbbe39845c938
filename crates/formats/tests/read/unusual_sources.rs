//! Files with unusual times, and with tracks that are not played.

use kinora_hls::MediaPlaylist;
use kinora_index::{Index, NotCopied, NotCopiedReason, Sample, TrackMedia};

use crate::{
    fixture,
    patch_boxes::{boxed, changed, replaced, table, words},
    read,
};

/// Ticks of one frame of the fixtures, 15 per second, and their decode delay in ticks.
const FRAME_TICKS: u32 = 1024;
const DELAY: u32 = 2 * FRAME_TICKS;
const NORMAL: u32 = 0x0001_0000;

/// The clip whose moov comes after its samples, so that it can be changed.
fn clip() -> Vec<u8> {
    fixture("moov_at_end.mp4")
}

fn video_samples(index: &Index) -> Vec<Sample> {
    index.tracks[0].samples.iter().collect()
}

/// Presentation time of each frame, in decode order, on the common timeline.
fn shown(index: &Index) -> Vec<i64> {
    video_samples(index).iter().map(|sample| sample.pts + index.tracks[0].shift).collect()
}

/// The clip with another edit list of its video: milliseconds, ticks of the media, rate.
fn edited(entries: &[(u32, u32, u32)]) -> Vec<u8> {
    let rows = entries.iter().flat_map(|&(duration, media_time, rate)| [duration, media_time, rate]);
    let list: Vec<u32> = [0, entries.len() as u32].into_iter().chain(rows).collect();
    changed(&clip(), &["moov", "trak", "edts", "elst"], &|_| words(&list))
}

#[test]
fn header_durations_are_ignored() {
    let expected = read(&clip()).unwrap();
    for duration in [0, 1, 0x7fff_ffff, u32::MAX] {
        let set = |file: &[u8], path: &[&str], at: usize| {
            changed(file, path, &|body| [&body[..at], &duration.to_be_bytes(), &body[at + 4..]].concat())
        };
        let file = set(&clip(), &["moov", "mvhd"], 16);
        let file = set(&file, &["moov", "trak", "tkhd"], 20);
        let file = set(&file, &["moov", "trak", "mdia", "mdhd"], 16);
        let index = read(&file).unwrap();
        assert_eq!((&index.tracks, &index.plan), (&expected.tracks, &expected.plan), "{duration}");
    }
}

#[test]
fn samples_outside_chunks_are_dropped() {
    let expected = read(&clip()).unwrap();
    let without_last_entry = |body: &[u8]| {
        let count = u32::from_be_bytes(body[4..8].try_into().unwrap()) - 1;
        [&body[..4], &count.to_be_bytes(), &body[8..body.len() - 4]].concat()
    };
    let index = read(&changed(&clip(), &table("stco"), &without_last_entry)).unwrap();
    let (left, all) = (video_samples(&index), video_samples(&expected));
    assert!(!left.is_empty() && left.len() < all.len(), "{} of {}", left.len(), all.len());
    // The last remaining frame may last slightly longer.
    assert_eq!(left[..left.len() - 1], all[..left.len() - 1]);
    assert_eq!(index.tracks[1].samples, expected.tracks[1].samples);
}

#[test]
fn impossible_last_duration_uses_the_previous_one() {
    let expected = read(&clip()).unwrap();
    for last in [0, 0x7fff_ffff, -512_i32 as u32, u32::MAX] {
        let file = changed(&clip(), &table("stts"), &|_| words(&[0, 2, 44, FRAME_TICKS, 1, last]));
        assert_eq!(read(&file).unwrap().tracks, expected.tracks, "{last:#x}");
    }
    // Audio: no packet lasts longer than the others.
    let source = fixture("audio_only.m4a");
    let expected = read(&source).unwrap();
    let count = expected.tracks[0].samples.len();
    let file = changed(&source, &table("stts"), &|_| words(&[0, 2, count - 1, 1024, 1, 1 << 30]));
    let last = read(&file).unwrap().tracks[0].samples.get(count - 1).unwrap();
    assert_eq!(last, Sample { duration: 1024, ..expected.tracks[0].samples.get(count - 1).unwrap() });
}

#[test]
fn source_over_48_hours_is_rejected() {
    let source = fixture("audio_only.m4a");
    let lasting = |ticks: u32| read(&changed(&source, &table("stts"), &|_| words(&[0, 1, 142, ticks])));
    let error = lasting(49 * 3600 / 142 * 48_000).unwrap_err();
    assert_eq!(error.to_string(), "the movie lasts more than 48 hours, which is not supported");
}

#[test]
fn composition_offsets_may_be_negative_in_either_version() {
    let expected = read(&clip()).unwrap();
    for version in [0, 1] {
        // All frames two frames earlier, and no edit that removes the delay: the form of QuickTime.
        let file = changed(&clip(), &table("ctts"), &|ctts| {
            let rows = ctts[8..].chunks(8).flat_map(|row| {
                let offset = u32::from_be_bytes(row[4..].try_into().unwrap()).wrapping_sub(DELAY);
                [&row[..4], &offset.to_be_bytes()].concat()
            });
            [version, 0, 0, 0].into_iter().chain(ctts[4..8].to_vec()).chain(rows).collect()
        });
        let cslg = boxed("cslg", &words(&[0, DELAY, DELAY.wrapping_neg(), DELAY, 0, 46_080]));
        let file = changed(&file, &["moov", "trak", "mdia", "minf", "stbl"], &|stbl| [stbl, &cslg].concat());
        let file = changed(&file, &["moov", "trak", "edts", "elst"], &|_| words(&[0, 1, 3000, 0, NORMAL]));
        let index = read(&file).unwrap();
        assert!(video_samples(&index).iter().any(|sample| sample.pts < sample.dts));
        assert_eq!(shown(&index), shown(&expected), "version {version}");
        assert_eq!(index.plan, expected.plan, "version {version}");
        assert_eq!(index.facts(), expected.facts(), "version {version}");
    }
}

#[test]
fn frame_bursts_and_long_pauses_are_cut_at_keyframes() {
    // Fifteen frames at intervals of a thousandth of a second, then one that lasts 6 s, three times.
    let file = changed(&clip(), &table("stts"), &|_| {
        words(&[0, 6, 14, 15, 1, 92_000, 14, 15, 1, 92_000, 14, 15, 1, 92_000])
    });
    let file = changed(&file, &table("ctts"), &|_| words(&[0, 0]));
    let file = changed(&file, &["moov", "trak", "edts", "elst"], &|_| words(&[0, 0]));
    let index = read(&file).unwrap();
    let group = 14 * 15 + 92_000;
    let spans: Vec<_> = index.plan.video.iter().map(|segment| (segment.start, segment.end)).collect();
    assert_eq!(spans, [(0, group), (group, 2 * group), (2 * group, 3 * group)]);
    let expected: Vec<_> = (0..3).flat_map(|n| (0..15).map(move |m| n * group + m * 15)).collect();
    assert_eq!(shown(&index), expected);
    let playlist =
        MediaPlaylist { timescale: 15_360, segments: &index.plan.video, init_uri: "i", discontinuities: &[] };
    let text = playlist.render(|_, _| {});
    assert_eq!(
        text.matches("#EXTINF:6.003255,").count() + text.matches("#EXTINF:6.003256,").count(),
        3,
        "{text}"
    );
    assert!(text.contains("#EXT-X-TARGETDURATION:6\n"));
    let TrackMedia::Video(video) = &index.tracks[0].media else { panic!("video first") };
    assert_eq!(video.frame_rate, Some((3661, 1000)), "44 steps in 12.0176 s");
}

#[test]
fn edits_at_keyframes_are_copied() {
    let plain = read(&clip()).unwrap();
    let contiguous = read(&edited(&[(1000, DELAY, NORMAL), (2000, DELAY + 15_360, NORMAL)])).unwrap();
    assert_eq!(contiguous.tracks, plain.tracks);

    // The second of the three seconds is removed.
    let index = read(&edited(&[(1000, DELAY, NORMAL), (1000, DELAY + 30_720, NORMAL)])).unwrap();
    let (samples, original) = (video_samples(&index), video_samples(&plain));
    assert_eq!(samples.len(), 30);
    for (found, from) in samples.iter().zip(original[..15].iter().chain(&original[30..])) {
        assert_eq!((found.offset, found.size, found.is_sync), (from.offset, from.size, from.is_sync));
    }
    let expected: Vec<_> = shown(&plain)
        .into_iter()
        .filter(|at| *at < 15_360)
        .chain(shown(&plain)[30..].iter().map(|at| at - 15_360))
        .collect();
    assert_eq!(shown(&index), expected);
    assert_eq!((index.tracks[0].end, index.facts().video.unwrap().frame_rate), (30_720, Some((15, 1))));
    assert_eq!(Index::from_bytes(&index.to_bytes()).unwrap(), index);
}

#[test]
fn edits_between_keyframes_are_not_copied() {
    let reason = |entries: &[(u32, u32, u32)]| {
        let index = read(&edited(entries)).unwrap();
        let not_copied = index.tracks[0].media.not_copied().cloned();
        assert_eq!(index.plan.video.is_empty(), not_copied.is_some());
        assert_eq!(index.tracks[1].media.not_copied(), None, "the audio is");
        not_copied
    };
    let edits = Some(NotCopied::new(NotCopiedReason::Edits, "edits between keyframes"));
    assert_eq!(reason(&[(1000, DELAY, NORMAL), (1000, DELAY + 20_480, NORMAL)]), edits);
    assert_eq!(reason(&[(1000, DELAY + FRAME_TICKS, NORMAL), (1000, DELAY + 30_720, NORMAL)]), edits);
    assert_eq!(reason(&[(2000, DELAY + FRAME_TICKS, NORMAL)]), edits, "a trim at the beginning");
    assert_eq!(reason(&[(1800, DELAY, NORMAL)]), edits, "a trim between two B-frames");
    for begins in [0, DELAY, DELAY + FRAME_TICKS - 1, DELAY + 15_360, DELAY + 15_360 + FRAME_TICKS - 1] {
        assert_eq!(reason(&[(3000, begins, NORMAL)]), None, "{begins}: at a keyframe, or while one is shown");
    }
    for ends in [1000, 1266, 2400] {
        assert_eq!(reason(&[(ends, DELAY, NORMAL)]), None, "{ends}: in front of no B-frame");
    }
}

#[test]
fn different_sample_descriptions_are_rejected() {
    let expected = read(&clip()).unwrap();
    let twice = |change: &dyn Fn(&mut Vec<u8>)| {
        let file = changed(&clip(), &table("stsd"), &|stsd| {
            let mut second = stsd[8..].to_vec();
            change(&mut second);
            [&words(&[0, 2])[..], &stsd[8..], &second].concat()
        });
        changed(&file, &table("stsc"), &|stsc| {
            let runs = u32::from_be_bytes(stsc[4..8].try_into().unwrap()) as usize;
            let mut stsc = stsc.to_vec();
            stsc[8 + 12 * (runs - 1) + 11] = 2;
            stsc
        })
    };
    assert_eq!(read(&twice(&|_| {})).unwrap().tracks, expected.tracks);
    let error = read(&twice(&|second| second[90] ^= 1)).unwrap_err();
    assert_eq!(error.to_string(), "the video changes its codec or format, which is not supported");
}

/// The video of the clip with another size in its header, and boxes added to its sample entry.
fn shaped(size: (u32, u32), added: &[u8]) -> Vec<u8> {
    let file = changed(&clip(), &["moov", "trak", "tkhd"], &|tkhd| {
        [&tkhd[..76], &words(&[size.0 << 16, size.1 << 16])].concat()
    });
    let path = ["moov", "trak", "mdia", "minf", "stbl", "stsd", "avc1"];
    let file = changed(&file, &path, &|entry| {
        let at = entry.windows(4).position(|window| window == b"pasp").unwrap() - 4;
        [&entry[..at], added, &entry[at + 16..]].concat()
    });
    assert_ne!(file, clip());
    file
}

#[test]
fn pixel_aspect_prefers_pasp_over_track_header() {
    let pasp = |horizontal, vertical| boxed("pasp", &words(&[horizontal, vertical]));
    let clap = boxed("clap", &words(&[80, 1, 54, 1, 0, 1, 0, 1]));
    let check = |name: &str, file: &[u8], aspect: (u32, u32), display: (u32, u32)| {
        let index = read(file).unwrap();
        let (_, video) = index.video().unwrap();
        let facts = index.facts().video.unwrap();
        assert_eq!(video.pixel_aspect, aspect, "{name}");
        assert_eq!((facts.display_width, facts.display_height), display, "{name}");
        assert_eq!((facts.width, facts.height), (96, 54), "{name}");
        let entry = String::from_utf8_lossy(video.sample_entry.iso().unwrap()).into_owned();
        assert!(!entry.contains("clap"), "{name}");
        assert_eq!(entry.contains("pasp"), aspect != (1, 1), "{name}");
    };
    check("nothing", &shaped((96, 54), &[]), (1, 1), (96, 54));
    check("the track", &shaped((128, 54), &[]), (4, 3), (128, 54));
    check("the entry", &shaped((96, 54), &pasp(4, 3)), (4, 3), (128, 54));
    check("both", &shaped((96, 108), &pasp(4, 3)), (4, 3), (128, 54));
    check("cropped", &shaped((96, 54), &clap), (1, 1), (96, 54));
    // Rotated: the width is stretched before the rotation.
    let turned = changed(&shaped((96, 54), &pasp(4, 3)), &["moov", "trak", "tkhd"], &|tkhd| {
        let one = 0x0001_0000;
        [&tkhd[..40], &words(&[0, one, 0, one.wrapping_neg(), 0, 0, 0, 0, 0x4000_0000]), &tkhd[76..]].concat()
    });
    check("turned", &turned, (4, 3), (54, 128));
}

/// A copy of the second track of the clip with another id, handler and sample entry.
fn other_track(id: u8, handler: &[u8; 4], entry: &[u8; 4]) -> Vec<u8> {
    let file = clip();
    let at = file.windows(4).rposition(|window| window == b"trak").unwrap() - 4;
    let size = u32::from_be_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let mut trak = replaced(&file[at..at + size], b"soun", handler);
    trak = replaced(&trak, b"mp4a\0", &[&entry[..], b"\0"].concat());
    let header = trak.windows(4).position(|window| window == b"tkhd").unwrap() + 4;
    trak[header + 15] = id;
    trak
}

#[test]
fn text_timecode_metadata_and_hint_tracks_are_ignored() {
    let others = [
        other_track(11, b"tmcd", b"tmcd"),
        other_track(12, b"meta", b"mebx"),
        other_track(13, b"meta", b"camm"),
        other_track(14, b"text", b"text"),
        other_track(15, b"sbtl", b"tx3g"),
        other_track(16, b"clcp", b"c608"),
        other_track(17, b"hint", b"rtp "),
        other_track(18, b"subt", b"stpp"),
    ];
    let expected = read(&clip()).unwrap();
    // Before the others, as a phone writes them, and after.
    let front = changed(&clip(), &["moov"], &|moov| {
        let at = moov.windows(4).position(|window| window == b"trak").unwrap() - 4;
        [&moov[..at], &others.concat(), &moov[at..]].concat()
    });
    let behind = changed(&clip(), &["moov"], &|moov| [moov, &others.concat()].concat());
    let cover = boxed("ilst", &boxed("covr", &boxed("data", &[&words(&[13, 0])[..], &[0xff; 900]].concat())));
    let meta = boxed("udta", &boxed("meta", &[&[0; 4][..], &cover].concat()));
    let cover = changed(&clip(), &["moov"], &|moov| [moov, &meta].concat());
    for file in [front, behind, cover] {
        assert_eq!(read(&file).unwrap().tracks, expected.tracks);
    }
    // No other track in the file.
    let only = changed(&clip(), &["moov"], &|moov| {
        let at = moov.windows(4).position(|window| window == b"trak").unwrap() - 4;
        [&moov[..at], &others.concat()].concat()
    });
    let error = read(&only).unwrap_err();
    assert_eq!(error.to_string(), "the movie has no video or audio track");
}

#[test]
fn still_image_track_is_not_video() {
    let expected = read(&fixture("audio_only.m4a")).unwrap();
    let esds = [&words(&[0])[..], &[3, 19, 0, 0, 0, 4, 14, 0x6c, 0x11], &[0; 14]].concat();
    for (kind, children) in [(b"jpeg", vec![]), (b"png ", vec![]), (b"mp4v", boxed("esds", &esds))] {
        let mut fields = [0; 78];
        fields[7] = 1;
        let entry = boxed(std::str::from_utf8(kind).unwrap(), &[&fields[..], &children].concat());
        let mut cover = other_track(9, b"vide", b"xxxx");
        cover = changed(&boxed("moov", &cover), &["moov", "trak", "mdia", "minf", "stbl", "stsd"], &|_| {
            [&words(&[0, 1])[..], &entry].concat()
        });
        cover = changed(&cover, &table("stsz"), &|_| words(&[0, 600, 1]));
        let file = changed(&fixture("audio_only.m4a"), &["moov"], &|moov| [moov, &cover[8..]].concat());
        let index = read(&file).unwrap();
        assert_eq!(index.tracks, expected.tracks, "{}", String::from_utf8_lossy(kind));
    }
}
