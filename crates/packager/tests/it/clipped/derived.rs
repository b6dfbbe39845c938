//! Images and files of a clip have the frames and the audio of the clip.

use std::fmt::Write as _;

use futures_util::StreamExt as _;
use kinora_domain::{Resolution, Timestamp};
use kinora_packager::{
    CLIP_FPS_MAX, ClipFormat, ClipRequest, Mp4File, Mp4FileLimits, Rendition, SpriteSheet, ThumbnailRequest,
};
use kinora_store::{ClaimJobs, ClaimedJob, JobKind, NewJob, Tx, WorkerId, WorkspaceLimit};
use kinora_testkit::SeededRandom;
use kinora_testkit::fixture::numbered;

use super::audio_samples::{REACH, WINDOW};
use super::decoded::{audio, duration, frames, lag, number, snr};
use super::numbers;
use super::scene::{Clip, Scene};
use crate::thumbnails::{grey, png_at};
use crate::world::on_demand_client;

const LIMITS: Mp4FileLimits = Mp4FileLimits { max_resolution: Resolution::P2160, is_video_withdrawn: false };

impl Clip {
    /// The number of the frame that is shown at a time.
    fn number_at(&self, time_ms: u64) -> usize {
        let at_us = i64::try_from(time_ms).unwrap() * 1000 + self.zero_us;
        let begun = self.source_frames.iter().rev().find(|frame| frame.at_us <= at_us);
        begun.unwrap_or(&self.source_frames[0]).number
    }
}

impl Scene {
    /// A job of a worker, which the files of renditions need.
    async fn job(&self, clip: &Clip) -> ClaimedJob {
        let media = self.world.media_of(self.world.source()).await;
        let (workspace, now) = (media.workspace, Timestamp::from_micros(0));
        let kind = JobKind::ProbeDecode { media: media.id, source: clip.source };
        let job = NewJob::due_now(kind, workspace, now);
        let write = async move |tx: &mut Tx| tx.enqueue(job.clone()).await;
        self.world.store.write::<_, kinora_store::Error, _>(write).await.unwrap();
        let claim = ClaimJobs {
            owner: WorkerId::new(&SeededRandom::default()),
            queue: kind.queue(),
            workspace_limits: vec![WorkspaceLimit { workspace: Some(workspace), limit: 1 }],
            now,
            lease_until: Timestamp::from_micros(i64::from(u32::MAX)),
        };
        self.world.store.claim_jobs(claim).await.unwrap().remove(0)
    }

    /// The bytes of a file of a clip, after its renditions were made.
    async fn mp4(&self, clip: &Clip, file: Mp4File) -> Vec<u8> {
        let packager = &self.world.packager;
        for rendition in file.renditions(&clip.packaged, LIMITS, &[]).unwrap() {
            if matches!(rendition, Rendition::Rung(_) | Rendition::Aac(_)) {
                let job = self.job(clip).await;
                let made = packager.make_rendition_file(
                    &job,
                    &clip.packaged,
                    rendition,
                    LIMITS.max_resolution,
                    |_| {},
                );
                made.await.unwrap();
            }
        }
        let file = packager.file(&clip.packaged, file, LIMITS, &[]).await.unwrap();
        let len = file.len();
        file.stream(0..len).map(|part| part.unwrap()).collect::<Vec<_>>().await.concat()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thumbnails_show_the_frames_of_the_clip() {
    for file in [numbered::film_rate(), numbered::open_gop(), numbered::variable_rate()] {
        let scene = Scene::of(file).await;
        let key = scene.keyframe();
        for (from, to) in [(key, key + 30), (key - 3, key + 10)] {
            let clip = scene.clip(&(scene.at_us(from)..scene.at_us(to))).await;
            for time_ms in [0, 300, 60_000] {
                let image = scene.world.thumbnail(&clip.packaged, png_at(time_ms)).await.unwrap();
                let expected = clip.number_at(time_ms);
                assert_eq!(frames(&image)[0].number, expected, "{from}..{to} at {time_ms} ms");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn images_equal_those_of_the_source() {
    let scene = Scene::of(numbered::closed_gop()).await;
    let clip = scene.clip(&(1_400_000..4_400_000)).await;
    for time_ms in [0, 600, 2900] {
        let found = scene.world.thumbnail(&clip.packaged, png_at(time_ms)).await.unwrap();
        let expected = scene.world.thumbnail(&scene.packaged, png_at(1400 + time_ms)).await.unwrap();
        assert!(found == expected, "the thumbnail at {time_ms} ms differs");
        let hash = scene.world.packager.blur_hash(&clip.packaged, Some(time_ms)).await.unwrap();
        let expected = scene.world.packager.blur_hash(&scene.packaged, Some(1400 + time_ms)).await.unwrap();
        assert_eq!(hash, expected, "at {time_ms} ms");
    }
    // The keyframe near the middle, which is at 2.9 s.
    let request = ThumbnailRequest { time_ms: None, ..png_at(0) };
    let poster = scene.world.thumbnail(&clip.packaged, request).await.unwrap();
    assert_eq!(frames(&poster)[0].number, 50);
    // A clip inside one group has no keyframe of its own.
    let short = scene.clip(&(1_400_000..1_700_000)).await;
    let poster = scene.world.thumbnail(&short.packaged, request).await.unwrap();
    assert_eq!(frames(&poster)[0].number, short.number_at(150));
    assert!(scene.world.packager.blur_hash(&short.packaged, None).await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sprite_sheets_show_frames_of_the_clip() {
    let mut list = String::new();
    for (name, file) in [
        ("closed", numbered::closed_gop()),
        ("open", numbered::open_gop()),
        ("ten seconds", numbered::ten_second_gop()),
        ("variable", numbered::variable_rate()),
    ] {
        let scene = Scene::of(file).await;
        let clip = scene.clip(&(1_400_000..4_400_000)).await;
        for sheet in [SpriteSheet::Every(1), SpriteSheet::Overview] {
            let storyboard =
                scene.world.packager.storyboard(&clip.packaged, sheet, on_demand_client()).await.unwrap();
            let image =
                scene.world.packager.sprite_sheet(&clip.packaged, &storyboard, on_demand_client()).await;
            let pixels = grey(&image.unwrap().bytes().await.unwrap());
            let (width, height) = (storyboard.tile_width as usize, storyboard.tile_height as usize);
            let row = width * storyboard.columns as usize;
            let tile = |(_, x, y): (u32, u32, u32)| {
                let lines = (0..height).map(|line| (y as usize + line) * row + x as usize);
                lines.flat_map(|start| pixels[start..start + width].to_vec()).collect::<Vec<_>>()
            };
            let numbers: Vec<_> = storyboard.tiles().map(|position| number(&tile(position))).collect();
            let shown =
                numbers.iter().all(|found| clip.source_frames.iter().any(|frame| frame.number == *found));
            assert!(shown, "{name}: {numbers:?}");
            writeln!(list, "{name}, {sheet:?}: {numbers:?}, {} ms", storyboard.duration_ms).unwrap();
        }
    }
    insta::assert_snapshot!(list);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn preview_clips_show_frames_of_the_clip() {
    for file in [numbered::closed_gop(), numbered::open_gop(), numbered::film_rate()] {
        let scene = Scene::of(file).await;
        let clip = scene.clip(&(1_410_000..2_600_000)).await;
        let request =
            |start_ms, end_ms| ClipRequest { start_ms, end_ms, width: 160, fps: 5, format: ClipFormat::Gif };
        let make = async |request| {
            let image = scene.world.packager.clip(&clip.packaged, request, on_demand_client()).await.unwrap();
            numbers(&frames(&image.bytes().await.unwrap()))
        };
        for (request, times) in [
            (request(0, 600), vec![0, 200, 400]),
            (request(600, 9000), vec![600, 800, 1000]),
            (request(1000, 9000), vec![1000]),
        ] {
            let found = make(request).await;
            let expected: Vec<_> = times.iter().map(|time| clip.number_at(*time)).collect();
            let is_near = found.len() == expected.len()
                && found[0] == expected[0]
                && found.iter().zip(&expected).all(|(one, other)| one.abs_diff(*other) <= 1);
            assert!(is_near, "{request:?}: {found:?}, not {expected:?}");
        }
        let last = clip.source_frames.last().unwrap().number;
        let at_end = make(ClipRequest { fps: CLIP_FPS_MAX, ..request(1000, 9000) }).await;
        // The last frame may be shorter than a frame of the preview.
        let is_at_end = at_end.iter().max().is_some_and(|number| (last - 1..=last).contains(number));
        assert!(is_at_end, "{at_end:?} and not up to {last}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keyframe_playlist_lists_keyframes_of_the_clip() {
    let scene = Scene::of(numbered::film_rate()).await;
    let clip = scene.clip(&(scene.at_us(48)..8_000_000)).await;
    let (track, _) = clip.packaged.index().video().unwrap();
    clip.check_playlist(Rendition::IFrames, track, "keyframes");
    let found = frames(&scene.read(&clip, Rendition::IFrames).await);
    assert_eq!(numbers(&found), [48, 96, 144]);
    let times: Vec<_> = found.iter().map(|frame| frame.at_us).collect();
    assert_eq!(times, [0, 2_002_000, 4_004_000]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mp4_files_have_frames_and_audio_of_the_clip() {
    for (name, file, rate) in [
        ("ten seconds", numbered::ten_second_gop(), 44_100),
        ("film", numbered::film_rate(), 48_000),
        ("open", numbered::open_gop(), 48_000),
    ] {
        let scene = Scene::of(file).await;
        let source_audio = audio(&scene.file, rate);
        let key = scene.keyframe();
        for (from, to) in [(key, key + 31), (key + 5, key + 31)] {
            let what = format!("{name}, {from}..{to}");
            let clip = scene.clip(&(scene.at_us(from)..scene.at_us(to))).await;
            let video = scene.mp4(&clip, Mp4File::Capped4k).await;
            let found = frames(&video);
            assert_eq!(numbers(&found), numbers(&clip.source_frames), "{what}");
            clip.check_times(&found, &what);
            let zero = clip.zero(rate);
            let (track, _) = clip.packaged.index().audio().unwrap();
            let seconds = track.end as f64 / f64::from(track.timescale);
            let len = (seconds * f64::from(rate)).round() as usize;
            let expected = &source_audio[zero..zero + len];
            for file in [video, scene.mp4(&clip, Mp4File::AudioOnly).await] {
                let found = duration(&file);
                assert!((found - seconds).abs() < 0.0001, "{what}: {found} s, not {seconds} s");
                let heard = audio(&file, rate);
                // ffmpeg ignores that an edit ends within a packet.
                assert!((len..len + 1024).contains(&heard.len()), "{what}: {} of {len}", heard.len());
                for at in [0, len / 2, len - WINDOW] {
                    let ratio = snr(&expected[at..at + WINDOW], &heard[at..]);
                    assert!(18.0 <= ratio, "{what}: {ratio} dB at {at}");
                    let lag = lag(expected, &heard, at, WINDOW, REACH);
                    assert!(lag.abs() <= 1, "{what}: {lag} samples late at {at}");
                }
            }
        }
    }
}
