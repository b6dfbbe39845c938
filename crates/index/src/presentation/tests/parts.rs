//! Parts that are ranges, and differ from the base.

use super::*;

fn part(source: SourceName, index: &Index, range_us: std::ops::Range<u64>) -> SourcePart<'_> {
    SourcePart { source, index, range_us }
}

fn not_copied(index: &Index) -> Option<&str> {
    let (_, video) = index.video().unwrap();
    video.not_copied.as_ref().map(|why| why.detail.as_str())
}

/// The start of each sample that is presented, in frames of 25 a second.
fn shown_frames(index: &Index) -> Vec<(u64, i64)> {
    let (track, _) = index.video().unwrap();
    let tick = i64::from(track.timescale) / 25;
    let spans = track.edit_spans().flat_map(|span| {
        let samples = track.samples.range(span.samples.clone()).collect::<Vec<_>>();
        samples.into_iter().filter(move |sample| span.shown.contains(&sample.pts))
    });
    spans
        .filter(|sample| sample.pts < track.end)
        .map(|sample| (sample.offset / 100, sample.pts / tick))
        .collect()
}

#[test]
fn single_part_is_its_clip() {
    let index = index(vec![video(12_800, 10, 1), audio(10), Track { source_track: 3, ..audio(10) }]);
    let clip = index.clip(ONE, 1_000_000..4_000_000).unwrap();
    assert_eq!(Index::of_parts(&[part(ONE, &index, 1_000_000..4_000_000)], 0), Ok(clip));
}

#[test]
fn cut_out_middle_leaves_both_ranges_of_one_source() {
    let index = index(vec![video(12_800, 10, 1), audio(10)]);
    let ranges = [0..3_000_000, 7_000_000..u64::MAX];
    let joined = Index::of_parts(&ranges.clone().map(|range| part(ONE, &index, range)), 0).unwrap();
    assert_eq!(not_copied(&joined), None);
    assert_eq!((joined.objects.len(), joined.facts().duration_us / 1000), (1, 6000));
    let shown = joined.parts.iter().map(|part| part.shown_us.clone()).collect::<Vec<_>>();
    assert_eq!(shown[0], 0..3_000_000);
    assert_eq!(shown[1].start, 7_000_000);
    let expected: Vec<_> = (0..75).chain(175..250).zip(0..).collect();
    assert_eq!(shown_frames(&joined), expected);
    assert_eq!(Index::from_bytes(&joined.to_bytes()), Ok(joined));
}

#[test]
fn part_that_begins_inside_a_gop_prevents_the_copy() {
    let index = index(vec![video(12_800, 10, 1), audio(10)]);
    let ranges = [0..3_000_000, 7_500_000..u64::MAX];
    let joined = Index::of_parts(&ranges.map(|range| part(ONE, &index, range)), 0).unwrap();
    assert_eq!(not_copied(&joined), Some("part 2: the clip does not begin with a closed keyframe"));
    assert_eq!(joined.plan.video, []);
    let first = shown_frames(&joined)[75..78].to_vec();
    // 7.5 s is between two frames.
    assert_eq!(first, [(188, 75), (189, 76), (190, 77)]);
}

#[test]
fn differences_from_the_base_prevent_the_copy() {
    let base = index(vec![video(12_800, 3, 1)]);
    let check = |change: fn(&mut VideoTrack), expected: &str| {
        let mut other = video(12_800, 3, 2);
        let TrackMedia::Video(media) = &mut other.media else { unreachable!("it is one") };
        change(media);
        let other = index(vec![other]);
        let parts = [part(ONE, &other, 0..u64::MAX), part(TWO, &base, 0..u64::MAX)];
        let joined = Index::of_parts(&parts, 1).unwrap();
        assert_eq!(not_copied(&joined), Some(expected));
    };
    check(|media| media.width = 320, "part 1: its size is 320x360, that of the base 640x360");
    check(|media| media.codec = "hvc1.1".to_owned(), "part 1: its codec is hvc1, that of the base avc1");
    check(|media| media.transfer = Some(16), "part 1: its colours are not those of the base");
    let halved = |media: &mut VideoTrack| (media.width, media.pixel_aspect) = (320, (2, 1));
    check(halved, "part 1: its pixel shape is 2:1, turned by 0, that of the base 1:1, turned by 0");
}

#[test]
fn base_decides_size_and_language() {
    let mut intro = video(12_800, 3, 1);
    let TrackMedia::Video(media) = &mut intro.media else { unreachable!("it is one") };
    (media.width, media.frame_rate) = (320, Some((50, 1)));
    let intro = index(vec![intro, Track { language: "de".to_owned(), ..audio(3) }]);
    let base = index(vec![video(90_000, 5, 2), Track { language: "fr".to_owned(), ..audio(5) }]);
    let joined =
        Index::of_parts(&[part(ONE, &intro, 0..u64::MAX), part(TWO, &base, 0..u64::MAX)], 1).unwrap();
    let (track, video) = joined.video().unwrap();
    assert_eq!((video.width, video.frame_rate), (640, Some((25, 1))));
    let TrackMedia::Video(first) = track.media_at(0) else { unreachable!("it is one") };
    assert_eq!((first.width, track.configuration_at(0), track.configuration_at(75)), (320, 1, 0));
    assert_eq!(joined.audio().unwrap().0.language, "fr");
    assert_eq!(shown_frames(&joined).len(), 200, "the first edit point hides nothing");
    assert_eq!(joined.encoded_runs(0..4).len(), 2);
    assert_eq!(Index::from_bytes(&joined.to_bytes()), Ok(joined));
}

#[test]
fn part_without_audio_has_a_span_without_samples() {
    let with_audio = index(vec![video(12_800, 3, 1), audio(3)]);
    let silent = index(vec![video(12_800, 2, 1)]);
    let (one, two) = ((ONE, &with_audio), (TWO, &silent));
    let spans = |parts: &[(SourceName, &Index)]| {
        let joined = join(parts).unwrap();
        assert_eq!(Index::from_bytes(&joined.to_bytes()), Ok(joined.clone()));
        let (track, _) = joined.audio().unwrap();
        let end = track.end;
        assert_eq!(joined.plan.encoded_audio[0].last().copied(), Some((end as u64).div_ceil(1024)));
        let spans = track.edit_spans().map(|span| {
            let from = span.shown.start.max(0) / 48_000;
            (span.samples.len(), from, span.shown.end.min(end) / 48_000)
        });
        spans.collect::<Vec<_>>()
    };
    assert_eq!(spans(&[one, two, one]), [(142, 0, 3), (0, 3, 5), (142, 5, 8)]);
    assert_eq!(spans(&[one, two, two]), [(142, 0, 3), (0, 3, 5), (0, 5, 7)]);
    assert_eq!(spans(&[two, one]), [(0, 0, 2), (142, 2, 5)]);
    assert!(join(&[two, two]).unwrap().audio().is_none());
}

#[test]
fn duration_counts_used_tracks_only() {
    let second = Track { source_track: 3, ..audio(8) };
    let long = index(vec![video(12_800, 3, 1), audio(3), second]);
    assert_eq!(join(&[(ONE, &long), (TWO, &long)]).unwrap().facts().duration_us, 6_000_000);
}

/// A range of a source, `None` for silence, and when it is heard: in milliseconds.
type HeardSpan<T> = (Option<T>, T);

/// The range of the source that is heard in each span of the audio, and when: in milliseconds.
fn heard(index: &Index) -> Vec<HeardSpan<std::ops::Range<i64>>> {
    let (track, _) = index.audio().unwrap();
    let ms = |ticks: i64| ticks.saturating_add(track.shift) * 1000 / i64::from(track.timescale);
    let spans = track.edit_spans().map(|span| {
        let shown = span.shown.start.max(-track.shift)..span.shown.end.min(track.end - track.shift);
        let packets: Vec<_> = track.samples.range(span.samples.clone()).collect();
        // A packet starts with the audio of its number, two packets before 0.
        let audio = |packet: &Sample| (packet.offset.cast_signed() / 100 - 2) * 1024 / 48;
        let is_heard = |packet: &&Sample| shown.contains(&packet.pts);
        let audible = packets.iter().filter(is_heard).map(audio);
        let audible = audible.clone().min().zip(audible.max()).map(|(from, to)| from..to);
        (audible, ms(shown.start)..ms(shown.end))
    });
    spans.filter(|(_, shown)| shown.start < shown.end).collect()
}

/// Ten seconds without those from 3 to 5, and two seconds without audio in their place.
fn film_with_silent_insert() -> Index {
    let film = index(vec![video(12_800, 10, 1), audio(10)]);
    let silent = index(vec![video(12_800, 2, 1)]);
    let parts = [part(ONE, &film, 0..3_000_000), part(TWO, &silent, 0..u64::MAX)];
    let rest = [part(ONE, &film, 5_000_000..u64::MAX)];
    Index::of_parts(&[&parts[..], &rest[..]].concat(), 0).unwrap()
}

#[test]
fn clip_around_a_silent_part_is_silent_there() {
    let index = film_with_silent_insert();
    let check = |start_us, end_us, expected: &[HeardSpan<(i64, i64)>]| {
        let clip = index.clip(THREE, start_us..end_us).unwrap();
        let spans = heard(&clip);
        let expected: Vec<_> = expected
            .iter()
            .map(|(audible, shown)| (audible.map(|(from, to)| from..to), shown.0..shown.1))
            .collect();
        let within = |(audible, shown): &HeardSpan<std::ops::Range<i64>>,
                      other: &HeardSpan<std::ops::Range<i64>>| {
            let is_close = |a: i64, b: i64| (a - b).abs() <= 43;
            shown == &other.1
                && match (audible, &other.0) {
                    (Some(a), Some(b)) => is_close(a.start, b.start) && is_close(a.end, b.end),
                    (a, b) => a.is_none() && b.is_none(),
                }
        };
        let is_equal = spans.len() == expected.len()
            && spans.iter().zip(&expected).all(|(span, other)| within(span, other));
        assert!(is_equal, "{start_us} {end_us}: {spans:?}, not {expected:?}");
        assert_eq!(Index::from_bytes(&clip.to_bytes()), Ok(clip));
    };
    let (before, silence) = ((Some((0, 3000)), (0, 3000)), |from, to| (None, (from, to)));
    check(0, 10_000_000, &[before, silence(3000, 5000), (Some((5000, 10_000)), (5000, 10_000))]);
    for end_ms in [3500, 4500, 5000] {
        check(0, end_ms * 1000, &[before, silence(3000, end_ms.cast_signed())]);
    }
    check(0, 6_000_000, &[before, silence(3000, 5000), (Some((5000, 6000)), (5000, 6000))]);
    check(4_400_000, 6_000_000, &[silence(0, 600), (Some((5000, 6000)), (600, 1600))]);
    check(3_000_000, 6_000_000, &[silence(0, 2000), (Some((5000, 6000)), (2000, 3000))]);
    check(2_000_000, 4_000_000, &[(Some((2000, 3000)), (0, 1000)), silence(1000, 2000)]);
    check(5_000_000, 6_000_000, &[(Some((5000, 6000)), (0, 1000))]);
    check(5_400_000, 6_000_000, &[(Some((5400, 6000)), (0, 600))]);
    for range_us in [3_000_000..3_500_000, 3_200_000..5_000_000, 4_500_000..4_800_000] {
        let clip = index.clip(THREE, range_us.clone()).unwrap();
        assert!(clip.audio().is_none(), "{range_us:?}");
    }
}

#[test]
fn clip_right_after_a_joint_can_be_joined() {
    let film = index(vec![video(12_800, 10, 1), audio(10)]);
    let other = index(vec![video(12_800, 2, 1), Track { timescale: 44_100, ..audio(2) }]);
    let parts = [part(ONE, &film, 0..3_000_000), part(TWO, &other, 0..1_000_000)];
    let rest = [part(ONE, &film, 3_000_000..u64::MAX)];
    let edited = Index::of_parts(&[&parts[..], &rest[..]].concat(), 0).unwrap();
    for start_us in [3_000_000, 3_400_000, 4_000_000, 4_400_000] {
        let parts = [part(TWO, &other, 0..1_000_000), part(THREE, &edited, start_us..6_000_000)];
        let joined = Index::of_parts(&parts, 1).unwrap_or_else(|error| panic!("{start_us}: {error}"));
        let begins: Vec<_> = heard(&joined).into_iter().map(|(_, shown)| shown.start).collect();
        let start_ms = start_us.cast_signed() / 1000;
        let expected = if start_us < 4_000_000 { vec![0, 1000, 5000 - start_ms] } else { vec![0, 1000] };
        assert_eq!(begins, expected, "{start_us}");
        assert_eq!(Index::from_bytes(&joined.to_bytes()), Ok(joined));
    }
}

#[test]
fn part_keeps_the_configuration_it_begins_with() {
    let plain = index(vec![video(12_800, 3, 1)]);
    let other = index(vec![video(12_800, 3, 2)]);
    let edited = join(&[(ONE, &plain), (TWO, &other)]).unwrap();
    let parts = [part(ONE, &plain, 0..1_000_000), part(THREE, &edited, 4_500_000..u64::MAX)];
    let joined = Index::of_parts(&parts, 0).unwrap();
    let (track, _) = joined.video().unwrap();
    let expected = other.video().unwrap().1.sample_entry.clone();
    let TrackMedia::Video(last) = track.media_at(track.samples.len() - 1) else { unreachable!("it is one") };
    assert_eq!(last.sample_entry, expected);
}

#[test]
fn clip_with_a_joint_is_only_encoded() {
    let index = film_with_silent_insert();
    assert_eq!(not_copied(&index), None);
    let clip = |range_us| index.clip(THREE, range_us).unwrap();
    let across = clip(1_000_000..4_000_000);
    assert_eq!((not_copied(&across), &across.plan.video[..]), (Some("the clip contains a joint"), &[][..]));
    assert_eq!(not_copied(&clip(1_000_000..3_000_000)), None, "only the first part");
    assert_eq!(not_copied(&clip(6_000_000..8_000_000)), None, "only the last part");
}
