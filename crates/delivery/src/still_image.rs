//! The still image of a media for people of its workspace, who may see it without a playback ID (D-0159).

use std::net::IpAddr;

use axum::http::HeaderMap;
use axum::response::Response;
use kinora_domain::{Media, MediaState, PlaybackId, PresentationId};
use kinora_packager::{Error, FitMode, ImageFormat, PlaybackClient, ThumbnailRequest};
use kinora_web::error::ApiError;

use crate::DeliveryState;
use crate::error;
use crate::response::{CachePolicy, ResponsePolicy};
use crate::thumbnail::ImageResponse;

/// Only the browser of the person stores it, for five minutes.
const CACHE_CONTROL: &str = "private, max-age=300";

/// A still image that is requested by a person.
pub struct StillImage<'a> {
    /// The media. The caller has checked that the person may see it.
    pub media: &'a Media,
    /// The width, in pixels. The image is never wider than the video.
    pub width: u32,
    /// The client's address; `None` where it is not known. It has the limits of every client of images.
    pub address: Option<IpAddr>,
}

/// Sends the still image of a media as JPEG: the frame that its owner chose, else the middle one. It is made
/// on the first request and cached. It needs no grant, and counts as no delivery.
///
/// 404 while the media is not ready, after it failed, and without video.
pub async fn still_image(
    app: &DeliveryState,
    still_image: StillImage<'_>,
    request: &HeaderMap,
) -> Result<Response, ApiError> {
    let StillImage { media, width, address } = still_image;
    let (source, facts) = match &media.state {
        MediaState::Ready { source, facts, .. } => (*source, facts),
        MediaState::Failed { .. } => return Err(error::no_image("this media failed and has no image")),
        MediaState::Created | MediaState::Downloading { .. } => {
            return Err(error::no_image("this media is still being prepared; it has no image yet"));
        }
    };
    if !facts.has_thumbnails() {
        return Err(error::from_packager(Error::NoImage));
    }
    let presentation = PresentationId::of(source);
    let packaged = app.packager.packaged(presentation).await.map_err(error::from_packager)?;
    let wanted = ThumbnailRequest {
        time_ms: media.thumbnail_ms,
        width: Some(width),
        height: None,
        fit: FitMode::Preserve,
        format: ImageFormat::Jpg,
        is_poster: false,
    };
    let time = wanted.time_ms.map_or_else(|| "m".to_owned(), |time_ms| time_ms.to_string());
    let response = ImageResponse {
        content_type: "image/jpeg",
        etag: format!("\"{}-{time}-{width}-still\"", packaged.id()),
        policy: ResponsePolicy::unmetered(CachePolicy::from(CACHE_CONTROL)),
    };
    // The limits of encodes count by playback ID. The media stands for it.
    let client = PlaybackClient { playback: PlaybackId::from_uuid(media.id.as_uuid()), address };
    response.answer(request, app.packager.thumbnail(&packaged, wanted, client)).await
}
