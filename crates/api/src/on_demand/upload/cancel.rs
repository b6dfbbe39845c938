use std::str::FromStr;

use axum::extract::State;
use kinora_domain::{MediaId, ParseIdError};
use kinora_intake::IntakeError;
use kinora_web::auth::WriteCaller;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::{PathId, PathParameter};

use super::view::CancelledUpload;
use crate::ApiState;
use crate::error;

/// The id of an upload, which is that of its media.
pub(super) struct UploadId(MediaId);

impl FromStr for UploadId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        text.parse().map(Self)
    }
}

impl PathParameter for UploadId {
    const NAME: &'static str = "uploadId";
}

/// `PUT /on-demand/upload/{uploadId}/cancel`: the upload accepts no more bytes, and its media is deleted if
/// there was one (C-7).
///
/// A request that is sending its bytes ends. 404 unless the upload is in the caller's workspace, 400 once it
/// has ended, also the second time.
pub(super) async fn cancel(
    State(app): State<ApiState>,
    caller: WriteCaller,
    PathId(UploadId(id)): PathId<UploadId>,
) -> Result<Data<CancelledUpload>, ApiError> {
    app.store.upload(caller.workspace, id).await?.ok_or_else(error::upload_not_found)?;
    match app.intake.cancel(id).await {
        Ok(upload) => Ok(Data::ok(CancelledUpload::new(&upload, &app))),
        Err(IntakeError::NotFound) => Err(error::upload_not_found()),
        Err(IntakeError::Ended(upload) | IntakeError::Complete(upload)) => {
            Err(ApiError::upload_not_cancelled(&upload))
        }
        Err(other) => Err(error::cancellation_failed(other)),
    }
}
