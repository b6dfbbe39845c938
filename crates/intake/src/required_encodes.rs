//! The parts of a source without a copy rendition.

use kinora_domain::Resolution;
use kinora_hls::audio_renditions;
use kinora_index::{Index, NotCopied};

/// The parts of a source without a copy rendition, which are encoded before its media is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequiredEncodes {
    /// The video.
    pub video: bool,
    /// The default audio track.
    pub audio: bool,
    /// Some audio has an encoded rendition, which is encoded after the media is ready.
    pub has_encoded_audio: bool,
}

impl RequiredEncodes {
    /// For a source limited to the resolution `max`.
    pub fn of(index: &Index, max: Resolution) -> Self {
        let is_copied = |why: &Option<NotCopied>| why.is_none();
        let video = index.video().is_some_and(|(_, video)| {
            let (width, height) = video.display_size();
            !is_copied(&video.not_copied) || Resolution::of_size(width, height) > max
        });
        let renditions = audio_renditions(index, !video);
        let audio = index.audio_number().is_some_and(|number| !renditions[usize::from(number)].is_copied);
        Self { video, audio, has_encoded_audio: renditions.iter().any(|rendition| rendition.is_encoded) }
    }

    /// The copy plays completely, so the media can become ready at once.
    pub fn is_empty(self) -> bool {
        !self.video && !self.audio
    }
}
