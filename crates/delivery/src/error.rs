//! Errors of delivery alone; [`ApiError`] has those of several crates (C-109, C-178).

use axum::http::StatusCode;
use kinora_domain::{PathRefusal, PlaybackRefusal, Resolution, TokenRefusal, error_chain};
use kinora_packager::Error;
use kinora_web::error::ApiError;

/// How to answer a 401. Browsers know no dialogue for it: a page that plays must not ask its viewer for a
/// password.
const PLAYBACK_TOKEN: &str = "Bearer realm=\"playback\"";
/// Seconds a client should wait while a file is being made, which takes about as long as the media at best.
const PREPARING_RETRY_AFTER_S: u32 = 10;

/// Converts an error of the packager.
pub(crate) fn from_packager(error: Error) -> ApiError {
    match error.root() {
        _ if error.is_full() => ApiError::full(),
        Error::NotInPlan => ApiError::no_such_path(),
        Error::NoPicture => {
            ApiError::described(StatusCode::NOT_FOUND, "not found", "this media has no picture")
        }
        Error::TooMuch => ApiError::invalid_field(
            "end",
            "this clip takes too much to be made: ask for a shorter one, or a narrower one with fewer frames",
        ),
        Error::NoEncoder(encoder) => ApiError::described(
            StatusCode::NOT_FOUND,
            "not found",
            format!("not supported by this server: its ffmpeg has no {encoder}"),
        ),
        Error::NoFile => {
            ApiError::described(StatusCode::NOT_FOUND, "not found", "this file cannot be made of the media")
        }
        _ if error.is_of_file() => segment_undecodable(&error),
        Error::NotYet => file_not_ready(),
        Error::Busy => ApiError::busy(),
        // Deleted a moment ago, perhaps by another process, after the viewer was let in.
        Error::Gone => ApiError::playback_not_found(),
        Error::Unavailable(_) | Error::EngineAway(_) => ApiError::away(&error),
        _ => ApiError::internal(&error),
    }
}

/// 400 to a player: it may try again soon. The web player looks for "ready" in the message (C-178).
pub(crate) fn not_ready() -> ApiError {
    ApiError::described(
        StatusCode::BAD_REQUEST,
        "media is not ready",
        "the media is still being prepared; try again in a moment",
    )
}

/// 404: the media will never play.
pub(crate) fn playback_failed() -> ApiError {
    ApiError::described(
        StatusCode::NOT_FOUND,
        "Media/PlaybackId not Found",
        "this media failed and cannot be played",
    )
}

/// 416: no such bytes.
pub(crate) fn range_not_satisfiable() -> ApiError {
    ApiError::described(
        StatusCode::RANGE_NOT_SATISFIABLE,
        "range not satisfiable",
        "the range lies outside the file",
    )
}

/// 404 to a player: no such playlist.
pub(crate) fn no_such_playlist() -> ApiError {
    ApiError::described(StatusCode::NOT_FOUND, "playlist not found", "there is no playlist with this id")
}

/// 404 to a player: a playlist of which nothing plays.
pub(crate) fn playlist_empty() -> ApiError {
    ApiError::described(
        StatusCode::NOT_FOUND,
        "playlist not found",
        "nothing in this playlist can be played: it has no ready media with a public playback ID without restrictions",
    )
}

/// To a viewer: 401 where a token or a signed path does not hold, 403 where a rule keeps them out
/// (C-12, C-13).
pub(crate) fn playback_refused(refusal: PlaybackRefusal) -> ApiError {
    let forbidden = |description: &str| ApiError::described(StatusCode::FORBIDDEN, "forbidden", description);
    match refusal {
        PlaybackRefusal::Token(refusal) => ApiError::challenged(PLAYBACK_TOKEN, token(refusal)),
        PlaybackRefusal::Path(refusal) => ApiError::challenged(PLAYBACK_TOKEN, path(refusal)),
        PlaybackRefusal::Domain => forbidden(
            "this playback ID does not play on this page: its rule on domains does not let the host of Origin or Referer in",
        ),
        PlaybackRefusal::UserAgent => forbidden(
            "this playback ID does not play in this player: its rule on user agents does not let it in",
        ),
    }
}

/// 403 to a viewer: the file is larger than what the playback ID plays. `gate/` counts it.
pub(crate) fn above_playback_resolution(max: Resolution) -> ApiError {
    ApiError::described(
        StatusCode::FORBIDDEN,
        "forbidden",
        format!("this playback ID gives nothing larger than {}, and this file is", max.as_str()),
    )
}

/// 403 to a viewer: what cannot be encrypted is not given through a playback ID that encrypts.
/// `gate/` counts it.
pub(crate) fn playback_encrypted() -> ApiError {
    ApiError::described(
        StatusCode::FORBIDDEN,
        "forbidden",
        "this playback ID gives its media encrypted, and this file is in clear; use another playback ID of the media, made without encryption",
    )
}

/// 404 to a viewer: the original of the media is not open.
pub(crate) fn source_not_open() -> ApiError {
    ApiError::described(
        StatusCode::NOT_FOUND,
        "not found",
        "the original of this media is not open; whoever owns the media opens it with sourceAccess",
    )
}

/// 404 to a viewer: the media does not offer this file.
pub(crate) fn file_not_offered() -> ApiError {
    ApiError::described(
        StatusCode::NOT_FOUND,
        "not found",
        "this media does not offer this file; whoever owns the media offers it with mp4Support",
    )
}

/// 404 to a viewer: the file is being made; it may be asked for again soon.
pub(crate) fn file_not_ready() -> ApiError {
    let error = ApiError::described(
        StatusCode::NOT_FOUND,
        "file is not ready",
        "the file is being prepared; video.media.mp4Support.ready says when it can be fetched",
    );
    error.retry_after(PREPARING_RETRY_AFTER_S)
}

/// 404 to a viewer: the source does not decode at this segment. The operator can do nothing about it, so
/// the cause is logged at debug.
pub(crate) fn segment_undecodable(cause: &dyn std::error::Error) -> ApiError {
    tracing::debug!(error = %error_chain(cause), "a segment cannot be made of its source");
    ApiError::described(
        StatusCode::NOT_FOUND,
        "not found",
        "this segment cannot be made: the file of the media does not decode here",
    )
}

/// 404 to whoever wants to embed an address: it is none of ours (oEmbed, 2.3.3).
pub(crate) fn not_embeddable() -> ApiError {
    ApiError::described(
        StatusCode::NOT_FOUND,
        "not found",
        "this is not the address of a media here; url is that of its page, /embed/{playbackId}, or of its stream, /{playbackId}.m3u8",
    )
}

/// 501 to the same: there is one format (oEmbed, 2.3.3).
pub(crate) fn oembed_format() -> ApiError {
    ApiError::described(
        StatusCode::NOT_IMPLEMENTED,
        "not implemented",
        "the only format is json; leave format out",
    )
}

fn token(refusal: TokenRefusal) -> &'static str {
    match refusal {
        TokenRefusal::Missing => {
            "this playback ID is private; add ?token= with a playback token that a signing key of its workspace signed"
        }
        TokenRefusal::TooLong => "the playback token is longer than 8 KiB",
        TokenRefusal::Malformed => {
            "the playback token is no JWT that is signed with RS256, ES256 or EdDSA, or came twice"
        }
        TokenRefusal::BadHeader => {
            "the header of the playback token has the wrong form: alg is RS256, ES256 or EdDSA, kid a text, and crit is not known here"
        }
        TokenRefusal::BadClaim => {
            "a claim of the playback token has the wrong form: exp and nbf are numbers of seconds, aud is a text or a list of texts, jti a text of 1 to 255 characters, none of them a control character, and kid a text"
        }
        TokenRefusal::UnknownKey => {
            "the kid of the playback token names no signing key of the playback ID's workspace"
        }
        TokenRefusal::WrongAlgorithm => {
            "the playback token is not signed with the algorithm of its signing key"
        }
        TokenRefusal::BadSignature => "the signature of the playback token is not that of its signing key",
        TokenRefusal::WrongAudience => {
            "the playback token is for something else; its aud must be media: and this playback ID"
        }
        TokenRefusal::NoExpiry => "the playback token has no exp",
        TokenRefusal::Expired => "the playback token has expired",
        TokenRefusal::NotYetValid => "the playback token is not valid yet; its nbf is ahead",
        TokenRefusal::Revoked => "the playback token was revoked",
    }
}

fn path(refusal: PathRefusal) -> &'static str {
    match refusal {
        PathRefusal::Missing => {
            "this playback ID is private or restricted; the addresses that its manifest lists are signed"
        }
        PathRefusal::Forged => "the signature in this address is not ours; fetch the manifest again",
        PathRefusal::Expired => "this address has expired; fetch the manifest again",
        PathRefusal::Future => {
            "this address was made while the clock of the server was ahead; fetch the manifest again"
        }
        PathRefusal::Old => "this address was taken back; fetch the manifest again",
        PathRefusal::KeyGone => {
            "the signing key that this address was given for is gone; fetch the manifest with another token"
        }
    }
}
