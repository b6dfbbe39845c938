//! The player page and its files.

use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use kinora_domain::{MediaState, PlaybackId, PlaybackRefusal};
use kinora_web::error::ApiError;
use kinora_web::extract::PlainParts;
use serde::Serialize;

use super::viewing::{Viewing, handed_on};
use super::{gate, oembed};
use crate::DeliveryState;

/// The page below `web/dist`.
const PAGE: &str = "embed.html";
/// Where the page takes its values from.
const PLACEHOLDER: &[u8] = b"__KINORA__";
/// Where it tells other sites how it is embedded.
const DISCOVERY: &[u8] = b"<!--__OEMBED__-->";

/// What the page is told.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Values {
    manifest: String,
    /// `None` for sound alone, and while it is not known.
    poster: Option<String>,
    /// The same of pictures of all its moments.
    storyboard: Option<String>,
    title: Option<String>,
    /// What the poster looks like, to be shown until that is there.
    blur_hash: Option<String>,
}

/// `GET /embed/{playbackId}`: a page that plays a media, to be put into other pages. The `?token=` that opens
/// it is handed on to what it plays, and so is on what page it stands: its own requests tell that they come
/// from it.
///
/// The page is the same for every playback ID: that something cannot be played it is told by the manifest.
/// But where the rules of the playback ID keep the viewer out there is no page, 403 (D-0084).
pub(super) async fn embed(
    State(app): State<DeliveryState>,
    PlainParts([playback]): PlainParts<1>,
    RawQuery(query): RawQuery,
    request: HeaderMap,
) -> Result<Response, ApiError> {
    let playback = PlaybackId::from_canonical(&playback).map_err(|_| ApiError::playback_not_found())?;
    let viewing = Viewing::by_token(query.as_deref().unwrap_or(""), &request);
    let entrance = gate::enter(&app, playback, &viewing).await?;
    let status = match entrance.as_ref().map(|entrance| entrance.refused) {
        None => StatusCode::NOT_FOUND,
        Some(None) => StatusCode::OK,
        Some(Some(refusal @ PlaybackRefusal::Token(_))) => {
            gate::count(refusal.name());
            StatusCode::UNAUTHORIZED
        }
        Some(Some(refusal)) => return Err(gate::refuse(refusal)),
    };
    let let_in = entrance.as_ref().filter(|_| status == StatusCode::OK);
    // The title of what this viewer may not watch is not for them either.
    let allowed = let_in.map(|entrance| &entrance.media);
    let title = allowed.and_then(|media| media.settings.title.clone());
    let has_picture = allowed.is_some_and(|media| match &media.state {
        MediaState::Ready { facts, .. } => facts.has_pictures(),
        _ => false,
    });
    let token = let_in.and_then(|entrance| viewing.token_for(&entrance.policy));
    let query = handed_on(token, viewing.about_to_stand(&app.addresses).as_ref());
    let picture = |file| has_picture.then(|| format!("{}/{playback}/{file}{query}", app.addresses.images));
    let values = Values {
        manifest: format!("{}/{playback}.m3u8{query}", app.addresses.stream),
        poster: picture("thumbnail.jpg"),
        storyboard: picture("storyboard.vtt"),
        title,
        blur_hash: allowed.and_then(|media| media.blur_hash.clone()),
    };
    let page = app.assets.get(PAGE).ok_or_else(ApiError::no_such_path)?;
    // What this viewer may not watch is not to be embedded by them either.
    let discovery = allowed.map(|_| oembed::discovery(&app.addresses, playback, token));
    // As the request says, so that each page is told of itself alone; `Vary` says the same.
    let page_that_asks = viewing.page(&app.addresses);
    let ancestors = entrance.as_ref().and_then(|entrance| entrance.policy.frame_ancestors(&page_that_asks));
    let asks = entrance.as_ref().map(|entrance| gate::asks(&entrance.policy)).unwrap_or_default();
    let vary = asks.vary().map(|vary| [(header::VARY, vary)]);
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        // What stands in the page is for its viewer.
        (header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache")),
        (header::CONTENT_SECURITY_POLICY, policy(&app, ancestors)),
        (header::REFERRER_POLICY, HeaderValue::from_static("strict-origin-when-cross-origin")),
    ];
    Ok((status, headers, vary, fill(&page, &values, discovery.as_deref())).into_response())
}

/// `GET /assets/{file}`: scripts and styles of the page. Their names hold a hash of their content.
pub(super) async fn asset(
    State(app): State<DeliveryState>,
    PlainParts([file]): PlainParts<1>,
) -> Result<Response, ApiError> {
    let bytes = app.assets.get(&format!("assets/{file}")).ok_or_else(ApiError::no_such_path)?;
    let content_type = match file.rsplit_once('.').map(|(_, ending)| ending) {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("map" | "json") => "application/json",
        _ => "application/octet-stream",
    };
    let headers = [
        (header::CONTENT_TYPE, content_type),
        (header::CACHE_CONTROL, super::send::IMMUTABLE),
        // Whoever frames the page without an origin (`sandbox="allow-scripts"`, as WordPress does) has it
        // load its own scripts as a stranger.
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
    ];
    Ok((headers, bytes.into_owned()).into_response())
}

/// Nothing from outside but the stream and its pictures; the page that asks may frame it where the rule on
/// domains lets it, or any. The player makes tracks of subtitles from an empty `data:` file, and loses their
/// cues where that is refused.
fn policy(app: &DeliveryState, ancestors: Option<Vec<String>>) -> HeaderValue {
    let (stream, images) = (&app.addresses.stream, &app.addresses.images);
    let ancestors = match ancestors {
        None => "*".to_owned(),
        // Pages of our own are let in by every rule.
        Some(named) => ["'self'".to_owned()].into_iter().chain(named).collect::<Vec<_>>().join(" "),
    };
    let text = format!(
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self' {stream}; \
         media-src 'self' blob: data: {stream} {images}; img-src 'self' data: {images}; worker-src 'self' blob:; base-uri 'none'; \
         form-action 'none'; frame-ancestors {ancestors}"
    );
    HeaderValue::from_str(&text)
        .unwrap_or(HeaderValue::from_static("default-src 'self'; frame-ancestors 'none'"))
}

/// The page with its values, and with the element that tells how it is embedded. `<` is escaped, so that no
/// value can end the script element it stands in.
fn fill(page: &[u8], values: &Values, discovery: Option<&str>) -> Vec<u8> {
    let json = serde_json::to_string(values).expect("strings are always JSON").replace('<', "\\u003c");
    // The places are those of the page alone: a value may look like one.
    let (front, rest) = cut(page, DISCOVERY).unwrap_or((&[], page));
    let (middle, end) = cut(rest, PLACEHOLDER).unwrap_or((rest, &[]));
    let json = if middle.len() == rest.len() { "" } else { &json };
    [front, discovery.unwrap_or("").as_bytes(), middle, json.as_bytes(), end].concat()
}

/// What is in front of a placeholder, and what is behind it.
fn cut<'a>(page: &'a [u8], placeholder: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = page.windows(placeholder.len()).position(|window| window == placeholder)?;
    Some((&page[..at], &page[at + placeholder.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_can_end_its_script_element() {
        let values = Values {
            manifest: "m".into(),
            poster: None,
            storyboard: None,
            title: Some("</script><script>alert(1)//__KINORA__<!--__OEMBED__-->".into()),
            blur_hash: None,
        };
        let page = fill(b"<!--__OEMBED__--><a>__KINORA__</a>", &values, Some("<link __KINORA__>"));
        assert_eq!(
            String::from_utf8(page).unwrap(),
            r#"<link __KINORA__><a>{"manifest":"m","poster":null,"storyboard":null,"title":"\u003c/script>\u003cscript>alert(1)//__KINORA__\u003c!--__OEMBED__-->","blurHash":null}</a>"#
        );
        assert_eq!(fill(b"<!--__OEMBED__-->no place", &values, None), b"no place");
    }
}
