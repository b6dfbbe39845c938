//! A watermark is in everything that is made from frames: its place, size and colours in the decoded pixels.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use kinora_blob::ObjectKey;
use kinora_domain::{PresentationId, Resolution, SourceId};
use kinora_formats::encode::{Rectangle, overlay_rectangle};
use kinora_index::OverlayAlign::{End, Middle, Start};
use kinora_index::{
    Index, NotCopiedReason, Overlay, OverlayAlign, OverlayLength, RungName, SourcePart, rung_name_of_size,
};
use kinora_packager::{
    ClipFormat, ClipRequest, Error, FitMode, ImageFormat, Mp4File, Mp4FileLimits, Packaged, Rendition,
    SpriteSheet, ThumbnailRequest,
};
use kinora_testkit::fixture;

use crate::damaged::overwritten;
use crate::thumbnails::png_at;
use crate::world::{TestServer, on_demand_client};

const BT709: &str = "-color_primaries bt709 -color_trc bt709 -colorspace bt709";
const BT601: &str = "-color_primaries smpte170m -color_trc smpte170m -colorspace smpte170m";

/// The colour of all sources here, and that of the watermark.
const BLUE: [u8; 3] = [0x20, 0x40, 0x90];
const ORANGE: [u8; 3] = [0xff, 0xa0, 0x00];
/// Compression and rounding of colours; in sprite sheets and clips, which have a low quality.
const COLOUR_TOLERANCE: u8 = 10;
const LOSSY_TOLERANCE: u8 = 24;
/// Distances in pixels from an edge within which compression blurs colours: inside of it, and outside.
const BLURRED: (i64, i64) = (6, 16);

#[expect(clippy::disallowed_methods, reason = "an independent encoder and decoder")]
fn ffmpeg(folder: &Path, arguments: &str) -> Vec<u8> {
    let run = Command::new("ffmpeg")
        .current_dir(folder)
        .args(["-v", "error", "-nostdin", "-y"])
        .args(arguments.split(' ').filter(|argument| !argument.is_empty()))
        .output()
        .unwrap();
    assert!(run.status.success(), "{arguments}: {}", String::from_utf8_lossy(&run.stderr));
    run.stdout
}

/// A second of one colour.
fn video(size: &str, tags: &str) -> Bytes {
    video_of(1, size, tags)
}

/// Seconds of one colour, one GOP each.
fn video_of(seconds: u32, size: &str, tags: &str) -> Bytes {
    let matrix = if tags == BT601 { "smpte170m" } else { "bt709" };
    let recipe = format!(
        "-f lavfi -i color=c=0x204090:s={size}:r=25:d={seconds},format=rgb24,scale=out_color_matrix={matrix},format=yuv420p \
         -c:v libx264 -crf 4 -g 25 {tags} -movflags +faststart"
    );
    fixture::containers::of_recipe("one-colour", "mp4", &recipe)
}

/// A watermark of one colour.
fn image(size: &str, opacity: &str) -> Bytes {
    let folder = tempfile::tempdir().unwrap();
    let source = format!("-f lavfi -i color=c=0xffa000@{opacity}:s={size},format=rgba -frames:v 1");
    Bytes::from(ffmpeg(folder.path(), &format!("{source} -c:v png -f image2pipe -")))
}

/// A small one at the upper left, with margins.
fn overlay(image: SourceId, image_size: (u16, u16)) -> Overlay {
    Overlay {
        image: *image.as_uuid().as_bytes(),
        image_size,
        x_align: Start,
        x_margin: OverlayLength::Percent(333),
        y_align: Start,
        y_margin: OverlayLength::Pixels(25),
        width: None,
        height: None,
    }
}

/// Decoded frames in RGB.
struct Frames {
    width: usize,
    height: usize,
    frames: Vec<Vec<u8>>,
    tolerance: u8,
}

impl Frames {
    fn of(file: &[u8], (width, height): (u32, u32)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), file).unwrap();
        let rgb = "-vf scale=flags=bicubic+accurate_rnd+full_chroma_int,format=rgb24 -f rawvideo -";
        let bytes = ffmpeg(folder.path(), &format!("-i file -fps_mode passthrough {rgb}"));
        let (width, height) = (width as usize, height as usize);
        let frames: Vec<_> = bytes.chunks(3 * width * height).map(<[u8]>::to_vec).collect();
        assert!(!frames.is_empty());
        assert!(frames.iter().all(|frame| frame.len() == 3 * width * height), "not {width}x{height}");
        Self { width, height, frames, tolerance: COLOUR_TOLERANCE }
    }

    /// The part of a frame of this size at this place.
    fn cut(&self, (left, top): (usize, usize), (width, height): (usize, usize)) -> Self {
        let row = |frame: &Vec<u8>, y: usize| {
            let start = 3 * (y * self.width + left);
            frame[start..start + 3 * width].to_vec()
        };
        let cut = |frame: &Vec<u8>| (top..top + height).flat_map(|y| row(frame, y)).collect();
        Self { width, height, frames: self.frames.iter().map(cut).collect(), tolerance: self.tolerance }
    }

    /// Asserts that the first, the middle and the last frame have this colour in this rectangle, with edges
    /// at ±1 pixel, and the colour of the source elsewhere.
    #[track_caller]
    fn check(&self, expected: Rectangle, colour: [u8; 3], name: &str) {
        self.check_over(BLUE, expected, colour, name);
    }

    #[track_caller]
    fn check_over(&self, background: [u8; 3], expected: Rectangle, colour: [u8; 3], name: &str) {
        let [left, top, width, height] =
            [expected.left, expected.top, expected.width, expected.height].map(|side| side as usize);
        let is_like = |pixel: &[u8], colour: [u8; 3]| {
            pixel.iter().zip(colour).all(|(one, other)| one.abs_diff(other) <= self.tolerance)
        };
        // How far a coordinate is inside of a range; negative outside.
        let depth = |at: usize, start: usize, len: usize| {
            let [at, start, end] = [at, start, start + len].map(|side| i64::try_from(side).unwrap());
            (at - start).min(end - 1 - at)
        };
        let last = self.frames.len() - 1;
        for number in BTreeSet::from([0, last / 2, last]) {
            let (frame, mut inside) = (&self.frames[number], 0);
            for (n, pixel) in frame.chunks_exact(3).enumerate() {
                let (x, y) = (n % self.width, n / self.width);
                let depth = depth(x, left, width).min(depth(y, top, height));
                let at = || format!("{name}: frame {number} at {x},{y} of {expected:?}: {pixel:?}");
                if BLURRED.0 <= depth {
                    assert!(is_like(pixel, colour), "{}, not {colour:?}", at());
                    inside += 1;
                } else if depth < -BLURRED.1 {
                    assert!(is_like(pixel, background), "{}, not {background:?}", at());
                }
            }
            assert!(0 < inside, "{name}: too small to be seen");
            self.check_edges(frame, expected, background, colour, name);
        }
    }

    /// Asserts where the luma changes, on the lines through the middle of the rectangle: ±1 pixel.
    #[track_caller]
    fn check_edges(
        &self,
        frame: &[u8],
        expected: Rectangle,
        background: [u8; 3],
        colour: [u8; 3],
        name: &str,
    ) {
        // The green of the colours here differs the most, and it is most of the luma.
        let middle = (i32::from(background[1]) + i32::from(colour[1])) / 2;
        let is_brighter = background[1] < colour[1];
        let is_drawn =
            |x: usize, y: usize| (middle < i32::from(frame[3 * (y * self.width + x) + 1])) == is_brighter;
        let (x, y) = (expected.left + expected.width / 2, expected.top + expected.height / 2);
        let columns: Vec<_> = (0..self.width).filter(|x| is_drawn(*x, y as usize)).collect();
        let rows: Vec<_> = (0..self.height).filter(|y| is_drawn(x as usize, *y)).collect();
        let found = [columns[0], columns[columns.len() - 1] + 1, rows[0], rows[rows.len() - 1] + 1];
        let edges =
            [expected.left, expected.left + expected.width, expected.top, expected.top + expected.height];
        let is_near = found.iter().zip(edges).all(|(one, other)| one.abs_diff(other as usize) <= 1);
        assert!(is_near, "{name}: edges at {found:?}, not at {edges:?}");
    }
}

/// A colour over another.
fn mixed(background: [u8; 3], colour: [u8; 3], opacity: f64) -> [u8; 3] {
    let mix = |n: usize| f64::from(background[n]) * (1.0 - opacity) + f64::from(colour[n]) * opacity;
    [0, 1, 2].map(|n| mix(n).round() as u8)
}

struct Scene {
    world: TestServer,
    packaged: Arc<Packaged>,
    overlay: Overlay,
}

impl Scene {
    async fn of(
        file: Bytes,
        image: Bytes,
        image_size: (u16, u16),
        change: impl FnOnce(&mut Overlay),
    ) -> Self {
        let world = TestServer::new().await;
        let (source, image_source) = (world.source(), world.source());
        world.media_of(source).await;
        world.blob.put_once(ObjectKey::Source(image_source), image).await.unwrap();
        let mut scanner = kinora_formats::Scanner::new(None);
        scanner.push(&file).unwrap();
        let mut overlay = overlay(image_source, image_size);
        change(&mut overlay);
        let index = scanner.finish().unwrap().into_index().unwrap().with_overlay(overlay).unwrap();
        let packaged = world.store_index(source, file, &index).await;
        Self { world, packaged, overlay }
    }

    /// An opaque watermark of 241x119 pixels over blue of 720p.
    async fn opaque() -> Self {
        Self::of(video("1280x720", BT709), image("241x119", "1"), (241, 119), |_| {}).await
    }

    fn place(&self, size: (u32, u32)) -> Rectangle {
        overlay_rectangle(&self.overlay, size)
    }

    async fn rung(&self, name: RungName) -> (Frames, (u32, u32)) {
        let (packager, packaged) = (&self.world.packager, &self.packaged);
        let rung = packaged.rung(name, Resolution::P2160).unwrap();
        let mut read = packager.encoded_init(packaged, &rung).await.unwrap().to_vec();
        for number in 0..u32::try_from(packaged.index().plan.encoded_video.len()).unwrap() {
            let segment =
                packager.encoded_segment(packaged, &rung, number, on_demand_client()).await.unwrap();
            let len = segment.total_len();
            read.extend(segment.stream(0..len).map(Result::unwrap).collect::<Vec<_>>().await.concat());
        }
        let size = (rung.width, rung.height);
        (Frames::of(&read, size), size)
    }

    /// The frames of one segment of the only rung.
    async fn segment(&self, number: u32) -> Frames {
        let (packager, packaged) = (&self.world.packager, &self.packaged);
        let [rung] = packaged.rungs(Resolution::P2160).try_into().unwrap();
        let segment = packager.encoded_segment(packaged, &rung, number, on_demand_client()).await.unwrap();
        let len = segment.total_len();
        let segment = segment.stream(0..len).map(Result::unwrap).collect::<Vec<_>>().await.concat();
        let init = packager.encoded_init(packaged, &rung).await.unwrap();
        Frames::of(&[&init[..], &segment].concat(), (rung.width, rung.height))
    }

    async fn thumbnail(&self, request: ThumbnailRequest, size: (u32, u32)) -> Frames {
        Frames::of(&self.world.thumbnail(&self.packaged, request).await.unwrap(), size)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_rung_has_the_watermark_at_its_place() {
    let aligns: [(OverlayAlign, OverlayAlign); 3] = [(Start, End), (Middle, Middle), (End, Start)];
    for (x_align, y_align) in aligns {
        let scene = Scene::of(video("1280x720", BT709), image("241x119", "0.6"), (241, 119), |overlay| {
            (overlay.x_align, overlay.y_align) = (x_align, y_align);
        });
        let scene = scene.await;
        for name in [RungName::P720, RungName::P480, RungName::P240] {
            let (frames, size) = scene.rung(name).await;
            assert_eq!(frames.frames.len(), 25);
            frames.check(scene.place(size), mixed(BLUE, ORANGE, 0.6), &format!("{name} {x_align:?}"));
        }
    }
}

#[tokio::test]
async fn thumbnail_has_the_watermark_before_it_is_fitted() {
    let scene = Scene::opaque().await;
    let size = (1280, 720);
    let place = scene.place(size);
    scene.thumbnail(png_at(500), size).await.check(place, ORANGE, "PNG");
    for format in [ImageFormat::Jpg, ImageFormat::Webp] {
        let request = ThumbnailRequest { format, ..png_at(0) };
        scene.thumbnail(request, size).await.check(place, ORANGE, &format!("{format:?}"));
    }
    let small = ThumbnailRequest { width: Some(427), ..png_at(0) };
    scene.thumbnail(small, (427, 240)).await.check(scene.place((427, 240)), ORANGE, "small");
    // A crop shows what it shows of the video: here the watermark loses its left part.
    let crop = ThumbnailRequest { width: Some(720), height: Some(720), fit: FitMode::Crop, ..png_at(0) };
    let centred = Scene::of(video("1280x720", BT709), image("241x119", "1"), (241, 119), |overlay| {
        overlay.x_margin = OverlayLength::Pixels(360);
    });
    let centred = centred.await;
    let Rectangle { left, top, width, height } = centred.place(size);
    assert!(left < 280 && 280 < left + width);
    let visible = Rectangle { left: 0, top, width: left + width - 280, height };
    centred.thumbnail(crop, (720, 720)).await.check(visible, ORANGE, "crop");
    let pad = ThumbnailRequest { width: Some(1280), height: Some(1280), fit: FitMode::Pad, ..png_at(0) };
    let frames = scene.thumbnail(pad, (1280, 1280)).await;
    frames.cut((0, 280), (1280, 720)).check(place, ORANGE, "pad");
}

#[tokio::test]
async fn sprite_sheet_and_preview_clip_have_the_watermark() {
    let scene = Scene::of(video("1280x720", BT709), image("961x479", "1"), (961, 479), |_| {}).await;
    let (packager, packaged) = (&scene.world.packager, &scene.packaged);
    let storyboard = packager.storyboard(packaged, SpriteSheet::Every(1), on_demand_client()).await.unwrap();
    let sheet = packager.sprite_sheet(packaged, &storyboard, on_demand_client()).await.unwrap();
    let (tile_width, tile_height) = (storyboard.tile_width, storyboard.tile_height);
    let size = (tile_width * storyboard.columns, tile_height * storyboard.rows);
    let mut sheet = Frames::of(&sheet.bytes().await.unwrap(), size);
    sheet.tolerance = LOSSY_TOLERANCE;
    for (_, x, y) in storyboard.tiles() {
        let tile = sheet.cut((x as usize, y as usize), (tile_width as usize, tile_height as usize));
        tile.check(scene.place((tile_width, tile_height)), ORANGE, "tile");
    }
    for format in [ClipFormat::Gif, ClipFormat::Webp] {
        let request = ClipRequest { start_ms: 0, end_ms: 600, width: 321, fps: 5, format };
        let clip = packager.clip(packaged, request, on_demand_client()).await.unwrap();
        let bytes = clip.bytes().await.unwrap();
        // The encoder of WebP merges equal frames, and the frames here are: one still.
        let count = if format == ClipFormat::Gif { 3 } else { 1 };
        let mut frames = Frames::of(&bytes, (321, 180));
        frames.tolerance = LOSSY_TOLERANCE;
        assert_eq!(frames.frames.len(), count, "{format:?}");
        frames.check(scene.place((321, 180)), ORANGE, &format!("{format:?}"));
    }
}

#[tokio::test]
async fn blurhash_shows_the_watermark() {
    let large = |overlay: &mut Overlay| overlay.width = Some(OverlayLength::Percent(5000));
    let scene = Scene::of(video("1280x720", BT709), image("61x35", "1"), (61, 35), large).await;
    let plain = scene.world.store(video("1280x720", BT709)).await;
    let packager = &scene.world.packager;
    let hash = packager.blur_hash(&scene.packaged, Some(0)).await.unwrap();
    assert_ne!(hash, packager.blur_hash(&plain, Some(0)).await.unwrap());
}

#[tokio::test]
async fn watermark_replaces_the_copy_by_a_rung() {
    let scene = Scene::opaque().await;
    let packaged = &scene.packaged;
    let (_, video) = packaged.index().video().unwrap();
    assert_eq!(video.not_copied.as_ref().unwrap().reason, NotCopiedReason::Watermark);
    assert!(!packaged.is_video_copied(Resolution::P2160));
    for rendition in [Rendition::Video, Rendition::IFrames] {
        assert!(matches!(packaged.playlist(rendition), Err(Error::NotListed)), "{rendition}");
    }
    let names: Vec<_> = packaged.rungs(Resolution::P2160).iter().map(|rung| rung.name).collect();
    assert_eq!(names[0], rung_name_of_size(1280, 720).unwrap());
    let limits = Mp4FileLimits { max_resolution: Resolution::P2160, is_video_withdrawn: false };
    let renditions = Mp4File::Capped4k.renditions(packaged, limits, &[]).unwrap();
    assert_eq!(renditions, [Rendition::Rung(RungName::P720)]);
}

#[tokio::test]
async fn watermark_has_the_colours_of_the_rung() {
    for (name, tags) in [("BT.601", BT601), ("no description", ""), ("BT.709", BT709)] {
        let scene = Scene::of(video("320x180", tags), image("601x299", "1"), (601, 299), |_| {}).await;
        let (frames, size) = scene.rung(RungName::P240).await;
        // Without a description ffmpeg decodes the whole frame as BT.601.
        let background = if tags.is_empty() { frames.frames[0][..3].try_into().unwrap() } else { BLUE };
        frames.check_over(background, scene.place(size), ORANGE, name);
        scene.thumbnail(png_at(0), (320, 180)).await.check_over(
            background,
            scene.place((320, 180)),
            ORANGE,
            name,
        );
    }
}

#[tokio::test]
async fn tone_mapping_leaves_the_watermark_unchanged() {
    let all = |overlay: &mut Overlay| {
        (overlay.x_margin, overlay.y_margin) = (OverlayLength::ZERO, OverlayLength::ZERO);
        (overlay.width, overlay.height) =
            (Some(OverlayLength::Percent(5000)), Some(OverlayLength::Percent(10_000)));
    };
    let scene = Scene::of(fixture::hevc_hdr10(), image("10x10", "1"), (10, 10), all).await;
    let (frames, size) = scene.rung(RungName::P240).await;
    let Rectangle { width, height, .. } = scene.place(size);
    assert_eq!((width, height), (80, 90));
    let covered = frames.cut((0, 0), (76, 90));
    covered.check_over(BLUE, Rectangle { left: 0, top: 0, width: 76, height: 90 }, ORANGE, "HDR10");
}

#[tokio::test]
async fn watermark_of_joined_parts_is_drawn_over_their_bars() {
    let world = TestServer::new().await;
    let (wide, high) = (video("320x180", BT709), video("180x320", BT709));
    let (one, two) = (world.source(), world.source());
    let (wide, high) = (world.store_as(one, wide).await, world.store_as(two, high).await);
    let image_source = world.source();
    world.blob.put_once(ObjectKey::Source(image_source), image("61x35", "1")).await.unwrap();
    let overlay = Overlay { width: Some(OverlayLength::Percent(2000)), ..overlay(image_source, (61, 35)) };
    let part = |source: SourceId, packaged| SourcePart {
        source: *source.as_uuid().as_bytes(),
        index: packaged,
        range_us: 0..1_000_000,
    };
    let parts = [part(one, wide.index()), part(two, high.index())];
    let index = Index::of_parts(&parts, 0).unwrap().with_overlay(overlay).unwrap();
    let presentation = world.source();
    world.media_of(presentation).await;
    let presentation = PresentationId::of(presentation);
    let bytes = Bytes::from(index.to_bytes());
    world.blob.put_once(ObjectKey::Index(presentation), bytes).await.unwrap();
    let packaged = world.packager.packaged(presentation).await.unwrap();
    let scene = Scene { world, packaged, overlay };
    let (frames, size) = scene.rung(RungName::P240).await;
    assert_eq!((frames.frames.len(), size), (50, (320, 180)));
    let place = scene.place(size);
    // The image of the high part is in the columns from 110 to 210.
    assert!(place.left + place.width < 100);
    let left = |frames: &Frames, n: usize| {
        let cut = frames.cut((0, 0), (100, 180));
        Frames { frames: vec![cut.frames[n].clone()], ..cut }
    };
    left(&frames, 0).check(place, ORANGE, "first part");
    left(&frames, 49).check_over([0; 3], place, ORANGE, "second part");
    for (time_ms, background) in [(500, BLUE), (1500, [0; 3])] {
        let still = scene.thumbnail(png_at(time_ms), size).await;
        left(&still, 0).check_over(background, place, ORANGE, "thumbnail");
    }
    let (packager, packaged) = (&scene.world.packager, &scene.packaged);
    let storyboard = packager.storyboard(packaged, SpriteSheet::Every(1), on_demand_client()).await.unwrap();
    let sheet = packager.sprite_sheet(packaged, &storyboard, on_demand_client()).await.unwrap();
    let mut sheet = Frames::of(&sheet.bytes().await.unwrap(), (160 * storyboard.columns, 90));
    sheet.tolerance = LOSSY_TOLERANCE;
    for (n, background) in [(0, BLUE), (1, [0; 3])] {
        let tile = sheet.cut((160 * n, 0), (50, 90));
        tile.check_over(background, scene.place((160, 90)), ORANGE, "tile");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn frames_in_place_of_damaged_ones_have_the_watermark_once() {
    let file = video_of(12, "320x180", BT709);
    let mut scanner = kinora_formats::Scanner::new(None);
    scanner.push(&file).unwrap();
    let intact = scanner.finish().unwrap().into_index().unwrap();
    let (track, _) = intact.video().unwrap();
    let colour = |background| mixed(background, ORANGE, 0.6);
    for (seconds, number, background) in [(0..2, 0, [0; 3]), (2..4, 1, BLUE)] {
        let damaged = overwritten(file.clone(), track, 25 * seconds.start..25 * seconds.end);
        let scene = Scene::of(damaged, image("601x299", "0.6"), (601, 299), |_| {}).await;
        let frames = scene.segment(number).await;
        assert_eq!(frames.frames.len(), 1, "segment {number} does not decode");
        let place = scene.place((320, 180));
        frames.check_over(background, place, colour(background), &format!("segment {number}"));
    }
}

#[tokio::test]
async fn watermark_without_its_image_is_gone() {
    let scene = Scene::opaque().await;
    let world = TestServer::new().await;
    let source = world.source();
    let packaged = world.store_index(source, video("1280x720", BT709), scene.packaged.index()).await;
    let error = world.thumbnail(&packaged, png_at(0)).await.unwrap_err();
    assert!(matches!(error.root(), Error::Gone), "{error:?}");
}
