//! Selects the protocol of a request.

use axum::http::{HeaderMap, Method};
use kinora_web::error::ApiError;

use super::cors::METHODS;
use super::request_headers::RequestHeaders;
use super::upload_request::HeaderResult;
use crate::error;

/// The protocols at the address of an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    /// `OPTIONS`: the preflight of a browser, or the capability request of a client of tus or of the draft.
    Options,
    /// A browser opens the address.
    Page,
    /// One `PUT` with the whole file.
    SinglePut,
    /// Resumable uploads of Google Cloud Storage, as the web uploader speaks them (C-146).
    Gcs,
    /// tus 1.0.
    Tus,
    /// Resumable Uploads for HTTP (draft-ietf-httpbis-resumable-upload).
    Draft,
}

const TUS: &str = "tus-resumable";
const DRAFT: [&str; 2] = ["upload-draft-interop-version", "upload-complete"];
/// Drafts 01 and 02, interop versions 3 and 4, send this header. They are not supported; yet with `?0` the
/// body is the whole file, and iOS 17 adds that to every file upload.
const OLD_DRAFT: &str = "upload-incomplete";
const GCS: [&str; 2] = ["x-goog-resumable", "content-range"];

impl Protocol {
    /// Any address takes any protocol (C-104). 400 when the headers are of two protocols, or of none that has
    /// the method.
    pub(super) fn of(method: &Method, headers: &HeaderMap) -> HeaderResult<Self> {
        let request_headers = RequestHeaders(headers);
        let has = |names: &[&str]| names.iter().any(|name| request_headers.has(name));
        if *method == Method::OPTIONS {
            return Ok(Self::Options);
        }
        let is_whole = *method == Method::PUT && request_headers.single(OLD_DRAFT)? == Some("?0");
        let (tus, draft, gcs) = (request_headers.has(TUS), has(&DRAFT) && !is_whole, has(&GCS));
        match (tus, draft, gcs) {
            (true, false, false) => Ok(Self::Tus),
            (false, true, false) => Ok(Self::Draft),
            (false, false, true) => Ok(Self::Gcs),
            (false, false, false) => Self::of_method(method),
            _ => Err(ApiError::bad_request(
                "send the headers of one protocol only: Tus-Resumable is for tus; Upload-Complete and \
                    Upload-Draft-Interop-Version are for Resumable Uploads for HTTP; x-goog-resumable and \
                    Content-Range are for neither",
            )),
        }
    }

    /// Selects by the method alone. Once the draft is a standard, its clients send status requests and
    /// cancellations without any header of it.
    fn of_method(method: &Method) -> HeaderResult<Self> {
        match *method {
            Method::GET => Ok(Self::Page),
            Method::PUT => Ok(Self::SinglePut),
            Method::HEAD | Method::PATCH | Method::DELETE => Ok(Self::Draft),
            Method::POST => Err(ApiError::bad_request(
                "send the whole file with PUT, or send the header of a resumable protocol: x-goog-resumable, \
                    Tus-Resumable or Upload-Complete",
            )),
            _ => Err(error::method_not_in_protocol("an upload", METHODS)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::request_headers::headers;
    use super::*;

    #[test]
    fn protocol_is_detected_by_headers_then_method() {
        let check = |method: Method, pairs: &[(&str, &str)], expected: Option<Protocol>| {
            assert_eq!(Protocol::of(&method, &headers(pairs)).ok(), expected, "{method} {pairs:?}");
        };
        let (tus, complete) = (("tus-resumable", "1.0.0"), ("upload-complete", "?1"));
        let (version, start) = (("upload-draft-interop-version", "6"), ("x-goog-resumable", "start"));
        let range = ("content-range", "bytes 0-1/2");
        check(Method::GET, &[], Some(Protocol::Page));
        check(Method::PUT, &[], Some(Protocol::SinglePut));
        check(Method::POST, &[], None);
        check(Method::HEAD, &[], Some(Protocol::Draft));
        check(Method::PATCH, &[], Some(Protocol::Draft));
        check(Method::DELETE, &[], Some(Protocol::Draft));
        check(Method::TRACE, &[], None);
        for method in [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            check(method.clone(), &[tus], Some(Protocol::Tus));
            check(method.clone(), &[version], Some(Protocol::Draft));
            check(method.clone(), &[complete], Some(Protocol::Draft));
            check(method.clone(), &[complete, version], Some(Protocol::Draft));
            check(method.clone(), &[start], Some(Protocol::Gcs));
            check(method.clone(), &[range], Some(Protocol::Gcs));
            check(method.clone(), &[range, start], Some(Protocol::Gcs));
            for both in [[tus, version], [tus, complete], [tus, range], [complete, range], [version, start]] {
                check(method.clone(), &both, None);
            }
        }
        check(Method::OPTIONS, &[tus, range], Some(Protocol::Options));
        let (version, complete_put) = (("upload-draft-interop-version", "3"), ("upload-incomplete", "?0"));
        check(Method::PUT, &[version, complete_put], Some(Protocol::SinglePut));
        check(Method::PUT, &[version, ("upload-incomplete", "?1")], Some(Protocol::Draft));
        check(Method::PUT, &[version, complete_put, complete_put], None);
        check(Method::PATCH, &[version, complete_put], Some(Protocol::Draft));
        check(Method::PUT, &[version, complete_put, tus], Some(Protocol::Tus));
    }
}
