//! Delivery to players: manifests, segments, thumbnails and the player page.
//!
//! It also sends files: the original, where its owner opened it, and the media in one file, where that is
//! enabled.
//!
//! - `{playbackId}.m3u8` lists `{playbackId}/{indexId}/{rendition}/playlist.m3u8`, which lists `init.mp4` and
//!   `{n}.m4s`, or `{n}.vtt`, in its folder.
//! - `playlist/{playlistId}.m3u8` lists `playlist/{playlistId}/{size}.m3u8`, which lists the segments of all
//!   its media.
//! - The key of encrypted segments is at `{playbackId}/{indexId}/aes-128/key`.
//! - Addresses of restricted content have one more part: `{playbackId}/{signed}/{indexId}/…`.
//!
//! Every request passes `authorization/` first. The dashboard, which has checked its person, asks for passes
//! and still images without a request to these addresses ([`issue_pass`], [`still_image()`]). This crate
//! contains no API operation, no box of a file format and no process.
//!
//! Begin with [`routes`], then `authorization/`.

mod authorization;
mod cipher;
mod content_disposition;
mod content_key;
mod demo;
mod error;
mod file;
mod image_query;
mod manifest;
mod metered_body;
mod mp4;
mod oembed;
mod pass;
mod playback_request;
mod player_page;
mod playlist;
mod preview_clip;
mod range;
mod recheck;
mod rendition;
mod rendition_filter;
mod response;
mod source;
mod state;
mod still_image;
mod storyboard;
mod subtitles;
mod thumbnail;
mod token;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, get};
use futures_util::FutureExt as _;
use futures_util::future::{Either, ready};
use kinora_web::error::ApiError;
use kinora_web::middleware::{Next, ResponseFuture, layer_fn, next_response, respond_with};
use kinora_web::preflight::allowed_headers;
use kinora_web::roles::Roles;
use kinora_web::routes::Routes;

pub use authorization::AuthorizationCache;
pub use pass::{Pass, issue_pass};
pub use playback_request::page_of_address;
pub use playlist::PlaylistCache;
pub use state::{DeliveryParts, DeliveryState};
pub use still_image::{StillImage, still_image};

/// The addresses that players read. No access token is read here (C-105): `authorization` decides.
fn playback_routes() -> Routes<DeliveryState> {
    Routes::new()
        .route("/{file}", get(manifest::multivariant))
        .route("/{playbackId}/{file}", get(file::media_file))
        .route("/playlist/{file}", get(playlist::multivariant))
        .route("/playlist/{playlistId}/{file}", get(playlist::media))
        .route("/playlist/filler/{file}", get(playlist::filler))
        .route("/{playbackId}/subtitles/{file}", get(subtitles::file))
        .route("/{playbackId}/{indexId}/{rendition}/{file}", get(rendition::rendition_file))
        .route("/{playbackId}/{signed}/{indexId}/{rendition}/{file}", get(rendition::signed_rendition_file))
        .route("/{playbackId}/{indexId}/aes-128/key", get(content_key::key))
        .route("/{playbackId}/{signed}/{indexId}/aes-128/key", get(content_key::signed_key))
}

/// The other addresses of the role.
fn page_routes() -> Routes<DeliveryState> {
    // Scripts of other sites request oEmbed too.
    let oembed = get(oembed::oembed).layer(layer_fn(allow_any_origin));
    Routes::new()
        .route("/demo/clip.mp4", get(demo::clip))
        .route("/embed/{playbackId}", get(player_page::embed))
        .route("/oembed", oembed)
}

/// The routes of every address below a playback ID, and of the pages. Scripts of any origin may read the
/// addresses of players.
pub fn routes() -> Router<DeliveryState> {
    let playback_router = playback_routes()
        .into_router()
        // Before the layer, so that a preflight and a wrong method pass through it too.
        .method_not_allowed_fallback(not_found)
        .layer(layer_fn(allow_any_origin));
    page_routes().into_router().merge(playback_router)
}

/// The paths of all routes; files directly below a playback ID are listed by name.
pub fn paths() -> Vec<String> {
    let all = playback_routes().merge(page_routes()).into_paths();
    let expand_file = |path: String| match path.strip_suffix("/{playbackId}/{file}") {
        Some(front) => file::names().map(|name| format!("{front}/{{playbackId}}/{name}")).collect(),
        None => vec![path],
    };
    all.into_iter().flat_map(expand_file).collect()
}

/// The routes of scripts and styles of pages. The role `api` has a page too, for uploads.
pub fn assets() -> Router<DeliveryState> {
    Router::new().route("/assets/{file}", get(player_page::asset))
}

/// The routes of the same paths in a process without this role: 404 with the role that serves them.
pub fn disabled_routes(roles: Roles) -> Router {
    let role_disabled = async move || ApiError::role_disabled("delivery", roles);
    let paths = [
        "/{file}",
        "/{playbackId}/{file}",
        "/playlist/{playlistId}/{file}",
        "/{playbackId}/subtitles/{file}",
        "/{playbackId}/{indexId}/{rendition}/{file}",
        "/{playbackId}/{signed}/{indexId}/{rendition}/{file}",
    ];
    paths.iter().fold(Router::new(), |router, path| router.route(path, any(role_disabled)))
}

/// The error for a wrong method. The routes match every path of their depth, so the last part decides
/// whether the path exists: 405 if it does, else 404.
async fn not_found(uri: Uri) -> ApiError {
    let file = uri.path().rsplit('/').next().unwrap_or_default();
    let path_exists = file.starts_with("thumbnail.")
        || file::is_known(file)
        || file == "init.mp4"
        || file == content_key::NAME
        || file.ends_with(".m3u8")
        || file.ends_with(".m4s")
        || file.ends_with(".vtt");
    if path_exists { ApiError::method_not_allowed() } else { ApiError::no_such_path() }
}

/// CORS for players on any page (C-177). No credentials are used, so any origin may read.
fn allow_any_origin(request: Request, next: &mut Next) -> ResponseFuture {
    const EXPOSED: &str =
        "accept-ranges, content-length, content-range, etag, retry-after, content-disposition, x-request-id";
    let headers = [
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED),
        (HeaderName::from_static("cross-origin-resource-policy"), "cross-origin"),
    ];
    let answer = match *request.method() {
        Method::OPTIONS => Either::Left(ready(preflight(request.headers()))),
        _ => Either::Right(next_response(request, next)),
    };
    respond_with(answer.map(move |mut response| {
        for (name, value) in headers {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }))
}

/// The response to a CORS preflight request.
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
