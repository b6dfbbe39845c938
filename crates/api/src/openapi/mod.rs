//! The document of the API (OpenAPI 3.1), made of the code, and the page that shows it.
//!
//! Each resource has a `doc.rs` beside its operations, which describes them. Tests hold the paths and methods
//! against those that are served, send every example, and look whether each answer is as it is described.

mod page;

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use bytes::Bytes;
use kinora_web::addresses::Addresses;
use kinora_web::assets::Assets;
use kinora_web::gzip::{self, GzipCache};
use kinora_web::openapi::{Described, describe};
use serde_json::{Value, json};

use crate::operations;

/// Where the document and its page are.
pub(crate) const PATHS: [&str; 2] = ["/openapi.json", "/docs"];

/// What a newcomer reads first.
const ABOUT: &str = "Media come in by address or by upload, play at once on every device, and tell your application by signed \
webhooks.\n\nEvery path is served with and without `/v1`. Every answer is JSON and has an `X-Request-Id`: yours, if you sent one of at \
most 128 visible characters. Fields that are not named here are ignored in requests; `null` is the same as left out.\n\nWhat a path \
cannot do is refused before an operation is reached: an unknown path with 404, an unknown method with 405 and `Allow`.\n\nA server may limit \
how many requests an access token sends; then every answer to a token has `RateLimit`, and what is too much is 429 with `Retry-After`.";

/// The groups of operations, in the order in which they are shown.
const TAGS: [(&str, &str); 8] = [
    ("Media", "What comes in, and what players get of it."),
    ("Direct uploads", "Files that your users send by themselves, to a signed address."),
    ("Playback IDs", "Through what a media is watched, and by whom."),
    ("Playlists", "Media that play one after another, chosen by hand or by dates."),
    ("Signing keys", "What you sign the playback tokens of private media with."),
    ("Usage", "What a workspace stored, had encoded and delivered."),
    ("DRM configurations", "There are none: this server has no licence service."),
    ("Not supported", "Operations that exist elsewhere. Here they answer 404, which says so."),
];

/// State of these routes.
pub struct OpenApiState {
    addresses: Arc<Addresses>,
    assets: Arc<dyn Assets>,
    gzip: Arc<GzipCache>,
    /// Made once.
    document: OnceLock<Bytes>,
}

impl OpenApiState {
    /// Of a server at these addresses. The page is one of the assets.
    pub fn new(addresses: Arc<Addresses>, assets: Arc<dyn Assets>, gzip: Arc<GzipCache>) -> Self {
        Self { addresses, assets, gzip, document: OnceLock::new() }
    }
}

/// The document and its page. They are public, so they need no access token.
pub(crate) fn routes(state: Arc<OpenApiState>) -> Router {
    let [document, page] = PATHS;
    Router::new().route(document, get(json)).route(page, get(page::page)).with_state(state)
}

/// `GET /openapi.json`: the document. Pages of any origin may read it: tools are such pages.
async fn json(State(state): State<Arc<OpenApiState>>, request: HeaderMap) -> Response {
    let make = || serde_json::to_vec(&document(&state.addresses)).expect("JSON stays JSON");
    let document = state.document.get_or_init(|| Bytes::from(make())).clone();
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*")),
        (header::VARY, gzip::VARY),
    ];
    if !gzip::is_accepted(&request) {
        return (headers, document).into_response();
    }
    let packed = state.gzip.get(PATHS[0], &document).await;
    (headers, [(header::CONTENT_ENCODING, gzip::GZIP)], packed).into_response()
}

/// The document of the API (OpenAPI 3.1), at these addresses.
pub fn document(addresses: &Addresses) -> Value {
    let Described { paths, headers, responses, schemas } = describe(operations);
    let public = &addresses.public;
    let tags = TAGS.map(|(name, description)| json!({"name": name, "description": description}));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Kinora",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "The video and audio API that anyone can host.",
            "description": ABOUT,
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": format!("{public}/v1")}, {"url": public, "description": "The same without the prefix."}],
        "security": [{"accessToken": []}],
        "tags": tags,
        "paths": paths,
        "components": {
            "securitySchemes": {"accessToken": {
                "type": "http",
                "scheme": "basic",
                "description": "An access token: its id is the user name, its secret the password. `kinora token create` makes one.",
            }},
            "headers": headers,
            "responses": responses,
            "schemas": schemas,
        },
    })
}

#[cfg(test)]
mod tests;
