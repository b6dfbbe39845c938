//! The JSON views of an upload (C-142, C-143, C-28, C-29, C-31).

use std::collections::BTreeMap;

use kinora_domain::{Upload, UploadState};
use kinora_web::failure::FailureView;
use kinora_web::openapi::schema;
use schemars::JsonSchema;
use serde::Serialize;

use crate::ApiState;
use crate::view::RestrictionsView;

/// An upload, as created and listed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Upload")]
pub(super) struct UploadView {
    #[schemars(with = "schema::Id")]
    upload_id: String,
    #[schemars(with = "schema::Never")]
    trial: bool,
    #[schemars(with = "schema::UploadStatus")]
    status: &'static str,
    #[schemars(with = "schema::Address")]
    url: String,
    timeout: u32,
    cors_origin: String,
    push_media_settings: SettingsView,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "FailureView")]
    error: Option<FailureView>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "UploadSettings")]
struct SettingsView {
    playback_ids: [PendingPlaybackView; 1],
    #[schemars(with = "schema::Metadata")]
    metadata: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "schema::Text")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "schema::Text")]
    creator_id: Option<String>,
    #[schemars(with = "schema::Quality")]
    media_quality: &'static str,
    source_access: bool,
    optimize_audio: bool,
    #[schemars(with = "schema::Cap")]
    max_resolution: &'static str,
}

/// A planned playback ID, without an id.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PlaybackIdToBe")]
struct PendingPlaybackView {
    #[schemars(with = "schema::Policy")]
    access_policy: &'static str,
    access_restrictions: RestrictionsView,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "schema::Encrypted")]
    encryption: Option<&'static str>,
}

/// The response to a cancellation, which has another form.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CancelledUpload {
    #[schemars(with = "schema::Id")]
    upload_id: String,
    #[schemars(with = "schema::Never")]
    trial: bool,
    #[schemars(with = "schema::UploadStatus")]
    status: &'static str,
    #[schemars(with = "schema::Address")]
    url: String,
    timeout: u32,
    cors_origin: String,
    #[schemars(with = "schema::Cap")]
    max_resolution: &'static str,
    #[schemars(with = "schema::Policy")]
    access_policy: &'static str,
    #[schemars(with = "schema::Metadata")]
    metadata: BTreeMap<String, String>,
    #[schemars(with = "Option<schema::Text>")]
    title: Option<String>,
    #[schemars(with = "Option<schema::Text>")]
    creator_id: Option<String>,
}

impl UploadView {
    pub(super) fn new(upload: &Upload, app: &ApiState) -> Self {
        let settings = &upload.settings;
        let error = match &upload.state {
            UploadState::Failed { failure, .. } => Some(FailureView::from(failure)),
            _ => None,
        };
        Self {
            upload_id: upload.id.to_string(),
            trial: false,
            status: upload.state.name(),
            url: app.base_urls.signed_upload_url(&app.store, upload),
            timeout: upload.timeout_s,
            cors_origin: upload.origin.as_str().to_owned(),
            push_media_settings: SettingsView {
                playback_ids: [PendingPlaybackView {
                    access_policy: upload.policy.as_str(),
                    access_restrictions: RestrictionsView::from(&upload.restrictions),
                    encryption: upload.encryption.name_if_encrypted(),
                }],
                metadata: settings.metadata.clone().unwrap_or_default(),
                title: settings.title.clone(),
                creator_id: settings.creator_id.clone(),
                media_quality: settings.quality.as_str(),
                source_access: settings.source_access,
                optimize_audio: settings.optimize_audio,
                max_resolution: settings.max_resolution.as_str(),
            },
            error,
        }
    }

    /// The view for a read-only token: without the signature, which permits sending and cancelling (C-39).
    pub(super) fn without_signature(upload: &Upload, app: &ApiState) -> Self {
        Self { url: app.intake.unsigned_address(upload.id), ..Self::new(upload, app) }
    }
}

impl CancelledUpload {
    pub(super) fn new(upload: &Upload, app: &ApiState) -> Self {
        Self {
            upload_id: upload.id.to_string(),
            trial: false,
            status: upload.state.name(),
            url: app.base_urls.signed_upload_url(&app.store, upload),
            timeout: upload.timeout_s,
            cors_origin: upload.origin.as_str().to_owned(),
            max_resolution: upload.settings.max_resolution.as_str(),
            access_policy: upload.policy.as_str(),
            metadata: upload.settings.metadata.clone().unwrap_or_default(),
            title: upload.settings.title.clone(),
            creator_id: upload.settings.creator_id.clone(),
        }
    }
}
