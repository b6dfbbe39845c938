//! Audio of joined parts, compared with that of the sources.

use std::time::Duration;

use kinora_packager::AudioMix;

use super::decoded::assert_no_gap;
use super::scene::Scene;
use super::sources::{EBML_MAGIC, edited};
use crate::audio;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn joined_audio_equals_that_of_the_sources() {
    let scene = edited().await;
    let (found, expected) = (scene.aac().await, scene.expected_audio());
    assert_no_gap(&found);
    check_audio(&scene, &audio::decoded(&found), &expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn backfilled_joined_audio_equals_that_of_the_sources() {
    let scene = edited().await;
    let mut done = Vec::new();
    scene
        .world
        .packager
        .backfill_audio(&scene.packaged, 0, |progress| done.push(progress.done))
        .await
        .unwrap();
    assert_eq!(done.last(), Some(&(scene.packaged.index().plan.encoded_audio[0].len() as u64 - 1)));
    check_audio(&scene, &audio::decoded(&scene.aac().await), &scene.expected_audio());
}

/// Number of samples by which `late` comes after `early` around `at`, from the best match within 10 ms.
fn lag(early: &[f64], late: &[f64], at: usize) -> i64 {
    let window = at..at + 4800;
    let difference = |lag: i64| -> f64 {
        let pairs = window.clone().map(|n| early[n] - late[n.saturating_add_signed(lag as isize)]);
        pairs.map(|difference| difference * difference).sum()
    };
    // A wave later is nearly as good: it must be clearly better than no lag.
    let energy: f64 = window.clone().map(|n| early[n] * early[n]).sum();
    let cost = |lag: i64| difference(lag) + if lag == 0 { 0.0 } else { energy / 20.0 };
    (-480..=480).min_by(|a, b| cost(*a).total_cmp(&cost(*b))).unwrap()
}

/// Compares audio with what is expected at the start, in the middle and at the end of every part.
pub(super) fn check_audio(scene: &Scene, found: &[f64], expected: &[f64]) {
    assert!(found.len() + 4096 >= expected.len() && found.len() <= expected.len() + 2048, "{}", found.len());
    let mut padded = found.to_vec();
    padded.resize(expected.len() + 48_000, 0.0);
    let mut padded_expected = expected.to_vec();
    padded_expected.resize(expected.len() + 48_000, 0.0);
    let begins: Vec<_> =
        scene.begins_us().iter().map(|us| usize::try_from(us * 48 / 1000).unwrap()).collect();
    let ends = begins.iter().skip(1).copied().chain([expected.len()]);
    for (part, (begin, end)) in begins.iter().copied().zip(ends).enumerate() {
        if expected[begin + 100..end].iter().all(|sample| *sample == 0.0) {
            // Nothing of the part before is heard, except for what the encoder spreads over a frame.
            let loudest =
                padded[begin + 1100..end].iter().fold(0.0, |most: f64, sample| most.max(sample.abs()));
            assert!(loudest < 20.0, "part {part} is silent, but has {loudest}");
            continue;
        }
        // WebM has times of whole milliseconds.
        let is_webm = scene.parts[part].0.starts_with(&EBML_MAGIC);
        for at in [begin, (begin + end) / 2, end - 5500] {
            let at = at.max(1000);
            let lag = lag(&padded_expected, &padded, at);
            let lag_max = if is_webm { 48 } else { 2 };
            assert!(lag.abs() <= lag_max, "part {part}: {lag} samples late at {at}");
        }
        let snr = audio::snr(&padded_expected, &padded, begin + 100..end - 100);
        assert!(is_webm || 15.0 < snr, "part {part}: {snr} dB");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn joined_audio_can_be_mixed() {
    let scene = edited().await;
    let (folder, expected) = (tempfile::tempdir().unwrap(), scene.expected_audio());
    let len = Duration::from_micros(scene.packaged.index().facts().duration_us);
    let base_audio = Some((&*scene.packaged, 0));
    let mix = scene.world.packager.mix(len, base_audio, &[], folder.path(), |_| Ok(())).await.unwrap();
    let (mut mix, mut file) = (mix.unwrap(), Vec::new());
    while let Some(chunk) = mix.chunk().await {
        file.extend(chunk.unwrap());
    }
    let found = audio::decoded(&file);
    check_audio(&scene, &found[usize::try_from(AudioMix::START).unwrap()..], &expected);
}
