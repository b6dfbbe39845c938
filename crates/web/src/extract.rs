//! Bodies, ids and page parameters, checked before a handler runs.

use std::str::FromStr;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, RawPathParams, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use http_body_util::BodyExt as _;
use kinora_domain::{
    AccessTokenId, DrmConfigurationId, MediaId, OneTimeLinkId, PersonId, PlaybackId, PlaylistId, SessionId,
    SigningKeyId, TrackId, WorkspaceId,
};
use serde_json::Value;

use crate::error::ApiError;
use crate::fields::Problems;

/// Largest request body (C-40).
pub(crate) const BODY_BYTES_MAX: usize = 1 << 20;
/// Most bytes that are read of a body over the limit and discarded, which costs some milliseconds.
const DISCARD_BYTES_MAX: usize = 32 << 20;
/// A body of 1 MiB arrives in that time over the slowest connection worth serving. A slow client holds a
/// connection no longer.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// U+FEFF in UTF-8: files that were written on Windows begin with it.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A JSON body.
///
/// 415 for another content type, 413 over [`BODY_BYTES_MAX`], 408 when it is too slow, 400 when it is not
/// JSON (C-40, C-101). A request without a content type counts as JSON (C-102).
pub struct JsonBody(pub Value);

impl<S: Send + Sync> FromRequest<S> for JsonBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        // A missing type is treated as JSON: the parser decides.
        if let Some(value) = request.headers().get(CONTENT_TYPE) {
            let essence = value.to_str().unwrap_or("").split(';').next().unwrap_or("").trim();
            if !essence.eq_ignore_ascii_case("application/json") {
                return Err(ApiError::unsupported_media_type());
            }
        }
        let bytes = read_body(request.into_body()).await?;
        // RFC 8259, 8.1: writers add no byte order mark, readers may ignore one.
        let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
        let text = std::str::from_utf8(bytes).map_err(|error| {
            ApiError::bad_request(format!("the body is not valid UTF-8 at byte {}", error.valid_up_to()))
        })?;
        serde_json::from_str(text).map(Self).map_err(|error| {
            ApiError::bad_request(format!(
                "the body is not valid JSON at line {}, column {}",
                error.line(),
                error.column()
            ))
        })
    }
}

/// The bytes of a body. 413 over [`BODY_BYTES_MAX`], 408 when it is too slow.
pub(crate) async fn read_body(body: Body) -> Result<Vec<u8>, ApiError> {
    tokio::time::timeout(BODY_TIMEOUT, read_whole(body))
        .await
        .unwrap_or_else(|_| Err(ApiError::body_timeout()))
}

/// The bytes of a body.
///
/// The rest of a body over the limit is read up to a bound and discarded. A client that still sends when the
/// connection closes would see a broken connection instead of the error.
async fn read_whole(mut body: Body) -> Result<Vec<u8>, ApiError> {
    let (mut bytes, mut seen) = (Vec::new(), 0);
    while let Some(frame) = body.frame().await {
        let frame = frame
            .map_err(|_| ApiError::bad_request("the request body ended early; send the request again"))?;
        let Ok(data) = frame.into_data() else { continue };
        seen += data.len();
        if seen <= BODY_BYTES_MAX {
            bytes.extend_from_slice(&data);
        } else if seen > DISCARD_BYTES_MAX {
            break;
        }
    }
    if seen > BODY_BYTES_MAX { Err(ApiError::body_too_large(BODY_BYTES_MAX)) } else { Ok(bytes) }
}

/// An id that has one parameter name in all paths, wherever its route is mounted.
pub trait PathParameter: FromStr<Err: std::fmt::Display> {
    /// The name, such as `mediaId` of `/on-demand/{mediaId}`.
    const NAME: &'static str;
}

macro_rules! in_path {
    ($($id:ty: $name:literal),* $(,)?) => {
        $(impl PathParameter for $id {
            const NAME: &'static str = $name;
        })*
    };
}

in_path! {
    AccessTokenId: "accessTokenId",
    DrmConfigurationId: "drmConfigurationId",
    MediaId: "mediaId",
    OneTimeLinkId: "invitationId",
    PersonId: "personId",
    PlaybackId: "playbackId",
    PlaylistId: "playlistId",
    SessionId: "sessionId",
    SigningKeyId: "signingKeyId",
    TrackId: "trackId",
    WorkspaceId: "workspaceId",
}

/// An id in a path; 422 with the name of the parameter when it is invalid (C-115).
pub struct PathId<T>(pub T);

impl<T: PathParameter, S: Send + Sync> FromRequestParts<S> for PathId<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let params = RawPathParams::from_request_parts(parts, state)
            .await
            .map_err(|_| ApiError::bad_request("the path is not valid UTF-8"))?;
        let problems = Problems::default();
        let id = parse_id(&params, &problems);
        problems.into_result(id).map(Self)
    }
}

/// Two ids in a path; 422 with the name of each invalid one.
pub struct PathIds<A, B>(pub A, pub B);

impl<A, B, S> FromRequestParts<S> for PathIds<A, B>
where
    A: PathParameter,
    B: PathParameter,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let params = RawPathParams::from_request_parts(parts, state)
            .await
            .map_err(|_| ApiError::bad_request("the path is not valid UTF-8"))?;
        let problems = Problems::default();
        let (first, second) = (parse_id(&params, &problems), parse_id(&params, &problems));
        problems.into_result(first.zip(second)).map(|(first, second)| Self(first, second))
    }
}

fn parse_id<T: PathParameter>(params: &RawPathParams, problems: &Problems) -> Option<T> {
    let value = params.iter().find(|(name, _)| *name == T::NAME).map(|(_, value)| value);
    let value = value.expect("only used on routes with a parameter of this name");
    value.parse().map_err(|error: T::Err| problems.add(T::NAME, error.to_string())).ok()
}

/// The parts of a path as they were sent; the handler parses them. 404 when one is not UTF-8: no resource
/// has such a name.
pub struct PathParts<const N: usize>(pub [String; N]);

impl<S: Send + Sync, const N: usize> FromRequestParts<S> for PathParts<N> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let params =
            RawPathParams::from_request_parts(parts, state).await.map_err(|_| ApiError::no_such_path())?;
        let values: Vec<String> = params.iter().map(|(_, value)| value.to_owned()).collect();
        values.try_into().map(Self).map_err(|_| ApiError::no_such_path())
    }
}

/// The parts of a path whose responses are cached. 404 when the path contains a percent sign: no part needs
/// one, and caches would store the second spelling of an address separately (D-0095).
pub struct UnescapedPathParts<const N: usize>(pub [String; N]);

impl<S: Send + Sync, const N: usize> FromRequestParts<S> for UnescapedPathParts<N> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        if parts.uri.path().contains('%') {
            return Err(ApiError::no_such_path());
        }
        let PathParts(values) = PathParts::from_request_parts(parts, state).await?;
        Ok(Self(values))
    }
}

/// `limit`, `offset` and `orderBy` of a list (C-107).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageQuery {
    /// Records a page, 1 to 50.
    pub limit: u32,
    /// Page number, from 1.
    pub offset: u32,
    /// Newest first.
    pub(crate) is_newest_first: bool,
}

impl PageQuery {
    pub(crate) const LIMIT_DEFAULT: u32 = 10;
    pub(crate) const LIMIT_MAX: u32 = 50;
    /// The values of `orderBy`.
    pub(crate) const ORDERS: [&str; 2] = ["asc", "desc"];

    fn parse(query: &str) -> Result<Self, ApiError> {
        let pairs = url::form_urlencoded::parse(query.as_bytes());
        let pairs: Vec<_> = pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
        let problems = Problems::default();
        let page = Self::parse_pairs(&pairs, &problems);
        problems.into_result(Some(page))
    }

    /// Parses these names and values. An invalid value is reported, and the default applies.
    pub(crate) fn parse_pairs(pairs: &[(String, String)], problems: &Problems) -> Self {
        let mut page = Self { limit: Self::LIMIT_DEFAULT, offset: 1, is_newest_first: true };
        let number = |field: &str, value: &str, max: u32, into: &mut u32| match value.parse::<u32>() {
            Ok(number) if (1..=max).contains(&number) => *into = number,
            _ => problems.add(field, format!("must be a whole number from 1 to {max}")),
        };
        for (name, value) in pairs {
            match (name.as_str(), value.as_str()) {
                ("limit", value) => number("limit", value, Self::LIMIT_MAX, &mut page.limit),
                ("offset", value) => number("offset", value, u32::MAX, &mut page.offset),
                ("orderBy", "asc") => page.is_newest_first = false,
                ("orderBy", "desc") => page.is_newest_first = true,
                ("orderBy", _) => {
                    problems.add("orderBy", format!("must be one of {}", Self::ORDERS.join(", ")))
                }
                _ => {}
            }
        }
        page
    }
}

impl<S: Send + Sync> FromRequestParts<S> for PageQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Self::parse(parts.uri.query().unwrap_or(""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_parameters_have_defaults_and_bounds() {
        let check = |query: &str, limit, offset, is_newest_first| {
            assert_eq!(
                PageQuery::parse(query).unwrap(),
                PageQuery { limit, offset, is_newest_first },
                "{query}"
            );
        };
        check("", 10, 1, true);
        check("limit=50&offset=4294967295&orderBy=asc", 50, u32::MAX, false);
        check("other=1&orderBy=desc", 10, 1, true);

        for query in [
            "limit=0",
            "limit=51",
            "limit=x",
            "limit=",
            "offset=0",
            "offset=-1",
            "offset=4294967296",
            "orderBy=up",
        ] {
            assert!(PageQuery::parse(query).is_err(), "{query}");
        }
        let many = PageQuery::parse(&"offset=0&".repeat(100)).unwrap_err();
        let body = serde_json::json!(many.body());
        assert_eq!(body["error"]["fields"].as_array().unwrap().len(), Problems::REPORTED_MAX);
    }
}
