use axum::extract::State;
use kinora_domain::ClipRejected;
use kinora_service::{Error, RegisteredMedia};
use kinora_web::auth::WriteCaller;
use kinora_web::envelope::Data;
use kinora_web::envelope::RenderedResponse;
use kinora_web::error::ApiError;
use kinora_web::extract::JsonBody;
use kinora_web::idempotency::IdempotentRequest;

use super::create_request::{self, CreateRequest};
use crate::ApiState;
use crate::commit::IdempotentCommit;
use crate::error;
use crate::view::CreatedMedia;

/// `POST /on-demand`: registers a media and begins to fetch it.
///
/// 201 with the playback ID, which is usable at once. 422 names each wrong field. The media, its event and
/// its job are one commit.
pub(crate) async fn create(
    State(app): State<ApiState>,
    caller: WriteCaller,
    idempotent_request: IdempotentRequest,
    JsonBody(body): JsonBody,
) -> Result<RenderedResponse, ApiError> {
    let CreateRequest { new, warnings, video_path, watermark_path } =
        create_request::parse(&body, caller.workspace)?;
    let render = move |registered: RegisteredMedia| {
        let reveals = registered.is_more_public_than_origin.then(|| MORE_PUBLIC.to_owned());
        let warnings = warnings.iter().cloned().chain(reveals).collect();
        Data::created(CreatedMedia::from(&registered.media), warnings).into_rendered()
    };
    let commit = IdempotentCommit::new(idempotent_request, &app.idempotency, render)
        .map_err(move |error| rejection(error, &video_path, &watermark_path));
    app.service.create_media(&caller, new, commit).await
}

/// The warning about a public clip of a media without a public playback ID (C-197).
const MORE_PUBLIC: &str =
    "everyone can play this clip, but the media it is cut from has no public playback ID";

/// Names the field of an error that depends on another media.
fn rejection(error: Error, video_path: &str, watermark_path: &str) -> ApiError {
    match error {
        Error::OriginNotFound => {
            ApiError::invalid_field(format!("{video_path}url"), "must name a media of this workspace")
        }
        Error::ClipRejected(rejected) => match rejected {
            ClipRejected::NotReady(state) => ApiError::invalid_field(
                format!("{video_path}url"),
                format!("must name a media that is Ready; this one is {state}"),
            ),
            ClipRejected::AudioOnly => ApiError::invalid_field(
                format!("{video_path}url"),
                "must name a media with video; this one has only audio",
            ),
            ClipRejected::Watermark => ApiError::invalid_field(
                watermark_path,
                "must be left out: the media it is cut from has a watermark, and the clip has it too",
            ),
            ClipRejected::SourceAccess => error::origin_source_closed(),
            ClipRejected::Edit(rejected) => {
                ApiError::invalid_field(format!("{video_path}{}", rejected.field), rejected.problem)
            }
        },
        other => error::from_operation(other),
    }
}
