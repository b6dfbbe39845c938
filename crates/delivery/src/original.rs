//! `GET {stream}/{playbackId}/source`: the original, where its owner opened it
//! (C-19, D-0075).

use axum::body::Body;
use axum::http::HeaderMap;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use kinora_domain::PlaybackId;
use kinora_index::Container;
use kinora_web::error::ApiError;

use super::disposition;
use super::gate::{grant_that, too_large};
use super::held::held;
use super::send::{Caching, Content, hex};
use super::viewing::Viewing;
use crate::DeliveryState;
use crate::error;

/// The last part of its address.
pub(super) const NAME: &str = "source";

/// The bytes as they came, of any length, in whole or one range of them.
pub(super) async fn original(
    app: &DeliveryState,
    playback: PlaybackId,
    query: &str,
    request: &HeaderMap,
) -> Result<Response, ApiError> {
    let wanted = disposition::wanted(query)?;
    let viewing = Viewing::by_token(query, request);
    let granted = grant_that(app, playback, &viewing, |offer| offer.original.is_some()).await?;
    granted.in_clear()?;
    let name = granted.offer.original.as_deref().ok_or_else(error::source_not_open)?;
    // The bound of the media is no bound of its original; that of a playback ID is.
    if let Some((cap, size)) = granted.cap.zip(granted.offer.source_resolution)
        && cap < size
    {
        return Err(too_large(cap));
    }
    let packaged = app.packager.packaged(granted.offer.presentation).await.map_err(error::from_packager)?;
    let index = packaged.index();
    let (content_type, extension) = form(index.container, index.video().is_some());
    let reader = app.packager.original(granted.offer.source).await.map_err(error::from_packager)?;
    // The same bytes have the same tag, whichever media they are the original of.
    let etag = format!("\"{}\"", hex(&index.source_sha256[..16]));
    let terms = granted.terms(app, Caching::Short);
    let content = Content { content_type, etag, terms, len: reader.len(), plays_us: granted.offer.length_us };
    let session = granted.session(app, &viewing);
    let response = content.answer(request, |range| match reader.stream(range) {
        Ok(pieces) => Body::from_stream(held(pieces, app, session, |offer| offer.original.is_some())),
        Err(error) => Body::from_stream(stream::iter([Err::<Bytes, _>(error)])),
    });
    Ok(disposition::on(response, disposition::header(wanted.as_deref(), name, extension)))
}

/// Type and extension of a file. Both follow from what its bytes are, never from what somebody called it.
fn form(container: Container, has_video: bool) -> (&'static str, &'static str) {
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
