//! The measured loudness of the audio of a media, and the gain that levels it (C-201; EBU R 128).

/// A loudness, a true peak or a gain in hundredths of a decibel: LUFS, LU, dBTP or dB.
pub type Centibels = i16;

/// Measured loudness of one audio track. ITU-R BS.1770-4, EBU Tech 3342.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loudness {
    /// Integrated loudness in hundredths of a LUFS, gated. `None`: no block is louder than the gate of -70 LUFS.
    pub integrated: Option<Centibels>,
    /// Loudness range in hundredths of an LU: 0 or more.
    pub range: Centibels,
    /// True peak in hundredths of a dBTP. [`SILENT_PEAK`](Self::SILENT_PEAK) for digital silence.
    pub true_peak: Centibels,
}

impl Loudness {
    /// The true peak of digital silence: below that of the quietest sample of 24 bits.
    pub const SILENT_PEAK: Centibels = -15_000;
}

/// The gain of an audio rendition. Part of its name, so that another gain has another address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AudioGain {
    /// Hundredths of a decibel, -6,000 to [`MAX`](Self::MAX); never 0.
    pub centibels: Centibels,
    /// Whether a limiter holds true peaks below [`PEAK_MAX`](Self::PEAK_MAX) after the gain.
    pub is_limited: bool,
}

impl AudioGain {
    /// The largest gain: 30 dB. More makes noise loud.
    pub const MAX: Centibels = 3_000;
    /// The largest attenuation: 60 dB.
    pub const MIN: Centibels = -6_000;
    /// Highest true peak of levelled audio: -1 dBTP.
    pub const PEAK_MAX: Centibels = -100;
    /// Audio this close to the target stays as it is: 0.5 LU.
    pub const TOLERANCE: Centibels = 50;
}

/// The integrated loudness that audio is levelled to, in whole LUFS. A setting of the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LoudnessTarget(i8);

impl LoudnessTarget {
    /// -16 LUFS, as recommended for streams that are heard on phones (AES TD1008).
    pub const DEFAULT: Self = Self(-16);
    /// The loudest target.
    pub const LOUDEST: i8 = -14;
    /// The quietest target.
    pub const QUIETEST: i8 = -24;

    /// A target of -24 to -14 LUFS; `None` for another one.
    pub fn new(lufs: i8) -> Option<Self> {
        (Self::QUIETEST..=Self::LOUDEST).contains(&lufs).then_some(Self(lufs))
    }

    /// Whole LUFS.
    pub fn lufs(self) -> i8 {
        self.0
    }
}

impl Default for LoudnessTarget {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The loudness of a media after its measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaLoudness {
    /// The target at that time.
    pub target: LoudnessTarget,
    /// One for each audio track of the presentation, in its order. Empty without audio.
    pub tracks: Vec<TrackLoudness>,
}

/// The loudness of an audio track, and its change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrackLoudness {
    /// As in the source, in stereo.
    pub before: Loudness,
    /// The gain in force while the media's audio is levelled. `None`: the audio is at the target already, or
    /// silent.
    pub gain: Option<AudioGain>,
    /// With the gain; as `before` without one.
    pub after: Loudness,
}
