//! Which tracks of a movie are played.

use kinora_formats::index::{Index, TrackMedia};

use crate::{
    fixture, read,
    surgery::{boxed, changed},
};

/// The second track of a file, as a whole box.
fn audio_trak(file: &[u8]) -> Vec<u8> {
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

/// The tracks chosen from a movie of the video of the fixture and these.
fn chosen_among(traks: &[Vec<u8>]) -> Vec<(String, u32)> {
    let file = fixture("moov_at_end.mp4");
    let audio = audio_trak(&file);
    let movie = changed(&file, &["moov"], &|moov| {
        let at = moov.windows(audio.len()).position(|window| window == audio).unwrap();
        [&moov[..at], &traks.concat(), &moov[at + audio.len()..]].concat()
    });
    chosen(&read(&movie).unwrap()).into_iter().map(|(kind, id)| (kind.into(), id)).collect()
}

#[test]
fn the_first_enabled_track_of_a_kind_is_played() {
    let audio = audio_trak(&fixture("moov_at_end.mp4"));
    let check = |name: &str, traks: &[(u8, bool)], expected: u32| {
        let traks: Vec<_> = traks.iter().map(|&(id, is_enabled)| renamed(&audio, id, is_enabled)).collect();
        assert_eq!(chosen_among(&traks), [("video".into(), 1), ("audio".into(), expected)], "{name}");
    };
    check("one", &[(2, true)], 2);
    check("two", &[(2, true), (3, true)], 2);
    check("the first is disabled", &[(2, false), (3, true), (4, true)], 3);
    check("all are disabled", &[(2, false), (3, false)], 2);
    assert_eq!(chosen_among(&[]), [("video".into(), 1)], "none");
}

#[test]
fn a_track_that_cannot_be_read_gives_way_to_one_that_can() {
    let audio = audio_trak(&fixture("moov_at_end.mp4"));
    let mut broken = renamed(&audio, 2, true);
    let at = broken.windows(4).position(|window| window == b"stsz").unwrap() + 12;
    broken[at..at + 4].fill(0xff);
    assert_eq!(chosen_among(&[broken, renamed(&audio, 3, true)]), [("video".into(), 1), ("audio".into(), 3)]);
}

#[test]
fn chapters_and_time_codes_are_not_played() {
    let file = fixture("moov_at_end.mp4");
    // The video track names the audio track as its chapters.
    let chapters = boxed("tref", &boxed("chap", &[0, 0, 0, 2]));
    let movie = changed(&file, &["moov", "trak"], &|trak| [trak, &chapters].concat());
    assert_eq!(chosen(&read(&movie).unwrap()), [("video", 1)]);
    assert_eq!(chosen(&read(&fixture("timecode.mov")).unwrap()), [("video", 1), ("audio", 2)]);
}
