//! Preview clips: a few seconds of a media as an animated image. C-18.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use kinora_engine::{ClipFormat, ClipSpec, ImageSize, clip_size};
use kinora_formats::encode::Feed;
use kinora_index::{Index, Sample, Track, TrackMedia, VideoTrack};

use super::gop::{REORDERED_MAX, gop_at};
use super::target_frame::hash_of;
use super::{Image, ImageCost, ImageTask, is_limit_error, run_error};
use crate::encode::container;
use crate::{Error, Packaged, Packager, PlaybackClient};

/// Pixels that are decoded for a clip: 10 s of 4K at 30 frames a second, and the group before it.
const PIXELS_MAX: u64 = 4_000_000_000;
/// Bytes that are read for it: these 10 s at 100 Mb/s, and the group before.
const LEN_MAX: u64 = 256 << 20;
/// Longest time, in microseconds, from the first decoded frame to the first shown one. It is within the lead
/// of a feed.
const LEAD_US: i64 = 9_000_000;

/// The parameters of a clip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClipRequest {
    /// Start in milliseconds since the start of the media; a clip lasts at most 10 s.
    pub start_ms: u64,
    /// The end, after the start.
    pub end_ms: u64,
    /// Largest width in pixels, 1 to 640; never wider than the video.
    pub width: u32,
    /// Frames a second, 1 to 30.
    pub fps: u32,
    /// Image format.
    pub format: ClipFormat,
}

impl Packager {
    /// The clip, from the store or encoded now by one run. It ends with the video, and at a jump of an edit
    /// list.
    ///
    /// Errors: [`Error::NoImage`] without video, from its end on and if nothing decodes;
    /// [`Error::LimitExceeded`] if it takes too much to decode or becomes too large; [`Error::NoEncoder`];
    /// [`Error::Busy`] for too many requests at once or if the machine is too slow now.
    pub async fn clip(
        &self,
        packaged: &Arc<Packaged>,
        request: ClipRequest,
        client: PlaybackClient,
    ) -> Result<Image, Error> {
        let end_ms = packaged.video_end_ms().unwrap_or(0).min(request.end_ms);
        let length_ms = end_ms.checked_sub(request.start_ms).filter(|ms| 0 < *ms).ok_or(Error::NoImage)?;
        let (video_width, _) = packaged.default_image_size().ok_or(Error::NoImage)?;
        let ClipRequest { start_ms, width, fps, format, .. } = request;
        let width = width.min(video_width);
        let text = format!("clip {start_ms} {end_ms} {width} {fps} {format:?}");
        let make = {
            let (packager, packaged) = (self.clone(), Arc::clone(packaged));
            async move {
                let (track, video) = packaged.index().video().ok_or(Error::NoImage)?;
                let video = super::largest_video(track, video);
                let ClipSamples { samples, duration_max } =
                    clip_samples(track, video, start_ms..end_ms).ok_or(Error::NoImage)?;
                check_limits(track, video, &samples)?;
                let frames = samples.len() as u64;
                let shown = match track.media_at(samples.start) {
                    TrackMedia::Video(of_part) => of_part.display_size(),
                    TrackMedia::Audio(_) => video.display_size(),
                };
                let image = packager.overlay_image(&packaged).await?;
                let size = clip_size(ImageSize { width: shown.0, height: shown.1 }, width);
                let feed = feed(packaged.index(), track, samples, start_ms, fps)?;
                let spec = ClipSpec {
                    container: container(feed.format()),
                    start: Duration::from_micros(Feed::SINGLE_FRAMES_LEAD_US),
                    duration: Duration::from_millis(length_ms).min(duration_max),
                    width,
                    fps,
                    format,
                    overlay: image.as_ref().map(|image| image.of_frame(size)),
                    limits: super::limits(frames, video),
                };
                let result = packager.engine.clip(spec, packager.sample_stream(&packaged, feed)).await;
                result.map_err(
                    |error| if is_limit_error(&error) { Error::LimitExceeded } else { run_error(error) },
                )
            }
        };
        let task = ImageTask { cost: ImageCost::Long, hash: hash_of(&text), is_quota_exempt: false };
        self.get_or_make(packaged, task, client, Box::pin(make)).await
    }
}

/// The samples of a time range.
struct ClipSamples {
    /// The samples that are decoded for it, from a keyframe on.
    samples: Range<u32>,
    /// Time until an edit list jumps.
    duration_max: Duration,
}

/// The samples of a time range: at most slightly more than the limit, which [`check_limits`] then detects.
fn clip_samples(track: &Track, video: &VideoTrack, times_ms: Range<u64>) -> Option<ClipSamples> {
    let at = |ms| ticks(track, ms);
    let gop = gop_at(track, at(times_ms.start))?;
    let duration_us = (i128::from(gop.edit_span.shown.end) - i128::from(gop.pts)) * 1_000_000;
    let lasts_us = duration_us / i128::from(track.timescale.max(1));
    let duration_max = Duration::from_micros(lasts_us.clamp(0, u64::MAX.into()).try_into().unwrap_or(0));
    let end = at(times_ms.end).saturating_sub(track.shift).min(gop.edit_span.shown.end);
    let gop_samples = gop.sync..gop.edit_span.samples.end;
    let frames_max = usize::try_from(PIXELS_MAX / frame_pixels(video).max(1)).unwrap_or(usize::MAX);
    let read = gop_samples
        .clone()
        .zip(track.samples.range(gop_samples))
        .take(frames_max.saturating_add(REORDERED_MAX + 2));
    // A sample decoded after the end is shown after it.
    let decoded = read.take_while(|(_, sample)| sample.dts < end);
    let last = decoded.filter(|(_, sample)| sample.pts < end).last().map_or(gop.sync, |(number, _)| number);
    Some(ClipSamples { samples: gop.sync..last + 1, duration_max })
}

/// A time in ticks of a track.
fn ticks(track: &Track, ms: u64) -> i64 {
    i64::try_from(u128::from(ms) * u128::from(track.timescale.max(1)) / 1000).unwrap_or(i64::MAX)
}

/// Pixels of one frame.
fn frame_pixels(video: &VideoTrack) -> u64 {
    u64::from(video.width) * u64::from(video.height)
}

fn check_limits(track: &Track, video: &VideoTrack, samples: &Range<u32>) -> Result<(), Error> {
    let len: u64 = track.samples.range(samples.clone()).map(|sample| u64::from(sample.size)).sum();
    let exceeds_limit =
        PIXELS_MAX < frame_pixels(video).saturating_mul(samples.len() as u64) || LEN_MAX < len;
    if exceeds_limit { Err(Error::LimitExceeded) } else { Ok(()) }
}

/// The feed of the clip, which begins after the lead that all feeds have.
///
/// Frames with a long duration stay as they are. The frame shown at the start begins at 0. The last one
/// begins on the frame grid of the clip, so that it is visible however short its sample says it is.
fn feed(index: &Index, track: &Track, samples: Range<u32>, start_ms: u64, fps: u32) -> Result<Feed, Error> {
    let configuration = track.configuration_at(samples.start);
    let start = ticks(track, start_ms).saturating_sub(track.shift);
    let timescale = i128::from(track.timescale.max(1));
    let time_us = |sample: &Sample| {
        let us = (i128::from(sample.pts) - i128::from(start)) * 1_000_000;
        i64::try_from(us.div_euclid(timescale)).unwrap_or(i64::MIN)
    };
    let samples: Vec<_> = track.samples.range(samples).collect();
    let times: Vec<_> = samples.iter().map(time_us).collect();
    let times = frame_times(&times, fps);
    Feed::of_single_frames(index, track, configuration, samples.into_iter().zip(times))
        .map_err(|_| Error::NoImage)
}

/// Output times of frames in the feed, from their times in microseconds since the start of the clip. Their
/// order stays the same.
fn frame_times(times: &[i64], fps: u32) -> Vec<i64> {
    let earliest = times.iter().copied().min().unwrap_or(0);
    let first = times.iter().copied().filter(|time| *time <= 0).max();
    let last = times.iter().copied().max();
    let fps = i64::from(fps.max(1));
    let output_time = |time: i64| match time {
        _ if Some(time) == first => 0,
        // Frames before the clip keep their order; their distances are not visible.
        _ if time < 0 && earliest < -LEAD_US => {
            let scaled = i128::from(time) * i128::from(LEAD_US) / -i128::from(earliest);
            i64::try_from(scaled).unwrap_or(-LEAD_US).min(-1)
        }
        _ if 0 < time && Some(time) == last => {
            let frame = time.saturating_mul(fps).saturating_add(999_999) / 1_000_000;
            frame.saturating_mul(1_000_000) / fps
        }
        _ => time,
    };
    times.iter().copied().map(output_time).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clip_frames_start_at_clip_start_and_grid() {
        let check = |times: &[i64], fps, expected: &[i64]| assert_eq!(frame_times(times, fps), expected);
        check(&[0, 120_000, 40_000, 80_000], 15, &[0, 133_333, 40_000, 80_000]);
        check(&[-1_000_000], 15, &[0]);
        check(&[-1_000_000, -200, 200], 10, &[-1_000_000, 0, 100_000]);
        check(&[-18_000_000, -9_000_000, -1, 500_000], 10, &[-9_000_000, -4_500_000, 0, 500_000]);
        check(&[5, 100_000], 10, &[5, 100_000]);
        check(&[-20_000_000, -1, 0], 30, &[-9_000_000, -1, 0]);
        check(&[], 30, &[]);
        assert_eq!(frame_times(&[i64::MIN, i64::MAX], 30).len(), 2, "whatever an index says");
    }
}
