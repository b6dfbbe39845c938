//! The edit of a media's audio before it is ready: inputs of type `audio` (C-126, D-0080).

use std::time::Duration;

/// A replacement of the audio, overlays on it, or both. At least one of them is set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AudioEdit {
    /// The address of the file whose audio replaces that of the media (`swapTrackUrl`).
    pub swap_url: Option<String>,
    /// Audio that is mixed over it (`imposeTracks`), at most [`OVERLAYS_MAX`](Self::OVERLAYS_MAX).
    pub overlays: Vec<AudioOverlay>,
}

/// Audio that is mixed over that of the media. Times are on the timeline of the media.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AudioOverlay {
    /// The address of its file.
    pub url: String,
    /// Its start on the timeline, independent of the start time in its own file.
    pub start: Duration,
    /// Its latest end; it also ends with its file and with the media. Later than `start`.
    pub end: Option<Duration>,
    /// Length of the fade-in.
    pub fade_in: Duration,
    /// Length of the fade-out before its end.
    pub fade_out: Duration,
}

impl AudioOverlay {
    /// An unchanged overlay, from the beginning to the end.
    pub fn whole(url: impl Into<String>) -> Self {
        let (start, fade_in, fade_out) = Default::default();
        Self { url: url.into(), start, end: None, fade_in, fade_out }
    }
}

impl AudioEdit {
    /// Most overlays of one media. A mix of forty inputs is possible, but a media with gaps uses some of
    /// them itself.
    pub const OVERLAYS_MAX: usize = 16;
    /// Latest time that a client can set: the length of the longest media (C-126).
    pub const TIME_MAX: Duration = Duration::from_secs(12 * 60 * 60);
}
