//! `GET {stream}/{playbackId}/source`: the original, where its owner opened it
//! (C-19, D-0075).

use axum::body::Body;
use axum::http::HeaderMap;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use kinora_domain::{PlaybackId, PresentationId};
use kinora_index::Container;
use kinora_web::error::ApiError;

use super::authorization::{grant_if, reject_resolution};
use super::content_disposition;
use super::playback_request::PlaybackRequest;
use super::recheck::recheck_access;
use super::response::{CacheLifetime, Content, hex};
use crate::DeliveryState;
use crate::error;

/// The last part of its address.
pub(super) const NAME: &str = "source";

/// Sends the original bytes, of any length, as a whole or one range.
pub(super) async fn source(
    app: &DeliveryState,
    playback: PlaybackId,
    query: &str,
    request: &HeaderMap,
) -> Result<Response, ApiError> {
    let requested_name = content_disposition::download_name(query)?;
    let playback_request = PlaybackRequest::by_token(query, request);
    let granted = grant_if(app, playback, &playback_request, |media| media.source_name.is_some()).await?;
    granted.require_unencrypted()?;
    let name = granted.media.source_name.as_deref().ok_or_else(error::source_access_disabled)?;
    // The bound of the media does not apply to its original; that of a playback ID does.
    if let Some((max, size)) = granted.playback_max_resolution.zip(granted.media.source_resolution)
        && max < size
    {
        return Err(reject_resolution(max));
    }
    let packaged = app
        .packager
        .packaged(PresentationId::of(granted.media.original))
        .await
        .map_err(error::from_packager)?;
    let index = packaged.index();
    let (content_type, extension) = media_type(index.container, index.video().is_some());
    let reader = app.packager.source_reader(granted.media.original).await.map_err(error::from_packager)?;
    // The same bytes have the same tag, also as the original of another media.
    let etag = format!("\"{}\"", hex(&index.source_sha256[..16]));
    let policy = granted.response_policy(app, CacheLifetime::Short);
    let content =
        Content { content_type, etag, policy, len: reader.len(), playing_time_us: granted.media.duration_us };
    let session = granted.session(app, &playback_request);
    let response = content.answer(request, |range| match reader.stream(range) {
        Ok(chunks) => Body::from_stream(recheck_access(chunks, app, session, |offered_media| {
            offered_media.source_name.is_some()
        })),
        Err(error) => Body::from_stream(stream::iter([Err::<Bytes, _>(error)])),
    });
    Ok(content_disposition::with_disposition(
        response,
        content_disposition::header(requested_name.as_deref(), name, extension),
    ))
}

/// MIME type and extension of a file. Both follow from its bytes, never from the name that a client gave it.
fn media_type(container: Container, has_video: bool) -> (&'static str, &'static str) {
    match (container, has_video) {
        (Container::Mp4, true) => ("video/mp4", "mp4"),
        (Container::Mp4, false) => ("audio/mp4", "m4a"),
        (Container::Mov, _) => ("video/quicktime", "mov"),
        // RFC 9559, 27.
        (Container::Matroska, true) => ("video/matroska", "mkv"),
        (Container::Matroska, false) => ("audio/matroska", "mka"),
        (Container::WebM, true) => ("video/webm", "webm"),
        (Container::WebM, false) => ("audio/webm", "webm"),
        (Container::MpegTs, _) => ("video/mp2t", "ts"),
        (Container::MpegPs, _) => ("video/mpeg", "mpg"),
        (Container::Avi, _) => ("video/x-msvideo", "avi"),
        (Container::Flv, _) => ("video/x-flv", "flv"),
        (Container::Asf, true) => ("video/x-ms-wmv", "wmv"),
        (Container::Asf, false) => ("audio/x-ms-wma", "wma"),
        (Container::Mxf, _) => ("application/mxf", "mxf"),
        (Container::Ogg, true) => ("video/ogg", "ogv"),
        (Container::Ogg, false) => ("audio/ogg", "ogg"),
        (Container::Wav, _) => ("audio/wav", "wav"),
        (Container::Mp3, _) => ("audio/mpeg", "mp3"),
        (Container::Flac, _) => ("audio/flac", "flac"),
        (Container::Adts, _) => ("audio/aac", "aac"),
        (Container::Aiff, _) => ("audio/aiff", "aiff"),
        (Container::Caf, _) => ("audio/x-caf", "caf"),
        (Container::Amr, _) => ("audio/amr", "amr"),
        (Container::Au, _) => ("audio/basic", "au"),
        (Container::W64, _) => ("audio/x-w64", "w64"),
        (Container::Mp2, _) => ("audio/mpeg", "mp2"),
        (Container::Ac3, _) => ("audio/ac3", "ac3"),
        (Container::Eac3, _) => ("audio/eac3", "eac3"),
        (Container::Dts, _) => ("audio/vnd.dts", "dts"),
        (Container::WavPack, _) => ("audio/x-wavpack", "wv"),
        (Container::Ape, _) => ("audio/x-ape", "ape"),
        (Container::Dv, _) => ("video/x-dv", "dv"),
        (Container::MpegVideo, _) => ("video/mpeg", "m2v"),
        (Container::Ivf, _) => ("video/x-ivf", "ivf"),
    }
}
