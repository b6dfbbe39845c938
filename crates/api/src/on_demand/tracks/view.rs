//! The JSON view of an added track (C-155).

use kinora_domain::AddedTrack;
use kinora_web::openapi::schema;
use schemars::JsonSchema;
use serde::Serialize;

/// The requested track. The media has its current status.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AddedTrack")]
pub(super) struct AddedTrackView {
    #[schemars(with = "schema::Id")]
    id: String,
    #[schemars(with = "schema::AddedKind")]
    r#type: &'static str,
    url: String,
    language_code: String,
    language_name: String,
}

impl From<&AddedTrack> for AddedTrackView {
    fn from(track: &AddedTrack) -> Self {
        Self {
            id: track.id.to_string(),
            r#type: track.spec.kind.as_str(),
            url: track.spec.url.clone(),
            language_code: track.spec.language_code.clone(),
            language_name: track.spec.language_name.clone(),
        }
    }
}
