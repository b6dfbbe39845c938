//! What whoever looks after playlists, and whoever watches one, is refused with.

use axum::http::StatusCode;

use super::ApiError;

impl ApiError {
    /// 404: no such playlist in the caller's workspace. The message is the contract's (1.4).
    pub(crate) fn playlist_not_found() -> Self {
        Self::described(
            StatusCode::NOT_FOUND,
            "playlist not found",
            "there is no playlist with this id in the workspace of the access token",
        )
    }

    /// 404 to a player: no such playlist.
    pub(crate) fn no_such_playlist() -> Self {
        Self::described(StatusCode::NOT_FOUND, "playlist not found", "there is no playlist with this id")
    }

    /// 404 to a player: a playlist of which nothing plays.
    pub(crate) fn playlist_empty() -> Self {
        Self::described(
            StatusCode::NOT_FOUND,
            "playlist not found",
            "nothing in this playlist can be played: it has no ready media with a public playback ID without restrictions",
        )
    }

    /// 409: another playlist has the reference. The message is the contract's (1.4).
    pub(crate) fn playlist_reference_taken(reference: &str) -> Self {
        Self::described(
            StatusCode::CONFLICT,
            "playlist create failed",
            format!(
                "a playlist of this workspace has the referenceId {reference:?} already; choose another one"
            ),
        )
    }

    /// 400: the workspace has as many playlists as it may have.
    pub(crate) fn too_many_playlists(max: u64) -> Self {
        Self::limit_reached(format!(
            "a workspace has at most {max} playlists; delete one that nobody watches any more"
        ))
    }
}
