use axum::extract::State;
use axum::response::Response;
use kinora_domain::{Media, MediaId};
use kinora_web::auth::Writer;
use kinora_web::condition::{Conditions, Tagged};
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::{JsonBody, PathId};
use kinora_web::fields::{Fields, Problems};
use serde_json::Value;

use crate::ApiState;
use crate::error;
use crate::view::MediaView;

/// `PATCH /on-demand/{mediaId}/source-access`: opens the original of a media to those who may watch it, or
/// closes it again, in whatever state the media is. Answers as `GET` does.
///
/// 404 unless the media is in the caller's workspace, 412 when it is not what `If-Match` names, 422 names the
/// wrong field. The change and its events are one commit; what is so already is answered, and not told
/// (D-0075).
pub(crate) async fn source_access(
    State(app): State<ApiState>,
    caller: Writer,
    PathId(id): PathId<MediaId>,
    conditions: Conditions,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let is_open = parse(&body)?;
    let here = app.clone();
    let condition = move |media: &Media| conditions.hold(|| Data::ok(MediaView::new(media, &here.addresses)));
    let media =
        app.service.open_source(&caller, id, condition, is_open).await.map_err(error::of_operation)?;
    Ok(Tagged::of(&Data::ok(MediaView::new(&media, &app.addresses))).into_response())
}

fn parse(body: &Value) -> Result<bool, ApiError> {
    let problems = Problems::default();
    let is_open = Fields::of_body(body, &problems).and_then(|fields| {
        if !fields.has("sourceAccess") {
            fields.refuse("sourceAccess", "must not be null");
        }
        fields.bool("sourceAccess")
    });
    problems.into_result(is_open)
}
