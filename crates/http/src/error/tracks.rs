//! What whoever adds tracks to a media is refused with.

use axum::http::StatusCode;
use kinora_domain::TrackRefused;

use super::ApiError;

impl ApiError {
    /// 400 for a name that is taken, in the contract's words (1.4), for a track of the media's own file, and for one too many; 404 for a track
    /// that the media does not have.
    pub(crate) fn track_refused(refused: TrackRefused) -> Self {
        match refused {
            TrackRefused::NameTaken => Self::described(
                StatusCode::BAD_REQUEST,
                "duplicate language name",
                "another track of this type has this languageName; choose another one, or update that track",
            ),
            TrackRefused::TooMany => Self::limit_reached(format!("{refused}; delete one that is not needed")),
            TrackRefused::OfSource => {
                Self::bad_request(format!("{refused}; only tracks that were added can be"))
            }
            TrackRefused::Unknown => Self::described(
                StatusCode::NOT_FOUND,
                "track not found",
                "this media has no track with this id",
            ),
        }
    }
}
