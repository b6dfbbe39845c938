//! A clip shows exactly the frames of its range, with exactly their audio.

mod audio_samples;
mod decoded;
mod derived;
mod scene;

use std::fmt::Write as _;

use bytes::Bytes;
use kinora_domain::Resolution;
use kinora_packager::Rendition;
use kinora_testkit::fixture::numbered;

use decoded::{Frame, frames};
use scene::Scene;

fn hashes(frames: &[Frame]) -> Vec<&str> {
    frames.iter().map(|frame| frame.hash.as_str()).collect()
}

fn numbers(frames: &[Frame]) -> Vec<usize> {
    frames.iter().map(|frame| frame.number).collect()
}

/// Checks the video of clips of all kinds, and returns a list of them.
async fn check_frames(file: Bytes) -> String {
    let scene = Scene::of(file).await;
    assert_eq!(numbers(&scene.frames), (0..scene.frames.len()).collect::<Vec<_>>());
    let mut list = String::new();
    for (name, range_us) in scene.ranges() {
        let clip = scene.clip(&range_us).await;
        let (expected, (track, _)) = (&clip.source_frames, clip.packaged.index().video().unwrap());
        let why = clip.packaged.index().video().unwrap().1.not_copied.as_ref();
        let why = why.map(|why| why.detail.as_str()).unwrap_or_default();
        let kind = if clip.is_copied() {
            let found = frames(&scene.read(&clip, Rendition::Video).await);
            assert_eq!(numbers(&found), numbers(expected), "{name}: {range_us:?}");
            assert_eq!(hashes(&found), hashes(expected), "{name}: {range_us:?}");
            clip.check_times(&found, name);
            clip.check_playlist(Rendition::Video, track, name);
            "copied".to_owned()
        } else {
            format!("encoded: {why}")
        };
        if let Some(rung) = clip.packaged.rungs(Resolution::P2160).last() {
            let found = frames(&scene.read(&clip, Rendition::Rung(rung.name)).await);
            assert_eq!(numbers(&found), numbers(expected), "{name}: {range_us:?}");
            clip.check_times(&found, name);
            clip.check_playlist(Rendition::Rung(rung.name), track, name);
        }
        let [first, .., last] = [&expected[0], &expected[0], &expected[expected.len() - 1]];
        writeln!(list, "{name}: {} frames, {}..={}, {kind}", expected.len(), first.number, last.number)
            .unwrap();
        // The part says which frames are shown: a clip of a clip adds to its start.
        let part = clip.packaged.index().parts[0].clone();
        assert_eq!(scene.index(part.shown_us), *clip.packaged.index(), "{name}: {range_us:?}");
    }
    list
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closed_gops_are_cut_like_trim() {
    insta::assert_snapshot!(check_frames(numbered::closed_gop()).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closed_gops_with_rung_below_copy_are_cut_like_trim() {
    insta::assert_snapshot!(check_frames(numbered::closed_gop_large()).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn open_gops_are_cut_like_trim() {
    insta::assert_snapshot!(check_frames(numbered::open_gop()).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_second_gops_are_cut_like_trim() {
    insta::assert_snapshot!(check_frames(numbered::ten_second_gop()).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn film_rate_is_cut_like_trim() {
    insta::assert_snapshot!(check_frames(numbered::film_rate()).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn variable_rate_is_cut_like_trim() {
    insta::assert_snapshot!(check_frames(numbered::variable_rate()).await);
}
