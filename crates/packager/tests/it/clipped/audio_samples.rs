//! Audio of a clip is that of the source, sample by sample.

use bytes::Bytes;
use kinora_index::ENCODED_AUDIO_RATE;
use kinora_packager::Rendition;
use kinora_testkit::fixture::{self, numbered};

use super::decoded::{audio, lag, snr};
use super::scene::{Clip, Scene};

/// Samples that are compared at once.
pub(super) const WINDOW: usize = 480;

/// Samples by which the audio may be late or early to be found: 5 ms.
pub(super) const REACH: i64 = 240;

/// Checks the audio of clips of all kinds. `start_db` is the lowest signal-to-noise ratio of the first tenth
/// of a second of a copy against the source.
async fn check_audio(file: Bytes, start_db: f64) {
    let scene = Scene::of(file).await;
    let source_rate = scene.packaged.index().audio().unwrap().1.sample_rate;
    let source = [source_rate, ENCODED_AUDIO_RATE].map(|rate| audio(&scene.file, rate));
    for (n, (name, range_us)) in scene.ranges().into_iter().enumerate() {
        let clip = scene.clip(&range_us).await;
        check_rendition(&scene, &clip, Rendition::Audio(0), (&source[0], source_rate), start_db).await;
        if n % 4 == 1 {
            let expected = (&source[1][..], ENCODED_AUDIO_RATE);
            check_rendition(&scene, &clip, Rendition::Aac(0), expected, 20.0).await;
        }
        assert!(clip.packaged.index().audio().unwrap().1.not_copied.is_none(), "{name}");
    }
}

/// Checks audio against the samples of the source, and its position against those of the frames.
async fn check_rendition(
    scene: &Scene,
    clip: &Clip,
    rendition: Rendition,
    (source, rate): (&[f64], u32),
    start_db: f64,
) {
    let (track, _) = clip.packaged.index().audio().unwrap();
    let zero = clip.zero(rate);
    let end = usize::try_from(track.end * i64::from(rate) / i64::from(track.timescale)).unwrap();
    let expected = &source[zero..(zero + end).min(source.len())];
    let what = format!("{rendition} from {} us", clip.zero_us);
    let found = audio(&scene.read(clip, rendition).await, rate);
    clip.check_playlist(rendition, track, &what);
    // The last packet may end after the clip.
    let len = expected.len()..expected.len() + 1024;
    assert!(len.contains(&found.len()), "{what}: {} samples, not {len:?}", found.len());
    if WINDOW <= expected.len() {
        for at in [0, (expected.len() - WINDOW) / 2, expected.len() - WINDOW] {
            // Nothing from before the start is heard, and nothing is missing.
            let ratio = snr(&expected[at..at + WINDOW], &found[at..]);
            let lowest = if rendition == Rendition::Audio(0) && 4800 <= at { 60.0 } else { start_db };
            assert!(lowest <= ratio, "{what}: {ratio} dB at sample {at} of {}", expected.len());
            let lag = lag(expected, &found, at, WINDOW, REACH);
            // Resampling begins at a whole sample.
            let is_exact = lag == 0 || (rendition != Rendition::Audio(0) && lag.abs() == 1);
            assert!(is_exact, "{what}: {lag} samples late at sample {at}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn aac_is_cut_at_the_sample() {
    check_audio(numbered::closed_gop(), 60.0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn aac_at_44100_hz_is_cut_at_the_sample() {
    check_audio(numbered::ten_second_gop(), 60.0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opus_is_cut_at_the_sample() {
    check_audio(numbered::film_rate(), 18.0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn aac_of_variable_frame_rate_is_cut_at_the_sample() {
    check_audio(numbered::variable_rate(), 60.0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn audio_alone_is_cut_at_the_sample() {
    let scene = Scene::of(fixture::containers::tone("m4a", "-c:a aac -b:a 192k -aac_pns 0")).await;
    let rate = scene.packaged.index().audio().unwrap().1.sample_rate;
    let source = audio(&scene.file, rate);
    for range_us in [0..700_000, 123_456..1_000_000, 1_500_000..9_000_000] {
        let (source_id, packaged) = scene.stored(&scene.index(range_us.clone())).await;
        let zero_us = i64::try_from(range_us.start).unwrap();
        let clip = Clip { source_frames: Vec::new(), zero_us, packaged, source: source_id };
        check_rendition(&scene, &clip, Rendition::Audio(0), (&source, rate), 60.0).await;
    }
}
