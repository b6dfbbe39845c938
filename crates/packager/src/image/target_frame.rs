//! The samples to decode for a thumbnail, and the frame among them that is shown.
//!
//! Computed from the index alone, before anything is read. If a frame takes too much memory or time, its
//! keyframe replaces it. D-0053.

use std::ops::Range;
use std::time::Duration;

use kinora_blob::ImageHash;
use kinora_index::{Sample, Track, TrackMedia, VideoTrack, plan::presented_at};
use sha2::{Digest as _, Sha256};

use super::gop::{Gop, decode_until, gop_at, samples_from};
use super::{FitMode, ThumbnailRequest};

/// Times are rounded down to a tenth of a second, so that a slider does not fill the store.
const TIME_STEP_MS: u64 = 100;
/// Largest number of bytes before a sample in the feed of a decoder.
const SAMPLE_HEAD_LEN: u64 = 64;

/// Limits of decoding.
#[derive(Clone, Copy)]
struct DecodeBudget {
    /// Bytes of samples.
    bytes: u64,
    /// Pixels of all frames together.
    pixels: u64,
}

/// Limits of a thumbnail. Bytes: 20 s, the longest GOP that is copied, at 20 Mb/s, within the limit of the
/// engine. Pixels: some 30 s of 1080p, which take a core some seconds.
const THUMBNAIL_BUDGET: DecodeBudget = DecodeBudget { bytes: 48 << 20, pixels: 1_600_000_000 };
/// Limits of a probe whether a source decodes at all.
const PROBE_BUDGET: DecodeBudget = DecodeBudget { bytes: 16 << 20, pixels: 400_000_000 };

/// Samples from a keyframe on, and a time among them.
#[derive(Clone)]
pub(super) struct TargetFrame {
    pub(super) samples: Range<u32>,
    /// Time since the first frame of the samples; `None`: the first frame.
    pub(super) time_in_gop: Option<Duration>,
}

impl TargetFrame {
    /// The frame at `time_ms`, or the sync sample at or before the middle. Past the end: the last frame.
    pub(super) fn of(track: &Track, video: &VideoTrack, time_ms: Option<u64>) -> Option<Self> {
        let timescale = i128::from(track.timescale.max(1));
        let at = match time_ms {
            // Rounded down: 12.34 s and 12.3 s give the same thumbnail.
            Some(time_ms) => i128::from(time_ms / TIME_STEP_MS * TIME_STEP_MS) * timescale / 1000,
            None => i128::from(track.end) / 2,
        };
        let at = i64::try_from(at).unwrap_or(i64::MAX).min(track.end.saturating_sub(1));
        let gop = gop_at(track, at)?;
        let at = last_shown_before_end(track, &gop, at);
        let Gop { sync, edit_span, .. } = &gop;
        let video = match track.media_at(*sync) {
            TrackMedia::Video(of_part) => of_part,
            TrackMedia::Audio(_) => video,
        };
        let (sync, starts_at) =
            (*sync, |sync| track.samples.get(sync).map(|sample| presented_at(track, &sample)));
        let keyframe = Self { samples: sync..sync + 1, time_in_gop: None };
        // Any keyframe near the middle is suitable, except one that an edit list hides.
        let is_shown = |sync| {
            let sample = track.samples.get(sync)?;
            Some(edit_span.shown.contains(&sample.pts) && 0 <= presented_at(track, &sample))
        };
        if time_ms.is_none() && is_shown(sync)? {
            return Some(keyframe);
        }
        let (within_budget, is_whole) = THUMBNAIL_BUDGET.prefix(video, sync, gop.samples());
        let samples =
            if is_whole { Some(within_budget) } else { decode_until(gop.samples(), &within_budget, gop.pts) };
        let Some(samples) = samples else { return Some(keyframe) };
        // Times are relative to the keyframe: its leading pictures do not decode without the group before.
        let ticks = at.saturating_sub(starts_at(sync)?).max(0);
        let micros = u64::try_from(i128::from(ticks) * 1_000_000 / timescale).ok()?;
        Some(Self { samples, time_in_gop: Some(Duration::from_micros(micros)) })
    }

    /// The first frames of a source: as many of the first GOP as are cheap, at least its keyframe.
    pub(super) fn first_few(track: &Track, video: &VideoTrack) -> Self {
        let (few, _) = PROBE_BUDGET.prefix(video, 0, samples_from(track, 0, track.samples.len()));
        Self { samples: 0..few.end.max(1), time_in_gop: None }
    }

    /// The keyframe before this frame.
    pub(super) fn keyframe(&self) -> Self {
        Self { samples: self.samples.start..self.samples.start + 1, time_in_gop: None }
    }

    /// Whether only a keyframe is decoded.
    pub(super) fn is_keyframe(&self) -> bool {
        self.time_in_gop.is_none()
    }

    /// Bytes that are fed to a decoder.
    pub(super) fn input_len(&self, track: &Track) -> u64 {
        let samples = track.samples.range(self.samples.clone());
        samples.map(|sample| u64::from(sample.size) + SAMPLE_HEAD_LEN).sum()
    }

    /// Whether its samples are within the limit of bytes: even a single keyframe may be too large.
    pub(super) fn is_within_byte_limit(&self, track: &Track) -> bool {
        self.input_len(track) <= THUMBNAIL_BUDGET.bytes
    }

    /// Hash of everything that determines the image.
    pub(super) fn hash(&self, request: ThumbnailRequest) -> ImageHash {
        let text = format!(
            "{}-{} {:?} {:?} {:?} {:?}{}",
            self.samples.start,
            self.samples.end,
            self.time_in_gop,
            request.width,
            request.height,
            request.format,
            match request.fit {
                // Empty, so that names from before there were other modes stay valid.
                FitMode::Preserve => String::new(),
                other => format!(" {other:?}"),
            }
        );
        hash_of(&text)
    }
}

/// The time of the last shown frame, for a time so close to the end of the track that a decoder would select
/// the hidden frame after it: it compares milliseconds. Any other time is returned unchanged.
fn last_shown_before_end(track: &Track, gop: &Gop<'_>, at: i64) -> i64 {
    let is_near_end = track.end.saturating_sub(at) <= i64::from(track.timescale / 1000).max(1);
    let times = || gop.samples().map(|(_, sample)| presented_at(track, &sample));
    if !is_near_end || times().all(|time| time < track.end) {
        return at;
    }
    times().filter(|time| *time <= at).max().unwrap_or(at)
}

/// The object name for a description.
pub(super) fn hash_of(text: &str) -> ImageHash {
    let mut hash = [0; 16];
    hash.copy_from_slice(&Sha256::digest(text.as_bytes())[..16]);
    ImageHash(hash)
}

impl DecodeBudget {
    /// The first samples that fit the limits, and whether these are all.
    fn prefix(
        self,
        video: &VideoTrack,
        first: u32,
        samples: impl Iterator<Item = (u32, Sample)>,
    ) -> (Range<u32>, bool) {
        let pixels_per_frame = u64::from(video.width) * u64::from(video.height);
        let (mut bytes, mut pixels, mut end) = (0_u64, 0_u64, first);
        for (number, sample) in samples {
            bytes = bytes.saturating_add(u64::from(sample.size) + SAMPLE_HEAD_LEN);
            pixels = pixels.saturating_add(pixels_per_frame);
            if self.bytes < bytes || self.pixels < pixels {
                return (first..end, false);
            }
            end = number + 1;
        }
        (first..end, true)
    }
}
