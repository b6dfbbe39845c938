//! How an added track looks in answers about it (C-155).

use kinora_domain::AddedTrack;
use kinora_web::openapi::schema;
use schemars::JsonSchema;
use serde::Serialize;

/// What was asked for. How far it has come is told by the media.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AddedTrack")]
pub(super) struct TrackAnswer {
    #[schemars(with = "schema::Id")]
    id: String,
    #[schemars(with = "schema::AddedKind")]
    r#type: &'static str,
    url: String,
    language_code: String,
    language_name: String,
}

impl From<&AddedTrack> for TrackAnswer {
    fn from(track: &AddedTrack) -> Self {
        Self {
            id: track.id.to_string(),
            r#type: track.wanted.kind.as_str(),
            url: track.wanted.url.clone(),
            language_code: track.wanted.language_code.clone(),
            language_name: track.wanted.language_name.clone(),
        }
    }
}
