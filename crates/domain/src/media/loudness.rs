//! The measured loudness of the audio of a media, and the gain that levels it (C-192; EBU R 128).

/// A loudness, a true peak or a gain in hundredths of a decibel: LUFS, LU, dBTP or dB.
pub type Centibels = i16;

/// Measured loudness of one audio track. ITU-R BS.1770-4, EBU Tech 3342.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loudness {
    /// Integrated loudness in hundredths of a LUFS, gated. `None`: no block is louder than the gate of
    /// -70 LUFS.
    pub integrated: Option<Centibels>,
    /// Loudness range in hundredths of an LU: 0 or more.
    pub range: Centibels,
    /// True peak in hundredths of a dBTP. [`SILENT_PEAK`](Self::SILENT_PEAK) for digital silence.
    pub true_peak: Centibels,
}

impl Loudness {
    /// The true peak of digital silence: below that of the quietest sample of 24 bits.
    pub const SILENT_PEAK: Centibels = -15_000;

    /// The gain to the target. `None` within the [tolerance](AudioGain::TOLERANCE), and for silence.
    ///
    /// A limiter follows only where the peaks need it.
    pub fn gain_to(self, target: LoudnessTarget) -> Option<AudioGain> {
        let distance = target.centibels().saturating_sub(self.integrated?);
        if distance.abs() <= AudioGain::TOLERANCE {
            return None;
        }
        let centibels = distance.clamp(AudioGain::MIN, AudioGain::MAX);
        let is_limited =
            AudioGain::PEAK_MAX - AudioGain::AAC_OVERSHOOT < self.true_peak.saturating_add(centibels);
        Some(AudioGain { centibels, is_limited })
    }

    /// The loudness after a gain without a limiter.
    #[must_use]
    pub fn with_gain(self, gain: Centibels) -> Self {
        Self {
            integrated: self.integrated.map(|loudness| loudness.saturating_add(gain)),
            range: self.range,
            true_peak: self.true_peak.saturating_add(gain).max(Self::SILENT_PEAK),
        }
    }
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
    /// Highest true peak behind the limiter, before AAC: -2.7 dBTP. The limiter holds -3.1 dB at four times
    /// the sample rate, and the true peak is at most 0.4 dB higher (BS.1770-4, annex 2).
    pub const LIMITED_PEAK: Centibels = -270;
    /// Audio this close to the target stays as it is: 0.5 LU.
    pub const TOLERANCE: Centibels = 50;
    /// AAC may raise peaks by this much: 1.5 dB. A track with less room gets the limiter.
    ///
    /// Speech and music were measured with up to 0.9 dB. Clipped audio has up to 4.4 dB. Continuous clipped
    /// audio is loud, so its gain is far below 0. Short clipped bursts with silence between them are raised,
    /// and may exceed [`PEAK_MAX`](Self::PEAK_MAX) after AAC.
    pub const AAC_OVERSHOOT: Centibels = 150;
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

    /// Hundredths of a LUFS.
    pub fn centibels(self) -> Centibels {
        Centibels::from(self.0) * 100
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
    /// One for each audio track of the presentation, in its order. `None`: the track could not be decoded.
    pub tracks: Vec<Option<TrackLoudness>>,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn gain(integrated: Option<Centibels>, true_peak: Centibels) -> Option<(Centibels, bool)> {
        let loudness = Loudness { integrated, range: 500, true_peak };
        loudness.gain_to(LoudnessTarget::DEFAULT).map(|gain| (gain.centibels, gain.is_limited))
    }

    #[test]
    fn gain_is_the_distance_to_the_target() {
        assert_eq!(gain(Some(-2730), -1400), Some((1130, false)));
        assert_eq!(gain(Some(-400), 150), Some((-1200, false)));
        // Within the tolerance, and just outside.
        for near in [-1650, -1600, -1550] {
            assert_eq!(gain(Some(near), 300), None, "{near}");
        }
        assert_eq!(gain(Some(-1651), -600), Some((51, false)));
        assert_eq!(gain(Some(-1549), -600), Some((-51, false)));
        assert_eq!(gain(None, Loudness::SILENT_PEAK), None);
        assert_eq!(gain(Some(-6900), -5000), Some((AudioGain::MAX, false)));
        assert_eq!(gain(Some(3000), 3000), Some((-4600, false)));
    }

    #[test]
    fn limiter_follows_where_peaks_need_it() {
        assert_eq!(gain(Some(-2600), -1250), Some((1000, false)));
        assert_eq!(gain(Some(-2600), -1249), Some((1000, true)));
        // An attenuation may need one too: rare loud peaks in quiet audio.
        assert_eq!(gain(Some(-1500), 100), Some((-100, true)));
        assert_eq!(gain(Some(-4000), Centibels::MAX), Some((2400, true)));
    }

    #[test]
    fn gain_shifts_loudness_and_peak_but_not_the_range() {
        let before = Loudness { integrated: Some(-2600), range: 500, true_peak: -1250 };
        let after = Loudness { integrated: Some(-1600), range: 500, true_peak: -250 };
        assert_eq!(before.with_gain(1000), after);
        let silence = Loudness { integrated: None, range: 0, true_peak: Loudness::SILENT_PEAK };
        assert_eq!(silence.with_gain(-6000), silence);
    }
}
