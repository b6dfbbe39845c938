//! Facts about a source, found by the indexer.

use std::fmt;

use super::{MediaDuration, NotCopied};
use crate::{Resolution, TrackId};

/// The facts of a complete source, derived from its index.
#[derive(Debug, Clone, PartialEq)]
pub struct MediaFacts {
    /// The container format, a short lower-case word such as `mp4`; `None` for media older than this field.
    pub container: Option<String>,
    /// Length of the presentation.
    pub duration: MediaDuration,
    /// Its tracks, video first.
    pub tracks: Vec<Track>,
    /// The name of the display size; `None` for audio only.
    pub source_resolution: Option<Resolution>,
    /// The aspect ratio of the display size; `None` for audio only.
    pub aspect_ratio: Option<AspectRatio>,
    /// The rungs that are encoded on demand, largest first. Computed when the source was indexed.
    pub rungs: Vec<Resolution>,
    /// Bytes at the end of the source are missing; the playable prefix is used.
    pub is_truncated: bool,
    /// Tracks of the source that cannot be played together with those above.
    pub left_out: Vec<LeftOutTrack>,
    /// A decoder was tried and could not read the video: its copy is no longer offered.
    pub does_not_decode: bool,
    /// Names of encoded renditions that failed: they are no longer offered. Filled when the media is read; a
    /// save ignores it.
    pub broken_renditions: Vec<String>,
}

impl MediaFacts {
    /// Whether there is audio and no video.
    pub fn is_audio_only(&self) -> bool {
        self.tracks.iter().all(|track| matches!(track.kind, TrackKind::Audio { .. }))
    }

    /// Whether thumbnails, sprite sheets and preview clips can be made: not for audio only, and not if the
    /// video does not decode.
    pub fn has_thumbnails(&self) -> bool {
        !self.is_audio_only() && !self.does_not_decode
    }

    /// The same facts plus those that no index has, from `previous`: track IDs, and failed renditions.
    pub(super) fn carry_over_from(mut self, previous: &Self) -> Self {
        let is_video = |track: &Track| matches!(track.kind, TrackKind::Video { .. });
        for wants_video in [true, false] {
            let ids =
                previous.tracks.iter().filter(|track| is_video(track) == wants_video).map(|track| track.id);
            let tracks = self.tracks.iter_mut().filter(|track| is_video(track) == wants_video);
            tracks.zip(ids).for_each(|(track, id)| track.id = id);
        }
        self.does_not_decode = previous.does_not_decode;
        self.broken_renditions.clone_from(&previous.broken_renditions);
        self
    }

    /// Frames per second of the video.
    pub fn frame_rate(&self) -> Option<FrameRate> {
        self.tracks.iter().find_map(|track| match track.kind {
            TrackKind::Video { frame_rate, .. } => frame_rate,
            TrackKind::Audio { .. } => None,
        })
    }
}

/// One elementary stream, as clients see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Track {
    /// Its ID.
    pub id: TrackId,
    /// Its kind.
    pub kind: TrackKind,
    /// The reason why players do not get a copy; `None` if they do, within the media's `maxResolution`.
    pub not_copied: Option<NotCopied>,
    /// Whether an encoded rendition of this audio track is offered. If the track is copied too, the copy is
    /// offered only together with the copied video.
    pub is_encoded: bool,
}

/// A track of the source that cannot be played together with the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOutTrack {
    /// True for video, false for audio.
    pub is_video: bool,
    /// The reason, a sentence for people.
    pub detail: String,
}

/// The kind of a track.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrackKind {
    /// Video.
    Video {
        /// Display width in pixels, after rotation and pixel aspect ratio.
        width: u32,
        /// Display height in pixels.
        height: u32,
        /// `None` if unknown.
        frame_rate: Option<FrameRate>,
    },
    /// Audio.
    Audio {
        /// BCP 47 tag; `und` if the source has none.
        language_code: String,
        /// The English name of the language.
        language_name: String,
    },
}

/// Frames per second as a fraction, `30000/1001`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameRate {
    /// Frames.
    pub numerator: u32,
    /// Seconds; never 0.
    pub denominator: u32,
}

impl FrameRate {
    /// Frames per second, `29.97`.
    pub fn per_second(self) -> f64 {
        f64::from(self.numerator) / f64::from(self.denominator.max(1))
    }
}

impl fmt::Display for FrameRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.numerator, self.denominator)
    }
}

/// Aspect ratio of a video, `16:9`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AspectRatio {
    /// Horizontal part.
    pub width: u32,
    /// Vertical part.
    pub height: u32,
}

impl AspectRatio {
    /// Common ratios, landscape; their portrait forms are tried too.
    const COMMON: [(u32, u32); 8] = [(1, 1), (5, 4), (4, 3), (3, 2), (16, 10), (16, 9), (2, 1), (21, 9)];
    /// Encoders round sides to even numbers, so a side may differ by less than this number of pixels
    /// (854x480 is meant as 16:9).
    const ROUNDING_PX: u64 = 2;

    /// The aspect ratio of a display size: a common one if both sides match it within the rounding of
    /// encoders, else the reduced fraction. D-0003.
    pub fn of_size(width: u32, height: u32) -> Option<Self> {
        if width == 0 || height == 0 {
            return None;
        }
        let (w, h) = (u64::from(width), u64::from(height));
        for (long, short) in Self::COMMON {
            for (a, b) in [(long, short), (short, long)] {
                // w = h·a/b within the rounding, without fractions.
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
    fn aspect_ratio_snaps_to_the_intended_ratio() {
        let check = |w, h, text: &str| assert_eq!(AspectRatio::of_size(w, h).unwrap().to_string(), text);
        check(1920, 1080, "16:9");
        check(854, 480, "16:9");
        check(852, 480, "16:9");
        check(1080, 1920, "9:16");
        check(640, 480, "4:3");
        check(1000, 1000, "1:1");
        check(160, 90, "16:9");
        check(1920, 800, "12:5");
        assert_eq!(AspectRatio::of_size(0, 9), None);
    }
}
