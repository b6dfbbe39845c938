//! Manifests, init segments and segments; the latter two encrypted where the playback ID says so.

use axum::Extension;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use bytes::Bytes;
use kinora_domain::PlaybackId;
use kinora_formats::hls::FileEncryption;
use kinora_packager::{Added, Asker, Packaged, Rendition, Segment, SoundName, SubtitleName, Wanted};

use super::cipher::FileCipher;
use super::gate::{Granted, grant};
use super::send::{Caching, Content, WEAK, known, part, send, send_changing_text, send_text};
use super::viewing::Viewing;
use super::{content_key, subtitles, wanted};
use crate::delivery::DeliveryState;
use crate::error::ApiError;
use crate::extract::PlainParts;
use crate::serve::ClientAddress;

/// RFC 8216, 4: the type of playlists; in lower case, as the web player looks for it (contract 4.3).
pub(super) const PLAYLIST: &str = "application/vnd.apple.mpegurl";

/// The name of init segments.
const INIT: &str = "init.mp4";

/// `GET {stream}/{playbackId}.m3u8`: what a player reads first.
pub(super) async fn multivariant(
    State(app): State<DeliveryState>,
    PlainParts([file]): PlainParts<1>,
    RawQuery(query): RawQuery,
    request: HeaderMap,
) -> Result<Response, ApiError> {
    let name = file.strip_suffix(".m3u8").ok_or_else(ApiError::no_such_path)?;
    let playback = PlaybackId::from_canonical(name).map_err(|_| ApiError::playback_not_found())?;
    let query = query.as_deref().unwrap_or("");
    let granted = grant(&app, playback, &Viewing::by_token(query, &request)).await?;
    let wanted = wanted::parse(query)?;
    let packaged = app.packager.packaged(granted.offer.source).await?;
    let base = granted.folder(&app, packaged.id());
    let subtitles: Vec<_> =
        granted.offer.subtitles.iter().map(|subtitles| subtitles.offered.clone()).collect();
    let added = Added { subtitles: &subtitles, sounds: &granted.offer.sounds };
    let text = if granted.offer.is_video_withdrawn {
        let text = app.packager.audio_only(&packaged, &base, added).await?;
        text.ok_or_else(ApiError::playback_failed)?
    } else {
        let max = granted.max_resolution;
        let text = app.packager.multivariant(&packaged, &base, max, wanted, added).await?;
        text.ok_or_else(|| {
            if wanted == Wanted::default() { ApiError::playback_failed() } else { wanted::none(wanted) }
        })?
    };
    // What is offered depends on more than the index: on what was asked for, on what is broken, on how busy the server is.
    let terms = granted.terms(&app, Caching::Short);
    Ok(send_changing_text(&app, &request, Bytes::from(text), PLAYLIST, terms).await)
}

/// Bytes as lower-case hex digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// `GET {stream}/{playbackId}/{indexId}/{rendition}/{file}`: `playlist.m3u8`, `init.mp4`, `{n}.m4s`; of subtitles `{n}.vtt`. Never changes.
pub(super) async fn child(
    State(app): State<DeliveryState>,
    Extension(address): Extension<ClientAddress>,
    PlainParts([playback, index, rendition, file]): PlainParts<4>,
    request: HeaderMap,
) -> Result<Response, ApiError> {
    answer_child(&app, address, [playback, index, rendition, file], None, &request).await
}

/// `GET {stream}/{playbackId}/{signed}/{indexId}/{rendition}/{file}`: the same of what not everybody may watch. The signature stands in front of the
/// folders, so that playlists list the same names.
pub(super) async fn signed_child(
    State(app): State<DeliveryState>,
    Extension(address): Extension<ClientAddress>,
    PlainParts([playback, signed, index, rendition, file]): PlainParts<5>,
    request: HeaderMap,
) -> Result<Response, ApiError> {
    answer_child(&app, address, [playback, index, rendition, file], Some(signed), &request).await
}

async fn answer_child(
    app: &DeliveryState,
    ClientAddress(address): ClientAddress,
    [playback, index, rendition, file]: [String; 4],
    signed: Option<String>,
    request: &HeaderMap,
) -> Result<Response, ApiError> {
    let viewing = Viewing::by_path(signed, request);
    let playback = PlaybackId::from_canonical(&playback).map_err(|_| ApiError::no_such_path())?;
    if let Some(name) = SubtitleName::from_text(&rendition) {
        let file = subtitles::File::from_text(&file).ok_or_else(ApiError::no_such_path)?;
        let granted = grant(app, playback, &viewing).await?;
        let packaged = app.packager.packaged(granted.offer.source).await?;
        if index != packaged.id().to_string() {
            return Err(ApiError::no_such_path());
        }
        return subtitles::child(app, request, &granted, &packaged, name, file).await;
    }
    let folder = format!("{index}/{rendition}");
    let added = SoundName::from_text(&rendition);
    let rendition = added.map(|name| name.rendition).or_else(|| Rendition::from_text(&rendition));
    let rendition = rendition.ok_or_else(ApiError::no_such_path)?;
    let file = File::from_text(&file).ok_or_else(ApiError::no_such_path)?;
    let granted = grant(app, playback, &viewing).await?;
    let mut packaged = app.packager.packaged(granted.offer.source).await?;
    if index != packaged.id().to_string() {
        return Err(ApiError::no_such_path()); // of a source that was replaced
    }
    // Of pictures and the sound beside them one is counted.
    let counts =
        granted.offer.is_video_withdrawn || packaged.index().video().is_none() || !rendition.is_audio();
    if let Some(SoundName { source, .. }) = added {
        if granted.offer.sounds.iter().all(|sound| sound.source != source) {
            return Err(ApiError::no_such_path()); // of a file that was replaced, or of another media
        }
        packaged = app.packager.packaged(source).await?;
    }
    if !is_offered(&packaged, rendition, &granted) {
        return Err(ApiError::no_such_path()); // never listed
    }
    let terms = granted.terms(app, Caching::Immutable);
    // What is encrypted has other bytes below every playback ID.
    let under = granted.offer.key.as_ref().map_or_else(String::new, |_| format!("-{playback}"));
    let etag = |name: &str| format!("\"{}-{rendition}-{name}{under}\"", packaged.id());
    // What the cache has let go is encoded anew, and may come out in other bytes: the same to who watches, nothing to go on with in the middle.
    let weak = if rendition.is_encoded() { WEAK } else { "" };
    let media_etag = |name: &str| format!("{weak}{}", etag(name));
    let path = |name: &str| format!("{folder}/{name}");
    let cipher = |name: &str| granted.offer.key.as_ref().map(|key| FileCipher::of(key, &path(name)));
    let asker = Asker { playback, address };
    let segment_type = if rendition.is_audio() { "audio/mp4" } else { "video/mp4" };
    match file {
        File::Playlist => {
            let text = match &granted.offer.key {
                None => packaged.playlist(rendition)?,
                Some(key) => {
                    let iv = |name: &str| key.iv(&path(name));
                    let encryption = FileEncryption { key_uri: content_key::URI, iv: &iv };
                    packaged.encrypted_playlist(rendition, encryption)?
                }
            };
            Ok(send_text(app, request, text, PLAYLIST, etag("playlist"), terms).await)
        }
        File::Init => {
            let init = match rendition {
                Rendition::Rung(name) => {
                    let rung = packaged.rung(name, granted.max_resolution)?;
                    if let Some(known) = known(request, &media_etag("init"), terms.keeping) {
                        return Ok(known); // before it is learnt
                    }
                    app.packager.encoded_init(&packaged, &rung).await?
                }
                _ => packaged.init(rendition)?,
            };
            let init = match cipher(INIT) {
                None => init,
                Some(cipher) => cipher.encrypt(&init),
            };
            Ok(send(request, init, segment_type, media_etag("init"), terms))
        }
        File::Segment(number) => {
            let etag = media_etag(&number.to_string());
            // Before it is made: what is encoded has the same tag, whoever makes it and whenever.
            let known_segment = || {
                let is_listed = packaged.is_listed(rendition, number);
                is_listed.then(|| known(request, &etag, terms.keeping)).flatten()
            };
            let segment = match rendition {
                Rendition::Rung(name) => {
                    let rung = packaged.rung(name, granted.max_resolution)?;
                    if let Some(known) = known_segment() {
                        return Ok(known);
                    }
                    app.packager.encoded_segment(&packaged, &rung, number, asker).await?
                }
                Rendition::Aac(audio) => {
                    if let Some(known) = known_segment() {
                        return Ok(known);
                    }
                    app.packager.encoded_audio_segment(&packaged, audio, number, asker).await?
                }
                _ => app.packager.segment(&packaged, rendition, number).await?,
            };
            let plays_us = if counts { packaged.plays_us(rendition, number) } else { 0 };
            let cipher = cipher(&format!("{number}.m4s"));
            let len = segment.total_len();
            let len = if cipher.is_some() { FileCipher::len_of(len) } else { len };
            let content = Content { content_type: segment_type, etag, terms, len, plays_us };
            Ok(content.answer(request, |range| match cipher {
                None => body(segment, range),
                Some(cipher) => encrypted_body(segment, cipher, range),
            }))
        }
    }
}

/// The bytes of a range, as they are read.
pub(super) fn body(segment: Segment, range: std::ops::Range<u64>) -> Body {
    match segment.whole() {
        Some(bytes) => Body::from(part(bytes, range)),
        None => Body::from_stream(segment.stream(range)),
    }
}

fn encrypted_body(segment: Segment, cipher: FileCipher, range: std::ops::Range<u64>) -> Body {
    let needed = FileCipher::needed(&range, segment.total_len());
    Body::from_stream(cipher.stream(segment.stream(needed), range))
}

/// Whether a manifest of this media may list it.
fn is_offered(packaged: &Packaged, rendition: Rendition, granted: &Granted) -> bool {
    match rendition {
        Rendition::Video | Rendition::IFrames => packaged.is_video_copied(granted.max_resolution),
        Rendition::Rung(name) => {
            !granted.offer.is_video_withdrawn && packaged.rung(name, granted.max_resolution).is_ok()
        }
        Rendition::Aac(number) => packaged.is_sound_encoded(number),
        Rendition::Audio(_) => true,
    }
}

/// The last part of a child's address.
#[derive(Debug, PartialEq, Eq)]
enum File {
    Playlist,
    Init,
    Segment(u32),
}

impl File {
    fn from_text(text: &str) -> Option<Self> {
        match text {
            "playlist.m3u8" => Some(Self::Playlist),
            INIT => Some(Self::Init),
            _ => {
                let number: u32 = text.strip_suffix(".m4s")?.parse().ok()?;
                // One address each: `+1.m4s` and `01.m4s` are none.
                (text == format!("{number}.m4s")).then_some(Self::Segment(number))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_has_one_name() {
        let check = |text, file| assert_eq!(File::from_text(text), file, "{text}");
        check("playlist.m3u8", Some(File::Playlist));
        check("init.mp4", Some(File::Init));
        check("0.m4s", Some(File::Segment(0)));
        check("4294967295.m4s", Some(File::Segment(u32::MAX)));
        for none in
            ["4294967296.m4s", "+1.m4s", "01.m4s", "-1.m4s", ".m4s", "1.mp4", "1", "Init.mp4", "../init.mp4"]
        {
            check(none, None);
        }
    }
}
