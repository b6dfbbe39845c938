//! Edit lists of several pieces over tracks made by hand.

use super::*;

const CLOCKS: Timescales = Timescales { movie: 100, track: 1000 };

/// GOPs of four frames of 100 ticks, decoded in the order 0 3 1 2 and presented 200 ticks later. The offset
/// of a sample in the file is its number.
fn video(groups: i64) -> TrackSamples {
    let samples = (0..groups * 4).map(|n| Sample {
        dts: n * 100,
        pts: n / 4 * 400 + [0, 3, 1, 2][n as usize % 4] * 100 + 200,
        duration: 100,
        object: 0,
        offset: n as u64,
        size: 1,
        is_sync: n % 4 == 0,
    });
    track(samples.collect())
}

/// Packets of 100 ticks.
fn audio(count: i64) -> TrackSamples {
    let packet = |n| Sample {
        dts: n * 100,
        pts: n * 100,
        duration: 100,
        object: 0,
        offset: n as u64,
        size: 1,
        is_sync: true,
    };
    track((0..count).map(packet).collect())
}

fn track(samples: Vec<Sample>) -> TrackSamples {
    TrackSamples {
        first_pts: samples.iter().map(|sample| sample.pts).min().unwrap(),
        end_pts: samples.iter().map(|sample| sample.pts + 100).max().unwrap(),
        end_offset: samples.len() as u64,
        table: samples.into_iter().collect(),
        meter: None,
    }
}

/// The result for pieces of (media time, duration): numbers and times in decode order, and the remaining
/// edit.
#[derive(Debug, PartialEq)]
struct Copied {
    samples: Vec<(u64, i64)>,
    edit: (i64, Option<u64>),
}

fn list_of(entries: &[(i64, u64)]) -> EditList {
    let mut list = EditList::default();
    let mut at = 0;
    for &(media_time, duration) in entries {
        list.entries.push(EditEntry { movie_time: at, media_time, duration });
        at += duration;
    }
    list
}

fn present(samples: TrackSamples, is_video: bool, entries: &[(i64, u64)]) -> Result<Copied, String> {
    let presented =
        apply_edit_list(samples, &list_of(entries), CLOCKS, is_video).map_err(|error| error.to_string())?;
    let PresentedSamples { samples, edit, edit_points, not_copied } = presented;
    assert_eq!((edit_points, not_copied), (Vec::new(), None));
    let all: Vec<_> = samples.table.iter().collect();
    assert!(all.is_sorted_by(|a, b| a.dts < b.dts), "{all:?}");
    assert!(all.windows(2).all(|pair| pair[0].dts + i64::from(pair[0].duration) == pair[1].dts), "{all:?}");
    assert_eq!(samples.end_offset, all.iter().map(|sample| sample.offset + 1).max().unwrap());
    Ok(Copied {
        samples: all.iter().map(|sample| (sample.offset, sample.pts)).collect(),
        edit: (edit.media_time, edit.duration),
    })
}

#[test]
fn contiguous_edits_are_merged() {
    let merged = present(video(3), true, &[(200, 120)]).unwrap();
    assert_eq!(merged.edit, (200, Some(120)));
    for entries in [
        &[(200, 40), (600, 80)][..],
        &[(200, 40), (605, 80)], // within a tick of the movie
        &[(200, 15), (350, 5), (400, 100)],
    ] {
        assert_eq!(present(video(3), true, entries).unwrap(), merged, "{entries:?}");
    }
    // One tick too many each time adds up to a cut.
    let drifting: Vec<_> = (0..12).map(|n| (200 + n * 110, 10)).collect();
    assert_ne!(present_not_copied(video(4), &drifting).edit_points, []);
}

#[test]
fn edit_removes_exact_range_at_keyframes() {
    // The second GOP is removed.
    let cut = present(video(3), true, &[(200, 40), (1000, 40)]).unwrap();
    let expected = vec![(0, 0), (1, 300), (2, 100), (3, 200), (8, 400), (9, 700), (10, 500), (11, 600)];
    assert_eq!(cut, Copied { samples: expected, edit: (0, Some(80)) });
}

#[test]
fn edits_may_reorder_and_repeat_media() {
    let moved = present(video(2), true, &[(600, 40), (200, 40), (200, 40)]).unwrap();
    let numbers: Vec<_> = moved.samples.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [4, 5, 6, 7, 0, 1, 2, 3, 0, 1, 2, 3]);
    let mut times: Vec<_> = moved.samples.iter().map(|(_, pts)| *pts).collect();
    times.sort_unstable();
    assert_eq!(times, (0..12).map(|n| n * 100).collect::<Vec<_>>());
}

#[test]
fn edit_ending_inside_gop_hides_reference_frames() {
    // Two frames of the first GOP are presented; the last one was decoded before the second.
    let cut = present(video(3), true, &[(200, 20), (1000, 40)]).unwrap();
    let expected = vec![(0, 0), (1, 199), (2, 100), (8, 200), (9, 500), (10, 300), (11, 400)];
    assert_eq!(cut.samples, expected);
    // At the end of the track no frame would replace it.
    let cut = present_not_copied(video(3), &[(1000, 40), (200, 20)]);
    assert_eq!(cut.samples[4..], [(0, 400), (1, 700), (2, 500)]);
    assert_eq!(cut.shown[4..], [(0, 400), (2, 500)]);
    assert_eq!((cut.edit_points, cut.edit, cut.ends), (vec![(4, 400)], (0, Some(60)), (0, 600)));
    // The same applies to one edit, unless it ends before a keyframe or after the last B-frame.
    let cut = present_not_copied(video(3), &[(200, 60)]);
    assert_eq!(cut.samples[4..], [(4, 400), (5, 700), (6, 500)]);
    assert_eq!((cut.shown.len(), cut.ends), (6, (0, 600)));
    for duration in [10, 40, 50, 80] {
        assert_eq!(present(video(3), true, &[(200, duration)]).unwrap().samples.len(), 12, "{duration}");
    }
}

#[test]
fn edit_may_start_one_tick_off_a_keyframe() {
    let near = present(video(4), true, &[(200, 40), (1390, 40)]).unwrap();
    assert_eq!(near.samples[4..6], [(12, 400), (13, 710)], "a tick of the movie early");
    let inside = present(video(4), true, &[(200, 40), (1450, 35)]).unwrap();
    assert_eq!(inside.samples[4..6], [(12, 400), (13, 650)], "while the keyframe is shown");
    let first = present(video(4), true, &[(250, 35), (1400, 40)]).unwrap();
    assert_eq!(first.samples[..2], [(0, -50), (1, 250)], "while the first keyframe is shown");
    let alone = present(video(4), true, &[(250, 35)]).unwrap();
    assert_eq!((alone.samples.len(), alone.edit), (16, (250, Some(35))), "the samples stay as they are");
}

/// The result where a copy would show removed frames: the samples as above, which of them are presented, and
/// the edit points.
#[derive(Debug, PartialEq)]
struct Between {
    samples: Vec<(u64, i64)>,
    shown: Vec<(u64, i64)>,
    edit_points: Vec<(u32, i64)>,
    edit: (i64, Option<u64>),
    ends: (i64, i64),
}

fn present_not_copied(samples: TrackSamples, entries: &[(i64, u64)]) -> Between {
    let PresentedSamples { samples, edit, edit_points, not_copied } =
        apply_edit_list(samples, &list_of(entries), CLOCKS, true).unwrap();
    assert_eq!(not_copied, Some(NotCopied::new(NotCopiedReason::Edits, "edits between keyframes")));
    let end = edit.duration.map_or(i64::MAX, |duration| CLOCKS.track_ticks(duration));
    let starts = edit_points.iter().map(|point| (point.sample, point.pts));
    let starts: Vec<_> = [(0, 0)].into_iter().chain(starts).chain([(samples.table.len(), end)]).collect();
    let mut shown = Vec::new();
    for (begins, ends) in starts.iter().zip(&starts[1..]) {
        let all: Vec<_> = samples.table.range(begins.0..ends.0).collect();
        assert!(all[0].is_sync, "{all:?}");
        assert!(all.is_sorted_by(|a, b| a.dts < b.dts), "{all:?}");
        let seen = all.iter().filter(|sample| (begins.1..ends.1).contains(&sample.pts));
        shown.extend(seen.map(|sample| (sample.offset, sample.pts)));
    }
    shown.sort_by_key(|(_, pts)| *pts);
    assert_eq!(samples.end_offset, samples.table.iter().map(|sample| sample.offset + 1).max().unwrap());
    Between {
        samples: samples.table.iter().map(|sample| (sample.offset, sample.pts)).collect(),
        shown,
        edit_points: edit_points.iter().map(|joint| (joint.sample, joint.pts)).collect(),
        edit: (edit.media_time, edit.duration),
        ends: (samples.first_pts, samples.end_pts),
    }
}

#[test]
fn edit_starting_inside_gop_is_decoded_from_keyframe() {
    // Of 16 frames the sixth and the seventh in presentation order, then the third to the fifth.
    let cut = present_not_copied(video(4), &[(700, 20), (400, 30)]);
    assert_eq!(cut.samples[..4], [(4, -100), (5, 200), (6, 0), (7, 100)]);
    assert_eq!(cut.samples[4..], [(0, 0), (1, 300), (2, 100), (3, 200), (4, 400)]);
    assert_eq!(cut.shown, [(6, 0), (7, 100), (3, 200), (1, 300), (4, 400)]);
    assert_eq!((cut.edit_points, cut.edit, cut.ends), (vec![(4, 200)], (0, Some(50)), (0, 500)));
}

#[test]
fn single_edit_inside_gop_hides_earlier_frames() {
    let cut = present_not_copied(video(3), &[(400, 0)]);
    assert_eq!(cut.samples.len(), 12);
    assert_eq!(cut.shown[..3], [(3, 0), (1, 100), (4, 200)]);
    assert_eq!((cut.shown.len(), cut.edit_points, cut.edit, cut.ends), (10, vec![], (0, None), (0, 1000)));
    // It ends inside a GOP too: two frames are decoded for the one between them, and not presented.
    let cut = present_not_copied(video(3), &[(400, 30)]);
    assert_eq!(cut.samples, [(0, -200), (1, 100), (2, -100), (3, 0), (4, 200)]);
    assert_eq!((cut.shown, cut.ends), (vec![(3, 0), (1, 100), (4, 200)], (0, 300)));
    let cut = present_not_copied(video(3), &[(400, 40)]);
    assert_eq!(cut.samples[4..], [(4, 200), (5, 500), (6, 300)]);
    assert_eq!((cut.shown.len(), cut.ends), (4, (0, 400)));
}

#[test]
fn frame_on_display_at_edit_start_starts_with_edit() {
    // While the second frame is on display; a tick of the movie before the third; the third and a tick of
    // the movie.
    for (begins, shown) in [(350, [(2, 0), (3, 50)]), (395, [(3, 0), (1, 105)]), (405, [(3, 0), (1, 95)])] {
        assert_eq!(present_not_copied(video(3), &[(begins, 0)]).shown[..2], shown, "{begins}");
    }
    // After the very last frame, that one stays on display.
    let behind = present_not_copied(video(2), &[(400, 20), (2000, 20)]);
    assert_eq!((behind.shown[2], behind.ends), ((5, 200), (0, 300)));
}

#[test]
fn rounding_never_shows_an_extra_frame() {
    // The movie counts in 10 ticks: the frame at 600 comes 5 before the end.
    let cut = present_not_copied(video(3), &[(405, 20)]);
    assert_eq!((cut.shown, cut.ends), (vec![(3, 0), (1, 95)], (0, 195)));
}

#[test]
fn empty_edits_are_dropped() {
    // Its duration is less than half a tick of the track.
    let coarse = Timescales { movie: 100_000, track: 1000 };
    let mut list = list_of(&[(400, 20_000), (900, 10), (700, 20_000)]);
    list.entries[2].movie_time = 20_000;
    let cut = apply_edit_list(video(3), &list, coarse, true).unwrap();
    assert_eq!(cut.edit_points.iter().map(|point| point.pts).collect::<Vec<_>>(), [200]);
    // Before the first frame there is none.
    let cut = present_not_copied(video(3), &[(0, 10), (400, 20)]);
    assert_eq!((cut.edit_points, cut.ends), (vec![], (100, 300)));
}

#[test]
fn audio_edits_cut_on_packets() {
    let cut = present(audio(20), false, &[(0, 30), (1000, 30)]).unwrap();
    let numbers: Vec<_> = cut.samples.iter().map(|(number, pts)| (*number as i64, *pts)).collect();
    assert_eq!(numbers, [(0, 0), (1, 100), (2, 200), (10, 300), (11, 400), (12, 500)]);
    assert_eq!(cut.edit, (0, Some(60)));
    // Less than half a packet is left of the last one, more than half of the first.
    let cut = present(audio(20), false, &[(0, 23), (1040, 30)]).unwrap();
    assert_eq!(cut.samples[..4], [(0, 0), (1, 100), (10, 190), (11, 290)]);
    // The pre-roll before the first packet stays.
    let cut = present(audio(20), false, &[(500, 20), (1000, 10)]).unwrap();
    assert_eq!(cut.samples, [(2, -300), (3, -200), (4, -100), (5, 0), (6, 100), (10, 200)]);
}

#[test]
fn edit_pauses_and_too_many_edits_are_rejected() {
    let pause = EditList {
        empty_duration: 0,
        entries: vec![
            EditEntry { movie_time: 0, media_time: 200, duration: 40 },
            EditEntry { movie_time: 60, media_time: 800, duration: 40 },
        ],
    };
    let error = apply_edit_list(video(4), &pause, CLOCKS, true).map(|_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a track pauses between two edits; only edits without a pause are supported"
    );
    let endless: Vec<_> = (0..2000).map(|n| (200 + n % 2 * 800, 10)).collect();
    let sentence = "a track is cut more than 1000 times, which is not supported";
    assert_eq!(present(video(4), true, &endless), Err(sentence.into()));
}

/// A packet that lasts for weeks, and short ones: presented after it, or while it lasts.
fn audio_behind_a_long_packet(long: u32, short_count: i64, short_pts: i64) -> TrackSamples {
    let first = Sample { dts: 0, pts: 0, duration: long, object: 0, offset: 0, size: 1, is_sync: true };
    let short = |n| Sample {
        dts: i64::from(long) + n,
        pts: short_pts + n,
        duration: 1,
        object: 0,
        offset: n as u64 + 1,
        size: 1,
        is_sync: true,
    };
    track(std::iter::once(first).chain((0..short_count).map(short)).collect())
}

#[test]
fn overlapping_packets_are_scanned_once() {
    // A linear walk for each piece would exceed the limit of skipped packets.
    let behind = i64::from(u32::MAX);
    let samples = audio_behind_a_long_packet(u32::MAX, 10_000, behind);
    let mut entries = vec![(0, 240_000_000)];
    entries.extend((0..EDIT_ENTRIES_MAX as i64 - 1).map(|n| (behind + n % 2 * 1000, 1)));
    let cut = present(samples, false, &entries).unwrap();
    assert_eq!(cut, Copied { samples: vec![(0, 0)], edit: (0, Some(240_000_999)) });
}

#[test]
fn skipped_packets_count_towards_the_limit() {
    let samples = || audio_behind_a_long_packet(1_000_000_000, 100_000, 1);
    // In every other piece the long packet continues; in the others it begins again and covers the short
    // ones.
    let few = present(samples(), false, &[(0, 60_000_000); 20]).unwrap();
    let expected = (0..10).map(|n| (0, n * 1_200_000_000)).collect();
    assert_eq!(few, Copied { samples: expected, edit: (0, Some(1_200_000_000)) });
    let sentence = "the edits of a track repeat its samples; at most 5184000 are supported";
    assert_eq!(present(samples(), false, &[(0, 60_000_000); 120]), Err(sentence.into()));
}
