//! The measured loudness of a media, as JSON in a row. Levels are in hundredths of a decibel.

use kinora_domain::{AudioGain, Loudness, LoudnessTarget, MediaLoudness, TrackLoudness};
use serde::{Deserialize, Serialize};

use crate::Error;

#[derive(Serialize, Deserialize)]
pub(crate) struct LoudnessJson {
    /// In whole LUFS.
    target: i8,
    /// `null`: it could not be decoded.
    tracks: Vec<Option<TrackJson>>,
}

#[derive(Serialize, Deserialize)]
struct TrackJson {
    before: LevelsJson,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gain: Option<GainJson>,
    after: LevelsJson,
}

#[derive(Serialize, Deserialize)]
struct LevelsJson {
    integrated: Option<i16>,
    range: i16,
    peak: i16,
}

#[derive(Serialize, Deserialize)]
struct GainJson {
    gain: i16,
    limited: bool,
}

impl LoudnessJson {
    /// The JSON of a measurement; `None` for none.
    pub(crate) fn text(loudness: Option<&MediaLoudness>) -> Option<String> {
        loudness.map(|found| serde_json::to_string(&Self::from(found)).expect("numbers are always JSON"))
    }

    pub(crate) fn read(text: Option<String>) -> Result<Option<MediaLoudness>, Error> {
        let Some(text) = text else { return Ok(None) };
        let json: Self = serde_json::from_str(&text).map_err(Error::internal)?;
        let target = LoudnessTarget::new(json.target);
        let target = target.ok_or_else(|| Error::internal("a loudness target out of its range"))?;
        let tracks = json.tracks.into_iter().map(|track| track.map(TrackLoudness::from)).collect();
        Ok(Some(MediaLoudness { target, tracks }))
    }
}

impl From<&MediaLoudness> for LoudnessJson {
    fn from(loudness: &MediaLoudness) -> Self {
        let track = |track: &TrackLoudness| TrackJson {
            before: track.before.into(),
            gain: track.gain.map(|gain| GainJson { gain: gain.centibels, limited: gain.is_limited }),
            after: track.after.into(),
        };
        Self {
            target: loudness.target.lufs(),
            tracks: loudness.tracks.iter().map(|found| found.as_ref().map(track)).collect(),
        }
    }
}

impl From<TrackJson> for TrackLoudness {
    fn from(json: TrackJson) -> Self {
        let gain = |gain: GainJson| AudioGain { centibels: gain.gain, is_limited: gain.limited };
        Self { before: json.before.into(), gain: json.gain.map(gain), after: json.after.into() }
    }
}

impl From<Loudness> for LevelsJson {
    fn from(loudness: Loudness) -> Self {
        let Loudness { integrated, range, true_peak } = loudness;
        Self { integrated, range, peak: true_peak }
    }
}

impl From<LevelsJson> for Loudness {
    fn from(json: LevelsJson) -> Self {
        Self { integrated: json.integrated, range: json.range, true_peak: json.peak }
    }
}
