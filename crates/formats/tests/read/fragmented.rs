//! Fragmented movies, as ffmpeg writes them: the same samples as the file they were made from.

use kinora_index::{Index, Sample, Track, TrackMedia};

use crate::{fixture, read};

/// A sample without container-dependent values: its bytes, and whether it is a sync sample.
fn essence<'a>(bytes: &'a [u8], track: &Track) -> Vec<(&'a [u8], bool)> {
    let samples = track.samples.iter();
    samples.map(|sample| (&bytes[sample.offset as usize..][..sample.size as usize], sample.is_sync)).collect()
}

/// Decode and presentation times from the second sample on, in microseconds relative to it.
///
/// Not the first: ffmpeg extends the first packet of audio if it leaves out the edit list.
fn times(track: &Track) -> Vec<(i64, i64)> {
    let second = track.samples.get(1).unwrap();
    let since =
        |sample: Sample| (micros(track, sample.dts - second.dts), micros(track, sample.pts - second.pts));
    track.samples.iter().skip(1).map(since).collect()
}

fn micros(track: &Track, ticks: i64) -> i64 {
    let timescale = i64::from(track.timescale);
    (ticks * 1_000_000 + timescale / 2).div_euclid(timescale)
}

/// Start and end of the presentation of a track, in milliseconds.
fn presented_ms(track: &Track) -> (i64, i64) {
    let first = track.samples.iter().map(|sample| sample.pts).min().unwrap();
    (micros(track, first + track.shift) / 1000, micros(track, track.end) / 1000)
}

fn codec(track: &Track) -> &str {
    match &track.media {
        TrackMedia::Video(video) => &video.codec,
        TrackMedia::Audio(audio) => &audio.codec,
    }
}

#[test]
fn fragments_contain_every_audio_track() {
    let (source, bytes) = (fixture("several_audio.mp4"), fixture("several_fragmented.mp4"));
    let (original, index) = (read(&source).unwrap(), read(&bytes).unwrap());
    assert_eq!(index.tracks.len(), 4);
    assert_eq!(index.plan.audio.len(), 3);
    for (track, expected) in index.tracks.iter().zip(&original.tracks) {
        assert_eq!(essence(&bytes, track), essence(&source, expected), "track {}", track.source_track);
        // ffmpeg drops the title.
        assert_eq!(track.language, expected.language);
        assert_eq!(track.label.is_enabled, expected.label.is_enabled);
    }
}

#[test]
fn fragmented_samples_equal_the_source() {
    let source = fixture("faststart.mp4");
    let original = read(&source).unwrap();
    // Without an edit list two frames of delay and the priming are presented; ffprobe agrees.
    let no_edits = [(133, 3133), (0, 3133)].as_slice();
    for (name, expected) in [
        ("fragmented.mp4", no_edits),
        ("every_frame.mp4", &[(0, 3000)]),
        ("every_packet.mp4", no_edits),
        ("dash.mp4", &[(0, 3000), (-21, 3000)]),
        // It has negative composition offsets instead; ffprobe shifts all times up by the largest.
        ("cmaf.mp4", &[(0, 3000), (0, 3021)]),
        ("separate_moof.mp4", no_edits),
        ("hybrid.mp4", no_edits),
        ("one_fragment.mp4", no_edits),
        ("smooth.mp4", &[(0, 3000), (0, 3021)]),
    ] {
        let bytes = fixture(name);
        let index = read(&bytes).unwrap();
        assert!(!index.is_truncated, "{name}");
        for (track, original_track) in index.tracks.iter().zip(&original.tracks) {
            assert!(essence(&bytes, track) == essence(&source, original_track), "{name}");
            assert_eq!(times(track), times(original_track), "{name}");
            assert_eq!(
                (codec(track), &track.language),
                (codec(original_track), &original_track.language),
                "{name}"
            );
        }
        assert_eq!(index.tracks.iter().map(presented_ms).collect::<Vec<_>>(), expected, "{name}");
        assert_eq!(Index::from_bytes(&index.to_bytes()).unwrap(), index);
    }
}

#[test]
fn fragments_with_zero_decode_times_are_contiguous() {
    let zeroed = |name: &str| {
        let mut bytes = fixture(name);
        let mut at = 0;
        while let Some(found) = bytes[at..].windows(4).position(|window| window == b"tfdt") {
            let body = at + found + 4;
            let len = if bytes[body] == 1 { 8 } else { 4 };
            bytes[body + 4..body + 4 + len].fill(0);
            at = body;
        }
        bytes
    };
    for name in ["fragmented.mp4", "every_frame.mp4", "dash.mp4", "cmaf.mp4", "separate_moof.mp4"] {
        let (declared, undeclared) = (read(&fixture(name)).unwrap(), read(&zeroed(name)).unwrap());
        assert_eq!(declared.tracks.len(), undeclared.tracks.len(), "{name}");
        for (track, other) in declared.tracks.iter().zip(&undeclared.tracks) {
            assert_eq!(essence(&fixture(name), track), essence(&zeroed(name), other), "{name}");
            assert_eq!(times(track), times(other), "{name}");
        }
        assert_eq!(declared.plan.video.len(), undeclared.plan.video.len(), "{name}");
    }
}

/// A recording that restarts in the middle: the synchronisation of audio and video is also correct after
/// that.
#[test]
fn time_reset_restarts_all_tracks() {
    let bytes = fixture("fragmented.mp4");
    let once = read(&bytes).unwrap();
    let first = bytes.windows(4).position(|window| window == b"moof").unwrap() - 4;
    let last = bytes.windows(4).rposition(|window| window == b"mfra").map_or(bytes.len(), |at| at - 4);
    let twice = read(&[&bytes[..last], &bytes[first..last]].concat()).unwrap();
    let ends = once.tracks.iter().map(|track| {
        let last = track.samples.iter().last().unwrap();
        (last.dts + i64::from(last.duration), i64::from(track.timescale))
    });
    let (end, unit) = ends.max_by(|one, other| (one.0 * other.1).cmp(&(other.0 * one.1))).unwrap();
    let begins = |track: &Track| (track.samples.get(0).unwrap().dts, i64::from(track.timescale));
    let (begin, begin_unit) = once
        .tracks
        .iter()
        .map(begins)
        .min_by(|one, other| (one.0 * other.1).cmp(&(other.0 * one.1)))
        .unwrap();
    for (once, twice) in once.tracks.iter().zip(&twice.tracks) {
        let (count, timescale) = (once.samples.len(), i64::from(once.timescale));
        assert_eq!(twice.samples.len(), 2 * count);
        let (expected, rest) = {
            let ticks = (end * begin_unit - begin * unit) * timescale;
            (ticks.div_euclid(unit * begin_unit), ticks.rem_euclid(unit * begin_unit))
        };
        for (first, again) in once.samples.iter().zip(twice.samples.iter().skip(count as usize)) {
            assert_eq!(again.dts - first.dts, expected + i64::from(rest != 0));
            assert_eq!(again.pts - first.pts, again.dts - first.dts);
        }
    }
}
