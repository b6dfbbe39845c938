//! Image files of clients, decoded to PNGs and compared pixel by pixel.

use bytes::Bytes;
use kinora_engine::{Engine, EngineError, IMAGE_FILE_BYTES_MAX, ImageFileFormat, PngImage, png_size};
use kinora_testkit::fixture::{images, not_media};
use tempfile::TempDir;

use crate::fixture::{engine, ffmpeg};

/// The pixels of a PNG: red, green, blue, alpha.
struct Rgba {
    width: usize,
    values: Vec<u8>,
}

impl Rgba {
    fn of(image: &PngImage) -> Self {
        assert_eq!(png_size(&image.png), Some((image.width, image.height)));
        // PNG, 11.2.2: 8 bits a channel, RGBA, not interlaced.
        assert_eq!((image.png[24], image.png[25], image.png[28]), (8, 6, 0));
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("picture.png"), &image.png).unwrap();
        let output = ffmpeg(folder.path(), "-i picture.png -f rawvideo -pix_fmt rgba pipe:1");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.stdout.len() as u64, u64::from(image.width) * u64::from(image.height) * 4);
        Self { width: image.width as usize, values: output.stdout }
    }

    #[track_caller]
    fn check(&self, x: usize, y: usize, expected: [u8; 4], tolerance: u8) {
        let start = (y * self.width + x) * 4;
        let found = &self.values[start..start + 4];
        let is_near =
            found.iter().zip(expected).all(|(found, expected)| found.abs_diff(expected) <= tolerance);
        assert!(is_near, "{found:?} at {x}, {y} instead of {expected:?}");
    }
}

async fn decoded(engine: &Engine, file: Bytes, format: ImageFileFormat, opacity: u8) -> (PngImage, Rgba) {
    let image = engine.image_to_png(file, format, opacity).await.unwrap();
    let pixels = Rgba::of(&image);
    (image, pixels)
}

const RED: [u8; 4] = [255, 0, 0, 255];
const BLUE: [u8; 4] = [0, 0, 255, 255];

#[tokio::test]
async fn every_format_has_its_size_and_colours() {
    use ImageFileFormat::{Gif, Jpeg, Png, Webp};

    let engine = engine().await;
    for (extension, options, format, tolerance) in [
        ("png", "", Png, 0),
        ("png", "-flags +ildct", Png, 0),
        ("png", "-pix_fmt rgba64be", Png, 1),
        ("png", "-pix_fmt rgba64be -flags +ildct", Png, 1),
        ("png", "-pix_fmt rgb24", Png, 0),
        ("jpg", "-pix_fmt yuvj420p -q:v 2", Jpeg, 8),
        ("jpg", "-pix_fmt yuvj444p -q:v 2", Jpeg, 8),
        ("gif", "", Gif, 4),
        ("webp", "-lossless 1", Webp, 0),
        ("webp", "-lossless 0 -quality 95", Webp, 12),
    ] {
        let (image, pixels) = decoded(&engine, images::logo(extension, options), format, 100).await;
        assert_eq!((image.width, image.height), (64, 32), "{extension} {options}");
        pixels.check(16, 16, RED, tolerance);
        pixels.check(48, 16, BLUE, tolerance);
        pixels.check(0, 0, RED, tolerance);
        pixels.check(63, 31, BLUE, tolerance);
    }
}

#[tokio::test]
async fn opacity_is_multiplied_into_alpha() {
    let engine = engine().await;
    let half = images::plain_png("red@0.5", 8, 8, "");
    for (opacity, alpha) in [(100, 128), (80, 102), (50, 64), (1, 1), (0, 0), (255, 128)] {
        let (_, pixels) = decoded(&engine, half.clone(), ImageFileFormat::Png, opacity).await;
        pixels.check(4, 4, [255, 0, 0, alpha], 1);
    }
    let webp = images::logo("webp", "-vf colorchannelmixer=aa=0.5 -lossless 1");
    let (_, pixels) = decoded(&engine, webp, ImageFileFormat::Webp, 50).await;
    pixels.check(16, 16, [255, 0, 0, 64], 1);
}

#[tokio::test]
async fn single_pixel_and_cmyk_and_rotated_jpeg_decode() {
    let engine = engine().await;
    let (image, pixels) = decoded(&engine, images::pixel(), ImageFileFormat::Png, 100).await;
    assert_eq!((image.width, image.height), (1, 1));
    pixels.check(0, 0, RED, 0);

    let (image, pixels) = decoded(&engine, images::cmyk_jpeg(), ImageFileFormat::Jpeg, 100).await;
    assert_eq!((image.width, image.height), (16, 8));
    for x in [0, 15] {
        pixels.check(x, 4, [200, 100, 50, 255], 2);
    }

    let (image, pixels) = decoded(&engine, images::rotated_jpeg(), ImageFileFormat::Jpeg, 100).await;
    assert_eq!((image.width, image.height), (32, 64));
    pixels.check(16, 16, RED, 8);
    pixels.check(16, 48, BLUE, 8);
}

#[tokio::test]
async fn first_frame_of_a_gif_is_decoded() {
    let engine = engine().await;
    let (_, pixels) = decoded(&engine, images::animated_gif(), ImageFileFormat::Gif, 100).await;
    pixels.check(32, 16, RED, 4);
}

#[tokio::test]
async fn large_image_is_scaled_down_in_its_ratio() {
    let engine = engine().await;
    for (width, height, expected) in
        [(4096, 2, (4096, 2)), (4100, 2, (4096, 1)), (10_000, 5000, (4096, 2048)), (1, 9000, (1, 4096))]
    {
        let png = images::plain_png("red", width, height, "");
        let (image, pixels) = decoded(&engine, png, ImageFileFormat::Png, 100).await;
        assert_eq!((image.width, image.height), expected, "{width}x{height}");
        pixels.check(image.width as usize / 2, image.height as usize / 2, RED, 0);
    }
}

#[tokio::test]
async fn what_is_no_such_image_is_an_input_fault() {
    let engine = engine().await;
    let too_many = images::plain_png("red", 11_100, 5000, "");
    let webp = images::animated_webp();
    for (name, file, format) in [
        ("a web page", not_media::html(), ImageFileFormat::Png),
        ("another format", images::logo("gif", ""), ImageFileFormat::Jpeg),
        ("an animated WebP", webp, ImageFileFormat::Webp),
        ("too many pixels", too_many, ImageFileFormat::Png),
        ("an empty file", Bytes::new(), ImageFileFormat::Gif),
        ("too many bytes", vec![0; IMAGE_FILE_BYTES_MAX as usize + 1].into(), ImageFileFormat::Png),
    ] {
        let error: EngineError = engine.image_to_png(file, format, 100).await.expect_err(name);
        assert!(error.is_input_fault(), "{name}: {error:?}");
    }
}
