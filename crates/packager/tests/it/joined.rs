//! A presentation of several sources plays as those sources do in sequence.

use std::fs;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use kinora_blob::ObjectKey;
use kinora_domain::{PresentationId, Resolution};
use kinora_index::{Index, JoinedPart, RungName};
use kinora_packager::{ClipFormat, ClipRequest, Error, Mp4File, Mp4FileLimits, Packaged, Rendition, Segment};
use kinora_testkit::fixture;

use crate::thumbnails::png_at;
use crate::world::{TestServer, on_demand_client};

/// Three sources of two kinds: 2 s, 12 s of other sizes, and the first kind again.
struct Scene {
    world: TestServer,
    packaged: Arc<Packaged>,
    sources: [Bytes; 3],
}

impl Scene {
    async fn new() -> Self {
        Self::of([fixture::two_seconds(), fixture::large_two_tracks(), fixture::moov_at_end()]).await
    }

    async fn of(sources: [Bytes; 3]) -> Self {
        let world = TestServer::new().await;
        let mut parts = Vec::new();
        for file in &sources {
            let source = world.source();
            let packaged = world.store_as(source, file.clone()).await;
            parts.push((source, packaged));
        }
        let joined: Vec<_> = parts
            .iter()
            .map(|(source, packaged)| JoinedPart {
                source: *source.as_uuid().as_bytes(),
                index: packaged.index(),
            })
            .collect();
        let index = Index::join(&joined).unwrap();
        // A media names the presentation as its source.
        let presentation = world.source();
        world.media_of(presentation).await;
        let presentation = PresentationId::of(presentation);
        let bytes = Bytes::from(index.to_bytes());
        world.blob.put_once(ObjectKey::Index(presentation), bytes).await.unwrap();
        let packaged = world.packager.packaged(presentation).await.unwrap();
        assert_eq!(*packaged.index(), index, "the stored index is the joined one");
        Self { world, packaged, sources }
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

    /// When each part begins, in microseconds.
    fn begins_us(&self) -> Vec<i64> {
        let parts = self.packaged.index().parts.iter();
        let lengths = parts.map(|part| i64::try_from(part.shown_us.end).unwrap());
        let begins = lengths.scan(0, |end, length| Some(std::mem::replace(end, *end + length)));
        begins.collect()
    }

    /// Expected times of all frames of the sources, in microseconds.
    fn expected_us(&self) -> Vec<i64> {
        let parts = self.sources.iter().zip(self.begins_us());
        parts.flat_map(|(source, begin)| frames(source).into_iter().map(move |(at, _)| at + begin)).collect()
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

/// The left channel at 48 kHz, from 0 of the timeline on.
#[allow(clippy::disallowed_methods, reason = "an independent decoder of the result")]
fn audio(file: &[u8]) -> Vec<f64> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audio.mp4");
    fs::write(&path, file).unwrap();
    let decoder = std::process::Command::new("ffmpeg")
        .args(["-hide_banner", "-loglevel", "error", "-nostdin", "-copyts", "-i"])
        .arg(&path)
        .args("-map 0:a -af aresample=48000:async=1:first_pts=0 -ac 2 -f s16le pipe:1".split(' '))
        .output()
        .unwrap();
    assert!(decoder.status.success(), "{}", String::from_utf8_lossy(&decoder.stderr));
    let left = decoder.stdout.chunks_exact(4);
    left.map(|frame| f64::from(i16::from_le_bytes([frame[0], frame[1]]))).collect()
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
        let (found, expected) = (frames(&read[part]), frames(&scene.sources[part]));
        assert_eq!(hashes(&found), hashes(&expected), "part {part}");
        assert_times(found.iter().map(|(at, _)| *at), expected.iter().map(|(at, _)| at + begin), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn joined_audio_stays_aligned_with_video() {
    let tones = [440, 880, 1320];
    let scene = Scene::of(tones.map(|hz| fixture::containers::clip_with_tone(hz, 3))).await;
    let read = scene.read(Rendition::Audio(0)).await;
    for ((part, begin_us), hz) in scene.begins_us().into_iter().enumerate().zip(tones) {
        let samples = audio(&read[part]);
        // An encoded tone of 3 s has 141 frames of 1024 samples; the end of the last one is silent.
        let begin = usize::try_from(begin_us).unwrap() * 48 / 1000;
        let audible = &samples[begin + 2048..begin + 3 * 48_000 - 4096];
        let crossings = audible.windows(2).filter(|pair| pair[0] < 0.0 && 0.0 <= pair[1]).count();
        let expected = usize::try_from(hz).unwrap() * audible.len() / 48_000;
        assert!(crossings.abs_diff(expected) <= 2, "part {part}: {crossings} waves, not {expected}");
        assert!(samples[..begin].iter().all(|sample| sample.abs() < 1.0), "part {part} begins too early");
        assert!(samples.len() <= begin + 3 * 48_000 + 2048, "part {part}: {} samples", samples.len() - begin);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn joined_sources_have_discontinuity_and_init_segment() {
    let scene = Scene::new().await;
    for rendition in [Rendition::Video, Rendition::IFrames, Rendition::Audio(0)] {
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
    assert!(scene.packaged.init(Rendition::Audio(0), 2).is_err());
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
    let wide = scene.world.store(fixture::large_two_tracks()).await;
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
    let wide = scene.world.store(fixture::large_two_tracks()).await;
    let expected = scene.world.packager.clip(&wide, clip(1000, 1500), on_demand_client()).await.unwrap();
    let (found, wanted) = (found.unwrap().bytes().await.unwrap(), expected.bytes().await.unwrap());
    assert!(found == wanted, "the clip of the second part is another one");
    // The clip ends with its part.
    make_clip(clip(begins.saturating_sub(300), begins + 1000)).await.unwrap();
    let bounds = Mp4FileLimits { max_resolution: Resolution::P2160, is_video_withdrawn: false };
    for file in Mp4File::ALL {
        assert_eq!(file.renditions(&scene.packaged, bounds), None, "its audio has two sample entries");
    }
}
