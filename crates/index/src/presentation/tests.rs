//! What joined indexes say, and which cannot be joined. That they play is shown with real files, in the
//! packager.

use super::*;
use crate::index::{
    AudioTrack, Container, Index, Joint, NotCopied, NotCopiedReason, OBJECTS_MAX, PARTS_MAX, Part, Sample,
    SampleEntry, SampleObject, SampleObjectKind, SourceName, Track, TrackLabel, TrackMedia, VideoTrack,
};
use crate::plan::plan;
use crate::stored::IndexError;

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
        joints: Vec::new(),
        shift: 0,
        end,
        bitrate_average: 0,
        bitrate_peak: 0,
    }
}

/// Pictures of 25 a second, one group a second, on this clock.
fn video(timescale: u32, seconds: i64, entry: u8) -> Track {
    let picture = i64::from(timescale) / 25;
    let sample = |n: i64| Sample {
        dts: n * picture,
        pts: n * picture,
        duration: u32::try_from(picture).unwrap(),
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

/// Packets of 1024 samples at 48 kHz, of which two sound before 0.
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
        tracks,
        plan,
    }
}

fn join(parts: &[(SourceName, &Index)]) -> Result<Index, JoinError> {
    let parts: Vec<_> = parts.iter().map(|&(source, index)| JoinedPart { source, index }).collect();
    Index::join(&parts)
}

/// Three sources with two kinds of pictures, on two clocks.
fn joined() -> Index {
    let one = index(vec![video(12_800, 3, 1), audio(3)]);
    let two = index(vec![video(90_000, 5, 2), audio(5)]);
    let three = index(vec![video(12_800, 2, 1), audio(2)]);
    join(&[(ONE, &one), (TWO, &two), (THREE, &three)]).unwrap()
}

#[test]
fn a_track_lies_in_the_objects_of_all_parts() {
    let index = joined();
    let (track, _) = index.video().unwrap();
    // The least clock on which both have whole ticks.
    assert_eq!((track.timescale, track.samples.len(), track.end), (2_880_000, 250, 10 * 2_880_000));
    let joint =
        |sample, seconds: i64, configuration| Joint { sample, pts: seconds * 2_880_000, configuration };
    assert_eq!(track.joints, [joint(75, 3, 1), joint(200, 8, 0)]);
    assert_eq!(track.configurations.len(), 1);
    let places = [74, 75, 199, 200].map(|number| track.samples.get(number).unwrap());
    assert_eq!(places.map(|sample| (sample.object, sample.offset)), [(0, 7400), (1, 0), (1, 12_400), (2, 0)]);
    assert_eq!(places.map(|sample| sample.pts / 115_200), [74, 75, 199, 200], "one every 1/25 s");
    let object = |source| SampleObject { source: Some(source), ..SampleObject::source(1 << 20) };
    assert_eq!(index.objects, [ONE, TWO, THREE].map(object));
    let part = |source, seconds: u64| Part { source, shown_us: 0..seconds * 1_000_000 };
    assert_eq!(index.parts, [part(ONE, 3), part(TWO, 5), part(THREE, 2)]);
}

#[test]
fn the_segments_of_the_copy_are_those_of_all_parts() {
    let index = joined();
    let (track, _) = index.video().unwrap();
    let starts: Vec<_> = index.plan.video.iter().map(|segment| segment.start / 2_880_000).collect();
    assert_eq!(starts, [0, 2, 3, 5, 7, 8], "each part is cut as it is by itself");
    for pair in index.plan.video.windows(2) {
        assert_eq!((pair[0].end, pair[0].samples.end), (pair[1].start, pair[1].samples.start));
    }
    assert_eq!(index.plan.video.last().unwrap().end, track.end);
    assert_eq!(track.parts_begun(&index.plan.video), [(2, 1), (5, 0)]);
    assert_eq!(index.plan.encoded_video, index.plan.video);
    let (audio, _) = index.audio().unwrap();
    let [segments] = &index.plan.audio[..] else { panic!("one track of sound: {:?}", index.plan.audio) };
    assert_eq!(audio.parts_begun(segments).len(), 2);
    // The priming of a part that others precede is left out: it would sound over their end.
    let begins: Vec<_> = audio.joints.iter().map(|joint| audio.samples.get(joint.sample).unwrap()).collect();
    assert!(begins.iter().zip(&audio.joints).all(|(sample, joint)| joint.pts <= sample.pts), "{begins:?}");
}

#[test]
fn what_is_stored_is_what_was_joined() {
    let index = joined();
    let bytes = index.to_bytes();
    assert_eq!(Index::from_bytes(&bytes), Ok(index.clone()));
    // A sample beyond the end of its object is damage, although the other objects are longer.
    let mut cut = index.clone();
    cut.objects[1].len = 12_409;
    assert_eq!(Index::from_bytes(&cut.to_bytes()), Err(IndexError::Damaged));
    // A number that no object or configuration has, too.
    let less = Index { objects: index.objects[..2].to_vec(), ..index.clone() };
    assert_eq!(Index::from_bytes(&less.to_bytes()), Err(IndexError::Damaged));
    let mut plain = index;
    plain.tracks[0].configurations.clear();
    assert_eq!(Index::from_bytes(&plain.to_bytes()), Err(IndexError::Damaged));
}

#[test]
fn a_source_that_is_shown_twice_is_named_once() {
    let (one, two) = (index(vec![video(12_800, 3, 1), audio(3)]), index(vec![video(12_800, 3, 2), audio(3)]));
    let joined = join(&[(ONE, &one), (TWO, &two), (ONE, &one)]).unwrap();
    assert_eq!((joined.objects.len(), joined.parts.len()), (2, 3));
    let (track, _) = joined.video().unwrap();
    let joints: Vec<_> = track.joints.iter().map(|joint| (joint.sample, joint.configuration)).collect();
    assert_eq!(joints, [(75, 1), (150, 0)]);
    assert_eq!(track.samples.get(150).map(|sample| sample.object), Some(0));
}

#[test]
fn silence_at_the_end_of_a_part_belongs_to_that_part() {
    // The sound ends 4 s before the pictures do, and the other part has another kind of sound.
    let one = index(vec![video(12_800, 10, 1), audio(6)]);
    let mut mono = audio(3);
    let TrackMedia::Audio(media) = &mut mono.media else { unreachable!("it is one") };
    (media.channels, media.sample_entry) = (1, SampleEntry::Iso(vec![8]));
    let two = index(vec![video(12_800, 3, 1), mono]);
    let joined = join(&[(ONE, &one), (TWO, &two)]).unwrap();
    let (track, _) = joined.audio().unwrap();
    let [segments] = &joined.plan.audio[..] else { panic!("one track of sound: {:?}", joined.plan.audio) };
    let silent = segments.iter().filter(|segment| segment.samples.is_empty()).count();
    assert!(1 <= silent, "{segments:?}");
    let begun = track.parts_begun(segments);
    let [(number, 1)] = begun[..] else { panic!("one other part begins: {begun:?}") };
    assert_eq!(segments[number as usize].start, 10 * 48_000);
}

#[test]
fn the_last_packet_of_each_part_may_be_short() {
    let mut ends_short = audio(3);
    let count = ends_short.samples.len();
    let short = ends_short.samples.iter().zip(1..).map(|(sample, number)| Sample {
        duration: if number == count { 300 } else { sample.duration },
        ..sample
    });
    ends_short.samples = short.collect();
    ends_short.end -= 724;
    let (one, two) =
        (index(vec![video(12_800, 3, 1), ends_short]), index(vec![video(12_800, 3, 1), audio(3)]));
    let joined = join(&[(ONE, &one), (TWO, &two)]).unwrap();
    let (track, audio) = joined.audio().unwrap();
    let last = track.joints[0].sample - 1;
    let sent: Vec<_> = crate::plan::packets(track, audio, last..last + 2).map(|(number, _)| number).collect();
    assert_eq!(sent, [last, last + 1]);
}

#[test]
fn another_sound_takes_the_place_of_that_of_all_parts() {
    let sound = SampleObject { source: Some([8; 16]), ..SampleObject::sound(1 << 20, [6; 32]) };
    let index = joined().with_sound(index(vec![audio(20)]), sound).unwrap();
    assert_eq!(index.objects[3], sound);
    let (track, _) = index.audio().unwrap();
    assert_eq!(track.samples.objects().into_iter().collect::<Vec<_>>(), [3]);
    assert_eq!((track.end, &track.joints[..]), (10 * 48_000, &[][..]), "it ends with the pictures");
    assert_eq!(Index::from_bytes(&index.to_bytes()), Ok(index));
}

#[test]
fn pictures_that_are_not_all_copied_are_encoded() {
    let mut odd = video(12_800, 3, 2);
    let TrackMedia::Video(media) = &mut odd.media else { unreachable!("it is one") };
    media.not_copied = Some(NotCopied::new(NotCopiedReason::Codec, "VP9"));
    let (one, odd) = (index(vec![video(12_800, 3, 1)]), index(vec![odd]));
    for parts in [[(ONE, &one), (TWO, &odd)], [(TWO, &odd), (ONE, &one)]] {
        let index = join(&parts).unwrap();
        assert!(index.plan.video.is_empty() && !index.plan.encoded_video.is_empty());
        let (track, video) = index.video().unwrap();
        assert!(video.not_copied.is_some());
        // Each decoder gets the samples of one part.
        let runs = index.encoded_runs(0..u32::try_from(index.plan.encoded_video.len()).unwrap());
        assert_eq!(runs.len(), 2, "{:?}", track.joints);
    }
    // A part that begins with pictures which are only decoded is not copied behind another one.
    let mut hides = video(12_800, 4, 1);
    (hides.shift, hides.end) = (-5 * 512, hides.end - 5 * 512);
    let hides = index(vec![hides]);
    assert!(!join(&[(TWO, &hides), (ONE, &one)]).unwrap().plan.video.is_empty());
    assert!(join(&[(ONE, &one), (TWO, &hides)]).unwrap().plan.video.is_empty());
}

#[test]
fn sources_that_do_not_fit_are_refused() {
    let silent = index(vec![video(12_800, 2, 1)]);
    let with_sound = index(vec![video(12_800, 2, 1), audio(2)]);
    let alone = index(vec![audio(2)]);
    let check = |parts: &[(SourceName, &Index)], expected| assert_eq!(join(parts), Err(expected));
    check(&[], JoinError::Nothing);
    check(&[(ONE, &silent), (TWO, &joined())], JoinError::NotWhole { part: 1 });
    // On a clock of 10 MHz the last picture of a part cannot last 8 minutes, until its sound ends.
    let odd = index(vec![video(90_000, 2, 1), audio(2)]);
    let ends_late = index(vec![video(12_800 * 49, 2, 1), audio(480)]);
    check(&[(ONE, &ends_late), (TWO, &odd)], JoinError::Timing { part: 0 });
    assert!(join(&[(ONE, &ends_late), (TWO, &ends_late)]).is_ok(), "on its own clock it can");
    check(&[(ONE, &silent), (TWO, &alone)], JoinError::NoVideo { part: 1 });
    check(&[(ONE, &silent), (TWO, &with_sound)], JoinError::Sound { part: 1 });
    check(&[(ONE, &with_sound), (TWO, &silent)], JoinError::Sound { part: 1 });
    let many = vec![(ONE, &silent); PARTS_MAX + 1];
    check(&many, JoinError::TooMany);
    assert!(join(&many[1..]).is_ok(), "as many as there may be");
    let mut encoded = with_sound.clone();
    for track in &mut encoded.tracks {
        if let TrackMedia::Audio(audio) = &mut track.media {
            audio.not_copied = Some(NotCopied::new(NotCopiedReason::Codec, "fLaC"));
        }
    }
    check(&[(ONE, &with_sound), (TWO, &encoded)], JoinError::Sound { part: 1 });
    let mut scattered = silent.clone();
    scattered.objects = vec![SampleObject::source(1 << 20); OBJECTS_MAX + 1];
    for (number, object) in scattered.objects.iter_mut().enumerate() {
        object.kind = SampleObjectKind::Sound { sha256: [u8::try_from(number).unwrap(); 32] };
    }
    check(&[(ONE, &scattered)], JoinError::TooMany);
}
