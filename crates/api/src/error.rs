//! Errors of the API alone; [`ApiError`] has those of several crates (C-109, C-111).
//!
//! Begin with [`from_operation`].

use axum::http::StatusCode;
use kinora_domain::{Mp4Rejected, Playlist, SigningKey, TooManyPlaybackIds, TrackRejected};
use kinora_intake::IntakeError;
use kinora_service::Error as OperationError;
use kinora_web::error::ApiError;

/// Converts the error of an operation that changed nothing.
pub(crate) fn from_operation(error: OperationError) -> ApiError {
    match error {
        OperationError::Store(error) => error.into(),
        OperationError::ConditionFailed => ApiError::precondition_failed(),
        OperationError::MediaNotFound => media_not_found(),
        OperationError::MediaPlaybackIdNotFound => media_playback_not_found(),
        OperationError::PlaybackIdNotFound => ApiError::playback_not_found(),
        OperationError::TooManyPlaybackIds(error) => too_many_playback_ids(error),
        OperationError::Mp4Rejected(rejection) => mp4_rejected(rejection),
        OperationError::TrackRejected(refused) => track_rejected(refused),
        OperationError::PlaylistNotFound => playlist_not_found(),
        OperationError::PlaylistReferenceTaken(reference) => playlist_reference_taken(&reference),
        OperationError::TooManyPlaylists => too_many_playlists(Playlist::PER_WORKSPACE_MAX),
        OperationError::SigningKeyNotFound => signing_key_not_found(),
        OperationError::SigningKeyTaken => signing_key_taken(),
        OperationError::TooManySigningKeys => too_many_signing_keys(SigningKey::PER_WORKSPACE_MAX),
        // The parser of the body has checked these, field by field.
        error @ (OperationError::SourceUrl(_) | OperationError::TitleTooLong) => ApiError::internal(&error),
        // The operations on the media of a playlist convert these: they name fields of the body.
        error @ (OperationError::PlaylistRejected(_) | OperationError::MediaNotReady(_)) => {
            ApiError::internal(&error)
        }
        OperationError::OriginSourceClosed => origin_source_closed(),
        // The creation of a media converts these: they name fields of the body.
        error @ (OperationError::OriginNotFound | OperationError::ClipRejected(_)) => {
            ApiError::internal(&error)
        }
        // The workspace was deleted since the caller was authenticated.
        OperationError::WorkspaceNotFound => ApiError::workspace_not_found(),
        OperationError::AccessTokenNotFound => ApiError::unauthorized(),
        // Errors of operations that the API does not have.
        error @ (OperationError::WebhookNotFound
        | OperationError::WebhookUrl(_)
        | OperationError::InvalidWorkspaceName(_)
        | OperationError::WorkspaceNameTaken
        | OperationError::WorkspaceNotEmpty(_)
        | OperationError::LastWorkspace
        | OperationError::InvalidTokenName(_)
        | OperationError::InvalidOrganisationName(_)
        | OperationError::InvitationNotFound
        | OperationError::NoOrganisation
        | OperationError::NotAllowed { .. }
        | OperationError::PersonNotFound
        | OperationError::PersonDisabled
        | OperationError::EmailTaken
        | OperationError::InvalidName(_)
        | OperationError::NameRequired
        | OperationError::LastAdministrator
        | OperationError::LinkNotFound
        | OperationError::LinkUsed(_)
        | OperationError::LinkEnded(_)
        | OperationError::SessionNotFound
        | OperationError::SignInOutdated) => ApiError::internal(&error),
    }
}

/// 404: no such media in the caller's workspace.
pub(crate) fn media_not_found() -> ApiError {
    ApiError::described(
        StatusCode::NOT_FOUND,
        "media workspace relation not found",
        "there is no media with this id in the workspace of the access token",
    )
}

/// 422: a clip gives access to the source of its media only where that media does (C-198).
pub(crate) fn origin_source_closed() -> ApiError {
    ApiError::invalid_field(
        "sourceAccess",
        "must be false: the source of the media that this clip is cut from is not downloadable",
    )
}

/// 404: the file of a media has not been read, or could not be.
pub(crate) fn input_info_not_found() -> ApiError {
    ApiError::described(
        StatusCode::NOT_FOUND,
        "input info not found",
        "the source of this media is not known yet; retry once the media is Ready",
    )
}

/// 404: no such DRM configuration. The message is the contract's (C-111).
pub(crate) fn drm_configuration_not_found() -> ApiError {
    ApiError::described(
        StatusCode::NOT_FOUND,
        "media workspace relation not found",
        "there is no DRM configuration with this id; this server has no licence service",
    )
}

/// 404: no such playback ID of a media in the caller's workspace.
pub(crate) fn media_playback_not_found() -> ApiError {
    ApiError::described(
        StatusCode::NOT_FOUND,
        "Media/PlaybackId not Found",
        "there is no media with this id and this playback ID in the workspace of the access token",
    )
}

/// 400: the media has reached the limit of playback IDs.
pub(crate) fn too_many_playback_ids(error: TooManyPlaybackIds) -> ApiError {
    ApiError::limit_reached(format!("{error}; delete one that is no longer used"))
}

/// 400: a value of `mp4Support` that is already set, or that a media without the track cannot satisfy.
pub(crate) fn mp4_rejected(rejection: Mp4Rejected) -> ApiError {
    let (message, remedy) = match rejection {
        // The message is the contract's (C-111).
        Mp4Rejected::Unchanged(_) => {
            ("mp4Support value already exists", "send another mp4Support value, or leave it out")
        }
        Mp4Rejected::NoAudio => ("bad request", "set mp4Support to capped_4k or none"),
        Mp4Rejected::NoVideo => ("bad request", "set mp4Support to audioOnly or none"),
    };
    ApiError::described(StatusCode::BAD_REQUEST, message, format!("{rejection}; {remedy}"))
}

/// 400 for a name that is taken, with the contract's message (C-111), for a track of the media's own file,
/// and above the limit of tracks; 404 for a track that the media does not have.
pub(crate) fn track_rejected(rejection: TrackRejected) -> ApiError {
    match rejection {
        TrackRejected::NameTaken => ApiError::described(
            StatusCode::BAD_REQUEST,
            "duplicate language name",
            "another track of this type has this languageName; choose another name, or update that track",
        ),
        TrackRejected::TooMany => {
            ApiError::limit_reached(format!("{rejection}; delete one that is no longer used"))
        }
        TrackRejected::PartOfSource => {
            ApiError::bad_request(format!("{rejection}; only added tracks can be changed"))
        }
        TrackRejected::Unknown => ApiError::described(
            StatusCode::NOT_FOUND,
            "track not found",
            "this media has no track with this id",
        ),
    }
}

/// 404: no such playlist in the caller's workspace. The message is the contract's (C-111).
pub(crate) fn playlist_not_found() -> ApiError {
    ApiError::described(
        StatusCode::NOT_FOUND,
        "playlist not found",
        "there is no playlist with this id in the workspace of the access token",
    )
}

/// 409: another playlist has the reference. The message is the contract's (C-111).
pub(crate) fn playlist_reference_taken(reference: &str) -> ApiError {
    ApiError::described(
        StatusCode::CONFLICT,
        "playlist create failed",
        format!("a playlist of this workspace has the referenceId {reference:?} already; choose another one"),
    )
}

/// 400: the workspace has reached the limit of playlists.
pub(crate) fn too_many_playlists(max: u64) -> ApiError {
    ApiError::limit_reached(format!(
        "a workspace has at most {max} playlists; delete one that is no longer used"
    ))
}

/// 404: no such upload in the caller's workspace. The message is the contract's (C-111).
pub(crate) fn upload_not_found() -> ApiError {
    ApiError::described(
        StatusCode::NOT_FOUND,
        "media workspace relation not found",
        "there is no upload with this id in the workspace of the access token",
    )
}

/// A cancellation that failed for another reason than the state of its upload.
pub(crate) fn cancellation_failed(error: IntakeError) -> ApiError {
    match error {
        IntakeError::DiskFull { .. } => ApiError::upload_disk_full(),
        IntakeError::Busy => ApiError::busy(),
        IntakeError::Unavailable(cause) => ApiError::unavailable(&*cause),
        IntakeError::Internal(cause) => ApiError::internal(&*cause),
        other => ApiError::internal(&other),
    }
}

/// 404: no such signing key in the caller's workspace.
pub(crate) fn signing_key_not_found() -> ApiError {
    ApiError::described(
        StatusCode::NOT_FOUND,
        "signing key not found",
        "there is no signing key with this id in the workspace of the access token",
    )
}

/// 409: another key of the workspace has the id.
pub(crate) fn signing_key_taken() -> ApiError {
    ApiError::described(
        StatusCode::CONFLICT,
        "conflict",
        "another signing key has this id; choose another id, or delete that key first",
    )
}

/// 400: the workspace has reached the limit of signing keys.
pub(crate) fn too_many_signing_keys(max: u64) -> ApiError {
    ApiError::limit_reached(format!(
        "a workspace has at most {max} signing keys; delete one that is no longer used"
    ))
}

/// 404: an operation of the contract that is not implemented (C-37). `docs/unsupported.md` lists them.
pub(crate) fn not_supported(feature: &str) -> ApiError {
    ApiError::described(
        StatusCode::NOT_FOUND,
        "not supported by this server",
        format!(
            "this server does not support {feature}; docs/unsupported.md lists all unsupported operations"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reached_limits_are_400_with_advice() {
        for refused in [
            too_many_signing_keys(1),
            too_many_playlists(1),
            too_many_playback_ids(TooManyPlaybackIds),
            track_rejected(TrackRejected::TooMany),
        ] {
            assert_eq!((refused.status().as_u16(), refused.message()), (400, "limit reached"));
            let description = refused.description().expect("no fields are wrong");
            assert!(description.contains("; delete one"), "{description}");
            assert!(!refused.has_retry_after(), "no time heals it");
        }
    }

    #[test]
    fn playlist_limit_is_400_and_taken_reference_is_409() {
        let check = |error, expected: (u16, &str)| {
            let refused = from_operation(error);
            assert_eq!((refused.status().as_u16(), refused.message()), expected);
        };
        check(OperationError::TooManyPlaylists, (400, "limit reached"));
        check(OperationError::PlaylistReferenceTaken("r".into()), (409, "playlist create failed"));
    }
}
