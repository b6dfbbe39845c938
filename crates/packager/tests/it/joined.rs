//! A presentation of several sources plays as those sources do in sequence.

mod audio_samples;
mod decoded;
mod derived;
mod scene;
mod sources;

use std::ops::Range;

use kinora_index::RungName;
use kinora_packager::{Error, Rendition};
use kinora_testkit::fixture;

use audio_samples::check_audio;
use decoded::{assert_bars, assert_no_gap, assert_times, frames, hashes, luma};
use scene::Scene;
use sources::{base, edited, pauses};

use crate::audio;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn joined_copy_shows_every_frame() {
    let scene = Scene::new().await;
    let read = scene.read(Rendition::Video).await;
    assert_eq!(read.len(), 3, "one for each part");
    for (part, begin) in scene.begins_us().into_iter().enumerate() {
        let (found, expected) = (frames(&read[part]), frames(&scene.parts[part].0));
        assert_eq!(hashes(&found), hashes(&expected), "part {part}");
        assert_times(found.iter().map(|(at, _)| *at), expected.iter().map(|(at, _)| at + begin), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn joined_sources_have_discontinuity_and_init_segment() {
    let scene = Scene::new().await;
    for rendition in [Rendition::Video, Rendition::IFrames] {
        let playlist = scene.packaged.playlist(rendition).unwrap();
        let playlist = std::str::from_utf8(&playlist).unwrap();
        let tags: Vec<_> = playlist
            .lines()
            .filter(|line| line.starts_with("#EXT-X-MAP") || line.starts_with("#EXT-X-DISC"))
            .collect();
        let (first, other) = ("#EXT-X-MAP:URI=\"init.mp4\"", "#EXT-X-MAP:URI=\"init-1.mp4\"");
        let expected = [first, "#EXT-X-DISCONTINUITY", other, "#EXT-X-DISCONTINUITY", first];
        assert_eq!(tags, expected, "{rendition}: {playlist}");
    }
    let index = scene.packaged.index();
    let (track, _) = index.video().unwrap();
    assert_eq!((track.configurations.len(), track.edit_points.len()), (1, 2));
    assert_eq!(index.objects.len(), 3);
    assert!(scene.packaged.init(Rendition::Video, 2).is_err());
    assert!(matches!(scene.packaged.playlist(Rendition::Audio(0)), Err(Error::NotListed)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn joined_rung_encodes_every_frame() {
    // A small source has no rung below its copy, so another one comes first.
    let scene =
        Scene::of([fixture::large_two_tracks(), fixture::two_seconds(), fixture::large_two_tracks()]).await;
    let found = frames(&scene.rung(RungName::P240).await);
    assert_times(found.iter().map(|(at, _)| *at), scene.expected_us(), 100);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_part_not_copied_encodes_all_parts() {
    let odd = fixture::containers::video_frames_in(50, "mkv", "-c:v mpeg4 -q:v 4 -g 25");
    let scene = Scene::of([fixture::high_bitrate(), odd, fixture::video_only()]).await;
    assert!(matches!(scene.packaged.playlist(Rendition::Video), Err(Error::NotListed)));
    let found = frames(&scene.rung(RungName::P240).await);
    // Matroska stores whole milliseconds.
    assert_times(found.iter().map(|(at, _)| *at), scene.expected_us(), 1000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parts_are_letterboxed_into_the_base() {
    let scene = edited().await;
    assert!(matches!(scene.packaged.playlist(Rendition::Video), Err(Error::NotListed)));
    let rung = scene.rung(RungName::P240).await;
    assert_no_gap(&rung);
    assert_times(frames(&rung).iter().map(|(at, _)| *at), scene.expected_us(), 1000);

    let images = luma(&rung, (320, 180));
    let counts: Vec<_> = scene.source_frames_us().iter().map(Vec::len).collect();
    assert_eq!(counts, [60, 75, 37, 75, 48]);
    let first = |part: usize| counts[..part].iter().sum::<usize>();
    let check = |part: usize, across: Range<usize>, down: Range<usize>| {
        for number in [first(part), first(part) + counts[part] / 2, first(part + 1) - 1] {
            assert_bars(
                &images[number],
                across.clone(),
                down.clone(),
                &format!("part {part}, frame {number}"),
            );
        }
    };
    check(0, 70..250, 0..180);
    check(2, 114..204, 0..180);
    check(4, 0..320, 30..150);
    // The frames of the base are those of its source.
    let source = luma(&base(), (320, 180));
    for (number, of_source) in [(first(1), 0), (first(2) - 1, 74), (first(3), 75), (first(4) - 1, 149)] {
        let difference = |other: usize| -> u64 {
            let pairs = images[number].iter().zip(&source[other]);
            pairs.map(|(one, other)| u64::from(one.abs_diff(*other))).sum()
        };
        let nearest = (0..source.len()).min_by_key(|other| difference(*other)).unwrap();
        assert_eq!(nearest, of_source, "frame {number}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pauses_in_a_part_are_no_gaps() {
    // Together their clocks make one with ticks of less than a microsecond.
    let scene = Scene::of_parts([base(), pauses()].map(|part| (part, 0..u64::MAX)), 0).await;
    assert!(1_000_000 < scene.packaged.index().video().unwrap().0.timescale);
    let rung = scene.rung(RungName::P240).await;
    assert_no_gap(&rung);
    let expected_us = scene.expected_us();
    assert!(expected_us.windows(2).any(|pair| pair[0] + 500_000 < pair[1]), "a pause");
    assert_times(frames(&rung).iter().map(|(at, _)| *at), expected_us, 1000);
    assert_no_gap(&scene.aac().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_out_middle_is_exact() {
    // On keyframes, and between two frames.
    for ranges in [[0..2_000_000, 4_000_000..u64::MAX], [0..2_110_000, 4_250_000..u64::MAX]] {
        let is_copied = ranges[0].end == 2_000_000;
        let scene = Scene::of_parts(ranges.map(|range| (base(), range)), 0).await;
        let expected = scene.expected_us();
        if is_copied {
            let read = scene.read(Rendition::Video).await;
            assert_eq!(read.len(), 2);
            let found: Vec<_> = read.iter().flat_map(|read| frames(read)).collect();
            assert_times(found.iter().map(|(at, _)| *at), expected, 1);
            let source = frames(&base());
            let shown = |at: i64| !(2_000_000..4_000_000).contains(&at);
            let wanted: Vec<_> = source.into_iter().filter(|(at, _)| shown(*at)).collect();
            assert_eq!(hashes(&found), hashes(&wanted));
        } else {
            assert!(matches!(scene.packaged.playlist(Rendition::Video), Err(Error::NotListed)));
            let rung = scene.rung(RungName::P240).await;
            assert_times(frames(&rung).iter().map(|(at, _)| *at), expected, 100);
        }
        check_audio(&scene, &audio::decoded(&scene.aac().await), &scene.expected_audio());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rotated_part_is_upright() {
    let scene =
        Scene::of_parts([(fixture::rotated(), 0..u64::MAX), (fixture::two_seconds(), 0..u64::MAX)], 1).await;
    let rung = scene.rung(RungName::P240).await;
    let found = &luma(&rung, (160, 90))[25];
    // The decoder of the source applies its rotation: 90x160 becomes 50x90.
    let expected = &luma(&fixture::rotated(), (50, 90))[25];
    let (mut difference, mut bars) = (0_u64, 0_u8);
    for (row, line) in found.chunks_exact(160).enumerate() {
        for column in 0..50 {
            difference += u64::from(line[54 + column].abs_diff(expected[row * 50 + column]));
        }
        bars = bars.max(line[..50].iter().chain(&line[110..]).copied().max().unwrap());
    }
    assert!(difference / (50 * 90) < 12, "{}", difference / (50 * 90));
    assert!(bars < 30, "{bars}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parts_of_one_frame_are_joined() {
    let frame = |number: u64| (base(), number * 40_000..(number + 1) * 40_000);
    let parts = [frame(0), frame(30), frame(61), frame(12), (base(), 2_000_000..u64::MAX)];
    let scene = Scene::of_parts(parts, 4).await;
    let rung = scene.rung(RungName::P240).await;
    assert_no_gap(&rung);
    let expected_us = scene.expected_us();
    assert_eq!(expected_us[..5], [0, 40_000, 80_000, 120_000, 160_000]);
    assert_times(frames(&rung).iter().map(|(at, _)| *at), expected_us, 100);
    let aac = scene.aac().await;
    assert_no_gap(&aac);
    let (found, expected) = (audio::decoded(&aac), scene.expected_audio());
    let snr = audio::snr(&expected, &found, 0..7600);
    assert!(10.0 < snr, "{snr} dB over the short parts");
    assert!(20.0 < audio::snr(&expected, &found, 8000..4 * 48_000));
}
