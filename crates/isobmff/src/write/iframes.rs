//! Keyframes of a copied video one by one, for players that show thumbnails while seeking.

use kinora_index::{Index, Segment, Timeline, plan::presented_at, timing::TimingError};

use super::{FLAGS_SYNC, SamplePayload, SegmentHead, TrunEntry, WriteError, write_head};

/// Approximate number of listed keyframes per second: with more, a recording of keyframes only would fill a
/// playlist that no viewer needs.
const LISTED_PER_SECOND_MAX: i64 = 2;

/// The listed keyframes of the copied video, each as a segment of one sample that lasts until the next one.
///
/// Empty if there is no copy. Reads every sample once, which takes milliseconds: cache the result.
pub fn iframes(index: &Index) -> Vec<Segment> {
    let Some((track, _)) = index.video() else { return Vec::new() };
    let distance = i64::from(track.timescale) / LISTED_PER_SECOND_MAX;
    let mut listed: Vec<Segment> = Vec::new();
    for segment in &index.plan.video {
        let samples = segment.samples.clone().zip(track.samples.range(segment.samples.clone()));
        for (number, sample) in samples.filter(|(_, sample)| sample.is_sync) {
            let at = presented_at(track, &sample);
            // The very first frame is shown from the start on, and a frame after the end is not shown.
            let at = if listed.is_empty() { segment.start } else { at };
            let is_far = listed.last().is_none_or(|last| last.start.saturating_add(distance) <= at);
            if !is_far || segment.end <= at {
                continue;
            }
            if let Some(last) = listed.last_mut() {
                last.end = at;
            }
            listed.push(Segment { samples: number..number + 1, start: at, end: at });
        }
    }
    if let (Some(last), Some(segment)) = (listed.last_mut(), index.plan.video.last()) {
        last.end = segment.end;
    }
    listed
}

/// The head of one of these keyframes, and its byte range. Its init segment is that of the copy.
///
/// `iframes` are those of the index. Errors: [`WriteError::NoSuchSegment`], and those of a damaged index.
pub fn iframe_head(index: &Index, iframes: &[Segment], number: u32) -> Result<SegmentHead, WriteError> {
    let iframe = iframes.get(number as usize).ok_or(WriteError::NoSuchSegment { number })?;
    let (track, _) = index.video().ok_or(WriteError::NoSuchSegment { number })?;
    let sample = track.samples.get(iframe.samples.start).ok_or(WriteError::NoSamples { number })?;
    let configuration = track.configuration_at(iframe.samples.start);
    let timeline = Timeline::of_configuration(index, track, configuration);
    let (start, end) = (timeline.scaled(iframe.start), timeline.scaled(iframe.end));
    let too_long = |ticks| WriteError::Timing { number, source: TimingError::TooLong { ticks } };
    let entry = TrunEntry {
        duration: u32::try_from(end.saturating_sub(start)).map_err(|_| too_long(end))?,
        size: sample.size,
        flags: FLAGS_SYNC,
        composition_offset: i32::try_from(timeline.media_time).map_err(|_| too_long(timeline.media_time))?,
    };
    let mut payload = SamplePayload::default();
    payload.push(&sample);
    let decode_time = u64::try_from(start).map_err(|_| too_long(start))?;
    let bytes = write_head(number, decode_time, &[entry], payload.len);
    let total_len = bytes.len() as u64 + payload.len;
    Ok(SegmentHead { bytes, ranges: payload.ranges, total_len })
}
