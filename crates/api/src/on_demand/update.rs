use axum::extract::State;
use axum::response::Response;
use kinora_domain::{Media, MediaId};
use kinora_web::auth::WriteCaller;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::{JsonBody, PathId};
use kinora_web::preconditions::{Preconditions, TaggedResponse};

use super::update_request;
use crate::ApiState;
use crate::error;
use crate::view::MediaView;

/// `PATCH /on-demand/{mediaId}`: changes title, creator, metadata, thumbnail and levelled audio of a
/// media in any state. Responds like `GET`.
///
/// 404 unless it is in the caller's workspace, 412 when `If-Match` does not match it, 422 names each wrong
/// field. The change and its event are one commit; a request without a change emits no event.
pub(crate) async fn update(
    State(app): State<ApiState>,
    caller: WriteCaller,
    PathId(id): PathId<MediaId>,
    conditions: Preconditions,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let change = update_request::parse(&body)?;
    let state = app.clone();
    let condition =
        move |media: &Media| conditions.is_met(|| Data::ok(MediaView::new(media, &state.base_urls)));
    let media =
        app.service.update_media(&caller, id, condition, change).await.map_err(error::from_operation)?;
    Ok(TaggedResponse::of(&Data::ok(MediaView::new(&media, &app.base_urls))).into_response())
}
