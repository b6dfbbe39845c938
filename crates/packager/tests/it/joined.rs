//! A presentation of several sources plays as those sources do in sequence.

use std::fs;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use kinora_blob::ObjectKey;
use kinora_domain::{Clock as _, PresentationId, Resolution};
use kinora_index::{Index, RungName, SourcePart};
use kinora_isobmff::boxes::{FieldReader, children};
use kinora_packager::{
    AudioMix, ClipFormat, ClipRequest, Error, Mp4File, Mp4FileLimits, Packaged, Rendition, Segment,
    SpriteSheet, ThumbnailRequest,
};
use kinora_store::{ClaimJobs, ClaimedJob, JobKind, NewJob, Tx, WorkerId, WorkspaceLimit};
use kinora_testkit::{MovableClock, SeededRandom, fixture};

use crate::audio;
use crate::thumbnails::png_at;
use crate::world::{TestServer, on_demand_client};

/// A presentation of ranges of some sources.
struct Scene {
    world: TestServer,
    packaged: Arc<Packaged>,
    /// The file and the range of each part.
    parts: Vec<(Bytes, Range<u64>)>,
}

impl Scene {
    /// Three sources of two kinds: 2 s, 12 s of another encoder, and the first kind again.
    async fn new() -> Self {
        Self::of([fixture::two_seconds(), other_encoder(), fixture::moov_at_end()]).await
    }

    /// Whole sources.
    async fn of(sources: [Bytes; 3]) -> Self {
        Self::of_parts(sources.map(|file| (file, 0..u64::MAX)), 0).await
    }

    /// Ranges of sources, one after another, with the number of the base.
    async fn of_parts(parts: impl IntoIterator<Item = (Bytes, Range<u64>)>, base: usize) -> Self {
        let parts: Vec<_> = parts.into_iter().collect();
        let world = TestServer::new().await;
        let mut sources = Vec::new();
        for (file, _) in &parts {
            let source = world.source();
            let packaged = world.store_as(source, file.clone()).await;
            sources.push((source, packaged));
        }
        let source_parts: Vec<_> = sources
            .iter()
            .zip(&parts)
            .map(|((source, packaged), (_, range_us))| SourcePart {
                source: *source.as_uuid().as_bytes(),
                index: packaged.index(),
                range_us: range_us.clone(),
            })
            .collect();
        let index = Index::of_parts(&source_parts, base).unwrap();
        // A media names the presentation as its source.
        let presentation = world.source();
        world.media_of(presentation).await;
        let presentation = PresentationId::of(presentation);
        let bytes = Bytes::from(index.to_bytes());
        world.blob.put_once(ObjectKey::Index(presentation), bytes).await.unwrap();
        let packaged = world.packager.packaged(presentation).await.unwrap();
        assert_eq!(*packaged.index(), index, "the stored index is the joined one");
        Self { world, packaged, parts }
    }

    async fn rung(&self, name: RungName) -> Vec<u8> {
        let (packager, packaged) = (&self.world.packager, &self.packaged);
        let rung = packaged.rung(name, Resolution::P2160).unwrap();
        let mut read = packager.encoded_init(packaged, &rung).await.unwrap().to_vec();
        for number in 0..u32::try_from(packaged.index().plan.encoded_video.len()).unwrap() {
            let segment =
                packager.encoded_segment(packaged, &rung, number, on_demand_client()).await.unwrap();
            read.extend(all(segment).await);
        }
        read
    }

    /// The encoded audio.
    async fn aac(&self) -> Vec<u8> {
        let (packager, packaged) = (&self.world.packager, &self.packaged);
        let mut read = packaged.init(Rendition::Aac(0), 0).unwrap().to_vec();
        for number in 0..u32::try_from(packaged.index().plan.encoded_audio[0].len() - 1).unwrap() {
            let segment =
                packager.encoded_audio_segment(packaged, 0, number, on_demand_client()).await.unwrap();
            read.extend(all(segment).await);
        }
        read
    }

    /// When each part begins, in microseconds.
    fn begins_us(&self) -> Vec<i64> {
        let (track, _) = self.packaged.index().video().unwrap();
        let joints = track.edit_points.iter().filter(|point| 0 < point.sample);
        let us = |ticks: i64| ticks * 1_000_000 / i64::from(track.timescale);
        let begins: Vec<_> = [0].into_iter().chain(joints.map(|point| us(point.pts))).collect();
        assert_eq!(begins.len(), self.parts.len(), "the sources have no edit points of their own");
        begins
    }

    /// The times of the frames of each part in its source, in microseconds.
    fn source_frames_us(&self) -> Vec<Vec<i64>> {
        let of_part = |(file, range): &(Bytes, Range<u64>)| {
            let times = frames(file).into_iter().map(|(at, _)| at);
            times.filter(|at| range.contains(&at.unsigned_abs())).collect()
        };
        self.parts.iter().map(of_part).collect()
    }

    /// Expected times of all frames of the sources, in microseconds.
    fn expected_us(&self) -> Vec<i64> {
        let parts = self.source_frames_us().into_iter().zip(self.begins_us());
        parts
            .flat_map(|(times, begin)| times.clone().into_iter().map(move |at| at - times[0] + begin))
            .collect()
    }

    /// Expected samples of the audio at 48 kHz: those of each source from its first frame on.
    fn expected_audio(&self) -> Vec<f64> {
        let begins = self.begins_us();
        let end = self.packaged.index().facts().duration_us;
        let ends = begins.iter().skip(1).copied().chain([i64::try_from(end).unwrap()]);
        let samples = |us: i64| usize::try_from((us * 48 + 500) / 1000).unwrap();
        let mut expected = Vec::new();
        for (((file, range), times), end) in self.parts.iter().zip(self.source_frames_us()).zip(ends) {
            let decoded = if has_audio(file) { audio::decoded(file) } else { Vec::new() };
            let last = samples(i64::try_from(range.end.min(1 << 40)).unwrap()).min(decoded.len());
            expected.extend(decoded.get(samples(times[0])..last).unwrap_or_default());
            expected.resize(samples(end), 0.0);
        }
        expected
    }

    /// The bytes that a player of a copied playlist reads: for each init segment its bytes and those of the
    /// segments after it.
    async fn read(&self, rendition: Rendition) -> Vec<Vec<u8>> {
        let playlist = self.packaged.playlist(rendition).unwrap();
        let mut read: Vec<Vec<u8>> = Vec::new();
        let mut number = 0;
        let mut init = Bytes::new();
        for line in std::str::from_utf8(&playlist).unwrap().lines() {
            if let Some(uri) = line.strip_prefix("#EXT-X-MAP:URI=\"") {
                let configuration = kinora_packager::init_from_name(uri.trim_end_matches('"')).unwrap();
                init = self.packaged.init(rendition, configuration).unwrap();
                read.push(init.to_vec());
            } else if line == "#EXT-X-DISCONTINUITY" {
                read.push(init.to_vec());
            } else if line.ends_with(".m4s") {
                let segment = self.world.packager.segment(&self.packaged, rendition, number).await.unwrap();
                read.last_mut().unwrap().extend(all(segment).await);
                number += 1;
            }
        }
        // A discontinuity before an init segment opened an empty entry.
        read.retain(|read| read.windows(4).any(|name| name == b"moof"));
        read
    }
}

async fn all(segment: Segment) -> Vec<u8> {
    let len = segment.total_len();
    segment.stream(0..len).map(|part| part.unwrap()).collect::<Vec<_>>().await.concat()
}

/// The time of each frame in microseconds, and the hash of its pixels.
#[allow(clippy::disallowed_methods, reason = "an independent decoder of the result")]
fn frames(file: &[u8]) -> Vec<(i64, String)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("video.mp4");
    fs::write(&path, file).unwrap();
    let decoder = std::process::Command::new("ffmpeg")
        .args(["-hide_banner", "-loglevel", "error", "-nostdin", "-copyts", "-i"])
        .arg(&path)
        .args(["-map", "0:v", "-fps_mode", "passthrough", "-enc_time_base", "1:1000000"])
        .args(["-f", "framehash", "-hash", "md5", "-"])
        .output()
        .unwrap();
    assert!(decoder.status.success(), "{}", String::from_utf8_lossy(&decoder.stderr));
    let text = String::from_utf8(decoder.stdout).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let fields = lines.map(|line| line.split(',').map(str::trim).collect::<Vec<_>>());
    fields.map(|fields| (fields[2].parse().unwrap(), fields[5].to_owned())).collect()
}

/// What ffmpeg or ffprobe writes about a file.
#[allow(clippy::disallowed_methods, reason = "an independent decoder of the result")]
fn output_of(program: &str, file: &[u8], arguments: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.mp4");
    fs::write(&path, file).unwrap();
    let mut command = std::process::Command::new(program);
    command.args(["-hide_banner", "-loglevel", "error"]);
    for word in arguments.split(' ') {
        if word == "FILE" {
            command.arg(&path)
        } else {
            command.arg(word)
        };
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn has_audio(file: &[u8]) -> bool {
    !output_of("ffprobe", file, "-select_streams a -show_entries stream=index -of csv=p=0 FILE").is_empty()
}

/// The luma of all frames of a file, scaled to this size.
fn luma(file: &[u8], (width, height): (usize, usize)) -> Vec<Vec<u8>> {
    let output = output_of(
        "ffmpeg",
        file,
        &format!(
            "-nostdin -i FILE -fps_mode passthrough -s {width}x{height} -f rawvideo -pix_fmt gray pipe:1"
        ),
    );
    output.chunks_exact(width * height).map(<[u8]>::to_vec).collect()
}

/// Checks that each fragment begins where the one before it ends, and that each sample lasts at least a
/// microsecond, the unit of browsers: players have one buffered range.
fn assert_no_gap(file: &[u8]) {
    let mdhd = children(file).find(|part| &part.kind.0 == b"moov").unwrap();
    let mdhd = mdhd.descend(&[b"trak", b"mdia", b"mdhd"]).unwrap();
    let mut mdhd = FieldReader::new(mdhd.body);
    // ISO/IEC 14496-12, 8.4.2: version 1 has times of 64 bits.
    let (version, _) = mdhd.version_and_flags().unwrap();
    mdhd.bytes(if version == 1 { 16 } else { 8 }).unwrap();
    let timescale = u64::from(mdhd.u32().unwrap());
    let fragments = children(file).filter(|part| &part.kind.0 == b"moof");
    let spans: Vec<(u64, u64)> = fragments
        .map(|moof| {
            let traf = moof.child(b"traf").unwrap();
            let mut tfdt = FieldReader::new(traf.child(b"tfdt").unwrap().body);
            let (version, _) = tfdt.version_and_flags().unwrap();
            let start = if version == 1 { tfdt.u64().unwrap() } else { tfdt.u32().unwrap().into() };
            // ISO/IEC 14496-12, 8.8.7 and 8.8.8: a duration that all samples share is in the header.
            let mut tfhd = FieldReader::new(traf.child(b"tfhd").unwrap().body);
            let (_, head_flags) = tfhd.version_and_flags().unwrap();
            assert_eq!(head_flags & 0x03, 0);
            let shared = tfhd.u32().and_then(|_| tfhd.u32()).filter(|_| head_flags & 0x08 != 0);
            let mut trun = FieldReader::new(traf.child(b"trun").unwrap().body);
            let (_, flags) = trun.version_and_flags().unwrap();
            let (count, _) = (trun.u32().unwrap(), trun.u32().unwrap());
            trun.bytes(if flags & 0x04 == 0 { 0 } else { 4 }).unwrap();
            let later_fields = (flags & 0xe00).count_ones() as usize * 4;
            let duration = (0..count).map(|_| {
                let duration = if flags & 0x100 == 0 { shared.unwrap() } else { trun.u32().unwrap() };
                trun.bytes(later_fields).unwrap();
                assert!(timescale <= u64::from(duration) * 1_000_000, "{duration} of {timescale} a second");
                u64::from(duration)
            });
            (start, start + duration.sum::<u64>())
        })
        .collect();
    assert!(1 < spans.len());
    assert!(spans.windows(2).all(|pair| pair[0].1 == pair[1].0), "{spans:?}");
}

fn assert_times(
    found: impl IntoIterator<Item = i64>,
    expected: impl IntoIterator<Item = i64>,
    slack_us: i64,
) {
    let (found, wanted): (Vec<_>, Vec<_>) = (found.into_iter().collect(), expected.into_iter().collect());
    assert_eq!(found.len(), wanted.len());
    for (frame, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
        assert!((found - wanted).abs() <= slack_us, "frame {frame} at {found} us, not {wanted}");
    }
}

fn hashes(frames: &[(i64, String)]) -> Vec<&str> {
    frames.iter().map(|(_, hash)| hash.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn joined_copy_shows_every_frame() {
    let scene = Scene::new().await;
    let read = scene.read(Rendition::Video).await;
    assert_eq!(read.len(), 3, "one for each part");
    for (part, begin) in scene.begins_us().into_iter().enumerate() {
        let (found, expected) = (frames(&read[part]), frames(&scene.parts[part].0));
        assert_eq!(hashes(&found), hashes(&expected), "part {part}");
        assert_times(found.iter().map(|(at, _)| *at), expected.iter().map(|(at, _)| at + begin), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn joined_sources_have_discontinuity_and_init_segment() {
    let scene = Scene::new().await;
    for rendition in [Rendition::Video, Rendition::IFrames] {
        let playlist = scene.packaged.playlist(rendition).unwrap();
        let playlist = std::str::from_utf8(&playlist).unwrap();
        let tags: Vec<_> = playlist
            .lines()
            .filter(|line| line.starts_with("#EXT-X-MAP") || line.starts_with("#EXT-X-DISC"))
            .collect();
        let (first, other) = ("#EXT-X-MAP:URI=\"init.mp4\"", "#EXT-X-MAP:URI=\"init-1.mp4\"");
        let expected = [first, "#EXT-X-DISCONTINUITY", other, "#EXT-X-DISCONTINUITY", first];
        assert_eq!(tags, expected, "{rendition}: {playlist}");
    }
    let index = scene.packaged.index();
    let (track, _) = index.video().unwrap();
    assert_eq!((track.configurations.len(), track.edit_points.len()), (1, 2));
    assert_eq!(index.objects.len(), 3);
    assert!(scene.packaged.init(Rendition::Video, 2).is_err());
    assert!(matches!(scene.packaged.playlist(Rendition::Audio(0)), Err(Error::NotListed)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn joined_rung_encodes_every_frame() {
    // A small source has no rung below its copy, so another one comes first.
    let scene =
        Scene::of([fixture::large_two_tracks(), fixture::two_seconds(), fixture::large_two_tracks()]).await;
    let found = frames(&scene.rung(RungName::P240).await);
    assert_times(found.iter().map(|(at, _)| *at), scene.expected_us(), 100);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_part_not_copied_encodes_all_parts() {
    let odd = fixture::containers::video_frames_in(50, "mkv", "-c:v mpeg4 -q:v 4 -g 25");
    let scene = Scene::of([fixture::high_bitrate(), odd, fixture::video_only()]).await;
    assert!(matches!(scene.packaged.playlist(Rendition::Video), Err(Error::NotListed)));
    let found = frames(&scene.rung(RungName::P240).await);
    // Matroska stores whole milliseconds.
    assert_times(found.iter().map(|(at, _)| *at), scene.expected_us(), 1000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thumbnails_of_joined_sources_show_the_right_source() {
    let scene = Scene::new().await;
    let begins = scene.packaged.index().parts[0].shown_us.end / 1000;
    let wide = scene.world.store(other_encoder()).await;
    // Their times have steps of a tenth of a second.
    for (at, of_source) in [(0, 0), (1000, 1000), (5000, 5000)] {
        let found =
            scene.world.thumbnail(&scene.packaged, png_at(begins.next_multiple_of(100) + at)).await.unwrap();
        let expected = scene.world.thumbnail(&wide, png_at(of_source)).await.unwrap();
        assert!(found == expected, "another frame is shown {at} ms behind the first part");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clips_and_mp4_files_use_one_configuration() {
    let scene = Scene::new().await;
    let begins = scene.packaged.index().parts[0].shown_us.end / 1000;
    let clip =
        |start_ms, end_ms| ClipRequest { start_ms, end_ms, width: 64, fps: 5, format: ClipFormat::Gif };
    let make_clip = async |clip| scene.world.packager.clip(&scene.packaged, clip, on_demand_client()).await;
    // Each clip is of one part, and that of the second part equals the clip of its source.
    make_clip(clip(0, 500)).await.unwrap();
    let found =
        make_clip(clip(begins.next_multiple_of(100) + 1000, begins.next_multiple_of(100) + 1500)).await;
    let wide = scene.world.store(other_encoder()).await;
    let expected = scene.world.packager.clip(&wide, clip(1000, 1500), on_demand_client()).await.unwrap();
    let (found, wanted) = (found.unwrap().bytes().await.unwrap(), expected.bytes().await.unwrap());
    assert!(found == wanted, "the clip of the second part is another one");
    // The clip ends with its part.
    make_clip(clip(begins.saturating_sub(300), begins + 1000)).await.unwrap();
    let bounds = Mp4FileLimits { max_resolution: Resolution::P2160, is_video_withdrawn: false };
    // The copy and the audio have two sample entries.
    let renditions = |file: Mp4File| file.renditions(&scene.packaged, bounds);
    let video = Rendition::Rung(RungName::P240);
    assert_eq!(renditions(Mp4File::Capped4k), Some(vec![video, Rendition::Aac(0)]));
    assert_eq!(renditions(Mp4File::AudioOnly), Some(vec![Rendition::Aac(0)]));
}

/// A chirp, so that a lag is found, and some noise.
fn chirp(rate_hz: u32, from_hz: u32, seconds: u32, layout: &str) -> String {
    format!(
        "-f lavfi -i aevalsrc=0.3*sin(2*PI*({from_hz}+300*t)*t)+0.02*random(0):s={rate_hz}:d={seconds}:c={layout}"
    )
}

const EBML_MAGIC: [u8; 4] = [0x1a, 0x45, 0xdf, 0xa3];
const H264: &str = "-c:v libx264 -preset ultrafast -bf 2 -pix_fmt yuv420p -threads 1";

/// 12 s of the size of small sources, with another decoder configuration, mono at 44.1 kHz.
fn other_encoder() -> Bytes {
    let audio = chirp(44_100, 300, 12, "mono");
    let recipe = format!(
        "-f lavfi -i testsrc2=s=160x90:r=25:d=12 {audio} -g 50 -c:v libx264 -profile:v main \
        -preset veryfast -bf 2 -pix_fmt yuv420p -threads 1 -c:a aac -b:a 96k"
    );
    fixture::containers::of_recipe("other-encoder", "mp4", &recipe)
}

/// 6 s of 320x180 with 25 frames a second, in GOPs of a second.
fn base() -> Bytes {
    let audio = chirp(48_000, 300, 6, "stereo");
    let recipe = format!("-f lavfi -i testsrc2=s=320x180:r=25:d=6 {audio} -g 25 {H264} -c:a aac -b:a 128k");
    fixture::containers::of_recipe("base", "mp4", &recipe)
}

/// 2 s of a white square with 30 frames a second, and mono audio at 44.1 kHz.
fn white_square() -> Bytes {
    let audio = chirp(44_100, 700, 2, "mono");
    let recipe = format!("-f lavfi -i color=white:s=240x240:r=30:d=2 {audio} -g 30 {H264} -c:a aac -b:a 96k");
    fixture::containers::of_recipe("white-square", "mp4", &recipe)
}

/// 3 s of a wide white frame without audio, in a codec that is not copied.
fn wide_and_silent() -> Bytes {
    let recipe = "-f lavfi -i color=white:s=480x180:r=24000/1001:d=3 -c:v mpeg4 -q:v 2 -g 12";
    fixture::containers::of_recipe("wide", "mkv", recipe)
}

/// 2 s of an upright white frame with Vorbis, whose configuration only a Matroska file has.
fn upright_webm() -> Bytes {
    let audio = chirp(44_100, 1100, 2, "stereo");
    let recipe = format!(
        "-f lavfi -i color=white:s=120x240:r=25:d=2 {audio} -g 25 -c:v libvpx -c:a libvorbis -b:a 128k"
    );
    fixture::containers::of_recipe("upright", "webm", &recipe)
}

/// 8 s of an upright frame without audio, with a pause of 0.6 s in each second: between them are 13 frames,
/// so that the pauses fall between B-frames of every level.
fn pauses() -> Bytes {
    let recipe = format!(
        "-f lavfi -i testsrc2=s=90x160:r=30:d=8 -vf select=lt(mod(n\\,30)\\,13) -fps_mode vfr -g 130 {H264} \
        -video_track_timescale 90000"
    );
    fixture::containers::of_recipe("pauses", "mp4", &recipe)
}

/// Base with an intro, an insertion and an outro that all differ from it.
async fn edited() -> Scene {
    let parts = [
        (white_square(), 0..u64::MAX),
        (base(), 0..2_990_000),
        (upright_webm(), 500_000..u64::MAX),
        (base(), 2_990_000..u64::MAX),
        (wide_and_silent(), 0..2_000_000),
    ];
    Scene::of_parts(parts, 1).await
}

/// Checks that the image is this box of the frame, and black outside of it.
fn assert_bars(frame: &[u8], across: Range<usize>, down: Range<usize>, what: &str) {
    for (row, line) in frame.chunks_exact(320).enumerate() {
        for (column, luma) in line.iter().enumerate() {
            // The edge of an image is blurred by the encoder.
            let distance =
                |at: usize, range: &Range<usize>| at.abs_diff(range.start).min(at.abs_diff(range.end));
            if distance(column, &across).min(distance(row, &down)) < 4 {
                continue;
            }
            let is_image = across.contains(&column) && down.contains(&row);
            let is_right = if is_image { 200 < *luma } else { *luma < 30 };
            assert!(is_right, "{what}: luma {luma} at {column}, {row}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parts_are_letterboxed_into_the_base() {
    let scene = edited().await;
    assert!(matches!(scene.packaged.playlist(Rendition::Video), Err(Error::NotListed)));
    let rung = scene.rung(RungName::P240).await;
    assert_no_gap(&rung);
    assert_times(frames(&rung).iter().map(|(at, _)| *at), scene.expected_us(), 1000);

    let images = luma(&rung, (320, 180));
    let counts: Vec<_> = scene.source_frames_us().iter().map(Vec::len).collect();
    assert_eq!(counts, [60, 75, 37, 75, 48]);
    let first = |part: usize| counts[..part].iter().sum::<usize>();
    let check = |part: usize, across: Range<usize>, down: Range<usize>| {
        for number in [first(part), first(part) + counts[part] / 2, first(part + 1) - 1] {
            assert_bars(
                &images[number],
                across.clone(),
                down.clone(),
                &format!("part {part}, frame {number}"),
            );
        }
    };
    check(0, 70..250, 0..180);
    check(2, 114..204, 0..180);
    check(4, 0..320, 30..150);
    // The frames of the base are those of its source.
    let source = luma(&base(), (320, 180));
    for (number, of_source) in [(first(1), 0), (first(2) - 1, 74), (first(3), 75), (first(4) - 1, 149)] {
        let difference = |other: usize| -> u64 {
            let pairs = images[number].iter().zip(&source[other]);
            pairs.map(|(one, other)| u64::from(one.abs_diff(*other))).sum()
        };
        let nearest = (0..source.len()).min_by_key(|other| difference(*other)).unwrap();
        assert_eq!(nearest, of_source, "frame {number}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pauses_in_a_part_are_no_gaps() {
    // Together their clocks make one with ticks of less than a microsecond.
    let scene = Scene::of_parts([base(), pauses()].map(|part| (part, 0..u64::MAX)), 0).await;
    assert!(1_000_000 < scene.packaged.index().video().unwrap().0.timescale);
    let rung = scene.rung(RungName::P240).await;
    assert_no_gap(&rung);
    let expected_us = scene.expected_us();
    assert!(expected_us.windows(2).any(|pair| pair[0] + 500_000 < pair[1]), "a pause");
    assert_times(frames(&rung).iter().map(|(at, _)| *at), expected_us, 1000);
    assert_no_gap(&scene.aac().await);
}

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
fn check_audio(scene: &Scene, found: &[f64], expected: &[f64]) {
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
async fn cut_out_middle_is_exact() {
    // On keyframes, and between two frames.
    for ranges in [[0..2_000_000, 4_000_000..u64::MAX], [0..2_110_000, 4_250_000..u64::MAX]] {
        let is_copied = ranges[0].end == 2_000_000;
        let scene = Scene::of_parts(ranges.map(|range| (base(), range)), 0).await;
        let expected = scene.expected_us();
        if is_copied {
            let read = scene.read(Rendition::Video).await;
            assert_eq!(read.len(), 2);
            let found: Vec<_> = read.iter().flat_map(|read| frames(read)).collect();
            assert_times(found.iter().map(|(at, _)| *at), expected, 1);
            let source = frames(&base());
            let shown = |at: i64| !(2_000_000..4_000_000).contains(&at);
            let wanted: Vec<_> = source.into_iter().filter(|(at, _)| shown(*at)).collect();
            assert_eq!(hashes(&found), hashes(&wanted));
        } else {
            assert!(matches!(scene.packaged.playlist(Rendition::Video), Err(Error::NotListed)));
            let rung = scene.rung(RungName::P240).await;
            assert_times(frames(&rung).iter().map(|(at, _)| *at), expected, 100);
        }
        check_audio(&scene, &audio::decoded(&scene.aac().await), &scene.expected_audio());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sprite_sheet_shows_all_parts() {
    let scene = edited().await;
    let (packager, packaged) = (&scene.world.packager, &scene.packaged);
    let board = packager.storyboard(packaged, SpriteSheet::Every(1), on_demand_client()).await.unwrap();
    assert_eq!((board.count, board.tile_width, board.tile_height), (12, 160, 90));
    let sheet = packager.sprite_sheet(packaged, &board, on_demand_client()).await.unwrap();
    let sheet = sheet.bytes().await.unwrap();
    let size = (board.columns as usize * 160, board.rows as usize * 90);
    let luma = luma(&sheet, size).remove(0);
    let at = |tile: usize, column: usize, row: usize| {
        let (left, top) = (tile % 10 * 160, tile / 10 * 90);
        luma[(top + row) * size.0 + left + column]
    };
    let (black, white) = (0..40, 215..=255);
    // The white square, from 0 to 2 s.
    assert!(
        black.contains(&at(1, 10, 45)) && white.contains(&at(1, 80, 45)) && black.contains(&at(1, 150, 45))
    );
    // The upright frame, from 5 s on.
    assert!(
        black.contains(&at(5, 40, 45)) && white.contains(&at(5, 80, 45)) && black.contains(&at(5, 120, 45))
    );
    // The wide one, from 9.5 s on.
    assert!(
        black.contains(&at(11, 80, 5)) && white.contains(&at(11, 3, 45)) && black.contains(&at(11, 80, 85))
    );
    // Between them the test image of the base: as in a sheet of the base alone.
    let alone = scene.world.store_of_media(base()).await;
    let board = packager.storyboard(&alone, SpriteSheet::Every(1), on_demand_client()).await.unwrap();
    let sheet = packager.sprite_sheet(&alone, &board, on_demand_client()).await.unwrap();
    let alone = self::luma(&sheet.bytes().await.unwrap(), (board.columns as usize * 160, 90)).remove(0);
    let differences =
        (0..90).flat_map(|row| (0..160).map(move |column| (column, row))).map(|(column, row)| {
            let of_alone = alone[row * board.columns as usize * 160 + 160 + column];
            u64::from(at(3, column, row).abs_diff(of_alone))
        });
    assert!(differences.sum::<u64>() / (160 * 90) < 3);
}

/// The job for files in one piece, as a worker leases it.
async fn claimed_job(world: &TestServer) -> ClaimedJob {
    let now = MovableClock::default().now();
    let kind = JobKind::Sweep; // any job will do
    let queue = kind.queue();
    let enqueue = async move |tx: &mut Tx| tx.enqueue(NewJob::due_now(kind, None, now)).await;
    world.store.write::<_, kinora_store::Error, _>(enqueue).await.unwrap();
    let claim = ClaimJobs {
        owner: WorkerId::new(&SeededRandom::default()),
        queue,
        workspace_limits: vec![WorkspaceLimit { workspace: None, limit: 1 }],
        now,
        lease_until: now.plus_seconds(600),
    };
    world.store.claim_jobs(claim).await.unwrap().remove(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_in_one_piece_hold_all_parts() {
    let scene = edited().await;
    let (packager, packaged) = (&scene.world.packager, &scene.packaged);
    let limits = Mp4FileLimits { max_resolution: Resolution::P2160, is_video_withdrawn: false };
    let job = claimed_job(&scene.world).await;
    for rendition in Mp4File::Capped4k.renditions(packaged, limits).unwrap() {
        packager.make_rendition_file(&job, packaged, rendition, Resolution::P2160, |_| {}).await.unwrap();
    }
    for file in Mp4File::ALL {
        let reader = packager.file(packaged, file, limits).await.unwrap();
        let len = reader.len();
        let bytes = reader.stream(0..len).map(|part| part.unwrap()).collect::<Vec<_>>().await.concat();
        if file == Mp4File::Capped4k {
            assert_times(frames(&bytes).iter().map(|(at, _)| *at), scene.expected_us(), 1000);
        }
        check_audio(&scene, &audio::decoded(&bytes), &scene.expected_audio());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thumbnails_have_the_bars_of_their_part() {
    let scene = edited().await;
    let image = async |time_ms| scene.world.thumbnail(&scene.packaged, png_at(time_ms)).await.unwrap();
    for (time_ms, across, down) in
        [(1000, 70..250, 0..180), (5500, 114..204, 0..180), (10_000, 0..320, 30..150)]
    {
        let image = image(time_ms).await;
        assert_eq!(be_u32(&image, 16), 320, "the width in a PNG");
        assert_bars(&luma(&image, (320, 180))[0], across, down, &format!("thumbnail at {time_ms}"));
    }
    // The base begins at 2 s.
    let alone = scene.world.store(base()).await;
    let expected = scene.world.thumbnail(&alone, png_at(1500)).await.unwrap();
    assert!(image(3500).await == expected);
    let small = ThumbnailRequest { width: Some(160), ..png_at(1000) };
    let small = scene.world.thumbnail(&scene.packaged, small).await.unwrap();
    assert_eq!((be_u32(&small, 16), be_u32(&small, 20)), (160, 90));
}

fn be_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rotated_part_is_upright() {
    let scene =
        Scene::of_parts([(fixture::rotated(), 0..u64::MAX), (fixture::two_seconds(), 0..u64::MAX)], 1).await;
    let rung = scene.rung(RungName::P240).await;
    let found = &luma(&rung, (160, 90))[25];
    // The decoder of the source applies its rotation: 90x160 becomes 50x90.
    let expected = &luma(&fixture::rotated(), (50, 90))[25];
    let (mut difference, mut bars) = (0_u64, 0_u8);
    for (row, line) in found.chunks_exact(160).enumerate() {
        for column in 0..50 {
            difference += u64::from(line[54 + column].abs_diff(expected[row * 50 + column]));
        }
        bars = bars.max(line[..50].iter().chain(&line[110..]).copied().max().unwrap());
    }
    assert!(difference / (50 * 90) < 12, "{}", difference / (50 * 90));
    assert!(bars < 30, "{bars}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parts_of_one_frame_are_joined() {
    let frame = |number: u64| (base(), number * 40_000..(number + 1) * 40_000);
    let parts = [frame(0), frame(30), frame(61), frame(12), (base(), 2_000_000..u64::MAX)];
    let scene = Scene::of_parts(parts, 4).await;
    let rung = scene.rung(RungName::P240).await;
    assert_no_gap(&rung);
    let expected_us = scene.expected_us();
    assert_eq!(expected_us[..5], [0, 40_000, 80_000, 120_000, 160_000]);
    assert_times(frames(&rung).iter().map(|(at, _)| *at), expected_us, 100);
    let aac = scene.aac().await;
    assert_no_gap(&aac);
    let (found, expected) = (audio::decoded(&aac), scene.expected_audio());
    let snr = audio::snr(&expected, &found, 0..7600);
    assert!(10.0 < snr, "{snr} dB over the short parts");
    assert!(20.0 < audio::snr(&expected, &found, 8000..4 * 48_000));
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
