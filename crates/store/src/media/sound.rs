//! What is done to the sound of a media, as JSON in a row.

use std::time::Duration;

use kinora_domain::{SoundEdit, SoundOverlay};
use serde::{Deserialize, Serialize};

use crate::Error;

/// Times are milliseconds.
#[derive(Serialize, Deserialize)]
pub(crate) struct SoundEditJson {
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

impl SoundEditJson {
    /// `None` for none.
    pub(crate) fn text(edit: Option<&SoundEdit>) -> Option<String> {
        edit.map(|edit| serde_json::to_string(&Self::from(edit)).expect("texts and numbers are always JSON"))
    }

    pub(crate) fn read(text: Option<String>) -> Result<Option<SoundEdit>, Error> {
        let read =
            text.map(|text| serde_json::from_str::<Self>(&text)).transpose().map_err(Error::internal)?;
        Ok(read.map(SoundEdit::from))
    }
}

impl From<&SoundEdit> for SoundEditJson {
    fn from(edit: &SoundEdit) -> Self {
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

impl From<SoundEditJson> for SoundEdit {
    fn from(json: SoundEditJson) -> Self {
        let overlays = json.overlays.into_iter().map(|overlay| SoundOverlay {
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
