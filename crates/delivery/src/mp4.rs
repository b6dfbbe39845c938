//! `GET {stream}/{playbackId}/capped-4k.mp4` and `audio.m4a`: a media in one file, where its owner enabled
//! it (C-122, C-175, C-20, D-0075).

use std::sync::Arc;

use axum::body::Body;
use axum::http::HeaderMap;
use axum::response::Response;
use kinora_domain::{AudioGain, Mp4Support, PlaybackId};
use kinora_packager::{Error, Mp4File, Mp4FileLimits, Mp4FileReader, Packaged};
use kinora_web::error::ApiError;

use super::authorization::{Granted, grant_if, reject_resolution};
use super::content_disposition;
use super::playback_request::PlaybackRequest;
use super::recheck::recheck_access;
use super::response::{CacheLifetime, Content};
use crate::DeliveryState;
use crate::error;

/// The file with this name.
pub(super) fn of_name(name: &str) -> Option<Mp4File> {
    Mp4File::ALL.into_iter().find(|file| file.name() == name)
}

/// Sends the file, as a whole or one range.
pub(super) async fn file(
    app: &DeliveryState,
    playback: PlaybackId,
    file: Mp4File,
    query: &str,
    request: &HeaderMap,
) -> Result<Response, ApiError> {
    let requested_name = content_disposition::download_name(query)?;
    let playback_request = PlaybackRequest::by_token(query, request);
    let granted =
        grant_if(app, playback, &playback_request, |media| is_available(file, media.mp4_support)).await?;
    granted.require_unencrypted()?;
    if !is_available(file, granted.media.mp4_support) {
        return Err(error::file_not_enabled());
    }
    let packaged = app.packager.packaged(granted.media.presentation).await.map_err(error::from_packager)?;
    let bounds = Mp4FileLimits {
        max_resolution: granted.media.max_resolution,
        is_video_withdrawn: granted.media.is_video_withdrawn,
    };
    // There is one file of the media, made within the media's own bound.
    let capped = Mp4FileLimits { max_resolution: granted.max_resolution, ..bounds };
    let gains = &granted.media.gains;
    if file.renditions(&packaged, capped, gains) != file.renditions(&packaged, bounds, gains) {
        return Err(reject_resolution(granted.max_resolution));
    }
    let reader = match reader(app, &granted, &packaged, file, bounds).await {
        Err(error) if matches!(error.root(), Error::NotListed) => {
            return Err(error::file_not_enabled());
        }
        reader => reader.map_err(error::from_packager)?,
    };
    let (content_type, extension) = match file {
        Mp4File::Capped4k => ("video/mp4", "mp4"),
        Mp4File::AudioOnly => ("audio/mp4", "m4a"),
    };
    let etag = reader.etag().to_owned();
    let policy = granted.response_policy(app, CacheLifetime::Short);
    let content =
        Content { content_type, etag, policy, len: reader.len(), playing_time_us: granted.media.duration_us };
    let session = granted.session(app, &playback_request);
    let response = content.answer(request, |range| {
        Body::from_stream(recheck_access(reader.stream(range), app, session, move |offered_media| {
            is_available(file, offered_media.mp4_support)
        }))
    });
    Ok(content_disposition::with_disposition(
        response,
        content_disposition::header(requested_name.as_deref(), file.name(), extension),
    ))
}

/// The file with the audio in force; while that is encoded, or if it cannot be, the file with the other
/// audio of the media. So a file that was available stays so when its audio is levelled.
async fn reader(
    app: &DeliveryState,
    granted: &Granted,
    packaged: &Arc<Packaged>,
    file: Mp4File,
    bounds: Mp4FileLimits,
) -> Result<Mp4FileReader, Error> {
    let (gains, measured) = (&granted.media.gains, &granted.media.measured_gains);
    let error = match app.packager.file(packaged, file, bounds, gains).await {
        Err(error) if matches!(error.root(), Error::Pending | Error::NotPossible) => error,
        reader => return reader,
    };
    let other: &[Option<AudioGain>] = if gains.is_empty() { measured } else { &[] };
    if other.iter().eq(gains.iter()) {
        return Err(error);
    }
    app.packager.file(packaged, file, bounds, other).await.map_err(|_| error)
}

fn is_available(file: Mp4File, files: Mp4Support) -> bool {
    match file {
        Mp4File::Capped4k => files.capped_4k,
        Mp4File::AudioOnly => files.audio_only,
    }
}
