//! The columns of an upload: encodes and decodes them.

use kinora_domain::{
    AccessPolicy, AccessRestrictions, CorsOrigin, Encryption, Failure, FailureCode, Timestamp, Upload,
    UploadState,
};

use crate::Error;
use crate::media::RestrictionsJson;
use crate::media::added_tracks::NewTrackJson;
use crate::media::columns::read_settings;
use crate::sql::{Row, Value, values};

/// The columns that a save may change, in the order of the statements: length to updated_at.
pub(super) fn updated_values(upload: &Upload) -> Vec<Value> {
    let (at, failure) = match &upload.state {
        UploadState::Waiting => (None, None),
        UploadState::Uploading { stored_at: kept_at, .. } => (Some(*kept_at), None),
        UploadState::Completed { at, .. } | UploadState::Cancelled { at } | UploadState::TimedOut { at } => {
            (Some(*at), None)
        }
        UploadState::Failed { at, failure } => (Some(*at), Some(failure)),
    };
    values![
        upload.length.map(saturated_i64),
        upload.state.name(),
        at,
        saturated_i64(upload.offset()),
        failure.map(|failure| failure.code.as_str()),
        failure.map(|failure| failure.message.as_str()),
        upload.holds_source(),
        upload.updated_at,
    ]
}

/// A number of bytes; saturates, because no object store takes more than `i64` bytes.
pub(super) fn saturated_i64(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// `None` without restrictions.
pub(super) fn restrictions_json(upload: &Upload) -> Option<String> {
    let restrictions = Some(&upload.restrictions).filter(|rules| **rules != AccessRestrictions::default());
    restrictions.map(|rules| RestrictionsJson::from(rules).to_text())
}

/// Uploads that were created before restrictions existed have none.
fn read_restrictions(row: &Row) -> Result<AccessRestrictions, Error> {
    match row.text_or_none("restrictions")? {
        Some(_) => row.json::<RestrictionsJson>("restrictions")?.try_into(),
        None => Ok(AccessRestrictions::default()),
    }
}

pub(super) fn read(row: &Row) -> Result<Upload, Error> {
    Ok(Upload {
        id: row.id("id")?,
        workspace: row.id("workspace_id")?,
        settings: read_settings(row)?,
        policy: row.parsed("policy", AccessPolicy::from_text)?,
        restrictions: read_restrictions(row)?,
        encryption: row.parsed("encryption", Encryption::from_text)?,
        tracks: NewTrackJson::read_list(row.text_or_none("tracks")?)?,
        origin: CorsOrigin::from_text(&row.text("cors_origin")?),
        timeout_s: row.number("timeout_s")?,
        size_max: row.number_or_none("size_max")?,
        source: row.id("source_id")?,
        length: row.number_or_none("length")?,
        state: read_state(row)?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
        version: row.int("version")?,
    })
}

fn read_state(row: &Row) -> Result<UploadState, Error> {
    let at = || -> Result<Timestamp, Error> { row.time("state_at") };
    Ok(match row.text("state")?.as_str() {
        "waiting" => UploadState::Waiting,
        "uploading" => UploadState::Uploading { stored: row.number("kept")?, stored_at: at()? },
        "completed" => UploadState::Completed { at: at()?, is_handed_over: !row.flag("holds_source")? },
        "cancelled" => UploadState::Cancelled { at: at()? },
        "timedout" => UploadState::TimedOut { at: at()? },
        "failed" => UploadState::Failed {
            at: at()?,
            failure: Failure {
                code: row.parsed("failure_code", FailureCode::from_text)?,
                message: row.text("failure_message")?,
            },
        },
        _ => return Err(Row::invalid_column("state")),
    })
}
