//! Which samples are decoded for a picture, and which of the frames is meant.
//!
//! Known from the index alone, before anything is read: what would take too much memory or time is replaced by its keyframe.
//! Decision 0053.

use std::ops::Range;
use std::time::Duration;

use kinora_blob::PictureHash;
use kinora_formats::index::{Stretch, Track, VideoTrack};
use kinora_formats::plan::presented_at;
use sha2::{Digest as _, Sha256};

use super::{FitMode, PictureRequest};

/// Times are told apart to a tenth of a second, so that a slider does not fill the store.
const TIME_STEP_MS: u64 = 100;
/// Bytes in front of a sample where it is fed to a decoder, at most.
const SAMPLE_HEAD_LEN: u64 = 32;

/// What decoding may take.
#[derive(Clone, Copy)]
struct Budget {
    /// Bytes of samples.
    bytes: u64,
    /// Pixels of all pictures together.
    pixels: u64,
}

/// Of a picture: 20 s, which is the longest GOP that is copied, at 20 Mb/s, within what the engine takes; some 30 s of 1080p, which take
/// a core some seconds.
const PICTURE: Budget = Budget { bytes: 48 << 20, pixels: 1_600_000_000 };
/// Of a look whether a source decodes at all.
const PROBE: Budget = Budget { bytes: 16 << 20, pixels: 400_000_000 };

/// Some samples from a keyframe on, and a time.
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
        let enough = [gop.whole(), gop.until()];
        let affordable =
            enough.into_iter().find(|samples| PICTURE.prefix(track, video, samples.clone()) == *samples);
        let Some(samples) = affordable else { return Some(keyframe) };
        // Times are counted from the keyframe: what leads it is not decoded without the group in front.
        let ticks = at.saturating_sub(starts_at(sync)?).max(0);
        let micros = u64::try_from(i128::from(ticks) * 1_000_000 / timescale).ok()?;
        Some(Self { samples, in_gop: Some(Duration::from_micros(micros)) })
    }

    /// The first frames of a source: as many of the first GOP as are cheap, and its keyframe at least.
    pub(super) fn first_few(track: &Track, video: &VideoTrack) -> Self {
        let few = PROBE.prefix(track, video, whole_gop(track, 0, track.samples.len()));
        Self { samples: 0..few.end.max(1), in_gop: None }
    }

    /// The keyframe in front of the moment.
    pub(super) fn keyframe(&self) -> Self {
        Self { samples: self.samples.start..self.samples.start + 1, in_gop: None }
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
    /// As many of these samples, from the first on, as it is enough for.
    fn prefix(self, track: &Track, video: &VideoTrack, samples: Range<u32>) -> Range<u32> {
        let picture = u64::from(video.width) * u64::from(video.height);
        let (mut bytes, mut pixels) = (0_u64, 0_u64);
        let affordable = track.samples.range(samples.clone()).take_while(|sample| {
            bytes = bytes.saturating_add(u64::from(sample.size) + SAMPLE_HEAD_LEN);
            pixels = pixels.saturating_add(picture);
            bytes <= self.bytes && pixels <= self.pixels
        });
        samples.start..samples.start + u32::try_from(affordable.count()).unwrap_or(0)
    }
}

/// The group of pictures in which a moment lies.
pub(super) struct Gop<'a> {
    track: &'a Track,
    /// The keyframe at or before the moment.
    pub(super) sync: u32,
    /// Between which joints it lies.
    pub(super) stretch: Stretch,
    /// The moment in the times of the source.
    pub(super) pts: i64,
}

/// The group of pictures at a time of the common timeline, in ticks of the track. `None` where there is no keyframe.
pub(super) fn gop_at(track: &Track, at: i64) -> Option<Gop<'_>> {
    // An edit list tells in the times of the source what is shown of which samples.
    let pts = at.saturating_sub(track.shift);
    let stretch = track.stretch_at(pts);
    let near =
        first_at_or_after(track, &stretch, pts).unwrap_or_else(|| stretch.samples.end.saturating_sub(1));
    let mut sync = track.samples.sync_at_or_before(near)?;
    let starts_at = |sync| track.samples.get(sync).map(|sample| presented_at(track, &sample));
    // The sample at or after a moment may open a GOP that begins after it.
    while stretch.samples.start < sync && at < starts_at(sync)? {
        sync = track.samples.sync_at_or_before(sync - 1)?;
    }
    Some(Gop { track, sync, stretch, pts })
}

impl Gop<'_> {
    /// All of it, with the pictures that lead the next keyframe.
    pub(super) fn whole(&self) -> Range<u32> {
        whole_gop(self.track, self.sync, self.stretch.samples.end)
    }

    /// Those that are decoded before the one that is shown at the moment, and one more, which ends it.
    pub(super) fn until(&self) -> Range<u32> {
        until(self.track, self.whole(), self.pts)
    }
}

/// The first sample of a stretch in decode order that is shown at a time of the source or later.
fn first_at_or_after(track: &Track, stretch: &Stretch, pts: i64) -> Option<u32> {
    if track.joints.is_empty() {
        return track.samples.first_at_or_after_pts(pts);
    }
    let mut samples = stretch.samples.clone().zip(track.samples.range(stretch.samples.clone()));
    samples.find(|(_, sample)| pts <= sample.pts).map(|(number, _)| number)
}

/// From a sync sample to the next, and on to the last of the pictures that lead that one: they are shown before it, and refer to
/// both. None from `stretch_end` on.
fn whole_gop(track: &Track, sync: u32, stretch_end: u32) -> Range<u32> {
    let rest = track.samples.range(sync + 1..stretch_end);
    let len = rest.take_while(|sample| !sample.is_sync).count();
    let end = sync + 1 + u32::try_from(len).unwrap_or(0);
    let mut behind = track.samples.range(end..stretch_end);
    let Some(next) = behind.next() else { return sync..end };
    let leading = behind.take_while(|sample| !sample.is_sync && sample.pts < next.pts).count();
    let leading = u32::try_from(leading).unwrap_or(0);
    sync..end + if leading > 0 { 1 + leading } else { 0 }
}

/// Those of the samples that are decoded before the one that is shown at a time of the source, and one more, which ends it.
fn until(track: &Track, samples: Range<u32>, pts: i64) -> Range<u32> {
    let numbered = samples.clone().zip(track.samples.range(samples.clone()));
    let last = numbered.filter(|(_, sample)| sample.pts <= pts).map(|(number, _)| number).max();
    samples.start..last.unwrap_or(samples.start).saturating_add(2).min(samples.end)
}
