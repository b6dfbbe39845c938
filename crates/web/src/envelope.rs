//! The envelope of a successful response (C-106).

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

use crate::extract::PageQuery;

/// A payload: `{"success": true, "data": …}`.
#[derive(Serialize)]
pub struct Data<T> {
    success: bool,
    data: T,
    #[serde(skip_serializing_if = "Option::is_none")]
    pagination: Option<Pagination>,
    /// Settings that were stored and have no effect yet, and other warnings for the client (C-14, C-33).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    #[serde(skip)]
    status: StatusCode,
    /// Links to the neighbouring pages (RFC 8288).
    #[serde(skip)]
    links: Option<HeaderValue>,
}

/// The position of a page in its list (C-108, C-22).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Pagination {
    /// Number of all matching records.
    pub(crate) total_records: u64,
    /// Number of this page, from 1.
    pub(crate) current_offset: u64,
    /// Number of pages.
    pub(crate) offset_count: u64,
    /// Whether the totals are lower bounds (D-0069).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) total_is_lower_bound: bool,
}

impl Pagination {
    /// The page of this query, in a list of `total` records.
    pub(crate) fn of(query: PageQuery, total: u64) -> Self {
        Self {
            total_records: total,
            current_offset: u64::from(query.offset),
            offset_count: total.div_ceil(u64::from(query.limit)),
            total_is_lower_bound: false,
        }
    }
}

impl<T> Data<T> {
    /// 200 with this payload.
    pub fn ok(data: T) -> Self {
        Self {
            success: true,
            data,
            pagination: None,
            warnings: Vec::new(),
            status: StatusCode::OK,
            links: None,
        }
    }

    /// 201 with this payload.
    pub fn created(data: T, warnings: Vec<String>) -> Self {
        Self { warnings, status: StatusCode::CREATED, ..Self::ok(data) }
    }

    /// The same, with these warnings.
    pub fn with_warnings(self, warnings: Vec<String>) -> Self {
        Self { warnings, ..self }
    }

    /// 200 with one page of a list.
    pub(crate) fn page(data: T, pagination: Pagination) -> Self {
        Self { pagination: Some(pagination), ..Self::ok(data) }
    }

    /// The same, with a `Link` header.
    pub(crate) fn with_link(self, links: Option<HeaderValue>) -> Self {
        Self { links, ..self }
    }
}

impl<T> Data<T> {
    /// The status of the response.
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }
}

impl<T: Serialize> Data<T> {
    /// The response as bytes, so that it can be stored for a retry.
    pub fn into_rendered(self) -> RenderedResponse {
        RenderedResponse::new(self.status, self.to_json())
    }

    /// The body of the response, as JSON.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("wire types hold strings, numbers and lists of them")
    }
}

impl<T: Serialize> IntoResponse for Data<T> {
    fn into_response(self) -> Response {
        let mut response = json(self.status, self.to_json());
        if let Some(links) = self.links {
            response.headers_mut().insert(header::LINK, links);
        }
        response
    }
}

/// A response without a payload: `{"success": true}`.
pub struct Success;

impl IntoResponse for Success {
    fn into_response(self) -> Response {
        json(StatusCode::OK, r#"{"success":true}"#)
    }
}

/// Marks a stored response.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// A successful response, as bytes.
#[derive(Clone)]
pub struct RenderedResponse {
    status: StatusCode,
    body: Bytes,
    is_replayed: bool,
}

impl RenderedResponse {
    /// This status with this body.
    pub(crate) fn new(status: StatusCode, body: impl Into<Bytes>) -> Self {
        Self { status, body: body.into(), is_replayed: false }
    }

    /// The stored response of an earlier request with the same idempotency key.
    pub(crate) fn replayed(status: StatusCode, body: impl Into<Bytes>) -> Self {
        Self { status, body: body.into(), is_replayed: true }
    }

    /// Its status.
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// Its body.
    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }
}

impl IntoResponse for RenderedResponse {
    fn into_response(self) -> Response {
        let mut response = json(self.status, self.body);
        if self.is_replayed {
            response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
        }
        response
    }
}

/// JSON with `Cache-Control: no-store` (C-101).
pub fn json(status: StatusCode, body: impl Into<axum::body::Body>) -> Response {
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    (status, headers, body.into()).into_response()
}
