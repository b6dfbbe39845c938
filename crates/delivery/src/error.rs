//! Errors of delivery alone; [`ApiError`] has those of several crates (C-109, C-178).

use axum::http::StatusCode;
use kinora_domain::{PassError, PathError, PlaybackDenied, Resolution, TokenError, error_chain};
use kinora_packager::Error;
use kinora_web::error::ApiError;

/// The challenge of a 401. Browsers have no dialogue for this scheme: a player page must not request a
/// password from its viewer.
const PLAYBACK_TOKEN: &str = "Bearer realm=\"playback\"";
/// Seconds until a client should retry while a file is being made. Making it takes at least about the
/// duration of the media.
const PREPARING_RETRY_AFTER_S: u32 = 10;

/// Converts an error of the packager.
pub(crate) fn from_packager(error: Error) -> ApiError {
    match error.root() {
        _ if error.is_disk_full() => ApiError::disk_full(),
        Error::NotListed => ApiError::no_such_path(),
        Error::NoImage => ApiError::described(StatusCode::NOT_FOUND, "not found", "this media has no video"),
        Error::LimitExceeded => ApiError::invalid_field(
            "end",
            "must be nearer to start: the clip is too large; request a shorter or narrower one, or fewer frames per second",
        ),
        Error::NoEncoder(encoder) => ApiError::described(
            StatusCode::NOT_FOUND,
            "not found",
            format!("not supported by this server: its ffmpeg has no {encoder}"),
        ),
        Error::NotPossible => ApiError::described(
            StatusCode::NOT_FOUND,
            "not found",
            "this file cannot be created from the media",
        ),
        _ if error.is_source_fault() => segment_undecodable(&error),
        Error::Pending => file_not_ready(),
        Error::Busy => ApiError::busy(),
        // Deleted after the viewer was admitted, perhaps by another process.
        Error::Gone => ApiError::playback_not_found(),
        Error::Unavailable(_) | Error::EngineUnavailable(_) => ApiError::unavailable(&error),
        _ => ApiError::internal(&error),
    }
}

/// 400 to a player: it may retry soon. The web player searches for "ready" in the message (C-178).
pub(crate) fn not_ready() -> ApiError {
    ApiError::described(
        StatusCode::BAD_REQUEST,
        "media is not ready",
        "the media is still being prepared; retry in a few seconds",
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

/// 404 to a person: the media has no still image.
pub(crate) fn no_image(description: &'static str) -> ApiError {
    ApiError::described(StatusCode::NOT_FOUND, "not found", description)
}

/// 416: the range is outside the file.
pub(crate) fn range_not_satisfiable() -> ApiError {
    ApiError::described(
        StatusCode::RANGE_NOT_SATISFIABLE,
        "range not satisfiable",
        "the range lies outside the file",
    )
}

/// 404 to a player: no such playlist.
pub(crate) fn playlist_not_found() -> ApiError {
    ApiError::described(StatusCode::NOT_FOUND, "playlist not found", "there is no playlist with this id")
}

/// 404 to a player: nothing in the playlist is playable.
pub(crate) fn playlist_empty() -> ApiError {
    ApiError::described(
        StatusCode::NOT_FOUND,
        "playlist not found",
        "this playlist has no ready media with a public playback ID without restrictions",
    )
}

/// To a viewer: 401 where a token, a pass or a signed path is not valid, 403 where a rule forbids access
/// (C-12, C-13).
pub(crate) fn playback_denied(rejection: PlaybackDenied) -> ApiError {
    let forbidden = |description: &str| ApiError::described(StatusCode::FORBIDDEN, "forbidden", description);
    match rejection {
        PlaybackDenied::Token(refusal) => ApiError::unauthorized_with(PLAYBACK_TOKEN, token(refusal)),
        PlaybackDenied::Pass(refusal) => ApiError::unauthorized_with(PLAYBACK_TOKEN, pass(refusal)),
        PlaybackDenied::Path(refusal) => ApiError::unauthorized_with(PLAYBACK_TOKEN, path(refusal)),
        PlaybackDenied::Domain => {
            forbidden("the domain rules of this playback ID deny the host in Origin or Referer")
        }
        PlaybackDenied::UserAgent => forbidden("the user agent rules of this playback ID deny this player"),
    }
}

/// 403 to a viewer: the file exceeds the resolution of the playback ID. `authorization/` counts it.
pub(crate) fn above_playback_resolution(max: Resolution) -> ApiError {
    ApiError::described(
        StatusCode::FORBIDDEN,
        "forbidden",
        format!("this playback ID plays at most {}, and this file is larger", max.as_str()),
    )
}

/// 403 to a viewer: the playback ID encrypts, and this content cannot be encrypted. `authorization/` counts
/// it.
pub(crate) fn playback_encrypted() -> ApiError {
    ApiError::described(
        StatusCode::FORBIDDEN,
        "forbidden",
        "this playback ID serves only encrypted media, and this file is not encrypted; use a playback ID without encryption",
    )
}

/// 404 to a viewer: the original of the media is not open for download.
pub(crate) fn source_access_disabled() -> ApiError {
    ApiError::described(
        StatusCode::NOT_FOUND,
        "not found",
        "the source of this media cannot be downloaded; its owner can allow it with sourceAccess",
    )
}

/// 404 to a viewer: the media does not offer this file.
pub(crate) fn file_not_enabled() -> ApiError {
    ApiError::described(
        StatusCode::NOT_FOUND,
        "not found",
        "this media does not offer this file; its owner can enable it with mp4Support",
    )
}

/// 404 to a viewer: the file is being made; a retry may succeed soon.
pub(crate) fn file_not_ready() -> ApiError {
    let error = ApiError::described(
        StatusCode::NOT_FOUND,
        "file is not ready",
        "the file is being prepared; wait for video.media.mp4Support.ready, then retry",
    );
    error.with_retry_after(PREPARING_RETRY_AFTER_S)
}

/// 404 to a viewer: the source does not decode at this segment. The operator can do nothing about it, so
/// the cause is logged at debug.
pub(crate) fn segment_undecodable(cause: &dyn std::error::Error) -> ApiError {
    tracing::debug!(error = %error_chain(cause), "a segment cannot be created: its source does not decode");
    ApiError::described(
        StatusCode::NOT_FOUND,
        "not found",
        "this segment cannot be created: the source does not decode here",
    )
}

/// 404 to an oEmbed consumer: the address is not one of this server (oEmbed, 2.3.3).
pub(crate) fn not_embeddable() -> ApiError {
    ApiError::described(
        StatusCode::NOT_FOUND,
        "not found",
        "url is not a media of this server; send the URL of its page, /embed/{playbackId}, or of its stream, /{playbackId}.m3u8",
    )
}

/// 501 to an oEmbed consumer: there is only one format (oEmbed, 2.3.3).
pub(crate) fn oembed_format() -> ApiError {
    ApiError::described(StatusCode::NOT_IMPLEMENTED, "not implemented", "format must be json; leave it out")
}

fn token(rejection: TokenError) -> &'static str {
    match rejection {
        TokenError::Missing => {
            "this playback ID is private; add ?token= with a playback token signed by a signing key of its workspace"
        }
        TokenError::TooLong => "the playback token must have at most 8 KiB",
        TokenError::Malformed | TokenError::Repeated => {
            "the playback token must be one JWT signed with RS256, ES256 or EdDSA"
        }
        TokenError::BadHeader => {
            "the header of the playback token is invalid: alg must be RS256, ES256 or EdDSA, kid a string, and crit is not supported"
        }
        TokenError::BadClaim => {
            "a claim of the playback token is invalid: exp and nbf are numbers of seconds, aud is a string or a list of strings, kid is a string, and jti is a string of 1 to 255 characters without control characters"
        }
        TokenError::UnknownKey => {
            "the kid of the playback token is not a signing key of the playback ID's workspace"
        }
        TokenError::WrongAlgorithm => "the alg of the playback token does not match its signing key",
        TokenError::BadSignature => "the signature of the playback token does not match its signing key",
        TokenError::WrongAudience => {
            "the aud of the playback token must be media: followed by this playback ID"
        }
        TokenError::NoExpiry => "the playback token must have an exp claim",
        TokenError::Expired => "the playback token has expired; sign a new one",
        TokenError::NotYetValid => "the playback token is not valid yet: its nbf is in the future",
        TokenError::Revoked => "the playback token was revoked; sign a new one",
    }
}

fn pass(rejection: PassError) -> &'static str {
    match rejection {
        PassError::Forged => {
            "this pass is not valid for this playback ID; open the media in the dashboard again"
        }
        PassError::Expired => "this pass has expired; open the media in the dashboard again",
        PassError::Revoked => "this pass was revoked; open the media in the dashboard again",
        PassError::NotYetValid => {
            "this pass was signed in the future of the server clock; open the media in the dashboard again"
        }
    }
}

fn path(rejection: PathError) -> &'static str {
    match rejection {
        PathError::Missing => {
            "this playback ID is private or restricted; use the signed URLs in its manifest"
        }
        PathError::Forged => "the signature of this URL is invalid; fetch the manifest again",
        PathError::Expired => "this URL has expired; fetch the manifest again",
        PathError::NotYetValid => {
            "this URL was signed in the future of the server clock; fetch the manifest again"
        }
        PathError::Revoked => "this URL was revoked; fetch the manifest again",
        PathError::KeyDeleted => {
            "the signing key for this URL was deleted; fetch the manifest with another token"
        }
    }
}
