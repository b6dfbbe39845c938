//! The frames of a sheet, and the samples to decode for them. Pure: computed from the index alone.

use std::ops::Range;

use kinora_formats::encode::Feed;
use kinora_index::{Index, Sample, Track, VideoTrack};

use super::SpriteSheet;
use super::frames::{ExactFrames, Keyframes, NearestKeyframes};
use crate::Error;

/// Microseconds in the feed from the frame of one tile to that of the next.
pub(super) const STEP_US: u64 = 1_000_000;
/// Pixels that are decoded for a sheet: some 20 s of a core, twice the limit of a thumbnail.
const PIXELS_MAX: u64 = 3_200_000_000;
/// Bytes that are read for a sheet. A 1080p keyframe has some 100 KB, a large 4K one 2 MB.
const LEN_MAX: u64 = 1 << 30;

/// Frames of this size that may be decoded for a sheet, at least one.
pub(super) fn frames_max(video: &VideoTrack) -> u32 {
    frames_of(PIXELS_MAX, video)
}

pub(super) fn frames_of(pixels_max: u64, video: &VideoTrack) -> u32 {
    let pixels = u64::from(video.width) * u64::from(video.height);
    u32::try_from(pixels_max / pixels.max(1)).unwrap_or(u32::MAX).max(1)
}

pub(super) fn len_of(track: &Track, samples: Range<u32>) -> u64 {
    track.samples.range(samples).map(|sample| u64::from(sample.size)).sum()
}

/// The frames of all tiles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TileFrames {
    /// Samples that are decoded, rising.
    ranges: Vec<Range<u32>>,
    /// The sample of each tile, never falling; several tiles may show one.
    tiles: Vec<u32>,
    pub(super) kinds: FrameKinds,
    /// How many samples are decoded.
    pub(super) frames: u64,
}

/// The frames of consecutive tiles with one decoder configuration.
pub(super) struct TileFeed {
    pub(super) feed: Feed,
    /// Number of tiles.
    pub(super) count: u32,
    /// Its number in the track.
    pub(super) configuration: u8,
}

/// The kinds of frames of a sheet, which distinguish two sheets of one interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FrameKinds {
    /// Only keyframes that are shown.
    Keyframes,
    /// The same, and [openings](NearestKeyframes::opening) where an edit list begins between them.
    KeyframesAndOpenings,
    /// Any frames.
    Any,
}

impl TileFrames {
    /// The frames of `count` tiles, one every `interval_s` seconds. `None` if they exceed the limits.
    ///
    /// A tile shows the first keyframe of its interval. Without one, an overview shows the keyframe before
    /// it or the [opening](NearestKeyframes::opening). Other sheets show the exact frame at its beginning,
    /// if all of these together are within the limits of decoding.
    pub(super) fn of(
        track: &Track,
        video: &VideoTrack,
        keyframes: &Keyframes,
        interval_s: u32,
        count: u32,
        sheet: SpriteSheet,
    ) -> Option<Self> {
        let within_limits =
            |is_exact| Self::within_limits(track, video, keyframes, interval_s, count, is_exact);
        let exact = match sheet {
            SpriteSheet::Overview => None,
            SpriteSheet::Every(_) => within_limits(true),
        };
        exact.or_else(|| within_limits(false))
    }

    /// Stops as soon as a limit is exceeded.
    fn within_limits(
        track: &Track,
        video: &VideoTrack,
        keyframes: &Keyframes,
        interval_s: u32,
        count: u32,
        is_exact: bool,
    ) -> Option<Self> {
        let ticks = i64::from(interval_s) * i64::from(track.timescale.max(1));
        let (mut ranges, mut tiles) = (Vec::<Range<u32>>::new(), Vec::new());
        let mut kinds = FrameKinds::Keyframes;
        let mut frames = ExactFrames::of(track, keyframes);
        let mut nearest = NearestKeyframes::of(track, video, keyframes);
        let (mut frames_left, mut bytes_left) = (frames_max(video), LEN_MAX);
        for n in 0..i64::from(count) {
            let at = n.saturating_mul(ticks);
            let keyframe = keyframes.first_in_times(at..at.saturating_add(ticks));
            let (samples, shown) = match keyframe {
                Some(keyframe) => (keyframe..keyframe + 1, keyframe),
                None if is_exact => {
                    let (samples, shown) = frames.at(at)?;
                    if samples.len() > 1 {
                        kinds = FrameKinds::Any;
                    }
                    (samples, shown)
                }
                None => {
                    let (samples, shown) = nearest.at(at)?;
                    if !keyframes.is_shown(shown) {
                        kinds = FrameKinds::KeyframesAndOpenings;
                    }
                    (samples, shown)
                }
            };
            tiles.push(shown);
            let more = match ranges.last_mut() {
                // The decoder continues from the last range.
                Some(last) if samples.start <= last.end => {
                    let more = last.end..last.end.max(samples.end);
                    last.end = more.end;
                    more
                }
                _ => {
                    ranges.push(samples.clone());
                    samples
                }
            };
            frames_left = frames_left.checked_sub(more.end - more.start)?;
            bytes_left = bytes_left.checked_sub(len_of(track, more))?;
        }
        let frames = u64::from(frames_max(video) - frames_left);
        Some(Self { ranges, tiles, kinds, frames })
    }

    /// Bytes of memory.
    pub(super) fn weight(&self) -> usize {
        self.ranges.len() * size_of::<Range<u32>>() + self.tiles.len() * size_of::<u32>()
    }

    /// The feeds of the engine, one for each change of the decoder configuration, with their tiles: the frame
    /// of each tile begins a [step](STEP_US) after that of the tile before, the first one at 0.
    pub(super) fn feeds(&self, index: &Index, track: &Track) -> Result<Vec<TileFeed>, Error> {
        let numbers = self.ranges.iter().cloned().flatten();
        let samples = self.ranges.iter().flat_map(|range| track.samples.range(range.clone()));
        let samples: Vec<(u32, Sample)> = numbers.zip(samples).collect();
        let times = self.times(track, &samples);
        let timed: Vec<_> = samples.into_iter().zip(times).collect();
        let configuration_of = |number: u32| track.configuration_at(number);
        let groups =
            timed.chunk_by(|((one, _), _), ((next, _), _)| configuration_of(*one) == configuration_of(*next));
        let mut first_tile = 0;
        let feeds = groups.filter_map(|group| {
            let ((first, _), _) = group.first()?;
            let last = group.last().map_or(*first, |((last, _), _)| *last);
            let rest = self.tiles.get(first_tile..).unwrap_or_default();
            let count = rest.iter().take_while(|number| **number <= last).count();
            let begin = i64::try_from(first_tile as u64 * STEP_US).unwrap_or(i64::MAX);
            first_tile += count;
            let samples = group.iter().map(|((_, sample), time)| (*sample, time.saturating_sub(begin)));
            let configuration = configuration_of(*first);
            let feed = Feed::of_single_frames(index, track, configuration, samples);
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            (0 < count)
                .then(|| Ok(TileFeed { feed: feed.map_err(|_| Error::NoImage)?, count, configuration }))
        });
        feeds.collect()
    }

    /// Output time of each sample, in microseconds: tiles at whole steps, the others between their
    /// neighbours, so that they end before the next tile begins.
    fn times(&self, track: &Track, samples: &[(u32, Sample)]) -> Vec<i64> {
        let step = i64::try_from(STEP_US).unwrap_or(i64::MAX);
        let mut shown: Vec<usize> = (0..samples.len()).collect();
        // Samples that a jump hides have the times of samples shown before the jump.
        shown.sort_by_key(|index| {
            let (number, sample) = &samples[*index];
            (track.edit_points.partition_point(|edit_point| edit_point.sample <= *number), sample.pts)
        });
        let mut times = vec![0; samples.len()];
        // The next tile, and the samples before it that belong to no tile.
        let (mut tile, mut between) = (0_usize, Vec::new());
        let spread = |between: &mut Vec<usize>, tile: usize, times: &mut Vec<i64>| {
            let parts = i64::try_from(between.len()).unwrap_or(i64::MAX).saturating_add(1);
            let before = (i64::try_from(tile).unwrap_or(i64::MAX) - 1).saturating_mul(step);
            for (part, sample_index) in (1..).zip(between.drain(..)) {
                times[sample_index] = before + step * part / parts;
            }
        };
        for place in shown {
            if self.tiles.get(tile) == Some(&samples[place].0) {
                spread(&mut between, tile, &mut times);
                times[place] = i64::try_from(tile).unwrap_or(i64::MAX).saturating_mul(step);
                tile += self.tiles[tile..].iter().take_while(|number| **number == samples[place].0).count();
            } else {
                between.push(place);
            }
        }
        spread(&mut between, tile, &mut times);
        times
    }
}
