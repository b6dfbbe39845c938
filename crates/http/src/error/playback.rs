//! What whoever looks after playback IDs, and whoever watches through one, is refused with.

use axum::http::StatusCode;
use kinora_domain::{
    Mp4Refusal, PathRefusal, PlaybackRefusal, Resolution, TokenRefusal, TooManyPlaybackIds, error_chain,
};

use super::ApiError;

impl ApiError {
    /// 404: no such playback ID of a media in the caller's workspace.
    pub(crate) fn media_playback_not_found() -> Self {
        Self::described(
            StatusCode::NOT_FOUND,
            "Media/PlaybackId not Found",
            "there is no media with this id and this playback ID in the workspace of the access token",
        )
    }

    /// To a viewer: 401 where a token or a signed path does not hold, 403 where a rule keeps them out (contract decisions 12 and 13).
    pub(crate) fn playback_refused(refusal: PlaybackRefusal) -> Self {
        let forbidden = |description: &str| Self::described(StatusCode::FORBIDDEN, "forbidden", description);
        match refusal {
            PlaybackRefusal::Token(refusal) => Self::challenged(Self::PLAYBACK_TOKEN, token(refusal)),
            PlaybackRefusal::Path(refusal) => Self::challenged(Self::PLAYBACK_TOKEN, path(refusal)),
            PlaybackRefusal::Domain => forbidden(
                "this playback ID does not play on this page: its rule on domains does not let the host of Origin or Referer in",
            ),
            PlaybackRefusal::UserAgent => forbidden(
                "this playback ID does not play in this player: its rule on user agents does not let it in",
            ),
        }
    }

    /// 403 to a viewer: the file is larger than what the playback ID plays. `delivery/gate` counts it.
    pub(crate) fn above_playback_resolution(max: Resolution) -> Self {
        Self::described(
            StatusCode::FORBIDDEN,
            "forbidden",
            format!("this playback ID gives nothing larger than {}, and this file is", max.as_str()),
        )
    }

    /// 403 to a viewer: what cannot be encrypted is not given through a playback ID that encrypts.
    /// `delivery/gate` counts it.
    pub(crate) fn playback_encrypted() -> Self {
        Self::described(
            StatusCode::FORBIDDEN,
            "forbidden",
            "this playback ID gives its media encrypted, and this file is in clear; use another playback ID of the media, made without encryption",
        )
    }

    /// 409: another key of the workspace has the id.
    pub(crate) fn signing_key_taken() -> Self {
        Self::described(
            StatusCode::CONFLICT,
            "conflict",
            "another signing key has this id; choose another id, or delete that key first",
        )
    }

    /// 404 to a viewer: the original of the media is not open.
    pub(crate) fn source_not_open() -> Self {
        Self::described(
            StatusCode::NOT_FOUND,
            "not found",
            "the original of this media is not open; whoever owns the media opens it with sourceAccess",
        )
    }

    /// 400: files that cannot be wanted of a media.
    pub(crate) fn files_refused(refusal: Mp4Refusal) -> Self {
        let (message, remedy) = match refusal {
            // The contract's own (1.4).
            Mp4Refusal::Unchanged(_) => ("mp4Support value already exists", "send another value, or nothing"),
            Mp4Refusal::NoSound => ("bad request", "want capped_4k or none"),
            Mp4Refusal::NoPicture => ("bad request", "want audioOnly or none"),
        };
        Self::described(StatusCode::BAD_REQUEST, message, format!("{refusal}; {remedy}"))
    }

    /// 404 to a viewer: the media does not offer this file.
    pub(crate) fn file_not_offered() -> Self {
        Self::described(
            StatusCode::NOT_FOUND,
            "not found",
            "this media does not offer this file; whoever owns the media offers it with mp4Support",
        )
    }

    /// 404 to a viewer: the file is being made; it may be asked for again soon.
    pub(crate) fn file_not_ready() -> Self {
        let mut error = Self::described(
            StatusCode::NOT_FOUND,
            "file is not ready",
            "the file is being prepared; video.media.mp4Support.ready says when it can be fetched",
        );
        error.retry_after_s = Some(Self::PREPARING_RETRY_AFTER_S);
        error
    }

    /// 404 to a viewer: the source does not decode at this segment. The operator can do nothing about it, so
    /// the cause is logged at debug.
    pub(crate) fn segment_undecodable(cause: &dyn std::error::Error) -> Self {
        tracing::debug!(error = %error_chain(cause), "a segment cannot be made of its source");
        Self::described(
            StatusCode::NOT_FOUND,
            "not found",
            "this segment cannot be made: the file of the media does not decode here",
        )
    }

    /// 404 to whoever wants to embed an address: it is none of ours (oEmbed, 2.3.3).
    pub(crate) fn not_embeddable() -> Self {
        Self::described(
            StatusCode::NOT_FOUND,
            "not found",
            "this is not the address of a media here; url is that of its page, /embed/{playbackId}, or of its stream, /{playbackId}.m3u8",
        )
    }

    /// 501 to the same: there is one format (oEmbed, 2.3.3).
    pub(crate) fn oembed_format() -> Self {
        Self::described(
            StatusCode::NOT_IMPLEMENTED,
            "not implemented",
            "the only format is json; leave format out",
        )
    }

    /// 400: the media has as many playback IDs as it can have.
    pub(crate) fn too_many_playback_ids(error: TooManyPlaybackIds) -> Self {
        Self::limit_reached(format!("{error}; delete one that is not used any more"))
    }
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
