//! Presentations of several sources, what is read of them, and what they should show.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use kinora_blob::ObjectKey;
use kinora_domain::{PresentationId, Resolution};
use kinora_index::{Index, RungName, SourcePart};
use kinora_packager::{Packaged, Rendition, Segment};
use kinora_testkit::fixture;

use super::decoded::{frames, has_audio};
use super::sources::other_encoder;
use crate::audio;
use crate::world::{TestServer, on_demand_client};

/// A presentation of ranges of some sources.
pub(super) struct Scene {
    pub(super) world: TestServer,
    pub(super) packaged: Arc<Packaged>,
    /// The file and the range of each part.
    pub(super) parts: Vec<(Bytes, Range<u64>)>,
}

impl Scene {
    /// Three sources of two kinds: 2 s, 12 s of another encoder, and the first kind again.
    pub(super) async fn new() -> Self {
        Self::of([fixture::two_seconds(), other_encoder(), fixture::moov_at_end()]).await
    }

    /// Whole sources.
    pub(super) async fn of(sources: [Bytes; 3]) -> Self {
        Self::of_parts(sources.map(|file| (file, 0..u64::MAX)), 0).await
    }

    /// Ranges of sources, one after another, with the number of the base.
    pub(super) async fn of_parts(parts: impl IntoIterator<Item = (Bytes, Range<u64>)>, base: usize) -> Self {
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

    pub(super) async fn rung(&self, name: RungName) -> Vec<u8> {
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
    pub(super) async fn aac(&self) -> Vec<u8> {
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
    pub(super) fn begins_us(&self) -> Vec<i64> {
        let (track, _) = self.packaged.index().video().unwrap();
        let joints = track.edit_points.iter().filter(|point| 0 < point.sample);
        let us = |ticks: i64| ticks * 1_000_000 / i64::from(track.timescale);
        let begins: Vec<_> = [0].into_iter().chain(joints.map(|point| us(point.pts))).collect();
        assert_eq!(begins.len(), self.parts.len(), "the sources have no edit points of their own");
        begins
    }

    /// The times of the frames of each part in its source, in microseconds.
    pub(super) fn source_frames_us(&self) -> Vec<Vec<i64>> {
        let of_part = |(file, range): &(Bytes, Range<u64>)| {
            let times = frames(file).into_iter().map(|(at, _)| at);
            times.filter(|at| range.contains(&at.unsigned_abs())).collect()
        };
        self.parts.iter().map(of_part).collect()
    }

    /// Expected times of all frames of the sources, in microseconds.
    pub(super) fn expected_us(&self) -> Vec<i64> {
        let parts = self.source_frames_us().into_iter().zip(self.begins_us());
        parts
            .flat_map(|(times, begin)| times.clone().into_iter().map(move |at| at - times[0] + begin))
            .collect()
    }

    /// Expected samples of the audio at 48 kHz: those of each source from its first frame on.
    pub(super) fn expected_audio(&self) -> Vec<f64> {
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
    pub(super) async fn read(&self, rendition: Rendition) -> Vec<Vec<u8>> {
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
