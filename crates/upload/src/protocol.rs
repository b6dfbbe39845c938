//! Which protocol a request speaks.

use axum::http::{HeaderMap, Method};
use kinora_web::error::ApiError;

use super::call::Read;
use super::cors::METHODS;
use super::given::Given;
use crate::error;

/// What is spoken at the address of an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    /// Somebody asks what may be asked: a browser before it sends, or a client of tus or of the draft.
    Options,
    /// A browser opens the address.
    Page,
    /// One `PUT` with the whole file.
    Plain,
    /// Resumable uploads of Google Cloud Storage, as the web uploader speaks them (C-146).
    Gcs,
    /// tus 1.0.
    Tus,
    /// Resumable Uploads for HTTP (draft-ietf-httpbis-resumable-upload).
    Draft,
}

const TUS: &str = "tus-resumable";
const DRAFT: [&str; 2] = ["upload-draft-interop-version", "upload-complete"];
/// Drafts 01 and 02, interop versions 3 and 4, ask with this header. They are not spoken; yet with `?0` the
/// body is the whole file, and iOS 17 adds that to every upload of a file.
const OLD_DRAFT: &str = "upload-incomplete";
const GCS: [&str; 2] = ["x-goog-resumable", "content-range"];

impl Protocol {
    /// 400 when the headers are of two protocols, or of none that knows the method.
    pub(super) fn of(method: &Method, headers: &HeaderMap) -> Read<Self> {
        let given = Given(headers);
        let has = |names: &[&str]| names.iter().any(|name| given.has(name));
        if *method == Method::OPTIONS {
            return Ok(Self::Options);
        }
        let is_whole = *method == Method::PUT && given.once(OLD_DRAFT)? == Some("?0");
        let (tus, draft, gcs) = (given.has(TUS), has(&DRAFT) && !is_whole, has(&GCS));
        match (tus, draft, gcs) {
            (true, false, false) => Ok(Self::Tus),
            (false, true, false) => Ok(Self::Draft),
            (false, false, true) => Ok(Self::Gcs),
            (false, false, false) => Self::without_words(method),
            _ => Err(ApiError::bad_request(
                "the headers are of two protocols: Tus-Resumable is of tus, Upload-Complete and Upload-Draft-Interop-Version are \
                 of Resumable Uploads for HTTP, x-goog-resumable and Content-Range are of neither",
            )),
        }
    }

    /// The method alone. Once the draft is a standard its clients ask and cancel without any header of it.
    fn without_words(method: &Method) -> Read<Self> {
        match *method {
            Method::GET => Ok(Self::Page),
            Method::PUT => Ok(Self::Plain),
            Method::HEAD | Method::PATCH | Method::DELETE => Ok(Self::Draft),
            Method::POST => Err(ApiError::bad_request(
                "send the whole file with PUT, or say by its headers which resumable protocol is spoken: \
                 x-goog-resumable, Tus-Resumable or Upload-Complete",
            )),
            _ => Err(error::method_not_in_protocol("an upload", METHODS)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::given::headers;
    use super::*;

    #[test]
    fn headers_and_then_the_method_tell_the_protocol() {
        let check = |method: Method, given: &[(&str, &str)], expected: Option<Protocol>| {
            assert_eq!(Protocol::of(&method, &headers(given)).ok(), expected, "{method} {given:?}");
        };
        let (tus, complete) = (("tus-resumable", "1.0.0"), ("upload-complete", "?1"));
        let (version, start) = (("upload-draft-interop-version", "6"), ("x-goog-resumable", "start"));
        let range = ("content-range", "bytes 0-1/2");
        check(Method::GET, &[], Some(Protocol::Page));
        check(Method::PUT, &[], Some(Protocol::Plain));
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
        let (version, whole) = (("upload-draft-interop-version", "3"), ("upload-incomplete", "?0"));
        check(Method::PUT, &[version, whole], Some(Protocol::Plain));
        check(Method::PUT, &[version, ("upload-incomplete", "?1")], Some(Protocol::Draft));
        check(Method::PUT, &[version, whole, whole], None);
        check(Method::PATCH, &[version, whole], Some(Protocol::Draft));
        check(Method::PUT, &[version, whole, tus], Some(Protocol::Tus));
    }
}
