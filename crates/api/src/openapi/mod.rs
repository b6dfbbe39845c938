//! The document of the API (OpenAPI 3.1), made of the code, and the page that shows it.
//!
//! Each resource has a `doc.rs` next to its operations, which describes them. Tests compare the paths and
//! methods with those that are served, send every example, and check each response against its description.

mod docs_page;

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use bytes::Bytes;
use kinora_web::assets::Assets;
use kinora_web::base_urls::BaseUrls;
use kinora_web::gzip::{self, GzipCache};
use kinora_web::openapi::{OpenApiParts, describe};
use serde_json::{Value, json};

use crate::operations;

/// The paths of the document and of its page.
pub(crate) const PATHS: [&str; 2] = ["/openapi.json", "/docs"];

/// The introduction of the document.
const INTRODUCTION: &str = "Create media from a URL or an upload, play them at once on every device, and receive \
    signed webhooks.\n\nEvery path works with and without `/v1`. Every response is JSON and has an \
    `X-Request-Id`: yours, if you sent one of at most 128 visible characters. Unknown request fields are \
    ignored; `null` means the same as leaving the field out.\n\nAn unknown path returns 404, an unknown \
    method 405 with `Allow`.\n\nA server may limit the requests of an access token. Every response to a \
    token then has `RateLimit`, and excess requests return 429 with `Retry-After`.";

/// The groups of operations, in the order in which they are shown.
const TAGS: [(&str, &str); 8] = [
    ("Media", "Create, read, change and delete media and their tracks."),
    ("Direct uploads", "Files that your users send directly to a signed URL."),
    ("Playback IDs", "Public handles of media, and the rules for their viewers."),
    ("Playlists", "Media that play one after another, chosen by hand or by date."),
    ("Signing keys", "Keys that sign the playback tokens of private media."),
    ("Usage", "Storage, encoding and delivery of a workspace."),
    ("DRM configurations", "Always empty: this server has no licence service."),
    ("Not supported", "Operations that this server does not support. They return 404."),
];

/// State of these routes.
pub struct OpenApiState {
    base_urls: Arc<BaseUrls>,
    assets: Arc<dyn Assets>,
    gzip: Arc<GzipCache>,
    /// The rendered document, made by the first request.
    document: OnceLock<Bytes>,
}

impl OpenApiState {
    /// The state of a server with these base URLs. The page is one of the assets.
    pub fn new(base_urls: Arc<BaseUrls>, assets: Arc<dyn Assets>, gzip: Arc<GzipCache>) -> Self {
        Self { base_urls, assets, gzip, document: OnceLock::new() }
    }
}

/// The document and its page. They are public, so they need no access token.
pub(crate) fn routes(state: Arc<OpenApiState>) -> Router {
    let [document, page] = PATHS;
    Router::new().route(document, get(json)).route(page, get(docs_page::page)).with_state(state)
}

/// `GET /openapi.json`: the document. Pages of any origin may read it: tools are such pages.
async fn json(State(state): State<Arc<OpenApiState>>, request: HeaderMap) -> Response {
    let render = || serde_json::to_vec(&document(&state.base_urls)).expect("JSON stays JSON");
    let document = state.document.get_or_init(|| Bytes::from(render())).clone();
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*")),
        (header::VARY, gzip::VARY),
    ];
    if !gzip::is_accepted(&request) {
        return (headers, document).into_response();
    }
    let compressed = state.gzip.get(PATHS[0], &document).await;
    (headers, [(header::CONTENT_ENCODING, gzip::GZIP)], compressed).into_response()
}

/// The document of the API (OpenAPI 3.1), with these base URLs.
pub fn document(base_urls: &BaseUrls) -> Value {
    let OpenApiParts { paths, headers, responses, schemas } = describe(operations);
    let public = &base_urls.public;
    let tags = TAGS.map(|(name, description)| json!({"name": name, "description": description}));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Kinora",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "The video and audio API that anyone can host.",
            "description": INTRODUCTION,
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": format!("{public}/v1")}, {"url": public, "description": "The same API without the prefix."}],
        "security": [{"accessToken": []}],
        "tags": tags,
        "paths": paths,
        "components": {
            "securitySchemes": {"accessToken": {
                "type": "http",
                "scheme": "basic",
                "description": "An access token: its id is the user name, its secret the password. Create one with `kinora token create`.",
            }},
            "headers": headers,
            "responses": responses,
            "schemas": schemas,
        },
    })
}

#[cfg(test)]
mod tests;
