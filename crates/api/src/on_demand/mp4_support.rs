use axum::extract::State;
use axum::response::Response;
use kinora_domain::{Media, MediaId, Mp4Support};
use kinora_web::auth::WriteCaller;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::{JsonBody, PathId};
use kinora_web::fields::{Fields, Problems};
use kinora_web::preconditions::{Preconditions, TaggedResponse};
use serde_json::Value;

use super::media_settings_request;
use crate::ApiState;
use crate::error;
use crate::view::MediaView;

/// `PATCH /on-demand/{mediaId}/update-mp4Support`: selects the files that a media offers in addition to
/// playback, in any state. Responds as `GET` does.
///
/// 404 unless the media is in the caller's workspace, 412 when `If-Match` does not match it, 422 names the
/// wrong field, 400 for a value that is already set and for a file that a ready media has no track for. The
/// change, its event, and the job that reports when the files can be fetched are one commit.
pub(crate) async fn mp4_support(
    State(app): State<ApiState>,
    caller: WriteCaller,
    PathId(id): PathId<MediaId>,
    conditions: Preconditions,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let support = parse(&body)?;
    let state = app.clone();
    let condition =
        move |media: &Media| conditions.is_met(|| Data::ok(MediaView::new(media, &state.base_urls)));
    let media =
        app.service.set_mp4_support(&caller, id, condition, support).await.map_err(error::from_operation)?;
    Ok(TaggedResponse::of(&Data::ok(MediaView::new(&media, &app.base_urls))).into_response())
}

fn parse(body: &Value) -> Result<Mp4Support, ApiError> {
    let problems = Problems::default();
    let support = Fields::of_body(body, &problems).and_then(|fields| {
        if !fields.is_present("mp4Support") {
            fields.reject("mp4Support", "must not be null");
        }
        media_settings_request::mp4_support(&fields)
    });
    problems.into_result(support)
}
