//! What an index tells about its source, for people and for the API.

use super::{Container, Index, LeftOut};

/// The facts of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFacts {
    /// What the bytes are packed in.
    pub container: Container,
    /// Length of the presentation in microseconds: to the end of the track that ends last.
    pub duration_us: u64,
    /// The video track, if there is one.
    pub video: Option<VideoFacts>,
    /// The audio tracks, in the order of the source.
    pub audio: Vec<AudioFacts>,
    /// Set when only a playable prefix of the source was there.
    pub is_truncated: bool,
    /// Tracks of the source that cannot be played.
    pub left_out: Vec<LeftOut>,
}

/// The facts of a video track.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VideoFacts {
    /// Width in square pixels as a person sees it, after pixel aspect and rotation.
    pub display_width: u32,
    /// Height in square pixels as a person sees it, after rotation.
    pub display_height: u32,
    /// Coded width in pixels.
    pub width: u32,
    /// Coded height in pixels.
    pub height: u32,
    /// Frames a second as a fraction (average).
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
    /// Samples a second.
    pub sample_rate: u32,
    /// RFC 6381 string.
    pub codec: String,
}

impl Index {
    /// What this index tells about its source.
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
    /// Whether GOPs may be open: pictures that follow a keyframe and are shown before it may need the GOP
    /// before.
    ///
    /// A decoder of HEVC that begins at such a keyframe leaves them out (ISO/IEC 23008-2, 8.1.3). Decoders of
    /// the others would show them broken, so there are none in an index. M-7.
    pub fn has_leading_pictures(&self) -> bool {
        self.codec.starts_with("hvc1.")
    }

    /// Width and height in square pixels as a person sees them: the width stretched by the pixel aspect, then
    /// turned.
    pub fn display_size(&self) -> (u32, u32) {
        let (horizontal, vertical) = self.pixel_aspect;
        let vertical = u64::from(vertical.max(1));
        let stretched = (u64::from(self.width) * u64::from(horizontal) + vertical / 2) / vertical;
        let stretched = u32::try_from(stretched).unwrap_or(u32::MAX).max(1);
        if self.rotation % 180 == 90 { (self.height, stretched) } else { (stretched, self.height) }
    }
}
