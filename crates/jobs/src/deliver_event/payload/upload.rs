//! The upload data in event bodies (C-187).

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kinora_domain::Upload;
use kinora_store::Store;
use serde::Serialize;

use super::media::{RestrictionsItem, metadata};

/// Creates the signed URLs of uploads. They are never stored, so read access to the database does not grant
/// access to an upload.
pub(in crate::deliver_event) struct UploadUrlSigner<'a> {
    /// Signs them.
    pub store: &'a Store,
    /// Base of the URLs, without a slash at the end.
    pub public_url: &'a str,
}

impl UploadUrlSigner<'_> {
    fn sign_url(&self, upload: &Upload) -> String {
        format!("{}/upload/{}", self.public_url, URL_SAFE_NO_PAD.encode(self.store.sign_upload(upload)))
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UploadData {
    upload_id: String,
    trial: bool,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    timeout: u32,
    cors_origin: String,
    push_media_settings: PushMediaSettings,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PushMediaSettings {
    playback_ids: Vec<PolicyItem>,
    metadata: BTreeMap<String, String>,
    source_access: bool,
    optimize_audio: bool,
}

/// A future playback ID: it has no id before there is a media (C-121).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PolicyItem {
    access_policy: &'static str,
    access_restrictions: RestrictionsItem,
    #[serde(skip_serializing_if = "Option::is_none")]
    encryption: Option<&'static str>,
}

impl UploadData {
    /// Without the URL if nothing signs it.
    pub(super) fn new(upload: &Upload, url_signer: Option<&UploadUrlSigner<'_>>) -> Self {
        let policy = PolicyItem {
            access_policy: upload.policy.as_str(),
            access_restrictions: (&upload.restrictions).into(),
            encryption: upload.encryption.name_if_encrypted(),
        };
        Self {
            upload_id: upload.id.to_string(),
            trial: false,
            status: upload.state.name(),
            url: url_signer.map(|url_signer| url_signer.sign_url(upload)),
            timeout: upload.timeout_s,
            cors_origin: upload.origin.as_str().to_owned(),
            push_media_settings: PushMediaSettings {
                playback_ids: vec![policy],
                metadata: metadata(&upload.settings),
                source_access: upload.settings.source_access,
                optimize_audio: upload.settings.optimize_audio,
            },
        }
    }
}
