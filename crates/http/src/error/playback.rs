//! What whoever looks after playback IDs, and whoever watches through one, is refused with.

use axum::http::StatusCode;
use kinora_domain::{Mp4Refusal, TooManyPlaybackIds};

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

    /// 403 to a player: the playback ID has rules that could refuse or limit somebody, and nothing enforces them (decision 0067).
    pub(crate) fn playback_limited() -> Self {
        Self::described(
            StatusCode::FORBIDDEN,
            "forbidden",
            "this playback ID is restricted, and plays for nobody until the server enforces its restrictions",
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

    /// 400: the media has as many playback IDs as it can have.
    pub(crate) fn too_many_playback_ids(error: TooManyPlaybackIds) -> Self {
        Self::limit_reached(format!("{error}; delete one that is not used any more"))
    }
}
