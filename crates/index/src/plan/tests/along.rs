//! Sound from a file of its own, cut along another source.

use super::*;
use crate::index::{Container, Index, NotCopied, SampleObject};
use crate::plan::AlongError;

fn index(mut tracks: Vec<Track>) -> Index {
    for (number, track) in (1..).zip(&mut tracks) {
        track.source_track = number;
    }
    let plan = plan(&mut tracks).unwrap();
    Index {
        source_len: 1 << 30,
        source_sha256: [7; 32],
        container: Container::Mp4,
        objects: vec![SampleObject::source(1 << 30)],
        parts: Vec::new(),
        is_truncated: false,
        left_out: Vec::new(),
        tracks,
        plan,
    }
}

/// A media of 20 s, cut at 2, 4, 8, 12 and 16 s.
fn media(with_sound: bool) -> Index {
    let every_two: Vec<i64> = (0..10).map(|number| number * 2000).collect();
    let tracks = [Some(video(&every_two, 20_000)), with_sound.then(|| audio(938))];
    index(tracks.into_iter().flatten().collect())
}

/// Packets of so many seconds, the last one begun in them.
fn seconds(seconds: i64) -> Track {
    audio((seconds * 48_000 + 1023) / 1024)
}

fn encoded(mut track: Track) -> Track {
    let TrackMedia::Audio(audio) = &mut track.media else { unreachable!("it is one") };
    audio.not_copied = Some(NotCopied::new(NotCopiedReason::Codec, "fLaC"));
    track
}

/// Frames at which something is cut in these seconds.
fn frames(seconds: &[i64]) -> Vec<u64> {
    seconds.iter().map(|second| (second.unsigned_abs() * 48_000).div_ceil(1024)).collect()
}

#[track_caller]
fn check_whole(found: &Index, samples_end: u32, end: i64) {
    let [segments] = found.plan.audio.as_slice() else { panic!("one track: {:?}", found.plan) };
    assert_eq!((segments[0].start, segments.last().unwrap().end), (0, end));
    for pair in segments.windows(2) {
        assert_eq!((pair[0].end, pair[0].samples.end), (pair[1].start, pair[1].samples.start));
        assert!(pair[0].start < pair[0].end);
    }
    assert_eq!(segments.last().unwrap().samples.end, samples_end);
    // What is stored is what was made.
    assert_eq!(Index::from_bytes(&found.to_bytes()).unwrap(), *found);
}

#[test]
fn longer_sound_is_cut_where_the_medias_is_and_ends_with_it() {
    for with_sound in [false, true] {
        let media = media(with_sound);
        let found = index(vec![seconds(60)]).sound_along(Some(&media)).unwrap();
        let end = if with_sound { 938 * 1024 } else { 20 * 48_000 };
        check_whole(&found, 938, end);
        let grid = |second: i64| (second * 48_000 + 1023) / 1024 * 1024;
        assert_eq!(starts(&found.plan.audio[0]), [0, 2, 4, 8, 12, 16].map(grid));
        assert_eq!(found.plan.encoded_audio[0], frames(&[0, 2, 4, 8, 12, 16, 20]));
        if with_sound {
            assert_eq!(
                (&found.plan.audio, &found.plan.encoded_audio),
                (&media.plan.audio, &media.plan.encoded_audio)
            );
        }
    }
}

#[test]
fn shorter_sound_is_silent_behind_its_end() {
    let found = index(vec![seconds(5)]).sound_along(Some(&media(true))).unwrap();
    check_whole(&found, 235, 938 * 1024);
    let silent: Vec<_> = found.plan.audio[0]
        .iter()
        .filter(|segment| segment.samples.is_empty())
        .map(|segment| segment.start)
        .collect();
    // The packets end at 5.013 s; the first cut behind that is the media's at 8 s.
    assert_eq!(silent, [235 * 1024, 8 * 48_000, 12 * 48_000, 16 * 48_000]);
    let found = index(vec![encoded(seconds(5))]).sound_along(Some(&media(true))).unwrap();
    assert_eq!((found.plan.audio[0].len(), found.tracks[0].end), (0, 938 * 1024));
    assert_eq!(found.plan.encoded_audio[0], frames(&[0, 2, 4, 8, 12, 16, 20]));
}

#[test]
fn less_than_a_second_is_not_filled_and_no_piece_of_silence_is_shorter() {
    let media = media(false);
    let check = |packets: i64, expected: &[i64]| {
        let found = index(vec![audio(packets)]).sound_along(Some(&media)).unwrap();
        let segments = &found.plan.audio[0];
        let silent = segments.iter().filter(|segment| segment.samples.is_empty());
        assert_eq!(silent.map(|segment| segment.end).collect::<Vec<_>>(), expected, "{packets} packets");
    };
    check(19 * 48_000 / 1024 + 1, &[]); // 19.009 s
    check(19 * 48_000 / 1024, &[20 * 48_000]); // 18.987 s
    // The cut at 16 s lies too near behind the end.
    check(151 * 4800 / 1024 + 1, &[20 * 48_000]);
}

#[test]
fn silence_that_cannot_be_made_is_left_out() {
    let mut strange = seconds(5);
    let TrackMedia::Audio(audio) = &mut strange.media else { unreachable!("it is one") };
    audio.channels = 7;
    let found = index(vec![strange]).sound_along(Some(&media(true))).unwrap();
    check_whole(&found, 235, 235 * 1024);
}

#[test]
fn pictures_and_further_sounds_are_left_out_and_without_sound_there_is_nothing() {
    let mut second = seconds(30);
    second.language = "de".to_owned();
    let file = index(vec![video(&[0, 5000], 10_000), seconds(10), second]);
    let found = file.sound_along(Some(&media(true))).unwrap();
    assert_eq!((found.tracks.len(), found.tracks[0].source_track, &*found.tracks[0].language), (1, 2, "und"));
    assert_eq!((&found.plan.video, &found.plan.encoded_video), (&Vec::new(), &Vec::new()));
    let silent = index(vec![video(&[0], 5000)]);
    assert_eq!(silent.sound_along(Some(&media(true))), Err(AlongError::NoAudio));
}

#[test]
fn beside_sound_alone_and_beside_nothing_the_grid_is_that_of_sound_alone() {
    let alone = index(vec![seconds(30)]);
    let own = alone.clone().plan;
    assert_eq!(alone.clone().sound_along(None).unwrap().plan, own);
    assert_eq!(index(vec![seconds(99)]).sound_along(Some(&alone)).unwrap().plan, own);
}

#[test]
fn a_video_that_is_only_copied_is_followed_too() {
    let mut media = media(false);
    let followed = index(vec![seconds(60)]).sound_along(Some(&media)).unwrap();
    media.plan.encoded_video.clear();
    assert_eq!(index(vec![seconds(60)]).sound_along(Some(&media)).unwrap(), followed);
}

#[test]
fn another_sound_takes_the_place_of_all_of_the_own() {
    let own = media(true);
    let (other, len) = seconds(60).in_one_piece();
    let sound = index(vec![other]);
    let lies = SampleObject::sound(len, [9; 32]);
    let found = own.clone().with_sound(sound.clone(), lies).unwrap();
    let along = sound.clone().sound_along(Some(&own)).unwrap();
    let [video, audio] = found.tracks.as_slice() else { panic!("two tracks: {found:?}") };
    assert_eq!((video, audio.source_track), (&own.tracks[0], 3));
    let heard = along.tracks[0].clone().in_object(1);
    assert_eq!((&audio.samples, audio.end), (&heard.samples, heard.end));
    assert_eq!((&found.plan.video, &found.plan.encoded_video), (&own.plan.video, &own.plan.encoded_video));
    assert_eq!(
        (&found.plan.audio, &found.plan.encoded_audio),
        (&along.plan.audio, &along.plan.encoded_audio)
    );
    assert_eq!(found.objects, [own.objects[0], lies]);
    assert_eq!(found.source_len, own.source_len);
    // What is stored is what was made, and what lies behind the object of the sound is damage.
    let stored = Index::from_bytes(&found.to_bytes());
    assert_eq!(stored, Ok(found.clone()));
    let cut = Index { objects: vec![own.objects[0], SampleObject { len: len - 1, ..lies }], ..found };
    assert_eq!(Index::from_bytes(&cut.to_bytes()), Err(crate::IndexError::Damaged));
    // Sound alone is not as long as what it replaces.
    let alone = index(vec![seconds(5)]).with_sound(sound, lies).unwrap();
    assert_eq!((alone.tracks.len(), alone.tracks[0].end), (1, seconds(60).end));
    assert_eq!(media(false).with_sound(media(false), lies), Err(AlongError::NoAudio));
}

#[test]
fn a_track_in_one_piece_has_no_gaps() {
    let scattered = seconds(5);
    let (track, len) = scattered.clone().in_one_piece();
    let sizes: u64 = scattered.samples.iter().map(|sample| u64::from(sample.size)).sum();
    assert_eq!(len, sizes);
    let mut at = 0;
    for (packed, sample) in track.samples.iter().zip(scattered.samples.iter()) {
        assert_eq!(packed, Sample { offset: at, ..sample });
        at += u64::from(sample.size);
    }
    assert_eq!(track.samples.len(), scattered.samples.len());
}

#[test]
fn what_sounds_long_behind_the_end_is_cut_off() {
    let track = seconds(60);
    let cut = track.clone().until(20_000_000);
    let last = cut.samples.iter().last().unwrap();
    assert!((20 * 48_000..=21 * 48_000).contains(&(last.pts + cut.shift)), "{last:?}");
    assert_eq!(
        cut.samples.iter().collect::<Vec<_>>(),
        track.samples.range(0..cut.samples.len()).collect::<Vec<_>>()
    );
    assert_eq!(cut.samples_bytes(), cut.clone().in_one_piece().1);
    assert_eq!(track.clone().until(u64::MAX), track);
    assert!(track.until(0).samples.len() < 50);
}

#[test]
fn a_sound_that_was_cut_off_is_told() {
    let (track, len) = seconds(60).in_one_piece();
    let lies = SampleObject::sound(len, [9; 32]);
    let truncated = Index { is_truncated: true, ..index(vec![track.clone()]) };
    assert!(media(true).with_sound(truncated, lies).unwrap().is_truncated);
    assert!(!media(true).with_sound(index(vec![track]), lies).unwrap().is_truncated);
}
