//! Thumbnails of real video, compared pixel by pixel.

use std::time::Duration;

use bytes::Bytes;
use kinora_engine::{
    CropWindow, DecodeReport, Engine, EngineError, Fit, ImageFormat, ImageSize, Priority,
    THUMBNAIL_INPUT_MAX, ThumbnailSpec,
};

use crate::fixture::{Pixels, engine, video};

const FORMATS: [ImageFormat; 3] = [ImageFormat::Jpg, ImageFormat::Png, ImageFormat::Webp];

/// In the size of the video.
const PNG: ThumbnailSpec = ThumbnailSpec { fit: AS_VIDEO, format: ImageFormat::Png };
const AS_VIDEO: Fit = Fit::Within { width: None, height: None };

/// 2 s of 30 frames a second with B-frames. Frame `n` is grey, its luma 3 more than that of the one before.
fn counting_frames() -> Bytes {
    video("color=s=64x36:r=30:d=2,format=yuv420p,geq=lum='16+N*3':cb=128:cr=128", "").into()
}

/// The number of the frame of [`counting_frames`] in an image.
fn number_of(pixels: &Pixels) -> u32 {
    let grey = f64::from(pixels.middle()[1]);
    // Luma 16 to 235 becomes 0 to 255.
    (grey * 219.0 / 255.0 / 3.0).round() as u32
}

#[tokio::test]
async fn thumbnail_is_last_frame_at_its_time() {
    let (engine, input) = (engine().await, counting_frames());
    let cases = [
        (None, 0),
        (Some(0), 0),
        (Some(32_000), 0),
        (Some(33_000), 1), // Frame 1 begins at 33.333 ms: times count to the millisecond.
        (Some(33_333), 1),
        (Some(65_000), 1),
        (Some(500_000), 15),
        (Some(516_000), 15),
        (Some(1_000_000), 30),
        (Some(1_966_667), 59),
        (Some(1_999_000), 59),
        (Some(2_000_000), 59), // From here on nothing is shown any more: the last frame is.
        (Some(7_200_000_000), 59),
    ];
    for (at_us, expected) in cases {
        let image = engine.thumbnail(input.clone(), at_us.map(Duration::from_micros), PNG).await.unwrap();
        assert_eq!(number_of(&Pixels::of(&image)), expected, "{at_us:?}");
    }
}

#[tokio::test]
async fn every_frame_can_be_picked_by_its_own_time() {
    let (engine, input) = (engine().await, counting_frames());
    for n in [1, 2, 3, 7, 31, 44, 58] {
        let at = Duration::from_secs(1) * n / 30;
        let image = engine.thumbnail(input.clone(), Some(at), PNG).await.unwrap();
        assert_eq!(number_of(&Pixels::of(&image)), n);
    }
}

#[tokio::test]
async fn single_keyframe_is_thumbnail_of_every_time() {
    let engine = engine().await;
    let input = Bytes::from(video("color=c=gray:s=64x36:r=30:d=1", "-frames:v 1"));
    let first = engine.thumbnail(input.clone(), None, PNG).await.unwrap();
    for at_ms in [0, 20, 5000] {
        assert_eq!(
            engine.thumbnail(input.clone(), Some(Duration::from_millis(at_ms)), PNG).await.unwrap(),
            first
        );
    }
}

async fn check_sizes(engine: &Engine, input: Vec<u8>, cases: &[(Option<u32>, Option<u32>, usize, usize)]) {
    let input = Bytes::from(input);
    for &(width, height, expected_width, expected_height) in cases {
        let spec = ThumbnailSpec { fit: Fit::Within { width, height }, ..PNG };
        let pixels = Pixels::of(&engine.thumbnail(input.clone(), None, spec).await.unwrap());
        let found = (pixels.width, pixels.height);
        assert_eq!(found, (expected_width, expected_height), "box {width:?} x {height:?}");
    }
}

#[tokio::test]
async fn thumbnail_keeps_ratio_and_is_never_upscaled() {
    let engine = engine().await;
    let wide = video("testsrc2=s=1280x720:r=30:d=0.1", "-frames:v 1");
    let cases = [
        (None, None, 1280, 720),
        (Some(200), Some(200), 200, 112),
        (Some(640), None, 640, 360),
        (None, Some(90), 160, 90),
        (Some(1279), None, 1279, 719),
        (Some(4000), Some(4000), 1280, 720),
        (Some(u32::MAX), Some(720), 1280, 720),
        (Some(1), Some(1), 1, 1),
        (Some(0), None, 1, 1),
    ];
    check_sizes(&engine, wide, &cases).await;
    let tall = video("testsrc2=s=202x360:r=30:d=0.1", "-frames:v 1");
    check_sizes(&engine, tall, &[(Some(200), Some(200), 112, 200), (None, None, 202, 360)]).await;
    let flat = video("testsrc2=s=1280x16:r=30:d=0.1", "-frames:v 1");
    check_sizes(&engine, flat, &[(Some(20), None, 20, 1)]).await;
}

#[tokio::test]
async fn thumbnail_side_is_limited() {
    let large = video("color=c=navy:s=5120x2880:r=30:d=0.1", "-frames:v 1");
    check_sizes(&engine().await, large, &[(None, None, 4096, 2304), (Some(9000), Some(9000), 4096, 2304)])
        .await;
}

#[tokio::test]
async fn anamorphic_video_gives_square_pixels_without_upscaling() {
    let anamorphic = video("testsrc2=s=320x240:r=30:d=0.1,setsar=4/3", "-frames:v 1");
    check_sizes(&engine().await, anamorphic, &[(None, None, 426, 240), (Some(160), Some(160), 160, 90)])
        .await;
}

/// Four stripes of 80 x 180, whose channels are 255 for their colour and 0 else: red, green, blue, white.
const STRIPES: &str = "color=c=red:s=320x180:r=30:d=0.1,format=rgb24,drawbox=x=80:w=80:h=180:color=0x00ff00:t=fill,\
    drawbox=x=160:w=80:h=180:color=blue:t=fill,drawbox=x=240:w=80:h=180:color=white:t=fill";

async fn fitted(engine: &Engine, input: &Bytes, fit: Fit, format: ImageFormat) -> Pixels {
    Pixels::of(&engine.thumbnail(input.clone(), None, ThumbnailSpec { fit, format }).await.unwrap())
}

#[tokio::test]
async fn exact_size_is_exact_in_every_format() {
    let engine = engine().await;
    let input = Bytes::from(video(STRIPES, "-frames:v 1"));
    let sizes = [(320, 180), (100, 100), (101, 57), (1, 1), (33, 200), (640, 90), (3, 400), (0, 7)];
    for (width, height) in sizes {
        let size = ImageSize { width, height };
        for fit in [Fit::Stretch(size), Fit::Crop(size, CropWindow::MIDDLE), Fit::Pad(size)] {
            for format in FORMATS {
                let pixels = fitted(&engine, &input, fit, format).await;
                let expected = (width.max(1) as usize, height as usize);
                assert_eq!((pixels.width, pixels.height), expected, "{fit:?} {format:?}");
            }
        }
    }
}

const RED: [u8; 3] = [255, 0, 0];
const GREEN: [u8; 3] = [0, 255, 0];
const BLUE: [u8; 3] = [0, 0, 255];
const WHITE: [u8; 3] = [255; 3];
const BLACK: [u8; 3] = [0; 3];

fn is_near(found: [u8; 3], expected: [u8; 3]) -> bool {
    found.iter().zip(expected).all(|(found, wanted)| found.abs_diff(wanted) < 40)
}

#[tokio::test]
async fn fit_modes_stretch_crop_and_pad() {
    let engine = engine().await;
    let input = Bytes::from(video(STRIPES, "-frames:v 1"));
    let square = ImageSize { width: 180, height: 180 };
    let at = |left| CropWindow { left, top: 500 };
    // Colours at the left end, left and right of the middle, and at the right end of the middle row; then in
    // the middle of the first row.
    let cases = [
        (Fit::Stretch(square), [RED, GREEN, BLUE, WHITE], GREEN),
        (Fit::Crop(square, CropWindow::MIDDLE), [GREEN, GREEN, BLUE, BLUE], GREEN),
        (Fit::Crop(square, at(0)), [RED, RED, GREEN, BLUE], RED),
        (Fit::Crop(square, at(1000)), [GREEN, BLUE, WHITE, WHITE], BLUE),
        (Fit::Crop(square, at(u16::MAX)), [GREEN, BLUE, WHITE, WHITE], BLUE),
        (Fit::Pad(square), [RED, GREEN, BLUE, WHITE], BLACK),
        (Fit::Pad(ImageSize { width: 700, height: 180 }), [BLACK, GREEN, BLUE, BLACK], GREEN),
    ];
    for (fit, row, top_colour) in cases {
        for format in FORMATS {
            let pixels = fitted(&engine, &input, fit, format).await;
            let (width, middle) = (pixels.width, pixels.height / 2);
            let found = [12, width / 2 - 30, width / 2 + 30, width - 13].map(|x| pixels.at(x, middle));
            let is_right = found.iter().zip(row).all(|(found, expected)| is_near(*found, expected));
            assert!(is_right, "{fit:?} {format:?}: {found:?} and not {row:?}");
            let top = pixels.at(width / 2 - 20, 4);
            assert!(is_near(top, top_colour), "{fit:?} {format:?}: {top:?} above, and not {top_colour:?}");
        }
    }
}

#[tokio::test]
async fn pad_bars_follow_display_aspect_ratio() {
    let engine = engine().await;
    // Shown as 426 x 240: black bars are above and below it, not left and right.
    let source = "color=c=white:s=320x240:r=30:d=0.1,setsar=4/3";
    let input = Bytes::from(video(source, "-frames:v 1"));
    let fit = Fit::Pad(ImageSize { width: 160, height: 120 });
    let pixels = fitted(&engine, &input, fit, ImageFormat::Png).await;
    let [left, top] = [pixels.at(2, 60), pixels.at(80, 5)].map(|[red, _, _]| red);
    assert!(250 < left && top < 5, "{left} {top}");
}

#[tokio::test]
async fn rgb_frame_is_frame_at_its_time() {
    let engine = engine().await;
    let small = |input: &Bytes, at, side| engine.rgb_frame(input.clone(), at, side, Priority::Prepare);
    let stripes = Bytes::from(video(STRIPES, "-frames:v 1"));
    let frame = small(&stripes, None, 32).await.unwrap();
    assert_eq!((frame.width, frame.height, frame.rgb.len()), (32, 18, 3 * 32 * 18));
    let at = |x: usize| <[u8; 3]>::try_from(&frame.rgb[3 * x..3 * x + 3]).unwrap();
    assert!(is_near(at(2), [255, 0, 0]) && is_near(at(30), [255, 255, 255]), "{:?} {:?}", at(2), at(30));
    let counting = counting_frames();
    for (at_ms, n) in [(0, 0), (500, 15), (9000, 59)] {
        let frame = small(&counting, Some(Duration::from_millis(at_ms)), 9000).await.unwrap();
        assert_eq!((frame.width, frame.height), (64, 36));
        let luma = f64::from(frame.rgb[3 * (18 * 64 + 32)]) * 219.0 / 255.0;
        assert_eq!((luma / 3.0).round() as u32, n, "at {at_ms} ms");
    }
    let refused = small(&Bytes::from_static(b"noise"), None, 32).await;
    assert!(matches!(refused, Err(EngineError::Failed { .. })), "{refused:?}");
}

#[tokio::test]
async fn rotated_video_gives_upright_thumbnail() {
    // The left half is red, the right one blue; the track states a rotation by a quarter, counterclockwise.
    let folder = tempfile::tempdir().unwrap();
    let flat = video("color=c=red:s=160x180:r=30:d=0.1,pad=320:180:0:0:blue", "-frames:v 1");
    std::fs::write(folder.path().join("flat.mp4"), flat).unwrap();
    let arguments =
        "-i flat.mp4 -c copy -metadata:s:v:0 rotate=90 -movflags +frag_keyframe+empty_moov turned.mp4";
    assert!(crate::fixture::ffmpeg(folder.path(), arguments).status.success());
    let input = std::fs::read(folder.path().join("turned.mp4")).unwrap();

    let image = engine()
        .await
        .thumbnail(
            input.into(),
            None,
            ThumbnailSpec { fit: Fit::Within { width: Some(90), height: None }, ..PNG },
        )
        .await
        .unwrap();
    let pixels = Pixels::of(&image);
    assert_eq!((pixels.width, pixels.height), (90, 160));
    let ([_, _, blue], [red, _, _]) = (pixels.at(45, 20), pixels.at(45, 140));
    assert!(200 < red && 200 < blue, "the right side is now above: {red} {blue}");
}

#[tokio::test]
async fn every_image_format_is_deterministic() {
    let engine = engine().await;
    let input = Bytes::from(video("testsrc2=s=320x180:r=30:d=0.1", "-frames:v 1"));
    let heads: [&[u8]; 3] = [b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"RIFF"];
    for (format, head) in FORMATS.into_iter().zip(heads) {
        let spec = ThumbnailSpec { format, ..PNG };
        let image = engine.thumbnail(input.clone(), None, spec).await.unwrap();
        assert!(image.starts_with(head), "{format:?}");
        assert_eq!(format == ImageFormat::Webp, image[8..].starts_with(b"WEBP"));
        assert!(!image.windows(4).any(|word| word == b"Lavc"), "{format:?} names its encoder");
        assert_eq!(engine.thumbnail(input.clone(), None, spec).await.unwrap(), image, "{format:?}");
        let exact = engine.thumbnail(input.clone(), None, PNG).await.unwrap();
        let mean = Pixels::of(&image).mean_distance(&Pixels::of(&exact));
        assert!(mean < 6.0, "{format:?} is {mean} of 255 away from what was in the video");
    }
}

#[tokio::test]
async fn thumbnail_colours_survive_every_matrix() {
    let engine = engine().await;
    for matrix in ["bt709", "smpte170m"] {
        let convert = format!("scale=out_color_matrix={matrix}:out_range=tv,format=yuv420p");
        let source = format!("color=c=0x20a040:s=320x180:r=30:d=0.1,format=rgb24,{convert}");
        let input = Bytes::from(video(&source, &format!("-frames:v 1 -colorspace {matrix}")));
        for format in FORMATS {
            let image = engine.thumbnail(input.clone(), None, ThumbnailSpec { format, ..PNG }).await.unwrap();
            let found = Pixels::of(&image).middle();
            let distance = found.iter().zip([0x20, 0xa0, 0x40]).map(|(a, b)| a.abs_diff(b)).max().unwrap();
            assert!(distance <= 4, "{matrix} {format:?}: {found:02x?}");
        }
    }
}

#[tokio::test]
async fn six_common_codecs_give_a_thumbnail_in_source_colour() {
    let engine = engine().await;
    let codecs = [
        "libx264 -preset ultrafast",
        "libx264 -preset ultrafast -profile:v high10 -pix_fmt yuv420p10le",
        "libx265 -preset ultrafast -x265-params log-level=none -tag:v hvc1",
        "libvpx-vp9 -deadline realtime -cpu-used 8",
        "libaom-av1 -usage realtime -cpu-used 8",
        "mpeg4",
    ];
    for codec in codecs {
        let folder = tempfile::tempdir().unwrap();
        let make = format!(
            "-f lavfi -i color=c=0x20a040:s=320x180:r=30:d=0.2 -c:v {codec} -movflags +faststart made.mp4"
        );
        let output = crate::fixture::ffmpeg(folder.path(), &make);
        assert!(output.status.success(), "{codec}: {}", String::from_utf8_lossy(&output.stderr));
        let input = Bytes::from(std::fs::read(folder.path().join("made.mp4")).unwrap());
        let image = engine.thumbnail(input, Some(Duration::from_millis(100)), PNG).await;
        let found = Pixels::of(&image.unwrap_or_else(|error| panic!("{codec}: {error:?}"))).middle();
        let distance = found.iter().zip([0x20, 0xa0, 0x40]).map(|(a, b)| a.abs_diff(b)).max().unwrap();
        assert!(distance <= 8, "{codec}: {found:02x?}");
    }
}

#[tokio::test]
async fn probe_decode_counts_decoded_frames() {
    let (engine, input) = (engine().await, counting_frames());
    let expected = DecodeReport { frames: 60, last_frame_at: Some(Duration::from_micros(1_966_667)) };
    assert_eq!(engine.probe_decode(input.clone()).await.unwrap(), expected);
    let half = engine.probe_decode(input.slice(..input.len() / 2)).await.unwrap();
    assert!(0 < half.frames && half.frames < 60, "{half:?}");
}

#[tokio::test]
async fn input_without_video_gives_no_frame() {
    let (engine, whole) = (engine().await, counting_frames());
    let moov_end = whole.windows(4).position(|word| word == b"moof").unwrap() - 4;
    let inputs: [(&str, Bytes); 6] = [
        ("nothing", Bytes::new()),
        ("noise", (0..9999_u32).map(|n| (n * n) as u8).collect()),
        ("a head without frames", whole.slice(..moov_end)),
        ("half a head", whole.slice(..moov_end / 2)),
        ("a picture", engine.thumbnail(whole.clone(), None, PNG).await.unwrap()),
        ("sound", audio()),
    ];
    for (what, input) in inputs {
        for at in [None, Some(Duration::from_secs(1))] {
            let result = engine.thumbnail(input.clone(), at, PNG).await;
            let refused = matches!(result, Err(EngineError::Failed { exit: Some(_) } | EngineError::NoFrame));
            assert!(refused, "{what}: {result:?}");
        }
    }
    let too_much = Bytes::from(vec![0; usize::try_from(THUMBNAIL_INPUT_MAX).unwrap() + 1]);
    let result = engine.thumbnail(too_much, None, PNG).await;
    assert!(matches!(result, Err(EngineError::InputTooLarge { .. })), "{result:?}");
}

fn audio() -> Bytes {
    let folder = tempfile::tempdir().unwrap();
    let make = "-f lavfi -i sine=d=1 -c:a aac -movflags +frag_keyframe+empty_moov sound.mp4";
    assert!(crate::fixture::ffmpeg(folder.path(), make).status.success());
    std::fs::read(folder.path().join("sound.mp4")).unwrap().into()
}
