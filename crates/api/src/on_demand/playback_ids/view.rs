//! The JSON view of a playback ID (C-121, C-161, D-0067).

use kinora_domain::{AccessPolicy, AccessRestrictions, Encryption, Media, PlaybackIdSettings};
use kinora_web::access_restrictions;
use kinora_web::openapi::schema;
use schemars::JsonSchema;
use serde::Serialize;

use crate::view::PlaybackView;

/// A playback ID of a media, with the largest resolution that it plays.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PlaybackId")]
pub(super) struct PlaybackIdView {
    #[serde(flatten)]
    playback: PlaybackView,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "schema::Size")]
    resolution: Option<&'static str>,
}

impl From<&PlaybackIdSettings> for PlaybackIdView {
    fn from(playback: &PlaybackIdSettings) -> Self {
        Self { playback: playback.into(), resolution: playback.resolution.map(|name| name.as_str()) }
    }
}

/// Warnings about a new playback ID (C-14).
pub(super) fn warnings_of_new(playback: &PlaybackIdSettings, media: &Media) -> Vec<String> {
    let has = |is_so: fn(&PlaybackIdSettings) -> bool| media.playback_ids.iter().any(is_so);
    let mut warnings = Vec::new();
    if playback.policy == AccessPolicy::Public && has(|other| other.policy == AccessPolicy::Private) {
        warnings.push("this media also has a private playback ID; this public one plays without a token");
    }
    if playback.policy == AccessPolicy::Private && has(|other| other.policy == AccessPolicy::Public) {
        warnings.push("this media also has a public playback ID, which plays without a token");
    }
    if playback.encryption != Encryption::None && has(|other| other.encryption == Encryption::None) {
        warnings.push("this media also has a playback ID without encryption, which plays unencrypted");
    }
    if playback.encryption == Encryption::None && has(|other| other.encryption != Encryption::None) {
        warnings.push("this media also has an encrypted playback ID; this one plays unencrypted");
    }
    let mut warnings: Vec<_> = warnings.into_iter().map(str::to_owned).collect();
    let AccessRestrictions { domains, user_agents } = &playback.restrictions;
    for (name, rule) in [("domains", domains), ("userAgents", user_agents)] {
        warnings.extend(
            access_restrictions::warnings(rule).into_iter().map(|warning| format!("{name}: {warning}")),
        );
    }
    warnings
}
