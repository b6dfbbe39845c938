//! What the engine reads for one picture: a small file of just the samples that are needed.

use bytes::Bytes;
use kinora_index::{
    Index, Sample, SampleEntry, Segment as PlannedSegment, SegmentPlan, Track, plan::presented_at,
};
use kinora_isobmff::write::{ByteRange, init_segment, segment_head};
use kinora_matroska::{FedFrame, write_feed};

use super::moment::Moment;
use crate::{Error, Packaged, Packager};

/// How long every frame lasts, at least: a step of the grid on which the engine looks for it.
const DURATION_MIN_US: u64 = 1000;

impl Packager {
    /// A small file of just the samples that are needed: an MP4, or a Matroska where the source says only
    /// there what they are.
    pub(super) async fn input(
        &self,
        packaged: &Packaged,
        track: &Track,
        moment: &Moment,
    ) -> Result<Bytes, Error> {
        if let SampleEntry::Matroska(entry) = track.media_at(moment.samples.start).sample_entry() {
            return self.matroska(packaged, track, entry, moment).await;
        }
        let index = excerpt(packaged.index(), track, moment);
        let [track] = index.tracks.as_slice() else { return Err(Error::NoPicture) };
        let damaged = |error| Error::Damaged(Box::new(error));
        let init = init_segment(&index, track, 0).map_err(damaged)?;
        let head = segment_head(&index, track, 0).map_err(damaged)?;
        let pieces = self.samples(packaged).read(&head.ranges).await?;
        let mut input = init;
        input.extend_from_slice(&head.bytes);
        pieces.iter().for_each(|piece| input.extend_from_slice(piece));
        Ok(Bytes::from(input))
    }

    async fn matroska(
        &self,
        packaged: &Packaged,
        track: &Track,
        entry: &[u8],
        moment: &Moment,
    ) -> Result<Bytes, Error> {
        let samples: Vec<_> = track.samples.range(moment.samples.clone()).collect();
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
        let frames = samples.iter().zip(&pieces).map(|(sample, piece)| FedFrame {
            time_us: micros(sample.pts.saturating_sub(first)),
            duration_us: Some(micros(sample.duration.into()).max(DURATION_MIN_US)),
            is_key: sample.is_sync,
            bytes: piece,
        });
        Ok(Bytes::from(write_feed(entry, frames)))
    }
}

/// The same source with one segment of one track.
fn excerpt(index: &Index, track: &Track, moment: &Moment) -> Index {
    let shown = |sample: &_| presented_at(track, sample);
    let samples = || track.samples.range(moment.samples.clone());
    let start = samples().map(|sample| shown(&sample)).min().unwrap_or(0);
    let end =
        samples().map(|sample| shown(&sample) + i64::from(sample.duration.max(1))).max().unwrap_or(start + 1);
    // The rule for timestamps wants times from 0 on; only differences matter here.
    let media = track.media_at(moment.samples.start).clone();
    let (configurations, joints) = (Vec::new(), Vec::new());
    let track = Track { shift: track.shift - start, media, configurations, joints, ..track.clone() };
    let segment = PlannedSegment { samples: moment.samples.clone(), start: 0, end: end - start };
    Index {
        tracks: vec![track],
        plan: SegmentPlan { video: vec![segment], ..SegmentPlan::default() },
        ..index.clone()
    }
}
