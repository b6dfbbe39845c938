//! Movies in fragments, as ffmpeg writes them: the same samples as the file they were made from.

use kinora_formats::index::{Index, Sample, Track, TrackMedia};

use crate::{fixture, read};

/// A sample without what the container decides: its bytes, and whether decoding can start there.
fn essence<'a>(bytes: &'a [u8], track: &Track) -> Vec<(&'a [u8], bool)> {
    let samples = track.samples.iter();
    samples.map(|sample| (&bytes[sample.offset as usize..][..sample.size as usize], sample.is_sync)).collect()
}

/// Microseconds from when the second sample is decoded and presented to when each from there on is.
///
/// Not the first: ffmpeg makes the first packet of audio last longer where it leaves out the edit list.
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

/// Milliseconds when a track first shows something and when it ends.
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
fn fragments_of_several_audio_tracks_hold_all_of_them() {
    let (source, bytes) = (fixture("several_audio.mp4"), fixture("several_fragmented.mp4"));
    let (whole, index) = (read(&source).unwrap(), read(&bytes).unwrap());
    assert_eq!(index.tracks.len(), 4);
    assert_eq!(index.plan.audio.len(), 3);
    for (track, expected) in index.tracks.iter().zip(&whole.tracks) {
        assert_eq!(essence(&bytes, track), essence(&source, expected), "track {}", track.source_track);
        // ffmpeg leaves the title behind.
        assert_eq!(track.language, expected.language);
        assert_eq!(track.label.is_enabled, expected.label.is_enabled);
    }
}

#[test]
fn fragments_hold_the_samples_they_were_made_of() {
    let source = fixture("faststart.mp4");
    let whole = read(&source).unwrap();
    // Without an edit list two frames of delay and the priming are shown; ffprobe says the same.
    let no_edits = [(133, 3133), (0, 3133)].as_slice();
    for (name, expected) in [
        ("fragmented.mp4", no_edits),
        ("every_frame.mp4", &[(0, 3000)]),
        ("every_packet.mp4", no_edits),
        ("dash.mp4", &[(0, 3000), (-21, 3000)]),
        // Negative composition offsets instead; ffprobe moves all times up by the largest.
        ("cmaf.mp4", &[(0, 3000), (0, 3021)]),
        ("separate_moof.mp4", no_edits),
        ("hybrid.mp4", no_edits),
        ("one_fragment.mp4", no_edits),
        ("smooth.mp4", &[(0, 3000), (0, 3021)]),
    ] {
        let bytes = fixture(name);
        let index = read(&bytes).unwrap();
        assert!(!index.is_truncated, "{name}");
        for (track, of_whole) in index.tracks.iter().zip(&whole.tracks) {
            assert!(essence(&bytes, track) == essence(&source, of_whole), "{name}");
            assert_eq!(times(track), times(of_whole), "{name}");
            assert_eq!((codec(track), &track.language), (codec(of_whole), &of_whole.language), "{name}");
        }
        assert_eq!(index.tracks.iter().map(presented_ms).collect::<Vec<_>>(), expected, "{name}");
        assert_eq!(Index::from_bytes(&index.to_bytes()).unwrap(), index);
    }
}
