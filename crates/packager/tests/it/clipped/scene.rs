//! A source, and clips of it.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use kinora_blob::ObjectKey;
use kinora_domain::{PresentationId, Resolution, SourceId};
use kinora_index::{Index, Track};
use kinora_packager::{Packaged, Rendition, Segment};

use super::decoded::{Frame, frames, trimmed_frames};
use crate::world::{TestServer, on_demand_client};

/// A source to cut clips of.
pub(super) struct Scene {
    pub(super) world: TestServer,
    pub(super) source: SourceId,
    pub(super) packaged: Arc<Packaged>,
    pub(super) file: Bytes,
    /// All frames of the source.
    pub(super) frames: Vec<Frame>,
}

/// A clip, and the frames that it should show.
pub(super) struct Clip {
    pub(super) source_frames: Vec<Frame>,
    /// Its start on the timeline of the source, in microseconds.
    pub(super) zero_us: i64,
    pub(super) packaged: Arc<Packaged>,
    pub(super) source: SourceId,
}

impl Scene {
    pub(super) async fn of(file: Bytes) -> Self {
        let world = TestServer::new().await;
        let source = world.source();
        let packaged = world.store_as(source, file.clone()).await;
        let frames = if packaged.index().video().is_some() { frames(&file) } else { Vec::new() };
        Self { world, source, packaged, file, frames }
    }

    pub(super) fn index(&self, range_us: Range<u64>) -> Index {
        self.packaged.index().clip(*self.source.as_uuid().as_bytes(), range_us).unwrap()
    }

    pub(super) async fn clip(&self, range_us: &Range<u64>) -> Clip {
        let (source, packaged) = self.stored(&self.index(range_us.clone())).await;
        let source_frames = trimmed_frames(&self.file, range_us);
        let zero_us = if range_us.start == 0 { 0 } else { source_frames[0].at_us };
        Clip { source_frames, zero_us, packaged, source }
    }

    /// The stored clip of this index, under the name of the source that a media has for it.
    pub(super) async fn stored(&self, index: &Index) -> (SourceId, Arc<Packaged>) {
        // A media names the presentation as its source.
        let source = self.world.source();
        self.world.media_of(source).await;
        let presentation = PresentationId::of(source);
        let bytes = Bytes::from(index.to_bytes());
        self.world.blob.put_once(ObjectKey::Index(presentation), bytes).await.unwrap();
        let packaged = self.world.packager.packaged(presentation).await.unwrap();
        assert_eq!(packaged.index(), index, "the stored index is that of the clip");
        (source, packaged)
    }

    /// When a frame is shown, in microseconds rounded down.
    pub(super) fn at_us(&self, number: usize) -> u64 {
        let (track, _) = self.packaged.index().video().unwrap();
        let mut ticks: Vec<_> = track.samples.iter().map(|sample| sample.pts + track.shift).collect();
        ticks.sort_unstable();
        u64::try_from(ticks[number] * 1_000_000 / i64::from(track.timescale)).unwrap()
    }

    /// The number of the second keyframe.
    pub(super) fn keyframe(&self) -> usize {
        self.keyframes()[1]
    }

    /// The numbers of the keyframes.
    pub(super) fn keyframes(&self) -> Vec<usize> {
        let (track, _) = self.packaged.index().video().unwrap();
        let keys = track.samples.iter().filter(|sample| sample.is_sync);
        keys.map(|key| track.samples.iter().filter(|sample| sample.pts < key.pts).count()).collect()
    }

    /// Ranges of all kinds.
    pub(super) fn ranges(&self) -> Vec<(&'static str, Range<u64>)> {
        let (at, key, last) = (|number| self.at_us(number), self.keyframe(), self.frames.len() - 1);
        let end = self.packaged.index().facts().duration_us;
        let middle = |number| (at(number) + at(number + 1)) / 2;
        vec![
            ("from 0", 0..at(30)),
            ("from a microsecond after 0", 1..at(27)),
            ("from a keyframe", at(key)..at(key + 31)),
            ("from a keyframe to a keyframe", at(key)..at(self.keyframes()[2])),
            ("from a keyframe to the end", at(key)..end),
            ("from the frame after a keyframe", at(key + 1)..at(key + 38)),
            ("between frames", middle(key + 3)..middle(key + 20)),
            ("from any frame", at(key - 7)..at(key + 13)),
            ("a microsecond after frames", at(key + 5) + 1..at(key + 17) + 1),
            ("one frame", at(key + 9)..at(key + 10)),
            ("one microsecond", at(key + 11)..at(key + 11) + 1),
            ("in the last group, ends before the source", at(last - 10)..end - 30_000),
            ("in the last group, ends after the source", middle(last - 5)..end + 5_000_000),
        ]
    }

    async fn segment_bytes(&self, segment: Segment) -> Vec<u8> {
        let len = segment.total_len();
        segment.stream(0..len).map(|part| part.unwrap()).collect::<Vec<_>>().await.concat()
    }

    /// All bytes of a rendition: its init segment, then its segments.
    pub(super) async fn read(&self, clip: &Clip, rendition: Rendition) -> Vec<u8> {
        let (packager, packaged) = (&self.world.packager, &clip.packaged);
        let playlist = packaged.playlist(rendition).unwrap();
        let playlist = std::str::from_utf8(&playlist).unwrap();
        let count = u32::try_from(playlist.lines().filter(|line| line.ends_with(".m4s")).count()).unwrap();
        let rung = match rendition {
            Rendition::Rung(name) => Some(packaged.rung(name, Resolution::P2160).unwrap()),
            _ => None,
        };
        let mut read = match &rung {
            Some(rung) => packager.encoded_init(packaged, rung).await.unwrap().to_vec(),
            None => packaged.init(rendition, 0).unwrap().to_vec(),
        };
        for number in 0..count {
            let segment = match (rendition, &rung) {
                (_, Some(rung)) => {
                    packager.encoded_segment(packaged, rung, number, on_demand_client()).await.unwrap()
                }
                (Rendition::Aac(audio), _) => {
                    packager.encoded_audio_segment(packaged, audio, number, on_demand_client()).await.unwrap()
                }
                _ => packager.segment(packaged, rendition, number).await.unwrap(),
            };
            read.extend(self.segment_bytes(segment).await);
        }
        read
    }
}

impl Clip {
    pub(super) fn is_copied(&self) -> bool {
        self.packaged.is_video_copied(Resolution::P2160)
    }

    /// Its start in the source, in audio samples.
    pub(super) fn zero(&self, rate: u32) -> usize {
        usize::try_from((self.zero_us * i64::from(rate) + 500_000) / 1_000_000).unwrap()
    }

    /// Asserts the times of these frames, each in microseconds.
    pub(super) fn check_times(&self, found: &[Frame], name: &str) {
        let (track, _) = self.packaged.index().video().unwrap();
        let tick_us = 1_000_000 / i64::from(track.timescale) + 1;
        for (found, expected) in found.iter().zip(&self.source_frames) {
            let late = found.at_us - (expected.at_us - self.zero_us);
            assert!(late.abs() <= tick_us, "{name}: frame {} is {late} us late", expected.number);
        }
    }

    /// Asserts that a playlist lists as many seconds as the track lasts; the audio of a source may end
    /// before its video, or after it.
    pub(super) fn check_playlist(&self, rendition: Rendition, track: &Track, name: &str) {
        let playlist = self.packaged.playlist(rendition).unwrap();
        let lines = std::str::from_utf8(&playlist).unwrap().lines();
        let durations = lines.filter_map(|line| line.strip_prefix("#EXTINF:")?.strip_suffix(','));
        let listed: f64 = durations.map(|seconds| seconds.parse::<f64>().unwrap()).sum();
        let expected = track.end as f64 / f64::from(track.timescale);
        // Encoded audio has whole frames.
        let slack = if matches!(rendition, Rendition::Aac(_)) { 1024.0 / 48_000.0 } else { 0.0001 };
        let is_near = (-0.0001..slack).contains(&(listed - expected));
        assert!(is_near, "{name}: {rendition} lists {listed} s of {expected} s");
    }
}
