//! What is done to the sound of a media before it is ready: inputs of type `audio`
//! (C-126, D-0080).

use std::time::Duration;

/// Another sound, or more of it. At least one of both is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SoundEdit {
    /// The address of the file whose sound takes the place of the media's own (`swapTrackUrl`).
    pub swap_url: Option<String>,
    /// What is heard over it (`imposeTracks`), at most [`OVERLAYS_MAX`](Self::OVERLAYS_MAX).
    pub overlays: Vec<SoundOverlay>,
}

/// Sound that is heard over that of the media. Times are of the media.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SoundOverlay {
    /// The address of its file.
    pub url: String,
    /// When it begins, whatever the file's own beginning is.
    pub start: Duration,
    /// When it ends at the latest; it ends with its file and with the media, too. Later than `start`.
    pub end: Option<Duration>,
    /// It grows louder for so long.
    pub fade_in: Duration,
    /// It grows quieter for so long before its end.
    pub fade_out: Duration,
}

impl SoundOverlay {
    /// As it is, from the beginning to the end.
    pub fn whole(url: impl Into<String>) -> Self {
        let (start, fade_in, fade_out) = Default::default();
        Self { url: url.into(), start, end: None, fade_in, fade_out }
    }
}

impl SoundEdit {
    /// Most sounds over one media. A mix of forty is possible; a media with pauses takes some of those for
    /// itself.
    pub const OVERLAYS_MAX: usize = 16;
    /// Latest time that can be named: the longest media (C-126).
    pub const TIME_MAX: Duration = Duration::from_secs(12 * 60 * 60);
}
