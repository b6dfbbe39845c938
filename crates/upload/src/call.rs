//! A request at the address of an upload, and what every protocol does with it.

use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use kinora_domain::{LengthProblem, UploadState, UploadTicket};
use kinora_intake::{Append, Checksum, IntakeError, Standing};
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use serde::Serialize;

use super::body::Sent;
use crate::UploadRouterState;

/// A request that was let in.
pub(super) struct Call<'a> {
    pub(super) app: &'a UploadRouterState,
    pub(super) ticket: &'a UploadTicket,
    /// The address itself, whole.
    pub(super) location: String,
    pub(super) method: Method,
    pub(super) headers: &'a HeaderMap,
    pub(super) body: &'a mut Sent,
}

/// Where the bytes of a request belong, as its headers say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    /// Where the first one belongs.
    pub(super) start: u64,
    /// Whether those that are kept may come again.
    pub(super) may_overlap: bool,
    /// Bytes of the whole file, if the request says so.
    pub(super) length: Option<u64>,
    /// Whether the file ends with them.
    pub(super) is_last: bool,
    /// How many there are, if the request says so.
    pub(super) len: Option<u64>,
    /// What they add up to.
    pub(super) checksum: Option<Checksum>,
}

impl Piece {
    /// No byte, only the end of the file: it has `length` bytes, and all of them are stored.
    pub(super) fn end_at(length: u64) -> Self {
        Self {
            start: length,
            may_overlap: true,
            length: Some(length),
            is_last: true,
            len: Some(0),
            checksum: None,
        }
    }
}

impl Call<'_> {
    /// Where the upload stands. Whoever receives it is ended.
    pub(super) async fn stand(&mut self) -> Result<Standing, IntakeError> {
        Box::pin(self.app.intake.standing(self.ticket.upload)).await
    }

    /// Says how long the file is, if that is known, and answers where the upload stands. One that is complete
    /// with that length stands there.
    pub(super) async fn create(&mut self, length: Option<u64>) -> Result<Standing, IntakeError> {
        let Some(length) = length else { return self.stand().await };
        self.check_length(length)?;
        match Box::pin(self.app.intake.announce(self.ticket.upload, length)).await {
            Err(IntakeError::Complete(upload)) => {
                upload.check_length(length, upload.kept())?;
                Ok(Standing { offset: upload.kept(), upload: *upload })
            }
            // What is kept is known where the bytes are; the row is told now and then.
            Ok(standing) if matches!(standing.upload.state, UploadState::Uploading { .. }) => {
                self.stand().await
            }
            other => other,
        }
    }

    /// Receives the body.
    pub(super) async fn receive(&mut self, piece: Piece) -> Result<Standing, IntakeError> {
        let Piece { start, may_overlap, length, is_last, len, checksum } = piece;
        let end = len.map(|len| start.saturating_add(len));
        if let Some(length) = length.or(end.filter(|_| is_last)) {
            self.check_length(length)?;
        }
        if let Some((max, _)) = self.ticket.size_max.zip(end).filter(|(max, end)| end > max) {
            return Err(LengthProblem::TooLarge { max }.into());
        }
        let append =
            Append { start, may_overlap, length, is_last, body_len: len, checksum, body: &mut *self.body };
        let standing = Box::pin(self.app.intake.receive(self.ticket.upload, append)).await?;
        if let Some(length) = length.filter(|_| standing.is_complete()) {
            standing.upload.check_length(length, standing.offset)?;
        }
        Ok(standing)
    }

    /// The client wants the upload no more.
    pub(super) async fn cancel(&mut self) -> Result<(), IntakeError> {
        Box::pin(self.app.intake.cancel(self.ticket.upload)).await.map(drop)
    }

    /// What the address alone tells of a length: nothing need be looked up for that.
    fn check_length(&self, length: u64) -> Result<(), LengthProblem> {
        match self.ticket.size_max {
            Some(max) if length > max => Err(LengthProblem::TooLarge { max }),
            _ if length == 0 => Err(LengthProblem::Empty),
            _ => Ok(()),
        }
    }
}

/// What a client is told when its file is whole, in the protocols that have no words of their own.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Received {
    upload_id: String,
    status: &'static str,
}

/// 200: the file is whole.
pub(super) fn received(standing: &Standing) -> Response {
    let upload = &standing.upload;
    Data::ok(Received { upload_id: upload.id.to_string(), status: upload.state.name() }).into_response()
}

/// The upload, unless nothing can come of it any more: 410.
pub(super) fn alive(standing: Standing) -> Result<Standing, IntakeError> {
    if standing.upload.is_settled() && !standing.is_complete() {
        return Err(IntakeError::Ended(Box::new(standing.upload)));
    }
    Ok(standing)
}

/// Without a body.
pub(super) fn empty(status: StatusCode) -> Response {
    (status, [(axum::http::header::CACHE_CONTROL, "no-store")]).into_response()
}

/// A refusal that the headers alone give.
pub(super) type Read<T> = Result<T, ApiError>;
