//! Audio from a separate file, cut to align with another source.

use super::*;
use crate::index::{Container, Index, NotCopied, SampleObject};
use crate::plan::ExternalAudioError;

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
        overlay: None,
        tracks,
        plan,
    }
}

/// A media of 20 s, cut at 2, 4, 8, 12 and 16 s.
fn media(with_audio: bool) -> Index {
    let every_two: Vec<i64> = (0..10).map(|number| number * 2000).collect();
    let tracks = [Some(video(&every_two, 20_000)), with_audio.then(|| audio(938))];
    index(tracks.into_iter().flatten().collect())
}

/// Packets of this number of seconds, including the last one that begins in them.
fn seconds(seconds: i64) -> Track {
    audio((seconds * 48_000 + 1023) / 1024)
}

fn encoded(mut track: Track) -> Track {
    let TrackMedia::Audio(audio) = &mut track.media else { unreachable!("it is one") };
    audio.not_copied = Some(NotCopied::new(NotCopiedReason::Codec, "fLaC"));
    track
}

/// Frame numbers of cuts at these seconds.
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
    // The index survives a round trip through its stored form.
    assert_eq!(Index::from_bytes(&found.to_bytes()).unwrap(), *found);
}

#[test]
fn long_external_audio_ends_with_the_media() {
    for with_audio in [false, true] {
        let media = media(with_audio);
        let found = index(vec![seconds(60)]).plan_external_audio(Some(&media)).unwrap();
        let end = if with_audio { 938 * 1024 } else { 20 * 48_000 };
        check_whole(&found, 938, end);
        let grid = |second: i64| (second * 48_000 + 1023) / 1024 * 1024;
        assert_eq!(starts(&found.plan.audio[0]), [0, 2, 4, 8, 12, 16].map(grid));
        assert_eq!(found.plan.encoded_audio[0], frames(&[0, 2, 4, 8, 12, 16, 20]));
        if with_audio {
            assert_eq!(
                (&found.plan.audio, &found.plan.encoded_audio),
                (&media.plan.audio, &media.plan.encoded_audio)
            );
        }
    }
}

#[test]
fn short_external_audio_is_padded_with_silence() {
    let found = index(vec![seconds(5)]).plan_external_audio(Some(&media(true))).unwrap();
    check_whole(&found, 235, 938 * 1024);
    let silent: Vec<_> = found.plan.audio[0]
        .iter()
        .filter(|segment| segment.samples.is_empty())
        .map(|segment| segment.start)
        .collect();
    // The packets end at 5.013 s; the next cut of the media is at 8 s.
    assert_eq!(silent, [235 * 1024, 8 * 48_000, 12 * 48_000, 16 * 48_000]);
    let found = index(vec![encoded(seconds(5))]).plan_external_audio(Some(&media(true))).unwrap();
    assert_eq!((found.plan.audio[0].len(), found.tracks[0].end), (0, 938 * 1024));
    assert_eq!(found.plan.encoded_audio[0], frames(&[0, 2, 4, 8, 12, 16, 20]));
}

#[test]
fn silence_under_one_second_is_not_added() {
    let media = media(false);
    let check = |packets: i64, expected: &[i64]| {
        let found = index(vec![audio(packets)]).plan_external_audio(Some(&media)).unwrap();
        let segments = &found.plan.audio[0];
        let silent = segments.iter().filter(|segment| segment.samples.is_empty());
        assert_eq!(silent.map(|segment| segment.end).collect::<Vec<_>>(), expected, "{packets} packets");
    };
    check(19 * 48_000 / 1024 + 1, &[]); // 19.009 s
    check(19 * 48_000 / 1024, &[20 * 48_000]); // 18.987 s
    // The cut at 16 s is too close to the end of the audio.
    check(151 * 4800 / 1024 + 1, &[20 * 48_000]);
}

#[test]
fn unsupported_layout_gets_no_silence() {
    let mut strange = seconds(5);
    let TrackMedia::Audio(audio) = &mut strange.media else { unreachable!("it is one") };
    audio.channels = 7;
    let found = index(vec![strange]).plan_external_audio(Some(&media(true))).unwrap();
    check_whole(&found, 235, 235 * 1024);
}

#[test]
fn external_audio_uses_only_first_audio_track() {
    let mut second = seconds(30);
    second.language = "de".to_owned();
    let file = index(vec![video(&[0, 5000], 10_000), seconds(10), second]);
    let found = file.plan_external_audio(Some(&media(true))).unwrap();
    assert_eq!((found.tracks.len(), found.tracks[0].source_track, &*found.tracks[0].language), (1, 2, "und"));
    assert_eq!((&found.plan.video, &found.plan.encoded_video), (&Vec::new(), &Vec::new()));
    let silent = index(vec![video(&[0], 5000)]);
    assert_eq!(silent.plan_external_audio(Some(&media(true))), Err(ExternalAudioError::NoAudio));
}

#[test]
fn external_audio_without_video_uses_audio_grid() {
    let alone = index(vec![seconds(30)]);
    let own = alone.clone().plan;
    assert_eq!(alone.clone().plan_external_audio(None).unwrap().plan, own);
    assert_eq!(index(vec![seconds(99)]).plan_external_audio(Some(&alone)).unwrap().plan, own);
}

#[test]
fn external_audio_follows_copied_video_cuts() {
    let mut media = media(false);
    let followed = index(vec![seconds(60)]).plan_external_audio(Some(&media)).unwrap();
    media.plan.encoded_video.clear();
    assert_eq!(index(vec![seconds(60)]).plan_external_audio(Some(&media)).unwrap(), followed);
}

#[test]
fn external_audio_replaces_own_audio() {
    let own = media(true);
    let (other, len) = seconds(60).repacked();
    let external = index(vec![other]);
    let object = SampleObject::audio(len, [9; 32]);
    let found = own.clone().with_audio(external.clone(), object).unwrap();
    let planned = external.clone().plan_external_audio(Some(&own)).unwrap();
    let [video, audio] = found.tracks.as_slice() else { panic!("two tracks: {found:?}") };
    assert_eq!((video, audio.source_track), (&own.tracks[0], 3));
    let replacement = planned.tracks[0].clone().in_object(1);
    assert_eq!((&audio.samples, audio.end), (&replacement.samples, replacement.end));
    assert_eq!((&found.plan.video, &found.plan.encoded_video), (&own.plan.video, &own.plan.encoded_video));
    assert_eq!(
        (&found.plan.audio, &found.plan.encoded_audio),
        (&planned.plan.audio, &planned.plan.encoded_audio)
    );
    assert_eq!(found.objects, [own.objects[0], object]);
    assert_eq!(found.source_len, own.source_len);
    // The index survives a round trip. A sample after the end of the audio object is damage.
    let stored = Index::from_bytes(&found.to_bytes());
    assert_eq!(stored, Ok(found.clone()));
    let cut = Index { objects: vec![own.objects[0], SampleObject { len: len - 1, ..object }], ..found };
    assert_eq!(Index::from_bytes(&cut.to_bytes()), Err(crate::IndexError::Damaged));
    // Audio alone has its own length, not that of the replaced audio.
    let alone = index(vec![seconds(5)]).with_audio(external, object).unwrap();
    assert_eq!((alone.tracks.len(), alone.tracks[0].end), (1, seconds(60).end));
    assert_eq!(media(false).with_audio(media(false), object), Err(ExternalAudioError::NoAudio));
}

#[test]
fn repacked_track_has_contiguous_bytes() {
    let scattered = seconds(5);
    let (track, len) = scattered.clone().repacked();
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
fn truncated_track_ends_within_a_second_after_limit() {
    let track = seconds(60);
    let cut = track.clone().truncated_at(20_000_000);
    let last = cut.samples.iter().last().unwrap();
    assert!((20 * 48_000..=21 * 48_000).contains(&(last.pts + cut.shift)), "{last:?}");
    assert_eq!(
        cut.samples.iter().collect::<Vec<_>>(),
        track.samples.range(0..cut.samples.len()).collect::<Vec<_>>()
    );
    assert_eq!(cut.samples_bytes(), cut.clone().repacked().1);
    assert_eq!(track.clone().truncated_at(u64::MAX), track);
    assert!(track.truncated_at(0).samples.len() < 50);
}

#[test]
fn truncated_external_audio_is_marked_truncated() {
    let (track, len) = seconds(60).repacked();
    let object = SampleObject::audio(len, [9; 32]);
    let truncated = Index { is_truncated: true, ..index(vec![track.clone()]) };
    assert!(media(true).with_audio(truncated, object).unwrap().is_truncated);
    assert!(!media(true).with_audio(index(vec![track]), object).unwrap().is_truncated);
}
