//! Mixed audio: each part at its time, with its loudness and fades.

use std::path::Path;
use std::time::Duration;

use kinora_engine::{
    AUDIO_SAMPLE_RATE, Downmix, EncodeLimits, EngineError, FeedContainer, MIX_PARTS_MAX,
    MIX_START_OFFSET_SAMPLES, Mix, MixPart, Priority,
};
use tempfile::TempDir;

use crate::fixture::{engine, ffmpeg};
use crate::fragments::samples;

/// Memory of one more part.
const MEMORY_A_PART: u64 = 12 << 20;

const RATE: u64 = AUDIO_SAMPLE_RATE as u64;

/// A tone of 10 s from second 10 of its timeline on.
fn tone(folder: &Path, name: &str, hz: u32, codec: &str) -> MixPart {
    let source = format!("sine=frequency={hz}:sample_rate=44100:duration=10");
    let output = ffmpeg(
        folder,
        &format!("-f lavfi -i {source} -af volume=4,asetpts=PTS+10/TB {codec} -f matroska {name}"),
    );
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let file = folder.join(name);
    let len = 10 * RATE;
    MixPart {
        file,
        container: FeedContainer::Matroska,
        downmix: Downmix::Layout,
        start: MIX_START_OFFSET_SAMPLES,
        len,
        start_in_mix: 0,
        fade_in: 0,
        fade_out: 0,
    }
}

fn mix(parts: Vec<MixPart>, seconds: u64) -> Mix {
    let limits = EncodeLimits {
        deadline: Duration::from_secs(600),
        cpu: Duration::from_secs(600),
        memory_bytes: (192 << 20) + parts.len() as u64 * MEMORY_A_PART,
        output_max: 8 << 20,
    };
    Mix { parts, len: seconds * RATE, level: None, lead: 0, priority: Priority::Prepare, limits }
}

async fn mixed(spec: &Mix) -> Result<Vec<u8>, EngineError> {
    let mut encoding = engine().await.mix(spec);
    let mut bytes = Vec::new();
    while let Some(chunk) = encoding.chunk().await {
        bytes.extend_from_slice(&chunk?);
    }
    Ok(bytes)
}

/// Amplitude of a frequency in each half second, as a share of full scale.
fn loudness(folder: &Path, hz: f64) -> Vec<f64> {
    let decoded = ffmpeg(folder, "-i mix -f f32le -ac 1 -ar 48000 pcm -y");
    assert!(decoded.status.success(), "{}", String::from_utf8_lossy(&decoded.stderr));
    let bytes = std::fs::read(folder.join("pcm")).unwrap();
    let samples: Vec<f64> =
        bytes.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()).into()).collect();
    let windows = samples.chunks_exact(24_000);
    let amplitude = |window: &[f64]| {
        let sum = |wave: fn(f64) -> f64| -> f64 {
            let angle_step = std::f64::consts::TAU * hz / 48_000.0;
            window.iter().enumerate().map(|(n, sample)| sample * wave(angle_step * n as f64)).sum()
        };
        2.0 * sum(f64::sin).hypot(sum(f64::cos)) / window.len() as f64
    };
    windows.map(amplitude).collect()
}

#[track_caller]
fn check(found: &[f64], expected: impl Fn(usize) -> f64) {
    for (half, amplitude) in found.iter().enumerate() {
        let expected = expected(half);
        assert!(
            (amplitude - expected).abs() < 0.04,
            "half second {half} has {amplitude}, not {expected}: {found:?}"
        );
    }
}

#[tokio::test]
async fn mix_keeps_time_and_loudness_of_each_part() {
    let folder = TempDir::new().unwrap();
    let base = tone(folder.path(), "below", 440, "-c:a flac");
    // From its fourth second on, for 4 s; fades in for 1 s and out for 2 s.
    let over = MixPart {
        start: MIX_START_OFFSET_SAMPLES + 4 * RATE,
        len: 4 * RATE,
        start_in_mix: 3 * RATE,
        fade_in: RATE,
        fade_out: 2 * RATE,
        ..tone(folder.path(), "over", 1000, "-c:a libmp3lame")
    };
    let bytes = mixed(&mix(vec![base, over], 12)).await.unwrap();
    let start = i64::try_from(MIX_START_OFFSET_SAMPLES).unwrap();
    let packets = samples(&bytes, 1);
    assert_eq!(packets.first().map(|packet| packet.pts), Some(start - 1024));
    let end = packets.last().map(|packet| packet.pts + 1024).unwrap();
    let over = start + 12 * 48_000;
    assert!((over..over + 2048).contains(&end), "{end}");

    std::fs::write(folder.path().join("mix"), &bytes).unwrap();
    let full = 0.5; // an eighth of full scale, four times
    // The priming of one packet shifts the decoded audio by 21 ms, less than the test measures.
    check(&loudness(folder.path(), 440.0)[..24], |half| if half < 20 { full } else { 0.0 });
    check(&loudness(folder.path(), 1000.0)[..24], |half| match half {
        6 => full * 0.25,
        7 => full * 0.75,
        8..10 => full,
        10..14 => full * (1.0 - 0.25 * (half as f64 - 9.5)),
        _ => 0.0,
    });
}

#[tokio::test]
async fn invalid_mix_is_rejected() {
    let folder = TempDir::new().unwrap();
    let part = tone(folder.path(), "a", 440, "-c:a flac");
    for spec in [
        mix(vec![], 1),
        mix(vec![part.clone()], 0),
        mix(vec![part.clone(); MIX_PARTS_MAX + 1], 1),
        mix(vec![MixPart { file: "a".into(), ..part.clone() }], 1),
    ] {
        assert!(matches!(mixed(&spec).await, Err(EngineError::InvalidSpec("the audio samples to mix"))));
    }
    let largest = mixed(&mix(vec![part.clone(); MIX_PARTS_MAX], 1)).await.unwrap();
    assert!(!samples(&largest, 1).is_empty());
    std::fs::write(folder.path().join("b"), b"\x1a\x45\xdf\xa3 and nothing of the kind").unwrap();
    let broken = MixPart { file: folder.path().join("b"), ..part.clone() };
    assert!(matches!(mixed(&mix(vec![part, broken], 1)).await, Err(EngineError::Failed { .. })));
}
