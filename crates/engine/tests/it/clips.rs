//! Preview clips of real video.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use kinora_engine::{ClipFormat, ClipSpec, EncodeLimits, Engine, EngineError, FeedContainer};

use crate::fixture::{Pixels, engine, ffprobe, video};

fn spec(format: ClipFormat, start_ms: u64, duration_ms: u64) -> ClipSpec {
    let limits = EncodeLimits {
        deadline: Duration::from_secs(600),
        cpu: Duration::from_secs(600),
        memory_bytes: 512 << 20,
        output_max: 4 << 20,
    };
    ClipSpec {
        container: FeedContainer::Mp4,
        start: Duration::from_millis(start_ms),
        duration: Duration::from_millis(duration_ms),
        width: 320,
        fps: 15,
        format,
        overlay: None,
        limits,
    }
}

async fn clip(engine: &Engine, input: &Bytes, spec: ClipSpec) -> Result<Bytes, EngineError> {
    engine.clip(spec, stream::iter([Ok(input.clone())])).await
}

/// 2 s of 30 frames a second, each brighter than the one before. Two are decoded before the first is shown.
fn counting() -> Bytes {
    video("color=s=64x36:r=30:d=2,format=yuv420p,geq=lum='16+N*3':cb=128:cr=128", "").into()
}

/// Durations of the frames of an animated WebP (RFC 9649, 2.7.1.1), in milliseconds.
fn frames_of_webp(webp: &[u8]) -> Vec<u32> {
    let le24 = |at: usize| u32::from_le_bytes([webp[at], webp[at + 1], webp[at + 2], 0]);
    let mut frames = Vec::new();
    let mut at = 12;
    while at < webp.len() {
        let len = u32::from_le_bytes(webp[at + 4..at + 8].try_into().unwrap()) as usize;
        if webp[at..].starts_with(b"ANMF") {
            frames.push(le24(at + 8 + 12));
        }
        at += 8 + len + len % 2;
    }
    frames
}

#[tokio::test]
async fn gif_loops_and_begins_with_the_frame_at_its_start() {
    let engine = engine().await;
    let gif = clip(&engine, &counting(), spec(ClipFormat::Gif, 567, 1000)).await.unwrap();
    assert!(gif.starts_with(b"GIF89a"));
    // NETSCAPE2.0, loops for ever.
    assert!(gif.windows(16).any(|bytes| bytes == b"NETSCAPE2.0\x03\x01\0\0\0"));
    let entries = "stream=codec_name,width,height,nb_read_frames";
    assert_eq!(ffprobe(&gif, entries), "gif,64,36,N/A\n");
    let grey = f64::from(Pixels::of(&gif).middle()[1]) * 219.0 / 255.0 / 3.0;
    assert!((grey - 15.0).abs() < 1.5, "frame {grey} and not 15");
    assert_eq!(ffprobe(&gif, "packet=duration_time").lines().count(), 15);
    assert_eq!(
        clip(&engine, &counting(), spec(ClipFormat::Gif, 567, 1000)).await.unwrap(),
        gif,
        "the same again"
    );
}

#[tokio::test]
async fn webp_clip_keeps_duration_and_never_upscales() {
    let engine = engine().await;
    let webp = clip(&engine, &counting(), spec(ClipFormat::Webp, 0, 1000)).await.unwrap();
    assert!(webp.starts_with(b"RIFF") && webp[8..].starts_with(b"WEBPVP8X"));
    let le24 = |at: usize| u32::from_le_bytes([webp[at], webp[at + 1], webp[at + 2], 0]);
    assert_eq!((le24(24) + 1, le24(27) + 1), (64, 36));
    let frames = frames_of_webp(&webp);
    assert!(12 < frames.len() && frames.len() <= 15, "{frames:?}");
    let small = ClipSpec { width: 33, fps: 5, ..spec(ClipFormat::Webp, 0, 1000) };
    let webp = clip(&engine, &counting(), small).await.unwrap();
    assert_eq!((u32::from(webp[24]) + 1, u32::from(webp[27]) + 1), (33, 18));
    assert_eq!(frames_of_webp(&webp).len(), 5);
}

#[tokio::test]
async fn invalid_or_oversized_clip_is_rejected() {
    let engine = engine().await;
    for format in [ClipFormat::Gif, ClipFormat::Webp] {
        let noise: Bytes = (0..9999_u32).map(|n| (n * n) as u8).collect();
        let refused = clip(&engine, &noise, spec(format, 0, 1000)).await;
        assert!(matches!(refused, Err(EngineError::Failed { .. })), "{refused:?}");
        let refused = clip(&engine, &counting(), spec(format, 0, 11_000)).await;
        assert!(matches!(refused, Err(EngineError::InvalidSpec(_))), "{refused:?}");
        let mut small = spec(format, 0, 1000);
        small.limits.output_max = 100;
        let refused = clip(&engine, &counting(), small).await;
        assert!(matches!(refused, Err(EngineError::OutputTooLarge { max_bytes: 100 })), "{refused:?}");
    }
}
