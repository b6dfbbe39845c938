//! A few seconds of a media as a picture that moves. C-18.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use kinora_engine::{ClipFormat, ClipSpec};
use kinora_formats::encode::Feed;
use kinora_index::{Index, Sample, Track, VideoTrack};

use super::gop::{REORDERED_MAX, gop_at};
use super::moment::hash_of;
use super::{Kind, Order, Picture, is_limit, of_run};
use crate::encode::container;
use crate::{Asker, Error, Packaged, Packager};

/// Pixels that are decoded for a clip: 10 s of 4K at 30 frames a second, and the group in front of it.
const PIXELS_MAX: u64 = 4_000_000_000;
/// Bytes that are read for it: these 10 s at 100 Mb/s, and the group in front.
const LEN_MAX: u64 = 256 << 20;
/// The first picture that is decoded comes out so long before the first that is shown, at most, in
/// microseconds: within the lead of a feed.
const LEAD_US: i64 = 9_000_000;

/// Which clip of a media.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClipRequest {
    /// From when to when, in milliseconds since the start of the media: at most 10 s.
    pub start_ms: u64,
    /// The end, after the start.
    pub end_ms: u64,
    /// At most so many pixels wide, 1 to 640; never wider than the video.
    pub width: u32,
    /// Frames a second, 1 to 30.
    pub fps: u32,
    /// How it is encoded.
    pub format: ClipFormat,
}

impl Packager {
    /// The clip, from the store or made now by one run. It ends with the video, and where an edit list jumps.
    ///
    /// Errors: [`Error::NoPicture`] without video, from its end on and where nothing decodes,
    /// [`Error::TooMuch`] where it takes too much to decode or becomes too large, [`Error::NoEncoder`], and
    /// [`Error::Busy`] when too much is asked for at once or the machine is too slow for it now.
    pub async fn clip(
        &self,
        packaged: &Arc<Packaged>,
        request: ClipRequest,
        asker: Asker,
    ) -> Result<Picture, Error> {
        let end_ms = packaged.pictures_end_ms().unwrap_or(0).min(request.end_ms);
        let length_ms = end_ms.checked_sub(request.start_ms).filter(|ms| 0 < *ms).ok_or(Error::NoPicture)?;
        let (video_width, _) = packaged.picture_size().ok_or(Error::NoPicture)?;
        let ClipRequest { start_ms, width, fps, format, .. } = request;
        let width = width.min(video_width);
        let text = format!("clip {start_ms} {end_ms} {width} {fps} {format:?}");
        let make = {
            let (packager, packaged) = (self.clone(), Arc::clone(packaged));
            async move {
                let (track, video) = packaged.index().video().ok_or(Error::NoPicture)?;
                let Shown { samples, lasts_max } =
                    shown(track, video, start_ms..end_ms).ok_or(Error::NoPicture)?;
                check(track, video, &samples)?;
                let frames = samples.len() as u64;
                let feed = feed(packaged.index(), track, samples, start_ms, fps)?;
                let spec = ClipSpec {
                    container: container(feed.format()),
                    start: Duration::from_micros(Feed::SELECTED_LEAD_US),
                    duration: Duration::from_millis(length_ms).min(lasts_max),
                    width,
                    fps,
                    format,
                    limits: super::limits(frames, video),
                };
                let made = packager.engine.clip(spec, packager.selected(&packaged, feed)).await;
                made.map_err(|error| if is_limit(&error) { Error::TooMuch } else { of_run(error) })
            }
        };
        let order = Order { kind: Kind::Long, hash: hash_of(&text), is_always_kept: false };
        self.made_once(packaged, order, asker, Box::pin(make)).await
    }
}

/// What is shown in a time.
struct Shown {
    /// The samples that are decoded for it, from a keyframe on.
    samples: Range<u32>,
    /// How long it is until an edit list jumps.
    lasts_max: Duration,
}

/// What is shown in a time; of what is [too much](check) so many samples that it is seen.
fn shown(track: &Track, video: &VideoTrack, times_ms: Range<u64>) -> Option<Shown> {
    let at = |ms| ticks(track, ms);
    let gop = gop_at(track, at(times_ms.start))?;
    let lasts_us = (i128::from(gop.stretch.shown.end) - i128::from(gop.pts)) * 1_000_000;
    let lasts_us = lasts_us / i128::from(track.timescale.max(1));
    let lasts_max = Duration::from_micros(lasts_us.clamp(0, u64::MAX.into()).try_into().unwrap_or(0));
    let end = at(times_ms.end).saturating_sub(track.shift).min(gop.stretch.shown.end);
    let behind = gop.sync..gop.stretch.samples.end;
    let most = usize::try_from(PIXELS_MAX / picture(video).max(1)).unwrap_or(usize::MAX);
    let read = behind.clone().zip(track.samples.range(behind)).take(most.saturating_add(REORDERED_MAX + 2));
    // What is decoded after the end is shown after it.
    let decoded = read.take_while(|(_, sample)| sample.dts < end);
    let last = decoded.filter(|(_, sample)| sample.pts < end).last().map_or(gop.sync, |(number, _)| number);
    Some(Shown { samples: gop.sync..last + 1, lasts_max })
}

/// A time in ticks of a track.
fn ticks(track: &Track, ms: u64) -> i64 {
    i64::try_from(u128::from(ms) * u128::from(track.timescale.max(1)) / 1000).unwrap_or(i64::MAX)
}

/// Pixels of one picture.
fn picture(video: &VideoTrack) -> u64 {
    u64::from(video.width) * u64::from(video.height)
}

fn check(track: &Track, video: &VideoTrack, samples: &Range<u32>) -> Result<(), Error> {
    let len: u64 = track.samples.range(samples.clone()).map(|sample| u64::from(sample.size)).sum();
    let is_much = PIXELS_MAX < picture(video).saturating_mul(samples.len() as u64) || LEN_MAX < len;
    if is_much { Err(Error::TooMuch) } else { Ok(()) }
}

/// The feed in which the clip begins where it has led so much as all feeds do.
///
/// Frames that stand for long are no fewer for it: the one that is shown at the start begins then, and the
/// last one on the grid of the clip's frames, where it is seen however short its sample says that it is.
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
    let times = laid_out(&times, fps);
    Feed::of_selected(index, track, configuration, samples.into_iter().zip(times))
        .map_err(|_| Error::NoPicture)
}

/// When frames come out in the feed that are shown at these times, in microseconds since the start of the
/// clip. Their order stays.
fn laid_out(times: &[i64], fps: u32) -> Vec<i64> {
    let earliest = times.iter().copied().min().unwrap_or(0);
    let first = times.iter().copied().filter(|time| *time <= 0).max();
    let last = times.iter().copied().max();
    let fps = i64::from(fps.max(1));
    let laid_out = |time: i64| match time {
        _ if Some(time) == first => 0,
        // What comes before the clip keeps its order; how far apart it is nobody sees.
        _ if time < 0 && earliest < -LEAD_US => {
            let pressed = i128::from(time) * i128::from(LEAD_US) / -i128::from(earliest);
            i64::try_from(pressed).unwrap_or(-LEAD_US).min(-1)
        }
        _ if 0 < time && Some(time) == last => {
            let frame = time.saturating_mul(fps).saturating_add(999_999) / 1_000_000;
            frame.saturating_mul(1_000_000) / fps
        }
        _ => time,
    };
    times.iter().copied().map(laid_out).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frame_at_the_start_begins_there_and_the_last_one_on_the_grid() {
        let check = |times: &[i64], fps, expected: &[i64]| assert_eq!(laid_out(times, fps), expected);
        check(&[0, 120_000, 40_000, 80_000], 15, &[0, 133_333, 40_000, 80_000]);
        check(&[-1_000_000], 15, &[0]);
        check(&[-1_000_000, -200, 200], 10, &[-1_000_000, 0, 100_000]);
        check(&[-18_000_000, -9_000_000, -1, 500_000], 10, &[-9_000_000, -4_500_000, 0, 500_000]);
        check(&[5, 100_000], 10, &[5, 100_000]);
        check(&[-20_000_000, -1, 0], 30, &[-9_000_000, -1, 0]);
        check(&[], 30, &[]);
        assert_eq!(laid_out(&[i64::MIN, i64::MAX], 30).len(), 2, "whatever an index says");
    }
}
