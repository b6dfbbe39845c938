//! What whoever looks after playback IDs, and whoever watches through one, is refused with.

use axum::http::StatusCode;
use kinora_domain::TooManyPlaybackIds;

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

    /// 400: the media has as many playback IDs as it can have.
    pub(crate) fn too_many_playback_ids(error: TooManyPlaybackIds) -> Self {
        Self::bad_request(format!("{error}; delete one that is not used any more"))
    }
}
