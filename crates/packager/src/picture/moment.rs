//! Which samples are decoded for a picture, and which of the frames is meant.
//!
//! Known from the index alone, before anything is read: what would take too much memory or time is replaced
//! by its keyframe. D-0053.

use std::ops::Range;
use std::time::Duration;

use kinora_blob::PictureHash;
use kinora_index::{Sample, Track, VideoTrack, plan::presented_at};
use sha2::{Digest as _, Sha256};

use super::gop::{Gop, gop_at, samples_from, until};
use super::{FitMode, PictureRequest};

/// Times are told apart to a tenth of a second, so that a slider does not fill the store.
const TIME_STEP_MS: u64 = 100;
/// Bytes in front of a sample where it is fed to a decoder, at most.
const SAMPLE_HEAD_LEN: u64 = 64;

/// What decoding may take.
#[derive(Clone, Copy)]
struct Budget {
    /// Bytes of samples.
    bytes: u64,
    /// Pixels of all pictures together.
    pixels: u64,
}

/// Of a picture: 20 s, which is the longest GOP that is copied, at 20 Mb/s, within what the engine takes;
/// some 30 s of 1080p, which take a core some seconds.
const PICTURE: Budget = Budget { bytes: 48 << 20, pixels: 1_600_000_000 };
/// Of a look whether a source decodes at all.
const PROBE: Budget = Budget { bytes: 16 << 20, pixels: 400_000_000 };

/// Some samples from a keyframe on, and a time.
#[derive(Clone)]
pub(super) struct Moment {
    pub(super) samples: Range<u32>,
    /// Time since the first frame of the samples; `None`: the first frame.
    pub(super) in_gop: Option<Duration>,
}

impl Moment {
    /// The moment at `time_ms`, or the sync sample at or before the middle. Past the end: the last frame.
    pub(super) fn of(track: &Track, video: &VideoTrack, time_ms: Option<u64>) -> Option<Self> {
        let timescale = i128::from(track.timescale.max(1));
        let at = match time_ms {
            // The whole tenth: 12.34 s and 12.3 s are the same picture.
            Some(time_ms) => i128::from(time_ms / TIME_STEP_MS * TIME_STEP_MS) * timescale / 1000,
            None => i128::from(track.end) / 2,
        };
        let at = i64::try_from(at).unwrap_or(i64::MAX).min(track.end.saturating_sub(1));
        let gop = gop_at(track, at)?;
        let Gop { sync, stretch, .. } = &gop;
        let (sync, starts_at) =
            (*sync, |sync| track.samples.get(sync).map(|sample| presented_at(track, &sample)));
        let keyframe = Self { samples: sync..sync + 1, in_gop: None };
        // Any keyframe near the middle will do, but none that an edit list hides.
        let is_shown = |sync| {
            let sample = track.samples.get(sync)?;
            Some(stretch.shown.contains(&sample.pts) && 0 <= presented_at(track, &sample))
        };
        if time_ms.is_none() && is_shown(sync)? {
            return Some(keyframe);
        }
        let (most, is_whole) = PICTURE.prefix(video, sync, gop.samples());
        let samples = if is_whole { Some(most) } else { until(gop.samples(), &most, gop.pts) };
        let Some(samples) = samples else { return Some(keyframe) };
        // Times are counted from the keyframe: what leads it is not decoded without the group in front.
        let ticks = at.saturating_sub(starts_at(sync)?).max(0);
        let micros = u64::try_from(i128::from(ticks) * 1_000_000 / timescale).ok()?;
        Some(Self { samples, in_gop: Some(Duration::from_micros(micros)) })
    }

    /// The first frames of a source: as many of the first GOP as are cheap, and its keyframe at least.
    pub(super) fn first_few(track: &Track, video: &VideoTrack) -> Self {
        let (few, _) = PROBE.prefix(video, 0, samples_from(track, 0, track.samples.len()));
        Self { samples: 0..few.end.max(1), in_gop: None }
    }

    /// The keyframe in front of the moment.
    pub(super) fn keyframe(&self) -> Self {
        Self { samples: self.samples.start..self.samples.start + 1, in_gop: None }
    }

    /// Whether nothing but a keyframe is decoded.
    pub(super) fn is_keyframe(&self) -> bool {
        self.in_gop.is_none()
    }

    /// Bytes that are fed to a decoder.
    pub(super) fn len(&self, track: &Track) -> u64 {
        let samples = track.samples.range(self.samples.clone());
        samples.map(|sample| u64::from(sample.size) + SAMPLE_HEAD_LEN).sum()
    }

    /// Whether so much may be read: a keyframe by itself may be too large.
    pub(super) fn is_affordable(&self, track: &Track) -> bool {
        self.len(track) <= PICTURE.bytes
    }

    /// Names everything that shapes the picture.
    pub(super) fn hash(&self, request: PictureRequest) -> PictureHash {
        let text = format!(
            "{}-{} {:?} {:?} {:?} {:?}{}",
            self.samples.start,
            self.samples.end,
            self.in_gop,
            request.width,
            request.height,
            request.format,
            match request.fit {
                // As it was named before there was another.
                FitMode::Preserve => String::new(),
                other => format!(" {other:?}"),
            }
        );
        hash_of(&text)
    }
}

/// The name of the object that this describes.
pub(super) fn hash_of(text: &str) -> PictureHash {
    let mut hash = [0; 16];
    hash.copy_from_slice(&Sha256::digest(text.as_bytes())[..16]);
    PictureHash(hash)
}

impl Budget {
    /// As many of these samples, which begin with the first, as it is enough for, and whether these are all.
    fn prefix(
        self,
        video: &VideoTrack,
        first: u32,
        samples: impl Iterator<Item = (u32, Sample)>,
    ) -> (Range<u32>, bool) {
        let picture = u64::from(video.width) * u64::from(video.height);
        let (mut bytes, mut pixels, mut end) = (0_u64, 0_u64, first);
        for (number, sample) in samples {
            bytes = bytes.saturating_add(u64::from(sample.size) + SAMPLE_HEAD_LEN);
            pixels = pixels.saturating_add(picture);
            if self.bytes < bytes || self.pixels < pixels {
                return (first..end, false);
            }
            end = number + 1;
        }
        (first..end, true)
    }
}
