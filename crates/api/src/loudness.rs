//! The loudness of a media, as its owner reads it (C-192).

use kinora_domain::{Centibels, Loudness, LoudnessTarget, Media, MediaLoudness, TrackLoudness};
use schemars::JsonSchema;
use serde::Serialize;

/// `loudness` of a media whose audio was measured.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "MediaLoudness")]
pub(crate) struct LoudnessView {
    /// Integrated loudness that the audio is levelled to, in LUFS.
    #[schemars(range(min = LoudnessTarget::QUIETEST, max = LoudnessTarget::LOUDEST))]
    target: i8,
    /// One for each audio track of the source, in its order. `null`: it could not be decoded.
    tracks: Vec<Option<TrackLoudnessView>>,
}

impl LoudnessView {
    /// The loudness of a media; `None` until it is measured.
    pub(crate) fn of(media: &Media) -> Option<Self> {
        media.loudness.as_ref().map(Self::from)
    }
}

impl From<&MediaLoudness> for LoudnessView {
    fn from(loudness: &MediaLoudness) -> Self {
        let track = |track: &Option<TrackLoudness>| track.as_ref().map(TrackLoudnessView::from);
        Self { target: loudness.target.lufs(), tracks: loudness.tracks.iter().map(track).collect() }
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TrackLoudness")]
struct TrackLoudnessView {
    /// As in the source.
    before: LevelsView,
    /// Gain that levels it, in dB. 0: it is at the target already, or silent.
    gain: f64,
    /// Whether a limiter holds its peaks.
    limiter: bool,
    /// With the gain.
    after: LevelsView,
}

impl From<&TrackLoudness> for TrackLoudnessView {
    fn from(track: &TrackLoudness) -> Self {
        Self {
            before: track.before.into(),
            gain: track.gain.map_or(0.0, |gain| decibels(gain.centibels)),
            limiter: track.gain.is_some_and(|gain| gain.is_limited),
            after: track.after.into(),
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "LoudnessLevels")]
struct LevelsView {
    /// Integrated loudness in LUFS. `null` for silence.
    integrated: Option<f64>,
    /// Loudness range in LU.
    range: f64,
    /// True peak in dBTP.
    true_peak: f64,
}

impl From<Loudness> for LevelsView {
    fn from(loudness: Loudness) -> Self {
        Self {
            integrated: loudness.integrated.map(decibels),
            range: decibels(loudness.range),
            true_peak: decibels(loudness.true_peak),
        }
    }
}

fn decibels(centibels: Centibels) -> f64 {
    f64::from(centibels) / 100.0
}

#[cfg(test)]
mod tests {
    use kinora_domain::AudioGain;
    use serde_json::json;

    use super::*;

    #[test]
    fn hundredths_are_decimals_and_silence_is_null() {
        let before = Loudness { integrated: Some(-2_731), range: 640, true_peak: -912 };
        let after = Loudness { integrated: Some(-1_600), range: 610, true_peak: -101 };
        let gain = Some(AudioGain { centibels: 1_131, is_limited: true });
        let silence = Loudness { integrated: None, range: 0, true_peak: Loudness::SILENT_PEAK };
        let loudness = MediaLoudness {
            target: LoudnessTarget::DEFAULT,
            tracks: vec![
                Some(TrackLoudness { before, gain, after }),
                Some(TrackLoudness { before: silence, gain: None, after: silence }),
                None,
            ],
        };
        let silence = json!({"integrated": null, "range": 0.0, "truePeak": -150.0});
        assert_eq!(
            json!(LoudnessView::from(&loudness)),
            json!({"target": -16, "tracks": [
                {
                    "before": {"integrated": -27.31, "range": 6.4, "truePeak": -9.12},
                    "gain": 11.31,
                    "limiter": true,
                    "after": {"integrated": -16.0, "range": 6.1, "truePeak": -1.01},
                },
                {"before": silence.clone(), "gain": 0.0, "limiter": false, "after": silence},
                null,
            ]})
        );
    }
}
