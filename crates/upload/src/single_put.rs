//! One `PUT` with the whole file (C-151).

use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};

use super::request_headers::RequestHeaders;
use super::upload_request::{Chunk, HeaderResult, UploadRequest, complete_response};
use crate::error;

/// Receives the file, and responds when it is complete. A retry completes it too: stored bytes are skipped.
pub(super) async fn answer(mut upload_request: UploadRequest<'_>) -> Response {
    let chunk = match read(upload_request.headers) {
        Ok(piece) => piece,
        Err(rejection) => return rejection.into_response(),
    };
    match upload_request.receive(chunk).await {
        Ok(progress) => complete_response(&progress),
        Err(error) => error::from_intake(error).into_response(),
    }
}

pub(super) fn read(headers: &HeaderMap) -> HeaderResult<Chunk> {
    let request_headers = RequestHeaders(headers);
    request_headers.reject_encoded()?;
    let body_len = request_headers.body_len()?;
    if body_len == Some(0) {
        return Err(error::empty_file());
    }
    Ok(Chunk { start: 0, may_overlap: true, file_len: body_len, is_last: true, body_len, checksum: None })
}

#[cfg(test)]
mod tests {
    use super::super::request_headers::headers;
    use super::*;

    #[test]
    fn single_put_is_one_complete_chunk() {
        let expected = |len| Chunk {
            start: 0,
            may_overlap: true,
            file_len: len,
            is_last: true,
            body_len: len,
            checksum: None,
        };
        assert_eq!(read(&headers(&[("content-length", "7")])).unwrap(), expected(Some(7)));
        assert_eq!(read(&headers(&[("transfer-encoding", "chunked")])).unwrap(), expected(None));
    }

    #[test]
    fn empty_or_encoded_body_is_rejected() {
        let check = |pairs: &[(&str, &str)], status: u16| {
            assert_eq!(read(&headers(pairs)).unwrap_err().status().as_u16(), status, "{pairs:?}");
        };
        check(&[], 422);
        check(&[("content-length", "0")], 422);
        check(&[("content-length", "7"), ("content-encoding", "gzip")], 415);
        check(&[("content-length", "1000000000000000")], 400);
    }
}
