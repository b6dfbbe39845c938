//! One `PUT` with the whole file (C-151).

use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};

use super::call::{Call, Piece, Read, received};
use super::given::Given;
use crate::error;

/// Receives the file, and answers when it is whole. Sent again, it is whole again: bytes that are kept are
/// passed over.
pub(super) async fn answer(mut call: Call<'_>) -> Response {
    let piece = match read(call.headers) {
        Ok(piece) => piece,
        Err(refusal) => return refusal.into_response(),
    };
    match call.receive(piece).await {
        Ok(standing) => received(&standing),
        Err(error) => error::from_intake(error).into_response(),
    }
}

pub(super) fn read(headers: &HeaderMap) -> Read<Piece> {
    let given = Given(headers);
    given.refuse_wrapped()?;
    let len = given.body_len()?;
    if len == Some(0) {
        return Err(error::empty_file());
    }
    Ok(Piece { start: 0, may_overlap: true, length: len, is_last: true, len, checksum: None })
}

#[cfg(test)]
mod tests {
    use super::super::given::headers;
    use super::*;

    #[test]
    fn a_put_is_the_whole_file() {
        let whole =
            |len| Piece { start: 0, may_overlap: true, length: len, is_last: true, len, checksum: None };
        assert_eq!(read(&headers(&[("content-length", "7")])).unwrap(), whole(Some(7)));
        assert_eq!(read(&headers(&[("transfer-encoding", "chunked")])).unwrap(), whole(None));
    }

    #[test]
    fn an_empty_or_packed_file_is_refused_by_its_headers() {
        let check = |given: &[(&str, &str)], status: u16| {
            assert_eq!(read(&headers(given)).unwrap_err().status().as_u16(), status, "{given:?}");
        };
        check(&[], 422);
        check(&[("content-length", "0")], 422);
        check(&[("content-length", "7"), ("content-encoding", "gzip")], 415);
        check(&[("content-length", "1000000000000000")], 400);
    }
}
