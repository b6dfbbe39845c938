//! `GET {stream}/{playbackId}/capped-4k.mp4` and `audio.m4a`: a media in one file, where its owner wants it
//! (C-122, C-175, C-20, D-0075).

use axum::body::Body;
use axum::http::HeaderMap;
use axum::response::Response;
use kinora_domain::{Mp4Support, PlaybackId};
use kinora_packager::{FileBounds, MediaFile};
use kinora_web::error::ApiError;

use super::disposition;
use super::gate::{grant_that, too_large};
use super::held::held;
use super::send::{Caching, Content};
use super::viewing::Viewing;
use crate::DeliveryState;
use crate::error;

/// The file with this name.
pub(super) fn of_name(name: &str) -> Option<MediaFile> {
    MediaFile::ALL.into_iter().find(|file| file.name() == name)
}

/// The file, in whole or one range of it.
pub(super) async fn file(
    app: &DeliveryState,
    playback: PlaybackId,
    file: MediaFile,
    query: &str,
    request: &HeaderMap,
) -> Result<Response, ApiError> {
    let wanted = disposition::wanted(query)?;
    let viewing = Viewing::by_token(query, request);
    let granted = grant_that(app, playback, &viewing, |offer| is_offered(file, offer.files)).await?;
    granted.in_clear()?;
    if !is_offered(file, granted.offer.files) {
        return Err(error::file_not_offered());
    }
    let packaged = app.packager.packaged(granted.offer.presentation).await.map_err(error::from_packager)?;
    let bounds = FileBounds {
        max_resolution: granted.offer.max_resolution,
        is_video_withdrawn: granted.offer.is_video_withdrawn,
    };
    // There is one file of the media, made within the media's own bound.
    let capped = FileBounds { max_resolution: granted.max_resolution, ..bounds };
    if file.renditions(&packaged, capped) != file.renditions(&packaged, bounds) {
        return Err(too_large(granted.max_resolution));
    }
    let reader = match app.packager.file(&packaged, file, bounds).await {
        Err(error) if matches!(error.root(), kinora_packager::Error::NotInPlan) => {
            return Err(error::file_not_offered());
        }
        reader => reader.map_err(error::from_packager)?,
    };
    let (content_type, extension) = match file {
        MediaFile::Capped4k => ("video/mp4", "mp4"),
        MediaFile::AudioOnly => ("audio/mp4", "m4a"),
    };
    let etag = reader.etag().to_owned();
    let terms = granted.terms(app, Caching::Short);
    let content = Content { content_type, etag, terms, len: reader.len(), plays_us: granted.offer.length_us };
    let session = granted.session(app, &viewing);
    let response = content.answer(request, |range| {
        Body::from_stream(held(reader.stream(range), app, session, move |offer| {
            is_offered(file, offer.files)
        }))
    });
    Ok(disposition::on(response, disposition::header(wanted.as_deref(), file.name(), extension)))
}

fn is_offered(file: MediaFile, files: Mp4Support) -> bool {
    match file {
        MediaFile::Capped4k => files.capped_4k,
        MediaFile::AudioOnly => files.audio_only,
    }
}
