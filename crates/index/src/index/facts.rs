//! The facts about a source that the API reports.

use super::{Container, Index, SkippedTrack};

/// The facts of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFacts {
    /// Container format.
    pub container: Container,
    /// Duration of the presentation in microseconds: to the end of the track that ends last.
    pub duration_us: u64,
    /// The video track, if there is one.
    pub video: Option<VideoFacts>,
    /// The audio tracks, in the order of the source.
    pub audio: Vec<AudioFacts>,
    /// Set when the source was truncated and only a playable prefix is used.
    pub is_truncated: bool,
    /// Tracks of the source that cannot be played.
    pub left_out: Vec<SkippedTrack>,
}

/// The facts of a video track.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VideoFacts {
    /// Display width in square pixels, after pixel aspect ratio and rotation.
    pub display_width: u32,
    /// Display height in square pixels, after rotation.
    pub display_height: u32,
    /// Coded width in pixels.
    pub width: u32,
    /// Coded height in pixels.
    pub height: u32,
    /// Frames per second as a fraction (average).
    pub frame_rate: Option<(u32, u32)>,
    /// RFC 6381 string.
    pub codec: String,
}

/// The facts of an audio track.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AudioFacts {
    /// BCP 47 tag or ISO 639-2/T code, `und` when unknown.
    pub language: String,
    /// Number of channels.
    pub channels: u32,
    /// Samples per second.
    pub sample_rate: u32,
    /// RFC 6381 string.
    pub codec: String,
}

impl Index {
    /// The facts about the source of this index.
    pub fn facts(&self) -> SourceFacts {
        let duration_us = |timescale: u32, end: i64| {
            let end = u128::try_from(end).unwrap_or(0);
            u64::try_from((end * 1_000_000).div_ceil(u128::from(timescale.max(1)))).unwrap_or(u64::MAX)
        };
        SourceFacts {
            container: self.container,
            duration_us: self
                .tracks
                .iter()
                .map(|track| duration_us(track.timescale, track.end))
                .max()
                .unwrap_or(0),
            video: self.video().map(|(_, video)| {
                let (display_width, display_height) = video.display_size();
                VideoFacts {
                    display_width,
                    display_height,
                    width: video.width,
                    height: video.height,
                    frame_rate: video.frame_rate,
                    codec: video.codec.clone(),
                }
            }),
            audio: self
                .audio_tracks()
                .map(|(track, audio)| AudioFacts {
                    language: track.language.clone(),
                    channels: audio.channels,
                    sample_rate: audio.sample_rate,
                    codec: audio.codec.clone(),
                })
                .collect(),
            is_truncated: self.is_truncated,
            left_out: self.left_out.clone(),
        }
    }
}

impl super::VideoTrack {
    /// Whether GOPs may be open: leading pictures follow a keyframe in decode order, precede it in
    /// presentation order, and may need the GOP before.
    ///
    /// An HEVC decoder that starts at such a keyframe skips them (ISO/IEC 23008-2, 8.1.3). Decoders of other
    /// codecs would show them corrupted, so an index has none for those codecs. M-7.
    pub fn has_leading_samples(&self) -> bool {
        self.codec.starts_with("hvc1.")
    }

    /// Display width and height in square pixels: the width scaled by the pixel aspect ratio, then the
    /// rotation applied.
    pub fn display_size(&self) -> (u32, u32) {
        let (horizontal, vertical) = self.pixel_aspect;
        let vertical = u64::from(vertical.max(1));
        let stretched = (u64::from(self.width) * u64::from(horizontal) + vertical / 2) / vertical;
        let stretched = u32::try_from(stretched).unwrap_or(u32::MAX).max(1);
        if self.rotation % 180 == 90 { (self.height, stretched) } else { (stretched, self.height) }
    }
}
