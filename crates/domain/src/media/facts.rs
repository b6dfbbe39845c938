//! What a source turned out to hold.

use std::fmt;

use super::NotCopied;
use crate::{Resolution, TrackId};

/// Read from the index when the last byte had arrived.
#[derive(Debug, Clone, PartialEq)]
pub struct MediaFacts {
    /// What the bytes are packed in, in a short lower-case word such as `mp4`; `None` for media made before
    /// it was written down.
    pub container: Option<String>,
    /// Length of the presentation.
    pub duration: MediaDuration,
    /// Its tracks, video first.
    pub tracks: Vec<Track>,
    /// The name of the displayed picture; `None` for audio only.
    pub source_resolution: Option<Resolution>,
    /// The shape of the displayed picture; `None` for audio only.
    pub aspect_ratio: Option<AspectRatio>,
    /// The pictures that are encoded when they are watched, largest first. Found when the source was read.
    pub rungs: Vec<Resolution>,
    /// Bytes at the end of the source are missing and the playable prefix was kept.
    pub is_truncated: bool,
    /// Tracks of the source that cannot be played beside those above.
    pub left_out: Vec<LeftOutTrack>,
    /// The picture was tried after all and no decoder could read it: its copy is not offered any more.
    pub does_not_decode: bool,
    /// Names of encoded renditions that were tried and cannot be made: they are not offered any more. Known
    /// of a media that was read, not part of it: saving changes nothing.
    pub broken: Vec<String>,
}

impl MediaFacts {
    /// Whether there is sound and no picture.
    pub fn is_audio_only(&self) -> bool {
        self.tracks.iter().all(|track| matches!(track.kind, TrackKind::Audio { .. }))
    }

    /// Whether thumbnails, sheets and clips can be made: not of sound alone, and not where the picture was
    /// tried and does not decode.
    pub fn has_pictures(&self) -> bool {
        !self.is_audio_only() && !self.does_not_decode
    }

    /// The same facts with what is known beside the index: IDs of tracks, and renditions that do not decode.
    pub(super) fn in_place_of(mut self, before: &Self) -> Self {
        let is_video = |track: &Track| matches!(track.kind, TrackKind::Video { .. });
        for kind in [true, false] {
            let ids = before.tracks.iter().filter(|track| is_video(track) == kind).map(|track| track.id);
            let tracks = self.tracks.iter_mut().filter(|track| is_video(track) == kind);
            tracks.zip(ids).for_each(|(track, id)| track.id = id);
        }
        self.does_not_decode = before.does_not_decode;
        self.broken.clone_from(&before.broken);
        self
    }

    /// Frames a second of the picture.
    pub fn frame_rate(&self) -> Option<FrameRate> {
        self.tracks.iter().find_map(|track| match track.kind {
            TrackKind::Video { frame_rate, .. } => frame_rate,
            TrackKind::Audio { .. } => None,
        })
    }
}

/// One elementary stream, as a client sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Track {
    /// Its id.
    pub id: TrackId,
    /// What it carries.
    pub kind: TrackKind,
    /// Why players do not get it as it is; `None` where they do, within the media's `maxResolution`.
    pub not_copied: Option<NotCopied>,
    /// Sound of which an encoded rendition is offered. Where it is copied, too, the copy stands beside the
    /// copied picture alone.
    pub is_encoded: bool,
}

/// A track of the source that cannot be played beside one that can.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOutTrack {
    /// It has pictures; else sound.
    pub is_picture: bool,
    /// A sentence for people that says why.
    pub detail: String,
}

/// What a track carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrackKind {
    /// Moving pictures.
    Video {
        /// Displayed width in pixels, after rotation and pixel shape.
        width: u32,
        /// Displayed height in pixels.
        height: u32,
        /// `None` when it cannot be told.
        frame_rate: Option<FrameRate>,
    },
    /// Sound.
    Audio {
        /// BCP 47 tag, `und` when the source does not say.
        language_code: String,
        /// Its English name.
        language_name: String,
    },
}

/// Frames a second as a fraction, `30000/1001`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameRate {
    /// Frames.
    pub numerator: u32,
    /// In so many seconds; never 0.
    pub denominator: u32,
}

impl FrameRate {
    /// As a number, `29.97`.
    pub fn per_second(self) -> f64 {
        f64::from(self.numerator) / f64::from(self.denominator.max(1))
    }
}

impl fmt::Display for FrameRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.numerator, self.denominator)
    }
}

/// Length of a presentation, to the microsecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MediaDuration {
    micros: u64,
}

impl MediaDuration {
    /// What a media that never became ready answers (C-117).
    pub const UNKNOWN: Self = Self { micros: 0 };

    /// From microseconds.
    pub fn from_micros(micros: u64) -> Self {
        Self { micros }
    }

    /// In microseconds.
    pub fn as_micros(self) -> u64 {
        self.micros
    }
}

/// `HH:MM:SS`, rounded to the nearest second; what plays at all is at least one second. D-0003.
impl fmt::Display for MediaDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds =
            if self.micros == 0 { 0 } else { (self.micros.saturating_add(500_000) / 1_000_000).max(1) };
        write!(f, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
    }
}

/// Shape of a picture, `16:9`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AspectRatio {
    /// Horizontal part.
    pub width: u32,
    /// Vertical part.
    pub height: u32,
}

impl AspectRatio {
    /// Shapes with a name of their own, wide ones; their upright twins are tried too.
    const COMMON: [(u32, u32); 8] = [(1, 1), (5, 4), (4, 3), (3, 2), (16, 10), (16, 9), (2, 1), (21, 9)];
    /// Encoders round sides to even numbers, so a side may be off by so many pixels (854x480 is meant as
    /// 16:9).
    const ROUNDING_PX: u64 = 2;

    /// The shape of a displayed picture: a common one when both sides fit it to within the rounding of
    /// encoders, else reduced. D-0003.
    pub fn of_picture(width: u32, height: u32) -> Option<Self> {
        if width == 0 || height == 0 {
            return None;
        }
        let (w, h) = (u64::from(width), u64::from(height));
        for (long, short) in Self::COMMON {
            for (a, b) in [(long, short), (short, long)] {
                // w = h·a/b to within the rounding, without fractions.
                if (w * u64::from(b)).abs_diff(h * u64::from(a)) < Self::ROUNDING_PX * u64::from(b) {
                    return Some(Self { width: a, height: b });
                }
            }
        }
        let divisor = gcd(width, height);
        Some(Self { width: width / divisor, height: height / divisor })
    }
}

impl fmt::Display for AspectRatio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.width, self.height)
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_written_in_whole_seconds() {
        let check = |micros, text: &str| assert_eq!(MediaDuration::from_micros(micros).to_string(), text);
        check(0, "00:00:00");
        check(1, "00:00:01");
        check(10_000_000, "00:00:10");
        check(10_499_999, "00:00:10");
        check(10_500_000, "00:00:11");
        check(7_200_033_333, "02:00:00");
        check(360_000_000_000, "100:00:00");
    }

    #[test]
    fn a_picture_has_the_shape_its_maker_meant() {
        let check = |w, h, text: &str| assert_eq!(AspectRatio::of_picture(w, h).unwrap().to_string(), text);
        check(1920, 1080, "16:9");
        check(854, 480, "16:9");
        check(852, 480, "16:9");
        check(1080, 1920, "9:16");
        check(640, 480, "4:3");
        check(1000, 1000, "1:1");
        check(160, 90, "16:9");
        check(1920, 800, "12:5");
        assert_eq!(AspectRatio::of_picture(0, 9), None);
    }
}
