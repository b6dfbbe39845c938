//! The body of `POST /on-demand/{mediaId}/playback-ids` (C-161, C-11, C-12, C-16).

use kinora_domain::{NewPlaybackId, PlaybackIdSettings, Resolution};
use kinora_web::error::ApiError;
use kinora_web::fields::{Fields, Problems};
use serde_json::Value;

use crate::on_demand::media_settings_request::{access_policy, access_restrictions, encryption};

/// Parses the new playback ID.
pub(super) fn parse(body: &Value) -> Result<NewPlaybackId, ApiError> {
    let problems = Problems::default();
    let new = Fields::of_body(body, &problems).map(|fields| {
        let caps = PlaybackIdSettings::CAPS.map(Resolution::as_str);
        NewPlaybackId {
            policy: access_policy(&fields),
            restrictions: access_restrictions(&fields),
            resolution: fields.one_of("resolution", &caps, Resolution::from_text),
            encryption: encryption(&fields),
        }
    });
    problems.into_result(new)
}
