//! Joined indexes and rejected joins. The tests of the packager play them with real files.

mod clip;
mod overlay;
mod parts;

use super::*;
use crate::index::{
    AudioTrack, Container, EditPoint, Index, NotCopied, NotCopiedReason, OBJECTS_MAX, PARTS_MAX, Part,
    Sample, SampleEntry, SampleObject, SampleObjectKind, SourceName, Track, TrackLabel, TrackMedia,
    VideoTrack,
};
use crate::plan::plan;
use crate::serialize::IndexError;

const ONE: SourceName = [1; 16];
const TWO: SourceName = [2; 16];
const THREE: SourceName = [3; 16];

fn track(timescale: u32, media: TrackMedia, samples: impl Iterator<Item = Sample>) -> Track {
    let samples: crate::index::SampleTable = samples.collect();
    let end = samples.iter().map(|sample| sample.pts + i64::from(sample.duration)).max().unwrap_or(0);
    Track {
        source_track: 1,
        timescale,
        language: "und".to_owned(),
        label: TrackLabel::default(),
        media,
        configurations: Vec::new(),
        samples,
        edit_points: Vec::new(),
        shift: 0,
        end,
        bitrate_average: 0,
        bitrate_peak: 0,
    }
}

/// 25 frames per second, one GOP per second, on this clock.
fn video(timescale: u32, seconds: i64, entry: u8) -> Track {
    let frame_ticks = i64::from(timescale) / 25;
    let sample = |n: i64| Sample {
        dts: n * frame_ticks,
        pts: n * frame_ticks,
        duration: u32::try_from(frame_ticks).unwrap(),
        object: 0,
        offset: 100 * n.unsigned_abs(),
        size: 10,
        is_sync: n % 25 == 0,
    };
    let media = TrackMedia::Video(VideoTrack {
        sample_entry: SampleEntry::Iso(vec![entry]),
        codec: format!("avc1.6400{entry:02x}"),
        not_copied: None,
        is_interlaced: false,
        width: 640,
        height: 360,
        pixel_aspect: (1, 1),
        matrix: [0; 9],
        rotation: 0,
        transfer: None,
        frame_rate: Some((25, 1)),
        composition_shift: 0,
    });
    track(timescale, media, (0..25 * seconds).map(sample))
}

/// Packets of 1024 samples at 48 kHz, two of them before 0.
fn audio(seconds: i64) -> Track {
    let media = TrackMedia::Audio(AudioTrack {
        sample_entry: SampleEntry::Iso(vec![9]),
        codec: "mp4a.40.2".to_owned(),
        not_copied: None,
        sample_rate: 48_000,
        channels: 2,
        packet_samples: 1024,
    });
    let sample = |n: i64| Sample {
        dts: n * 1024,
        pts: n * 1024,
        duration: 1024,
        object: 0,
        offset: 100 * n.unsigned_abs() + 50,
        size: 10,
        is_sync: true,
    };
    let track = track(48_000, media, (0..seconds * 48_000 / 1024 + 2).map(sample));
    Track { source_track: 2, shift: -2048, end: track.end - 2048, ..track }
}

fn index(mut tracks: Vec<Track>) -> Index {
    let plan = plan(&mut tracks).unwrap();
    Index {
        source_len: 1 << 20,
        source_sha256: [7; 32],
        container: Container::Mp4,
        objects: vec![SampleObject::source(1 << 20)],
        parts: Vec::new(),
        is_truncated: false,
        left_out: Vec::new(),
        overlay: None,
        tracks,
        plan,
    }
}

/// These whole sources. The first is the base.
fn join(parts: &[(SourceName, &Index)]) -> Result<Index, JoinError> {
    let whole = |&(source, index)| SourcePart { source, index, range_us: 0..u64::MAX };
    Index::of_parts(&parts.iter().map(whole).collect::<Vec<_>>(), 0)
}

/// Three sources with two kinds of video, on two clocks.
fn joined() -> Index {
    let one = index(vec![video(12_800, 3, 1), audio(3)]);
    let two = index(vec![video(90_000, 5, 2), audio(5)]);
    let three = index(vec![video(12_800, 2, 1), audio(2)]);
    join(&[(ONE, &one), (TWO, &two), (THREE, &three)]).unwrap()
}

#[test]
fn joined_track_uses_objects_of_all_parts() {
    let index = joined();
    let (track, _) = index.video().unwrap();
    // The coarsest clock on which both have whole ticks.
    assert_eq!((track.timescale, track.samples.len(), track.end), (2_880_000, 250, 10 * 2_880_000));
    let point =
        |sample, seconds: i64, configuration| EditPoint { sample, pts: seconds * 2_880_000, configuration };
    assert_eq!(track.edit_points, [point(75, 3, 1), point(200, 8, 0)]);
    assert_eq!(track.configurations.len(), 1);
    let samples = [74, 75, 199, 200].map(|number| track.samples.get(number).unwrap());
    assert_eq!(
        samples.map(|sample| (sample.object, sample.offset)),
        [(0, 7400), (1, 0), (1, 12_400), (2, 0)]
    );
    assert_eq!(samples.map(|sample| sample.pts / 115_200), [74, 75, 199, 200], "one every 1/25 s");
    let object = |source| SampleObject { source: Some(source), ..SampleObject::source(1 << 20) };
    assert_eq!(index.objects, [ONE, TWO, THREE].map(object));
    let part = |source, seconds: u64| Part { source, shown_us: 0..seconds * 1_000_000 };
    assert_eq!(index.parts, [part(ONE, 3), part(TWO, 5), part(THREE, 2)]);
}

#[test]
fn joined_copy_has_segments_of_all_parts() {
    let index = joined();
    let (track, _) = index.video().unwrap();
    let starts: Vec<_> = index.plan.video.iter().map(|segment| segment.start / 2_880_000).collect();
    assert_eq!(starts, [0, 2, 3, 5, 7, 8], "each part is cut as it is by itself");
    for pair in index.plan.video.windows(2) {
        assert_eq!((pair[0].end, pair[0].samples.end), (pair[1].start, pair[1].samples.start));
    }
    assert_eq!(index.plan.video.last().unwrap().end, track.end);
    assert_eq!(track.part_starts(&index.plan.video), [(2, 1), (5, 0)]);
    assert_eq!(index.plan.encoded_video, index.plan.video);
}

#[test]
fn joined_audio_is_only_encoded() {
    let index = joined();
    let (track, audio) = index.audio().unwrap();
    assert!(audio.not_copied.is_some());
    assert_eq!(index.plan.audio, [Vec::new()]);
    // Frames of 1024 samples at 48 kHz: the first at or after each cut of the video, and after the end.
    let frame = |seconds: u64| (seconds * 48_000).div_ceil(1024);
    assert_eq!(index.plan.encoded_audio, [[0, 2, 3, 5, 7, 8, 10].map(frame).to_vec()]);
    let begins: Vec<_> = track.edit_points.iter().map(|point| point.pts / 48_000).collect();
    assert_eq!((begins, track.end), (vec![3, 8], 480_000));
    // Decoders need the packets before a joint, which are not heard.
    let lead = track.samples.get(track.edit_points[0].sample).unwrap();
    assert_eq!(lead.pts, 3 * 48_000 - 2048);
}

#[test]
fn joined_index_round_trips_through_bytes() {
    let index = joined();
    let bytes = index.to_bytes();
    assert_eq!(Index::from_bytes(&bytes), Ok(index.clone()));
    // A sample beyond the end of its object is damage, although the other objects are longer.
    let mut cut = index.clone();
    cut.objects[1].len = 12_409;
    assert_eq!(Index::from_bytes(&cut.to_bytes()), Err(IndexError::Damaged));
    // The same for an unknown number of an object or configuration.
    let less = Index { objects: index.objects[..2].to_vec(), ..index.clone() };
    assert_eq!(Index::from_bytes(&less.to_bytes()), Err(IndexError::Damaged));
    let mut plain = index;
    plain.tracks[0].configurations.clear();
    assert_eq!(Index::from_bytes(&plain.to_bytes()), Err(IndexError::Damaged));
}

#[test]
fn repeated_source_is_stored_as_one_object() {
    let (one, two) = (index(vec![video(12_800, 3, 1), audio(3)]), index(vec![video(12_800, 3, 2), audio(3)]));
    let joined = join(&[(ONE, &one), (TWO, &two), (ONE, &one)]).unwrap();
    assert_eq!((joined.objects.len(), joined.parts.len()), (2, 3));
    let (track, _) = joined.video().unwrap();
    let edit_points: Vec<_> =
        track.edit_points.iter().map(|point| (point.sample, point.configuration)).collect();
    assert_eq!(edit_points, [(75, 1), (150, 0)]);
    assert_eq!(track.samples.get(150).map(|sample| sample.object), Some(0));
}

#[test]
fn replacement_audio_replaces_audio_of_all_parts() {
    let object = SampleObject { source: Some([8; 16]), ..SampleObject::audio(1 << 20, [6; 32]) };
    let index = joined().with_audio(index(vec![audio(20)]), object).unwrap();
    assert_eq!(index.objects[3], object);
    let (track, _) = index.audio().unwrap();
    assert_eq!(track.samples.objects().into_iter().collect::<Vec<_>>(), [3]);
    assert_eq!((track.end, &track.edit_points[..]), (10 * 48_000, &[][..]), "it ends with the video");
    assert_eq!(Index::from_bytes(&index.to_bytes()), Ok(index));
}

#[test]
fn join_with_uncopyable_video_is_encoded() {
    let mut odd = video(12_800, 3, 2);
    let TrackMedia::Video(media) = &mut odd.media else { unreachable!("it is one") };
    media.not_copied = Some(NotCopied::new(NotCopiedReason::Codec, "VP9"));
    let (one, odd) = (index(vec![video(12_800, 3, 1)]), index(vec![odd]));
    for parts in [[(ONE, &one), (TWO, &odd)], [(TWO, &odd), (ONE, &one)]] {
        let index = join(&parts).unwrap();
        assert!(index.plan.video.is_empty() && !index.plan.encoded_video.is_empty());
        let (track, video) = index.video().unwrap();
        assert!(video.not_copied.is_some());
        // Each run contains the samples of one part.
        let runs = index.encoded_runs(0..u32::try_from(index.plan.encoded_video.len()).unwrap());
        assert_eq!(runs.len(), 2, "{:?}", track.edit_points);
    }
    // A later part that begins with decode-only frames prevents the copy.
    let mut hides = video(12_800, 4, 1);
    (hides.shift, hides.end) = (-5 * 512, hides.end - 5 * 512);
    let hides = index(vec![hides]);
    assert!(!join(&[(TWO, &hides), (ONE, &one)]).unwrap().plan.video.is_empty());
    assert!(join(&[(ONE, &one), (TWO, &hides)]).unwrap().plan.video.is_empty());
}

#[test]
fn parts_that_cannot_be_joined_are_named() {
    let silent = index(vec![video(12_800, 2, 1)]);
    let alone = index(vec![audio(2)]);
    let check = |parts: &[(SourceName, &Index)], expected| assert_eq!(join(parts), Err(expected));
    check(&[], JoinError::NoParts);
    // On a clock of 10 MHz the last frame of a part cannot last 8 minutes, until its audio ends.
    let odd = index(vec![video(90_000, 2, 1), audio(2)]);
    let ends_late = index(vec![video(12_800 * 49, 2, 1), audio(480)]);
    check(&[(ONE, &ends_late), (TWO, &odd)], JoinError::Timing { part: 0 });
    assert!(join(&[(ONE, &ends_late), (TWO, &ends_late)]).is_ok(), "on its own clock it can");
    check(&[(ONE, &silent), (TWO, &alone)], JoinError::NoVideo { part: 1 });
    assert!(join(&[(ONE, &alone)]).is_ok(), "a single part is a clip");
    let many = vec![(ONE, &silent); PARTS_MAX + 1];
    check(&many, JoinError::TooMany);
    assert!(join(&many[1..]).is_ok(), "as many as there may be");
    let mut scattered = index(vec![video(12_800, 4, 1)]);
    scattered.objects = vec![SampleObject::source(1 << 20); OBJECTS_MAX + 1];
    for (number, object) in scattered.objects.iter_mut().enumerate() {
        object.kind = SampleObjectKind::Audio { sha256: [u8::try_from(number).unwrap(); 32] };
    }
    let samples = (0..).zip(scattered.tracks[0].samples.iter());
    let count = u8::try_from(OBJECTS_MAX + 1).unwrap();
    let samples = samples.map(|(number, sample)| Sample { object: number % count, ..sample });
    scattered.tracks[0].samples = samples.collect();
    check(&[(ONE, &silent), (TWO, &scattered)], JoinError::TooMany);
    let part = |range_us| SourcePart { source: ONE, index: &silent, range_us };
    let outside =
        JoinError::Outside { part: 1, start_us: 2_000_000, end_us: 3_000_000, duration_us: 2_000_000 };
    assert_eq!(Index::of_parts(&[part(0..9), part(2_000_000..3_000_000)], 0), Err(outside));
    assert_eq!(Index::of_parts(&[part(0..9)], 1), Err(JoinError::NoBase { base: 1, count: 1 }));
}
