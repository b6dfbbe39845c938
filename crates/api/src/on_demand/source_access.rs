use axum::extract::State;
use axum::response::Response;
use kinora_domain::{Media, MediaId};
use kinora_web::auth::WriteCaller;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::{JsonBody, PathId};
use kinora_web::fields::{Fields, Problems};
use kinora_web::preconditions::{Preconditions, TaggedResponse};
use serde_json::Value;

use crate::ApiState;
use crate::error;
use crate::view::MediaView;

/// `PATCH /on-demand/{mediaId}/source-access`: opens the original of a media for download by its viewers, or
/// closes it again, in any state. Responds as `GET` does.
///
/// 404 unless the media is in the caller's workspace, 412 when `If-Match` does not match it, 422 names the
/// wrong field. The change and its events are one commit; a request without a change succeeds and emits no
/// event (C-134, D-0075).
pub(crate) async fn source_access(
    State(app): State<ApiState>,
    caller: WriteCaller,
    PathId(id): PathId<MediaId>,
    conditions: Preconditions,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let is_open = parse(&body)?;
    let state = app.clone();
    let condition =
        move |media: &Media| conditions.is_met(|| Data::ok(MediaView::new(media, &state.base_urls)));
    let media = app
        .service
        .set_source_access(&caller, id, condition, is_open)
        .await
        .map_err(error::from_operation)?;
    Ok(TaggedResponse::of(&Data::ok(MediaView::new(&media, &app.base_urls))).into_response())
}

fn parse(body: &Value) -> Result<bool, ApiError> {
    let problems = Problems::default();
    let is_open = Fields::of_body(body, &problems).and_then(|fields| {
        if !fields.is_present("sourceAccess") {
            fields.reject("sourceAccess", "must not be null");
        }
        fields.bool("sourceAccess")
    });
    problems.into_result(is_open)
}
