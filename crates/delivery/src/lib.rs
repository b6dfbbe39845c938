//! What players read: manifests, segments, pictures and the player page.
//!
//! Beside them lie files: the original, where it was opened, and the media in one file, where that is wanted.
//!
//! - `{playbackId}.m3u8` lists `{playbackId}/{indexId}/{rendition}/playlist.m3u8`, which lists `init.mp4` and
//!   `{n}.m4s`, or `{n}.vtt`, beside it.
//! - `playlist/{playlistId}.m3u8` lists `playlist/{playlistId}/{size}.m3u8`, which lists the
//!   segments of all its media.
//! - The key of encrypted segments is at `{playbackId}/{indexId}/aes-128/key`.
//! - Where not everybody may watch, addresses have one part more: `{playbackId}/{signed}/{indexId}/…`.
//!
//! Every address passes `gate/` first. Knows no operation of the API, no box of a file format and no process.
//!
//! Begin with [`routes`], then `gate/`.

mod child;
mod cipher;
mod clip;
mod content_key;
mod counted;
mod demo;
mod disposition;
mod error;
mod file;
mod gate;
mod held;
mod manifest;
mod mp4;
mod oembed;
mod original;
mod page;
mod parameter;
mod picture;
mod playlist;
mod range;
mod send;
mod state;
mod storyboard;
mod subtitles;
mod token;
mod viewing;
mod wanted;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, get};
use futures_util::FutureExt as _;
use futures_util::future::{Either, ready};
use kinora_web::around::{Answering, Below, answer_by, answer_of, around};
use kinora_web::error::ApiError;
use kinora_web::preflight::allowed_headers;
use kinora_web::roles::Roles;
use kinora_web::routes::Routes;

pub use gate::GateCache;
pub use playlist::PlaylistCache;
pub use state::{DeliveryParts, DeliveryState};

/// What players read.
fn played() -> Routes<DeliveryState> {
    Routes::new()
        .route("/{file}", get(manifest::multivariant))
        .route("/{playbackId}/{file}", get(file::of_media))
        .route("/playlist/{file}", get(playlist::multivariant))
        .route("/playlist/{playlistId}/{file}", get(playlist::media))
        .route("/playlist/filler/{file}", get(playlist::filler))
        .route("/{playbackId}/subtitles/{file}", get(subtitles::file))
        .route("/{playbackId}/{indexId}/{rendition}/{file}", get(child::child))
        .route("/{playbackId}/{signed}/{indexId}/{rendition}/{file}", get(child::signed_child))
        .route("/{playbackId}/{indexId}/aes-128/key", get(content_key::key))
        .route("/{playbackId}/{signed}/{indexId}/aes-128/key", get(content_key::signed_key))
}

/// What else is below the role.
fn pages() -> Routes<DeliveryState> {
    // Scripts ask for it too, of any page.
    let oembed = get(oembed::oembed).layer(around(allow_any_origin));
    Routes::new()
        .route("/demo/clip.mp4", get(demo::clip))
        .route("/embed/{playbackId}", get(page::embed))
        .route("/oembed", oembed)
}

/// Every address below a playback ID, and the pages. Scripts of any origin may read what players read.
pub fn routes() -> Router<DeliveryState> {
    let played = played()
        .into_router()
        // Before the layer, so that a preflight and a wrong method pass through it too.
        .method_not_allowed_fallback(refuse)
        .layer(around(allow_any_origin));
    pages().into_router().merge(played)
}

/// The paths of all of them; of files that lie directly below a playback ID, each by its name.
pub fn paths() -> Vec<String> {
    let all = played().merge(pages()).into_paths();
    let named = |path: String| match path.strip_suffix("/{playbackId}/{file}") {
        Some(front) => file::names().map(|name| format!("{front}/{{playbackId}}/{name}")).collect(),
        None => vec![path],
    };
    all.into_iter().flat_map(named).collect()
}

/// Scripts and styles of pages. The role `api` has a page too, that of uploads.
pub fn assets() -> Router<DeliveryState> {
    Router::new().route("/assets/{file}", get(page::asset))
}

/// The same paths in a process without this role.
pub fn elsewhere(roles: Roles) -> Router {
    let refuse = async move || ApiError::other_role("delivery", roles);
    let paths = [
        "/{file}",
        "/{playbackId}/{file}",
        "/playlist/{playlistId}/{file}",
        "/{playbackId}/subtitles/{file}",
        "/{playbackId}/{indexId}/{rendition}/{file}",
        "/{playbackId}/{signed}/{indexId}/{rendition}/{file}",
    ];
    paths.iter().fold(Router::new(), |router, path| router.route(path, any(refuse)))
}

/// The routes match every path of their depth, and its last part tells whether it is one of ours: only then
/// the method is wrong.
async fn refuse(uri: Uri) -> ApiError {
    let file = uri.path().rsplit('/').next().unwrap_or_default();
    let is_ours = file.starts_with("thumbnail.")
        || file::is_ours(file)
        || file == "init.mp4"
        || file == content_key::NAME
        || file.ends_with(".m3u8")
        || file.ends_with(".m4s")
        || file.ends_with(".vtt");
    if is_ours { ApiError::method_not_allowed() } else { ApiError::no_such_path() }
}

/// CORS for players on any page (C-177). No credentials are used, so any origin may read.
fn allow_any_origin(request: Request, below: &mut Below) -> Answering {
    const EXPOSED: &str =
        "accept-ranges, content-length, content-range, etag, retry-after, content-disposition, x-request-id";
    let headers = [
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED),
        (HeaderName::from_static("cross-origin-resource-policy"), "cross-origin"),
    ];
    let answer = match *request.method() {
        Method::OPTIONS => Either::Left(ready(preflight(request.headers()))),
        _ => Either::Right(answer_of(request, below)),
    };
    answer_by(answer.map(move |mut response| {
        for (name, value) in headers {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }))
}

/// What a browser is told that asks what it may send.
fn preflight(request: &HeaderMap) -> Response {
    let fixed = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD, OPTIONS"),
        (header::ACCESS_CONTROL_MAX_AGE, "86400"),
    ];
    let mut response = (StatusCode::NO_CONTENT, fixed).into_response();
    let allowed = allowed_headers(request, "range, if-range, if-none-match, cache-control");
    response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    response
}
