//! A request to the address of an upload, and the operations that all protocols share.

use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use kinora_domain::{LengthRejected, UploadClaims, UploadState};
use kinora_intake::{Append, Checksum, IntakeError, UploadProgress};
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use serde::Serialize;

use super::request_body::RequestBody;
use crate::UploadRouterState;

/// A request whose signed URL was accepted.
pub(super) struct UploadRequest<'a> {
    pub(super) app: &'a UploadRouterState,
    pub(super) claims: &'a UploadClaims,
    /// The complete upload address.
    pub(super) location: String,
    pub(super) method: Method,
    pub(super) headers: &'a HeaderMap,
    pub(super) body: &'a mut RequestBody,
}

/// The position of the bytes of a request in the file, from its headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chunk {
    /// Offset of the first byte.
    pub(super) start: u64,
    /// Whether bytes that are stored already may come again.
    pub(super) may_overlap: bool,
    /// Length of the whole file in bytes, if the request states it.
    pub(super) file_len: Option<u64>,
    /// Whether the file ends with the body.
    pub(super) is_last: bool,
    /// Length of the body in bytes, if the request states it.
    pub(super) body_len: Option<u64>,
    /// Checksum of the body.
    pub(super) checksum: Option<Checksum>,
}

impl Chunk {
    /// No byte, only the end of the file: it has `length` bytes, and all of them are stored.
    pub(super) fn end_at(length: u64) -> Self {
        Self {
            start: length,
            may_overlap: true,
            file_len: Some(length),
            is_last: true,
            body_len: Some(0),
            checksum: None,
        }
    }
}

impl UploadRequest<'_> {
    /// The offset of the upload. Ends another request that is still receiving it.
    pub(super) async fn status(&mut self) -> Result<UploadProgress, IntakeError> {
        Box::pin(self.app.intake.progress(self.claims.upload)).await
    }

    /// Sets the length of the file, if it is known, and returns the offset of the upload. An upload that is
    /// complete with that length is returned too.
    pub(super) async fn create(&mut self, length: Option<u64>) -> Result<UploadProgress, IntakeError> {
        let Some(length) = length else { return self.status().await };
        self.check_length(length)?;
        match Box::pin(self.app.intake.announce(self.claims.upload, length)).await {
            Err(IntakeError::Complete(upload)) => {
                upload.check_length(length, upload.offset())?;
                Ok(UploadProgress { offset: upload.offset(), upload: *upload })
            }
            // The intake has the exact offset; the row is updated only from time to time.
            Ok(progress) if matches!(progress.upload.state, UploadState::Uploading { .. }) => {
                self.status().await
            }
            other => other,
        }
    }

    /// Receives the body.
    pub(super) async fn receive(&mut self, chunk: Chunk) -> Result<UploadProgress, IntakeError> {
        let Chunk { start, may_overlap, file_len, is_last, body_len, checksum } = chunk;
        let end = body_len.map(|len| start.saturating_add(len));
        if let Some(length) = file_len.or(end.filter(|_| is_last)) {
            self.check_length(length)?;
        }
        if let Some((max, _)) = self.claims.size_max.zip(end).filter(|(max, end)| end > max) {
            return Err(LengthRejected::TooLarge { max }.into());
        }
        let append = Append {
            start,
            may_overlap,
            length: file_len,
            is_last,
            body_len,
            checksum,
            body: &mut *self.body,
        };
        let progress = Box::pin(self.app.intake.receive(self.claims.upload, append)).await?;
        if let Some(length) = file_len.filter(|_| progress.is_complete()) {
            progress.upload.check_length(length, progress.offset)?;
        }
        Ok(progress)
    }

    /// Cancels the upload.
    pub(super) async fn cancel(&mut self) -> Result<(), IntakeError> {
        Box::pin(self.app.intake.cancel(self.claims.upload)).await.map(drop)
    }

    /// Checks a length against the address alone, without a look-up.
    fn check_length(&self, length: u64) -> Result<(), LengthRejected> {
        match self.claims.size_max {
            Some(max) if length > max => Err(LengthRejected::TooLarge { max }),
            _ if length == 0 => Err(LengthRejected::Empty),
            _ => Ok(()),
        }
    }
}

/// The response to a complete file, in protocols that define none.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Received {
    upload_id: String,
    status: &'static str,
}

/// 200: the file is complete.
pub(super) fn complete_response(progress: &UploadProgress) -> Response {
    let upload = &progress.upload;
    Data::ok(Received { upload_id: upload.id.to_string(), status: upload.state.name() }).into_response()
}

/// The upload, or 410 when it has ended without a complete file.
pub(super) fn require_open(progress: UploadProgress) -> Result<UploadProgress, IntakeError> {
    if progress.upload.is_settled() && !progress.is_complete() {
        return Err(IntakeError::Ended(Box::new(progress.upload)));
    }
    Ok(progress)
}

/// A response without a body.
pub(super) fn empty_response(status: StatusCode) -> Response {
    (status, [(axum::http::header::CACHE_CONTROL, "no-store")]).into_response()
}

/// A result, or an error that follows from the headers alone.
pub(super) type HeaderResult<T> = Result<T, ApiError>;
