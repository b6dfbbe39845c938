//! The player page and its files.

use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use kinora_domain::{MediaState, PlaybackDenied, PlaybackId};
use kinora_web::assets::{CodedFile, coded_file, is_compressed_copy};
use kinora_web::error::ApiError;
use kinora_web::extract::UnescapedPathParts;
use kinora_web::gzip;
use serde::Serialize;

use super::playback_request::{PlaybackRequest, forwarded_query};
use super::{authorization, oembed};
use crate::DeliveryState;

/// The page, below `web/dist`.
const PAGE: &str = "embed.html";
/// The placeholder for the values of the page.
const VALUES_PLACEHOLDER: &[u8] = b"__KINORA__";
/// The placeholder for the oEmbed link.
const OEMBED_PLACEHOLDER: &[u8] = b"<!--__OEMBED__-->";

/// The values that the server puts into the page.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PageValues {
    manifest: String,
    /// The poster; `None` for audio alone, and while the tracks are not known.
    poster: Option<String>,
    /// The thumbnails of the whole duration, on the same condition.
    storyboard: Option<String>,
    title: Option<String>,
    /// The BlurHash of the poster, shown until the poster is loaded.
    blur_hash: Option<String>,
}

/// `GET /embed/{playbackId}`: a page that plays a media, to be embedded in other pages.
///
/// The `?token=` of the request, a token or a pass, is passed on to the addresses that the page plays. So is
/// the page that embeds it, since the player page's own requests name only the player page.
///
/// The page is the same for every playback ID: the manifest reports why a media cannot be played. Where the
/// rules of the playback ID forbid access there is no page, 403 (D-0084).
pub(super) async fn embed(
    State(app): State<DeliveryState>,
    UnescapedPathParts([playback]): UnescapedPathParts<1>,
    RawQuery(query): RawQuery,
    request: HeaderMap,
) -> Result<Response, ApiError> {
    let playback = PlaybackId::from_canonical(&playback).map_err(|_| ApiError::playback_not_found())?;
    let playback_request = PlaybackRequest::by_token(query.as_deref().unwrap_or(""), &request);
    let access = authorization::page_access(&app, playback, &playback_request).await?;
    let status = match access.as_ref().map(|caller_access| caller_access.rejection) {
        None => StatusCode::NOT_FOUND,
        Some(None) => StatusCode::OK,
        Some(Some(rejection @ (PlaybackDenied::Token(_) | PlaybackDenied::Pass(_)))) => {
            authorization::count_rejection(rejection.name());
            StatusCode::UNAUTHORIZED
        }
        Some(Some(refusal)) => return Err(authorization::reject(refusal)),
    };
    let admitted = access.as_ref().filter(|_| status == StatusCode::OK);
    // A viewer who may not watch the media does not get its title either.
    let allowed = admitted.map(|entrance| &entrance.media);
    let title = allowed.and_then(|media| media.settings.title.clone());
    let has_thumbnails = allowed.is_some_and(|media| match &media.state {
        MediaState::Ready { facts, .. } => facts.has_thumbnails(),
        _ => false,
    });
    let token = admitted.and_then(|entrance| playback_request.token_for(&entrance.policy));
    let query = forwarded_query(token, playback_request.next_embedding_page(&app.base_urls).as_ref());
    let image_url =
        |file| has_thumbnails.then(|| format!("{}/{playback}/{file}{query}", app.base_urls.images));
    let values = PageValues {
        manifest: format!("{}/{playback}.m3u8{query}", app.base_urls.stream),
        poster: image_url("thumbnail.jpg"),
        storyboard: image_url("storyboard.vtt"),
        title,
        blur_hash: allowed.and_then(|media| media.blur_hash.clone()),
    };
    let page = app.assets.get(PAGE).ok_or_else(ApiError::no_such_path)?;
    // A viewer who may not watch the media cannot embed it either.
    let discovery = allowed.map(|_| oembed::discovery_link(&app.base_urls, playback, token));
    // Derived from the request, so that each page learns only of itself; `Vary` names the same headers.
    let embedding_page = playback_request.page(&app.base_urls);
    // The rule on domains, from which the list of pages is made, does not apply to a pass.
    let is_by_pass = token.is_some() && playback_request.has_pass();
    let ancestors = access
        .as_ref()
        .filter(|_| !is_by_pass)
        .and_then(|entrance| entrance.policy.frame_ancestors(&embedding_page));
    let vary_on_headers =
        access.as_ref().map(|entrance| authorization::vary_on(&entrance.policy)).unwrap_or_default();
    let vary = vary_on_headers.vary().map(|vary| [(header::VARY, vary)]);
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        // The values in the page are those of one viewer.
        (header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache")),
        (header::CONTENT_SECURITY_POLICY, content_security_policy(&app, ancestors)),
        // Rules on domains read the host of `Referer` alone. The rest of the address may have a token.
        (header::REFERRER_POLICY, HeaderValue::from_static("strict-origin")),
    ];
    Ok((status, headers, vary, render(&page, &values, discovery.as_deref())).into_response())
}

/// `GET /assets/{file}`: scripts, styles and fonts of pages. Their names contain a hash of their content.
///
/// The build has compressed texts; the client chooses the coding.
pub(super) async fn asset(
    State(app): State<DeliveryState>,
    UnescapedPathParts([file]): UnescapedPathParts<1>,
    request: HeaderMap,
) -> Result<Response, ApiError> {
    if is_compressed_copy(&file) {
        return Err(ApiError::no_such_path());
    }
    let coded = coded_file(&*app.assets, &format!("assets/{file}"), &request);
    let CodedFile { bytes, coding, has_codings } = coded.ok_or_else(ApiError::no_such_path)?;
    let content_type = match file.rsplit_once('.').map(|(_, ending)| ending) {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("txt") => "text/plain; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("woff2") => "font/woff2",
        Some("map" | "json") => "application/json",
        _ => "application/octet-stream",
    };
    let coding = coding.map(|coding| [(header::CONTENT_ENCODING, coding.to_header())]);
    let vary = has_codings.then_some([(header::VARY, gzip::VARY)]);
    let headers = [
        (header::CONTENT_TYPE, content_type),
        (header::CACHE_CONTROL, super::response::IMMUTABLE),
        // A page that is framed without an origin (`sandbox="allow-scripts"`, as in WordPress) loads its own
        // scripts cross-origin.
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
    ];
    Ok((headers, coding, vary, bytes.into_owned()).into_response())
}

/// The `Content-Security-Policy` of the page.
///
/// From other origins it loads only the stream and its images. The requesting page may frame it where the
/// rule on domains allows that; without such a rule every page may. The player makes subtitle tracks from an
/// empty `data:` file, and loses their cues where that is blocked.
fn content_security_policy(app: &DeliveryState, ancestors: Option<Vec<String>>) -> HeaderValue {
    let (stream, images) = (&app.base_urls.stream, &app.base_urls.images);
    let ancestors = match ancestors {
        None => "*".to_owned(),
        // Every rule allows our own pages.
        Some(hosts) => ["'self'".to_owned()].into_iter().chain(hosts).collect::<Vec<_>>().join(" "),
    };
    let text = format!(
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self' {stream}; \
         media-src 'self' blob: data: {stream} {images}; img-src 'self' data: {images}; worker-src 'self' blob:; base-uri 'none'; \
         form-action 'none'; frame-ancestors {ancestors}"
    );
    HeaderValue::from_str(&text)
        .unwrap_or(HeaderValue::from_static("default-src 'self'; frame-ancestors 'none'"))
}

/// The page with its values, and with the oEmbed link. `<` is escaped, so that no value can end the script
/// element that contains it.
fn render(page: &[u8], values: &PageValues, discovery: Option<&str>) -> Vec<u8> {
    let json = serde_json::to_string(values).expect("strings are always JSON").replace('<', "\\u003c");
    // Placeholders are searched in the page alone, since a value may look like one.
    let (front, rest) = split_at_placeholder(page, OEMBED_PLACEHOLDER).unwrap_or((&[], page));
    let (middle, end) = split_at_placeholder(rest, VALUES_PLACEHOLDER).unwrap_or((rest, &[]));
    let json = if middle.len() == rest.len() { "" } else { &json };
    [front, discovery.unwrap_or("").as_bytes(), middle, json.as_bytes(), end].concat()
}

/// The parts before and after a placeholder.
fn split_at_placeholder<'a>(page: &'a [u8], placeholder: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = page.windows(placeholder.len()).position(|window| window == placeholder)?;
    Some((&page[..at], &page[at + placeholder.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_values_are_script_escaped() {
        let values = PageValues {
            manifest: "m".into(),
            poster: None,
            storyboard: None,
            title: Some("</script><script>alert(1)//__KINORA__<!--__OEMBED__-->".into()),
            blur_hash: None,
        };
        let page = render(b"<!--__OEMBED__--><a>__KINORA__</a>", &values, Some("<link __KINORA__>"));
        assert_eq!(
            String::from_utf8(page).unwrap(),
            r#"<link __KINORA__><a>{"manifest":"m","poster":null,"storyboard":null,"title":"\u003c/script>\u003cscript>alert(1)//__KINORA__\u003c!--__OEMBED__-->","blurHash":null}</a>"#
        );
        assert_eq!(render(b"<!--__OEMBED__-->no place", &values, None), b"no place");
    }
}
