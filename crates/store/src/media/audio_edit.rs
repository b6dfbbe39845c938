//! The audio edit of a media, as JSON in a row.

use std::time::Duration;

use kinora_domain::{AudioEdit, AudioOverlay};
use serde::{Deserialize, Serialize};

use crate::Error;

/// Times are in milliseconds.
#[derive(Serialize, Deserialize)]
pub(crate) struct AudioEditJson {
    swap_url: Option<String>,
    overlays: Vec<OverlayJson>,
}

#[derive(Serialize, Deserialize)]
struct OverlayJson {
    url: String,
    start: u64,
    end: Option<u64>,
    fade_in: u64,
    fade_out: u64,
}

impl AudioEditJson {
    /// The JSON of an edit; `None` for none.
    pub(crate) fn text(edit: Option<&AudioEdit>) -> Option<String> {
        edit.map(|edit| serde_json::to_string(&Self::from(edit)).expect("texts and numbers are always JSON"))
    }

    pub(crate) fn read(text: Option<String>) -> Result<Option<AudioEdit>, Error> {
        let read =
            text.map(|text| serde_json::from_str::<Self>(&text)).transpose().map_err(Error::internal)?;
        Ok(read.map(AudioEdit::from))
    }
}

impl From<&AudioEdit> for AudioEditJson {
    fn from(edit: &AudioEdit) -> Self {
        let overlays = edit.overlays.iter().map(|overlay| OverlayJson {
            url: overlay.url.clone(),
            start: millis(overlay.start),
            end: overlay.end.map(millis),
            fade_in: millis(overlay.fade_in),
            fade_out: millis(overlay.fade_out),
        });
        Self { swap_url: edit.swap_url.clone(), overlays: overlays.collect() }
    }
}

impl From<AudioEditJson> for AudioEdit {
    fn from(json: AudioEditJson) -> Self {
        let overlays = json.overlays.into_iter().map(|overlay| AudioOverlay {
            url: overlay.url,
            start: Duration::from_millis(overlay.start),
            end: overlay.end.map(Duration::from_millis),
            fade_in: Duration::from_millis(overlay.fade_in),
            fade_out: Duration::from_millis(overlay.fade_out),
        });
        Self { swap_url: json.swap_url, overlays: overlays.collect() }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
