//! `GET /oembed`: what another site needs to put the page that plays into its own (oembed.com,
//! D-0089).

use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use bytes::Bytes;
use kinora_domain::{Media, MediaState, PlaybackId, PlaybackRefusal, TrackKind};
use kinora_web::addresses::Addresses;
use kinora_web::error::ApiError;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use url::Url;

use super::gate::{self, Entrance};
use super::parameter::Parameters;
use super::send::{Caching, Terms, hex, send};
use super::token::{self, VerifyError};
use super::viewing::Viewing;
use crate::DeliveryState;
use crate::error;

/// The longer side of a frame where no bound is asked for, in pixels: as wide as the column of a blog.
const SIDE: u32 = 640;
/// The longest side of a frame: that of the largest picture.
const SIDE_MAX: u32 = kinora_packager::PICTURE_SIDE_MAX;
/// The longest side of a thumbnail: it is shown small, until somebody presses play.
const THUMBNAIL_SIDE_MAX: u32 = 1280;
/// How high a frame of sound alone is: its title, and two rows of controls.
const SOUND_HEIGHT: u32 = 180;
/// What most videos look like, until it is known of this one.
const USUAL_SHAPE: (u32, u32) = (16, 9);
/// For how long the answer is good, in seconds: other sites keep it, and look again when a title or a picture
/// may be another.
const CACHE_AGE_S: u32 = 3600;
/// The same while the media is not ready: then its shape is known, and there is a picture.
const CACHE_AGE_NOT_READY_S: u32 = 60;
/// Who serves it.
const PROVIDER: &str = "Kinora";

/// What is asked for.
struct Asked {
    url: Url,
    maxwidth: Option<u32>,
    maxheight: Option<u32>,
}

/// The answer (oEmbed, 2.3.4). What is not said is left out.
#[derive(Debug, Serialize, PartialEq, Eq)]
struct Embedding {
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

/// What there is to see of a media.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Not known yet.
    NotReady,
    /// Pictures of so many pixels.
    Video(u32, u32),
    Sound,
}

/// `GET /oembed?url=`: how the media behind a pasted address is embedded.
///
/// 404 for what is no address of ours and for a media that is not there, 401 for a private one without a
/// `token` in the pasted address, 501 for another format than JSON (oEmbed, 2.3.3). The rules on pages and
/// players keep nobody out, for whoever asks is the server of a page: they hold for the frame. But who is not
/// let in by them is told neither the title nor of a picture.
pub(super) async fn oembed(
    State(app): State<DeliveryState>,
    RawQuery(query): RawQuery,
    request: HeaderMap,
) -> Result<Response, ApiError> {
    let asked = parse(query.as_deref().unwrap_or(""))?;
    let playback = playback_of(&asked.url, &app.addresses).ok_or_else(error::not_embeddable)?;
    let viewing = Viewing::by_token(asked.url.query().unwrap_or(""), &request);
    let entrance = gate::enter(&app, playback, &viewing).await?;
    let Entrance { media, policy, refused } = entrance.ok_or_else(ApiError::playback_not_found)?;
    let is_let_in = match refused {
        None => true,
        Some(PlaybackRefusal::Domain | PlaybackRefusal::UserAgent) => false,
        Some(refusal) => return Err(gate::refuse(refusal)),
    };
    let shape = shape_of(&media).ok_or_else(error::playback_failed)?;
    let token = viewing.token_for(&policy);
    let title = media.settings.title.as_deref().filter(|_| is_let_in);
    let mut embedding = embed(&app.addresses, playback, &asked, shape, title, token);
    embedding.thumbnail = embedding.thumbnail.filter(|_| is_let_in);
    if let Some(token) = token {
        embedding.cache_age = embedding.cache_age.min(left_s(&app, &media, token).await?);
    }
    let body = serde_json::to_vec(&embedding).expect("strings and numbers are always JSON");
    let etag = format!("\"{}\"", hex(&Sha256::digest(&body)[..16]));
    let caching =
        if policy.is_restricted() { Caching::Minute.for_one() } else { Caching::Minute.for_everybody() };
    let keeping = caching.asking(gate::asks(&policy));
    Ok(send(&request, Bytes::from(body), "application/json", etag, Terms::of_nobody(keeping)))
}

/// The element by which other sites find this answer from the page that plays (oEmbed, 4).
pub(super) fn discovery(addresses: &Addresses, playback: PlaybackId, token: Option<&str>) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("url", &page(addresses, playback, token));
    let address = format!("{}/oembed?{}", addresses.public, query.finish());
    format!(r#"<link rel="alternate" type="application/json+oembed" href="{}">"#, escaped(&address))
}

/// The parameters; others belong to somebody else (oEmbed, 2.2).
fn parse(query: &str) -> Result<Asked, ApiError> {
    let mut parameters = Parameters::of(query);
    if parameters.text("format").is_some_and(|format| format != "json") {
        return Err(error::oembed_format());
    }
    let url = parameters.text("url").and_then(|url| Url::parse(url).ok());
    if url.is_none() {
        parameters
            .refuse("url", "must be the address of the page that plays the media, with https:// in front");
    }
    let maxwidth = parameters.number("maxwidth", 1..=u32::MAX, "pixels");
    let maxheight = parameters.number("maxheight", 1..=u32::MAX, "pixels");
    let (url, maxwidth, maxheight) = parameters.into_result((url, maxwidth, maxheight))?;
    Ok(Asked { url: url.expect("without one it was refused"), maxwidth, maxheight })
}

/// The media of a pasted address: that of its page, or of its stream. People copy them with either scheme.
fn playback_of(url: &Url, addresses: &Addresses) -> Option<PlaybackId> {
    let page = below(url, &addresses.public).and_then(|path| path.strip_prefix("embed/"));
    let stream = || below(url, &addresses.stream).and_then(|path| path.strip_suffix(".m3u8"));
    page.or_else(stream)?.parse().ok()
}

/// The path of an address, seen from a base.
fn below<'a>(url: &'a Url, base: &str) -> Option<&'a str> {
    let base = Url::parse(base).ok()?;
    // A port that is not said is that of the scheme.
    let is_there = matches!(url.scheme(), "http" | "https")
        && url.host().is_some()
        && (url.host(), url.port()) == (base.host(), base.port());
    let path = url.path().strip_prefix(base.path().trim_end_matches('/'))?;
    path.strip_prefix('/').filter(|_| is_there)
}

/// `None` for what will never play.
fn shape_of(media: &Media) -> Option<Shape> {
    let facts = match &media.state {
        MediaState::Ready { facts, .. } => facts,
        MediaState::Failed { .. } => return None,
        MediaState::Created | MediaState::Downloading { .. } => return Some(Shape::NotReady),
    };
    let size = facts.tracks.iter().find_map(|track| match track.kind {
        TrackKind::Video { width, height, .. } => Some(Shape::Video(width.max(1), height.max(1))),
        TrackKind::Audio { .. } => None,
    });
    // What does not decode is played as sound.
    Some(size.filter(|_| facts.has_pictures()).unwrap_or(Shape::Sound))
}

/// How long a token lasts, in seconds: what is embedded with it plays no longer.
async fn left_s(app: &DeliveryState, media: &Media, token: &str) -> Result<u32, ApiError> {
    let expires_at_s = match token::verify(app, media.workspace, token).await {
        Ok(verified) => verified.claims.expires_at_s.unwrap_or(0.0),
        Err(VerifyError::Refused(_)) => 0.0,
        Err(VerifyError::Failed(error)) => return Err(error),
    };
    #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 have 10 digits")]
    let left_s = expires_at_s - app.clock.now().as_seconds() as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is that of the type"
    )]
    let left_s = left_s.clamp(0.0, f64::from(u32::MAX)) as u32;
    Ok(left_s)
}

fn embed(
    addresses: &Addresses,
    playback: PlaybackId,
    asked: &Asked,
    shape: Shape,
    title: Option<&str>,
    token: Option<&str>,
) -> Embedding {
    let bounds = match (asked.maxwidth, asked.maxheight) {
        (None, None) => (SIDE, SIDE),
        (width, height) => {
            (width.unwrap_or(SIDE_MAX).min(SIDE_MAX), height.unwrap_or(SIDE_MAX).min(SIDE_MAX))
        }
    };
    let (r#type, (width, height)) = match shape {
        Shape::NotReady => ("video", fit(USUAL_SHAPE, bounds)),
        Shape::Video(width, height) => ("video", fit((width, height), bounds)),
        Shape::Sound => ("rich", (bounds.0.min(SIDE), bounds.1.min(SOUND_HEIGHT))),
    };
    let thumbnail = match shape {
        Shape::Video(of_width, of_height) => {
            let side = |frame: u32, video: u32| frame.min(video).min(THUMBNAIL_SIDE_MAX);
            let size = fit((of_width, of_height), (side(width, of_width), side(height, of_height)));
            Some(thumbnail(addresses, playback, size, token))
        }
        Shape::NotReady | Shape::Sound => None,
    };
    Embedding {
        version: "1.0",
        r#type,
        provider_name: PROVIDER,
        provider_url: addresses.public.clone(),
        title: title.map(str::to_owned),
        html: frame(&page(addresses, playback, token), title, (width, height)),
        width,
        height,
        thumbnail,
        cache_age: if shape == Shape::NotReady { CACHE_AGE_NOT_READY_S } else { CACHE_AGE_S },
    }
}

/// The largest size of a shape within bounds, no side shorter than a pixel.
fn fit((width, height): (u32, u32), (width_max, height_max): (u32, u32)) -> (u32, u32) {
    let [width, height, width_max, height_max] = [width, height, width_max, height_max].map(u64::from);
    // To the nearest pixel, which is never beyond the bound.
    let scaled = |side: u64, by: u64, of: u64| (side * by + of / 2) / of;
    let (width, height) = if width_max * height <= height_max * width {
        (width_max, scaled(height, width_max, width))
    } else {
        (scaled(width, height_max, height), height_max)
    };
    let side = |side: u64| u32::try_from(side).unwrap_or(SIDE_MAX).max(1);
    (side(width), side(height))
}

/// A picture of exactly this size: what is told of it is true to the pixel.
fn thumbnail(
    addresses: &Addresses,
    playback: PlaybackId,
    (width, height): (u32, u32),
    token: Option<&str>,
) -> Thumbnail {
    let size = format!("width={width}&height={height}&fit_mode=crop");
    let query = with_token(url::form_urlencoded::Serializer::for_suffix(size, 0), token);
    Thumbnail {
        thumbnail_url: format!("{}/{playback}/thumbnail.jpg?{query}", addresses.images),
        thumbnail_width: width,
        thumbnail_height: height,
    }
}

/// The page that plays.
fn page(addresses: &Addresses, playback: PlaybackId, token: Option<&str>) -> String {
    let query = with_token(url::form_urlencoded::Serializer::new(String::new()), token);
    let separator = if query.is_empty() { "" } else { "?" };
    format!("{}/embed/{playback}{separator}{query}", addresses.public)
}

fn with_token(mut query: url::form_urlencoded::Serializer<'_, String>, token: Option<&str>) -> String {
    if let Some(token) = token {
        query.append_pair("token", token);
    }
    query.finish()
}

/// The element that shows the page in another one. It tells whose page that is, as rules on domains want it,
/// whatever that page tells of itself.
fn frame(page: &str, title: Option<&str>, (width, height): (u32, u32)) -> String {
    let (page, title) = (escaped(page), escaped(title.unwrap_or(PROVIDER)));
    format!(
        r#"<iframe src="{page}" width="{width}" height="{height}" title="{title}" style="border:0" allow="autoplay; fullscreen; picture-in-picture" allowfullscreen referrerpolicy="strict-origin-when-cross-origin"></iframe>"#
    )
}

/// A text as the value of an attribute between double quotes; inside an element it is safe, too.
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

    fn addresses() -> Addresses {
        Addresses {
            public: "https://video.example:8443/kinora".into(),
            stream: "https://stream.example".into(),
            images: "https://images.example".into(),
        }
    }

    #[test]
    fn an_address_is_that_of_a_page_or_of_a_stream_of_ours() {
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
    fn a_frame_has_the_shape_of_the_media_and_keeps_its_bounds() {
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
    fn no_title_and_no_token_ends_its_attribute() {
        let asked =
            Asked { url: Url::parse("https://a.example").unwrap(), maxwidth: Some(320), maxheight: None };
        let playback = PLAYBACK.parse().unwrap();
        let title = r#""><script>alert('1')</script>&"#;
        let embedding =
            embed(&addresses(), playback, &asked, Shape::Video(1920, 1080), Some(title), Some("a\"b&c"));
        assert_eq!(
            embedding.html,
            "<iframe src=\"https://video.example:8443/kinora/embed/8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e6f?token=a%22b%26c\" width=\"320\" \
             height=\"180\" title=\"&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;\" style=\"border:0\" \
             allow=\"autoplay; fullscreen; picture-in-picture\" allowfullscreen referrerpolicy=\"strict-origin-when-cross-origin\"></iframe>"
        );
        assert_eq!(embedding.title.as_deref(), Some(title));
        assert_eq!(
            discovery(&addresses(), playback, Some("a\"b")),
            "<link rel=\"alternate\" type=\"application/json+oembed\" href=\"https://video.example:8443/kinora/oembed?\
             url=https%3A%2F%2Fvideo.example%3A8443%2Fkinora%2Fembed%2F8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e6f%3Ftoken%3Da%2522b\">"
        );
    }
}
