//! An upload in the facts of an event.

use kinora_domain::{
    AccessPolicy, AccessRestrictions, CorsOrigin, Failure, FailureCode, NewTrack, Timestamp, Upload,
    UploadState,
};
use serde::{Deserialize, Serialize};

use super::media_json::{SettingsJson, encryption, id, parsed};
use crate::Error;
use crate::media::RestrictionsJson;
use crate::media::added_tracks::NewTrackJson;

#[derive(Serialize, Deserialize)]
pub(super) struct UploadJson {
    id: String,
    workspace: String,
    #[serde(flatten)]
    settings: SettingsJson,
    policy: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    restrictions: Option<RestrictionsJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    encryption: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tracks: Vec<NewTrackJson>,
    origin: String,
    timeout_s: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    size_max: Option<u64>,
    source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    length: Option<u64>,
    state: UploadStateJson,
    created_at: i64,
    updated_at: i64,
    version: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum UploadStateJson {
    Waiting,
    Uploading { kept: u64, kept_at: i64 },
    Completed { at: i64, is_handed_over: bool },
    Cancelled { at: i64 },
    TimedOut { at: i64 },
    Failed { at: i64, code: String, message: String },
}

impl From<&Upload> for UploadJson {
    fn from(upload: &Upload) -> Self {
        Self {
            id: upload.id.to_string(),
            workspace: upload.workspace.to_string(),
            settings: SettingsJson::from(&upload.settings),
            policy: upload.policy.as_str().to_owned(),
            restrictions: Some(&upload.restrictions)
                .filter(|rules| **rules != AccessRestrictions::default())
                .map(RestrictionsJson::from),
            encryption: upload.encryption.name_if_encrypted().map(str::to_owned),
            tracks: upload.tracks.iter().map(NewTrackJson::from).collect(),
            origin: upload.origin.as_str().to_owned(),
            timeout_s: upload.timeout_s,
            size_max: upload.size_max,
            source: upload.source.to_string(),
            length: upload.length,
            state: UploadStateJson::from(&upload.state),
            created_at: upload.created_at.as_micros(),
            updated_at: upload.updated_at.as_micros(),
            version: upload.version,
        }
    }
}

impl TryFrom<UploadJson> for Upload {
    type Error = Error;

    fn try_from(json: UploadJson) -> Result<Self, Error> {
        Ok(Self {
            id: id(&json.id)?,
            workspace: id(&json.workspace)?,
            settings: json.settings.try_into()?,
            policy: parsed(&json.policy, AccessPolicy::from_text)?,
            restrictions: json.restrictions.map(TryInto::try_into).transpose()?.unwrap_or_default(),
            encryption: encryption(json.encryption.as_deref())?,
            tracks: json.tracks.into_iter().map(NewTrack::try_from).collect::<Result<_, _>>()?,
            origin: CorsOrigin::from_text(&json.origin),
            timeout_s: json.timeout_s,
            size_max: json.size_max,
            source: id(&json.source)?,
            length: json.length,
            state: json.state.try_into()?,
            created_at: Timestamp::from_micros(json.created_at),
            updated_at: Timestamp::from_micros(json.updated_at),
            version: json.version,
        })
    }
}

impl From<&UploadState> for UploadStateJson {
    fn from(state: &UploadState) -> Self {
        match state {
            UploadState::Waiting => Self::Waiting,
            UploadState::Uploading { stored: kept, stored_at: kept_at } => {
                Self::Uploading { kept: *kept, kept_at: kept_at.as_micros() }
            }
            UploadState::Completed { at, is_handed_over } => {
                Self::Completed { at: at.as_micros(), is_handed_over: *is_handed_over }
            }
            UploadState::Cancelled { at } => Self::Cancelled { at: at.as_micros() },
            UploadState::TimedOut { at } => Self::TimedOut { at: at.as_micros() },
            UploadState::Failed { at, failure } => Self::Failed {
                at: at.as_micros(),
                code: failure.code.as_str().to_owned(),
                message: failure.message.clone(),
            },
        }
    }
}

impl TryFrom<UploadStateJson> for UploadState {
    type Error = Error;

    fn try_from(json: UploadStateJson) -> Result<Self, Error> {
        let at = Timestamp::from_micros;
        Ok(match json {
            UploadStateJson::Waiting => Self::Waiting,
            UploadStateJson::Uploading { kept, kept_at } => {
                Self::Uploading { stored: kept, stored_at: at(kept_at) }
            }
            UploadStateJson::Completed { at: when, is_handed_over } => {
                Self::Completed { at: at(when), is_handed_over }
            }
            UploadStateJson::Cancelled { at: when } => Self::Cancelled { at: at(when) },
            UploadStateJson::TimedOut { at: when } => Self::TimedOut { at: at(when) },
            UploadStateJson::Failed { at: when, code, message } => Self::Failed {
                at: at(when),
                failure: Failure { code: parsed(&code, FailureCode::from_text)?, message },
            },
        })
    }
}
