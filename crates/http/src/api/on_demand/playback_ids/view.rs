//! How a playback ID looks in answers about it (contract 2.8, decision 0067).

use kinora_domain::{AccessPolicy, Media, PlaybackHandle};
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::view::PlaybackView;
use crate::openapi::schema;

/// A playback ID as a media shows it, with the largest that it plays.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PlaybackId")]
pub(super) struct PlaybackIdView {
    #[serde(flatten)]
    playback: PlaybackView,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "schema::Size")]
    resolution: Option<&'static str>,
}

impl From<&PlaybackHandle> for PlaybackIdView {
    fn from(playback: &PlaybackHandle) -> Self {
        Self { playback: playback.into(), resolution: playback.resolution.map(|name| name.as_str()) }
    }
}

/// What whoever changed this playback ID should know.
pub(super) fn warnings(playback: &PlaybackHandle) -> Vec<String> {
    let limited =
        "what limits this playback ID is stored and not enforced yet; until it is, it plays for nobody";
    playback.is_limited().then(|| limited.to_owned()).into_iter().collect()
}

/// The same of one that was just made (contract decision 14).
pub(super) fn warnings_of_new(playback: &PlaybackHandle, media: &Media) -> Vec<String> {
    let mut warnings = warnings(playback);
    let has_private = media.playback.iter().any(|other| other.policy == AccessPolicy::Private);
    if playback.policy == AccessPolicy::Public && has_private {
        let both = "this media has a private playback ID too; whoever has this public one needs no token";
        warnings.push(both.to_owned());
    }
    warnings
}
