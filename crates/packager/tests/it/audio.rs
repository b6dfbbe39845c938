//! Encoded audio equals the audio of the source, in any order of encodes and requests.

use std::fs;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use kinora_domain::PlaybackId;
use kinora_formats::encode::silent_segment;
use kinora_packager::{BackfillProgress, Error, Packaged, Packager, PlaybackClient, Rendition};
use kinora_testkit::{SeededRandom, fixture};

use crate::world::TestServer;

const RATE: usize = 48_000;
const AUDIO: u8 = 0;

async fn segment(packager: &Packager, packaged: &Arc<Packaged>, number: u32) -> Result<Bytes, Error> {
    let client = PlaybackClient { playback: PlaybackId::new(&SeededRandom::default()), address: None };
    let segment = packager.encoded_audio_segment(packaged, AUDIO, number, client).await?;
    let len = segment.total_len();
    Ok(segment.stream(0..len).map(|part| part.unwrap()).collect::<Vec<_>>().await.concat().into())
}

/// The left channel of a file at 48 kHz, from 0 of its timeline on.
#[allow(clippy::disallowed_methods, reason = "an independent decoder of the result")]
pub(crate) fn decoded(file: &[u8]) -> Vec<f64> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audio.mp4");
    fs::write(&path, file).unwrap();
    let arguments = "-map 0:a:0 -af aresample=48000,aresample=48000:async=1:min_hard_comp=0.01:first_pts=0 -ac 2 -f s16le pipe:1";
    let decoder = std::process::Command::new("ffmpeg")
        .args(["-hide_banner", "-loglevel", "error", "-nostdin", "-copyts", "-i"])
        .arg(&path)
        .args(arguments.split(' '))
        .output()
        .unwrap();
    assert!(decoder.status.success(), "{}", String::from_utf8_lossy(&decoder.stderr));
    let left = decoder.stdout.chunks_exact(4);
    left.map(|frame| f64::from(i16::from_le_bytes([frame[0], frame[1]]))).collect()
}

/// Number of samples by which `late` comes after `early` around `at`, from the best match within 20 ms.
fn lag(early: &[f64], late: &[f64], at: usize) -> i64 {
    const REACH: i64 = RATE as i64 / 50;
    let window = at..at + RATE / 4;
    let correlation = |lag: i64| -> f64 {
        let pairs = window.clone().map(|n| (early[n], late[n.saturating_add_signed(lag as isize)]));
        pairs.map(|(a, b)| a * b).sum()
    };
    (-REACH..=REACH).max_by(|a, b| correlation(*a).total_cmp(&correlation(*b))).unwrap()
}

/// Signal-to-noise ratio of `found` against the source, in dB.
pub(crate) fn snr(source: &[f64], found: &[f64], range: Range<usize>) -> f64 {
    let signal: f64 = source[range.clone()].iter().map(|value| value * value).sum();
    let noise: f64 = range.map(|n| (source[n] - found[n]).powi(2)).sum();
    10.0 * (signal / noise.max(1.0)).log10()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn audio_segments_join_without_clicks_in_any_order() {
    let world = TestServer::new().await;
    let source = world.source();
    world.media_of(source).await;
    let packaged = world.store_as(source, fixture::sweep()).await;
    let cuts = packaged.index().plan.encoded_audio[usize::from(AUDIO)].clone();
    let count = u32::try_from(cuts.len() - 1).unwrap();
    assert!(count >= 4, "{cuts:?}");

    // A viewer requests a middle segment, then a backfill encodes all, then a viewer requests the first.
    let of_viewer = segment(&world.packager, &packaged, 2).await.unwrap();
    let mut reports = Vec::new();
    world.packager.backfill_audio(&packaged, AUDIO, |progress| reports.push(progress)).await.unwrap();
    assert_eq!(reports.last(), Some(&BackfillProgress { done: count.into(), total: count.into() }));

    let mut file = packaged.init(Rendition::Aac(AUDIO), 0).unwrap().to_vec();
    for number in 0..count {
        let bytes = segment(&world.packager, &packaged, number).await.unwrap();
        assert!(number != 2 || bytes == of_viewer);
        file.extend_from_slice(&bytes);
    }
    let (expected, found) = (decoded(&fixture::sweep()), decoded(&file));
    let frames = usize::try_from(*cuts.last().unwrap()).unwrap();
    assert_eq!(found.len(), frames * 1024, "all frames, and the priming hidden");
    assert!(
        expected.len() <= found.len() && found.len() < expected.len() + 1024,
        "{} {}",
        expected.len(),
        found.len()
    );
    for at in [RATE / 2, 6 * RATE, expected.len() - RATE] {
        assert_eq!(lag(&expected, &found, at), 0, "at sample {at}");
    }
    for cut in &cuts[1..cuts.len() - 1] {
        let cut = usize::try_from(*cut).unwrap() * 1024;
        let at_cut = snr(&expected, &found, cut - RATE / 50..cut + RATE / 50);
        assert!(at_cut >= 22.0, "{at_cut} dB at sample {cut}");
    }
    assert!(
        snr(&expected, &found, 0..RATE / 8).is_nan()
            || found[..RATE / 8].iter().all(|value| value.abs() < 40.0),
        "silent until it begins"
    );
}

/// Four seconds of a tone in AC-3. Its second half comes a quarter of an hour late.
#[allow(clippy::disallowed_methods, reason = "a source that no fixture is")]
fn paused() -> Bytes {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("paused.mkv");
    // Packet 62 is the first after 2 s. Its times are milliseconds.
    let arguments =
        "-f lavfi -i sine=d=4:r=48000 -c:a ac3 -bsf:a setts=ts=TS+if(gte(N\\,62)\\,900000\\,0) -f matroska";
    let status = std::process::Command::new("ffmpeg")
        .args(["-hide_banner", "-loglevel", "error", "-nostdin"])
        .args(arguments.split(' '))
        .arg(&path)
        .status()
        .unwrap();
    assert!(status.success());
    fs::read(path).unwrap().into()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn audio_after_long_gap_is_not_silent() {
    let world = TestServer::new().await;
    let source = world.source();
    world.media_of(source).await;
    let packaged = world.store_as(source, paused()).await;
    let index = packaged.index();
    let count = u32::try_from(index.plan.encoded_audio[0].len() - 1).unwrap();
    assert!(count > 200, "{count}");
    let mut last_report = None;
    world.packager.backfill_audio(&packaged, AUDIO, |progress| last_report = Some(progress)).await.unwrap();
    assert_eq!(last_report, Some(BackfillProgress { done: count.into(), total: count.into() }));
    let mut audible = Vec::new();
    for number in 0..count {
        let bytes = segment(&world.packager, &packaged, number).await.unwrap();
        if Some(&bytes[..]) != silent_segment(index, AUDIO.into(), number).as_deref() {
            audible.push(number);
        }
    }
    let seconds = |n: &u32| index.plan.encoded_audio[0][*n as usize] * 1024 / 48_000;
    assert!(audible[0] == 0 && audible.len() <= 4, "{audible:?}");
    assert!(audible.iter().any(|n| (898..=902).contains(&seconds(n))), "{audible:?}");
    // The joined segments match the audio of the source, after the pause.
    let init = packaged.init(Rendition::Aac(AUDIO), 0).unwrap();
    let last = segment(&world.packager, &packaged, count - 1).await.unwrap();
    let begins = usize::try_from(index.plan.encoded_audio[0][count as usize - 1]).unwrap() * 1024;
    let tone = decoded(&[&init[..], &last[..]].concat());
    let loud = tone[begins..].iter().filter(|value| value.abs() > 1000.0).count();
    assert!(loud > RATE, "{loud} loud samples");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unlisted_audio_segment_is_not_encoded() {
    let world = TestServer::new().await;
    let source = world.source();
    world.media_of(source).await;
    let packaged = world.store_as(source, fixture::two_seconds()).await;
    let count = u32::try_from(packaged.index().plan.encoded_audio[0].len() - 1).unwrap();
    assert!(matches!(segment(&world.packager, &packaged, count).await, Err(Error::NotListed)));
    assert!(matches!(packaged.init(Rendition::Aac(1), 0), Err(Error::NotListed)));
    assert!(matches!(packaged.playlist(Rendition::Aac(1)), Err(Error::NotListed)));
}
