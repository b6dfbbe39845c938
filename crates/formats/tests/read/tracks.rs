//! Track selection of a movie.

use kinora_index::{AUDIO_TRACKS_MAX, Index, TrackMedia};

use crate::{
    fixture,
    patch_boxes::{boxed, changed},
    read,
};

/// The last track of a file, as a whole box.
fn last_trak(file: &[u8]) -> Vec<u8> {
    let at = file.windows(4).rposition(|window| window == b"trak").unwrap() - 4;
    let size = u32::from_be_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    file[at..at + size].to_vec()
}

/// A track with another id, and enabled or not.
fn renamed(trak: &[u8], id: u8, is_enabled: bool) -> Vec<u8> {
    let mut trak = trak.to_vec();
    let at = trak.windows(4).position(|window| window == b"tkhd").unwrap() + 4;
    trak[at + 3] = if is_enabled { 3 } else { 2 };
    trak[at + 12..at + 16].copy_from_slice(&[0, 0, 0, id]);
    trak
}

fn chosen(index: &Index) -> Vec<(&str, u32)> {
    let kind = |media: &TrackMedia| match media {
        TrackMedia::Video(_) => "video",
        TrackMedia::Audio(_) => "audio",
    };
    index.tracks.iter().map(|track| (kind(&track.media), track.source_track)).collect()
}

/// A track with some bytes of one of its boxes replaced; `at` counts from the kind of the box, 0 replaces
/// the kind itself.
fn replaced_at(trak: &[u8], kind: &[u8; 4], at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut trak = trak.to_vec();
    let found = trak.windows(4).position(|window| window == kind).unwrap();
    let start = if at == 0 { found } else { found + 4 + at };
    trak[start..start + bytes.len()].copy_from_slice(bytes);
    trak
}

/// The file with its audio track twice; the samples of the second one are `distance` bytes later.
pub(crate) fn with_second_audio_moved_by(file: &[u8], distance: u32) -> Vec<u8> {
    let audio = last_trak(file);
    let mut second = renamed(&audio, 3, false);
    let stco = second.windows(4).position(|window| window == b"stco").unwrap() + 4;
    let count = u32::from_be_bytes(second[stco + 4..stco + 8].try_into().unwrap()) as usize;
    for offset in second[stco + 8..stco + 8 + count * 4].chunks_mut(4) {
        let moved = u32::from_be_bytes(offset.try_into().unwrap()) + distance;
        offset.copy_from_slice(&moved.to_be_bytes());
    }
    movie_of(&[audio, second])
}

/// Ids of tracks and whether they are enabled.
fn traks_of(traks: &[Vec<u8>]) -> Vec<(u32, bool)> {
    let of = |trak: &Vec<u8>| {
        let at = trak.windows(4).position(|window| window == b"tkhd").unwrap() + 4;
        (u32::from_be_bytes(trak[at + 12..at + 16].try_into().unwrap()), trak[at + 3] & 1 != 0)
    };
    traks.iter().map(of).collect()
}

/// The tracks chosen from a movie with the video of the fixture and these tracks.
fn chosen_among(traks: &[Vec<u8>]) -> Vec<(String, u32)> {
    chosen(&read(&movie_of(traks)).unwrap()).into_iter().map(|(kind, id)| (kind.into(), id)).collect()
}

/// A movie with the video of the fixture and these tracks.
fn movie_of(traks: &[Vec<u8>]) -> Vec<u8> {
    let file = fixture("moov_at_end.mp4");
    let audio = last_trak(&file);
    changed(&file, &["moov"], &|moov| {
        let at = moov.windows(audio.len()).position(|window| window == audio).unwrap();
        [&moov[..at], &traks.concat(), &moov[at + audio.len()..]].concat()
    })
}

#[test]
fn first_enabled_audio_track_is_the_default() {
    let audio = last_trak(&fixture("moov_at_end.mp4"));
    let check = |name: &str, traks: &[(u8, bool)], expected: u32| {
        let traks: Vec<_> = traks.iter().map(|&(id, is_enabled)| renamed(&audio, id, is_enabled)).collect();
        let index = read(&movie_of(&traks)).unwrap();
        let found: Vec<_> =
            index.audio_tracks().map(|(track, _)| (track.source_track, track.label.is_enabled)).collect();
        let listed: Vec<_> = traks_of(&traks);
        assert_eq!(found, listed, "{name}");
        assert_eq!(index.audio().unwrap().0.source_track, expected, "{name}");
    };
    check("one", &[(2, true)], 2);
    check("two", &[(2, true), (3, true)], 2);
    check("the first is disabled", &[(2, false), (3, true), (4, true)], 3);
    check("all are disabled", &[(2, false), (3, false)], 2);
    assert_eq!(chosen_among(&[]), [("video".into(), 1)], "none");
}

#[test]
fn audio_tracks_are_cut_at_video_segments() {
    let index = read(&fixture("several_audio.mp4")).unwrap();
    let (video, _) = index.video().unwrap();
    let cuts: Vec<_> =
        index.segments(video).iter().map(|segment| segment.end as f64 / f64::from(video.timescale)).collect();
    assert_eq!(index.plan.audio.len(), 3);
    for (track, audio) in index.audio_tracks() {
        let segments = index.segments(track);
        let packet = f64::from(audio.packet_samples) / f64::from(audio.sample_rate);
        assert_eq!(segments[0].start, 0, "track {}", track.source_track);
        for (segment, cut) in segments.iter().zip(&cuts).take(segments.len() - 1) {
            let end = segment.end as f64 / f64::from(track.timescale);
            assert!((0.0..packet).contains(&(end - cut)), "track {}: {end}, not {cut}", track.source_track);
        }
    }
}

#[test]
fn duplicate_track_id_is_skipped() {
    let audio = last_trak(&fixture("moov_at_end.mp4"));
    let traks = [2, 2, 3, 1].map(|id| renamed(&audio, id, true));
    assert_eq!(chosen_among(&traks), [("video".into(), 1), ("audio".into(), 2), ("audio".into(), 3)]);
}

#[test]
fn unplayable_track_is_skipped_if_another_plays() {
    let audio = last_trak(&fixture("moov_at_end.mp4"));
    let sizes = replaced_at(&audio, b"stsz", 8, &[0xff; 4]);
    let codec = replaced_at(&audio, b"mp4a", 0, b"ac-4");
    let timescale = replaced_at(&audio, b"mdhd", 12, &[0; 4]);
    // The edit ends before it begins: nothing of the track is presented.
    let edit = replaced_at(&audio, b"elst", 12, &[0x7f, 0xff, 0xff, 0xff]);
    for (name, broken) in [("sizes", sizes), ("codec", codec), ("timescale", timescale), ("edit", edit)] {
        let (second, third) = (renamed(&broken, 2, true), renamed(&audio, 3, true));
        let expected = [("video".into(), 1), ("audio".into(), 3)];
        assert_eq!(chosen_among(&[second.clone(), third.clone()]), expected, "{name} first");
        assert_eq!(chosen_among(&[third, second.clone()]), expected, "{name} last");
        let index = read(&movie_of(&[second, renamed(&broken, 3, true)])).unwrap();
        let left_out: Vec<_> = index.left_out.iter().map(|track| track.is_video).collect();
        assert_eq!((index.tracks.len(), left_out), (1, vec![false; 2]), "{name}: the video is left");
    }
}

#[test]
fn first_enabled_copyable_video_track_is_played() {
    let file = fixture("video_only.mp4");
    let video = last_trak(&file);
    let movie = |traks: &[(u8, bool, &[u8; 4])]| {
        let of = |&(id, is_enabled, codec): &(u8, bool, &[u8; 4])| {
            replaced_at(&renamed(&video, id, is_enabled), b"avc1", 0, codec)
        };
        let traks: Vec<_> = traks.iter().map(of).collect();
        changed(&file, &["moov"], &|moov| {
            let at = moov.windows(video.len()).position(|window| window == video).unwrap();
            [&moov[..at], &traks.concat(), &moov[at + video.len()..]].concat()
        })
    };
    let check = |traks: &[(u8, bool, &[u8; 4])], expected: u32| {
        assert_eq!(chosen(&read(&movie(traks)).unwrap()), [("video", expected)], "{traks:?}");
    };
    check(&[(1, true, b"avc1"), (2, true, b"avc1")], 1);
    check(&[(1, false, b"avc1"), (2, true, b"avc1")], 2);
    check(&[(1, false, b"avc1"), (2, false, b"avc1")], 1);
    check(&[(1, true, b"apch"), (2, true, b"avc1")], 2);
    check(&[(1, false, b"avc1"), (2, true, b"apch"), (3, true, b"avc1")], 3);
    // A track to encode is played if no enabled one can be copied; a track without a decoder is skipped.
    check(&[(1, false, b"avc1"), (2, true, b"apch")], 2);
    check(&[(1, false, b"apch"), (2, false, b"avc1")], 2);
    check(&[(1, true, b"vvc1"), (2, true, b"apch"), (3, true, b"AVdn")], 2);
    check(&[(1, false, b"avc1"), (2, true, b"vvc1")], 1);
    let error = read(&movie(&[(1, true, b"vvc1"), (2, true, b"XxXx")])).unwrap_err();
    assert_eq!(error.to_string(), "the video codec is VVC (vvc1), which cannot be decoded");
}

#[test]
fn audio_track_limit_keeps_the_first() {
    let audio = last_trak(&fixture("moov_at_end.mp4"));
    let wide = |id: u32| replaced_at(&renamed(&audio, 0, true), b"tkhd", 12, &id.to_be_bytes());
    let traks: Vec<_> = (2..5000).map(wide).collect();
    let index = read(&movie_of(&traks)).unwrap();
    let ids: Vec<_> = index.audio_tracks().map(|(track, _)| track.source_track).collect();
    assert_eq!(ids, (2..2 + AUDIO_TRACKS_MAX as u32).collect::<Vec<_>>());
    assert_eq!(Index::from_bytes(&index.to_bytes()).unwrap(), index);
}

#[test]
fn chapters_and_time_codes_are_not_played() {
    let file = fixture("moov_at_end.mp4");
    // The video track refers to the audio track as its chapters.
    let chapters = boxed("tref", &boxed("chap", &[0, 0, 0, 2]));
    let movie = changed(&file, &["moov", "trak"], &|trak| [trak, &chapters].concat());
    assert_eq!(chosen(&read(&movie).unwrap()), [("video", 1)]);
    assert_eq!(chosen(&read(&fixture("timecode.mov")).unwrap()), [("video", 1), ("audio", 2)]);
}

#[test]
fn disabled_video_with_enabled_audio_is_not_played() {
    let disabled =
        |file: &[u8]| changed(file, &["moov", "trak", "tkhd"], &|tkhd| [&[0, 0, 0, 0], &tkhd[4..]].concat());
    let with_audio = read(&disabled(&fixture("moov_at_end.mp4"))).unwrap();
    assert_eq!(chosen(&with_audio), [("audio", 2)]);
    let alone = read(&disabled(&fixture("video_only.mp4"))).unwrap();
    assert_eq!(chosen(&alone), [("video", 1)]);
}
