//! The body of `POST /on-demand/{mediaId}/playback-ids` (contract 2.8, decisions 11, 12, 16).

use kinora_domain::{AccessRestrictions, NewPlayback, PlaybackHandle, Resolution};
use serde_json::Value;

use crate::api::on_demand::rules::restrictions;
use crate::api::on_demand::wishes::access_policy;
use crate::error::ApiError;
use crate::fields::{Fields, Problems};

/// The playback ID that the client asked for.
pub(super) fn parse(body: &Value) -> Result<NewPlayback, ApiError> {
    let problems = Problems::default();
    let new = Fields::of_body(body, &problems).map(|fields| {
        let caps = PlaybackHandle::CAPS.map(Resolution::as_str);
        NewPlayback {
            policy: access_policy(&fields),
            restrictions: fields
                .object("accessRestrictions")
                .map_or_else(AccessRestrictions::default, |asked| restrictions(&asked).unwrap_or_default()),
            resolution: fields.word("resolution", &caps, Resolution::from_text),
        }
    });
    problems.into_result(new)
}
