//! Files that a multivariant playlist leads to: media playlists, init segments and segments. The latter two
//! are encrypted where the playback ID says so.
//!
//! `{playbackId}/{indexId}/video/playlist.m3u8`, `init.mp4` and `7.m4s` beside it. None of them ever
//! changes under its address.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use kinora_domain::{PlaybackId, PresentationId};
use kinora_hls::FileEncryption;
use kinora_packager::{
    Asker, Packaged, Rendition, Segment, SoundName, SubtitleName, init_from_name, init_name,
};
use kinora_web::error::ApiError;
use kinora_web::extract::PlainParts;
use kinora_web::serve::ClientAddress;

use super::cipher::FileCipher;
use super::gate::{Granted, grant};
use super::manifest::PLAYLIST;
use super::send::{Caching, Content, Terms, WEAK, known, part, send, send_text};
use super::viewing::Viewing;
use super::{content_key, subtitles};
use crate::DeliveryState;
use crate::error;

/// `GET {stream}/{playbackId}/{indexId}/{rendition}/{file}`: `playlist.m3u8`, `init.mp4`, `{n}.m4s`; of
/// subtitles `{n}.vtt`.
pub(super) async fn child(
    State(app): State<DeliveryState>,
    Extension(address): Extension<ClientAddress>,
    PlainParts([playback, index, rendition, file]): PlainParts<4>,
    request: HeaderMap,
) -> Result<Response, ApiError> {
    answer(&app, address, [playback, index, rendition, file], None, &request).await
}

/// `GET {stream}/{playbackId}/{signed}/{indexId}/{rendition}/{file}`: the same where not everybody may
/// watch. The signature stands in front of the folders, so that playlists list the same names.
pub(super) async fn signed_child(
    State(app): State<DeliveryState>,
    Extension(address): Extension<ClientAddress>,
    PlainParts([playback, signed, index, rendition, file]): PlainParts<5>,
    request: HeaderMap,
) -> Result<Response, ApiError> {
    answer(&app, address, [playback, index, rendition, file], Some(signed), &request).await
}

async fn answer(
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
        let packaged = current(app, &granted, &index).await?;
        return subtitles::child(app, request, &granted, &packaged, name, file).await;
    }
    let folder = format!("{index}/{rendition}");
    let added = SoundName::from_text(&rendition);
    let rendition = added.map(|name| name.rendition).or_else(|| Rendition::from_text(&rendition));
    let rendition = rendition.ok_or_else(ApiError::no_such_path)?;
    let file = File::from_text(&file).ok_or_else(ApiError::no_such_path)?;
    let granted = grant(app, playback, &viewing).await?;
    let mut packaged = current(app, &granted, &index).await?;
    // Video and the audio beside it play at once: one of them counts.
    let counts =
        granted.offer.is_video_withdrawn || packaged.index().video().is_none() || !rendition.is_audio();
    if let Some(SoundName { source, .. }) = added {
        if granted.offer.sounds.iter().all(|sound| sound.source != source) {
            return Err(ApiError::no_such_path()); // of a replaced file, or of another media
        }
        packaged = app.packager.packaged(PresentationId::of(source)).await.map_err(error::from_packager)?;
    }
    if !is_offered(&packaged, rendition, &granted) {
        return Err(ApiError::no_such_path()); // never listed
    }
    let terms = granted.terms(app, Caching::Immutable);
    let asker = Asker { playback, address };
    let folder = Folder { app, request, granted, packaged, rendition, path: folder, terms, counts };
    match file {
        File::Playlist => folder.playlist(playback).await,
        File::Init(configuration) => folder.init(playback, configuration).await,
        File::Segment(number) => folder.segment(number, asker).await,
    }
}

/// The index of a media. 404 where the address names that of a source that was replaced.
async fn current(app: &DeliveryState, granted: &Granted, index: &str) -> Result<Arc<Packaged>, ApiError> {
    let packaged = app.packager.packaged(granted.offer.presentation).await.map_err(error::from_packager)?;
    if index == packaged.id().to_string() { Ok(packaged) } else { Err(ApiError::no_such_path()) }
}

/// A rendition that a viewer may fetch, and the request for one of its files.
struct Folder<'a> {
    app: &'a DeliveryState,
    request: &'a HeaderMap,
    granted: Granted,
    packaged: Arc<Packaged>,
    rendition: Rendition,
    /// `{indexId}/{rendition}`.
    path: String,
    terms: Terms,
    /// Whether its segments count as time played.
    counts: bool,
}

impl Folder<'_> {
    async fn playlist(self, playback: PlaybackId) -> Result<Response, ApiError> {
        let text = match &self.granted.offer.key {
            None => self.packaged.playlist(self.rendition).map_err(error::from_packager)?,
            Some(key) => {
                let iv = |name: &str| key.iv(&self.path_of(name));
                let encryption = FileEncryption { key_uri: content_key::URI, iv: &iv };
                self.packaged.encrypted_playlist(self.rendition, encryption).map_err(error::from_packager)?
            }
        };
        let etag = self.etag(playback, "playlist");
        Ok(send_text(self.app, self.request, text, PLAYLIST, etag, self.terms).await)
    }

    async fn init(self, playback: PlaybackId, configuration: u8) -> Result<Response, ApiError> {
        let name = init_name(configuration);
        let etag = self.media_etag(playback, name.trim_end_matches(".mp4"));
        let init = match self.rendition {
            Rendition::Rung(_) if configuration != 0 => return Err(ApiError::no_such_path()),
            Rendition::Rung(name) => {
                let rung =
                    self.packaged.rung(name, self.granted.max_resolution).map_err(error::from_packager)?;
                if let Some(known) = known(self.request, &etag, self.terms.keeping) {
                    return Ok(known); // before the encoder is asked for it
                }
                self.app.packager.encoded_init(&self.packaged, &rung).await.map_err(error::from_packager)?
            }
            _ => self.packaged.init(self.rendition, configuration).map_err(error::from_packager)?,
        };
        let init = match self.cipher(&name) {
            None => init,
            Some(cipher) => cipher.encrypt(&init),
        };
        Ok(send(self.request, init, self.content_type(), etag, self.terms))
    }

    async fn segment(self, number: u32, asker: Asker) -> Result<Response, ApiError> {
        let (app, packaged, rendition) = (self.app, &self.packaged, self.rendition);
        let etag = self.media_etag(asker.playback, &number.to_string());
        // Before it is encoded: the tag is the same, whichever process encodes it and when.
        let known_segment = || {
            let is_listed = packaged.is_listed(rendition, number);
            is_listed.then(|| known(self.request, &etag, self.terms.keeping)).flatten()
        };
        let segment = match rendition {
            Rendition::Rung(name) => {
                let rung = packaged.rung(name, self.granted.max_resolution).map_err(error::from_packager)?;
                if let Some(known) = known_segment() {
                    return Ok(known);
                }
                app.packager
                    .encoded_segment(packaged, &rung, number, asker)
                    .await
                    .map_err(error::from_packager)?
            }
            Rendition::Aac(audio) => {
                if let Some(known) = known_segment() {
                    return Ok(known);
                }
                app.packager
                    .encoded_audio_segment(packaged, audio, number, asker)
                    .await
                    .map_err(error::from_packager)?
            }
            other => app.packager.segment(packaged, other, number).await.map_err(error::from_packager)?,
        };
        let plays_us = if self.counts { packaged.plays_us(rendition, number) } else { 0 };
        let cipher = self.cipher(&format!("{number}.m4s"));
        let len = segment.total_len();
        let len = if cipher.is_some() { FileCipher::len_of(len) } else { len };
        let content_type = self.content_type();
        let content = Content { content_type, etag, terms: self.terms, len, plays_us };
        Ok(content.answer(self.request, |range| match cipher {
            None => body(segment, range),
            Some(cipher) => encrypted_body(segment, cipher, range),
        }))
    }

    /// Encrypted bytes differ between the playback IDs of a media.
    fn etag(&self, playback: PlaybackId, name: &str) -> String {
        let under = self.granted.offer.key.as_ref().map_or_else(String::new, |_| format!("-{playback}"));
        format!("\"{}-{}-{name}{under}\"", self.packaged.id(), self.rendition)
    }

    /// Weak where bytes are encoded: encoded again after an eviction they may differ. They look the same,
    /// and no range continues another.
    fn media_etag(&self, playback: PlaybackId, name: &str) -> String {
        let weak = if self.rendition.is_encoded() { WEAK } else { "" };
        format!("{weak}{}", self.etag(playback, name))
    }

    fn path_of(&self, name: &str) -> String {
        format!("{}/{name}", self.path)
    }

    fn cipher(&self, name: &str) -> Option<FileCipher> {
        self.granted.offer.key.as_ref().map(|key| FileCipher::of(key, &self.path_of(name)))
    }

    fn content_type(&self) -> &'static str {
        if self.rendition.is_audio() { "audio/mp4" } else { "video/mp4" }
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
    /// Of a configuration, counted from 0.
    Init(u8),
    Segment(u32),
}

impl File {
    fn from_text(text: &str) -> Option<Self> {
        match text {
            "playlist.m3u8" => Some(Self::Playlist),
            _ if text.ends_with(".mp4") => init_from_name(text).map(Self::Init),
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
        check("init.mp4", Some(File::Init(0)));
        check("init-1.mp4", Some(File::Init(1)));
        check("init-255.mp4", Some(File::Init(255)));
        check("0.m4s", Some(File::Segment(0)));
        check("4294967295.m4s", Some(File::Segment(u32::MAX)));
        let wrong = ["4294967296.m4s", "+1.m4s", "01.m4s", "-1.m4s", ".m4s", "1.mp4", "1", "Init.mp4"];
        let wrong_init =
            ["init-0.mp4", "init-01.mp4", "init-256.mp4", "init-.mp4", "init--1.mp4", "init-1.m4s"];
        for none in wrong.into_iter().chain(wrong_init).chain(["../init.mp4"]) {
            check(none, None);
        }
    }
}
