use axum::extract::State;
use axum::response::Response;
use kinora_domain::{Media, MediaId, Mp4Support};
use kinora_web::auth::Writer;
use kinora_web::condition::{Conditions, Tagged};
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::{JsonBody, PathId};
use kinora_web::fields::{Fields, Problems};
use serde_json::Value;

use super::wishes;
use crate::ApiState;
use crate::error;
use crate::view::MediaView;

/// `PATCH /on-demand/{mediaId}/update-mp4Support`: wants other files of a media beside playback, in whatever
/// state it is. Answers as `GET` does.
///
/// 404 unless the media is in the caller's workspace, 412 when it is not what `If-Match` names, 422 names the
/// wrong field, 400 for what is so already and for a file of which a ready media has nothing. The change, its
/// event, and the job that says when the files can be fetched are one commit.
pub(crate) async fn mp4_support(
    State(app): State<ApiState>,
    caller: Writer,
    PathId(id): PathId<MediaId>,
    conditions: Conditions,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let wanted = parse(&body)?;
    let here = app.clone();
    let condition = move |media: &Media| conditions.hold(|| Data::ok(MediaView::new(media, &here.addresses)));
    let media = app.service.set_files(&caller, id, condition, wanted).await.map_err(error::of_operation)?;
    Ok(Tagged::of(&Data::ok(MediaView::new(&media, &app.addresses))).into_response())
}

fn parse(body: &Value) -> Result<Mp4Support, ApiError> {
    let problems = Problems::default();
    let wanted = Fields::of_body(body, &problems).and_then(|fields| {
        if !fields.has("mp4Support") {
            fields.refuse("mp4Support", "must not be null");
        }
        wishes::mp4_support(&fields)
    });
    problems.into_result(wanted)
}
