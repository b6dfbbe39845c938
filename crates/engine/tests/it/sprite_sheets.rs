//! Sprite sheets of real video.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use kinora_engine::{EncodeLimits, Engine, EngineError, FeedContainer, ImageSize, Priority, SpriteSheetSpec};

use crate::fixture::{Pixels, engine, ffprobe, video};

fn spec(columns: u32, rows: u32, count: u32) -> SpriteSheetSpec {
    let limits = EncodeLimits {
        deadline: Duration::from_secs(600),
        cpu: Duration::from_secs(600),
        memory_bytes: 512 << 20,
        output_max: 1 << 20,
    };
    SpriteSheetSpec {
        container: FeedContainer::Mp4,
        tile: ImageSize { width: 32, height: 18 },
        columns,
        rows,
        count,
        // Its first frame is shown at that second, because two frames are decoded before it.
        start_s: 2,
        overlay: None,
        priority: Priority::Prepare,
        limits,
    }
}

async fn sheet(engine: &Engine, input: &Bytes, spec: SpriteSheetSpec) -> Result<Bytes, EngineError> {
    engine.sprite_sheet(spec, stream::iter([Ok(input.clone())])).await
}

/// Ten frames, one a second, each brighter than the one before.
fn steps() -> Bytes {
    video("color=s=64x36:r=1:d=10,format=yuv420p,geq=lum='16+N*20':cb=128:cr=128", "").into()
}

#[tokio::test]
async fn tiles_show_their_second_and_unused_are_black() {
    let engine = engine().await;
    let bytes = sheet(&engine, &steps(), spec(4, 3, 10)).await.unwrap();
    assert_eq!(ffprobe(&bytes, "stream=codec_name,width,height"), "mjpeg,128,54\n");
    let pixels = Pixels::of(&bytes);
    for n in 0..12 {
        let pixel = pixels.at(n % 4 * 32 + 16, n / 4 * 18 + 9);
        let [grey, ..] = pixel;
        assert!(pixel.iter().all(|value| value.abs_diff(grey) < 3), "tile {n} has a colour: {pixel:?}");
        let expected = if n < 10 { n as f64 * 20.0 * 255.0 / 219.0 } else { 0.0 };
        assert!((f64::from(grey) - expected).abs() < 4.0, "tile {n}: {grey} and not {expected}");
    }
    assert_eq!(sheet(&engine, &steps(), spec(4, 3, 10)).await.unwrap(), bytes, "the same bytes again");
}

#[tokio::test]
async fn tiles_after_the_last_frame_repeat_it() {
    let pixels = Pixels::of(&sheet(&engine().await, &steps(), spec(20, 1, 20)).await.unwrap());
    let grey = |n: usize| pixels.at(n * 32 + 16, 9)[0];
    assert!(grey(8) + 10 < grey(9) && grey(9).abs_diff(grey(19)) < 3, "{} {} {}", grey(8), grey(9), grey(19));
}

#[tokio::test]
async fn invalid_sprite_sheet_is_rejected() {
    let engine = engine().await;
    let noise: Bytes = (0..9999_u32).map(|n| (n * n) as u8).collect();
    let refused = sheet(&engine, &noise, spec(2, 2, 4)).await;
    assert!(matches!(refused, Err(EngineError::Failed { .. })), "{refused:?}");
    let refused = sheet(&engine, &steps(), spec(2, 2, 5)).await;
    assert!(matches!(refused, Err(EngineError::InvalidSpec(_))), "{refused:?}");
    let broken = engine.sprite_sheet(spec(2, 2, 4), stream::iter([Err(std::io::Error::other("gone"))])).await;
    assert!(matches!(broken, Err(EngineError::Input(_))), "{broken:?}");
}
