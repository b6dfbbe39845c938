//! Input of the engine for one thumbnail: a small file with only the needed samples.

use bytes::Bytes;
use kinora_index::{
    Index, Sample, SampleEntry, Segment as PlannedSegment, SegmentPlan, Track, plan::presented_at,
};
use kinora_isobmff::write::{ByteRange, init_segment, segment_head};
use kinora_matroska::{FeedFrame, write_feed};

use super::target_frame::TargetFrame;
use crate::{Error, Packaged, Packager};

/// Shortest duration of a frame: one step of the grid on which the engine looks for it.
const DURATION_MIN_US: u64 = 1000;

impl Packager {
    /// A small file with only the needed samples: an MP4, or a Matroska if only the Matroska source states
    /// their format.
    pub(super) async fn thumbnail_input(
        &self,
        packaged: &Packaged,
        track: &Track,
        target: &TargetFrame,
    ) -> Result<Bytes, Error> {
        if let SampleEntry::Matroska(entry) = track.media_at(target.samples.start).sample_entry() {
            return self.matroska_input(packaged, track, entry, target).await;
        }
        let index = excerpt(packaged.index(), track, target);
        let [track] = index.tracks.as_slice() else { return Err(Error::NoImage) };
        let damaged = |error| Error::Damaged(Box::new(error));
        let init = init_segment(&index, track, 0).map_err(damaged)?;
        let head = segment_head(&index, track, 0).map_err(damaged)?;
        let pieces = self.samples(packaged).read(&head.ranges).await?;
        let mut input = init;
        input.extend_from_slice(&head.bytes);
        pieces.iter().for_each(|piece| input.extend_from_slice(piece));
        Ok(Bytes::from(input))
    }

    async fn matroska_input(
        &self,
        packaged: &Packaged,
        track: &Track,
        entry: &[u8],
        target: &TargetFrame,
    ) -> Result<Bytes, Error> {
        let samples: Vec<_> = track.samples.range(target.samples.clone()).collect();
        let range = |sample: &Sample| ByteRange {
            object: sample.object,
            offset: sample.offset,
            len: sample.size.into(),
        };
        let ranges: Vec<_> = samples.iter().map(range).collect();
        let pieces = self.samples(packaged).read(&ranges).await?;
        let first = samples.iter().map(|sample| sample.pts).min().unwrap_or(0);
        let micros = |ticks: i64| {
            let micros = i128::from(ticks) * 1_000_000 / i128::from(track.timescale.max(1));
            u64::try_from(micros).unwrap_or(0)
        };
        let frames = samples.iter().zip(&pieces).map(|(sample, piece)| FeedFrame {
            time_us: micros(sample.pts.saturating_sub(first)),
            duration_us: Some(micros(sample.duration.into()).max(DURATION_MIN_US)),
            is_key: sample.is_sync,
            bytes: piece,
        });
        Ok(Bytes::from(write_feed(entry, frames)))
    }
}

/// The same source with one segment of one track.
fn excerpt(index: &Index, track: &Track, target: &TargetFrame) -> Index {
    let shown = |sample: &_| presented_at(track, sample);
    let samples = || track.samples.range(target.samples.clone());
    let start = samples().map(|sample| shown(&sample)).min().unwrap_or(0);
    let end =
        samples().map(|sample| shown(&sample) + i64::from(sample.duration.max(1))).max().unwrap_or(start + 1);
    // The rule for timestamps needs times from 0 on; only differences matter here.
    let media = track.media_at(target.samples.start).clone();
    let (configurations, edit_points) = (Vec::new(), Vec::new());
    let track = Track { shift: track.shift - start, media, configurations, edit_points, ..track.clone() };
    let segment = PlannedSegment { samples: target.samples.clone(), start: 0, end: end - start };
    Index {
        tracks: vec![track],
        plan: SegmentPlan { video: vec![segment], ..SegmentPlan::default() },
        ..index.clone()
    }
}
