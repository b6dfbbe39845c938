//! `GET /oembed`: the data that another site needs to embed the player page (oembed.com, D-0089).

use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use bytes::Bytes;
use kinora_domain::{Media, MediaState, PlaybackDenied, PlaybackId, Timestamp, TrackKind};
use kinora_web::base_urls::BaseUrls;
use kinora_web::error::ApiError;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use url::Url;

use super::authorization::{self, PageAccess};
use super::image_query::Parameters;
use super::pass;
use super::playback_request::PlaybackRequest;
use super::response::{CacheLifetime, ResponsePolicy, hex, send};
use super::token::{self, VerifyError};
use crate::DeliveryState;
use crate::error;

/// The longer side of the iframe without a requested bound, in pixels: the width of a blog column.
const SIDE_DEFAULT: u32 = 640;
/// The longest side of the iframe, in pixels: that of the largest image.
const SIDE_MAX: u32 = kinora_packager::IMAGE_SIDE_MAX;
/// The longest side of a thumbnail, in pixels: it is shown small until playback starts.
const THUMBNAIL_SIDE_MAX: u32 = 1280;
/// The height of the iframe for audio alone, in pixels: a title and two rows of controls.
const AUDIO_HEIGHT: u32 = 180;
/// The aspect ratio of most videos, used until that of the video is known.
const ASPECT_RATIO_DEFAULT: (u32, u32) = (16, 9);
/// How long other sites may cache the response, in seconds: afterwards the title or the thumbnail may
/// differ.
const CACHE_AGE_S: u32 = 3600;
/// The same while the media is not ready: once it is, its aspect ratio is known and it has a thumbnail.
const CACHE_AGE_NOT_READY_S: u32 = 60;
/// Name of the provider.
const PROVIDER: &str = "Kinora";

/// The parameters of a request.
struct OembedQuery {
    url: Url,
    maxwidth: Option<u32>,
    maxheight: Option<u32>,
}

/// The response (oEmbed, 2.3.4). Fields without a value are left out.
#[derive(Debug, Serialize, PartialEq, Eq)]
struct OembedResponse {
    version: &'static str,
    r#type: &'static str,
    provider_name: &'static str,
    provider_url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    html: String,
    width: u32,
    height: u32,
    #[serde(flatten)]
    thumbnail: Option<Thumbnail>,
    cache_age: u32,
}

#[derive(Debug, Serialize, PartialEq, Eq)]
struct Thumbnail {
    thumbnail_url: String,
    thumbnail_width: u32,
    thumbnail_height: u32,
}

/// Whether a media has video, and its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FrameShape {
    /// Not known yet.
    NotReady,
    /// Video of this width and height, in pixels.
    Video(u32, u32),
    Audio,
}

/// `GET /oembed?url=`: how the media of a pasted address is embedded.
///
/// 404 for an address that is not of this server and for an unknown media, 401 for a private one without a
/// `token` in the pasted address, 501 for another format than JSON (oEmbed, 2.3.3). The rules on pages and
/// players do not reject the request, since the server of a page sends it: they apply to the iframe. A
/// request that they forbid gets neither the title nor a thumbnail.
pub(super) async fn oembed(
    State(app): State<DeliveryState>,
    RawQuery(query): RawQuery,
    request: HeaderMap,
) -> Result<Response, ApiError> {
    let parameters = parse(query.as_deref().unwrap_or(""))?;
    let playback = playback_of(&parameters.url, &app.base_urls).ok_or_else(error::not_embeddable)?;
    let playback_request = PlaybackRequest::by_token(parameters.url.query().unwrap_or(""), &request);
    let access = authorization::page_access(&app, playback, &playback_request).await?;
    let PageAccess { media, policy, rejection } = access.ok_or_else(ApiError::playback_not_found)?;
    let may_watch = match rejection {
        None => true,
        Some(PlaybackDenied::Domain | PlaybackDenied::UserAgent) => false,
        Some(refusal) => return Err(authorization::reject(refusal)),
    };
    let shape = frame_shape(&media).ok_or_else(error::playback_failed)?;
    let token = playback_request.token_for(&policy);
    let title = media.settings.title.as_deref().filter(|_| may_watch);
    let mut oembed_response = embed(&app.base_urls, playback, &parameters, shape, title, token);
    oembed_response.thumbnail = oembed_response.thumbnail.filter(|_| may_watch);
    if let Some(token) = token {
        oembed_response.cache_age = oembed_response
            .cache_age
            .min(expires_in_s(&app, &media, playback, &playback_request, token).await?);
    }
    let body = serde_json::to_vec(&oembed_response).expect("strings and numbers are always JSON");
    let etag = format!("\"{}\"", hex(&Sha256::digest(&body)[..16]));
    let caching =
        if policy.is_restricted() { CacheLifetime::Minute.private() } else { CacheLifetime::Minute.public() };
    let cache_policy = caching.vary_on(authorization::vary_on(&policy));
    Ok(send(&request, Bytes::from(body), "application/json", etag, ResponsePolicy::unmetered(cache_policy)))
}

/// The `link` element by which other sites find this response from the player page (oEmbed, 4).
pub(super) fn discovery_link(base_urls: &BaseUrls, playback: PlaybackId, token: Option<&str>) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("url", &player_page_url(base_urls, playback, token));
    let address = format!("{}/oembed?{}", base_urls.public, query.finish());
    format!(r#"<link rel="alternate" type="application/json+oembed" href="{}">"#, escaped(&address))
}

/// Parses the parameters; others are ignored (oEmbed, 2.2).
fn parse(query: &str) -> Result<OembedQuery, ApiError> {
    let mut parameters = Parameters::of(query);
    if parameters.text("format").is_some_and(|format| format != "json") {
        return Err(error::oembed_format());
    }
    let url = parameters.text("url").and_then(|url| Url::parse(url).ok());
    if url.is_none() {
        parameters.add_problem("url", "must be the URL of the player page, beginning with https://");
    }
    let maxwidth = parameters.number("maxwidth", 1..=u32::MAX, "pixels");
    let maxheight = parameters.number("maxheight", 1..=u32::MAX, "pixels");
    let (url, maxwidth, maxheight) = parameters.into_result((url, maxwidth, maxheight))?;
    Ok(OembedQuery { url: url.expect("without one it was refused"), maxwidth, maxheight })
}

/// The playback ID of a pasted address, of a player page or a stream. Users copy addresses with either
/// scheme.
fn playback_of(url: &Url, base_urls: &BaseUrls) -> Option<PlaybackId> {
    let page = path_below(url, &base_urls.public).and_then(|path| path.strip_prefix("embed/"));
    let stream = || path_below(url, &base_urls.stream).and_then(|path| path.strip_suffix(".m3u8"));
    page.or_else(stream)?.parse().ok()
}

/// The path of an address, relative to a base.
fn path_below<'a>(url: &'a Url, base: &str) -> Option<&'a str> {
    let base = Url::parse(base).ok()?;
    // An absent port is the default port of the scheme.
    let is_same_origin = matches!(url.scheme(), "http" | "https")
        && url.host().is_some()
        && (url.host(), url.port()) == (base.host(), base.port());
    let path = url.path().strip_prefix(base.path().trim_end_matches('/'))?;
    path.strip_prefix('/').filter(|_| is_same_origin)
}

/// `None` for a media that will never play.
fn frame_shape(media: &Media) -> Option<FrameShape> {
    let facts = match &media.state {
        MediaState::Ready { facts, .. } => facts,
        MediaState::Failed { .. } => return None,
        MediaState::Created | MediaState::Downloading { .. } => return Some(FrameShape::NotReady),
    };
    let size = facts.tracks.iter().find_map(|track| match track.kind {
        TrackKind::Video { width, height, .. } => Some(FrameShape::Video(width.max(1), height.max(1))),
        TrackKind::Audio { .. } => None,
    });
    // Video that does not decode is played as audio.
    Some(size.filter(|_| facts.has_thumbnails()).unwrap_or(FrameShape::Audio))
}

/// The remaining validity of a token or pass, in seconds: a page that is embedded with it plays no longer.
async fn expires_in_s(
    app: &DeliveryState,
    media: &Media,
    playback: PlaybackId,
    playback_request: &PlaybackRequest<'_>,
    token: &str,
) -> Result<u32, ApiError> {
    if playback_request.has_pass() {
        let expires_at = pass::read(&app.store, playback, token).map(|claims| claims.expires_at());
        let left_us = expires_at.map_or(0, |expires_at| expires_at.micros_since(app.clock.now()));
        return Ok(u32::try_from((left_us / Timestamp::SECOND).max(0)).unwrap_or(u32::MAX));
    }
    let expires_at_s = match token::verify(app, media.workspace, token).await {
        Ok(verified) => verified.claims.expires_at_s.unwrap_or(0.0),
        Err(VerifyError::Rejected(_)) => 0.0,
        Err(VerifyError::Failed(error)) => return Err(error),
    };
    #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 have 10 digits")]
    let expires_in_s = expires_at_s - app.clock.now().as_seconds() as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is that of the type"
    )]
    let remaining_s = expires_in_s.clamp(0.0, f64::from(u32::MAX)) as u32;
    Ok(remaining_s)
}

fn embed(
    base_urls: &BaseUrls,
    playback: PlaybackId,
    parameters: &OembedQuery,
    shape: FrameShape,
    title: Option<&str>,
    token: Option<&str>,
) -> OembedResponse {
    let bounds = match (parameters.maxwidth, parameters.maxheight) {
        (None, None) => (SIDE_DEFAULT, SIDE_DEFAULT),
        (width, height) => {
            (width.unwrap_or(SIDE_MAX).min(SIDE_MAX), height.unwrap_or(SIDE_MAX).min(SIDE_MAX))
        }
    };
    let (r#type, (width, height)) = match shape {
        FrameShape::NotReady => ("video", fit(ASPECT_RATIO_DEFAULT, bounds)),
        FrameShape::Video(width, height) => ("video", fit((width, height), bounds)),
        FrameShape::Audio => ("rich", (bounds.0.min(SIDE_DEFAULT), bounds.1.min(AUDIO_HEIGHT))),
    };
    let thumbnail = match shape {
        FrameShape::Video(of_width, of_height) => {
            let side = |frame: u32, video: u32| frame.min(video).min(THUMBNAIL_SIDE_MAX);
            let size = fit((of_width, of_height), (side(width, of_width), side(height, of_height)));
            Some(thumbnail(base_urls, playback, size, token))
        }
        FrameShape::NotReady | FrameShape::Audio => None,
    };
    OembedResponse {
        version: "1.0",
        r#type,
        provider_name: PROVIDER,
        provider_url: base_urls.public.clone(),
        title: title.map(str::to_owned),
        html: iframe(&player_page_url(base_urls, playback, token), title, (width, height)),
        width,
        height,
        thumbnail,
        cache_age: if shape == FrameShape::NotReady { CACHE_AGE_NOT_READY_S } else { CACHE_AGE_S },
    }
}

/// The largest size of a shape within bounds, no side shorter than a pixel.
fn fit((width, height): (u32, u32), (width_max, height_max): (u32, u32)) -> (u32, u32) {
    let [width, height, width_max, height_max] = [width, height, width_max, height_max].map(u64::from);
    // Rounded to the nearest pixel, which never exceeds the bound.
    let scaled = |side: u64, by: u64, of: u64| (side * by + of / 2) / of;
    let (width, height) = if width_max * height <= height_max * width {
        (width_max, scaled(height, width_max, width))
    } else {
        (scaled(width, height_max, height), height_max)
    };
    let side = |side: u64| u32::try_from(side).unwrap_or(SIDE_MAX).max(1);
    (side(width), side(height))
}

/// A thumbnail of exactly this size, so that the reported size is exact.
fn thumbnail(
    base_urls: &BaseUrls,
    playback: PlaybackId,
    (width, height): (u32, u32),
    token: Option<&str>,
) -> Thumbnail {
    let size = format!("width={width}&height={height}&fit_mode=crop");
    let query = with_token(url::form_urlencoded::Serializer::for_suffix(size, 0), token);
    Thumbnail {
        thumbnail_url: format!("{}/{playback}/thumbnail.jpg?{query}", base_urls.images),
        thumbnail_width: width,
        thumbnail_height: height,
    }
}

/// The address of the player page.
fn player_page_url(base_urls: &BaseUrls, playback: PlaybackId, token: Option<&str>) -> String {
    let query = with_token(url::form_urlencoded::Serializer::new(String::new()), token);
    let separator = if query.is_empty() { "" } else { "?" };
    format!("{}/embed/{playback}{separator}{query}", base_urls.public)
}

fn with_token(mut query: url::form_urlencoded::Serializer<'_, String>, token: Option<&str>) -> String {
    if let Some(token) = token {
        query.append_pair("token", token);
    }
    query.finish()
}

/// The `iframe` element. Its referrer policy names the embedding page, as rules on domains require,
/// independent of that page's own policy.
fn iframe(page: &str, title: Option<&str>, (width, height): (u32, u32)) -> String {
    let (page, title) = (escaped(page), escaped(title.unwrap_or(PROVIDER)));
    format!(
        r#"<iframe src="{page}" width="{width}" height="{height}" title="{title}" style="border:0" allow="autoplay; fullscreen; picture-in-picture" allowfullscreen referrerpolicy="strict-origin-when-cross-origin"></iframe>"#
    )
}

/// A text, escaped for an attribute in double quotes; it is safe inside an element too.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAYBACK: &str = "8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e6f";

    fn addresses() -> BaseUrls {
        BaseUrls {
            public: "https://video.example:8443/kinora".into(),
            stream: "https://stream.example".into(),
            images: "https://images.example".into(),
        }
    }

    #[test]
    fn oembed_accepts_only_own_player_and_stream_urls() {
        let check = |url: &str, is_ours: bool| {
            let found = playback_of(&Url::parse(url).unwrap(), &addresses());
            assert_eq!(found, is_ours.then(|| PLAYBACK.parse().unwrap()), "{url}");
        };
        let id = PLAYBACK;
        for ours in [
            format!("https://video.example:8443/kinora/embed/{id}"),
            format!("http://VIDEO.example:8443/kinora/embed/{id}?token=x&start=3#top"),
            format!("https://video.example:8443/else/../kinora/embed/{id}"),
            format!("https://video.example:8443/kinora/embed/{}", id.to_uppercase()),
            format!("https://stream.example/{id}.m3u8?token=x"),
            format!("http://stream.example:80/{id}.m3u8"),
        ] {
            check(&ours, true);
        }
        for other in [
            format!("https://video.example/kinora/embed/{id}"),
            format!("https://video.example:8443/embed/{id}"),
            format!("https://video.example:8443/kinoraembed/{id}"),
            format!("https://video.example:8443/kinora/embed/{id}/"),
            format!("https://video.example:8443@evil.example/kinora/embed/{id}"),
            format!("https://video.example.evil.example:8443/kinora/embed/{id}"),
            format!("ftp://video.example:8443/kinora/embed/{id}"),
            format!("data:video.example:8443/kinora/embed/{id}"),
            format!("https://stream.example/embed/{id}"),
            format!("https://stream.example/{id}/thumbnail.jpg"),
            format!("https://images.example/{id}.m3u8"),
            "https://video.example:8443/kinora/embed/".to_owned(),
        ] {
            check(&other, false);
        }
    }

    #[test]
    fn iframe_keeps_aspect_ratio_within_bounds() {
        let check =
            |shape, bounds, expected| assert_eq!(fit(shape, bounds), expected, "{shape:?} {bounds:?}");
        check((1920, 1080), (640, 640), (640, 360));
        check((1080, 1920), (640, 640), (360, 640));
        check((1920, 1080), (500, 4096), (500, 281));
        check((1920, 1080), (4096, 100), (178, 100));
        check((640, 480), (640, 480), (640, 480));
        check((160, 90), (1, 1), (1, 1));
        check((16_000, 1), (100, 100), (100, 1));
        check((u32::MAX, 1), (u32::MAX, u32::MAX), (u32::MAX, 1));
    }

    #[test]
    fn title_and_token_are_html_escaped() {
        let parameters = OembedQuery {
            url: Url::parse("https://a.example").unwrap(),
            maxwidth: Some(320),
            maxheight: None,
        };
        let playback = PLAYBACK.parse().unwrap();
        let title = r#""><script>alert('1')</script>&"#;
        let embedding = embed(
            &addresses(),
            playback,
            &parameters,
            FrameShape::Video(1920, 1080),
            Some(title),
            Some("a\"b&c"),
        );
        assert_eq!(
            embedding.html,
            "<iframe src=\"https://video.example:8443/kinora/embed/8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e6f?token=a%22b%26c\" width=\"320\" \
             height=\"180\" title=\"&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;\" style=\"border:0\" \
             allow=\"autoplay; fullscreen; picture-in-picture\" allowfullscreen referrerpolicy=\"strict-origin-when-cross-origin\"></iframe>"
        );
        assert_eq!(embedding.title.as_deref(), Some(title));
        assert_eq!(
            discovery_link(&addresses(), playback, Some("a\"b")),
            "<link rel=\"alternate\" type=\"application/json+oembed\" href=\"https://video.example:8443/kinora/oembed?\
             url=https%3A%2F%2Fvideo.example%3A8443%2Fkinora%2Fembed%2F8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e6f%3Ftoken%3Da%2522b\">"
        );
    }
}
