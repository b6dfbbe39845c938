//! Tracks of a source that cannot be played, as JSON in a row and in the facts of an event.

use kinora_domain::LeftOutTrack;
use serde::{Deserialize, Serialize};

use crate::Error;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LeftOutJson {
    #[serde(rename = "is_picture")]
    is_video: bool,
    detail: String,
}

impl LeftOutJson {
    /// The JSON of the tracks; `None` for none.
    pub(crate) fn text(tracks: &[LeftOutTrack]) -> Option<String> {
        let json: Vec<_> = tracks.iter().map(Self::from).collect();
        (!json.is_empty()).then(|| serde_json::to_string(&json).expect("texts are always JSON"))
    }

    pub(crate) fn read(text: Option<String>) -> Result<Vec<LeftOutTrack>, Error> {
        let Some(text) = text else { return Ok(Vec::new()) };
        let json = serde_json::from_str::<Vec<Self>>(&text).map_err(Error::internal)?;
        Ok(json.into_iter().map(LeftOutTrack::from).collect())
    }
}

impl From<&LeftOutTrack> for LeftOutJson {
    fn from(track: &LeftOutTrack) -> Self {
        Self { is_video: track.is_video, detail: track.detail.clone() }
    }
}

impl From<LeftOutJson> for LeftOutTrack {
    fn from(json: LeftOutJson) -> Self {
        Self { is_video: json.is_video, detail: json.detail }
    }
}
