//! Files that a multivariant playlist lists: media playlists, init segments and segments. The latter two
//! are encrypted where the playback ID requires it.
//!
//! `{playbackId}/{indexId}/video/playlist.m3u8`, with `init.mp4` and `7.m4s` in the same folder. None of
//! them ever changes under its address.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use kinora_domain::{PlaybackId, PresentationId};
use kinora_hls::FileEncryption;
use kinora_packager::{
    AddedAudioName, Packaged, PlaybackClient, Rendition, Segment, SubtitleName, init_from_name, init_name,
};
use kinora_web::error::ApiError;
use kinora_web::extract::UnescapedPathParts;
use kinora_web::serve::ClientAddress;

use super::authorization::{Granted, grant};
use super::cipher::FileCipher;
use super::manifest::CONTENT_TYPE;
use super::playback_request::PlaybackRequest;
use super::response::{CacheLifetime, Content, ResponsePolicy, WEAK, not_modified, send, send_text, slice};
use super::{content_key, subtitles};
use crate::DeliveryState;
use crate::error;

/// `GET {stream}/{playbackId}/{indexId}/{rendition}/{file}`: `playlist.m3u8`, `init.mp4`, `{n}.m4s`; for
/// subtitles `{n}.vtt`.
pub(super) async fn rendition_file(
    State(app): State<DeliveryState>,
    Extension(address): Extension<ClientAddress>,
    UnescapedPathParts([playback, index, rendition, file]): UnescapedPathParts<4>,
    request: HeaderMap,
) -> Result<Response, ApiError> {
    answer(&app, address, [playback, index, rendition, file], None, &request).await
}

/// `GET {stream}/{playbackId}/{signed}/{indexId}/{rendition}/{file}`: the same for restricted content. The
/// signature precedes the folders, so that playlists list the same names.
pub(super) async fn signed_rendition_file(
    State(app): State<DeliveryState>,
    Extension(address): Extension<ClientAddress>,
    UnescapedPathParts([playback, signed, index, rendition, file]): UnescapedPathParts<5>,
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
    let playback_request = PlaybackRequest::by_path(signed, request);
    let playback = PlaybackId::from_canonical(&playback).map_err(|_| ApiError::no_such_path())?;
    if let Some(name) = SubtitleName::from_text(&rendition) {
        let file = subtitles::File::from_text(&file).ok_or_else(ApiError::no_such_path)?;
        let granted = grant(app, playback, &playback_request).await?;
        let packaged = packaged_of_index(app, &granted, &index).await?;
        return subtitles::child(app, request, &granted, &packaged, name, file).await;
    }
    let folder = format!("{index}/{rendition}");
    let added = AddedAudioName::from_text(&rendition);
    let rendition = added.map(|name| name.rendition).or_else(|| Rendition::from_text(&rendition));
    let rendition = rendition.ok_or_else(ApiError::no_such_path)?;
    let file = File::from_text(&file).ok_or_else(ApiError::no_such_path)?;
    let granted = grant(app, playback, &playback_request).await?;
    let mut packaged = packaged_of_index(app, &granted, &index).await?;
    // Video and its separate audio play at the same time: one of them counts.
    let is_metered =
        granted.media.is_video_withdrawn || packaged.index().video().is_none() || !rendition.is_audio();
    if let Some(AddedAudioName { source, .. }) = added {
        if granted.media.audio_tracks.iter().all(|track| track.source != source) {
            return Err(ApiError::no_such_path()); // of a replaced file, or of another media
        }
        packaged = app.packager.packaged(PresentationId::of(source)).await.map_err(error::from_packager)?;
    }
    if !is_available(&packaged, rendition, &granted) && !has_former_gain(app, &packaged, rendition).await? {
        return Err(ApiError::no_such_path()); // never listed
    }
    let policy = granted.response_policy(app, CacheLifetime::Immutable);
    let client = PlaybackClient { playback, address };
    let rendition_request =
        RenditionRequest { app, request, granted, packaged, rendition, path: folder, policy, is_metered };
    match file {
        File::Playlist => rendition_request.playlist(playback).await,
        File::Init(configuration) => rendition_request.init(playback, configuration).await,
        File::Segment(number) => rendition_request.segment(number, client).await,
    }
}

/// The index of a media. 404 where the address names the index of a replaced source.
async fn packaged_of_index(
    app: &DeliveryState,
    granted: &Granted,
    index: &str,
) -> Result<Arc<Packaged>, ApiError> {
    let packaged = app.packager.packaged(granted.media.presentation).await.map_err(error::from_packager)?;
    if index == packaged.id().to_string() { Ok(packaged) } else { Err(ApiError::no_such_path()) }
}

/// A rendition that a viewer may fetch, and the request for one of its files.
struct RenditionRequest<'a> {
    app: &'a DeliveryState,
    request: &'a HeaderMap,
    granted: Granted,
    packaged: Arc<Packaged>,
    rendition: Rendition,
    /// `{indexId}/{rendition}`.
    path: String,
    policy: ResponsePolicy,
    /// Whether its segments count as playing time.
    is_metered: bool,
}

impl RenditionRequest<'_> {
    async fn playlist(self, playback: PlaybackId) -> Result<Response, ApiError> {
        let text = match &self.granted.media.key {
            None => self.packaged.playlist(self.rendition).map_err(error::from_packager)?,
            Some(key) => {
                let iv = |name: &str| key.iv(&self.path_of(name));
                let encryption = FileEncryption { key_uri: content_key::URI, iv: &iv };
                self.packaged.encrypted_playlist(self.rendition, encryption).map_err(error::from_packager)?
            }
        };
        let etag = self.etag(playback, "playlist");
        Ok(send_text(self.app, self.request, text, CONTENT_TYPE, etag, self.policy).await)
    }

    async fn init(self, playback: PlaybackId, configuration: u8) -> Result<Response, ApiError> {
        let name = init_name(configuration);
        let etag = self.media_etag(playback, name.trim_end_matches(".mp4"));
        let init = match self.rendition {
            Rendition::Rung(_) if configuration != 0 => return Err(ApiError::no_such_path()),
            Rendition::Rung(name) => {
                let rung =
                    self.packaged.rung(name, self.granted.max_resolution).map_err(error::from_packager)?;
                if let Some(unchanged) = not_modified(self.request, &etag, self.policy.cache_policy) {
                    return Ok(unchanged); // before the encoder is asked for it
                }
                self.app.packager.encoded_init(&self.packaged, &rung).await.map_err(error::from_packager)?
            }
            _ => self.packaged.init(self.rendition, configuration).map_err(error::from_packager)?,
        };
        let init = match self.cipher(&name) {
            None => init,
            Some(cipher) => cipher.encrypt(&init),
        };
        Ok(send(self.request, init, self.content_type(), etag, self.policy))
    }

    async fn segment(self, number: u32, client: PlaybackClient) -> Result<Response, ApiError> {
        let (app, packaged, rendition) = (self.app, &self.packaged, self.rendition);
        let etag = self.media_etag(client.playback, &number.to_string());
        // Checked before encoding: the tag does not depend on the process or the time of the encoding.
        let unchanged_segment = || {
            let is_listed = packaged.is_listed(rendition, number);
            is_listed.then(|| not_modified(self.request, &etag, self.policy.cache_policy)).flatten()
        };
        let segment = match rendition {
            Rendition::Rung(name) => {
                let rung = packaged.rung(name, self.granted.max_resolution).map_err(error::from_packager)?;
                if let Some(unchanged) = unchanged_segment() {
                    return Ok(unchanged);
                }
                app.packager
                    .encoded_segment(packaged, &rung, number, client)
                    .await
                    .map_err(error::from_packager)?
            }
            Rendition::Aac(_) | Rendition::Levelled { .. } => {
                let audio = rendition.encoded_audio().ok_or_else(ApiError::no_such_path)?;
                if let Some(known) = unchanged_segment() {
                    return Ok(known);
                }
                app.packager
                    .encoded_audio_segment(packaged, audio, number, client)
                    .await
                    .map_err(error::from_packager)?
            }
            other => app.packager.segment(packaged, other, number).await.map_err(error::from_packager)?,
        };
        let playing_time_us =
            if self.is_metered { packaged.segment_duration_us(rendition, number) } else { 0 };
        let cipher = self.cipher(&format!("{number}.m4s"));
        let len = segment.total_len();
        let len = if cipher.is_some() { FileCipher::encrypted_len(len) } else { len };
        let content_type = self.content_type();
        let content = Content { content_type, etag, policy: self.policy, len, playing_time_us };
        Ok(content.answer(self.request, |range| match cipher {
            None => body(segment, range),
            Some(cipher) => encrypted_body(segment, cipher, range),
        }))
    }

    /// The entity tag of a file. Encrypted bytes differ between the playback IDs of a media.
    fn etag(&self, playback: PlaybackId, name: &str) -> String {
        let key_suffix = self.granted.media.key.as_ref().map_or_else(String::new, |_| format!("-{playback}"));
        format!("\"{}-{}-{name}{key_suffix}\"", self.packaged.id(), self.rendition)
    }

    /// The entity tag of media bytes, weak where they are encoded.
    ///
    /// Bytes that are encoded again after an eviction may differ. They look the same, but no range of one
    /// continues the other.
    fn media_etag(&self, playback: PlaybackId, name: &str) -> String {
        let weak = if self.rendition.is_encoded() { WEAK } else { "" };
        format!("{weak}{}", self.etag(playback, name))
    }

    fn path_of(&self, name: &str) -> String {
        format!("{}/{name}", self.path)
    }

    fn cipher(&self, name: &str) -> Option<FileCipher> {
        self.granted.media.key.as_ref().map(|key| FileCipher::of(key, &self.path_of(name)))
    }

    fn content_type(&self) -> &'static str {
        if self.rendition.is_audio() { "audio/mp4" } else { "video/mp4" }
    }
}

/// The bytes of a range, streamed as they are read.
pub(super) fn body(segment: Segment, range: std::ops::Range<u64>) -> Body {
    match segment.whole() {
        Some(bytes) => Body::from(slice(bytes, range)),
        None => Body::from_stream(segment.stream(range)),
    }
}

fn encrypted_body(segment: Segment, cipher: FileCipher, range: std::ops::Range<u64>) -> Body {
    let needed = FileCipher::clear_range(&range, segment.total_len());
    Body::from_stream(cipher.stream(segment.stream(needed), range))
}

/// Whether a manifest of this media may list the rendition.
fn is_available(packaged: &Packaged, rendition: Rendition, granted: &Granted) -> bool {
    match rendition {
        Rendition::Video | Rendition::IFrames => packaged.is_video_copied(granted.max_resolution),
        Rendition::Rung(name) => {
            !granted.media.is_video_withdrawn && packaged.rung(name, granted.max_resolution).is_ok()
        }
        Rendition::Aac(number) => packaged.is_audio_encoded(number),
        // Any other gain would be an encode that no manifest asked for.
        Rendition::Levelled { audio, gain } => {
            granted.media.measured_gains.get(usize::from(audio)) == Some(&Some(gain))
        }
        Rendition::Audio(_) => true,
    }
}

/// Whether the rendition has the gain of an earlier measurement: players that run keep it. Only renditions
/// that a manifest listed were encoded.
async fn has_former_gain(
    app: &DeliveryState,
    packaged: &Packaged,
    rendition: Rendition,
) -> Result<bool, ApiError> {
    let Rendition::Levelled { .. } = rendition else { return Ok(false) };
    app.packager.is_encode_begun(packaged, rendition).await.map_err(error::from_packager)
}

/// The last part of a child's address.
#[derive(Debug, PartialEq, Eq)]
enum File {
    Playlist,
    /// The init segment of a configuration, counted from 0.
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
                // Each segment has one address: `+1.m4s` and `01.m4s` do not exist.
                (text == format!("{number}.m4s")).then_some(Self::Segment(number))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_canonical_file_names_parse() {
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
